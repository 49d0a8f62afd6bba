/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each curve of a probe one row of a comparison: its time in a pass is
 * the geometric mean over its points, and its change the mean of theirs. */
#include "compare/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "results/json.h"

void compare_clear_pair(struct pair *p)
{
    free(p->label);
    free(p->log_time[0]);
    free(p->log_time[1]);
}

/* Are two pairs points of one curve: rows of a probe by the same method, type
 * and device? */
static bool is_same_curve(const struct pair *p, const struct pair *q)
{
    static const char probe[] = "probe_";
    return call_has_interval(p->ratio.call) &&
           call_has_interval(q->ratio.call) &&
           strncmp(p->a->id, probe, sizeof probe - 1) == 0 &&
           p->shift.op == q->shift.op && *p->a->variant &&
           xl__streq(p->a->variant, q->a->variant) &&
           xl__streq(p->a->device, q->a->device) &&
           xl__streq(p->unit, q->unit) &&
           xl__streq(json_text_at(p->a->json, "dtype"),
                     json_text_at(q->a->json, "dtype")) &&
           p->n_values[0] == q->n_values[0] &&
           p->n_values[1] == q->n_values[1];
}

/* Moves the points of the curve of pair `first` to it: its times become the
 * geometric means over the points. */
static bool fold_curve(struct comparison *c, size_t first, size_t n_points)
{
    struct pair *p = &c->pairs[first];
    double log_a = 0, log_b = 0, within = 0, middle = 0, spread = 0;
    size_t n_kept = first + 1;
    const double n = (double)n_points;
    bool is_equal = true;
    double *ratios = xl__calloc(n_points, sizeof *ratios);
    struct xl__str label = {0};
    size_t at = 0;
    if (!ratios)
        return false;
    for (size_t i = first; i < c->n; i++) {
        struct pair *q = &c->pairs[i];
        if (i > first && !is_same_curve(p, q)) {
            c->pairs[n_kept++] = *q;
            continue;
        }
        log_a += log(q->a_value) / n;
        log_b += log(q->b_value) / n;
        within += q->shift.within / n;
        middle += q->shift.log_ratio / n;
        is_equal = is_equal && q->shift.is_equal;
        ratios[at++] = q->shift.log_ratio;
        for (int side = 0; side < 2; side++)
            for (size_t k = 0; k < q->n_values[side]; k++)
                p->log_time[side][k] =
                    i == first
                        ? q->log_time[side][k] / n
                        : p->log_time[side][k] + q->log_time[side][k] / n;
        if (i > first)
            compare_clear_pair(q);
    }
    for (size_t i = 0; i < n_points; i++)
        spread += (ratios[i] - middle) * (ratios[i] - middle);
    free(ratios);
    xl__str_printf(&label, "%s %s, %zu points",
                   json_text_at(p->a->json, "op") + strlen("probe_"),
                   p->a->variant, n_points);
    free(p->label);
    p->label = xl__str_steal(&label);
    p->n_points = n_points;
    p->a_value = exp(log_a);
    p->b_value = exp(log_b);
    if (!p->label || !pair_set_shift(c, p))
        return false;
    p->shift.log_ratio = middle;
    p->shift.within = isnan(within) ? spread / (n - 1) / n
                                    : fmax(within, spread / (n - 1) / n);
    p->shift.is_equal = is_equal;
    p->ratio.ratio = exp(middle);
    c->n = n_kept;
    return true;
}

bool compare_fold_curves(struct comparison *c)
{
    enum { FEWEST_POINTS = 3 };
    bool fine = true;
    for (size_t i = 0; i < c->n && fine; i++) {
        size_t n_points = 0;
        for (size_t j = i; j < c->n; j++)
            n_points += is_same_curve(&c->pairs[i], &c->pairs[j]);
        if (n_points >= FEWEST_POINTS)
            fine = fold_curve(c, i, n_points);
    }
    return fine;
}
