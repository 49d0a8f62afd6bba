/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a roof in short bursts, best of many. Another program that has the
 * device for a part of the time lowers most bursts and rarely all: on a CPU a
 * burst is shorter than a time slice, and pauses between bursts keep the
 * scheduler's credit. A burst counts once a second one confirms it, so that no
 * single wrong time becomes a roof.
 *
 *     rate |        o              the best one is not confirmed,
 *          |    o      o   <-----  this one is: within 5 % of another
 *          | o    o  o    o
 *          +--------------- bursts */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "measure/probe.h"

enum { CHUNK = 12 }; /* bursts between two looks at their times */
static const double confirms = 1.05;
static const double pause_ns = 2e6; /* of a CPU, before each burst */

double xl__confirmed_best(const double *ns, unsigned n)
{
    double best = NAN;
    for (unsigned i = 0; i < n; i++) {
        bool is_confirmed = false;
        for (unsigned j = 0; j < n; j++)
            is_confirmed = is_confirmed ||
                           (j != i && ns[j] <= confirms * ns[i] &&
                            ns[i] <= confirms * ns[j]);
        if (is_confirmed && !(best <= ns[i]))
            best = ns[i];
    }
    return best;
}

void xl__roof_raise(struct xl__session *p, enum xl__fact_id fact, double rate)
{
    struct xl__limits *l = &p->q->ctx->device->seen;
    if (rate > 0)
        xl__probe_raise_fact(l, fact, rate);
}

/* The argument of rest(). */
struct pause {
    const struct xl__session *p;
    uint64_t ns;
};

/* Called before each burst; true ends the bursts. */
static bool rest(void *arg)
{
    const struct pause *at = arg;
    if (at->ns > 0)
        xl__sleep_ns(at->ns);
    return at->p->how->stop && at->p->how->stop(at->p->how->stop_arg);
}

/* The argument of enqueue_burst(). */
struct burst {
    struct xl__cached_plan *ready;
    const struct xl__call *call;
};

static xl_status enqueue_burst(xl_queue *q, void *arg)
{
    const struct burst *b = arg;
    return xl__launch(q, b->ready, b->call, NULL);
}

xl_status xl__bursts_take(struct xl__session *p, const struct xl__plan *plan,
                          const struct xl__call *call,
                          const struct xl__burst_limits *limits,
                          double *best_ns)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = xl__cached_plan_create(plan);
    xl_samples *chunk = xl__calloc(1, sizeof *chunk);
    struct burst work = {ready, call};
    struct pause pause = {
        p, xl__is(&p->q->ctx->device->seen, XL__F_is_cpu) ? (uint64_t)pause_ns
                                                          : 0};
    const xl_sampling how = {XL_SAMPLING_INIT, .warmup = 1,
                             .min_runs = CHUNK, .max_runs = CHUNK,
                             .max_noise = 1, .stop = rest,
                             .stop_arg = &pause};
    const uint64_t begin = xl__now_ns();
    double ns[XL_MAX_SAMPLES];
    unsigned n = 0;
    TRY(xl__check_alloc(&p->q->error, ready && chunk ? ready : NULL,
                        "bursts"));
    TRY(xl__cached_plan_build(p->q, ready));
    do {
        TRY(xl_samples_take(p->q, &how, enqueue_burst, &work, chunk));
        for (unsigned i = 0; i < chunk->runs && n < XL_MAX_SAMPLES; i++)
            ns[n++] = chunk->ns[i];
        *best_ns = xl__confirmed_best(ns, n);
    } while (n < XL_MAX_SAMPLES &&
             !(*best_ns <= limits->enough_ns) &&
             (double)(xl__now_ns() - begin) < limits->max_ns);
fail:
    xl__cached_plan_destroy(ready);
    free(chunk);
    return status;
}
