/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of a build for a step's `target`. */
#ifndef XL_RUNTIME_PROGRAM_REBUILD_H
#define XL_RUNTIME_PROGRAM_REBUILD_H

#include "runtime/context.h"

/* Replace p's program, which was built from source or failed to be, and its
 * log by those of the step's target. XL_BUILD_FAILED: the detail begins with
 * the reason and ends with the last build's log. */
xl_status xl__program_rebuild(struct xl__context *ctx,
                              const struct xl__step *step,
                              struct xl__program *p, struct xl__error *e);

#endif
