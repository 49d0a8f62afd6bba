/* SPDX-License-Identifier: Apache-2.0 */
/* The last word: trials were timed one after the other, on a machine that
 * changes meanwhile. So the best, the runner-up and the model's choice run in
 * turns, and what is not surely faster than the model's choice then has not
 * won. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "tune/search.h"

enum { FINALISTS = 3 };

struct final {
    struct xl__search *s;
    size_t point[FINALISTS]; /* [0] is the model's choice */
    struct xl__entrant *entrants; /* as many */
    xl_samples *samples;
    unsigned n;
};

static bool is_right(const struct xl__point *p)
{
    return p->is_tried && p->result.end == XL_CANDIDATE_RIGHT;
}

/* What a call would run had nothing been tuned: the least estimate among the
 * variants' choices that are right; -1: none is. */
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

static bool has_entered(const struct final *f, size_t at)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (f->point[i] == at)
            return true;
    }
    return false;
}

/* The fastest that has not entered; -1: none is left. */
static long fastest(const struct final *f)
{
    const struct xl__space *space = &f->s->space;
    long at = -1;
    for (size_t i = 0; i < space->n; i++) {
        const struct xl__point *p = &space->points[i];
        if (is_right(p) && !has_entered(f, i) &&
            (at < 0 ||
             p->result.median_ns < space->points[at].result.median_ns))
            at = (long)i;
    }
    return at;
}

/* In this process, too, it has to be right; else it is lost. */
static void enter(struct final *f, struct xl__case *data, size_t at)
{
    struct xl__point *p = &f->s->space.points[at];
    xl_candidate_result trial;
    xl__entrant_init(&f->entrants[f->n], data, p, &trial);
    if (trial.end == XL_CANDIDATE_RIGHT) {
        f->point[f->n++] = at;
        return;
    }
    f->s->n_lost++;
    p->result = trial;
}

static xl_status enter_all(struct final *f)
{
    xl_status status = XL_OK;
    struct xl__case *data;
    long at;
    TRY(xl__search_data(f->s, &data));
    while (f->n == 0 && (at = model_choice(&f->s->space)) >= 0)
        enter(f, data, (size_t)at);
    while (f->n < FINALISTS && (at = fastest(f)) >= 0)
        enter(f, data, (size_t)at);
fail:
    return status;
}

static xl_status time_all(struct final *f)
{
    static const xl_sampling how = {.warmup = 2, .min_runs = 15,
                                    .max_runs = XL_TUNED_PAIRS,
                                    .max_noise = 0.01, .max_s = 2};
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

/* The one that gains most; the model's own where no gain is sure, since a set
 * that was lucky once serves its whole class from then on. */
static unsigned winner(const struct final *f)
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

static void tell(const struct final *f, xl_tuned *out)
{
    const unsigned i = winner(f);
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
    xl__search_tell(s, NULL);
    f.entrants = xl__calloc(FINALISTS, sizeof *f.entrants);
    f.samples = xl__calloc(FINALISTS, sizeof *f.samples);
    if (!f.entrants || !f.samples)
        TRY(xl__error_set(e, XL_NO_MEMORY, "the final"));
    TRY(enter_all(&f));
    if (f.n == 0)
        TRY(xl__error_set(e, XL_UNSUPPORTED,
                          "none of %u candidates is right in this process",
                          s->n_tried));
    TRY(time_all(&f));
    tell(&f, out);
fail:
    for (unsigned i = 0; i < f.n; i++)
        xl__entrant_clear(&f.entrants[i]);
    free(f.entrants);
    free(f.samples);
    return status;
}
