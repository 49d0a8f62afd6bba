/* SPDX-License-Identifier: Apache-2.0 */
/* Times the best candidates by the model, the reference and CLBlast for one
 * class of shapes. The model may be wrong by any factor, so the budget rests
 * on measured times alone:
 *
 *   the call's size, halved until it is small -> build, self-check, run once
 *   -> one timed run each -> the largest size whose runs, by these times, take
 *   half of what is left -> again, until it is the call's own size or
 *   there is no larger one -> samples in an interleaved order -> medians
 *
 * Times of a small case include launches, so they overestimate larger ones and
 * the budget holds. The clock is the host's, from the first enqueue to the end
 * of clFinish: it needs no profiling, and is what a caller waits for. Where
 * other programs use the device none is held: times would be those of waits.
 */
#include "tune/audition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/stats.h"
#include "base/str.h"
#include "tune/candidate.h"

enum {
    BY_MODEL = 3, /* the best candidates that take part */
    MOST_CONTENDERS = 32,
    FEW_CALLS = 4,
    ROUNDS = 25, /* of samples */
    MOST_HALVINGS = 60,
    MOST_BATCH = 64 /* runs of a sample */
};
static const double default_ns = 50e6, widest_ns = 500e6; /* the budget */
static const double small_flop = 2e6, small_bytes = 1e6;  /* the first case */
static const double most_bytes = 64 << 20, memory_share = 1.0 / 16;
/* Of the budget that is left: what a run of each of a larger case takes at
 * most; a run that is repeated. */
static const double looks_share = 0.5, short_share = 0.02;
static const double far = 8;  /* times the best: is out after any case */
static const double near = 2; /* likewise where the budget allows no larger
                                 case of all; and the limit of samples */
static const double sample_ns = 2e5; /* of a sample, at least */
static const double least_gain = 0.03, most_noise = 0.1;

struct contender {
    struct xl__variant_candidate own; /* without a plan */
    struct xl__point point;           /* its */
    struct xl__entrant entrant;
    bool is_out; /* failed, or is too slow */
    double ns;   /* of the last case that it ran; NaN: of none */
    double over; /* too slow: it takes more than so many times the best */
    double sample[ROUNDS], lo_ns, hi_ns; /* interval of their median */
    unsigned n_samples;
};

struct contest {
    const struct xl__op_call *of;
    struct xl__op_call sized; /* the same of the case's size, on `q` */
    xl_queue *q;              /* private */
    struct contender *c;      /* in the model's order */
    unsigned n;
    struct xl__tuning_case data;
    double left_ns;                                   /* of the budget */
    unsigned halvings;                                /* of the case */
    double flop[MOST_HALVINGS], bytes[MOST_HALVINGS]; /* by halvings */
    unsigned n_sizes;
};

static struct xl__auditions *auditions_of(const struct contest *t)
{
    return &t->of->q->ctx->lib->auditions;
}

/* -- sizes ---------------------------------------------------------------- */

static void set_size(struct contest *t, unsigned halvings)
{
    memcpy(t->sized.key, t->of->key, t->of->key_bytes);
    for (unsigned i = 0; i < halvings; i++)
        t->of->op->halve(t->sized.key->canonical);
    t->halvings = halvings;
}

static bool is_small(const struct contest *t, unsigned i)
{
    return t->flop[i] <= small_flop && t->bytes[i] <= small_bytes;
}

/* Counts the work of each size by the plan of the reference. */
static xl_status count_sizes(struct contest *t)
{
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    if (!plan)
        return XL_NO_MEMORY;
    set_size(t, 0);
    do {
        xl__reference_plan(&t->sized, plan);
        t->flop[t->n_sizes] = plan->flop;
        t->bytes[t->n_sizes++] = plan->bytes;
    } while (!is_small(t, t->n_sizes - 1) && t->n_sizes < MOST_HALVINGS &&
             t->of->op->halve(t->sized.key->canonical));
    free(plan);
    return XL_OK;
}

/* The work of a size over that of the case. */
static double work_ratio(const struct contest *t, unsigned halvings)
{
    return fmax(t->flop[halvings] / t->flop[t->halvings],
                t->bytes[halvings] / t->bytes[t->halvings]);
}

static bool fits_memory(const struct contest *t, unsigned halvings)
{
    const struct xl__limits *l = &t->q->ctx->device->limits;
    const double memory =
        xl__num_or(l, XL__F_global_mem_bytes, most_bytes / memory_share);
    return t->bytes[halvings] <= fmin(most_bytes, memory * memory_share);
}

/* -- contenders ----------------------------------------------------------- */

/* With the params that it has for the call's size. */
static void set_own(struct contender *c,
                    const struct xl__variant_candidate *own)
{
    c->own = *own;
    c->point.variant = own->variant;
    c->point.params = own->params;
    xl__plan_destroy(own->plan);
    c->own.plan = NULL;
}

static void add_contender(struct contest *t,
                          const struct xl__variant_candidate *c)
{
    struct xl__variant_candidate own = *c;
    if (xl__variant_candidate_plan(&t->q->ctx->device->limits,
                                   t->of->key->canonical, &own, NULL) != XL_OK)
        return;
    t->c[t->n] = (struct contender){.ns = NAN};
    set_own(&t->c[t->n++], &own);
}

static void choose_contenders(struct contest *t)
{
    const struct xl__op_call *w = t->of;
    const bool all = isinf(t->left_ns);
    const struct xl__variant *const *last =
        xl__op_variants(w->op, w->q->ctx->device);
    while (last[1])
        last++;
    for (unsigned i = 0; i < w->n && t->n < MOST_CONTENDERS; i++) {
        const struct xl__variant_candidate *c = &w->list[i];
        if (!c->refused && (all || t->n < BY_MODEL || c->variant == *last ||
                            c->variant->is_clblast))
            add_contender(t, c);
    }
}

/* -- runs ----------------------------------------------------------------- */

/* The time of a run, of `batch` at once; it is taken from the budget. */
static xl_status time_runs(struct contest *t, struct contender *c,
                           unsigned batch, double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < batch; i++)
        TRY(xl__entrant_run(t->q, &c->entrant));
    TRY(xl_queue_finish(t->q));
    const double took = (double)(xl__now_ns() - start);
    t->left_ns -= took;
    *ns = took / batch;
fail:
    return status;
}

static void leave_size(struct contest *t)
{
    for (unsigned i = 0; i < t->n; i++)
        xl__entrant_clear(&t->c[i].entrant);
    xl__tuning_case_clear(&t->data);
}

/* Builds a contender, if need be with its next best tiles, as a call does. */
static bool build_contender(struct contest *t, struct contender *c)
{
    xl_candidate_result built;
    while (xl__entrant_build(&c->entrant, &t->data, &c->point, &built) ==
               XL_BUILD_FAILED &&
           xl__op_call_retile(t->of, built.why, &c->own) == XL_OK)
        set_own(c, &c->own);
    return built.end == XL_CANDIDATE_RIGHT;
}

/* Makes the case of a size, and the kernels of those that are in. */
static xl_status enter_size(struct contest *t, unsigned halvings)
{
    xl_status status = XL_OK;
    leave_size(t);
    set_size(t, halvings);
    TRY(xl__tuning_case_init(&t->data, &t->sized, true));
    TRY(xl__case_reset(t->q, &t->data.op_case));
    for (unsigned i = 0; i < t->n; i++) {
        struct contender *c = &t->c[i];
        if (c->is_out)
            continue;
        c->is_out = !build_contender(t, c);
    }
fail:
    return status;
}

static double least_ns(const struct contest *t)
{
    double least = INFINITY;
    for (unsigned i = 0; i < t->n; i++) {
        if (!t->c[i].is_out)
            least = fmin(least, t->c[i].ns);
    }
    return least;
}

/* Whether one is out that was not. */
static bool drop_slower(struct contest *t, double factor)
{
    const double least = least_ns(t);
    bool is_any = false;
    for (unsigned i = 0; i < t->n; i++) {
        struct contender *c = &t->c[i];
        if (c->is_out || !(c->ns > factor * least))
            continue;
        c->is_out = is_any = true;
        c->over = factor;
    }
    return is_any;
}

/* Runs of a sample that takes so long, where one takes `ns`. */
static unsigned count_runs(double of_sample, double ns)
{
    const double runs = ceil(of_sample / ns);
    return runs > 1 ? (unsigned)fmin(runs, MOST_BATCH) : 1;
}

/* A timed run, of a short one the least of it and two samples: a pause of the
 * host, or a core that wakes up, must not put one out. A run that fails is the
 * contender's own. */
static void time_one(struct contest *t, struct contender *c)
{
    enum { TRIES = 3 };
    double ns;
    for (unsigned k = 0; !c->is_out && k < TRIES; k++) {
        const double most = short_share * t->left_ns;
        if (k > 0 && c->ns > most)
            break;
        c->is_out = time_runs(t, c, count_runs(fmin(sample_ns, most), c->ns),
                              &ns) != XL_OK;
        c->ns = c->is_out ? c->ns : fmin(c->ns, ns);
    }
}

/* The result is kept, so a short run that would put out what the model has
 * before the best is timed again, later: the host may have been busy. */
static void time_each(struct contest *t)
{
    for (unsigned i = 0; i < t->n; i++) {
        t->c[i].ns = INFINITY;
        time_one(t, &t->c[i]);
    }
    const double least = least_ns(t);
    for (unsigned i = 0; i < t->n && t->c[i].ns > least; i++) {
        if (t->c[i].ns > far * least && t->c[i].ns <= short_share * t->left_ns)
            time_one(t, &t->c[i]);
    }
    (void)drop_slower(t, far);
}

/* The first runs may include a driver's compiler, so they take nothing from
 * the budget. */
static void warm_up(struct contest *t)
{
    const double left_ns = t->left_ns;
    double ns;
    for (unsigned i = 0; i < t->n; i++) {
        struct contender *c = &t->c[i];
        c->is_out |= !c->is_out && time_runs(t, c, 1, &ns) != XL_OK;
    }
    t->left_ns = left_ns;
}

/* Whether others use the device: of runs of the first contender several took
 * far longer than the shortest. In the background the caller's own calls may
 * be among them. */
static bool is_shared(struct contest *t)
{
    enum { RUNS = 16, SEVERAL = 2 };
    double ns[RUNS], least = INFINITY;
    struct contender *c = t->c;
    unsigned n = 0, n_far = 0;
    while (c->is_out && c + 1 < t->c + t->n)
        c++;
    while (!c->is_out && n < RUNS && t->left_ns > 0) {
        c->is_out = time_runs(t, c, 1, &ns[n]) != XL_OK;
        least = c->is_out ? least : fmin(least, ns[n++]);
    }
    for (unsigned i = 0; i < n; i++)
        n_far += ns[i] > far * least;
    return n_far >= SEVERAL;
}

/* Of those that take at most so long. */
static double sum_ns(const struct contest *t, double most_ns)
{
    double sum = 0;
    for (unsigned i = 0; i < t->n; i++) {
        if (!t->c[i].is_out && t->c[i].ns <= most_ns)
            sum += t->c[i].ns;
    }
    return sum;
}

/* A budget that the caller did not set is that of a few calls, within bounds:
 * the times of a small case say little of a call that takes long. */
static void widen_budget(struct contest *t)
{
    const double calls_ns = FEW_CALLS * least_ns(t) * work_ratio(t, 0);
    if (auditions_of(t)->budget_ns == 0)
        t->left_ns += fmin(fmax(calls_ns, default_ns), widest_ns) - default_ns;
}

/* The halvings of the largest case that the budget allows; those of this one:
 * there is no larger one. */
static unsigned find_larger(const struct contest *t)
{
    const unsigned now = t->halvings;
    for (unsigned i = 0; i < now; i++) {
        if (fits_memory(t, i) &&
            sum_ns(t, INFINITY) * work_ratio(t, i) <= looks_share * t->left_ns)
            return i;
    }
    return now;
}

static xl_status grow_size(struct contest *t)
{
    xl_status status = XL_OK;
    for (;;) {
        const unsigned larger = find_larger(t);
        if (larger < t->halvings) {
            TRY(enter_size(t, larger));
            time_each(t);
        } else if (t->halvings == 0 || !drop_slower(t, near)) {
            break;
        }
    }
fail:
    return status;
}

/* Samples those near the best. Of the others the one run is enough. */
static void take_samples(struct contest *t)
{
    const double most = near * least_ns(t);
    const unsigned batch = count_runs(sample_ns, least_ns(t));
    for (unsigned round = 0;
         round < ROUNDS && t->left_ns > sum_ns(t, most) * batch; round++) {
        for (unsigned k = 0; k < t->n; k++) {
            struct contender *c = &t->c[(k + round) % t->n];
            if (!c->is_out && c->ns <= most)
                c->is_out = time_runs(t, c, batch,
                                      &c->sample[c->n_samples++]) != XL_OK;
        }
    }
    for (unsigned i = 0; i < t->n; i++) {
        struct contender *c = &t->c[i];
        c->lo_ns = c->hi_ns = c->ns;
        if (c->is_out || c->n_samples == 0)
            continue;
        const struct xl__summary s = xl__summarise(c->sample, c->n_samples);
        c->ns = s.median;
        c->lo_ns = s.lo;
        c->hi_ns = s.hi;
    }
}

/* -- the result ----------------------------------------------------------- */

/* The first by the model that is as fast as the best, within noise: the
 * intervals of their medians overlap. NULL: none ran. */
static const struct contender *find_winner(const struct contest *t)
{
    const struct contender *best = NULL;
    for (unsigned i = 0; i < t->n; i++) {
        const struct contender *c = &t->c[i];
        if (!c->is_out && (!best || c->ns < best->ns))
            best = c;
    }
    for (unsigned i = 0; best && i < t->n; i++) {
        const struct contender *c = &t->c[i];
        const double loss = c->lo_ns <= best->hi_ns ? most_noise : least_gain;
        if (!c->is_out && c->ns <= (1 + loss) * best->ns)
            return c;
    }
    return best;
}

static int compare_times(const void *a, const void *b)
{
    const struct contender *x = *(const struct contender *const *)a,
                           *y = *(const struct contender *const *)b;
    if (x->is_out != y->is_out)
        return x->is_out ? 1 : -1;
    return x->is_out ? 0 : (x->ns > y->ns) - (x->ns < y->ns);
}

/* "gemm_cpu 1.2 ms, gemm_tiled 4.8 ms, gemm_ref > 9.6 ms" */
static void print_times(const struct contest *t,
                        const struct contender *winner, struct xl__str *out)
{
    static const double ns_per_ms = 1e6;
    const struct contender *order[MOST_CONTENDERS];
    const double best = least_ns(t);
    for (unsigned i = 0; i < t->n; i++)
        order[i] = &t->c[i];
    qsort(order, t->n, sizeof(order[0]), compare_times);
    for (unsigned i = 0; i < t->n; i++) {
        const struct contender *c = order[i];
        xl__str_printf(out, "%s%s ", i ? ", " : "", c->point.variant->name);
        if (!c->is_out)
            xl__str_printf(out, "%.3g ms", c->ns / ns_per_ms);
        else if (c->over > 0)
            xl__str_printf(out, "> %.3g ms", c->over * best / ns_per_ms);
        else
            xl__str_add(out, "failed");
    }
    if (winner->ns > best)
        xl__str_printf(out, "; %s is as fast within noise",
                       winner->point.variant->name);
    if (t->halvings > 0)
        xl__str_printf(out, "; of 1/%.3g of the work", work_ratio(t, 0));
}

static xl_status fill_result(const struct contest *t,
                             struct xl__audition_result *out)
{
    struct xl__str times = {0};
    const struct contender *winner = find_winner(t);
    if (!winner)
        return XL_UNSUPPORTED;
    print_times(t, winner, &times);
    xl__strcpy(out->variant, sizeof out->variant, winner->point.variant->name);
    xl__strcpy(out->times, sizeof out->times, xl__str_text(&times));
    xl__write_date(out->date, sizeof out->date);
    const bool is_broken = times.broken;
    xl__str_clear(&times);
    return is_broken ? XL_NO_MEMORY : XL_OK;
}

/* -- the audition --------------------------------------------------------- */

static xl_status begin_contest(struct contest *t)
{
    xl_status status = XL_OK;
    TRY(xl_queue_create_beside(t->of->q, &t->q));
    t->sized = *t->of;
    t->sized.q = t->q;
    t->sized.key = xl__calloc(1, t->of->key_bytes);
    t->c = xl__calloc(MOST_CONTENDERS, sizeof *t->c);
    TRY(t->sized.key && t->c ? XL_OK : XL_NO_MEMORY);
    TRY(count_sizes(t));
    choose_contenders(t);
    TRY(t->n > 1 && fits_memory(t, t->n_sizes - 1) ? XL_OK : XL_UNSUPPORTED);
    TRY(enter_size(t, t->n_sizes - 1));
fail:
    return status;
}

/* One audition of the library at a time. */
static xl_status time_contenders(struct contest *t)
{
    xl__lock *timing = &auditions_of(t)->timing;
    xl__lock_take(timing);
    warm_up(t);
    xl_status status = XL_OK;
    if (auditions_of(t)->when != XL_AUDITION_BACKGROUND && is_shared(t))
        status = XL_UNSUPPORTED;
    if (status == XL_OK) {
        time_each(t);
        widen_budget(t);
        status = grow_size(t);
    }
    if (status == XL_OK)
        take_samples(t);
    xl__lock_drop(timing);
    return status;
}

static void end_contest(struct contest *t)
{
    if (t->c)
        leave_size(t);
    free(t->c);
    if (t->q)
        free(t->sized.key);
    xl_queue_destroy(t->q);
    free(t);
}

xl_status xl__audition_hold(void *call, struct xl__audition_result *out)
{
    xl_status status = XL_OK;
    struct xl__op_call *w = call;
    struct contest *t = xl__calloc(1, sizeof *t);
    TRY(xl__check_alloc(&w->q->error, t, "an audition"));
    t->of = w;
    t->left_ns = auditions_of(t)->budget_ns;
    if (t->left_ns == 0)
        t->left_ns = default_ns;
    TRY(begin_contest(t));
    TRY(time_contenders(t));
    TRY(fill_result(t, out));
fail:
    if (status != XL_OK && t && t->q)
        xl__error_set(&w->q->error, status, "%s", xl_error_detail(t->q));
    if (t)
        end_contest(t);
    return status;
}
