/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's objects: xl_lib (the library handle), struct xl__context (one
 * pair of cl_context and device, with the programs compiled for it) and
 * xl_queue (a command queue in a context).
 *
 *   xl_lib --< xl__context --< xl_queue --< xl__cached_plan (plan_cache.h)
 *                  |
 *                  +--< xl__program --< cl_kernel, per queue
 *
 * A context is created with the first queue of its pair and destroyed with the
 * last one. */
#ifndef XL_RUNTIME_CONTEXT_H
#define XL_RUNTIME_CONTEXT_H

#include <stdatomic.h>

#include <crosslane/crosslane.h>

#include "base/error.h"
#include "base/lru.h"
#include "base/os/lock.h"
#include "device/device.h"
#include "runtime/memory/resolve.h"
#include "runtime/plan.h"
#include "runtime/store/store.h"
#include "runtime/commands/timeline.h"
#include "runtime/tuned/auditions.h"
#include "runtime/tuned/tuned_sets.h"

struct xl__context;

struct xl_lib {
    xl__lock lock;       /* guards all fields below except `store`, `tuned` and
                        `auditions`, which have their own locks, and those with
                        a lock here */
    xl__lock error_lock; /* guards `errors` */
    struct xl__thread_message *errors; /* of threads whose last call failed */
    xl_log log;
    void *log_arg;
    xl__lock log_lock;
    char *cl_dir; /* NULL: the embedded kernels */
    bool skip_selfcheck;
    bool use_clblast;    /* without being named by a call */
    unsigned spin_limit; /* iterations after which a kernel for a target stops
                            waiting, for tests; 0: none */
    struct xl__store store;
    struct xl__tuned_sets tuned;
    struct xl__auditions auditions;
    struct xl__devices devices;
    struct xl__context *contexts; /* linked list */
};

/* End a call on the library. The failure recorded in *e becomes the message of
 * this thread; if there is none, this thread has no message. Frees the memory
 * of *e. Out of memory: no message. */
void xl__lib_report(xl_lib *lib, struct xl__error *e);
void xl__lib_errors_clear(xl_lib *lib);

/* Send a message to the application's log callback. Any thread may call it. */
void xl__log_message(xl_lib *lib, xl_log_level level, const char *fmt, ...)
    XL__PRINTF(3, 4);

/* What one thread does with a program while other threads that need the
 * result wait. Bits. */
enum xl__claim {
    XL__CLAIM_BUILD = 1, /* load it from the store, or build it */
    XL__CLAIM_CHECK = 2, /* self-check */
    XL__CLAIM_SAVE = 4   /* write it to the store */
};

/* A built program; for an external step only its key and trust. */
struct xl__program {
    struct xl__program *next;
    char *key;          /* full key text: see program.h */
    uint64_t hash;      /* of key */
    unsigned claims;    /* in progress now; under ctx->lock */
    unsigned n_users;   /* threads that got it, and kernels of queues; under
                           ctx->lock */
    bool is_kept;       /* the store has it, with its trust; under ctx->lock */
    /* Written by the builder, constant once the claim to build has ended. */
    struct xl__error failure; /* of the build: then it is in no list */
    cl_program cl;            /* NULL: an external step */
    char *build_log; /* "" when empty; of a stored binary NULL, unless it has
                        the use of registers */
    double build_ns;
    bool from_cache; /* was read from the store */
    /* Any thread reads it. `detail` is written before trust is XL__FAILED and
     * not changed afterwards. */
    _Atomic(enum xl__trust) trust;
    char *detail; /* of a failed self-check: the plan and what was wrong;
                     NULL: not known */
};

enum { XL__EPILOGUE_LISTS = 64 };

struct xl__context {
    struct xl__context *next;
    xl_lib *lib;
    cl_context cl;      /* retained; NULL: of a device of a listing */
    xl_device *device;
    unsigned n_queues;
    xl__lock lock; /* guards the fields below; held for look-ups and while an
                      epilogue's text is generated, never during a build, a
                      self-check or file work */
    xl__condition claim_ended; /* of any program of the context */
    struct xl__program *programs;
    /* Lists of epilogue texts by hash: epilogue.h. */
    struct xl__epilogue_text *epilogues[XL__EPILOGUE_LISTS];
    /* Frees the texts that no queue has, and returns their number; set by the
     * function that adds the first one. NULL: there are none. */
    unsigned (*trim_epilogues)(struct xl__context *ctx);
    xl__lock selections_lock;  /* guards the next field */
    struct xl__lru selections; /* by class of shapes: ops/path/selection.h */
};

struct xl__kernel {     /* of one queue: setting arguments is not thread safe */
    struct xl__program *program;
    const char *name;
    cl_kernel cl;
};

struct xl__cached_plan; /* launch.h */

/* xl_queue_watch(): the function, and the arguments of the next launch. */
struct xl__watcher {
    xl_launch_watch fn;
    void *fn_arg;
    xl_kernel_arg arg[XL__MAX_ARGS];
    unsigned n_args;
    cl_ulong words[XL__MAX_ARGS]; /* their values */
    size_t n_words;
};

struct xl_queue {
    struct xl__context *ctx;
    cl_command_queue cl; /* NULL: of a device of a listing, for which plans
                            are made and nothing is built */
    struct xl__error error;
    bool can_profile, is_out_of_order;
    bool is_background; /* of a call in the background */
    struct xl__watcher *watch; /* NULL: none */
    struct xl_record *record;  /* the open one; NULL: calls are enqueued */
    struct xl__kernel *kernels;
    size_t n_kernels, cap_kernels;
    /* Epilogue texts that its plans may have: lists by hash. */
    struct xl__epilogue_use *epilogues[XL__EPILOGUE_LISTS];
    cl_mem scratch;     /* kept between calls when the caller gives none */
    size_t scratch_bytes;
    size_t scratch_limit_bytes; /* 0: none */
    struct xl__lru plans;       /* by exact descriptor: plan_cache.h */
    struct xl__lru built_steps; /* likewise */
    struct xl__lru texts;       /* of generated kernels, by structure */
    struct xl__memory memory;   /* operands of the call that is being made */
    struct xl__timeline timeline;
    struct xl__worker *worker; /* of calls in the background; NULL: there was
                                  none */
};

/* Find or create the context of a pair and add a queue to its count; drop
 * subtracts one and destroys a context without queues. Under lib->lock. */
xl_status xl__context_take(xl_lib *lib, cl_context cl, xl_device *dev,
                           struct xl__context **out, struct xl__error *e);
void xl__context_drop(struct xl__context *ctx);

/* XL_UNSUPPORTED on a device of a listing, where nothing can run. */
xl_status xl__queue_check_runs(xl_queue *q);

#endif
