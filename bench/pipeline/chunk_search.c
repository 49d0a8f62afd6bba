/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the chunks of a pipeline on a device: measures the costs of each
 * lane from runs in one piece and in several, derives a number of chunks with
 * the simulation of chunks.c, and keeps the fastest of a few measured
 * candidates.
 *
 *     lane time(chunks) = chunk_ns * n + unit_ns * units */
#include "pipeline/chunk_search.h"

#include <math.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/alloc.h"
#include "pipeline/measurement.h"

enum {
    BUFFERS = 2, /* double buffering, unless --buffers is given */
    COST_CHUNKS = 8,
    COST_RUNS = 5,
    RUNS_PER_CANDIDATE = 7 /* runs of each candidate */
};

/* Builds the kernels for every size of chunk before any is timed. */
static xl_status prepare_chunks(struct pipe_bench *b, const struct chunks *c,
                                const struct pipe_lanes *lanes)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = b->workload;
    size_t left = w->items;
    for (unsigned i = 0; i < c->n; i++) {
        const size_t items = xl__min_size(c->units[i] * w->grain, left);
        left -= items;
        TRY(pipe_prepare(&b->memory, lanes, items));
    }
fail:
    return status;
}

/* The time the host spends in calls of a lane. */
static double sum_call_ns(const struct pipe_record *r, unsigned lane)
{
    double ns = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].lane == lane && r->list[i].is_first)
            ns += (double)(r->list[i].return_ns - r->list[i].call_ns);
    return ns;
}

/* The time between recorded calls: flushes. */
static double sum_other_ns(const struct pipe_record *r)
{
    double ns = (double)(r->finish_ns - r->begin_ns);
    for (unsigned l = 0; l < N_LANES; l++)
        ns -= sum_call_ns(r, l);
    return fmax(ns, 0);
}

/* Measures the least time of each lane for the chunks of x, and of the host to
 * enqueue them. */
static xl_status measure_lanes(struct pipe_bench *b, struct pipe_result *x,
                               double lane_ns[N_LANES],
                               double enqueue_ns[N_LANES])
{
    xl_status status = XL_OK;
    struct pipe_record record = {.list = NULL};
    struct pipe_run_args p = pipe_recorded_run(b, x, &record);
    TRY(pipe_memory_slots(&b->memory, &x->chunks, x->buffers));
    TRY(prepare_chunks(b, &x->chunks, p.lanes));
    for (unsigned l = 0; l < N_LANES; l++)
        lane_ns[l] = enqueue_ns[l] = (double)INFINITY;
    for (unsigned i = 0; i <= COST_RUNS; i++) {
        TRY(pipe_run(&p));
        if (i == 0)
            continue; /* the first run uploads the kernels */
        const struct pipe_times times = pipe_times_of(&record, b->workload);
        const double flush_ns = p.waits ? 0 : sum_other_ns(&record) / N_LANES;
        for (unsigned l = 0; l < N_LANES; l++) {
            lane_ns[l] = fmin(lane_ns[l], times.lane[l]);
            enqueue_ns[l] =
                fmin(enqueue_ns[l], sum_call_ns(&record, l) + flush_ns);
        }
    }
fail:
    pipe_record_clear(&record);
    return status;
}

/* Measures the costs of the lanes from a run in one chunk and one in
 * COST_CHUNKS. */
static xl_status measure_costs(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->workload);
    const unsigned n = (unsigned)xl__min_size(units, COST_CHUNKS);
    double whole[N_LANES], cut[N_LANES], enqueue_ns[N_LANES];
    (void)chunks_make(units, 1, 1, &x->chunks);
    TRY(measure_lanes(b, x, whole, enqueue_ns));
    (void)chunks_make(units, n, 1, &x->chunks);
    TRY(measure_lanes(b, x, cut, enqueue_ns));
    for (unsigned l = 0; l < N_LANES; l++) {
        b->costs.lane[l] = chunks_lane_cost(whole[l], cut[l], n, units);
        b->costs.lane[l].enqueue_ns = enqueue_ns[l] / n;
    }
fail:
    return status;
}

/* Measures the least total time with the chunks of x. */
static xl_status measure_least_ns(struct pipe_bench *b, struct pipe_result *x,
                                  double *ns)
{
    xl_status status = XL_OK;
    struct pipe_run_args p = pipe_timed_run(b, x);
    *ns = (double)INFINITY;
    TRY(pipe_memory_slots(&b->memory, &x->chunks, x->buffers));
    TRY(prepare_chunks(b, &x->chunks, p.lanes));
    for (unsigned i = 0; i < RUNS_PER_CANDIDATE; i++) {
        const uint64_t begin = xl__now_ns();
        TRY(pipe_run(&p));
        *ns = fmin(*ns, (double)(xl__now_ns() - begin));
    }
fail:
    return status;
}

/* Keeps the chunks of x if they are the fastest so far. */
static xl_status try_chunks(struct pipe_bench *b, struct pipe_result *x,
                            double *least_ns, struct chunks *best)
{
    xl_status status = XL_OK;
    double ns = 0;
    TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
    TRY(measure_least_ns(b, x, &ns));
    if (ns < *least_ns) {
        *least_ns = ns;
        *best = x->chunks;
    }
fail:
    return status;
}

/* Measures the number of chunks that the costs suggest, and half and twice as
 * many, since lanes that overlap are slower than each by itself. */
static xl_status choose_chunks(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->workload);
    struct chunks best = {.n = 0};
    double least_ns = (double)INFINITY;
    (void)chunks_choose(units, &b->costs, x->buffers, 2, MOST_CHUNKS,
                        &x->chunks);
    const unsigned n = x->chunks.n, others[] = {n / 2, 2 * n};
    TRY(try_chunks(b, x, &least_ns, &best));
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] >= 2 && chunks_choose(units, &b->costs, x->buffers,
                                            others[i], others[i], &x->chunks))
            TRY(try_chunks(b, x, &least_ns, &best));
    x->chunks = best;
fail:
    return status;
}

xl_status pipe_choose_chunks(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    const size_t units = pipe_units(b->workload);
    const struct settings *set = &b->s->set;
    x->buffers = set->buffers ? (unsigned)xl__min_size(set->buffers,
                                                       MOST_CHUNKS)
                              : BUFFERS;
    TRY(measure_costs(b, x));
    if (set->chunks)
        (void)chunks_make(units, (unsigned)set->chunks, 1, &x->chunks);
    else
        TRY(choose_chunks(b, x));
    x->predicted_ns = chunks_time(&x->chunks, &b->costs, x->buffers);
    TRY(pipe_memory_slots(&b->memory, &x->chunks, x->buffers));
    TRY(prepare_chunks(b, &x->chunks, &b->memory.plain));
    TRY(prepare_chunks(b, &x->chunks, &b->memory.clocked));
fail:
    return status;
}
