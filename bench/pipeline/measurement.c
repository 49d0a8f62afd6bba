/* SPDX-License-Identifier: Apache-2.0 */
/* Totals are by the host's clock, from the first call until the last result is
 * there, on queues without profiling. Shares are from further runs on queues
 * with it. Where event stamps are not to be believed every command of those is
 * waited for, and the wall clock times it. */
#include "pipeline/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"

enum { LOOKS = 7 }; /* runs that are taken apart */

/* How long a mode may take: quick, default, full. */
static const xl_sampling extents[] = {
    {.warmup = 2, .min_runs = 7, .max_runs = 100, .max_noise = 0.01,
     .max_s = 0.3},
    {.warmup = 3, .min_runs = 20, .max_runs = 500, .max_noise = 0.01,
     .max_s = 1.5},
    {.warmup = 5, .min_runs = 50, .max_runs = 1000, .max_noise = 0.005,
     .max_s = 5}};

/* -- parts ----------------------------------------------------------------- */

struct pipe_parts pipe_parts_of(const struct pipe_record *r,
                                const struct pipe_work *w)
{
    struct pipe_parts out = {.total = (double)(r->end_ns - r->begin_ns)};
    for (size_t i = 0; i < r->n; i++) {
        const struct pipe_command *c = &r->list[i];
        const double ns = (double)(c->end_ns - c->start_ns);
        out.lane[c->lane] += ns;
        if (c->lane == LANE_RUN && c->stage < w->n_stages)
            out.stage[c->stage] += ns;
    }
    return out;
}

double pipe_rest(const struct pipe_parts *p)
{
    double left = p->total;
    for (unsigned l = 0; l < N_LANES; l++)
        left -= p->lane[l];
    return fmax(left, 0);
}

double pipe_non_gemm(const struct pipe_work *w, const struct pipe_parts *p)
{
    double other = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        other += w->stage[i].kind->is_gemm ? 0 : p->stage[i];
    return other / p->lane[LANE_RUN];
}

unsigned pipe_slowest(const struct pipe_parts *p)
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

/* -- passes ---------------------------------------------------------------- */

struct pipe_pass pipe_pass_of(struct pipe_bench *b, struct pipe_result *x)
{
    return (struct pipe_pass){.site = &b->site,
                              .lanes = &b->site.plain,
                              .mode = x->mode,
                              .chunks = &x->chunks,
                              .buffers = x->buffers};
}

/* The same, to be taken apart. */
struct pipe_pass pipe_look_of(struct pipe_bench *b, struct pipe_result *x,
                                struct pipe_record *record)
{
    struct pipe_pass p = pipe_pass_of(b, x);
    p.lanes = &b->site.clocked;
    p.record = record;
    p.waits = !b->site.has_clock;
    return p;
}

/* -- a mode ---------------------------------------------------------------- */

static void start_row(struct pipe_bench *b, struct pipe_result *x)
{
    const struct pipe_work *w = b->work;
    xl_row_init(&x->row, "pipeline", x->mode->name);
    x->row.seed = b->s->set.seed;
    x->row.dtype = w->dtype;
    x->row.unit = "s";
    x->row.flop = pipe_flop(w);
    x->row.bytes = x->mode->moves ? pipe_bytes(w, PIPE_HOST) : 0;
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        xl_row_shape(&x->row, w->size_names[i], (double)w->size[i]);
    xl_row_param_text(&x->row, "stages", w->stages);
}

static void refuse(struct pipe_result *x, xl_verdict verdict, const char *why)
{
    x->is_wanted = x->is_done = false; /* its times count for nothing */
    x->row.verdict = verdict;
    xl__strcpy(x->row.reason, sizeof x->row.reason, why);
}

/* Why a mode cannot be had here; NULL: it can. */
static const char *lacks(const struct pipe_bench *b,
                         const struct pipe_mode *mode)
{
    if (mode->maps && !b->site.is_shared)
        return "host and device do not share memory: mapping would copy, as "
               "'pinned' does";
    if (mode->is_cut && pipe_units(b->work) < 2)
        return "too little work to be cut: give a larger batch";
    if (mode->is_cut && b->s->set.chunks > pipe_units(b->work))
        return "--chunks: there are fewer parts that can be cut off";
    return NULL;
}

static xl_status checked_run(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    struct check_result found;
    struct pipe_pass p = pipe_pass_of(b, x);
    const void *result = NULL;
    TRY(pipe_spoil(&b->site, x->mode));
    TRY(pipe_run(&p));
    TRY(pipe_fetch(&b->site, x->mode, &result));
    status = pipe_check(b->work, (const void *const *)b->host.at, result,
                        b->s->set.seed, &found);
    if (status == XL_WRONG_RESULT) {
        char why[sizeof x->row.reason];
        snprintf(why, sizeof why, "wrong result: %.170s", found.why);
        b->s->n_wrong++;
        refuse(x, XL_ROW_REJECTED, why);
        status = XL_OK;
    }
fail:
    return status;
}

/* A failure of one mode is its row's; only a stop ends all. */
static xl_status line_up(struct pipe_bench *b, struct pipe_result *x)
{
    const char *missing = lacks(b, x->mode);
    if (missing) {
        refuse(x, XL_ROW_UNSUPPORTED, missing);
        return XL_OK;
    }
    if (*b->site.no_host_memory && (x->mode->is_pinned || x->mode->maps)) {
        refuse(x, XL_ROW_ERROR, b->site.no_host_memory);
        return XL_OK;
    }
    xl_status status = x->mode->is_cut ? pipe_cut(b, x) : XL_OK;
    if (status == XL_OK)
        status = checked_run(b, x);
    if (status != XL_OK && status != XL_CANCELLED) {
        refuse(x, XL_ROW_ERROR, pipe_story(&b->site));
        status = XL_OK;
    }
    return status;
}

static xl_status enqueue(xl_queue *q, void *arg)
{
    (void)q; /* the pass has its own, and waits for them */
    return pipe_run(arg);
}

static void conclude(struct pipe_bench *b, struct pipe_result *x)
{
    /* The wall clock is the one that is meant. */
    x->row.samples.warnings &= ~XL_WARN(WALL_CLOCK);
    x->row.value = x->row.samples.median_ns * 1e-9;
    x->is_done = true;
    const xl_status status = checked_run(b, x);
    if (status != XL_OK)
        refuse(x, XL_ROW_ERROR, pipe_story(&b->site));
    xl_row_judge(&x->row, b->dev);
}

/* What is timed: the modes, and behind them pinned lanes by themselves. */
struct timed {
    struct pipe_pass pass[PIPE_MODES + N_LANES];
    struct pipe_result *result[PIPE_MODES + N_LANES]; /* NULL: a lane */
    xl_piece piece[PIPE_MODES + N_LANES];
    unsigned n;
};

static void add_timed(struct timed *t, const struct pipe_pass *pass,
                      struct pipe_result *result)
{
    t->pass[t->n] = *pass;
    t->result[t->n] = result;
    t->piece[t->n] = (xl_piece){enqueue, &t->pass[t->n]};
    t->n++;
}

static void list_timed(struct pipe_bench *b, struct timed *t)
{
    bool is_cut = false;
    t->n = 0;
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        const struct pipe_pass pass = pipe_pass_of(b, x);
        if (!x->is_wanted)
            continue;
        is_cut = is_cut || x->mode->is_cut;
        add_timed(t, &pass, x);
    }
    for (unsigned l = 0; is_cut && l < N_LANES; l++) {
        struct pipe_pass pass = {.site = &b->site,
                                 .lanes = &b->site.plain,
                                 .mode = pipe_mode("pinned"),
                                 .lanes_wanted = 1u << l};
        add_timed(t, &pass, NULL);
    }
}

static xl_status time_all(struct pipe_bench *b)
{
    xl_status status = XL_OK;
    struct timed t;
    unsigned lane = 0;
    const struct settings *set = &b->s->set;
    xl_sampling how = extents[set->full ? 2 : set->quick ? 0 : 1];
    xl_samples *samples = xl__calloc(PIPE_MODES + N_LANES, sizeof *samples);
    TRY(samples ? XL_OK : XL_NO_MEMORY);
    how.stop = session_stopped;
    how.stop_arg = b->s;
    list_timed(b, &t);
    if (t.n > 0)
        TRY(xl_samples_take_interleaved(b->site.plain.q[LANE_RUN], &how,
                                        t.piece, t.n, samples));
    for (unsigned i = 0; i < t.n; i++) {
        if (!t.result[i]) {
            b->alone_ns[lane++] = samples[i].min_ns;
            continue;
        }
        t.result[i]->row.samples = samples[i];
        conclude(b, t.result[i]);
    }
fail:
    free(samples);
    return status;
}

/* The quickest of a few runs: what others on the machine did is least in it,
 * and its parts belong together. */
static xl_status look(struct pipe_bench *b, struct pipe_result *x)
{
    xl_status status = XL_OK;
    struct pipe_record record = {.list = NULL};
    struct pipe_pass p = pipe_look_of(b, x, &record);
    for (unsigned i = 0; i <= LOOKS; i++) {
        TRY(pipe_run(&p));
        const struct pipe_parts parts = pipe_parts_of(&record, b->work);
        if (i == 0 || (x->best.n > 0 && parts.total >= x->parts.total))
            continue; /* kernels reach the device in the first */
        const struct pipe_record slower = x->best;
        x->best = record;
        x->parts = parts;
        record = slower;
    }
fail:
    pipe_record_clear(&record);
    return status;
}

/* -- all of it ------------------------------------------------------------- */

static int say_failure(struct pipe_bench *b, const char *doing,
                       xl_status status)
{
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(b->s, doing, status, pipe_story(&b->site));
}

static bool is_shared(const xl_device *dev)
{
    const double found = pipe_fact(dev, "has_zero_copy");
    return (isnan(found) ? pipe_fact(dev, "host_unified") : found) == 1;
}

/* A site for all modes, with its rates known and its kernels built. */
static xl_status set_up(struct pipe_bench *b)
{
    xl_status status = XL_OK;
    TRY(pipe_site_open(&b->site, b->work, b->s->lib, b->dev, &b->host));
    progress_step(b->s, "pipeline: clocks and rates");
    (void)pipe_probe(b, "timer");
    b->site.has_clock = pipe_fact(b->dev, "timer_ok") == 1;
    b->is_stamped = b->site.has_clock;
    TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
    pipe_model_make(b);
    b->site.is_shared = is_shared(b->dev);
    TRY(pipe_site_extend(&b->site));
    progress_step(b->s, "pipeline: building");
    TRY(pipe_prepare(&b->site, &b->site.plain, b->work->items));
    TRY(pipe_prepare(&b->site, &b->site.clocked, b->work->items));
fail:
    return status;
}

static xl_status measure(struct pipe_bench *b)
{
    xl_status status = session_stopped(b->s) ? XL_CANCELLED : XL_OK;
    TRY(status);
    TRY(set_up(b));
    if (!xl_cache_dir(b->s->lib))
        b->first[FIRST_CACHED].why = "the cache is off";
    else if (!session_stopped(b->s))
        (void)pipe_first_call(b, NULL, &b->first[FIRST_CACHED]);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        struct pipe_result *x = &b->result[i];
        if (!x->is_wanted)
            continue;
        TRY(session_stopped(b->s) ? XL_CANCELLED : XL_OK);
        progress_step(b->s, x->mode->name);
        TRY(line_up(b, x));
    }
    progress_step(b->s, "pipeline: timing");
    TRY(time_all(b));
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_wanted && b->result[i].is_done)
            TRY(look(b, &b->result[i]));
fail:
    return status;
}

int pipe_bench_run(struct pipe_bench *b, struct session *s, xl_device *dev,
                   const struct pipe_work *w, unsigned modes)
{
    enum { STEPS = 4 };
    memset(b, 0, sizeof *b);
    b->s = s;
    b->dev = dev;
    b->work = w;
    for (unsigned l = 0; l < N_LANES; l++)
        b->alone_ns[l] = (double)NAN;
    b->first[FIRST_BUILT] = (struct pipe_first){.name = "built", .why = ""};
    b->first[FIRST_CACHED] = (struct pipe_first){.name = "cached", .why = ""};
    progress_begin(s, STEPS + PIPE_MODES);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        b->result[i].mode = &pipe_modes[i];
        b->result[i].is_wanted = modes >> i & 1;
        start_row(b, &b->result[i]);
    }
    if (!pipe_host_init(&b->host, w, s->set.seed))
        return session_fail(s, "preparing data", XL_NO_MEMORY,
                            "give smaller sizes");
    progress_step(s, "pipeline: the first call");
    /* What fails there fails below, and is told there. */
    (void)pipe_first_call(b, "", &b->first[FIRST_BUILT]);
    const int code = say_failure(b, "the pipeline", measure(b));
    progress_end(s);
    return code;
}

void pipe_bench_clear(struct pipe_bench *b)
{
    for (unsigned i = 0; i < PIPE_MODES; i++)
        pipe_record_clear(&b->result[i].best);
    if (b->site.w)
        pipe_site_close(&b->site);
    pipe_host_clear(&b->host);
}
