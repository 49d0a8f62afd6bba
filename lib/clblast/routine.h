/* SPDX-License-Identifier: Apache-2.0 */
/* One routine of CLBlast's interface, and one call of it: served by the
 * library, or passed on to the CLBlast behind this library. */
#ifndef XL_CLBLAST_ROUTINE_H
#define XL_CLBLAST_ROUTINE_H

#include <stdatomic.h>

#include "clblast/queues.h"

/* Static memory of the routine. */
struct xl__routine {
    const char *name;    /* in C: "CLBlastSgemm" */
    const char *mangled; /* in C++; the C function of CLBlast calls this one,
                            which would be ours again: so calls are passed on
                            to it */
    _Atomic(void *) behind;      /* CLBlast's function */
    _Atomic(xl_expr *) compiled; /* of a routine that is an expression */
    _Atomic(unsigned long) n_served, n_passed;
    atomic_bool is_listed; /* in the statistics */
    struct xl__routine *next;
};

struct xl__routine_call {
    struct xl__routine *routine;
    struct xl__wrapped *wrapped;
    xl_queue *q;
    xl_sync sync;
};

/* Begin a call on the caller's queue. XL_UNSUPPORTED: the library cannot use
 * it. xl__routine_end() follows in both cases, with the status of the work: it
 * returns whether that is the call's answer, success or an OpenCL code. After
 * another one nothing was enqueued, and the call is passed on. */
xl_status xl__routine_begin(struct xl__routine_call *call,
                            struct xl__routine *routine,
                            cl_command_queue *queue, cl_event *event);
bool xl__routine_end(struct xl__routine_call *call, xl_status status);

/* CLBlast's function; NULL: there is no CLBlast. */
void *xl__routine_behind(struct xl__routine *routine);

#endif
