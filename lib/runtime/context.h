/* SPDX-License-Identifier: Apache-2.0 */
/* One (cl_context, device) pair: the programs compiled for it, and the queues
 * on it. */
#ifndef XL_RUNTIME_CONTEXT_H
#define XL_RUNTIME_CONTEXT_H

#include "runtime/lib.h"
#include "runtime/plan.h"
#include "runtime/timeline.h"

/* A built program; or, for an external step, only its key and trust. */
struct xl__program {
    struct xl__program *next;
    char *key;          /* full key text: see program.h */
    cl_program cl;      /* NULL: an external step */
    enum xl__trust trust;
    char *story;        /* of the plan that failed with it; NULL: not known */
    char *build_log;    /* "" when empty */
    double build_ns;
    bool from_cache, is_kept; /* came from the store; is in it */
};

enum { XL__SNIPPET_LISTS = 64 };

struct xl__context {
    struct xl__context *next;
    xl_lib *lib;
    cl_context cl;      /* retained */
    xl_device *device;
    unsigned n_queues;
    xl__lock lock;      /* guards all below */
    struct xl__program *programs;
    struct xl__snippet *snippets[XL__SNIPPET_LISTS]; /* by hash: epilogue.h */
    /* Frees the snippets; set by whoever adds one. NULL: there are none. */
    void (*clear_snippets)(struct xl__context *ctx);
};

struct xl__kernel {     /* of one queue: setting arguments is not thread safe */
    struct xl__program *program;
    const char *name;
    cl_kernel cl;
};

struct xl__ready;       /* launch.h */

struct xl_queue {
    struct xl__context *ctx;
    cl_command_queue cl;
    struct xl__error error;
    bool can_profile, is_out_of_order;
    struct xl__kernel *kernels;
    size_t n_kernels, cap_kernels;
    cl_mem scratch;     /* kept between calls when the caller gives none */
    size_t scratch_bytes;
    struct xl__ready **ready; /* plans made before: launch.h */
    size_t n_ready;
    struct xl__timeline timeline;
};

/* Find or make; counts the queue. Under lib->lock. */
xl_status xl__context_take(xl_lib *lib, cl_context cl, cl_device_id id,
                           struct xl__context **out);
void xl__context_drop(struct xl__context *ctx);

#endif
