/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for a target that the driver's compiler does not support: the
 * second stage of a build. */
#ifndef XL_RUNTIME_RETARGET_H
#define XL_RUNTIME_RETARGET_H

#include "runtime/context.h"

/* Replace p's program, the result of a successful or failed build from source,
 * and its log by those for the step's target. XL_BUILD_FAILED: the detail
 * begins with the reason and ends with the log of the last build. */
xl_status xl__program_rebuild(struct xl__context *ctx,
                              const struct xl__step *step,
                              struct xl__program *p, struct xl__error *e);

#endif
