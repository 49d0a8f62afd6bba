/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded calls: the launches of each, with kernels of their own whose
 * arguments stay set. launch.c adds to them what it would enqueue. */
#ifndef XL_RUNTIME_RECORD_H
#define XL_RUNTIME_RECORD_H

#include <crosslane/record.h>

#include "runtime/plan_cache.h"

/* A kernel of a record. Each launch has its own, but for the slices of a long
 * one. */
struct xl__recorded_kernel {
    cl_kernel cl;
    const char *name; /* static */
};

struct xl__recorded_launch {
    struct xl__recorded_kernel kernel;
    cl_uint dims;
    bool has_offset, has_local;
    size_t offset[3], global[3], local[3];
};

/* An argument that is a buffer, which is retained. */
struct xl__recorded_mem {
    cl_kernel kernel;
    cl_uint at;
    cl_mem mem;
};

struct xl__recorded_call {
    struct xl__recorded_kernel *kernels; /* owned */
    size_t n_kernels, cap_kernels;
    struct xl__recorded_launch *launches;
    size_t n_launches, cap_launches;
    struct xl__recorded_mem *mems;
    size_t n_mems, cap_mems;
};

/* Create the kernel of a step, for its launches in this call. */
xl_status xl__record_kernel(xl_queue *q, struct xl__recorded_call *to,
                            const struct xl__program *program,
                            const struct xl__step *step, cl_kernel *out);
/* Add a launch of the kernel created last. */
xl_status xl__record_launch(xl_queue *q, struct xl__recorded_call *to,
                            const struct xl__step *step, const size_t *offset,
                            const size_t *global);
/* Keep what argument `at` of the kernel created last was set to. */
cl_int xl__record_mem(struct xl__recorded_call *to, cl_uint at, cl_mem mem);

/* Record a call in the queue's open record. */
xl_status xl__record_call(xl_queue *q, struct xl__cached_plan *ready,
                          const struct xl__call *call, const xl_sync *sync);

#endif
