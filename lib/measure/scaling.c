/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the number of loop iterations of a launch and checks that the time
 * is proportional to it. A compiler or driver that skips work is detected this
 * way: half of the iterations must take half of the time.
 *
 *     time
 *      |           o  n        scaling = t(n) / t(n/2) / 2
 *      |       x               1: proportional; 0.5: half the work is skipped
 *      |   n/2
 *      +-------------- iterations
 *
 * The second section applies both to plans whose last kernel argument is the
 * number of iterations. */
#include <math.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    FIRST_ITERATIONS = 4,
    MOST_ITERATIONS = 1 << 22,
    MOST_FACTOR = 8 /* between two launches */
};

/* A session with few samples, for times that are used only to choose or
 * check. */
struct quick_session {
    struct xl__session p;
    xl_probing how;
};

static struct xl__session *make_quick(const struct xl__session *p,
                                      struct quick_session *b)
{
    b->how = *p->how;
    b->how.quick = true;
    b->p = *p;
    b->p.how = &b->how;
    b->p.is_hasty = true;
    return &b->p;
}

/* The cost of the launch distorts the first times, and a launch on an unknown
 * device must not run long: the number grows by a factor of 2 to 8. */
xl_status xl__iterations_find(struct xl__session *p,
                              const struct xl__iteration_source *w,
                              double target_ns, size_t *iterations)
{
    xl_status status = XL_OK;
    struct quick_session few;
    const size_t most =
        xl__min_size(MOST_ITERATIONS, /* drivers may end long loops
                                         silently, and all loops of a kernel
                                         count: GE-24 */
                     xl__size_or(&p->q->ctx->device->seen,
                                 XL__F_max_loop_turns, 2 * MOST_ITERATIONS) /
                         2);
    for (*iterations = FIRST_ITERATIONS;;) {
        xl_row row;
        xl_row_init(&row, "", NULL);
        TRY(xl__probe_check_stop(p));
        TRY(w->sample(make_quick(p, &few), w->arg, *iterations, &row));
        const double ns = row.samples.median_ns;
        if (ns >= target_ns / 2 || *iterations >= most)
            break;
        *iterations =
            (size_t)((double)*iterations *
                     fmin(fmax(target_ns / fmax(ns, 1), 2), MOST_FACTOR));
        *iterations = xl__min_size(*iterations, most);
    }
fail:
    return status;
}

xl_status xl__iterations_find_above(struct xl__session *p,
                                    const struct xl__iteration_source *w,
                                    double target_ns, double launches,
                                    size_t *iterations)
{
    xl_status status = XL_OK;
    xl_row row;
    xl_row_init(&row, "", NULL);
    TRY(w->sample(p, w->arg, 1, &row));
    TRY(xl__iterations_find(
        p, w, fmax(target_ns, launches * row.samples.min_ns), iterations));
fail:
    return status;
}

/* The two shortest times of one length. Noise only adds time, so once they
 * agree the shorter is taken as the true one. */
struct shortest {
    double ns[2];
};

static void add_time(struct shortest *s, double ns)
{
    if (ns < s->ns[0]) {
        s->ns[1] = s->ns[0];
        s->ns[0] = ns;
    } else if (ns < s->ns[1]) {
        s->ns[1] = ns;
    }
}

static bool has_settled(const struct shortest *s)
{
    static const double alike = 1.05;
    return s->ns[1] <= alike * s->ns[0];
}

/* Both lengths are sampled again, briefly, while the times are not
 * proportional, since other load may have disturbed either; work that is
 * skipped is skipped every time. If the two shortest times of a length never
 * agree, nothing is concluded. */
xl_status xl__iterations_check_scaling(struct xl__session *p,
                                       const struct xl__iteration_source *w,
                                       size_t iterations, xl_row *row)
{
    enum { TRIES = 10, MOST_TRIES = 30, HALF = 0, WHOLE = 1 };
    static const double good = 0.1;
    xl_status status = XL_OK;
    const size_t half = iterations / 2;
    struct quick_session few;
    struct shortest least[] = {{{INFINITY, INFINITY}}, {{INFINITY, INFINITY}}};
    double scaling = INFINITY;
    bool has_both_settled = false;
    if (half == 0)
        return XL_OK;
    add_time(&least[WHOLE], row->samples.min_ns);
    for (unsigned i = 0; i < (has_both_settled ? TRIES : MOST_TRIES) &&
                         fabs(scaling - 1) > good;
         i++) {
        const bool is_whole = i % 2;
        xl_row other;
        xl_row_init(&other, "", NULL);
        TRY(w->sample(make_quick(p, &few), w->arg,
                      is_whole ? iterations : half, &other));
        add_time(&least[is_whole], other.samples.min_ns);
        has_both_settled =
            has_settled(&least[HALF]) && has_settled(&least[WHOLE]);
        scaling = least[WHOLE].ns[0] / least[HALF].ns[0] * (double)half /
                  (double)iterations;
    }
    if (has_both_settled || fabs(scaling - 1) <= good)
        xl_row_found(row, "scaling", scaling);
fail:
    return status;
}

/* -- plans whose last kernel argument is the iterations ------------------- */

xl_status xl__iterated_sample(struct xl__session *p, struct xl__iterated *t,
                              size_t iterations, xl_row *row)
{
    struct xl__step *s = &t->plan.step[0];
    t->iterations = iterations;
    s->args[s->n_args - 1].as.u = iterations;
    return xl__probe_sample(p, row, &t->plan, &t->call,
                            t->amount * (double)iterations);
}

static xl_status sample_iterated(struct xl__session *p, void *arg,
                                 size_t iterations, xl_row *row)
{
    return xl__iterated_sample(p, arg, iterations, row);
}

xl_status xl__iterated_calibrate(struct xl__session *p, struct xl__iterated *t,
                                 double target_ns)
{
    const struct xl__iteration_source w = {sample_iterated, t};
    const xl_status status =
        xl__iterations_find(p, &w, target_ns, &t->iterations);
    if (t->max_iterations > 0)
        t->iterations = xl__min_size(t->iterations, t->max_iterations);
    return status;
}

double xl__iterated_target_ns(const struct xl__session *p)
{
    static const double quick_ns = 1e6, long_ns = 4e6, cpu_ns = 8e6;
    if (xl__is(&p->q->ctx->device->seen, XL__F_is_cpu))
        return cpu_ns;
    return p->how->quick ? quick_ns : long_ns;
}

xl_status xl__iterated_measure(struct xl__session *p, struct xl__iterated *t,
                               xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {sample_iterated, t};
    TRY(xl__iterated_calibrate(p, t, xl__iterated_target_ns(p)));
    const size_t iterations = t->iterations;
    TRY(xl__iterated_sample(p, t, iterations, row));
    TRY(t->check(p, t, row));
    TRY(xl__iterations_check_scaling(p, &w, iterations, row));
    t->iterations = iterations;
fail:
    return status;
}
