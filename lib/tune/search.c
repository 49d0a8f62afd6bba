/* SPDX-License-Identifier: Apache-2.0 */
/* The order of trials: the model's choice for each variant, what was tuned
 * before, then best first: neighbours of the best, one step of one tunable away,
 * then of those about as good, then whatever has the next best estimate. Each
 * is given up at three times the best: it cannot win. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "runtime/context.h"

enum { MOST_GOOD = 16 };
static const double give_up_at = 3;    /* times the best */
static const double about_best = 1.05; /* likewise */
static const double hopeless = 10;     /* times the least estimate */

static double elapsed_s(const struct xl__search *s)
{
    return (double)(xl__now_ns() - s->begun_ns) / 1e9;
}

xl_status xl__search_data(struct xl__search *s, struct xl__case **out)
{
    xl_status status = XL_OK;
    if (!s->has_data) {
        status = xl__case_init(&s->data, s->call);
        if (status != XL_OK)
            xl__case_clear(&s->data);
        s->has_data = status == XL_OK;
    }
    *out = &s->data;
    return status;
}

void xl__search_clear(struct xl__search *s)
{
    if (s->has_data)
        xl__case_clear(&s->data);
    xl__space_clear(&s->space);
    xl__journal_clear(&s->journal);
    free(s->turns);
}

/* -- what is next ---------------------------------------------------------- */

enum rank { OF_MODEL, OF_OLD, NEAR_BEST, NEAR_GOOD, ELSEWHERE };

/* Is it right, and about as fast as the best? */
static bool is_good(const struct xl__search *s, const struct xl__point *p)
{
    return s->best >= 0 && p->is_tried &&
           p->result.end == XL_CANDIDATE_RIGHT &&
           p->result.median_ns <=
               about_best * s->space.points[s->best].result.median_ns;
}

/* What the order goes by. */
struct view {
    const struct xl__search *s;
    const struct xl__point *good[MOST_GOOD];
    unsigned n_good;
    double least_ns; /* of all estimates */
};

static void look(struct view *v)
{
    const struct xl__space *space = &v->s->space;
    v->least_ns = INFINITY;
    for (size_t i = 0; i < space->n; i++) {
        const struct xl__point *p = &space->points[i];
        v->least_ns = fmin(v->least_ns, p->est_ns);
        if (v->n_good < MOST_GOOD && is_good(v->s, p))
            v->good[v->n_good++] = p;
    }
}

/* A choice far above the least estimate is worth a trial early only where all
 * before it are lost. */
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

/* Is `a` to be tried before `b`? Of equals, what was found first is. */
static int by_rank(const void *pa, const void *pb)
{
    const struct xl__turn *a = pa, *b = pb;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->est_ns != b->est_ns)
        return a->est_ns < b->est_ns ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* All that was not tried yet, in order. A space has tens of thousands of
 * points: they are ranked again when a result changes ranks, as only good ones
 * do, and not for every trial. */
static xl_status line_up(struct xl__search *s)
{
    struct view v = {.s = s};
    if (!xl__grow(&s->turns, &s->turns_cap, s->space.n, sizeof *s->turns))
        return xl__error_set(&s->call->q->error, XL_NO_MEMORY,
                             "the order of candidates");
    look(&v);
    s->n_turns = s->n_taken = 0;
    for (size_t i = 0; i < s->space.n; i++) {
        const struct xl__point *p = &s->space.points[i];
        if (!p->is_tried)
            s->turns[s->n_turns++] =
                (struct xl__turn){p->est_ns, i, rank_of(&v, p)};
    }
    qsort(s->turns, s->n_turns, sizeof *s->turns, by_rank);
    s->is_lined_up = true;
    return XL_OK;
}

/* *at -1: all were tried. */
static xl_status next(struct xl__search *s, long *at)
{
    xl_status status = XL_OK;
    if (!s->is_lined_up)
        TRY(line_up(s));
    *at = s->n_taken < s->n_turns ? (long)s->turns[s->n_taken++].at : -1;
fail:
    return status;
}

/* -- one trial ------------------------------------------------------------- */

void xl__search_tell(const struct xl__search *s, const xl_candidate *now)
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

static xl_status try_it(struct xl__search *s, const struct xl__point *point,
                        const xl_candidate *name, xl_candidate_result *out)
{
    xl_status status = XL_OK;
    struct xl__case *data;
    const double limit =
        s->best < 0
            ? 0
            : give_up_at * s->space.points[s->best].result.median_ns;
    if (s->how->run_candidate) {
        TRY(s->how->run_candidate(s->how->arg, name, limit, out));
    } else {
        TRY(xl__search_data(s, &data));
        xl__case_try(data, point, limit, out);
    }
fail:
    return status;
}

/* The point's kernels, for the journal; "" without one. */
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

/* Try a point, or learn from the journal what came of it. */
static xl_status settle(struct xl__search *s, size_t at)
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
        xl__search_tell(s, &name);
        TRY(xl__journal_add(&s->journal, &name, sources, NULL, e));
        TRY(try_it(s, &point, &name, &result));
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

/* Is it the best now? And what is near a good one is worth a trial, soon. */
static xl_status learn(struct xl__search *s, size_t at)
{
    const xl_candidate_result *r = &s->space.points[at].result;
    if (r->end != XL_CANDIDATE_RIGHT)
        return XL_OK;
    if (s->best < 0 ||
        r->median_ns < s->space.points[s->best].result.median_ns)
        s->best = (long)at;
    if (!is_good(s, &s->space.points[at]))
        return XL_OK;
    s->is_lined_up = false;
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
        TRY(next(s, &at));
        s->is_complete = at < 0;
        if (at < 0)
            break;
        status = settle(s, (size_t)at);
        if (status == XL_CANCELLED)
            return XL_OK;
        TRY(status);
        TRY(learn(s, (size_t)at));
    }
fail:
    return status;
}
