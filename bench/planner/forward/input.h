/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of `clbench model`: the model, sizes, types. */
#ifndef CLBENCH_FORWARD_INPUT_H
#define CLBENCH_FORWARD_INPUT_H

#include "planner/forward/measurement.h"

/* Fill *r, *arch and, with --gguf, *file. False: *why. Clear *file and free
 * r->ids in either case. */
bool lm_read_options(struct lm_run *r, struct gguf *file, struct lm_arch *arch,
                     struct xl__str *why);

#endif
