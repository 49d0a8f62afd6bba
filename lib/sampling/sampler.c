/* SPDX-License-Identifier: Apache-2.0 */
/* Times enqueued work until the times are steady. The clock is the event
 * clock, from first start to last end; the wall clock where event_clock.c
 * found that unreliable or there are no events. If the clock is coarse for a
 * run, several runs make a sample.
 *
 *     warm up -> size the batch -> rounds of one sample per source ->
 * statistics
 *
 * All rules use order statistics, since times are skewed. Sampling ends once
 * the spread is small and the median is known; if the spread stays wide, more
 * samples are taken until the median is known, or time or runs are used up.
 * The first part of the file has the rules, the second the queue. */

#include "sampling/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/buffer.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/sized.h"
#include "base/stats.h"
#include "runtime/launch.h"
#include "sampling/conditions.h"
#include "sampling/event_clock.h"

static const double batch_ns = 1e6;      /* least duration of a batch */
static const double steps_wanted = 200;  /* clock steps per sample: 0.5 % */
static const double drift_factor = 1.05; /* last third over first third */
static const double known_within = 0.10; /* of the median, to either side */
static const double outlier_share = 0.10;
enum {
    GROWTHS = 3,      /* times that a batch is enlarged */
    DRIFT_RUNS = 9,   /* fewer show no drift */
    DRIFT_SURE = 18,  /* fewer may show drift by chance */
    LEAST_RUNS = 3,   /* fewer show no noise */
    LEAVES_ONE = 9,   /* from here on one outlier does not affect the
                         interval */
    MOST_EVENTS = 512 /* at once; drivers have few events (GE-16) */
};

/* -- the rules ------------------------------------------------------------ */

static bool is_clock_coarse(double run_ns,
                            const struct xl__sample_source *source, bool wall)
{
    return wall || source->step_ns * steps_wanted > run_ns;
}

unsigned xl__batch_for(double run_ns, const struct xl__sample_source *source,
                       bool wall)
{
    const unsigned least = source->min_batch ? source->min_batch : 1;
    if (!is_clock_coarse(run_ns, source, wall) || run_ns >= batch_ns)
        return least;
    const double most = source->max_batch ? source->max_batch : 1;
    const double runs = run_ns > 0 ? ceil(batch_ns / run_ns) : most;
    return (unsigned)fmin(fmax(runs, least), most);
}

/* Are later runs slower than early ones, beyond the noise? Noise is that
 * within each third, since drift widens the total spread. */
static bool has_drift(const double *ns, unsigned n)
{
    const unsigned third = n / 3;
    if (n < DRIFT_RUNS)
        return false;
    const struct xl__summary early = xl__summarise(ns, third);
    const struct xl__summary late = xl__summarise(ns + n - third, third);
    return late.median > drift_factor * early.median &&
           late.median - early.median > 3 * fmax(early.mad, late.mad);
}

/* Computes the statistics; returns the number of outliers. */
static size_t update_statistics(xl_samples *out)
{
    const struct xl__summary s = xl__summarise(out->ns, out->runs);
    out->median_ns = s.median;
    out->mad_ns = s.mad;
    out->min_ns = s.min;
    out->p95_ns = s.p95;
    out->lo_ns = s.lo;
    out->hi_ns = s.hi;
    return s.n_outliers;
}

/* The uncertainty of the median to either side. With fewer than LEAVES_ONE
 * samples the interval ends at the extremes; the quartiles are used there,
 * which, unlike MAD, reveal two modes. */
static double find_uncertainty(const xl_samples *s)
{
    static const double lower = 0.25, upper = 0.75;
    double few[LEAVES_ONE];
    if (s->runs >= LEAVES_ONE)
        return (s->hi_ns - s->lo_ns) / 2;
    memcpy(few, s->ns, s->runs * sizeof *few);
    return (xl__quantile(few, s->runs, upper) -
            xl__quantile(few, s->runs, lower)) /
           2;
}

/* The interval assumes independent samples. If the machine stays in a state
 * for many of them it is too narrow, and the halves of the samples
 * disagree. */
bool xl__median_is_known(const xl_samples *s)
{
    const double most = known_within * s->median_ns;
    const unsigned half = s->runs / 2;
    if (s->runs == 0)
        return true;
    if (find_uncertainty(s) > most)
        return false;
    if (s->runs < LEAVES_ONE)
        return true;
    const struct xl__summary early = xl__summarise(s->ns, half);
    const struct xl__summary late = xl__summarise(s->ns + half,
                                                  s->runs - half);
    return !(fabs(late.median - early.median) / 2 > most);
}

bool xl__least_is_known(const xl_samples *s)
{
    double least = INFINITY, second = INFINITY;
    for (unsigned i = 0; i < s->runs; i++) {
        if (s->ns[i] < second)
            second = fmax(s->ns[i], least);
        least = fmin(s->ns[i], least);
    }
    return s->runs < 2 || second <= (1 + known_within) * least;
}

bool xl__samples_needed(xl_samples *s, unsigned least)
{
    enum { PATIENCE = 4 };
    if (s->runs < least || s->runs >= XL_MAX_SAMPLES)
        return s->runs < least;
    (void)update_statistics(s);
    return s->runs < PATIENCE * least && !xl__median_is_known(s);
}

void xl__samples_summarise(xl_samples *out, const xl_sampling *how)
{
    if (out->runs == 0)
        return;
    const size_t n_outliers = update_statistics(out);
    if (how && out->mad_ns > how->max_noise * out->median_ns)
        out->warnings |= XL_WARN(NOISY);
    if (how && out->runs < how->min_runs)
        out->warnings |= XL_WARN(FEW_RUNS);
    if ((double)n_outliers > outlier_share * out->runs)
        out->warnings |= XL_WARN(OUTLIERS);
    if (has_drift(out->ns, out->runs))
        out->warnings |= XL_WARN(CLOCK_DRIFT);
}

/* Are more samples needed beyond the usual bounds? */
static bool is_unsettled(const xl_samples *out)
{
    return out->runs < LEAST_RUNS || !xl__median_is_known(out) ||
           (out->runs < DRIFT_SURE && has_drift(out->ns, out->runs));
}

static bool is_steady(const xl_sampling *how, const xl_samples *out)
{
    return out->runs >= how->min_runs &&
           out->mad_ns <= how->max_noise * out->median_ns &&
           !is_unsettled(out);
}

static bool is_stopped(const xl_sampling *how)
{
    return how->stop && how->stop(how->stop_arg);
}

/* The state of the sampling of one source. */
struct sample_loop {
    const xl_sampling *how;
    const struct xl__sample_source *source;
    xl_samples *out;
    bool wall;
    double host[XL_MAX_SAMPLES], over[XL_MAX_SAMPLES]; /* per run */
    double spent_ns;
    double batch_total_ns; /* of the shortest batch */
};

static double measured_ns(const struct sample_loop *l,
                          const struct xl__timing *t)
{
    return l->wall ? t->host_ns : t->device_ns;
}

/* An event clock that fails once is not used again. */
static void check_event_time(struct sample_loop *l, const struct xl__timing *t)
{
    if (!(t->device_ns > 0))
        l->wall = true;
}

/* Runs that are discarded: the requested warm-up, then those that size the
 * batch, since the very first may include compilation. */
static xl_status warm_up_source(struct sample_loop *l)
{
    xl_status status = XL_OK;
    struct xl__timing t = {0};
    l->out->batch = 1;
    for (unsigned i = 0; i < l->how->warmup; i++) {
        if (is_stopped(l->how))
            return XL_CANCELLED;
        TRY(l->source->take(l->source->arg, 1, &t));
        check_event_time(l, &t);
    }
    if (l->how->warmup == 0 || l->how->cold)
        return XL_OK; /* the first run is needed, or runs are separate */
    for (unsigned i = 0; i < GROWTHS; i++) {
        const double run_ns = measured_ns(l, &t) / l->out->batch;
        const unsigned batch = xl__batch_for(run_ns, l->source, l->wall);
        if (i > 0 && batch <= l->out->batch)
            break;
        if (i == 0 && batch == 1 &&
            !is_clock_coarse(run_ns, l->source, l->wall))
            break; /* the last warm-up run suffices */
        l->out->batch = batch;
        TRY(l->source->take(l->source->arg, batch, &t));
        check_event_time(l, &t);
    }
fail:
    return status;
}

static xl_status take_sample(struct sample_loop *l)
{
    xl_status status = XL_OK;
    struct xl__timing t = {0};
    xl_samples *out = l->out;
    const unsigned i = out->runs;
    TRY(l->source->take(l->source->arg, out->batch, &t));
    if (!l->wall && !(t.device_ns > 0)) {
        l->wall = true; /* all samples by one clock */
        memcpy(out->ns, l->host, i * sizeof *l->host);
    }
    l->host[i] = t.host_ns / out->batch;
    l->over[i] = (t.host_ns - t.device_ns) / out->batch;
    out->ns[i] = measured_ns(l, &t) / out->batch;
    l->spent_ns += t.spent_ns;
    if (i == 0 || measured_ns(l, &t) < l->batch_total_ns)
        l->batch_total_ns = measured_ns(l, &t);
    out->runs++;
fail:
    return status;
}

static void finish_loop(struct sample_loop *l)
{
    xl_samples *out = l->out;
    out->wall_clock = l->wall;
    out->warmup = l->how->warmup;
    out->spent_s = l->spent_ns / 1e9;
    if (l->wall) {
        out->warnings |= XL_WARN(WALL_CLOCK);
    } else {
        out->overhead_ns = xl__median(l->over, out->runs);
        out->overhead_min_ns = xl__quantile(l->over, out->runs, 0);
    }
    /* Half, since a batch is sized by an estimate. */
    if (is_clock_coarse(l->batch_total_ns, l->source, l->wall) &&
        l->batch_total_ns < batch_ns / 2)
        out->warnings |= XL_WARN(TOO_SHORT);
    xl__samples_summarise(out, l->how);
}

/* Takes a sample of each source, beginning with another one each round, so
 * that no source always follows the same other. */
static xl_status take_round(struct sample_loop *loops, unsigned n,
                            unsigned round)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < n; i++)
        TRY(take_sample(&loops[(i + round) % n]));
fail:
    return status;
}

/* Are all steady, or runs or time used up? A steady source continues while
 * another is not, so that all see the same machine. Extended sampling is
 * bounded by time if there is a time limit, so that short runs become many. */
static bool is_done(struct sample_loop *loops, unsigned n, unsigned rounds)
{
    const xl_sampling *how = loops->how;
    const double most_ns = n * how->max_s * 1e9;
    const double least_ns = n * how->min_s * 1e9;
    double spent_ns = 0;
    bool all_steady = true, any_wild = false;
    for (unsigned i = 0; i < n; i++) {
        (void)update_statistics(loops[i].out);
        spent_ns += loops[i].spent_ns;
        all_steady = all_steady && is_steady(how, loops[i].out);
        any_wild = any_wild || is_unsettled(loops[i].out);
    }
    if (rounds < XL_MAX_SAMPLES && spent_ns < least_ns)
        return false;
    if (all_steady || rounds >= XL_MAX_SAMPLES)
        return true;
    if (!any_wild || how->patience <= 1)
        return rounds >= how->max_runs ||
               (how->max_s > 0 && spent_ns >= most_ns);
    return how->max_s > 0 ? spent_ns >= how->patience * most_ns
                          : rounds / how->patience >= how->max_runs;
}

static xl_status run_loops(struct sample_loop *loops, unsigned n)
{
    xl_status status = XL_OK;
    const xl_sampling *how = loops->how;
    unsigned round = 0;
    for (unsigned i = 0; i < n; i++)
        TRY(warm_up_source(&loops[i]));
    while (!is_stopped(how)) {
        TRY(take_round(loops, n, round));
        round++;
        if (is_done(loops, n, round))
            break;
    }
    if (round == 0)
        return XL_CANCELLED;
    for (unsigned i = 0; i < n; i++)
        finish_loop(&loops[i]);
fail:
    return status;
}

void xl__samples_init(xl_samples *s)
{
    memset(s, 0, sizeof *s);
    s->median_ns = s->mad_ns = s->min_ns = s->p95_ns = NAN;
    s->lo_ns = s->hi_ns = s->overhead_ns = s->overhead_min_ns = NAN;
    xl__conditions_init(&s->conditions);
}

xl_status xl__sample(const xl_sampling *how,
                     const struct xl__sample_source *sources, unsigned n,
                     xl_samples *out)
{
    struct sample_loop *loops = xl__calloc(n, sizeof *loops);
    if (!loops)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < n; i++) {
        xl__samples_init(&out[i]);
        loops[i].how = how;
        loops[i].source = &sources[i];
        loops[i].out = &out[i];
        loops[i].wall = sources[i].wall;
    }
    const xl_status status = run_loops(loops, n);
    free(loops);
    return status;
}

xl_status xl__sample_monitored(xl_device *dev, const xl_sampling *how,
                               const struct xl__sample_source *sources,
                               unsigned n, xl_samples *out)
{
    struct xl__monitor watching;
    xl_sampling watched = *how;
    xl_conditions seen;
    xl__monitor_begin(&watching, dev, how);
    watched.stop = xl__monitor_poll;
    watched.stop_arg = &watching;
    const xl_status status = xl__sample(&watched, sources, n, out);
    xl__monitor_end(&watching, &seen);
    for (unsigned i = 0; i < n && status == XL_OK; i++)
        out[i].conditions = seen;
    return status;
}

/* -- the queue ------------------------------------------------------------ */

/* What the interleaved pieces share. */
struct queue_timing {
    xl_span last; /* the last span on the queue */
    xl_queue *q;
    cl_mem flush; /* NULL: caches are not flushed */
    size_t flush_words;
    cl_uint flush_value;
    bool events;
};

struct timed_piece {
    struct queue_timing *on;
    const xl_piece *piece;
    unsigned n_spans; /* in the last sample */
    uint64_t first, last;
    bool is_broken; /* impossible stamps */
};

/* Stamps that are impossible on an in-order queue: an end before its start, a
 * start before that of the previous kernel (a counter that wrapped around),
 * the same stamps as the previous kernel. */
static bool is_impossible_span(const xl_queue *q, const xl_span *span,
                               const xl_span *last)
{
    if (span->start_ns == 0 || span->end_ns < span->start_ns)
        return true;
    if (q->is_out_of_order)
        return false;
    return span->start_ns < last->start_ns ||
           (span->end_ns > span->start_ns &&
            span->start_ns == last->start_ns && span->end_ns == last->end_ns);
}

static void add_span(const xl_span *span, void *arg)
{
    struct timed_piece *t = arg;
    if (is_impossible_span(t->on->q, span, &t->on->last))
        t->is_broken = true;
    t->on->last = *span;
    if (t->n_spans == 0 || span->start_ns < t->first)
        t->first = span->start_ns;
    if (t->n_spans == 0 || span->end_ns > t->last)
        t->last = span->end_ns;
    t->n_spans++;
}

static void discard_span(const xl_span *span, void *arg)
{
    (void)span;
    (void)arg;
}

/* Flushes the caches by writing more than they can hold. */
static xl_status flush_caches(struct queue_timing *t)
{
    xl_status status = XL_OK;
    TRY(xl_buffer_fill(t->q, t->flush, 0, ++t->flush_value, t->flush_words));
    TRY(xl_queue_finish(t->q));
    if (t->events)
        TRY(xl_timeline_drain(t->q, discard_span, NULL));
fail:
    return status;
}

static double find_span_ns(struct timed_piece *t)
{
    /* If the ring is full, its beginning is lost. */
    if (t->is_broken || t->n_spans == 0 || t->n_spans >= XL__TIMELINE_CAP)
        return NAN;
    return (double)(t->last - t->first);
}

static xl_status take_timing(void *arg, unsigned batch, struct xl__timing *out)
{
    xl_status status = XL_OK;
    struct timed_piece *t = arg;
    xl_queue *q = t->on->q;
    const uint64_t begin = xl__now_ns();
    if (t->on->flush)
        TRY(flush_caches(t->on));
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < batch; i++)
        TRY(t->piece->enqueue(q, t->piece->arg));
    TRY(xl_queue_finish(q));
    out->host_ns = (double)(xl__now_ns() - start);
    out->device_ns = NAN;
    t->n_spans = 0;
    t->is_broken = false;
    if (t->on->events) {
        TRY(xl_timeline_drain(q, add_span, t));
        out->device_ns = find_span_ns(t);
    }
    out->spent_ns = (double)(xl__now_ns() - begin);
fail:
    return status;
}

/* Creates a buffer of twice the last-level cache, since replacement need not
 * be in order. */
static xl_status create_flush_buffer(struct queue_timing *t)
{
    enum { MIB = 1 << 20, UNKNOWN_LLC = 64 * MIB };
    xl_status status = XL_OK;
    const struct xl__limits *l = &t->q->ctx->device->seen;
    const size_t llc = xl__size_or(l, XL__F_llc_bytes, UNKNOWN_LLC);
    size_t bytes = xl__round_up(2 * xl__max_size(llc, MIB), MIB);
    bytes = xl__min_size(bytes, xl__size_or(l, XL__F_max_alloc_bytes, bytes));
    TRY(xl_buffer_create(t->q, bytes, &t->flush));
    t->flush_words = bytes / sizeof(cl_uint);
fail:
    return status;
}

/* Restores the queue; the error message is kept over the calls that clean
 * up. */
static void restore_queue(struct queue_timing *t, bool events_were_on,
                          bool failed)
{
    struct xl__error kept = {XL_OK, {NULL, 0, 0, false}};
    if (failed) {
        kept = t->q->error;
        memset(&t->q->error, 0, sizeof t->q->error);
    }
    if (t->events && !events_were_on)
        xl_timeline_enable(t->q, false);
    if (t->flush)
        clReleaseMemObject(t->flush);
    if (failed) {
        xl__error_clear(&t->q->error);
        t->q->error = kept;
    }
}

/* Samples the pieces as sources. */
static xl_status sample_pieces(struct queue_timing *t, const xl_sampling *how,
                               const xl_piece *pieces, unsigned n,
                               xl_samples *out)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &t->q->ctx->device->seen;
    struct timed_piece *timed = xl__calloc(n, sizeof *timed);
    struct xl__sample_source *sources = xl__calloc(n, sizeof *sources);
    TRY(timed && sources ? XL_OK : XL_NO_MEMORY);
    for (unsigned i = 0; i < n; i++) {
        timed[i] = (struct timed_piece){.on = t, .piece = &pieces[i]};
        sources[i] = (struct xl__sample_source){
            .take = take_timing,
            .arg = &timed[i],
            .step_ns = xl__num_or(l, XL__F_timer_step_ns, 0),
            .max_batch = MOST_EVENTS,
            .wall = !t->events};
    }
    TRY(xl__sample_monitored(t->q->ctx->device, how, sources, n, out));
fail:
    free(timed);
    free(sources);
    return status;
}

xl_status xl_samples_take_interleaved(xl_queue *q, const xl_sampling *how,
                                      const xl_piece *pieces, unsigned n,
                                      xl_samples *out)
{
    static const struct xl__sized type =
        XL__SIZED(xl_sampling, XL_SAMPLING_INIT);
    xl_sampling full;
    if (!q || !how || !pieces || !n || !out)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    how = xl__sized_read(&type, how, &full, &q->error);
    if (!how || how->max_runs == 0)
        return XL_BAD_ARGUMENT;
    for (unsigned i = 0; i < n; i++)
        if (!pieces[i].enqueue)
            return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    struct queue_timing t = {.q = q};
    const bool were_on = q->timeline.on;
    TRY(xl__timer_check(q));
    t.events =
        q->can_profile && xl__is(&q->ctx->device->seen, XL__F_timer_ok);
    if (t.events)
        TRY(xl_timeline_enable(q, true));
    if (t.events)
        TRY(xl_timeline_drain(q, discard_span, NULL));
    if (how->cold)
        TRY(create_flush_buffer(&t));
    TRY(sample_pieces(&t, how, pieces, n, out));
fail:
    restore_queue(&t, were_on, status != XL_OK);
    return status;
}

xl_status xl_samples_take(xl_queue *q, const xl_sampling *how,
                          xl_status (*enqueue)(xl_queue *q, void *arg),
                          void *arg, xl_samples *out)
{
    const xl_piece piece = {enqueue, arg};
    return xl_samples_take_interleaved(q, how, &piece, 1, out);
}
