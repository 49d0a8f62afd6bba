/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of how near to its limit each case of an op comes: bars of the
 * share of the measured copy (softmax, which moves its matrix once each way)
 * or of the roof that each row has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "charts/figure_data.h"
#include "charts/plot.h"
#include "cli/units.h"
#include "results/json.h"

enum { BELOW = 12, MOST_BARS = 40, PEER_SERIES = 7 };
/* A larger share is an error of a clock, and is left out: it would leave no
 * room for the others. */
static const double most_share = 5;

/* "openblas" of "peer_openblas". */
static const char *skip_peer_prefix(const struct result_row *row)
{
    static const char peer[] = "peer_";
    return strncmp(row->variant, peer, sizeof peer - 1) == 0
               ? row->variant + sizeof peer - 1
               : row->variant;
}

/* Has the case other rows? Then names include the variant. */
static bool is_one_of_many(const struct result_file *file,
                           const struct result_row *row)
{
    for (size_t i = 0; i < file->n_rows; i++)
        if (&file->rows[i] != row && result_is_timed(&file->rows[i]) &&
            xl__streq(file->rows[i].case_id, row->case_id) &&
            xl__streq(file->rows[i].device, row->device))
            return true;
    return false;
}

/* `of_copy`: rates in bytes are compared with the copy, whatever the roof. */
static double find_share(const struct result_row *row, const json_t *device,
                         bool of_copy)
{
    const char *roof =
        json_text_at(json_object_get(row->json, "roof"), "name");
    if (!of_copy || xl__streq(roof, "copy"))
        return row->frac;
    return figure_value(row) / figure_fact(device, "copy_bytes_per_s");
}

/* The series of a row: its type, or another library. */
static unsigned find_series(const struct result_row *row)
{
    xl_row is;
    result_identity(row, &is);
    if (row->is_other)
        return PEER_SERIES;
    return is.dtype == XL_F32    ? 0
           : is.dtype == XL_F16  ? 1
           : is.dtype == XL_BF16 ? 2
                                 : 3;
}

/* Adds the bar of a row; none without a share. */
static void add_row(struct plot_bars *bars, struct plot_axis *axis,
                    const struct result_file *file, const json_t *device,
                    const struct result_row *row, bool of_copy)
{
    struct plot_bar bar = {.series = find_series(row),
                           .is_hollow = !figure_is_firm(row)};
    char name[PLOT_LABEL];
    double low, high;
    bar.value = find_share(row, device, of_copy);
    if (!(bar.value > 0) || bar.value > most_share)
        return;
    figure_interval(row, &low, &high);
    bar.low = bar.value * low;
    bar.high = fmin(bar.value * high, most_share);
    figure_case(row, name, sizeof name);
    if (is_one_of_many(file, row))
        snprintf(bar.name, sizeof bar.name, "%.50s %.28s", name,
                 skip_peer_prefix(row));
    else
        xl__strcpy(bar.name, sizeof bar.name, name);
    figure_tip(row, bar.tip, sizeof bar.tip);
    (void)plot_bars_add(bars, axis, &bar);
}

static int compare_share(const void *a, const void *b)
{
    const double x = ((const struct plot_bar *)a)->value;
    const double y = ((const struct plot_bar *)b)->value;
    return (x > y) - (x < y);
}

/* The range of shares. */
static double draw_headline(struct xl__str *out, const json_t *device,
                            const struct plot_bars *bars, size_t n_all,
                            const char *of)
{
    double least = INFINITY, most = 0;
    char low[UNITS_CAP], high[UNITS_CAP], text[192];
    for (size_t i = 0; i < bars->n; i++) {
        least = fmin(least, bars->at[i].value);
        most = fmax(most, bars->at[i].value);
    }
    units_percent(low, sizeof low, least);
    units_percent(high, sizeof high, most);
    if (n_all > bars->n)
        snprintf(text, sizeof text,
                 "The %zu of %zu cases furthest from %s: %s to %s", bars->n,
                 n_all, of, low, high);
    else if (n_all == 1)
        snprintf(text, sizeof text, "%s of %s", low, of);
    else
        snprintf(text, sizeof text, "%s to %s of %s", low, high, of);
    return figure_headline(out, device, text);
}

/* The legend of the colours in use; none for a single one. */
static double draw_legend(struct xl__str *out, const struct plot_bars *bars,
                          double y)
{
    static const char *const names[] = {[0] = "f32",
                                        [1] = "f16",
                                        [2] = "bf16",
                                        [3] = "other types",
                                        [PEER_SERIES] = "other libraries"};
    struct plot_series s[PEER_SERIES + 1];
    unsigned kinds = 0;
    memset(s, 0, sizeof s);
    for (size_t i = 0; i < bars->n; i++) {
        const unsigned at = bars->at[i].series;
        kinds += s[at].n == 0;
        s[at].n = 1;
        s[at].colour = at;
        s[at].shape = 1;
        s[at].has_marks = true;
        xl__strcpy(s[at].name, sizeof s[at].name, names[at]);
    }
    return kinds > 1
               ? plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, s,
                             PEER_SERIES + 1)
               : y;
}

/* Draws the bars of an op, the lowest ones where there are too many. */
static bool draw_shares(const struct result_file *file, const json_t *device,
                        const struct figure *figure, bool of_copy,
                        struct xl__str *out)
{
    const struct result_row *row;
    const char *of = of_copy ? "the measured copy" : "the roof";
    struct plot_axis axis = plot_axis(0, "%", "");
    struct plot_bars bars = {.n = 0};
    struct xl__str body = {0}, label = {0};
    for (size_t i = 0; (row = figure_row(file, device, figure->name, &i));)
        add_row(&bars, &axis, file, device, row, of_copy);
    const size_t n_all = bars.n;
    if (n_all > MOST_BARS) {
        qsort(bars.at, bars.n, sizeof *bars.at, compare_share);
        bars.n = MOST_BARS;
    }
    if (n_all > 0) {
        xl__str_printf(&label, "share of %s", of);
        axis.label = xl__str_text(&label);
        const double y = draw_headline(&body, device, &bars, n_all, of);
        const double top = draw_legend(&body, &bars, y) - 8;
        figure_write(out, figure, &body,
                     plot_bars_draw(&body, &bars, axis, 1, top) + BELOW);
        xl__str_clear(&label);
    }
    plot_bars_clear(&bars);
    return n_all > 0;
}

static bool draw_softmax(const struct result_file *file, const json_t *device,
                         struct xl__str *out)
{
    return draw_shares(file, device, &figure_softmax, true, out);
}

static bool draw_conv(const struct result_file *file, const json_t *device,
                      struct xl__str *out)
{
    return draw_shares(file, device, &figure_conv, false, out);
}

static bool draw_expr(const struct result_file *file, const json_t *device,
                      struct xl__str *out)
{
    return draw_shares(file, device, &figure_expr, false, out);
}

const struct figure figure_softmax = {
    .name = "softmax",
    .title = "Softmax",
    .about =
        "The rate of each shape over that of a plain copy of memory, which is "
        "the most a softmax can reach that reads and writes its matrix once. "
        "Beyond 100% the data stays in a cache. Outlined bars are suspicious.",
    .draw = draw_softmax,
};
const struct figure figure_conv = {
    .name = "conv",
    .title = "Convolution",
    .about =
        "How much of its roof each shape reaches: of what measured memory and "
        "arithmetic allow for its bytes and its operations. Outlined bars are "
        "suspicious.",
    .draw = draw_conv,
};
const struct figure figure_expr = {
    .name = "expr",
    .title = "Fused expressions",
    .about =
        "How much of its roof each expression reaches: of what measured "
        "memory "
        "and arithmetic allow for its bytes and its operations. Beyond 100% "
        "the data stays in a cache. Outlined bars are suspicious.",
    .draw = draw_expr,
};
