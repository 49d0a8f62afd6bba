/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as JSON. */
#ifndef CLBENCH_PLANNER_JSON_H
#define CLBENCH_PLANNER_JSON_H

#include "planner/planner.h"

/* The member "plan" of the result document. */
json_t *planner_json(const struct planner *p);

#endif
