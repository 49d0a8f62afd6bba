/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `launch`: the cost of a launch of an empty kernel: the host's time to
 * enqueue it, the time from enqueue to finished, and the time per launch of
 * many back to back, also with arguments and with local memory. By the wall
 * clock, which is what a program waits by. */
#include <math.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "measure/host/transfers.h"
#include "sampling/sampler.h"

enum {
    QUICK_RUNS = 15,
    FULL_RUNS = 60,
    LEAST_BACK_TO_BACK = 20, /* launches per sample */
    MOST_BACK_TO_BACK = 200,
    WARM_UP = 20
};

static const struct xl__call no_call;

/* When the last of a number of launches was enqueued and finished. */
struct launch_times {
    double enqueued_ns, finished_ns;
};

static xl_status time_launches(xl_queue *q, struct xl__cached_plan *ready,
                               unsigned n, struct launch_times *out)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < n; i++)
        TRY(xl__launch(q, ready, &no_call, NULL));
    out->enqueued_ns = (double)(xl__now_ns() - start);
    TRY(xl_queue_finish(q));
    out->finished_ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* Launches back to back as a source of the sampler. */
struct launch_batch {
    xl_queue *q;
    struct xl__cached_plan *ready;
    bool enqueue_only;
};

static xl_status time_batch(void *arg, unsigned batch, struct xl__timing *out)
{
    const struct launch_batch *t = arg;
    struct launch_times seen = {NAN, NAN};
    const xl_status status = time_launches(t->q, t->ready, batch, &seen);
    out->device_ns = NAN;
    out->spent_ns = seen.finished_ns;
    out->host_ns = t->enqueue_only ? seen.enqueued_ns : seen.finished_ns;
    return status;
}

/* One launch, waited for: a struct xl__timed_run. */
static xl_status time_round_trip(struct xl__session *p, void *ready,
                                 double *ns)
{
    struct launch_times seen = {NAN, NAN};
    const xl_status status = time_launches(p->q, ready, 1, &seen);
    *ns = seen.finished_ns;
    return status;
}

/* -- kernels -------------------------------------------------------------- */

static void add_arguments(const struct xl__limits *l, struct xl__step *s,
                          xl_row *row)
{
    enum { STRUCTS = 7, WORDS = 16 };
    (void)l;
    for (unsigned i = 0; i < STRUCTS; i++) {
        xl__arg_words(s, WORDS);
        for (unsigned k = 0; k < WORDS; k++)
            xl__arg_u64(s, k);
    }
    xl_row_param(row, "bytes", STRUCTS * WORDS * sizeof(cl_ulong));
}

/* All local memory that a group may have: units may have to repartition their
 * memory between cache and local memory. */
static void add_local_memory(const struct xl__limits *l, struct xl__step *s,
                             xl_row *row)
{
    enum { LEAST_BYTES = 1 << 10, SPARE_BYTES = 1 << 10 };
    const size_t most = xl__size_or(l, XL__F_local_mem_bytes, 0);
    const size_t bytes = most > LEAST_BYTES + SPARE_BYTES ? most - SPARE_BYTES
                                                          : LEAST_BYTES;
    s->local_mem_bytes = bytes;
    xl__define(s, "LOCAL_WORDS", (long)(bytes / sizeof(cl_uint)));
    xl_row_param(row, "bytes", (double)bytes);
}

enum launch_mode { ENQUEUE, ALONE, BACK_TO_BACK };

/* clang-format off */
static const struct launch_cost {
    const char *variant, *kernel;
    enum launch_mode how;
    int fact;              /* -1: none */
    /* NULL: the kernel has no arguments */
    void (*extend)(const struct xl__limits *l, struct xl__step *s,
                   xl_row *row);
} costs[] = {
    /* row           kernel          launched      fact */
    {"enqueue",      "nothing",      ENQUEUE,      -1, NULL},
    {"round_trip",   "nothing",      ALONE,        XL__F_round_trip_ns, NULL},
    {"back_to_back", "nothing",      BACK_TO_BACK, XL__F_launch_ns, NULL},
    {"arguments",    "arguments",    BACK_TO_BACK, -1, add_arguments},
    {"local_memory", "local_memory", BACK_TO_BACK, -1, add_local_memory},
};
/* clang-format on */

static xl_status sample_many(struct xl__session *p,
                             struct xl__cached_plan *ready,
                             const struct launch_cost *cost, xl_samples *out)
{
    xl_status status = XL_OK;
    struct launch_batch timed = {p->q, ready, cost->how == ENQUEUE};
    const struct xl__sample_source source = {.take = time_batch,
                                             .arg = &timed,
                                             .min_batch = LEAST_BACK_TO_BACK,
                                             .max_batch = MOST_BACK_TO_BACK,
                                             .wall = true};
    xl_sampling how = xl__probe_sampling(p);
    how.warmup = WARM_UP;
    how.min_runs = how.max_runs = p->how->quick ? QUICK_RUNS : FULL_RUNS;
    TRY(xl__probe_check_stop(p));
    TRY(xl__sample_monitored(p->q->ctx->device, &how, &source, 1, out));
    /* The wall clock was chosen here, and its resolution suffices. */
    out->warnings &= ~(XL_WARN(WALL_CLOCK) | XL_WARN(TOO_SHORT));
fail:
    return status;
}

static xl_status sample_cost(struct xl__session *p,
                             struct xl__cached_plan *ready,
                             const struct launch_cost *cost, xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__timed_run alone = {time_round_trip, ready};
    if (cost->how == ALONE)
        TRY(xl__sample_runs(p, &alone, 1, &row->samples));
    else
        TRY(sample_many(p, ready, cost, &row->samples));
    row->value = row->samples.median_ns * 1e-9;
fail:
    return status;
}

static xl_status measure_cost(struct xl__session *p,
                              const struct launch_cost *cost)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    struct xl__cached_plan *ready = xl__calloc(1, sizeof *ready);
    xl_row row = xl__probe_row("probe_launch", cost->variant, "s");
    TRY(xl__check_alloc(&p->q->error, ready, "a plan"));
    struct xl__step *s = xl__probe_step(&ready->plan, "probe/launch.cl",
                                        cost->kernel, 1, 1, false);
    if (cost->extend)
        cost->extend(l, s, &row);
    status = xl__cached_plan_build(p->q, ready);
    if (status == XL_BUILD_FAILED && cost->fact < 0) {
        status =
            xl__probe_unsupported(p, &row, "the kernel could not be built");
        goto fail;
    }
    TRY(status);
    TRY(sample_cost(p, ready, cost, &row));
    xl__probe_emit(p, &row);
    if (cost->fact >= 0)
        xl__limits_measure(l, (enum xl__fact_id)cost->fact,
                           row.samples.median_ns);
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

static xl_status run_launch_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++)
        TRY(measure_cost(p, &costs[i]));
fail:
    return status;
}

const struct xl__probe xl__probe_launch = {
    {"launch",
     "The cost of a launch that does nothing: host time to enqueue, time from "
     "enqueue to finished, and one of up to 200 back to back, also with 896 "
     "bytes of arguments and with all local memory a group may have; all by "
     "the wall clock. Fooled by drivers that only collect launches until "
     "someone waits: there enqueue is cheap, and back_to_back is the real "
     "cost.",
     false},
    run_launch_probe};
