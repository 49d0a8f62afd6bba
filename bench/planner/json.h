/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for the result file. */
#ifndef CLBENCH_PLANNER_JSON_H
#define CLBENCH_PLANNER_JSON_H

#include "planner/planner.h"

/* The member "plan" of the result document. */
json_t *plan_json(const struct plan *p);

#endif
