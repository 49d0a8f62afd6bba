/* SPDX-License-Identifier: Apache-2.0 */
/* How a pipeline is cut on the device at hand: rates from runs in one piece and
 * in several, ways to cut from those, and the quickest of a few. */
#include "pipeline/chunk_search.h"

#include <math.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/alloc.h"
#include "pipeline/measurement.h"

enum {
    BUFFERS = 2, /* double buffers, unless --buffers says otherwise */
    CUT_FOR_PACE = 8,
    PACE_RUNS = 5,
    TRIES = 7 /* of a way to cut */
};

/* Kernels for every size of chunk, before any of them is timed. */
static xl_status prepare(struct pipe_bench *b, const struct chunks *c,
                         const struct pipe_lanes *lanes)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = b->work;
    size_t left = w->items;
    for (unsigned i = 0; i < c->n; i++) {
        const size_t items = xl__min_size(c->units[i] * w->grain, left);
        left -= items;
        TRY(pipe_prepare(&b->site, lanes, items));
    }
fail:
    return status;
}

/* The host's time in calls for a lane. */
static double calls_of(const struct pipe_record *r, unsigned lane)
{
    double ns = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].lane == lane && r->list[i].is_first)
            ns += (double)(r->list[i].return_ns - r->list[i].call_ns);
    return ns;
}

/* What of it is in no call that was written down: flushes. */
static double between_calls(const struct pipe_record *r)
{
    double ns = (double)(r->finish_ns - r->begin_ns);
    for (unsigned l = 0; l < N_LANES; l++)
        ns -= calls_of(r, l);
    return fmax(ns, 0);
}

/* The least that each lane took for these chunks, and the host to enqueue. */
static xl_status pace_run(struct pipe_bench *b, struct pipe_result *x,
                          double lane_ns[N_LANES],
                          double enqueue_ns[N_LANES])
{
    xl_status status = XL_OK;
    struct pipe_record record = {.list = NULL};
    struct pipe_pass p = pipe_look_of(b, x, &record);
    TRY(pipe_site_places(&b->site, &x->chunks, x->buffers));
    TRY(prepare(b, &x->chunks, p.lanes));
    for (unsigned l = 0; l < N_LANES; l++)
        lane_ns[l] = enqueue_ns[l] = (double)INFINITY;
    for (unsigned i = 0; i <= PACE_RUNS; i++) {
        TRY(pipe_run(&p));
        if (i == 0)
            continue; /* kernels reach the device now */
        const struct pipe_parts parts = pipe_parts_of(&record, b->work);
        const double flush_ns =
            p.waits ? 0 : between_calls(&record) / N_LANES;
        for (unsigned l = 0; l < N_LANES; l++) {
            lane_ns[l] = fmin(lane_ns[l], parts.lane[l]);
            enqueue_ns[l] =
                fmin(enqueue_ns[l], calls_of(&record, l) + flush_ns);
        }
    }
fail:
    pipe_record_clear(&record);
    return status;
}

static xl_status measure_paces(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->work);
    const unsigned n = (unsigned)xl__min_size(units, CUT_FOR_PACE);
    double whole[N_LANES], cut[N_LANES], enqueue_ns[N_LANES];
    (void)chunks_make(units, 1, 1, &x->chunks);
    TRY(pace_run(b, x, whole, enqueue_ns));
    (void)chunks_make(units, n, 1, &x->chunks);
    TRY(pace_run(b, x, cut, enqueue_ns));
    for (unsigned l = 0; l < N_LANES; l++) {
        b->paces.lane[l] = chunks_pace(whole[l], cut[l], n, units);
        b->paces.lane[l].enqueue_ns = enqueue_ns[l] / n;
    }
fail:
    return status;
}

static xl_status least_time(struct pipe_bench *b, struct pipe_result *x,
                            double *ns)
{
    xl_status status = XL_OK;
    struct pipe_pass p = pipe_pass_of(b, x);
    *ns = (double)INFINITY;
    TRY(pipe_site_places(&b->site, &x->chunks, x->buffers));
    TRY(prepare(b, &x->chunks, p.lanes));
    for (unsigned i = 0; i < TRIES; i++) {
        const uint64_t begin = xl__now_ns();
        TRY(pipe_run(&p));
        *ns = fmin(*ns, (double)(xl__now_ns() - begin));
    }
fail:
    return status;
}

/* Keep x's chunks if they are the quickest so far. */
static xl_status try_chunks(struct pipe_bench *b, struct pipe_result *x,
                            double *least_ns, struct chunks *best)
{
    xl_status status = XL_OK;
    double ns = 0;
    TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
    TRY(least_time(b, x, &ns));
    if (ns < *least_ns) {
        *least_ns = ns;
        *best = x->chunks;
    }
fail:
    return status;
}

/* The rates name a number of chunks; half and twice as many are tried too,
 * since what runs side by side is slower than what runs alone. */
static xl_status choose_chunks(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->work);
    struct chunks best = {.n = 0};
    double least_ns = (double)INFINITY;
    (void)chunks_choose(units, &b->paces, x->buffers, 2, MOST_CHUNKS,
                        &x->chunks);
    const unsigned n = x->chunks.n, others[] = {n / 2, 2 * n};
    TRY(try_chunks(b, x, &least_ns, &best));
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] >= 2 &&
            chunks_choose(units, &b->paces, x->buffers, others[i], others[i],
                          &x->chunks))
            TRY(try_chunks(b, x, &least_ns, &best));
    x->chunks = best;
fail:
    return status;
}

xl_status pipe_cut(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->work);
    const struct settings *set = &b->s->set;
    x->buffers = set->buffers ? (unsigned)xl__min_size(set->buffers,
                                                       MOST_CHUNKS)
                              : BUFFERS;
    TRY(measure_paces(b, x));
    if (set->chunks)
        (void)chunks_make(units, (unsigned)set->chunks, 1, &x->chunks);
    else
        TRY(choose_chunks(b, x));
    x->foreseen_ns = chunks_time(&x->chunks, &b->paces, x->buffers);
    TRY(pipe_site_places(&b->site, &x->chunks, x->buffers));
    TRY(prepare(b, &x->chunks, &b->site.plain));
    TRY(prepare(b, &x->chunks, &b->site.clocked));
fail:
    return status;
}
