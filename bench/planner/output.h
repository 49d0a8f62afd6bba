/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for a terminal. */
#ifndef CLBENCH_PLANNER_OUTPUT_H
#define CLBENCH_PLANNER_OUTPUT_H

#include "base/str.h"
#include "planner/planner.h"

/* "70.55e9": weights as a formula has them. */
void plan_say_params(struct xl__str *out, double params);
/* "weights", "cache", "compute": what sets a step's time. */
const char *plan_bound_name(enum plan_bound by);
/* The formula of decoding with the numbers put in, in lines. */
void plan_say_decode(struct xl__str *out, const struct plan *p,
                     const struct plan_device *dev);
void plan_text(FILE *to, const struct plan *p, bool is_quiet);

#endif
