/* SPDX-License-Identifier: Apache-2.0 */
/* What text and picture say alike. What is uneven is read off the figures. */
#include <math.h>

#include "tiling/gemm_tiling.h"
#include "tiling/split_page.h"
#include "cli/units.h"

/* Differences that are worth a word. */
static const double small = 0.005, far = 0.1;

const struct split_record *split_shown(const struct split_page *p)
{
    return p->measured.n > 0 ? &p->measured : &p->model;
}

double split_best_rate(const struct split_page *p)
{
    double best = 0;
    for (size_t i = 0; i < p->n_rates; i++)
        best = fmax(best, p->rate[i].flop_per_s);
    return best;
}

void split_say_source(const struct split_page *p, struct xl__str *out)
{
    char text[UNITS_CAP];
    if (p->measured.n == 0) {
        xl__str_printf(out, "modelled: equal units, each with room for %u "
                            "group%s, take the next one when free",
                       p->beside, p->beside == 1 ? "" : "s");
        if (*p->why_not)
            xl__str_printf(out, "; not measured: %s", p->why_not);
        return;
    }
    units_time(text, sizeof text, p->watched.total_ns);
    xl__str_printf(out,
                   "measured on a stand-in of %s: as many groups of as many "
                   "items and as much local memory, equal work for each tile, "
                   "registers its own. ",
                   text);
    xl__str_add(out,
                p->watched.is_thread
                    ? "A unit is a thread of the driver's, told by the address "
                      "of its local memory"
                    : "Units by the number that the hardware gives");
    const double off = fabs(p->watched.scaling - 1);
    if (off > far)
        xl__str_printf(out, "; twice its work takes %.2f times as long, so "
                            "more than work is in its times",
                       2 * p->watched.scaling);
    if (!p->watched.has_clock)
        xl__str_add(out, "; they have no clock in common, so when is "
                         "modelled");
}

void split_say_waves(const struct split_page *p, struct xl__str *out)
{
    char fill[UNITS_CAP];
    const double places = (double)p->units * p->beside;
    const double pieces = (double)split_pieces(&p->tiling);
    const struct tile_waves w = tile_waves(pieces, places);
    units_percent(fill, sizeof fill, w.fill);
    xl__str_printf(out, "%.0f on %u units", w.waves, p->units);
    if (p->beside > 1)
        xl__str_printf(out, " with room for %u groups of the stand-in each",
                       p->beside);
    xl__str_printf(out, "; the last fills %.0f of %.0f places; fill %s",
                   pieces - (w.waves - 1) * places, places, fill);
}

void split_say_uneven(const struct split_page *p, struct xl__str *out)
{
    char text[UNITS_CAP];
    const xl_tiling *t = &p->tiling;
    const struct split_load *seen = &p->measured_load, *model = &p->model_load;
    const double fill = tile_waves((double)split_pieces(t),
                                   (double)p->units * p->beside).fill;
    const size_t start = out->len;
    const double waste = 1 - split_area(t);
    units_percent(text, sizeof text, waste);
    if (waste > small)
        xl__str_printf(out, "edge tiles reach beyond the result (%s of all "
                            "tiles' area)", text);
    units_percent(text, sizeof text, 1 - fill);
    if (1 - fill > small)
        xl__str_printf(out, "%sthe last wave leaves %s of the places empty",
                       out->len > start ? "; " : "", text);
    if (t->sharers > 0)
        xl__str_printf(out, "%stiles cut by k are shorter than whole ones",
                       out->len > start ? "; " : "");
    if (p->measured.n > 0 && seen->used < model->used)
        xl__str_printf(out, "%sonly %u unit%s worked, the model has %u",
                       out->len > start ? "; " : "", seen->used,
                       seen->used == 1 ? "" : "s", model->used);
    units_percent(text, sizeof text, seen->imbalance - 1);
    if (p->measured.n > 0 && seen->imbalance > model->imbalance + far)
        xl__str_printf(out, "%sthe busiest unit worked %s longer than the "
                            "mean, by how groups were handed out",
                       out->len > start ? "; " : "", text);
    if (out->len == start)
        xl__str_add(out, "nothing: equal tiles, all waves full");
}
