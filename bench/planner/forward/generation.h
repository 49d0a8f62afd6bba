/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench model --ids`: the ids that a model chooses behind a prompt. */
#ifndef CLBENCH_FORWARD_GENERATION_H
#define CLBENCH_FORWARD_GENERATION_H

#include "planner/forward/measurement.h"

/* Create the model, print the ids and add them to the result file. An
 * exit_code. */
int lm_generate(struct lm_run *r);

#endif
