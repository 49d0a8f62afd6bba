/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the memory probes: bandwidths from on the chip out to the
 * host, the steps of latency by the size of the set, access patterns by
 * stride, local memory by stride, and transfers to and from the device. Each
 * figure collects its rows, draws a headline, a legend and a plot, and writes
 * them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"
#include "results/json.h"

enum { BELOW = 12 }; /* left free below a figure */

/* -- bandwidth ------------------------------------------------------------ */

enum { MEMORY, CACHES, LINK, ON_CHIP }; /* series of bars */

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
    {MEMORY, "memory, random words", "probe_coalescing", "gather", NULL},
    {LINK, "from the host", "", "", "upload_bytes_per_s"},
    {LINK, "to the host", "", "", "download_bytes_per_s"},
};
/* clang-format on */

static const size_t least_rates = 2; /* fewer are no figure */

/* The row of a rate with the highest value; NULL: none. */
static const struct result_row *find_best_row(const struct result_file *file,
                                              const json_t *device,
                                              size_t i_rate)
{
    const struct result_row *row, *best = NULL;
    for (size_t i = 0; (row = figure_row(file, device, rates[i_rate].op, &i));)
        if (xl__streq(row->variant, rates[i_rate].variant) &&
            (!best || figure_value(row) > figure_value(best)))
            best = row;
    return best;
}

/* Adds the bar of a rate, out of a row with its interval or out of a measured
 * fact; nothing when neither exists. */
static void add_rate(struct plot_bars *bars, struct plot_axis *axis,
                     const struct result_file *file, const json_t *device,
                     size_t i)
{
    const struct result_row *row = find_best_row(file, device, i);
    struct plot_bar bar = {
        .low = (double)NAN, .high = (double)NAN, .series = rates[i].series};
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
    (void)plot_bars_add(bars, axis, &bar);
}

/* The highest and the lowest rate. */
static double draw_bandwidth_headline(struct xl__str *out,
                                      const json_t *device,
                                      const struct plot_bars *bars)
{
    const struct plot_bar *best = &bars->at[0], *worst = &bars->at[0];
    char most[UNITS_CAP], least[UNITS_CAP], text[256];
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

static bool draw_bandwidth(const struct result_file *file,
                           const json_t *device, struct xl__str *out)
{
    struct plot_axis axis = plot_axis(10, "B/s", "bytes per second");
    struct plot_bars bars = {.n = 0};
    struct xl__str body = {0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        add_rate(&bars, &axis, file, device, i);
    const bool is_drawn = bars.n >= least_rates;
    if (is_drawn) {
        const double y = draw_bandwidth_headline(&body, device, &bars) - 8;
        figure_write(out, &figure_bandwidth, &body,
                     plot_bars_draw(&body, &bars, axis, (double)NAN, y) +
                         BELOW);
    }
    plot_bars_clear(&bars);
    return is_drawn;
}

const struct figure figure_bandwidth = {
    .name = "bandwidth",
    .title = "Bandwidth",
    .about =
        "The bytes a second of each memory, from those on the chip out to "
        "the host. The axis is logarithmic: each line of the grid is several "
        "times the one before. A copy counts its reads and its writes.",
    .draw = draw_bandwidth,
};

/* -- latency by the size of the set --------------------------------------- */

enum { CACHE_LEFT = 76, CACHE_HEIGHT = 340, MOST_LEVELS = 8 };

static const char cache_op[] = "probe_cache";

struct level {
    const char *name;
    double bytes, s; /* bytes NaN: the last one has no end */
};

/* The levels of the memory hierarchy that were found, from the fastest on. */
static unsigned find_levels(const struct result_file *file,
                            const json_t *device,
                            struct level level[MOST_LEVELS])
{
    static const char *const names[] = {"l1", "l2", "l3", "l4", "llc", "dram"};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct result_row *row =
            figure_find(file, device, cache_op, names[i]);
        if (row && figure_value(row) > 0)
            level[n++] = (struct level){
                names[i], result_number(row, "params", "size_bytes"),
                figure_value(row)};
    }
    return n;
}

/* "L1 32 KiB in 1 ns". */
static void add_level_name(const struct level *v, const char *between,
                           struct xl__str *out)
{
    char bytes[UNITS_CAP], time[UNITS_CAP];
    for (const char *c = v->name; *c; c++)
        xl__str_printf(out, "%c", toupper((unsigned char)*c));
    units_format(bytes, sizeof bytes, v->bytes, "B");
    units_format(time, sizeof time, v->s, "s");
    if (v->bytes > 0)
        xl__str_printf(out, " %s", bytes);
    xl__str_printf(out, "%s%s", between, time);
}

/* All levels in one line. */
static double draw_cache_headline(struct xl__str *out, const json_t *device,
                                  const struct level *level, unsigned n)
{
    struct xl__str text = {0};
    for (unsigned i = 0; i < n; i++) {
        xl__str_add(&text, i > 0 ? ", " : "");
        add_level_name(&level[i], " in ", &text);
    }
    if (n == 0)
        xl__str_add(&text, "Latency by the size of the set");
    const double y = figure_headline(out, device, xl__str_text(&text));
    xl__str_clear(&text);
    return y;
}

/* A level in pixels: its latency y from the size of the level before, x1, to
 * its own, x2. */
struct step {
    double x1, x2, y;
};

/* A horizontal line for each level, and a vertical one where its size ends. */
static void draw_steps(struct xl__str *out, const struct plot *p,
                       struct plot_labels *taken, const struct step *step,
                       unsigned n)
{
    static const double thin = 3;
    const double bottom = p->top + p->height;
    for (unsigned i = 0; i < n; i++) {
        svg_line(out, step[i].x1, step[i].y, step[i].x2, step[i].y, 1);
        if (i + 1 == n)
            continue;
        svg_line(out, step[i].x2, p->top, step[i].x2, bottom, 2);
        plot_reserve_line(taken, step[i].x2, p->top, step[i].x2, bottom, thin);
    }
}

/* The levels found, as steps with names. */
static void draw_levels(struct xl__str *out, const struct plot *p,
                        struct plot_labels *taken, const struct level *level,
                        unsigned n)
{
    static const double above = 4;
    struct step step[MOST_LEVELS];
    double from = p->x.from;
    for (unsigned i = 0; i < n; i++) {
        const double end = level[i].bytes > from ? level[i].bytes : INFINITY;
        step[i] = (struct step){plot_x(p, from), plot_x(p, fmin(end, p->x.to)),
                                plot_y(p, level[i].s)};
        from = fmin(end, p->x.to);
    }
    svg_series(out, 1);
    draw_steps(out, p, taken, step, n);
    for (unsigned i = 0; i < n; i++) {
        struct xl__str name = {0};
        add_level_name(&level[i], ": ", &name);
        const double half = svg_text_width(xl__str_text(&name), svg_small) / 2;
        const double middle = (step[i].x1 + step[i].x2) / 2;
        (void)plot_label(
            out, p, taken,
            fmin(fmax(middle, p->left + half), p->left + p->width - half),
            step[i].y - above, xl__str_text(&name));
        xl__str_clear(&name);
    }
    svg_group_end(out);
}

enum { CACHE_DENSE, CACHE_SPREAD, N_CACHE_SERIES };

static void draw_cache_picture(struct xl__str *out,
                               const struct result_file *file,
                               const json_t *device, struct plot *p,
                               const struct plot_series *s)
{
    static const double room = 1.4; /* above the last level, for its name */
    struct level level[MOST_LEVELS];
    struct plot_labels taken = {.n = 0};
    struct xl__str body = {0};
    const unsigned n = find_levels(file, device, level);
    for (unsigned i = 0; i < n; i++)
        plot_axis_hold(&p->y, level[i].s);
    plot_axis_hold(&p->y, p->y.to * room);
    const double bottom =
        figure_plot(&body, p, draw_cache_headline(&body, device, level, n), s,
                    N_CACHE_SERIES);
    for (unsigned i = N_CACHE_SERIES; i-- > 0;)
        plot_reserve_marks(&taken, p, &s[i]);
    draw_levels(&body, p, &taken, level, n);
    figure_write(out, &figure_cache, &body, bottom + BELOW);
}

static bool draw_cache(const struct result_file *file, const json_t *device,
                       struct xl__str *out)
{
    static const struct figure_curve curves[] = {
        [CACHE_DENSE] = {cache_op, "chase", "shape", "bytes", 1, figure_value},
        [CACHE_SPREAD] = {"probe_tlb", "chase", "shape", "bytes", 1,
                          figure_value}};
    struct plot_series s[N_CACHE_SERIES] = {
        [CACHE_DENSE] = {.name = "every line of the set",
                         .has_line = true,
                         .has_marks = true},
        [CACHE_SPREAD] = {.name =
                              "a few lines, spread over the set: the TLB only",
                          .colour = 7,
                          .shape = 3,
                          .dash = 1,
                          .has_line = true,
                          .has_marks = true}};
    struct plot p = {.left = CACHE_LEFT,
                     .height = CACHE_HEIGHT,
                     .x = plot_axis(2, "B", "size of the set"),
                     .y = plot_axis(10, "s", "Time of a dependent load")};
    for (unsigned i = 0; i < N_CACHE_SERIES; i++)
        figure_collect(file, device, &curves[i], &p, &s[i]);
    const bool is_drawn = s[CACHE_DENSE].n + s[CACHE_SPREAD].n > 1;
    if (is_drawn)
        draw_cache_picture(out, file, device, &p, s);
    for (unsigned i = 0; i < N_CACHE_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_cache = {
    .name = "cache",
    .title = "Cache latency",
    .about =
        "The time of a load that depends on the one before, by the size of "
        "the set that the loads are spread over. The time steps up where the "
        "set no longer fits a cache; dashed lines are the levels found.",
    .draw = draw_cache,
};

/* -- access patterns ------------------------------------------------------ */

enum {
    WORD = 4, /* bytes that are read at a time */
    COALESCING_LEFT = 92,
    COALESCING_HEIGHT = 280,
    BETWEEN = 52,
    PANEL_LEFT = 350, /* of the right one */
    PANEL_HEIGHT = 130
};

static const char coalescing_op[] = "probe_coalescing";

/* The useful rate if granules were the only cost: rate(stride) =
 * rate(1 word) / min(stride, granule), both in words. */
static void add_ideal(struct plot *p, struct plot_series *ideal,
                      const struct plot_series *seen, double granule)
{
    if (seen->n == 0 || !(granule > 0))
        return;
    for (size_t i = 0; i < seen->n; i++) {
        struct plot_point point = {.low = (double)NAN, .high = (double)NAN};
        point.x = seen->at[i].x;
        point.y = seen->at[0].y / fmin(point.x / WORD, granule / WORD);
        (void)plot_add(p, ideal, &point);
    }
}

static double draw_coalescing_headline(struct xl__str *out,
                                       const json_t *device, double far,
                                       double near)
{
    char one[UNITS_CAP], other[UNITS_CAP], text[128];
    units_format(one, sizeof one, far, "B");
    units_format(other, sizeof other, near, "B");
    if (far > 0 && near > 0)
        snprintf(text, sizeof text,
                 "Memory moves granules of %s, the last-level cache of %s",
                 one, other);
    else if (far > 0 || near > 0)
        snprintf(text, sizeof text, "%s moves granules of %s",
                 far > 0 ? "Memory" : "The last-level cache",
                 far > 0 ? one : other);
    else
        snprintf(text, sizeof text, "Useful rate by access pattern");
    return figure_headline(out, device, text);
}

/* A vertical line at the size of a granule. */
static void draw_granule(struct xl__str *out, const struct plot *p,
                         struct plot_labels *taken, double bytes,
                         unsigned series)
{
    char text[UNITS_CAP];
    if (!(bytes >= p->x.from && bytes <= p->x.to))
        return;
    const double x = plot_x(p, bytes);
    units_format(text, sizeof text, bytes, "B");
    svg_series(out, series);
    svg_line(out, x, p->top, x, p->top + p->height, 2);
    (void)plot_label(out, p, taken, x, p->top + 12, text);
    svg_group_end(out);
}

/* A horizontal line at the rate of random words. */
static void draw_gather(struct xl__str *out, const struct plot *p,
                        struct plot_labels *taken,
                        const struct result_row *row)
{
    const double y = plot_y(p, figure_value(row));
    const double right = p->left + p->width;
    char rate[UNITS_CAP], text[64];
    units_format(rate, sizeof rate, figure_value(row), "B/s");
    snprintf(text, sizeof text, "random: %s", rate);
    svg_aside(out);
    svg_line(out, p->left, y, right, y, 3);
    svg_group_end(out);
    (void)plot_label(out, p, taken, right - svg_text_width(text, svg_small), y,
                     text);
}

enum { STRIDE_MEMORY, STRIDE_LLC, STRIDE_IDEAL, N_STRIDE_SERIES };

/* The plot of rates by stride; returns the y below it. */
static double draw_strides(struct xl__str *out, const struct result_file *file,
                           const json_t *device, struct plot *p,
                           struct plot_series *s)
{
    const double far = figure_found(file, device, coalescing_op, "granule");
    const double near =
        figure_found(file, device, coalescing_op, "granule_llc");
    const struct result_row *gather =
        figure_find(file, device, coalescing_op, "gather");
    struct plot_labels taken = {.n = 0};
    add_ideal(p, &s[STRIDE_IDEAL], &s[STRIDE_MEMORY], far);
    if (gather)
        plot_axis_hold(&p->y, figure_value(gather));
    const double bottom =
        figure_plot(out, p, draw_coalescing_headline(out, device, far, near),
                    s, N_STRIDE_SERIES);
    for (unsigned i = 0; i < N_STRIDE_SERIES; i++)
        plot_reserve_marks(&taken, p, &s[i]);
    draw_granule(out, p, &taken, far, s[STRIDE_MEMORY].colour);
    draw_granule(out, p, &taken, near, s[STRIDE_LLC].colour);
    if (gather && plot_can_show(&p->y, figure_value(gather)))
        draw_gather(out, p, &taken, gather);
    return bottom;
}

/* A small chart of one series, from 0. */
static double draw_panel(struct xl__str *out, const struct result_file *file,
                         const json_t *device, const char *variant,
                         struct plot p)
{
    const struct figure_curve curve = {coalescing_op, variant, "params",
                                       variant,       1,       figure_value};
    struct plot_series s = {.has_marks = true};
    double bottom = 0;
    snprintf(s.name, sizeof s.name, "%s", variant);
    figure_collect(file, device, &curve, &p, &s);
    if (s.n > 1) {
        plot_axis_hold(&p.y, 0);
        plot_axis_widen(&p.x);
        plot_axis_widen(&p.y);
        bottom = plot_frame(out, &p);
        plot_line(out, &p, &s);
        plot_marks(out, &p, &s);
    }
    plot_series_clear(&s);
    return bottom;
}

/* The plots by offset and by width, side by side; `top` when there are
 * none. */
static double draw_panels(struct xl__str *out, const struct result_file *file,
                          const json_t *device, double top)
{
    const double width = PANEL_LEFT - 2 * COALESCING_LEFT - PLOT_EDGE;
    struct plot p = {.left = COALESCING_LEFT,
                     .top = top + BETWEEN,
                     .width = width,
                     .height = PANEL_HEIGHT,
                     .x = plot_axis(0, "1", "misalignment in words"),
                     .y = plot_axis(0, "B/s", "Useful rate")};
    const double left = draw_panel(out, file, device, "offset", p);
    if (left > 0) {
        p.left = PANEL_LEFT;
        p.width = SVG_WIDTH - PANEL_LEFT - 2 * PLOT_EDGE;
    }
    p.x = plot_axis(2, "1", "words of a load");
    return fmax(fmax(left, draw_panel(out, file, device, "vector", p)), top);
}

static bool draw_coalescing(const struct result_file *file,
                            const json_t *device, struct xl__str *out)
{
    static const struct figure_curve curves[] = {
        [STRIDE_MEMORY] = {coalescing_op, "stride", "params", "stride", WORD,
                           figure_value},
        [STRIDE_LLC] = {coalescing_op, "stride_llc", "params", "stride", WORD,
                        figure_value}};
    struct plot_series s[N_STRIDE_SERIES] = {
        [STRIDE_MEMORY] = {.name = "from memory",
                           .colour = 0,
                           .shape = 0,
                           .has_line = true,
                           .has_marks = true},
        [STRIDE_LLC] = {.name = "last-level cache",
                        .colour = 1,
                        .shape = 1,
                        .dash = 1,
                        .has_line = true,
                        .has_marks = true},
        [STRIDE_IDEAL] = {.name = "memory, if granules were the only cost",
                          .colour = 7,
                          .dash = 2,
                          .has_line = true}};
    struct plot p = {.left = COALESCING_LEFT,
                     .height = COALESCING_HEIGHT,
                     .x = plot_axis(2, "B", "stride between neighbours"),
                     .y = plot_axis(10, "B/s", "Useful rate")};
    struct xl__str body = {0};
    for (unsigned i = 0; i < STRIDE_IDEAL; i++)
        figure_collect(file, device, &curves[i], &p, &s[i]);
    const bool is_drawn = s[STRIDE_MEMORY].n + s[STRIDE_LLC].n > 1;
    if (is_drawn) {
        const double bottom = draw_strides(&body, file, device, &p, s);
        figure_write(out, &figure_coalescing, &body,
                     draw_panels(&body, file, device, bottom) + BELOW);
    }
    for (unsigned i = 0; i < N_STRIDE_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_coalescing = {
    .name = "coalescing",
    .title = "Access patterns",
    .about =
        "Useful bytes a second when neighbouring work-items read words a "
        "stride apart. Where a curve stops falling, each access moves a "
        "granule of its own: that stride is the granule. Below: the cost of "
        "misaligned starts, and the gain of wider loads.",
    .draw = draw_coalescing,
};

/* -- banks of local memory ------------------------------------------------ */

enum { BANKS_LEFT = 64, BANKS_HEIGHT = 260, MOST_STRIDE = 1 << 20 };

static const char banks_op[] = "probe_local";

enum { BANKS_SEEN, BANKS_MODEL, N_BANKS_SERIES };

static double read_slowdown(const struct result_row *row)
{
    return result_number(row, "params", "slowdown");
}

/* The greatest common divisor. */
static unsigned find_divisor(unsigned a, unsigned b)
{
    while (b > 0) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The slowdown by bank conflicts: gcd(stride, banks) accesses wait for the
 * same bank. Drawn up to twice the number of banks. */
static void add_model(struct plot *p, struct plot_series *s, double banks)
{
    if (!(banks >= 1 && banks <= MOST_STRIDE))
        return;
    for (double x = ceil(p->x.from); x <= p->x.to && x <= banks * 2; x++) {
        const struct plot_point point = {
            .x = x,
            .y = find_divisor((unsigned)x, (unsigned)banks),
            .low = (double)NAN,
            .high = (double)NAN};
        (void)plot_add(p, s, &point);
    }
}

static double draw_banks_headline(struct xl__str *out, const json_t *device,
                                  double banks, const struct plot_series *seen)
{
    double worst = 0;
    char text[128];
    for (size_t i = 0; i < seen->n; i++)
        worst = fmax(worst, seen->at[i].y);
    if (banks > 0)
        snprintf(text, sizeof text,
                 "%.0f banks; the worst stride is %.3g "
                 "times as slow",
                 banks, worst);
    else
        snprintf(text, sizeof text, "The worst stride is %.3g times as slow",
                 worst);
    return figure_headline(out, device, text);
}

static bool draw_banks(const struct result_file *file, const json_t *device,
                       struct xl__str *out)
{
    static const struct figure_curve curve = {
        banks_op, "stride", "params", "stride", 1, read_slowdown};
    struct plot_series s[N_BANKS_SERIES] = {
        [BANKS_SEEN] = {.name = "measured",
                        .has_line = false,
                        .has_marks = true},
        [BANKS_MODEL] = {.name = "by the number of banks",
                         .colour = 7,
                         .dash = 1,
                         .has_line = true}};
    struct plot p = {.left = BANKS_LEFT,
                     .height = BANKS_HEIGHT,
                     .x =
                         plot_axis(2, "1", "stride between neighbours, words"),
                     .y = plot_axis(0, "x", "Times as slow as stride 1")};
    const double banks = figure_found(file, device, banks_op, "banks");
    struct xl__str body = {0};
    figure_collect(file, device, &curve, &p, &s[BANKS_SEEN]);
    const bool is_drawn = s[BANKS_SEEN].n > 1;
    if (is_drawn) {
        add_model(&p, &s[BANKS_MODEL], banks);
        plot_axis_hold(&p.y, 0);
        const double y =
            draw_banks_headline(&body, device, banks, &s[BANKS_SEEN]);
        figure_write(out, &figure_banks, &body,
                     figure_plot(&body, &p, y, s, N_BANKS_SERIES) + BELOW);
    }
    for (unsigned i = 0; i < N_BANKS_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_banks = {
    .name = "banks",
    .title = "Local memory",
    .about =
        "How much slower local memory is read when neighbouring work-items "
        "are a stride apart: accesses to one bank are serialized. A stride "
        "that has no factor in common with the number of banks is free.",
    .draw = draw_banks,
};

/* -- transfers ------------------------------------------------------------ */

enum { TRANSFER_LEFT = 92, TRANSFER_HEIGHT = 300 };

static const char transfer_op[] = "probe_transfer";

enum { PINNED_UP, PAGEABLE_UP, PINNED_DOWN, PAGEABLE_DOWN, N_TRANSFER_SERIES };

static double read_rate(const struct result_row *row)
{
    return result_number(row, "shape", "bytes") /
           result_number(row, NULL, "median_ns") * 1e9;
}

/* The highest rate of two curves. */
static double find_highest(const struct plot_series *a,
                           const struct plot_series *b)
{
    double most = 0;
    for (size_t i = 0; i < a->n; i++)
        most = fmax(most, a->at[i].y);
    for (size_t i = 0; i < b->n; i++)
        most = fmax(most, b->at[i].y);
    return most;
}

/* Copies within one memory have times, but no rates. */
static double draw_transfer_headline(struct xl__str *out,
                                     const struct result_file *file,
                                     const json_t *device,
                                     const struct plot_series *s)
{
    char up[UNITS_CAP], down[UNITS_CAP], text[160];
    const struct result_row *row =
        figure_find(file, device, transfer_op, "pageable_up");
    const bool is_copy =
        row && xl__streq(json_text_at(row->json, "unit"), "s");
    units_format(up, sizeof up, find_highest(&s[PINNED_UP], &s[PAGEABLE_UP]),
                 "B/s");
    units_format(down, sizeof down,
                 find_highest(&s[PINNED_DOWN], &s[PAGEABLE_DOWN]), "B/s");
    snprintf(text, sizeof text, "%s%s to the device, %s back",
             is_copy ? "Copies within one memory: " : "", up, down);
    return figure_headline(out, device, text);
}

static bool draw_transfer(const struct result_file *file, const json_t *device,
                          struct xl__str *out)
{
    static const struct figure_curve curves[N_TRANSFER_SERIES] = {
        [PINNED_UP] = {transfer_op, "pinned_up", "shape", "bytes", 1,
                       read_rate},
        [PAGEABLE_UP] = {transfer_op, "pageable_up", "shape", "bytes", 1,
                         read_rate},
        [PINNED_DOWN] = {transfer_op, "pinned_down", "shape", "bytes", 1,
                         read_rate},
        [PAGEABLE_DOWN] = {transfer_op, "pageable_down", "shape", "bytes", 1,
                           read_rate}};
    struct plot_series s[N_TRANSFER_SERIES] = {
        [PINNED_UP] = {.name = "up, pinned"},
        [PAGEABLE_UP] = {.name = "up, pageable", .dash = 1},
        [PINNED_DOWN] = {.name = "down, pinned", .colour = 1},
        [PAGEABLE_DOWN] = {.name = "down, pageable", .colour = 1, .dash = 1}};
    struct plot p = {.left = TRANSFER_LEFT,
                     .height = TRANSFER_HEIGHT,
                     .x = plot_axis(2, "B", "size of a copy"),
                     .y = plot_axis(10, "B/s", "Bytes per second")};
    struct xl__str body = {0};
    size_t n = 0;
    for (unsigned i = 0; i < N_TRANSFER_SERIES; i++) {
        s[i].shape = i;
        s[i].has_line = s[i].has_marks = true;
        figure_collect(file, device, &curves[i], &p, &s[i]);
        n += s[i].n > 1;
    }
    if (n > 0) {
        const double y = draw_transfer_headline(&body, file, device, s);
        figure_write(out, &figure_transfer, &body,
                     figure_plot(&body, &p, y, s, N_TRANSFER_SERIES) + BELOW);
    }
    for (unsigned i = 0; i < N_TRANSFER_SERIES; i++)
        plot_series_clear(&s[i]);
    return n > 0;
}

const struct figure figure_transfer = {
    .name = "transfer",
    .title = "Transfers",
    .about =
        "The rate of copies between host and device, by their size. The fixed "
        "cost of a copy limits small ones, so the curve rises until the link "
        "is the limit; with pinned memory the driver makes no extra copy.",
    .draw = draw_transfer,
};
