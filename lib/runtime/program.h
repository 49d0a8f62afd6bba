/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: from source or from the store, built once per context.
 *
 * Key text, one field a line, compared whole: library version, source file's
 * name and XXH3 of its text after includes, the step's target if it has one,
 * options (base + vendor + step), platform name and version, device name, arch, driver, OpenCL version. */
#ifndef XL_RUNTIME_PROGRAM_H
#define XL_RUNTIME_PROGRAM_H

#include "runtime/context.h"

/* The program a step needs: in memory, else from the store, else built. The
 * build log is in the error's detail on XL_BUILD_FAILED. Thread safe. */
xl_status xl__program_get(struct xl__context *ctx, const struct xl__step *step,
                          struct xl__program **out, struct xl__error *e);
/* Save it in the store if it is not there: after its kernels were created,
 * since some drivers compile only then. */
void xl__program_keep(struct xl__context *ctx, struct xl__program *p);
/* Set the self-check's verdict and keep it on disk. A failure has a story: the
 * plan whose result was wrong, and how; else NULL. */
void xl__program_trust(struct xl__context *ctx, struct xl__program *p,
                       enum xl__trust trust, const char *story);
/* The queue's own cl_kernel of it. Cached on the queue. */
xl_status xl__kernel_get(xl_queue *q, struct xl__program *p, const char *name,
                         cl_kernel *out);

#endif
