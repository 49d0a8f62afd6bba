/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose time must follow their turns: how many turns a launch gets, and
 * whether half of them take half the time. */
#include <math.h>

#include "measure/probe.h"

enum {
    FIRST_TURNS = 4,
    MOST_TURNS = 1 << 22,
    MOST_FACTOR = 8 /* between two tries */
};

/* A launch's own cost hides in the first times, and a device nobody knows must
 * not be held for long: step by step. */
xl_status xl__turns_find(struct xl__probing *p, const struct xl__turning *w,
                         double want_ns, size_t *turns)
{
    xl_status status = XL_OK;
    for (*turns = FIRST_TURNS;;) {
        xl_row row;
        xl_row_init(&row, "", NULL);
        TRY(xl__probe_alive(p));
        TRY(w->sample(p, w->arg, *turns, &row));
        const double ns = row.samples.median_ns;
        if (ns >= want_ns / 2 || *turns >= MOST_TURNS)
            break;
        *turns = (size_t)((double)*turns *
                          fmin(fmax(want_ns / fmax(ns, 1), 2), MOST_FACTOR));
    }
fail:
    return status;
}

/* Tried again when the time does not follow, since a busy machine may have
 * been in the way; work that is skipped is skipped each time. */
xl_status xl__turns_halve(struct xl__probing *p, const struct xl__turning *w,
                          size_t turns, xl_row *row)
{
    enum { TRIES = 3 };
    static const double good = 0.1;
    xl_status status = XL_OK;
    const size_t half = turns / 2;
    double best = INFINITY;
    if (half == 0)
        return XL_OK;
    for (unsigned i = 0; i < TRIES && fabs(best - 1) > good; i++) {
        xl_row other;
        xl_row_init(&other, "", NULL);
        TRY(w->sample(p, w->arg, half, &other));
        const double scaling = row->samples.min_ns / other.samples.min_ns *
                               (double)half / (double)turns;
        if (fabs(scaling - 1) < fabs(best - 1))
            best = scaling;
    }
    xl_row_found(row, "scaling", best);
fail:
    return status;
}
