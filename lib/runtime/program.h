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

/* The program's binary for its one device, also after a build that failed:
 * *n bytes on the heap; NULL when the driver gives none. */
unsigned char *xl__program_binary(cl_program program, size_t *n);
/* The log of its last build, on the heap; "" when the driver gives none, NULL
 * when out of memory. */
char *xl__program_build_log(cl_program program, cl_device_id device);
/* A program from a binary, built; an OpenCL code. *out is NULL, or the
 * caller's to release whatever the code says. */
cl_int xl__program_build_binary(struct xl__context *ctx, const void *bytes,
                                size_t n, const char *options,
                                cl_program *out);

#endif
