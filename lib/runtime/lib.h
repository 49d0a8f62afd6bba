/* SPDX-License-Identifier: Apache-2.0 */
/* The library handle from inside: what every queue of a process shares. */
#ifndef XL_RUNTIME_LIB_H
#define XL_RUNTIME_LIB_H

#include <crosslane/crosslane.h>

#include "base/error.h"
#include "base/os/lock.h"
#include "device/device.h"
#include "runtime/store/store.h"
#include "runtime/tuned/tuned_sets.h"

struct xl__context;

struct xl_lib {
    xl__lock lock;      /* guards all below but `store` and `tuned`, which have
                           their own */
    struct xl__error error;
    xl_log log;
    void *log_arg;
    xl__lock log_lock;
    char *cl_dir;       /* NULL: the embedded kernels */
    bool skip_selfcheck;
    unsigned spin_limit; /* turns after which a kernel for a target gives up a
                            wait; 0: never */
    struct xl__store store;
    struct xl__tune_db tuned;
    struct xl__devices devices;
    struct xl__context *contexts; /* linked list */
};

/* Say something to the application; safe from any thread. */
void xl__log(xl_lib *lib, xl_log_level level, const char *fmt, ...)
    XL__PRINTF(3, 4);

#endif
