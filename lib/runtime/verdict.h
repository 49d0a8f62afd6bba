/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of a program's self-check: an entry of its own in the store.
 *
 * Key text: that of the program (program.h), then the hash of the library's
 * sources and the device's UUID, or its PCI address where the driver has no
 * UUID. So a change of host code and another card of the same kind are checked
 * again, while the binary stays usable. */
#ifndef XL_RUNTIME_VERDICT_H
#define XL_RUNTIME_VERDICT_H

#include "runtime/context.h"

/* A hash of the sources in lib/ and include/, 32 hex digits: lib/build_hash.cmake
 * writes it at build time. */
extern const char xl__build_hash[];

void xl__verdict_key(const char *program_key, const char *build_hash,
                     const struct xl__limits *l, struct xl__str *out);

/* XL__UNTESTED: there is none for this build and device. *detail, on the heap,
 * is that of a failure, or NULL. */
enum xl__trust xl__verdict_load(struct xl__context *ctx,
                                const char *program_key, char **detail);
/* `detail` may be NULL. */
void xl__verdict_save(struct xl__context *ctx, const char *program_key,
                      enum xl__trust trust, const char *detail);

#endif
