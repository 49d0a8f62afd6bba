/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as text for a terminal. */
#ifndef CLBENCH_PLANNER_OUTPUT_H
#define CLBENCH_PLANNER_OUTPUT_H

#include "base/str.h"
#include "planner/planner.h"

void planner_print(FILE *to, const struct planner *p, bool is_quiet);

/* "70.55e9": a number of weights as formulas write it. */
void planner_format_params(struct xl__str *out, double params);
/* "weights", "cache", "compute": what sets the time of a step. */
const char *planner_bound_name(enum planner_bound by);
/* The formula of decoding with its numbers, several lines. */
void planner_format_decode(struct xl__str *out, const struct planner *p,
                           const struct planner_device *dev);

#endif
