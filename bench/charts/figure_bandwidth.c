/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of moving bytes, from on the chip out to the host: out of a probe's
 * row, with its interval, else out of the fact that was measured. */
#include <math.h>
#include <stdio.h>

#include "charts/bars.h"
#include "charts/figure_data.h"
#include "cli/units.h"

enum { BELOW = 12 };

enum { MEMORY, CACHES, LINK, ON_CHIP }; /* series */

static const char probe_bandwidth[] = "probe_bandwidth";
static const char probe_cache[] = "probe_cache";

/* clang-format off */
static const struct {
    unsigned series;
    const char *name;
    const char *op, *variant; /* of the row */
    const char *fact;         /* NULL: none */
} rates[] = {
    {ON_CHIP, "local memory, read", "probe_local", "read", "local_bytes_per_s"},
    {CACHES, "first cache, read", probe_cache, "l1_read", "l1_bytes_per_s"},
    {CACHES, "second cache, read", probe_cache, "l2_read", "l2_bytes_per_s"},
    {CACHES, "last-level cache, read", probe_cache, "llc_read", NULL},
    {CACHES, "last-level cache, copy", probe_bandwidth, "copy_llc",
     "llc_bytes_per_s"},
    {MEMORY, "memory, read", probe_bandwidth, "read", "read_bytes_per_s"},
    {MEMORY, "memory, write", probe_bandwidth, "write", "write_bytes_per_s"},
    {MEMORY, "memory, copy", probe_bandwidth, "copy", "copy_bytes_per_s"},
    {MEMORY, "memory, triad", probe_bandwidth, "triad", NULL},
    {MEMORY, "memory, words at random", "probe_coalescing", "gather", NULL},
    {LINK, "from the host", "", "", "upload_bytes_per_s"},
    {LINK, "to the host", "", "", "download_bytes_per_s"},
};
/* clang-format on */

static const double worth_it = 2; /* rates: fewer are no picture */

/* The best of the rows of that name; NULL: none. */
static const struct result_row *best_row(const struct result_file *file,
                                         const json_t *device, size_t i_rate)
{
    const struct result_row *row, *best = NULL;
    for (size_t i = 0;
         (row = figure_row(file, device, rates[i_rate].op, &i));)
        if (xl__streq(row->variant, rates[i_rate].variant) &&
            (!best || figure_value(row) > figure_value(best)))
            best = row;
    return best;
}

static void add_rate(struct bars *bars, struct plot_axis *axis,
                     const struct result_file *file, const json_t *device,
                     size_t i)
{
    const struct result_row *row = best_row(file, device, i);
    struct bar bar = {.low = (double)NAN, .high = (double)NAN,
                      .series = rates[i].series};
    xl__strcpy(bar.name, sizeof bar.name, rates[i].name);
    if (row) {
        double low, high;
        bar.value = figure_value(row);
        figure_interval(row, &low, &high);
        bar.low = bar.value * low;
        bar.high = bar.value * high;
        bar.is_hollow = !figure_is_firm(row);
        figure_tip(row, bar.tip, sizeof bar.tip);
    } else if (rates[i].fact && figure_is_measured(device, rates[i].fact)) {
        char value[UNITS_CAP];
        bar.value = figure_fact(device, rates[i].fact);
        units_format(value, sizeof value, bar.value, "B/s");
        snprintf(bar.tip, sizeof bar.tip, "%s: %s (%s)", bar.name, value,
                 rates[i].fact);
    } else {
        return;
    }
    (void)bars_add(bars, axis, &bar);
}

static double tell(struct xl__str *out, const json_t *device,
                   const struct bars *bars)
{
    const struct bar *best = &bars->at[0], *worst = &bars->at[0];
    char most[UNITS_CAP], least[UNITS_CAP], text[192];
    for (size_t i = 1; i < bars->n; i++) {
        best = bars->at[i].value > best->value ? &bars->at[i] : best;
        worst = bars->at[i].value < worst->value ? &bars->at[i] : worst;
    }
    units_format(most, sizeof most, best->value, "B/s");
    units_format(least, sizeof least, worst->value, "B/s");
    snprintf(text, sizeof text, "%s (%s) to %s (%s)", most, best->name, least,
             worst->name);
    return figure_headline(out, device, text);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    struct plot_axis axis = plot_axis(10, "B/s", "bytes per second");
    struct bars bars = {.n = 0};
    struct xl__str body = {0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        add_rate(&bars, &axis, file, device, i);
    const bool is_drawn = (double)bars.n >= worth_it;
    if (is_drawn) {
        const double y = tell(&body, device, &bars) - 8;
        figure_write(out, &figure_bandwidth, &body,
                     bars_draw(&body, &bars, axis, (double)NAN, y) + BELOW);
    }
    bars_clear(&bars);
    return is_drawn;
}

const struct figure figure_bandwidth = {
    .name = "bandwidth",
    .title = "Bandwidth",
    .about =
        "What each memory moves in a second, from those on the chip out to "
        "the host. The axis is logarithmic: each line of the grid is several "
        "times the one before. A copy counts its reads and its writes.",
    .draw = draw,
};
