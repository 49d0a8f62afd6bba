/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs, with a kernel that does nothing: the host's time to
 * enqueue one, the time from enqueue to finished, and one of many back to
 * back. All by the wall clock, which is what a program waits by. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "measure/probe.h"
#include "measure/sampler.h"

enum {
    QUICK_RUNS = 30,
    FULL_RUNS = 300,
    BACK_TO_BACK = 200, /* launches in a sample */
    WARM_UP = 20
};

/* One sample, in nanoseconds of one launch. */
typedef xl_status (*take_fn)(xl_queue *q, struct xl__ready *ready, double *ns);

static const struct xl__call no_call;

static xl_status take_enqueue(xl_queue *q, struct xl__ready *ready, double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < BACK_TO_BACK; i++)
        TRY(xl__launch(q, ready, &no_call, NULL));
    *ns = (double)(xl__now_ns() - start) / BACK_TO_BACK;
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status take_round_trip(xl_queue *q, struct xl__ready *ready,
                                 double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    TRY(xl__launch(q, ready, &no_call, NULL));
    TRY(xl_queue_finish(q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status take_back_to_back(xl_queue *q, struct xl__ready *ready,
                                   double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < BACK_TO_BACK; i++)
        TRY(xl__launch(q, ready, &no_call, NULL));
    TRY(xl_queue_finish(q));
    *ns = (double)(xl__now_ns() - start) / BACK_TO_BACK;
fail:
    return status;
}

/* clang-format off */
static const struct {
    const char *variant;
    take_fn take;
    unsigned batch;
    int fact;              /* -1: none */
} costs[] = {
    /* row           one sample         batch         fact */
    {"enqueue",      take_enqueue,      BACK_TO_BACK, -1},
    {"round_trip",   take_round_trip,   1,            XL__F_round_trip_ns},
    {"back_to_back", take_back_to_back, BACK_TO_BACK, XL__F_launch_ns},
};
/* clang-format on */

static xl_status run_cost(struct xl__probing *p, struct xl__ready *ready,
                          unsigned which)
{
    xl_status status = XL_OK;
    const unsigned most = p->how->quick ? QUICK_RUNS : FULL_RUNS;
    double ns = 0;
    xl_row row;
    xl_row_init(&row, "probe_launch", costs[which].variant);
    row.unit = "s";
    row.samples.batch = costs[which].batch;
    row.samples.wall_clock = true;
    while (row.samples.runs < most) {
        TRY(xl__probe_alive(p));
        TRY(costs[which].take(p->q, ready, &ns));
        row.samples.ns[row.samples.runs++] = ns;
    }
    xl__samples_summarise(&row.samples, NULL);
    row.value = row.samples.median_ns * 1e-9;
    xl__probe_emit(p, &row);
    if (costs[which].fact >= 0)
        xl__limits_measure(&p->q->ctx->device->limits,
                           (enum xl__fact_id)costs[which].fact,
                           row.samples.median_ns);
fail:
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    struct xl__ready *ready = xl__calloc(1, sizeof *ready);
    double ns;
    if (!ready)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a plan"));
    ready->plan.n_steps = 1;
    struct xl__step *s = &ready->plan.step[0];
    s->source = "probe_launch.cl";
    s->kernel = "nothing";
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = s->local[0] = 1;
    TRY(xl__ready_make(p->q, ready));
    for (unsigned i = 0; i < WARM_UP; i++)
        TRY(take_round_trip(p->q, ready, &ns));
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++)
        TRY(run_cost(p, ready, i));
fail:
    if (ready)
        xl__ready_clear(ready);
    free(ready);
    return status;
}

const struct xl__probe xl__probe_launch = {
    {"launch",
     "The cost of a launch that does nothing: host time to enqueue, time from "
     "enqueue to finished, and one of 200 back to back, all by the wall "
     "clock. Fooled by drivers that only collect launches until someone "
     "waits: enqueue is cheap there, and back_to_back is the truth.",
     false},
    run};
