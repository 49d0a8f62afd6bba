/* SPDX-License-Identifier: Apache-2.0 */
/* The search over the tunables of an op: which candidate is measured next, and
 * the final comparison of the best ones.
 *
 * Candidates are measured in this order:
 *   1. the model's choice of each variant;
 *   2. what was tuned before for the same class of shapes;
 *   3. neighbours of the best one: one step of one tunable away;
 *   4. neighbours of those within 5 % of the best;
 *   5. the others, by the estimate of the time model.
 * A candidate is abandoned at three times the best time: it cannot win.
 *
 * The final comparison samples the model's choice and the two fastest others
 * in an interleaved order. The result is the one with the largest median ratio
 * of times to the model's choice whose confidence interval lies above 1. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/stats.h"
#include "runtime/context.h"

enum { MOST_GOOD = 16 };
static const double give_up_at = 3;    /* times the best */
static const double about_best = 1.05; /* likewise */
static const double hopeless = 10;     /* times the least estimate */

static double elapsed_s(const struct xl__search *s)
{
    return (double)(xl__now_ns() - s->begun_ns) / 1e9;
}

/* The data of this process's measurements, made by the first call. */
static xl_status make_data(struct xl__search *s, struct xl__tuning_case **out)
{
    xl_status status = XL_OK;
    if (!s->has_data) {
        status = xl__tuning_case_init(&s->data, s->call, false);
        if (status != XL_OK)
            xl__tuning_case_clear(&s->data);
        s->has_data = status == XL_OK;
    }
    *out = &s->data;
    return status;
}

void xl__search_clear(struct xl__search *s)
{
    if (s->has_data)
        xl__tuning_case_clear(&s->data);
    xl__space_clear(&s->space);
    xl__journal_clear(&s->journal);
    free(s->queue);
}

/* -- the queue ------------------------------------------------------------ */

enum rank { OF_MODEL, OF_OLD, NEAR_BEST, NEAR_GOOD, ELSEWHERE };

/* Whether a point is correct and within 5 % of the best time. */
static bool is_usable(const struct xl__search *s, const struct xl__point *p)
{
    return s->best >= 0 && p->is_tried &&
           p->result.end == XL_CANDIDATE_RIGHT &&
           p->result.median_ns <=
               about_best * s->space.points[s->best].result.median_ns;
}

/* What the rank of a point depends on. */
struct view {
    const struct xl__search *s;
    const struct xl__point *good[MOST_GOOD];
    unsigned n_good;
    double least_ns; /* of all estimates */
};

static void find_usable_points(struct view *v)
{
    const struct xl__space *space = &v->s->space;
    v->least_ns = INFINITY;
    for (size_t i = 0; i < space->n; i++) {
        const struct xl__point *p = &space->points[i];
        v->least_ns = fmin(v->least_ns, p->est_ns);
        if (v->n_good < MOST_GOOD && is_usable(v->s, p))
            v->good[v->n_good++] = p;
    }
}

/* A choice whose estimate is far above the least one is measured early only
 * while no candidate is correct. */
static enum rank rank_of(const struct view *v, const struct xl__point *p)
{
    if (p->is_choice &&
        (v->s->best < 0 || p->est_ns <= hopeless * v->least_ns))
        return OF_MODEL;
    if (p->is_known)
        return OF_OLD;
    if (v->s->best >= 0 &&
        xl__space_is_near(&v->s->space.points[v->s->best], p))
        return NEAR_BEST;
    for (unsigned i = 0; i < v->n_good; i++) {
        if (xl__space_is_near(v->good[i], p))
            return NEAR_GOOD;
    }
    return ELSEWHERE;
}

/* By rank, then by estimate, then by the order in which points were added. */
static int compare_ranks(const void *pa, const void *pb)
{
    const struct xl__queued *a = pa, *b = pb;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->est_ns != b->est_ns)
        return a->est_ns < b->est_ns ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* Sorts all points that have no result yet. A space has tens of thousands of
 * points, so the queue is made again only after a result that can change
 * ranks: a usable one. */
static xl_status queue_candidates(struct xl__search *s)
{
    struct view v = {.s = s};
    if (!xl__grow(&s->queue, &s->queue_cap, s->space.n, sizeof *s->queue))
        return xl__error_set(&s->call->q->error, XL_NO_MEMORY,
                             "the queue of candidates");
    find_usable_points(&v);
    s->n_queued = s->n_taken = 0;
    for (size_t i = 0; i < s->space.n; i++) {
        const struct xl__point *p = &s->space.points[i];
        if (!p->is_tried)
            s->queue[s->n_queued++] =
                (struct xl__queued){p->est_ns, i, rank_of(&v, p)};
    }
    qsort(s->queue, s->n_queued, sizeof *s->queue, compare_ranks);
    s->is_queue_current = true;
    return XL_OK;
}

/* *at -1: every point has a result. */
static xl_status pop_queue(struct xl__search *s, long *at)
{
    xl_status status = XL_OK;
    if (!s->is_queue_current)
        TRY(queue_candidates(s));
    *at = s->n_taken < s->n_queued ? (long)s->queue[s->n_taken++].at : -1;
fail:
    return status;
}

/* -- one candidate -------------------------------------------------------- */

/* Calls the application's progress function; `now` NULL: the final
 * comparison. */
static void report_progress(const struct xl__search *s,
                            const xl_candidate *now)
{
    xl_tune_progress p = {.n_candidates = (unsigned)s->space.n,
                          .n_tried = s->n_tried,
                          .n_lost = s->n_lost,
                          .elapsed_s = elapsed_s(s),
                          .now = now,
                          .best_ns = NAN};
    xl_candidate best;
    if (!s->how->progress)
        return;
    const unsigned timed = s->n_tried - s->n_resumed;
    const double each = timed > 0 ? s->tried_s / timed : 1;
    p.left_s = fmax(0, fmin(s->budget_s - p.elapsed_s,
                            each * (p.n_candidates - p.n_tried)));
    if (s->best >= 0) {
        const struct xl__point *point = &s->space.points[s->best];
        xl__space_name(point, &best);
        p.best = &best;
        p.best_ns = point->result.median_ns;
    }
    s->how->progress(s->how->arg, &p);
}

static xl_status measure_candidate(struct xl__search *s,
                                   const struct xl__point *point,
                                   const xl_candidate *name,
                                   xl_candidate_result *out)
{
    xl_status status = XL_OK;
    struct xl__tuning_case *data;
    const double limit =
        s->best < 0 ? 0
                    : give_up_at * s->space.points[s->best].result.median_ns;
    if (s->how->run_candidate) {
        TRY(s->how->run_candidate(s->how->arg, name, limit, out));
    } else {
        TRY(make_data(s, &data));
        xl__tuning_case_measure(data, point, limit, out);
    }
fail:
    return status;
}

/* Writes the kernels of the point's plan for the journal; "" without one. */
static xl_status name_sources(const struct xl__search *s,
                              const struct xl__point *point, char *out,
                              size_t cap)
{
    xl_status status = XL_OK;
    struct xl__op_call *call = s->call;
    out[0] = '\0';
    if (!s->journal.path)
        return XL_OK;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    if (!plan)
        return xl__error_set(&call->q->error, XL_NO_MEMORY, "a plan");
    if (point->variant->plan(s->space.limits, s->space.canonical,
                             &point->params, plan) == XL_OK)
        status = xl__plan_sources(&call->q->ctx->lib->tuned, plan, out, cap,
                                  &call->q->error);
    free(plan);
    return status;
}

/* Gets the result of a point: from the journal, or by measuring it. */
static xl_status get_result(struct xl__search *s, size_t at)
{
    xl_status status = XL_OK;
    const struct xl__point point = s->space.points[at];
    struct xl__error *e = &s->call->q->error;
    char sources[sizeof(((struct xl__tuned_set *)0)->sources)];
    xl_candidate name;
    xl_candidate_result result = {.median_ns = NAN, .mad_ns = NAN};
    xl__space_name(&point, &name);
    TRY(name_sources(s, &point, sources, sizeof sources));
    if (xl__journal_find(&s->journal, &name, sources, &result)) {
        s->n_resumed++;
    } else {
        const double begun_s = elapsed_s(s);
        report_progress(s, &name);
        TRY(xl__journal_add(&s->journal, &name, sources, NULL, e));
        TRY(measure_candidate(s, &point, &name, &result));
        TRY(xl__journal_add(&s->journal, &name, sources, &result, e));
        s->tried_s += elapsed_s(s) - begun_s;
    }
    s->space.points[at].is_tried = true;
    s->space.points[at].result = result;
    s->n_tried++;
    s->n_lost +=
        result.end != XL_CANDIDATE_RIGHT && result.end != XL_CANDIDATE_SLOW;
fail:
    return status;
}

/* Updates the best point, and adds the neighbours of a usable one. */
static xl_status apply_result(struct xl__search *s, size_t at)
{
    const xl_candidate_result *r = &s->space.points[at].result;
    if (r->end != XL_CANDIDATE_RIGHT)
        return XL_OK;
    if (s->best < 0 ||
        r->median_ns < s->space.points[s->best].result.median_ns)
        s->best = (long)at;
    if (!is_usable(s, &s->space.points[at]))
        return XL_OK;
    s->is_queue_current = false;
    return xl__space_add_near(&s->space, at);
}

static bool is_stopped(const struct xl__search *s)
{
    return s->how->stop && s->how->stop(s->how->arg);
}

xl_status xl__search_run(struct xl__search *s)
{
    xl_status status = XL_OK;
    while (!is_stopped(s) && elapsed_s(s) < s->budget_s) {
        long at;
        TRY(pop_queue(s, &at));
        s->is_complete = at < 0;
        if (at < 0)
            break;
        status = get_result(s, (size_t)at);
        if (status == XL_CANCELLED)
            return XL_OK;
        TRY(status);
        TRY(apply_result(s, (size_t)at));
    }
fail:
    return status;
}

/* -- final rounds --------------------------------------------------------- */

enum { FINALISTS = 3 };

struct final {
    struct xl__search *s;
    size_t point[FINALISTS];      /* [0] is the model's choice */
    struct xl__entrant *entrants; /* as many */
    xl_samples *samples;
    unsigned n;
};

static bool is_right(const struct xl__point *p)
{
    return p->is_tried && p->result.end == XL_CANDIDATE_RIGHT;
}

/* What a call without tuned sets runs: the correct choice of a variant with
 * the least estimate; -1: no choice is correct. */
static long model_choice(const struct xl__space *space)
{
    long at = -1;
    for (size_t i = 0; i < space->n; i++) {
        const struct xl__point *p = &space->points[i];
        if (p->is_choice && is_right(p) &&
            (at < 0 || p->est_ns < space->points[at].est_ns))
            at = (long)i;
    }
    return at;
}

static bool is_finalist(const struct final *f, size_t at)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (f->point[i] == at)
            return true;
    }
    return false;
}

/* The fastest correct point that is no finalist yet; -1: there is none. */
static long find_fastest(const struct final *f)
{
    const struct xl__space *space = &f->s->space;
    long at = -1;
    for (size_t i = 0; i < space->n; i++) {
        const struct xl__point *p = &space->points[i];
        if (is_right(p) && !is_finalist(f, i) &&
            (at < 0 ||
             p->result.median_ns < space->points[at].result.median_ns))
            at = (long)i;
    }
    return at;
}

/* Checks the point in this process; a point that fails is lost. */
static void add_finalist(struct final *f, struct xl__tuning_case *data,
                         size_t at)
{
    struct xl__point *p = &f->s->space.points[at];
    xl_candidate_result result;
    xl__entrant_init(&f->entrants[f->n], data, p, &result);
    if (result.end == XL_CANDIDATE_RIGHT) {
        f->point[f->n++] = at;
        return;
    }
    f->s->n_lost++;
    p->result = result;
}

static xl_status add_finalists(struct final *f)
{
    xl_status status = XL_OK;
    struct xl__tuning_case *data;
    long at;
    TRY(make_data(f->s, &data));
    while (f->n == 0 && (at = model_choice(&f->s->space)) >= 0)
        add_finalist(f, data, (size_t)at);
    while (f->n < FINALISTS && (at = find_fastest(f)) >= 0)
        add_finalist(f, data, (size_t)at);
fail:
    return status;
}

static xl_status time_finalists(struct final *f)
{
    static const xl_sampling how = {
        XL_SAMPLING_INIT,           .warmup = 2,       .min_runs = 15,
        .max_runs = XL_TUNED_PAIRS, .max_noise = 0.01, .max_s = 2};
    xl_piece pieces[FINALISTS];
    for (unsigned i = 0; i < f->n; i++)
        pieces[i] = (xl_piece){xl__entrant_run, &f->entrants[i]};
    return xl_samples_take_interleaved(f->s->call->q, &how, pieces, f->n,
                                       f->samples);
}

/* The model's times over those of entrant i, pair by pair. */
static struct xl__summary gain_of(const struct final *f, unsigned i)
{
    double ratios[XL_TUNED_PAIRS];
    const unsigned n = f->samples[0].runs;
    for (unsigned k = 0; k < n; k++)
        ratios[k] = f->samples[0].ns[k] / f->samples[i].ns[k];
    return xl__summarise(ratios, n);
}

/* The finalist with the largest gain; the model's choice where no interval
 * lies above 1, since a tuned set applies to its whole class. */
static unsigned choose_winner(const struct final *f)
{
    unsigned best = 0;
    double most = 1;
    for (unsigned i = 1; i < f->n; i++) {
        const struct xl__summary gain = gain_of(f, i);
        if (gain.lo > 1 && gain.median > most) {
            most = gain.median;
            best = i;
        }
    }
    return best;
}

static void report_winner(const struct final *f, xl_tuned *out)
{
    const unsigned i = choose_winner(f);
    const struct xl__summary gain = gain_of(f, i);
    const xl_samples *best = &f->samples[i], *model = &f->samples[0];
    xl__space_name(&f->s->space.points[f->point[i]], &out->best);
    xl__space_name(&f->s->space.points[f->point[0]], &out->model);
    out->best_ns = best->median_ns;
    out->best_mad_ns = best->mad_ns;
    out->model_ns = model->median_ns;
    out->gain = gain.median;
    out->gain_lo = gain.lo;
    out->gain_hi = gain.hi;
    out->n_pairs = best->runs;
    memcpy(out->best_run_ns, best->ns, best->runs * sizeof *best->ns);
    memcpy(out->model_run_ns, model->ns, model->runs * sizeof *model->ns);
}

xl_status xl__search_final(struct xl__search *s, xl_tuned *out)
{
    xl_status status = XL_OK;
    struct xl__error *e = &s->call->q->error;
    struct final f = {.s = s};
    report_progress(s, NULL);
    f.entrants = xl__calloc(FINALISTS, sizeof *f.entrants);
    f.samples = xl__calloc(FINALISTS, sizeof *f.samples);
    if (!f.entrants || !f.samples)
        TRY(xl__error_set(e, XL_NO_MEMORY, "the final comparison"));
    TRY(add_finalists(&f));
    if (f.n == 0)
        TRY(xl__error_set(e, XL_UNSUPPORTED,
                          "none of %u candidates is correct in this process",
                          s->n_tried));
    TRY(time_finalists(&f));
    report_winner(&f, out);
fail:
    for (unsigned i = 0; i < f.n; i++)
        xl__entrant_clear(&f.entrants[i]);
    free(f.entrants);
    free(f.samples);
    return status;
}
