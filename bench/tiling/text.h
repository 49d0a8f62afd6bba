/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `clbench split` as text, and the sentences that text and
 * picture share. */
#ifndef CLBENCH_TILING_TEXT_H
#define CLBENCH_TILING_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "tiling/measurement.h"

/* Prints the report for a terminal of that width. */
void tiling_print(FILE *to, const struct tiling_report *p, unsigned columns,
                  bool colour);

/* The best rate of the sweep; 0: none. */
double tiling_best_rate(const struct tiling_report *p);
/* The record to show: measured if there is one, else modelled. */
const struct tiling_record *tiling_shown_record(const struct tiling_report *p);

/* Append a sentence: how the record was made; waves and their fill; causes of
 * imbalance. */
void tiling_describe_source(const struct tiling_report *p,
                            struct xl__str *out);
void tiling_describe_waves(const struct tiling_report *p, struct xl__str *out);
void tiling_describe_imbalance(const struct tiling_report *p,
                               struct xl__str *out);

#endif
