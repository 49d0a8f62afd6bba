/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline in a terminal. */
#ifndef CLBENCH_PIPELINE_PICTURE_H
#define CLBENCH_PIPELINE_PICTURE_H

#include "pipeline/measurement.h"

/* Tables, bars and words. */
void pipe_draw(const struct pipe_bench *b);
/* One line of a run: which lane works at the character's moment. `columns`
 * stand for `span_ns`; out has room for columns + 1. For a mode that is not
 * cut all lanes are in the line, else lane alone. */
void pipe_bar(const struct pipe_result *x, unsigned lane, double span_ns,
              unsigned columns, char *out);

#endif
