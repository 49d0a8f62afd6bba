/* SPDX-License-Identifier: Apache-2.0 */
/* The noise between runs, from wherever it is known; then intervals, calls and
 * the means of ops. */
#include "compare/compare_judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* -- the noise ------------------------------------------------------------ */

/* What each run of a side differs by from the one before it. */
static bool add_repeats(struct comparison *c, const struct side *side,
                        struct pair *p, const struct result_row *row,
                        bool by_case, struct shift **list, size_t *n,
                        size_t *cap)
{
    for (size_t f = 1; row && f < side->n_files; f++) {
        const struct result_row *was =
            side_again(side, row, f - 1, by_case);
        const struct result_row *is = side_again(side, row, f, by_case);
        const char *unit = NULL;
        double value = 0;
        if (!was || !is || !result_is_timed(was) || !result_is_timed(is))
            continue;
        struct shift s = {.op = p->shift.op, .runs = 2};
        s.log_ratio = result_figure(is, &value, &unit) -
                      result_figure(was, &value, &unit);
        s.within = noise_within(was->ns, was->n) +
                   noise_within(is->ns, is->n);
        if (isnan(s.within))
            continue;
        if (!xl__grow(list, cap, *n + 1, sizeof **list))
            return false;
        (*list)[(*n)++] = s;
        const double square = s.log_ratio * s.log_ratio;
        const size_t repeats = c->a.n_files + c->b.n_files - 2;
        p->shift.own += square / (double)repeats;
    }
    return true;
}

/* Repeats tell it; else the rows do, if they are runs of the same and enough;
 * else nobody. */
static bool find_noise(struct comparison *c, struct shift *rows,
                       const struct compare_options *how)
{
    struct shift *list = NULL;
    size_t n = 0, cap = 0;
    bool fine = true;
    for (size_t i = 0; i < c->n_compared && fine; i++) {
        struct pair *p = &c->pairs[i];
        fine = add_repeats(c, &c->a, p, p->a, how->by_case, &list, &n, &cap) &&
               add_repeats(c, &c->b, p, p->b, how->by_case, &list, &n, &cap);
        rows[i] = p->shift;
    }
    if (!isnan(how->assumed))
        noise_assume(&c->noise, how->assumed);
    else if (n >= NOISE_FEWEST_ROWS)
        fine = fine && noise_from_repeats(&c->noise, list, n);
    else if (c->is_alike && c->n_compared >= NOISE_FEWEST_ROWS)
        fine = fine && noise_from_rows(&c->noise, rows, c->n_compared);
    else
        noise_assume(&c->noise, COMPARE_NOISE);
    free(list);
    return fine;
}

/* -- calls ---------------------------------------------------------------- */

static void call_ops(struct comparison *c, const struct shift *rows,
                     double margin)
{
    unsigned n_timed = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        c->ops[p->shift.op].n_call[p->ratio.call]++;
        c->all.n_call[p->ratio.call]++;
    }
    for (unsigned o = 0; o < c->n_ops; o++)
        for (enum call k = 0; k < N_CALLS; k++)
            if (call_has_interval(k) && c->ops[o].n_call[k] > 0) {
                n_timed++;
                break;
            }
    for (unsigned o = 0; o < c->n_ops; o++) {
        const struct shift mean =
            noise_mean(&c->noise, rows, c->n_compared, o, n_timed);
        c->ops[o].mean = ratio_of(&mean, margin);
    }
    const struct shift mean =
        noise_mean(&c->noise, rows, c->n_compared, 0, 0);
    c->all.mean = ratio_of(&mean, margin);
}

bool compare_judge(struct comparison *c, const struct compare_options *how)
{
    struct shift *rows =
        xl__calloc(c->n_compared ? c->n_compared : 1, sizeof *rows);
    const bool fine = rows && find_noise(c, rows, how);
    if (fine) {
        noise_intervals(&c->noise, rows, c->n_compared);
        for (size_t i = 0; i < c->n_compared; i++) {
            c->pairs[i].shift = rows[i];
            c->pairs[i].ratio = ratio_of(&rows[i], how->margin);
        }
        call_ops(c, rows, how->margin);
    }
    free(rows);
    return fine;
}
