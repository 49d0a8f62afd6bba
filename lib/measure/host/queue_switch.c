/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `switch`: the cost of switching queues: the time per launch in a chain
 * of tiny dependent launches on one queue, across queues by events, and, with
 * the host waiting in between, across queues and contexts; and the delay of a
 * launch that waits for a user event. Each launch computes on the word of the
 * one before, so one that did not wait is detected. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "measure/host/transfers.h"
#include "sampling/sampler.h"

enum {
    WORD = 4,
    MOST_LINKS = 64, /* of a chain; drivers have few events (GE-16) */
    FEW_LINKS = 8,   /* where launches are slow */
    START = 7        /* the word before link 0 */
};

/* A queue with the kernel built for it. The chain's word moves between two
 * buffers. */
struct switch_lane {
    xl_queue *q;
    struct xl__workload workload;
    struct launch_chain *chain;
};

/* The lanes of one context share a chain. */
struct launch_chain {
    cl_mem mem[2];
    unsigned n_links; /* links so far */
    cl_uint expected; /* the word after them */
};

enum { FIRST, BESIDE, ELSEWHERE, N_LANES };

struct switch_run {
    struct xl__session *p;
    struct switch_lane lane[N_LANES]; /* ELSEWHERE: in another context */
    struct launch_chain chain[2];
    unsigned links; /* per run */
};

/* -- links ---------------------------------------------------------------- */

static xl_status copy_error(struct switch_run *b,
                            const struct switch_lane *lane, xl_status status)
{
    return xl__copy_queue_error(b->p, lane->q, status);
}

static xl_status add_link(struct switch_run *b, const struct switch_lane *lane,
                          const xl_sync *sync)
{
    struct launch_chain *c = lane->chain;
    const cl_mem in = c->mem[c->n_links % 2],
                 out = c->mem[(c->n_links + 1) % 2];
    c->n_links++;
    c->expected = xl__workload_expected(c->expected, 0, 1);
    return copy_error(
        b, lane,
        xl__workload_launch(lane->q, &lane->workload, in, out, 0, 1, sync));
}

/* A chain by events, on n_lanes queues alternately. */
static xl_status time_chain_by_events(struct switch_run *b, unsigned n_lanes,
                                      double *ns)
{
    xl_status status = XL_OK;
    cl_event before = NULL, after = NULL;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < b->links; i++) {
        const struct switch_lane *lane = &b->lane[i % n_lanes];
        const xl_sync sync = {XL_SYNC_INIT, .n_wait = before ? 1 : 0,
                              .wait = &before, .done = &after};
        TRY(add_link(b, lane, &sync));
        if (n_lanes > 1) /* the next queue waits for it */
            TRY(copy_error(b, lane, xl__queue_flush(lane->q)));
        xl__event_release(before);
        before = after;
        after = NULL;
    }
    for (unsigned i = 0; i < n_lanes; i++)
        TRY(copy_error(b, &b->lane[i], xl_queue_finish(b->lane[i].q)));
    *ns = (double)(xl__now_ns() - start);
fail:
    xl__event_release(before);
    xl__event_release(after);
    return status;
}

/* A chain by the host, which waits after each launch, on two lanes
 * alternately. */
static xl_status time_chain_by_host(struct switch_run *b, unsigned one,
                                    unsigned other, double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < b->links; i++) {
        const struct switch_lane *lane = &b->lane[i % 2 ? other : one];
        TRY(add_link(b, lane, NULL));
        TRY(copy_error(b, lane, xl_queue_finish(lane->q)));
    }
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status time_same_queue(struct xl__session *p, void *arg, double *ns)
{
    (void)p;
    return time_chain_by_events(arg, 1, ns);
}

static xl_status time_two_queues(struct xl__session *p, void *arg, double *ns)
{
    (void)p;
    return time_chain_by_events(arg, 2, ns);
}

static xl_status time_host_same_queue(struct xl__session *p, void *arg,
                                      double *ns)
{
    (void)p;
    return time_chain_by_host(arg, FIRST, FIRST, ns);
}

static xl_status time_host_two_queues(struct xl__session *p, void *arg,
                                      double *ns)
{
    (void)p;
    return time_chain_by_host(arg, FIRST, BESIDE, ns);
}

static xl_status time_host_two_contexts(struct xl__session *p, void *arg,
                                        double *ns)
{
    (void)p;
    return time_chain_by_host(arg, FIRST, ELSEWHERE, ns);
}

/* From setting a user event to the end of a launch that waits for it. */
static xl_status time_user_event(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct switch_run *b = arg;
    const struct switch_lane *lane = &b->lane[FIRST];
    cl_int code;
    bool is_set = false;
    cl_event gate = clCreateUserEvent(p->q->ctx->cl, &code);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &gate};
    CL_TRY(&p->q->error, code);
    TRY(add_link(b, lane, &sync));
    TRY(xl__queue_flush(lane->q));
    const uint64_t start = xl__now_ns();
    is_set = true;
    CL_TRY(&p->q->error, clSetUserEventStatus(gate, CL_COMPLETE));
    TRY(xl_queue_finish(lane->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    if (gate && !is_set) /* or the queue would wait forever */
        clSetUserEventStatus(gate, CL_COMPLETE);
    xl__event_release(gate);
    return status;
}

/* -- rows ----------------------------------------------------------------- */

/* clang-format off */
static const struct {
    const char *name;
    xl_status (*once)(struct xl__session *p, void *arg, double *ns);
    bool is_chain; /* else a single link */
    int beside;    /* the row that it is compared with; -1: none */
} kinds[] = {
    {"same_queue",        time_same_queue,        true,  -1},
    {"two_queues",        time_two_queues,        true,   0},
    {"host_same_queue",   time_host_same_queue,   true,  -1},
    {"host_two_queues",   time_host_two_queues,   true,   2},
    {"host_two_contexts", time_host_two_contexts, true,   2},
    {"user_event",        time_user_event,        false, -1},
};
/* clang-format on */
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Converts times of a chain to times of a link. */
static void divide_times(xl_samples *s, unsigned links)
{
    for (unsigned i = 0; i < s->runs; i++)
        s->ns[i] /= links;
    s->batch *= links;
    xl__samples_summarise(s, NULL);
}

static xl_status check_chains(struct switch_run *b, bool *right)
{
    static const unsigned lanes[] = {FIRST, ELSEWHERE}; /* one per chain */
    xl_status status = XL_OK;
    *right = true;
    for (unsigned i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        const struct switch_lane *lane = &b->lane[lanes[i]];
        const struct launch_chain *c = lane->chain;
        cl_uint word;
        TRY(copy_error(
            b, lane,
            xl_buffer_read(lane->q, c->mem[c->n_links % 2], 0, &word, WORD)));
        *right = *right && word == c->expected;
    }
fail:
    return status;
}

static void emit_rows(struct switch_run *b, xl_samples *samples, bool right)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        xl_row row;
        xl_row_init(&row, "probe_switch", kinds[i].name);
        row.samples = samples[i];
        row.unit = "s";
        row.value = row.samples.median_ns * 1e-9;
        if (kinds[i].beside >= 0)
            xl_row_found(&row, "extra_ns",
                         row.samples.median_ns -
                             samples[kinds[i].beside].median_ns);
        if (!right)
            xl__probe_reject(&row, "wrong result: a launch did not wait for "
                                   "the one before");
        xl__probe_emit(b->p, &row);
    }
}

/* Chooses the length of a chain, so that it takes milliseconds at most. */
static xl_status choose_links(struct switch_run *b)
{
    static const double slow_ns = 1e6; /* for FEW_LINKS */
    xl_status status = XL_OK;
    double ns;
    b->links = FEW_LINKS;
    TRY(time_same_queue(b->p, b, &ns)); /* the first may include compilation */
    TRY(time_same_queue(b->p, b, &ns));
    if (ns < slow_ns)
        b->links = MOST_LINKS;
fail:
    return status;
}

static xl_status measure_kinds(struct switch_run *b)
{
    xl_status status = XL_OK;
    struct xl__timed_run runs[N_KINDS];
    bool right;
    xl_samples *samples = xl__calloc(N_KINDS, sizeof *samples);
    TRY(xl__check_alloc(&b->p->q->error, samples, "samples"));
    for (unsigned i = 0; i < N_KINDS; i++)
        runs[i] = (struct xl__timed_run){kinds[i].once, b};
    TRY(xl__sample_runs(b->p, runs, N_KINDS, samples));
    TRY(check_chains(b, &right));
    for (unsigned i = 0; i < N_KINDS; i++)
        divide_times(&samples[i], kinds[i].is_chain ? b->links : 1);
    emit_rows(b, samples, right);
fail:
    free(samples);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status create_chain(xl_queue *q, struct launch_chain *c)
{
    xl_status status = XL_OK;
    c->expected = START;
    for (unsigned i = 0; i < 2; i++)
        TRY(xl_buffer_create(q, WORD, &c->mem[i]));
    TRY(xl_buffer_write(q, c->mem[0], 0, &c->expected, WORD));
fail:
    return status;
}

static xl_status create_lanes(struct switch_run *b)
{
    xl_status status = XL_OK;
    xl_queue *q = b->p->q;
    xl_lib *lib = q->ctx->lib;
    b->lane[FIRST].q = q;
    status = xl_queue_create_beside(q, &b->lane[BESIDE].q);
    if (status == XL_OK)
        status = xl_queue_create(lib, q->ctx->device, &b->lane[ELSEWHERE].q);
    if (status != XL_OK)
        TRY(xl__error_set(&q->error, status, "%s", xl_lib_error(lib)));
    for (unsigned i = 0; i < N_LANES; i++) {
        struct switch_lane *lane = &b->lane[i];
        lane->chain = &b->chain[i == ELSEWHERE];
        TRY(copy_error(
            b, lane, xl__workload_create(b->p, lane->q, 1, &lane->workload)));
        if (i != BESIDE)
            TRY(copy_error(b, lane, create_chain(lane->q, lane->chain)));
    }
fail:
    return status;
}

static void destroy_lanes(struct switch_run *b)
{
    for (unsigned i = 0; i < N_LANES; i++)
        xl__workload_destroy(&b->lane[i].workload);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned j = 0; j < 2; j++)
            xl__buffer_release(b->chain[i].mem[j]);
    }
    xl_queue_destroy(b->lane[BESIDE].q);
    xl_queue_destroy(b->lane[ELSEWHERE].q);
}

static xl_status run_switch_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct switch_run b = {.p = p};
    TRY(create_lanes(&b));
    TRY(choose_links(&b));
    TRY(measure_kinds(&b));
fail:
    destroy_lanes(&b);
    return status;
}

const struct xl__probe xl__probe_switch = {
    {"switch",
     "Seconds per link in a chain of tiny launches, each waiting for the one "
     "before, by the wall clock: on one queue, from queue to queue by events, "
     "and with the host waiting in between on one queue, two queues, and two "
     "contexts; extra is what the switch adds. user_event: from the host's "
     "own event to the end of a launch that waits for it. Fooled by a busy "
     "host, which notices an end late.",
     false},
    run_switch_probe};
