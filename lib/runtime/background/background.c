/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the background. */
#include "runtime/background/background.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/worker.h"
#include "runtime/context.h"

struct background_job {
    struct xl__job job; /* first: see xl__job.run */
    xl_queue *beside;   /* alive as long as the worker */
    struct xl__background_call call;
};

/* Only what is constant in `beside` is read. */
static void make_call(const struct background_job *b)
{
    const struct xl__background_call *c = &b->call;
    xl_queue *own = NULL;
    xl_status status = xl_queue_create_beside(b->beside, &own);
    const char *detail = xl_lib_error(b->beside->ctx->lib);
    if (own) {
        own->is_background = true;
        status = c->make(own, c->what);
        detail = xl_error_detail(own);
    }
    if (c->done)
        c->done(status, detail, c->arg);
    xl_queue_destroy(own);
}

static void run_job(struct xl__job *job, bool is_cancelled)
{
    struct background_job *b = (struct background_job *)job;
    if (!is_cancelled)
        make_call(b);
    else if (b->call.done)
        b->call.done(XL_CANCELLED, "the queue was destroyed", b->call.arg);
    xl__kept_clear(&b->call.kept);
    free(b);
}

xl_status xl__background_start(xl_queue *q,
                               const struct xl__background_call *call)
{
    struct xl__kept kept = call->kept;
    xl__error_reset(&q->error);
    struct background_job *b = xl__calloc(1, sizeof *b);
    if (!q->worker && b && !kept.is_broken)
        q->worker = xl__worker_create();
    if (!b || !q->worker || kept.is_broken) {
        free(b);
        xl__kept_clear(&kept);
        return xl__error_set(&q->error, XL_NO_MEMORY,
                             "a call in the background");
    }
    *b = (struct background_job){{NULL, run_job}, q, *call};
    xl__worker_add(q->worker, &b->job);
    return XL_OK;
}
