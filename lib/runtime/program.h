/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and kernels: a program is one source file with one set of options,
 * built once per context from source or loaded from the store.
 *
 * Key text, one field a line, compared whole: library version, source file's
 * name and XXH3 of its text after includes, the step's target if it has one,
 * options (vendor + step), platform name and version, device name, arch,
 * driver, OpenCL version. */
#ifndef XL_RUNTIME_PROGRAM_H
#define XL_RUNTIME_PROGRAM_H

#include "device/private_api.h"
#include "runtime/context.h"

/* The first line of a key, and the final ones: those of the device. */
#define XL__PROGRAM_KEY_BEGIN "crosslane " XL_VERSION_TEXT "\n"
void xl__program_device_key(const struct xl__limits *l, struct xl__str *out);

/* The program a step needs: in memory, else from the store, else built. It is
 * not freed by xl_lib_trim() until the caller lets it go and the queues have
 * no kernel of it (xl__kernel_get()). The build log is in the error's detail
 * on XL_BUILD_FAILED. Thread safe: threads that need one program build it
 * once, and all have the error of a failed build; different programs are built
 * in parallel. */
XL__PRIVATE_API xl_status xl__program_get(struct xl__context *ctx,
                                          const struct xl__step *step,
                                          struct xl__program **out,
                                          struct xl__error *e);
void xl__program_let_go(struct xl__context *ctx, struct xl__program *p);
/* Save it in the store if it is not there. To be called after its kernels were
 * created, since some drivers compile only then. */
void xl__program_keep(struct xl__context *ctx, struct xl__program *p);
/* Set the result of the self-check and save it in the store. `detail` of a
 * failure: the plan whose result was wrong, and what was wrong; else NULL. */
void xl__program_trust(struct xl__context *ctx, struct xl__program *p,
                       enum xl__trust trust, const char *detail);
void xl__program_free(struct xl__program *p);

/* verdict.c: the verdict of a program's self-check, an entry of its own in the
 * store.
 *
 * Key text: that of the program, then the hash of the library's sources and
 * the device's UUID, or its PCI address where the driver has no UUID. So a
 * change of host code and another card of the same kind are checked again,
 * while the binary stays usable. */

/* A hash of the sources in lib/ and include/, 32 hex digits:
 * lib/build_hash.cmake writes it at build time. */
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

/* The lowest trust of these programs, after the self-checks of other threads
 * that have one of them. XL__UNTESTED: other threads now wait for the verdict
 * of the caller, which sets the trust, or does not, and then calls
 * xl__programs_end_check(). */
enum xl__trust xl__programs_begin_check(struct xl__context *ctx,
                                        struct xl__program *const *p,
                                        unsigned n);
void xl__programs_end_check(struct xl__context *ctx,
                            struct xl__program *const *p, unsigned n);

/* Free the programs that no queue has; their number. A program that failed its
 * self-check stays, so that it is not built again, and so does that of an
 * external step, which has nothing of a driver. */
unsigned xl__programs_trim(struct xl__context *ctx);

/* The queue's cl_kernel of a program, created on first use. Each queue has its
 * own, since setting arguments is not thread safe. */
xl_status xl__kernel_get(xl_queue *q, struct xl__program *p, const char *name,
                         cl_kernel *out);
/* Release all of the queue's. */
void xl__kernels_release(xl_queue *q);

/* The program's binary for one of its devices, *n bytes on the heap, also
 * after a failed build; NULL when the driver returns none. */
XL__PRIVATE_API unsigned char *
xl__program_binary(cl_program program, cl_device_id device, size_t *n);
/* The log of its last build, on the heap; "" when the driver returns none,
 * NULL when out of memory. */
XL__PRIVATE_API char *xl__program_build_log(cl_program program,
                                            cl_device_id device);
/* What a kernel of a built program takes of the registers, as far as the
 * driver states it. For reports: some drivers take long for it. */
XL__PRIVATE_API void xl__program_use(const struct xl__context *ctx,
                                     const struct xl__program *p,
                                     cl_kernel kernel, const char *name,
                                     struct xl__kernel_use *out);
/* Create a program from a binary and build it. Returns an OpenCL code. *out is
 * NULL or is released by the caller, whatever the code. */
XL__PRIVATE_API cl_int xl__program_build_binary(struct xl__context *ctx,
                                                const void *bytes, size_t n,
                                                const char *options,
                                                cl_program *out);

/* retarget.c: the second stage of a build for a target that the driver's
 * compiler does not support. Replace p's program, the result of a successful
 * or failed build from source, and its log by those for the step's target.
 * XL_BUILD_FAILED: the detail begins with the reason and ends with the log of
 * the last build. */
xl_status xl__program_rebuild(struct xl__context *ctx,
                              const struct xl__step *step,
                              struct xl__program *p, struct xl__error *e);

#endif
