/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a device: a table of lines, and a table of the cells that are
 * in them, each with the rows that it is the best of. */
#include "report/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/result.h"
#include "results/warnings.h"

/* -- what is shown -------------------------------------------------------- */

/* What follows the value of a cell. */
enum extra { NOTHING, RATIO /* to f32 */, SHARE /* of the roof */, SIZE };

enum { ACROSS = 3 }; /* cells of a printed line */

/* An op, or what several probes are named together. `most`: cells that are
 * shown; is_fixed: one that was not measured is shown as "-". */
static const struct line {
    const char *name;
    unsigned most;
    bool is_fixed;
} lines[] = {
    {"rates", ACROSS, true},       {"integers", 2 * ACROSS, true},
    {"engine", ACROSS, true},      {"memory", ACROSS, false},
    {"caches", 2 * ACROSS, false}, {"launch", ACROSS, false},
    {"transfer", ACROSS, false},   {"gemm", ACROSS, false},
    {"conv", ACROSS, false},       {"attention", ACROSS, false},
    {"softmax", ACROSS, false},    {"expr", ACROSS, false},
};
enum { N_LINES = sizeof lines / sizeof *lines };

/* A cell: the best of the rows of `op` with this variant (NULL: any), type
 * (XL_N_DTYPES: any) and unit (NULL: any). The first one is what ratios are
 * to. */
/* clang-format off */
static const struct kind {
    const char *line, *label, *op, *variant;
    xl_dtype dtype;
    const char *unit;
    enum extra extra;
} kinds[] = {
    {"rates", "f32", "probe_flops", "f32", XL_F32, NULL, NOTHING},
    {"rates", "f64", "probe_flops", "f64", XL_F64, NULL, RATIO},
    {"rates", "f16", "probe_flops", "f16", XL_F16, NULL, RATIO},
    {"integers", "i8", "probe_ints", "i8", XL_N_DTYPES, NULL, RATIO},
    {"integers", "i16", "probe_ints", "i16", XL_N_DTYPES, NULL, RATIO},
    {"integers", "i32", "probe_ints", "i32", XL_N_DTYPES, NULL, RATIO},
    {"integers", "i64", "probe_ints", "i64", XL_N_DTYPES, NULL, RATIO},
    {"engine", "f16", "probe_matrix", NULL, XL_F16, NULL, RATIO},
    {"engine", "bf16", "probe_matrix", NULL, XL_BF16, NULL, RATIO},
    {"engine", "i8", "probe_matrix", NULL, XL_I8, NULL, RATIO},
    {"memory", "read", "probe_bandwidth", "read", XL_N_DTYPES, NULL, NOTHING},
    {"memory", "write", "probe_bandwidth", "write", XL_N_DTYPES, NULL, NOTHING},
    {"memory", "copy", "probe_bandwidth", "copy", XL_N_DTYPES, NULL, NOTHING},
    {"caches", "l1", "probe_cache", "l1_read", XL_N_DTYPES, NULL, SIZE},
    {"caches", "l2", "probe_cache", "l2_read", XL_N_DTYPES, NULL, SIZE},
    {"caches", "l3", "probe_cache", "l3_read", XL_N_DTYPES, NULL, SIZE},
    {"caches", "llc copy", "probe_bandwidth", "copy_llc", XL_N_DTYPES, NULL, NOTHING},
    {"caches", "local", "probe_local", "read", XL_N_DTYPES, "B/s", NOTHING},
    {"launch", "queued", "probe_launch", "back_to_back", XL_N_DTYPES, NULL, NOTHING},
    {"launch", "waited", "probe_launch", "round_trip", XL_N_DTYPES, NULL, NOTHING},
    {"launch", "host", "probe_launch", "enqueue", XL_N_DTYPES, NULL, NOTHING},
    {"transfer", "up", "probe_transfer", "pinned_up", XL_N_DTYPES, "B/s", NOTHING},
    {"transfer", "down", "probe_transfer", "pinned_down", XL_N_DTYPES, "B/s", NOTHING},
    {"transfer", "word", "probe_transfer", "latency_up", XL_N_DTYPES, NULL, NOTHING},
    {"transfer", "map", "probe_transfer", "map_alloc_up", XL_N_DTYPES, "s", NOTHING},
    {"gemm", "f32", "gemm", NULL, XL_F32, NULL, SHARE},
    {"gemm", "f16", "gemm", NULL, XL_F16, NULL, SHARE},
    {"gemm", "bf16", "gemm", NULL, XL_BF16, NULL, SHARE},
    {"gemm", "i8", "gemm", NULL, XL_I8, NULL, SHARE},
    {"gemm", "f64", "gemm", NULL, XL_F64, NULL, SHARE},
    {"conv", "f32", "conv", NULL, XL_F32, NULL, SHARE},
    {"conv", "f16", "conv", NULL, XL_F16, NULL, SHARE},
    {"conv", "bf16", "conv", NULL, XL_BF16, NULL, SHARE},
    {"attention", "f32", "attention", NULL, XL_F32, NULL, SHARE},
    {"attention", "f16", "attention", NULL, XL_F16, NULL, SHARE},
    {"attention", "bf16", "attention", NULL, XL_BF16, NULL, SHARE},
    {"softmax", "f32", "softmax", NULL, XL_F32, NULL, SHARE},
    {"softmax", "f16", "softmax", NULL, XL_F16, NULL, SHARE},
    {"softmax", "bf16", "softmax", NULL, XL_BF16, NULL, SHARE},
    {"expr", "f32", "expr", "expr_fused", XL_F32, NULL, SHARE},
    {"expr", "f16", "expr", "expr_fused", XL_F16, NULL, SHARE},
    {"expr", "bf16", "expr", "expr_fused", XL_BF16, NULL, SHARE},
};
/* clang-format on */
enum { N_KINDS = sizeof kinds / sizeof *kinds, F32 = 0 };

/* -- rows ----------------------------------------------------------------- */

struct best {
    bool is_seen;
    xl_verdict verdict;
    double value, frac, size;
    char unit[8];
};

struct summary_device {
    const void *key;
    struct best best[N_KINDS];
    size_t n_rows, n_of[XL_ROW_ERROR + 1];
    size_t n_warned[XL_N_WARN];
    /* The first row of each verdict: its op, variant and reason. */
    char first[XL_ROW_ERROR + 1][256];
};

static struct summary_device *find_device(const struct summary *s,
                                          const void *dev)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].key == dev)
            return &s->list[i];
    return NULL;
}

static bool belongs(const struct kind *k, const xl_row *row)
{
    return strcmp(k->op, row->op) == 0 &&
           (!k->variant || strcmp(k->variant, row->variant) == 0) &&
           (k->dtype == XL_N_DTYPES || k->dtype == row->dtype) &&
           (!k->unit || xl__streq(k->unit, row->unit));
}

/* A row that is less in doubt, then a higher rate or a shorter time. */
static bool is_better(const xl_row *row, const struct best *than)
{
    if (!than->is_seen || isnan(than->value))
        return true;
    if (isnan(row->value) || row->verdict != than->verdict)
        return !isnan(row->value) && row->verdict < than->verdict;
    return xl__streq(row->unit, "s") ? row->value < than->value
                                     : row->value > than->value;
}

static void keep_best(struct best *b, const xl_row *row)
{
    if (!is_better(row, b))
        return;
    *b =
        (struct best){true,
                      row->verdict,
                      row->value,
                      row->roof.value > 0 ? row->value / row->roof.value : NAN,
                      result_finding(row, "size_bytes"),
                      ""};
    xl__strcpy(b->unit, sizeof b->unit, row->unit ? row->unit : "");
}

void summary_add(struct summary *s, const void *dev, const xl_row *row)
{
    struct summary_device *d = find_device(s, dev);
    if (!d && xl__grow(&s->list, &s->cap, s->n + 1, sizeof *s->list)) {
        d = &s->list[s->n++];
        *d = (struct summary_device){.key = dev};
    }
    if (!d)
        return;
    if (d->n_of[row->verdict]++ == 0)
        xl__strfmt(d->first[row->verdict], sizeof *d->first, "%s %s: %s",
                   row->op, row->variant, row->reason);
    d->n_rows++;
    for (unsigned bit = 0; bit < XL_N_WARN; bit++)
        d->n_warned[bit] += row->warnings >> bit & 1;
    for (unsigned i = 0; i < N_KINDS; i++)
        if (belongs(&kinds[i], row))
            keep_best(&d->best[i], row);
}

void summary_clear(struct summary *s)
{
    free(s->list);
    *s = (struct summary){NULL, 0, 0};
}

bool summary_cell(const struct summary *s, const void *dev, unsigned i,
                  struct summary_cell *out)
{
    const struct summary_device *d = find_device(s, dev);
    if (i >= N_KINDS)
        return false;
    const bool is_seen = d && d->best[i].is_seen;
    *out = (struct summary_cell){
        kinds[i].line,
        kinds[i].label,
        kinds[i].op,
        is_seen ? d->best[i].unit : "",
        is_seen ? d->best[i].verdict : XL_ROW_UNSUPPORTED,
        is_seen ? d->best[i].value : NAN,
    };
    return true;
}

/* -- lines ---------------------------------------------------------------- */

static void add_extra(const struct summary_device *d, unsigned i,
                      struct xl__str *out)
{
    char text[UNITS_CAP];
    const struct best *b = &d->best[i];
    const double f32 = d->best[F32].value;
    if (kinds[i].extra == RATIO && d->best[F32].is_seen && f32 > 0)
        xl__str_printf(out, " %.*fx", b->value < 9.5 * f32 ? 1 : 0,
                       b->value / f32);
    if (kinds[i].extra == SHARE && !isnan(b->frac)) {
        units_percent(text, sizeof text, b->frac);
        xl__str_printf(out, " %s", text);
    }
    if (kinds[i].extra == SIZE && !isnan(b->size)) {
        units_format(text, sizeof text, b->size, "B");
        xl__str_printf(out, " %s", text);
    }
}

/* "f64 107 GFLOP/s 0.5x", and a mark where the row is in doubt. */
static void add_cell(const struct summary_device *d, unsigned i,
                     struct table *t)
{
    struct xl__str text = {0};
    char value[UNITS_CAP];
    const struct best *b = &d->best[i];
    enum table_colour colour = TABLE_PLAIN;
    xl__str_printf(&text, "%s ", kinds[i].label);
    if (b->is_seen && !isnan(b->value)) {
        units_format(value, sizeof value, b->value, b->unit);
        xl__str_add(&text, value);
        add_extra(d, i, &text);
    } else {
        xl__str_add(&text, "-");
    }
    if (b->is_seen && b->verdict == XL_ROW_SUSPICIOUS) {
        xl__str_add(&text, "?");
        colour = TABLE_YELLOW;
    }
    if (b->is_seen &&
        (b->verdict == XL_ROW_REJECTED || b->verdict == XL_ROW_ERROR)) {
        xl__str_add(&text, "!");
        colour = TABLE_RED;
    }
    table_cell_coloured(t, colour, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The cells of a line that are shown; none if none was measured. */
static unsigned find_cells(const struct summary_device *d,
                           const struct line *line, unsigned *list)
{
    unsigned n = 0, n_seen = 0;
    for (unsigned i = 0; i < N_KINDS && n < line->most; i++) {
        if (strcmp(kinds[i].line, line->name) != 0 ||
            !(d->best[i].is_seen || line->is_fixed))
            continue;
        n_seen += d->best[i].is_seen;
        list[n++] = i;
    }
    return n_seen > 0 ? n : 0;
}

static void add_line(const struct summary_device *d, const struct line *line,
                     struct table *t)
{
    unsigned list[2 * ACROSS];
    const unsigned n = find_cells(d, line, list);
    for (unsigned at = 0; at < n; at += ACROSS) {
        table_cell(t, "%s", at == 0 ? line->name : "");
        for (unsigned i = at; i < at + ACROSS; i++) {
            if (i < n)
                add_cell(d, list[i], t);
            else
                table_cell(t, "%s", "");
        }
    }
}

static void show_rates(const struct summary_device *d,
                       const struct display *to)
{
    static const struct table_column columns[1 + ACROSS] = {
        {"", false, 0}, {"", false, 8}, {"", false, 8}, {"", false, 8}};
    struct table *t = table_create(columns, 1 + ACROSS);
    for (unsigned i = 0; i < N_LINES; i++)
        add_line(d, &lines[i], t);
    if (table_lines(t) > 0)
        to->table(to->arg, t);
    table_destroy(t);
}

/* -- doubts --------------------------------------------------------------- */

/* A text of one line: cut where a display has a width. */
static void show_text(const struct display *to, const char *text)
{
    enum { INDENTS = 4 };
    struct xl__str cut = {0};
    if (to->width > INDENTS)
        text_cut(&cut, text, to->width - INDENTS);
    else
        xl__str_add(&cut, text);
    if (cut.len > 0)
        to->text(to->arg, xl__str_text(&cut));
    xl__str_clear(&cut);
}

static void show_doubt(const struct summary_device *d,
                       const struct display *to)
{
    static const struct {
        xl_verdict verdict;
        const char *mark;
    } gravest[] = {
        {XL_ROW_ERROR, "!"}, {XL_ROW_REJECTED, "!"}, {XL_ROW_SUSPICIOUS, "?"}};
    struct xl__str text = {0};
    unsigned most = 0;
    for (size_t i = 0; i < sizeof gravest / sizeof *gravest && !text.len;
         i++) {
        const size_t n = d->n_of[gravest[i].verdict];
        if (n > 0)
            xl__str_printf(&text, "%s %zu %s, first %s", gravest[i].mark, n,
                           xl_verdict_name(gravest[i].verdict),
                           d->first[gravest[i].verdict]);
    }
    for (unsigned bit = 1; bit < XL_N_WARN; bit++)
        if (d->n_warned[bit] > d->n_warned[most])
            most = bit;
    if (text.len == 0 && d->n_warned[most] > 0)
        xl__str_printf(&text, "warning %s in %zu rows: %s", warn_code(most),
                       d->n_warned[most], warn_text(most));
    show_text(to, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The cell with the least share of its roof; N_KINDS: none is below half. */
static unsigned find_lowest(const struct summary_device *d)
{
    static const double low = 0.5;
    unsigned lowest = N_KINDS;
    for (unsigned i = 0; i < N_KINDS; i++)
        if (kinds[i].extra == SHARE && d->best[i].is_seen &&
            d->best[i].frac < (lowest < N_KINDS ? d->best[lowest].frac : low))
            lowest = i;
    return lowest;
}

/* Appends the lines that no row belongs to. */
static void add_missing(const struct summary_device *d, struct xl__str *out)
{
    unsigned list[2 * ACROSS];
    for (unsigned i = 0; i < N_LINES; i++)
        if (find_cells(d, &lines[i], list) == 0 &&
            strcmp(lines[i].name, "engine") != 0)
            xl__str_printf(out, "%s%s", out->len ? ", " : "", lines[i].name);
}

static void show_next(const struct summary_device *d,
                      const struct summary_head *head,
                      const struct display *to)
{
    struct xl__str text = {0}, missing = {0};
    const unsigned lowest = find_lowest(d);
    char share[UNITS_CAP];
    add_missing(d, &missing);
    if (d->n_of[XL_ROW_ERROR] > 0)
        xl__str_add(&text, "next: clbench doctor");
    else if (d->n_of[XL_ROW_REJECTED] > 0)
        xl__str_add(&text, "next: clbench verify");
    else if (head->is_busy)
        xl__str_add(&text, "next: close other programs, and run again");
    else if (missing.len > 0)
        xl__str_printf(&text, "next: run again, kernels are built now: %s",
                       xl__str_text(&missing));
    else if (lowest < N_KINDS) {
        units_percent(share, sizeof share, d->best[lowest].frac);
        xl__str_printf(&text,
                       "next: clbench roofline: what limits %s %s at %s",
                       kinds[lowest].line, kinds[lowest].label, share);
    } else
        xl__str_add(&text, "next: clbench --full --html run.html");
    show_text(to, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&missing);
}

void summary_show(const struct summary *s, const void *dev,
                  const struct summary_head *head, const struct display *to)
{
    const struct summary_device *d = find_device(s, dev);
    struct xl__str text = {0};
    if (!d)
        return;
    to->title(to->arg, head->name);
    show_text(to, head->detail);
    xl__str_printf(&text, "%s%s%zu of %zu rows ok", head->state,
                   *head->state ? "; " : "", d->n_of[XL_ROW_OK], d->n_rows);
    show_text(to, xl__str_text(&text));
    show_rates(d, to);
    show_doubt(d, to);
    if (!head->is_growing)
        show_next(d, head, to);
    to->gap(to->arg);
    xl__str_clear(&text);
}
