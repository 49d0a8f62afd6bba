/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a pipeline on one device. Total times are taken with the host's
 * clock, from the first call until the last result is on the host, on queues
 * without profiling, modes interleaved. The shares of lanes and stages come
 * from further runs on queues with profiling. Without a reliable event clock
 * each command of those runs is waited for, and the host's clock times it. The
 * model computes the same times from the device's rates: transfers at the
 * measured bandwidth, kernels by the roofline, one after another. */
#include "pipeline/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "pipeline/chunk_search.h"
#include "pipeline/report.h"
#include "timing/roofs/peaks.h"

/* -- model ---------------------------------------------------------------- */

/* A fact of the device; NaN: unknown. */
static double fact_value(const xl_device *dev, const char *name)
{
    xl_fact fact;
    return xl_device_fact(dev, name, XL_UNKNOWN, &fact) == XL_OK
               ? fact.value
               : (double)NAN;
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* Runs a probe for its facts; its rows are not reported. */
static xl_status run_probe(struct pipe_bench *b, const char *name)
{
    const xl_probing how = {.quick = true, .stop = session_stopped,
                            .stop_arg = b->s};
    return xl_probe_run(b->memory.clocked.q[LANE_RUN], name, &how, drop_row,
                        NULL);
}

/* Time of a stage by the roofline. */
static double model_stage_ns(struct pipe_bench *b, const struct pipe_stage *st)
{
    const double items = (double)b->workload->items;
    const bool is_gemm = st->kind->is_gemm;
    const xl_roof roof = {.dtype = b->workload->dtype,
                          .engine = is_gemm && b->workload->dtype != XL_F32
                                        ? XL_ENGINE_MATRIX
                                        : XL_ENGINE_FMA};
    xl_row row;
    xl_bound bound;
    xl_row_init(&row, "", "");
    row.dtype = b->workload->dtype;
    row.unit = is_gemm ? "flop/s" : "B/s";
    row.flop = st->flop * items;
    row.bytes = st->bytes * items + st->shared_bytes;
    if (roof_bound(b->memory.clocked.q[LANE_RUN], &roof, &row, false,
                   &bound) != XL_OK)
        return (double)NAN;
    return (is_gemm ? row.flop : row.bytes) / bound.value * 1e9;
}

/* Computes the times of all lanes from the device's rates, measuring them if
 * necessary. */
static void compute_model(struct pipe_bench *b)
{
    struct pipe_model *m = &b->model;
    const struct pipe_workload *w = b->workload;
    if (isnan(fact_value(b->dev, "upload_bytes_per_s")))
        (void)run_probe(b, "transfer");
    m->upload = fact_value(b->dev, "upload_bytes_per_s");
    m->download = fact_value(b->dev, "download_bytes_per_s");
    m->times.lane[LANE_UP] = pipe_bytes(w, PIPE_FROM_HOST) / m->upload * 1e9;
    m->times.lane[LANE_DOWN] = pipe_bytes(w, PIPE_TO_HOST) / m->download * 1e9;
    for (unsigned i = 0; i < w->n_stages; i++) {
        m->times.stage[i] = model_stage_ns(b, &w->stage[i]);
        m->times.lane[LANE_RUN] += m->times.stage[i];
    }
    for (unsigned l = 0; l < N_LANES; l++)
        m->times.total += m->times.lane[l];
}

enum { RECORDED_RUNS = 7 }; /* recorded runs */

/* Sampling of a mode: quick, default, full. */
static const xl_sampling extents[] = {
    {XL_SAMPLING_INIT, .warmup = 2, .min_runs = 7, .max_runs = 100,
     .max_noise = 0.01, .max_s = 0.3},
    {XL_SAMPLING_INIT, .warmup = 3, .min_runs = 20, .max_runs = 500,
     .max_noise = 0.01, .max_s = 1.5},
    {XL_SAMPLING_INIT, .warmup = 5, .min_runs = 50, .max_runs = 1000,
     .max_noise = 0.005, .max_s = 5}};

/* -- times ---------------------------------------------------------------- */

struct pipe_times pipe_times_of(const struct pipe_record *r,
                                const struct pipe_workload *w)
{
    struct pipe_times out = {.total = (double)(r->end_ns - r->begin_ns)};
    for (size_t i = 0; i < r->n; i++) {
        const struct pipe_command *c = &r->list[i];
        const double ns = (double)(c->end_ns - c->start_ns);
        out.lane[c->lane] += ns;
        if (c->lane == LANE_RUN && c->stage < w->n_stages)
            out.stage[c->stage] += ns;
    }
    return out;
}

double pipe_rest(const struct pipe_times *p)
{
    double left = p->total;
    for (unsigned l = 0; l < N_LANES; l++)
        left -= p->lane[l];
    return fmax(left, 0);
}

double pipe_non_gemm(const struct pipe_workload *w, const struct pipe_times *p)
{
    double other = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        other += w->stage[i].kind->is_gemm ? 0 : p->stage[i];
    return other / p->lane[LANE_RUN];
}

unsigned pipe_slowest(const struct pipe_times *p)
{
    unsigned at = 0;
    for (unsigned l = 1; l < N_LANES; l++)
        if (p->lane[l] > p->lane[at])
            at = l;
    return at;
}

const struct pipe_result *pipe_result(const struct pipe_bench *b,
                                      const char *mode)
{
    for (unsigned i = 0; pipe_modes[i].name; i++)
        if (strcmp(pipe_modes[i].name, mode) == 0 && b->result[i].is_done)
            return &b->result[i];
    return NULL;
}

/* -- runs ----------------------------------------------------------------- */

struct pipe_run_args pipe_timed_run(struct pipe_bench *b,
                                    struct pipe_result *x)
{
    return (struct pipe_run_args){.memory = &b->memory,
                                  .lanes = &b->memory.plain,
                                  .mode = x->mode,
                                  .chunks = &x->chunks,
                                  .buffers = x->buffers};
}

struct pipe_run_args pipe_recorded_run(struct pipe_bench *b,
                                       struct pipe_result *x,
                                       struct pipe_record *record)
{
    struct pipe_run_args p = pipe_timed_run(b, x);
    p.lanes = &b->memory.clocked;
    p.record = record;
    p.waits = !b->memory.has_clock;
    return p;
}

/* -- a mode --------------------------------------------------------------- */

/* Starts the row of a mode. */
static void init_row(struct pipe_bench *b, struct pipe_result *x)
{
    const struct pipe_workload *w = b->workload;
    xl_row_init(&x->row, "pipeline", x->mode->name);
    x->row.seed = b->s->set.seed;
    x->row.dtype = w->dtype;
    x->row.unit = "s";
    x->row.cold = b->s->set.cold;
    x->row.flop = pipe_flop(w);
    x->row.bytes = x->mode->moves ? pipe_bytes(w, PIPE_HOST) : 0;
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        xl_row_shape(&x->row, w->size_names[i], (double)w->size[i]);
    xl_row_param_text(&x->row, "stages", w->stages);
}

/* Marks a mode as failed with a reason. */
static void set_failure(struct pipe_result *x, xl_verdict verdict,
                        const char *why)
{
    x->is_requested = x->is_done = false; /* its times are not reported */
    x->row.verdict = verdict;
    xl__strcpy(x->row.reason, sizeof x->row.reason, why);
}

/* The reason why a mode is not available; NULL: it is. */
static const char *why_unavailable(const struct pipe_bench *b,
                                   const struct pipe_mode *mode)
{
    if (mode->maps && !b->memory.is_shared)
        return "host and device do not share memory: mapping would copy, as "
               "'pinned' does";
    if (mode->is_cut && pipe_units(b->workload) < 2)
        return "too few items to divide into chunks: give a larger batch";
    if (mode->is_cut && b->s->set.chunks > pipe_units(b->workload))
        return "--chunks: more chunks than the workload can be divided into";
    return NULL;
}

/* Runs a mode once and checks its result. A wrong result rejects the mode. */
static xl_status run_and_check(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    struct check_result found;
    struct pipe_run_args p = pipe_timed_run(b, x);
    const void *result = NULL;
    TRY(pipe_invalidate_result(&b->memory, x->mode));
    TRY(pipe_run(&p));
    TRY(pipe_read_result(&b->memory, x->mode, &result));
    status = pipe_check(b->workload, (const void *const *)b->host.at, result,
                        b->s->set.seed, &found);
    if (status == XL_WRONG_RESULT) {
        char why[sizeof x->row.reason];
        xl__strfmt(why, sizeof why, "wrong result: %s", found.why);
        b->s->n_wrong++;
        set_failure(x, XL_ROW_REJECTED, why);
        status = XL_OK;
    }
fail:
    return status;
}

/* Prepares a mode. A failure is reported in its row; only cancellation ends
 * the measurement. */
static xl_status prepare_mode(struct pipe_bench *b, struct pipe_result *x)
{
    const char *missing = why_unavailable(b, x->mode);
    if (missing) {
        set_failure(x, XL_ROW_UNSUPPORTED, missing);
        return XL_OK;
    }
    if (*b->memory.no_host_memory && (x->mode->is_pinned || x->mode->maps)) {
        set_failure(x, XL_ROW_ERROR, b->memory.no_host_memory);
        return XL_OK;
    }
    xl_status status = x->mode->is_cut ? pipe_choose_chunks(b, x) : XL_OK;
    if (status == XL_OK)
        status = run_and_check(b, x);
    if (status != XL_OK && status != XL_CANCELLED) {
        set_failure(x, XL_ROW_ERROR, pipe_error_detail(&b->memory));
        status = XL_OK;
    }
    return status;
}

static xl_status enqueue_run(xl_queue *q, void *arg)
{
    (void)q; /* the pass has its own queues and waits for them */
    return pipe_run(arg);
}

/* Completes the row of a timed mode after checking the result again. */
static void finish_mode(struct pipe_bench *b, struct pipe_result *x)
{
    /* the host clock is intended here */
    x->row.samples.warnings &= ~XL_WARN(WALL_CLOCK);
    x->row.value = x->row.samples.median_ns * 1e-9;
    x->is_done = true;
    const xl_status status = run_and_check(b, x);
    if (status != XL_OK)
        set_failure(x, XL_ROW_ERROR, pipe_error_detail(&b->memory));
    xl_row_judge(&x->row, b->dev);
}

/* Timed runs: the modes, then each lane of 'pinned' by itself. */
struct timed_runs {
    struct pipe_run_args pass[PIPE_MODES + N_LANES];
    struct pipe_result *result[PIPE_MODES + N_LANES]; /* NULL: a lane */
    xl_piece piece[PIPE_MODES + N_LANES];
    unsigned n;
};

static void add_timed(struct timed_runs *t, const struct pipe_run_args *pass,
                      struct pipe_result *result)
{
    t->pass[t->n] = *pass;
    t->result[t->n] = result;
    t->piece[t->n] = (xl_piece){enqueue_run, &t->pass[t->n]};
    t->n++;
}

static void list_timed(struct pipe_bench *b, struct timed_runs *t)
{
    bool is_cut = false;
    t->n = 0;
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        const struct pipe_run_args pass = pipe_timed_run(b, x);
        if (!x->is_requested)
            continue;
        is_cut = is_cut || x->mode->is_cut;
        add_timed(t, &pass, x);
    }
    for (unsigned l = 0; is_cut && l < N_LANES; l++) {
        struct pipe_run_args pass = {.memory = &b->memory,
                                     .lanes = &b->memory.plain,
                                     .mode = pipe_mode("pinned"),
                                     .lane_mask = 1u << l};
        add_timed(t, &pass, NULL);
    }
}

/* Times all requested modes, interleaved. */
static xl_status time_modes(struct pipe_bench *b)
{
    xl_status status = XL_OK;
    struct timed_runs t;
    unsigned lane = 0;
    const struct settings *set = &b->s->set;
    xl_sampling how = extents[set->full ? 2 : set->quick ? 0 : 1];
    xl_samples *samples = xl__calloc(PIPE_MODES + N_LANES, sizeof *samples);
    TRY(samples ? XL_OK : XL_NO_MEMORY);
    session_sampling(b->s, &how);
    how.stop = session_stopped;
    how.stop_arg = b->s;
    list_timed(b, &t);
    if (t.n > 0)
        TRY(xl_samples_take_interleaved(b->memory.plain.q[LANE_RUN], &how, t.piece,
                                  t.n, samples));
    for (unsigned i = 0; i < t.n; i++) {
        if (!t.result[i]) {
            b->separate_ns[lane++] = samples[i].min_ns;
            continue;
        }
        t.result[i]->row.samples = samples[i];
        finish_mode(b, t.result[i]);
    }
fail:
    free(samples);
    return status;
}

/* Records a few runs and keeps the fastest: it has the least influence of
 * other processes, and its times belong together. */
static xl_status record_runs(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    struct pipe_record record = {.list = NULL};
    struct pipe_run_args p = pipe_recorded_run(b, x, &record);
    for (unsigned i = 0; i <= RECORDED_RUNS; i++) {
        TRY(pipe_run(&p));
        const struct pipe_times times = pipe_times_of(&record, b->workload);
        if (i == 0 || (x->best.n > 0 && times.total >= x->times.total))
            continue; /* the first run uploads the kernels */
        const struct pipe_record slower = x->best;
        x->best = record;
        x->times = times;
        record = slower;
    }
fail:
    pipe_record_clear(&record);
    return status;
}

/* -- first call ----------------------------------------------------------- */

/* Measures the first call of a program with a new library handle: nothing that
 * this process opened or built is reused, except what the driver caches.
 * `cache_dir` as in xl_options. */
static xl_status measure_first_call(struct pipe_bench *b,
                                    const char *cache_dir,
                                    struct pipe_first *out)
{
    xl_status status = XL_OK;
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache_dir};
    struct pipe_memory memory = {.w = NULL};
    xl_lib *lib = NULL;
    unsigned n = 0;
    struct pipe_run_args p = {
        .memory = &memory, .lanes = &memory.plain, .mode = &pipe_modes[0]};
    const uint64_t begin = xl__now_ns();
    TRY(xl_open(&options, &lib));
    TRY(xl_device_count(lib, &n));
    xl_device *dev = xl_device_at(lib, xl_device_index(b->dev));
    TRY(dev ? XL_OK : XL_NO_DEVICE);
    TRY(pipe_memory_open(&memory, b->workload, lib, dev, &b->host));
    const uint64_t opened = xl__now_ns();
    TRY(pipe_prepare(&memory, &memory.plain, b->workload->items));
    const uint64_t built = xl__now_ns();
    TRY(pipe_run(&p));
    out->begin_ns = begin;
    out->open_ns = (double)(opened - begin);
    out->build_ns = (double)(built - opened);
    out->run_ns = (double)(xl__now_ns() - built);
    out->is_done = true;
fail:
    if (status == XL_OK)
        pipe_report_first(b, out); /* kept even if a later step fails */
    else
        out->why = xl_status_text(status);
    pipe_memory_close(&memory);
    xl_close(lib);
    return status;
}

/* -- all of it ------------------------------------------------------------ */

static int report_failure(struct pipe_bench *b, const char *doing,
                          xl_status status)
{
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(b->s, doing, status, pipe_error_detail(&b->memory));
}

static bool is_shared(const xl_device *dev)
{
    const double found = fact_value(dev, "has_zero_copy");
    return (isnan(found) ? fact_value(dev, "host_unified") : found) == 1;
}

/* Opens the memory for all modes, measures clock and rates, and builds the
 * kernels. */
static xl_status open_modes(struct pipe_bench *b)
{
    xl_status status = XL_OK;
    TRY(pipe_memory_open(&b->memory, b->workload, b->s->lib, b->dev,
                         &b->host));
    progress_step(b->s, "pipeline: clocks and rates");
    (void)run_probe(b, "timer");
    b->memory.has_clock = fact_value(b->dev, "timer_ok") == 1;
    b->has_event_times = b->memory.has_clock;
    TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
    compute_model(b);
    b->memory.is_shared = is_shared(b->dev);
    TRY(pipe_memory_extend(&b->memory));
    progress_step(b->s, "pipeline: building");
    TRY(pipe_prepare(&b->memory, &b->memory.plain, b->workload->items));
    TRY(pipe_prepare(&b->memory, &b->memory.clocked, b->workload->items));
fail:
    return status;
}

/* Measures first call, modes and records, in this order. */
static xl_status measure_modes(struct pipe_bench *b)
{
    xl_status status = session_stopped(b->s) ? XL_CANCELLED : XL_OK;
    TRY(status);
    TRY(open_modes(b));
    if (!xl_cache_dir(b->s->lib))
        b->first[FIRST_CACHED].why = "the cache is off";
    else if (!session_stopped(b->s))
        (void)measure_first_call(b, NULL, &b->first[FIRST_CACHED]);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        if (!x->is_requested)
            continue;
        TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
        progress_step(b->s, x->mode->name);
        TRY(prepare_mode(b, x));
    }
    progress_step(b->s, "pipeline: timing");
    TRY(time_modes(b));
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_requested && b->result[i].is_done)
            TRY(record_runs(b, &b->result[i]));
fail:
    return status;
}

int pipe_bench_run(struct pipe_bench *b, struct session *s, xl_device *dev,
                   const struct pipe_workload *w, unsigned modes)
{
    enum { STEPS = 4 };
    memset(b, 0, sizeof *b);
    b->s = s;
    b->dev = dev;
    b->workload = w;
    for (unsigned l = 0; l < N_LANES; l++)
        b->separate_ns[l] = (double)NAN;
    b->first[FIRST_BUILT] = (struct pipe_first){.name = "built", .why = ""};
    b->first[FIRST_CACHED] = (struct pipe_first){.name = "cached", .why = ""};
    progress_begin(s, STEPS + PIPE_MODES);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        b->result[i].mode = &pipe_modes[i];
        b->result[i].is_requested = modes >> i & 1;
        init_row(b, &b->result[i]);
    }
    if (!pipe_host_init(&b->host, w, s->set.seed))
        return session_fail(s, "preparing data", XL_NO_MEMORY,
                            "give smaller sizes");
    progress_step(s, "pipeline: the first call");
    /* a failure occurs again below and is reported there */
    (void)measure_first_call(b, "", &b->first[FIRST_BUILT]);
    const int code = report_failure(b, "the pipeline", measure_modes(b));
    progress_end(s);
    return code;
}

void pipe_bench_clear(struct pipe_bench *b)
{
    for (unsigned i = 0; i < PIPE_MODES; i++)
        pipe_record_clear(&b->result[i].best);
    if (b->memory.w)
        pipe_memory_close(&b->memory);
    pipe_host_clear(&b->host);
}
