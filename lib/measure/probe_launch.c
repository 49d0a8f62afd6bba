/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs, with a kernel that does nothing: the host's time to
 * enqueue one, the time from enqueue to finished, and one of many back to
 * back; the last also with arguments and local memory to be set up. All by the
 * wall clock, which is what a program waits by. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "measure/probe.h"
#include "measure/sampler.h"

enum {
    QUICK_RUNS = 30,
    FULL_RUNS = 300,
    LEAST_BACK_TO_BACK = 20, /* launches in a sample */
    MOST_BACK_TO_BACK = 200,
    WARM_UP = 20
};

static const double sample_ns = 10e6; /* fewer launches where they are slow */

/* One sample of n launches, in nanoseconds of one. */
typedef xl_status (*take_fn)(xl_queue *q, struct xl__ready *ready, unsigned n,
                             double *ns);

static const struct xl__call no_call;

static xl_status take_enqueue(xl_queue *q, struct xl__ready *ready, unsigned n,
                              double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < n; i++)
        TRY(xl__launch(q, ready, &no_call, NULL));
    *ns = (double)(xl__now_ns() - start) / n;
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status take_finished(xl_queue *q, struct xl__ready *ready,
                               unsigned n, double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < n; i++)
        TRY(xl__launch(q, ready, &no_call, NULL));
    TRY(xl_queue_finish(q));
    *ns = (double)(xl__now_ns() - start) / n;
fail:
    return status;
}

/* -- kernels --------------------------------------------------------------- */

static void say_nothing(const struct xl__limits *l, struct xl__step *s,
                        xl_row *row)
{
    (void)l, (void)row;
    s->kernel = "nothing";
}

static void say_arguments(const struct xl__limits *l, struct xl__step *s,
                          xl_row *row)
{
    enum { STRUCTS = 7, WORDS = 16 };
    (void)l;
    s->kernel = "arguments";
    for (unsigned i = 0; i < STRUCTS; i++) {
        xl__arg_words(s, WORDS);
        for (unsigned k = 0; k < WORDS; k++)
            xl__arg_u64(s, k);
    }
    xl_row_param(row, "bytes", STRUCTS * WORDS * sizeof(cl_ulong));
}

/* All that a group may have: units may have to share out anew what they have
 * for caches and for local memory. */
static void say_local(const struct xl__limits *l, struct xl__step *s,
                      xl_row *row)
{
    enum { LEAST_BYTES = 1 << 10, SPARE_BYTES = 1 << 10 };
    const size_t most = xl__size_or(l, XL__F_local_mem_bytes, 0);
    const size_t bytes = most > LEAST_BYTES + SPARE_BYTES ? most - SPARE_BYTES
                                                          : LEAST_BYTES;
    s->kernel = "local_memory";
    s->local_mem_bytes = bytes;
    xl__define(s, "LOCAL_WORDS", (long)(bytes / sizeof(cl_uint)));
    xl_row_param(row, "bytes", (double)bytes);
}

/* clang-format off */
static const struct cost {
    const char *variant;
    void (*say)(const struct xl__limits *l, struct xl__step *s, xl_row *row);
    take_fn take;
    unsigned most;         /* launches in a sample */
    int fact;              /* -1: none */
} costs[] = {
    /* row           kernel         one sample     launches           fact */
    {"enqueue",      say_nothing,   take_enqueue,  MOST_BACK_TO_BACK, -1},
    {"round_trip",   say_nothing,   take_finished, 1,                 XL__F_round_trip_ns},
    {"back_to_back", say_nothing,   take_finished, MOST_BACK_TO_BACK, XL__F_launch_ns},
    {"arguments",    say_arguments, take_finished, MOST_BACK_TO_BACK, -1},
    {"local_memory", say_local,     take_finished, MOST_BACK_TO_BACK, -1},
};
/* clang-format on */

static unsigned launches_for(const struct cost *cost, double round_trip_ns)
{
    const double n = fmax(sample_ns / round_trip_ns, LEAST_BACK_TO_BACK);
    return n < cost->most ? (unsigned)n : cost->most;
}

static xl_status sample_cost(struct xl__probing *p, struct xl__ready *ready,
                             const struct cost *cost, xl_row *row)
{
    xl_status status = XL_OK;
    const unsigned most = p->how->quick ? QUICK_RUNS : FULL_RUNS;
    double ns = 0;
    for (unsigned i = 0; i < WARM_UP; i++)
        TRY(take_finished(p->q, ready, 1, &ns));
    row->samples.batch = launches_for(cost, ns);
    while (row->samples.runs < most) {
        TRY(xl__probe_alive(p));
        TRY(cost->take(p->q, ready, row->samples.batch, &ns));
        row->samples.ns[row->samples.runs++] = ns;
    }
    xl__samples_summarise(&row->samples, NULL);
    row->value = row->samples.median_ns * 1e-9;
fail:
    return status;
}

static xl_status run_cost(struct xl__probing *p, const struct cost *cost)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->limits;
    struct xl__ready *ready = xl__calloc(1, sizeof *ready);
    xl_row row;
    xl_row_init(&row, "probe_launch", cost->variant);
    row.unit = "s";
    row.samples.wall_clock = true;
    if (!ready)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a plan"));
    ready->plan.n_steps = 1;
    struct xl__step *s = &ready->plan.step[0];
    s->source = "probe_launch.cl";
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = s->local[0] = 1;
    cost->say(l, s, &row);
    status = xl__ready_make(p->q, ready);
    if (status == XL_BUILD_FAILED && cost->fact < 0) {
        xl__probe_unsupported(p, &row, "the kernel could not be built");
        status = XL_OK;
        goto fail;
    }
    TRY(status);
    TRY(sample_cost(p, ready, cost, &row));
    xl__probe_emit(p, &row);
    if (cost->fact >= 0)
        xl__limits_measure(l, (enum xl__fact_id)cost->fact,
                           row.samples.median_ns);
fail:
    if (ready)
        xl__ready_clear(ready);
    free(ready);
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++)
        TRY(run_cost(p, &costs[i]));
fail:
    return status;
}

const struct xl__probe xl__probe_launch = {
    {"launch",
     "The cost of a launch that does nothing: host time to enqueue, time from "
     "enqueue to finished, and one of up to 200 back to back, also with 896 "
     "bytes of arguments and with all local memory a group may have; all by "
     "the wall clock. Fooled by drivers that only collect launches until someone "
     "waits: enqueue is cheap there, and back_to_back is the truth.",
     false},
    run};
