/* SPDX-License-Identifier: Apache-2.0 */
/* The page for a terminal, and its sentences. */
#ifndef CLBENCH_TILING_TEXT_H
#define CLBENCH_TILING_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "tiling/measurement.h"

/* The best rate of the sweep; 0: none. */
double split_best_rate(const struct split_page *p);

/* What every form of the page says in the same words. */
void split_say_source(const struct split_page *p, struct xl__str *out);
void split_say_waves(const struct split_page *p, struct xl__str *out);
void split_say_uneven(const struct split_page *p, struct xl__str *out);
/* The record that the pictures show: measured where there is one. */
const struct split_record *split_shown(const struct split_page *p);

/* For a terminal so many columns wide. */
void split_text(FILE *to, const struct split_page *p, unsigned columns,
                bool colour);

#endif
