/* SPDX-License-Identifier: Apache-2.0 */
/* One (cl_context, device) pair: the programs compiled for it, and the queues
 * on it. */
#ifndef XL_RUNTIME_CONTEXT_H
#define XL_RUNTIME_CONTEXT_H

#include <crosslane/crosslane.h>

#include "base/error.h"
#include "base/os/lock.h"
#include "device/device.h"
#include "runtime/plan.h"
#include "runtime/store/store.h"
#include "runtime/timeline.h"
#include "runtime/tuned/tuned_sets.h"

struct xl__context;

struct xl_lib {
    xl__lock lock; /* guards all below but `store` and `tuned`, which have
                      their own */
    struct xl__error error;
    xl_log log;
    void *log_arg;
    xl__lock log_lock;
    char *cl_dir; /* NULL: the embedded kernels */
    bool skip_selfcheck;
    unsigned spin_limit; /* turns after which a kernel for a target gives up a
                            wait; 0: never */
    struct xl__cluster_store store;
    struct xl__tuned_sets tuned;
    struct xl__devices devices;
    struct xl__context *contexts; /* linked list */
};

/* Say something to the application; safe from any thread. */
void xl__log_message(xl_lib *lib, xl_log_level level, const char *fmt, ...)
    XL__PRINTF(3, 4);

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

enum { XL__EPILOGUE_LISTS = 64 };

struct xl__context {
    struct xl__context *next;
    xl_lib *lib;
    cl_context cl;      /* retained */
    xl_device *device;
    unsigned n_queues;
    xl__lock lock;      /* guards all below */
    struct xl__program *programs;
    struct xl__epilogue_text
        *epilogues[XL__EPILOGUE_LISTS]; /* by hash: epilogue.h */
    /* Frees the epilogue texts; set by the function that adds the first one.
     * NULL: there are none. */
    void (*clear_epilogues)(struct xl__context *ctx);
};

struct xl__kernel {     /* of one queue: setting arguments is not thread safe */
    struct xl__program *program;
    const char *name;
    cl_kernel cl;
};

struct xl__cached_plan; /* launch.h */

struct xl_queue {
    struct xl__context *ctx;
    cl_command_queue cl;
    struct xl__error error;
    bool can_profile, is_out_of_order;
    struct xl__kernel *kernels;
    size_t n_kernels, cap_kernels;
    cl_mem scratch;     /* kept between calls when the caller gives none */
    size_t scratch_bytes;
    struct xl__cached_plan **cached_plans; /* hash table: plan_cache.h */
    size_t n_cached_plans;
    struct xl__timeline timeline;
};

/* Find or make; counts the queue. Under lib->lock. */
xl_status xl__context_take(xl_lib *lib, cl_context cl, cl_device_id id,
                           struct xl__context **out);
void xl__context_drop(struct xl__context *ctx);

#endif
