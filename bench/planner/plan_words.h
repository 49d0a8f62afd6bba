/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and formulas of a plan, as its text and its picture write them. */
#ifndef CLBENCH_PLAN_WORDS_H
#define CLBENCH_PLAN_WORDS_H

#include "base/str.h"
#include "planner/plan.h"
#include "cli/table.h"

/* Print as a paragraph, for a terminal, and empty it. */
void plan_print(FILE *to, struct xl__str *text);
/* The next cell: a value with its unit. */
void plan_cell(struct table *t, double value, const char *unit);

/* "70.55e9": weights as a formula has them. */
void plan_say_params(struct xl__str *out, double params);
/* "7 GB (6.52 GiB)". */
void plan_say_bytes(struct xl__str *out, double bytes);
/* "4270 GB/s", "855 TFLOP/s", "13.7 ms": rates in one unit each, so that they
 * are compared at a glance, with a digit more than what follows from them. */
void plan_say_bandwidth(struct xl__str *out, double bytes_per_s);
void plan_say_peak(struct xl__str *out, double flop_per_s);
void plan_say_seconds(struct xl__str *out, double s);
/* "weights", "cache", "compute": what sets a step's time. */
const char *plan_bound_name(enum plan_bound by);
/* "14e9 parameters; 48 layers, ...": what is planned, and whose numbers. */
void plan_say_what(struct xl__str *out, const struct plan *p);
/* The formula of decoding with the numbers put in, in lines. */
void plan_say_decode(struct xl__str *out, const struct plan *p,
                     const struct plan_device *dev);
/* The same of a prompt. */
void plan_say_prefill(struct xl__str *out, const struct plan *p,
                      const struct plan_device *dev);
/* When compute takes over, if ever. */
void plan_say_turn(struct xl__str *out, const struct plan *p,
                   const struct plan_device *dev);

#endif
