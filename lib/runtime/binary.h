/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver makes of a program: its binary and what it says of the
 * build. Taking it back, too. */
#ifndef XL_RUNTIME_BINARY_H
#define XL_RUNTIME_BINARY_H

#include "runtime/context.h"

/* The program's binary for its one device, also after a build that failed:
 * *n bytes on the heap; NULL when the driver gives none. */
unsigned char *xl__binary_of(cl_program program, size_t *n);
/* The log of its last build, on the heap; "" when the driver gives none, NULL
 * when out of memory. */
char *xl__build_log(cl_program program, cl_device_id device);
/* A program from a binary, built; an OpenCL code. *out is NULL, or the
 * caller's to release whatever the code says. */
cl_int xl__binary_build(struct xl__context *ctx, const void *bytes, size_t n,
                        const char *options, cl_program *out);

#endif
