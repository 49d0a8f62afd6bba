/* SPDX-License-Identifier: Apache-2.0 */
/* Finds plateaus in a latency curve: noise is removed; the longest flat
 * stretch is a plateau, the longest ones left and right of it are further
 * ones, recursively, until none spans an octave. Plateaus without a step
 * between them are merged. */

#include "measure/memory/cache_levels.h"

#include <math.h>

#include "base/str.h"
#include "measure/probe.h"

static const double flat = 1.25;   /* growth along a plateau */
static const double step = 1.3;    /* growth of a step within an octave */
static const double octave = 1.99; /* 2, with a margin for rounded sizes */
static const double noise = 1.1;   /* by which a row may be out of order */

struct level_search {
    const struct xl__cache_point *at;
    unsigned n;
    double ns[XL__MOST_POINTS]; /* corrected: never falls */
    struct xl__cache_level *level;
    unsigned n_levels;
};

/* -- noise ---------------------------------------------------------------- */

/* A point that is faster than four neighbours that agree is a clock error. */
static double remove_dip(const struct xl__cache_point *at, unsigned i,
                         unsigned n)
{
    if (i < 2 || i + 2 >= n)
        return at[i].ns;
    const double a = at[i - 2].ns, b = at[i - 1].ns;
    const double c = at[i + 1].ns, d = at[i + 2].ns;
    const double least = fmin(fmin(a, b), fmin(c, d));
    const double most = fmax(fmax(a, b), fmax(c, d));
    const bool slipped = most <= flat * least && at[i].ns * step < least;
    return slipped ? least : at[i].ns;
}

/* A point above a later one was disturbed: the curve must not fall. */
static void clean_curve(struct level_search *s)
{
    double least = INFINITY;
    for (unsigned i = s->n; i-- > 0;) {
        least = fmin(least, remove_dip(s->at, i, s->n));
        s->ns[i] = least;
    }
}

/* -- plateaus ------------------------------------------------------------- */

/* The longest flat stretch among first .. end - 1, in octaves. */
static bool find_plateau(const struct level_search *s, unsigned first,
                         unsigned end, struct xl__cache_level *out)
{
    double best = octave;
    bool found = false;
    for (unsigned i = first, j = first; i < end; i++) {
        while (j + 1 < end && s->ns[j + 1] <= flat * s->ns[i])
            j++;
        const double span = s->at[j].bytes / s->at[i].bytes;
        if (span < best || (found && span <= best))
            continue;
        best = span;
        found = true;
        *out = (struct xl__cache_level){.first = i, .last = j};
    }
    return found;
}

static void find_plateaus(struct level_search *s, unsigned first, unsigned end)
{
    struct xl__cache_level mid;
    if (!find_plateau(s, first, end, &mid))
        return;
    find_plateaus(s, first, mid.first);
    if (s->n_levels < XL__MOST_LEVELS)
        s->level[s->n_levels++] = mid;
    find_plateaus(s, mid.last + 1, end);
}

/* Does the time between the end of a and the begin of b grow by a step within
 * an octave? */
static bool has_step(const struct level_search *s,
                     const struct xl__cache_level *a,
                     const struct xl__cache_level *b)
{
    for (unsigned i = a->last, j = i; i < b->first; i++) {
        while (j + 1 <= b->last &&
               s->at[j + 1].bytes <= s->at[i].bytes * 4 / octave)
            j++;
        if (s->ns[j] >= step * s->ns[i])
            return true;
    }
    return false;
}

static void merge_plateaus(struct level_search *s)
{
    unsigned kept = 0;
    for (unsigned i = 1; i < s->n_levels; i++) {
        if (has_step(s, &s->level[kept], &s->level[i]))
            s->level[++kept] = s->level[i];
        else
            s->level[kept].last = s->level[i].last;
    }
    s->n_levels = s->n_levels > 0 ? kept + 1 : 0;
}

/* Adds an open level for a curve that leaves its last plateau and does not
 * reach another; two points are required. */
static void add_open_level(struct level_search *s)
{
    const unsigned last = s->n - 1;
    const struct xl__cache_level *end = &s->level[s->n_levels - 1];
    if (s->n_levels == XL__MOST_LEVELS || end->last + 2 > last ||
        !(s->ns[last - 1] >= step * s->ns[end->last]))
        return;
    s->level[s->n_levels++] =
        (struct xl__cache_level){.first = last, .last = last, .is_open = true};
}

/* -- sizes ---------------------------------------------------------------- */

/* The size where the curve crosses `ns`; both axes are logarithmic. */
static double find_crossing(const struct level_search *s, double ns)
{
    unsigned i = 0;
    while (i + 1 < s->n && s->ns[i] < ns)
        i++;
    if (i == 0 || !(s->ns[i] > s->ns[i - 1]))
        return s->at[i].bytes;
    const double fraction =
        log(ns / s->ns[i - 1]) / log(s->ns[i] / s->ns[i - 1]);
    return s->at[i - 1].bytes *
           pow(s->at[i].bytes / s->at[i - 1].bytes, fraction);
}

unsigned xl__cache_levels_find(const struct xl__cache_point *curve, unsigned n,
                               struct xl__cache_level out[XL__MOST_LEVELS])
{
    struct level_search s = {.at = curve, .n = n, .level = out};
    if (n == 0 || n > XL__MOST_POINTS)
        return 0;
    clean_curve(&s);
    find_plateaus(&s, 0, n);
    merge_plateaus(&s);
    if (s.n_levels > 0)
        add_open_level(&s);
    for (unsigned i = 0; i < s.n_levels; i++)
        out[i].ns = s.ns[(out[i].first + out[i].last) / 2];
    for (unsigned i = 0; i < s.n_levels; i++)
        out[i].bytes = i + 1 < s.n_levels
                           ? find_crossing(&s, sqrt(out[i].ns * out[i + 1].ns))
                           : INFINITY;
    return s.n_levels;
}

/* -- names ---------------------------------------------------------------- */

unsigned xl__cache_levels_match(struct xl__cache_level *levels, unsigned n,
                                const double *stated, unsigned n_stated,
                                unsigned *level)
{
    static const double alike = 2;
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned found = n_stated == 0 ? i + 1 : 0;
        for (unsigned k = 0; k < n_stated; k++)
            if (levels[i].bytes <= alike * stated[k] &&
                levels[i].bytes >= stated[k] / alike &&
                (kept == 0 || level[kept - 1] <= k))
                found = k + 1;
        if (i + 1 < n && found == 0)
            continue; /* a step that no cache explains */
        levels[kept] = levels[i];
        level[kept++] = i + 1 < n ? found : 0;
    }
    return kept;
}

/* -- order ---------------------------------------------------------------- */

/* Other programs slow one level and not the next, so the row may be right. */
static void mark_row(xl_row *row, const xl_row *further)
{
    if (row->verdict >= XL_ROW_SUSPICIOUS)
        return;
    xl__row_mark(
        row, XL_ROW_SUSPICIOUS,
        "slower than %s, which is further away: the machine was busy, or "
        "its size is wrong",
        further->variant);
}

bool xl__cache_levels_check_order(xl_row *const *rows, const double *cost,
                                  unsigned n)
{
    bool all_well = true;
    double least = INFINITY;
    const xl_row *further = NULL;
    for (unsigned i = n; i-- > 0;) {
        if (further && cost[i] > noise * least) {
            mark_row(rows[i], further);
            all_well = false;
        }
        if (cost[i] < least) {
            least = cost[i];
            further = rows[i];
        }
    }
    return all_well;
}
