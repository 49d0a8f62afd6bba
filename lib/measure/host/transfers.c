/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of transfers share. Runs are sampled interleaved and by the
 * wall clock; host memory comes from the heap or the driver; transferred words
 * are compared at both ends and at random indices. */

#include "measure/host/transfers.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/str.h"
#include "device/cl_info.h"
#include "sampling/sampler.h"

/* -- runs ----------------------------------------------------------------- */

enum { MOST_BATCH = 1 << 10 };

/* A run as a source of the sampler. */
struct timed_batch {
    struct xl__session *p;
    const struct xl__timed_run *run;
    double ns[MOST_BATCH]; /* of each run of a batch */
};

/* Times each run separately; a batch counts as its median. The mean would not
 * be the time of a copy: one run in a hundred that waits for a time slice on a
 * busy host takes as long as all others together. */
static xl_status time_batch(void *arg, unsigned batch, struct xl__timing *out)
{
    xl_status status = XL_OK;
    struct timed_batch *t = arg;
    const uint64_t begin = xl__now_ns();
    out->device_ns = NAN;
    for (unsigned i = 0; i < batch; i++)
        TRY(t->run->once(t->p, t->run->arg, &t->ns[i]));
    out->host_ns = batch * xl__median(t->ns, batch);
    out->spent_ns = (double)(xl__now_ns() - begin);
fail:
    return status;
}

/* Sampling options for many points: a short time each, longer where times
 * vary, but not less than a few time slices of the host, since samples within
 * one slice agree with each other and not with the next. */
static xl_sampling choose_sampling(const struct xl__session *p)
{
    enum { PATIENCE = 8, RUNS = 20 };
    static const double quick_s = 0.1, full_s = 0.3; /* per run */
    xl_sampling how = xl__probe_sampling(p);
    how.warmup = 1;
    how.max_s = p->how->quick ? quick_s : full_s;
    if (!p->is_hasty) {
        how.max_runs = how.max_runs < RUNS ? RUNS : how.max_runs;
        how.min_runs = how.max_runs;
        how.patience = PATIENCE;
    }
    return how;
}

xl_status xl__sample_runs(struct xl__session *p,
                          const struct xl__timed_run *runs, unsigned n,
                          xl_samples *out)
{
    xl_status status = XL_OK;
    const xl_sampling how = choose_sampling(p);
    struct timed_batch *timed = xl__calloc(n, sizeof *timed);
    struct xl__sample_source *sources = xl__calloc(n, sizeof *sources);
    if (!timed || !sources)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "samples"));
    for (unsigned i = 0; i < n; i++) {
        timed[i].p = p;
        timed[i].run = &runs[i];
        sources[i] = (struct xl__sample_source){.take = time_batch,
                                                .arg = &timed[i],
                                                .max_batch = MOST_BATCH,
                                                .wall = true};
    }
    TRY(xl__probe_check_stop(p));
    TRY(xl__sample_monitored(p->q->ctx->device, &how, sources, n, out));
    /* The wall clock was chosen here, so its warning does not apply; and long
     * runs end by the time limit. */
    for (unsigned i = 0; i < n; i++) {
        out[i].warnings &= ~XL_WARN(WALL_CLOCK);
        if (out[i].runs >= xl__probe_sampling(p).min_runs)
            out[i].warnings &= ~XL_WARN(FEW_RUNS);
    }
fail:
    free(timed);
    free(sources);
    return status;
}

/* -- host memory ---------------------------------------------------------- */

static xl_status create_pinned(xl_queue *q, struct xl__host_mem *out)
{
    xl_status status = XL_OK;
    cl_int code;
    out->mem = clCreateBuffer(q->ctx->cl,
                              CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                              out->bytes, NULL, &code);
    CL_TRY(&q->error, code);
    out->at = clEnqueueMapBuffer(q->cl, out->mem, CL_TRUE,
                                 CL_MAP_READ | CL_MAP_WRITE, 0, out->bytes, 0,
                                 NULL, NULL, &code);
    CL_TRY(&q->error, code);
fail:
    return status;
}

xl_status xl__host_mem_create(xl_queue *q, bool pinned, size_t bytes,
                              struct xl__host_mem *out)
{
    xl_status status = XL_OK;
    *out = (struct xl__host_mem){.bytes = bytes};
    if (pinned)
        TRY(create_pinned(q, out));
    else if (!(out->at = xl__calloc(bytes, 1)))
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "%zu bytes of host memory",
                          bytes));
    return XL_OK;
fail:
    xl__buffer_release(out->mem);
    *out = (struct xl__host_mem){0};
    return status;
}

void xl__host_mem_destroy(xl_queue *q, struct xl__host_mem *h)
{
    if (!h->mem) {
        free(h->at);
    } else {
        clEnqueueUnmapMemObject(q->cl, h->mem, h->at, 0, NULL, NULL);
        clFinish(q->cl);
        clReleaseMemObject(h->mem);
    }
    *h = (struct xl__host_mem){0};
}

void xl__host_mem_random(struct xl__host_mem *h, uint64_t seed)
{
    cl_uint *words = h->at;
    for (size_t i = 0; i < h->bytes / sizeof *words; i++)
        words[i] = xl__probe_word(seed, i);
}

size_t xl__transfer_bytes(const struct xl__session *p, size_t most)
{
    enum { LEAST = 1 << 20 };
    static const double shares = 24;   /* of device memory that such sizes
                                          may use */
    static const double unknown = 4e9; /* bytes, where it is unknown */
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const double room = xl__num_or(l, XL__F_global_mem_bytes, unknown);
    while (most > LEAST && (double)most * shares > room)
        most /= 2;
    return most;
}

enum { N_CHECKED = 16 };

/* The i-th index of n to compare: both ends, then random ones. */
static size_t pick_index(struct xl__rng *rng, unsigned i, size_t n)
{
    if (i < 2)
        return i == 0 ? 0 : n - 1;
    return (size_t)xl__rng_below(rng, n);
}

bool xl__words_match(const cl_uint *words, size_t n, uint64_t seed)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const size_t at = pick_index(&rng, i, n);
        if (words[at] != xl__probe_word(seed, at))
            return false;
    }
    return true;
}

xl_status xl__buffer_matches(struct xl__session *p, cl_mem mem, size_t n,
                             uint64_t seed, bool *right)
{
    xl_status status = XL_OK;
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    *right = true;
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const size_t at = pick_index(&rng, i, n);
        cl_uint word;
        TRY(xl_buffer_read(p->q, mem, at * sizeof word, &word, sizeof word));
        *right = *right && word == xl__probe_word(seed, at);
    }
fail:
    return status;
}

/* -- commands ------------------------------------------------------------- */

xl_status xl__upload(xl_queue *q, cl_mem dst, size_t at, const void *src,
                     size_t bytes, cl_event *done)
{
    xl_status status = XL_OK;
    CL_TRY(&q->error, clEnqueueWriteBuffer(q->cl, dst, CL_FALSE, at, bytes,
                                           src, 0, NULL, done));
fail:
    return status;
}

xl_status xl__download(xl_queue *q, cl_mem src, size_t at, void *dst,
                       size_t bytes, const cl_event *after, cl_event *done)
{
    xl_status status = XL_OK;
    CL_TRY(&q->error,
           clEnqueueReadBuffer(q->cl, src, CL_FALSE, at, bytes, dst,
                               after ? 1 : 0, after, done));
fail:
    return status;
}

xl_status xl__queue_flush(xl_queue *q)
{
    xl_status status = XL_OK;
    CL_TRY(&q->error, clFlush(q->cl));
fail:
    return status;
}

void xl__queue_drain(xl_queue *q)
{
    if (!q)
        return;
    clEnqueueMarkerWithWaitList(q->cl, 0, NULL, NULL);
    clFinish(q->cl);
}

xl_status xl__copy_queue_error(struct xl__session *p, xl_queue *q,
                               xl_status status)
{
    if (status == XL_OK || q == p->q)
        return status;
    return xl__error_set(&p->q->error, status, "%s", xl_error_detail(q));
}

/* -- a kernel of a chosen length ------------------------------------------ */

/* A kernel of a chosen duration that runs beside copies, or is passed from
 * queue to queue. Its result depends on every word and every iteration. */
enum { WG = 256, WORD = 4 };

/* Slots of a call. */
enum { IN = 1, OUT = 2, FIRST = 0, ITERATIONS = 1 };

xl_status xl__workload_create(struct xl__session *p, xl_queue *q, size_t words,
                              struct xl__workload *w)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t most_wg = xl__min_size(xl__min_size(WG, p->most_wg), words);
    size_t most = scalar ? 1 : words; /* groups */
    /* A power of two, which divides even word counts evenly. */
    while (scalar && 2 * most <= XL__CPU_GROUPS * units)
        most *= 2;
    *w = (struct xl__workload){.wg = 1};
    while (!scalar && 2 * w->wg <= most_wg)
        w->wg *= 2;
    w->count = xl__ceil_div(words, most * w->wg);
    const size_t groups = xl__ceil_div(words, w->count * w->wg);
    w->words = groups * w->count * w->wg;
    w->ready = xl__calloc(1, sizeof *w->ready);
    TRY(xl__check_alloc(&q->error, w->ready, "a plan"));
    struct xl__step *s = xl__probe_step(&w->ready->plan, "probe/overlap.cl",
                                        "work", groups * w->wg, w->wg, false);
    xl__define(s, "WG", (long)w->wg);
    xl__arg_mem(s, IN);
    xl__arg_mem(s, OUT);
    xl__arg_value_u32(s, FIRST);
    xl__arg_u32(s, w->count);
    xl__arg_value_u32(s, ITERATIONS);
    TRY(xl__cached_plan_build(q, w->ready));
fail:
    return status;
}

void xl__workload_destroy(struct xl__workload *w)
{
    xl__cached_plan_destroy(w->ready);
    *w = (struct xl__workload){0};
}

xl_status xl__workload_launch(xl_queue *q, const struct xl__workload *w,
                              cl_mem in, cl_mem out, size_t first,
                              size_t iterations, const xl_sync *sync)
{
    const struct xl__call call = {
        .mem = {[IN] = {.buf = in}, [OUT] = {.buf = out}},
        .value = {[FIRST] = {.u = first}, [ITERATIONS] = {.u = iterations}}};
    return xl__launch(q, w->ready, &call, sync);
}

cl_uint xl__workload_expected(cl_uint x, size_t i, size_t iterations)
{
    const cl_uint c = 2 * (cl_uint)i + 1;
    for (size_t t = 0; t < iterations; t++)
        x = x * x + c;
    return x;
}

/* -- rows ----------------------------------------------------------------- */

void xl__transfer_row(xl_row *row, const char *op, const char *first,
                      const char *second, size_t bytes)
{
    char name[sizeof row->variant];
    xl__strfmt(name, sizeof name, "%s%s%s", first, *second ? "_" : "", second);
    xl_row_init(row, op, name);
    xl_row_shape(row, "bytes", (double)bytes);
}

void xl__transfer_note(xl_row *row, const char *text)
{
    if (row->verdict == XL_ROW_OK)
        xl__strcpy(row->reason, sizeof row->reason, text);
}

void xl__transfer_value(xl_row *row, double bytes, const char *why_no_rate)
{
    const double s = row->samples.median_ns * 1e-9;
    row->bytes = bytes;
    row->unit = why_no_rate ? "s" : "B/s";
    row->value = why_no_rate ? s : bytes / s;
    if (why_no_rate)
        xl__transfer_note(row, why_no_rate);
}
