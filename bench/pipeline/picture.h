/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline measurement on a terminal: tables, bars and text. */
#ifndef CLBENCH_PIPELINE_PICTURE_H
#define CLBENCH_PIPELINE_PICTURE_H

#include "pipeline/measurement.h"

/* Prints everything to stdout. */
void pipe_print(const struct pipe_bench *b);
/* One line of bars: the active lane at each character's time. `columns`
 * characters represent `span_ns`; `out` has room for columns + 1. For a mode
 * in chunks the line shows this lane only, else all lanes. */
void pipe_bar(const struct pipe_result *x, unsigned lane, double span_ns,
              unsigned columns, char *out);

#endif
