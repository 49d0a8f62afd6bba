/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a section. Of one device: the columns of its kind of rows, each
 * with the function that fills a cell, for the terminal, Markdown and the
 * page.
 */
#include "report/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "charts/plot.h"
#include "cli/options.h"
#include "cli/console.h"
#include "cli/units.h"
#include "report/section.h"

/* -- one device ----------------------------------------------------------- */

bool report_has_default(const struct result_table *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (result_finding(&rows->list[i].row, "is_default") > 0)
            return true;
    return false;
}

/* The row that a line of the table is filled from. */
struct table_line {
    const struct result_table *rows;
    struct notes *notes;
    const struct settings *set;
    size_t i;
    const xl_row *row;
    struct table *t;
};

static double row_frac(const xl_row *row)
{
    return row->roof.value > 0 ? row->value / row->roof.value : NAN;
}

enum table_colour report_colour(xl_verdict verdict_column)
{
    static const enum table_colour colours[] = {
        [XL_ROW_OK] = TABLE_GREEN,     [XL_ROW_SUSPICIOUS] = TABLE_YELLOW,
        [XL_ROW_REJECTED] = TABLE_RED, [XL_ROW_UNSUPPORTED] = TABLE_PLAIN,
        [XL_ROW_ERROR] = TABLE_RED,
    };
    return colours[verdict_column];
}

static void add_case(struct table *t, const struct result_table *rows,
                     size_t i)
{
    struct xl__str text = {0};
    result_table_label(rows, i, &text);
    table_cell(t, "%s", xl__str_text(&text));
    xl__str_clear(&text);
}

void report_cell_percent(struct table *t, double frac)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, frac);
    table_cell(t, "%s", text);
}

/* -- cells ---------------------------------------------------------------- */

static void cell_case(const struct table_line *l)
{
    add_case(l->t, l->rows, l->i);
}

/* Is it the fastest of its case that can be quoted? */
static bool is_fastest(const struct table_line *l)
{
    const struct measured_row *own = &l->rows->list[l->i];
    for (size_t i = 0; i < l->rows->n; i++) {
        const struct measured_row *other = &l->rows->list[i];
        if (other->row.verdict <= XL_ROW_SUSPICIOUS &&
            other->row.samples.median_ns < own->row.samples.median_ns &&
            strcmp(other->case_key.id, own->case_key.id) == 0)
            return false;
    }
    return own->row.verdict <= XL_ROW_SUSPICIOUS;
}

/* With "*" behind the library's choice and "+" behind the fastest, where it is
 * known which one the library chooses: all variants were run. */
static void cell_variant(const struct table_line *l)
{
    const bool is_default = result_finding(l->row, "is_default") > 0;
    const bool is_marked = report_has_default(l->rows);
    const char *mark = is_default ? "*" : "";
    const char *fastest = is_marked && is_fastest(l) ? "+" : "";
    table_cell(l->t, "%s%s%s%s", *l->row->variant ? l->row->variant : "-",
               *mark || *fastest ? " " : "", mark, fastest);
}

/* The variant without its op, "fused" of "expr_fused", since the op is the
 * same in all rows. */
static void cell_method(const struct table_line *l)
{
    const size_t len = strlen(l->row->op);
    const char *variant = l->row->variant;
    bool has_op =
        strncmp(variant, l->row->op, len) == 0 && variant[len] == '_';
    table_cell(l->t, "%s", has_op ? variant + len + 1 : variant);
}

static void cell_median(const struct table_line *l)
{
    char text[UNITS_CAP];
    const xl_samples *s = &l->row->samples;
    units_time(text, sizeof text, s->runs > 0 ? s->median_ns : NAN);
    table_cell(l->t, "%s", text);
}

/* The median absolute deviation as a share of the median. */
static void cell_spread(const struct table_line *l)
{
    const xl_samples *s = &l->row->samples;
    report_cell_percent(l->t, s->runs > 1 && s->median_ns > 0
                                  ? s->mad_ns / s->median_ns
                                  : NAN);
}

static void cell_value(const struct table_line *l)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, l->row->value, l->row->unit);
    table_cell(l->t, "%s", text);
}

static void cell_roof(const struct table_line *l)
{
    report_cell_percent(l->t, row_frac(l->row));
}

/* A number that the run found; nothing for an unknown factor. */
static void cell_finding(const struct table_line *l,
                         const struct report_column *c)
{
    char text[UNITS_CAP] = "";
    const double value = result_finding(l->row, c->finding);
    if (!xl__streq(c->unit, "x"))
        plot_format(text, sizeof text, value, c->unit);
    else if (!isnan(value))
        snprintf(text, sizeof text, "%.2fx", value);
    table_cell(l->t, "%s", text);
}

static void cell_verdict(const struct table_line *l)
{
    struct xl__str verdict_column = {0}, marks = {0};
    notes_add_row(l->notes, l->row, l->set, &marks);
    xl__str_add(&verdict_column, xl_verdict_name(l->row->verdict));
    if (marks.len > 0)
        xl__str_printf(&verdict_column, " [%s]", xl__str_text(&marks));
    table_cell_coloured(l->t, report_colour(l->row->verdict),
                        xl__str_text(&verdict_column));
    xl__str_clear(&verdict_column);
    xl__str_clear(&marks);
}

/* Bytes that the row moves, by its count. */
static void cell_moved(const struct table_line *l)
{
    char text[UNITS_CAP];
    units_bytes(text, sizeof text, l->row->bytes > 0 ? l->row->bytes : NAN);
    table_cell(l->t, "%s", text);
}

/* The rate in GB/s as a bare number, since the title has the unit. */
static void cell_gigabytes(const struct table_line *l)
{
    static const double giga = 1e9;
    char text[UNITS_CAP];
    units_number(text, sizeof text, l->row->value / giga);
    table_cell(l->t, "%s", text);
}

/* -- cells of kernels ----------------------------------------------------- */

/* What is not the same in all rows, without names where these take too much
 * room: the section's note has them. */
static void cell_axes(const struct table_line *l)
{
    enum { ROOM = 26 };
    struct xl__str text = {0};
    bool is_named = true;
    for (size_t i = 0; i < l->rows->n; i++) {
        xl__str_reset(&text);
        result_table_axes(l->rows, i, true, &text);
        is_named = is_named && text.len <= ROOM;
    }
    xl__str_reset(&text);
    result_table_axes(l->rows, l->i, is_named, &text);
    if (text.len > 0)
        table_cell(l->t, "%s", xl__str_text(&text));
    else
        cell_case(l);
    xl__str_clear(&text);
}

/* -- cells of a sweep ----------------------------------------------------- */

/* The largest of the table: bars and shares are relative to it. */
static double find_largest(const struct table_line *l,
                           double (*of)(const xl_row *row))
{
    double most = 0;
    for (size_t i = 0; i < l->rows->n; i++)
        most = fmax(most, of(&l->rows->list[i].row));
    return most;
}

static double row_value(const xl_row *row)
{
    return row->value;
}

/* The rate without the loss by partial tiles and partial waves: what the rest
 * of the variation is due to. */
static double unexplained_rate(const xl_row *row)
{
    const double area = result_finding(row, "area");
    return row->value /
           (result_finding(row, "fill") * (isnan(area) ? 1 : area));
}

/* A bar of half columns: '#' is two halves, ':' one. */
static void cell_bar(const struct table_line *l)
{
    enum { BAR = 12 };
    char bar[BAR + 2] = "";
    const double share = row_value(l->row) / find_largest(l, row_value);
    const int steps =
        share >= 0 && share <= 1 ? (int)(share * 2 * BAR + 0.5) : 0;
    for (int i = 0; i < (steps + 1) / 2; i++)
        bar[i] = 2 * i + 1 < steps ? '#' : ':';
    table_cell(l->t, "%s", bar);
}

static void cell_rest(const struct table_line *l)
{
    report_cell_percent(l->t, unexplained_rate(l->row) /
                                  find_largest(l, unexplained_rate));
}

static void cell_limit(const struct table_line *l)
{
    table_cell(l->t, "%s", l->row->roof.name ? l->row->roof.name : "-");
}

/* -- cells of memory levels ----------------------------------------------- */

/* The size of a level, or the bytes that a point of the curve covers. */
static void cell_size(const struct table_line *l)
{
    char text[UNITS_CAP];
    double bytes = result_finding(l->row, "size_bytes");
    if (isnan(bytes) && l->row->n_shape > 0)
        bytes = l->row->shape[0].value;
    units_format(text, sizeof text, bytes, "B");
    table_cell(l->t, "%s", text);
}

static bool is_time(const xl_row *row)
{
    return strcmp(row->unit, "s") == 0 && row->value > 0;
}

/* A logarithmic bar, of times only, since the latency of the last level is a
 * hundred times that of the first. */
static void cell_latency_bar(const struct table_line *l)
{
    enum { BAR = 16 };
    char bar[BAR + 2] = "";
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < l->rows->n; i++) {
        const xl_row *row = &l->rows->list[i].row;
        least = is_time(row) ? fmin(least, row->value) : least;
        most = is_time(row) ? fmax(most, row->value) : most;
    }
    const double share = log(l->row->value / least) / log(most / least);
    if (is_time(l->row) && share >= 0 && share <= 1)
        memset(bar, '#', 1 + (size_t)(share * BAR));
    table_cell(l->t, "%s", bar);
}

/* -- cells of a diagnosis ------------------------------------------------- */

static void cell_limiter(const struct table_line *l)
{
    char text[UNITS_CAP];
    report_limiter(l->row, text, sizeof text);
    table_cell(l->t, "%s", text);
}

/* The limiter with the share of the time that its counts explain. */
static void cell_explained(const struct table_line *l)
{
    char text[UNITS_CAP], share[UNITS_CAP];
    report_limiter(l->row, text, sizeof text);
    units_percent(share, sizeof share, l->row->diagnosis.share);
    table_cell(l->t, "%s%s%s", text, l->row->diagnosis.share >= 0 ? " " : "",
               l->row->diagnosis.share >= 0 ? share : "");
}

/* -- tables --------------------------------------------------------------- */

static bool has_limiter(const struct result_table *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (*rows->list[i].row.diagnosis.evidence)
            return true;
    return false;
}

static bool has_variants(const struct result_table *rows)
{
    for (size_t i = 1; i < rows->n; i++)
        if (strcmp(rows->list[i].row.variant, rows->list[0].row.variant) != 0)
            return true;
    return false;
}

static bool has_finding(const struct result_table *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++)
        if (!isnan(result_finding(&rows->list[i].row, name)))
            return true;
    return false;
}

/* Columns that several tables have; `least` is the width to which a text may
 * be cut, 0: it is not cut. */
/* clang-format off */
#define CASE(title, least) {{title, false, least}, "Case", .cell = cell_case}
#define VARIANT(title, least) {{title, false, least}, "Variant", .cell = cell_variant}
#define METHOD(least) {{"variant", false, least}, "Variant", .cell = cell_method}
#define MEDIAN {{"median", true, 0}, "Median", .cell = cell_median}
#define SPREAD {{"+-", true, 0}, "Spread", .cell = cell_spread}
#define VALUE {{"value", true, 0}, "Figure", .cell = cell_value}
#define ROOF                                                                   \
    {{"roof", true, 0}, "Of its roof", .cell = cell_roof, .look = LOOK_SHARE}
#define VERDICT                                                                \
    {{"verdict", false, 0}, "Verdict", .cell = cell_verdict, .look = LOOK_VERDICT}
#define BAR(bar, least) {{"", false, least}, "", .cell = bar}

static const struct report_column usual_columns[] = {
    CASE("case", 12),
    VARIANT("variant", 8),
    MEDIAN,
    SPREAD,
    VALUE,
    {{"ulps", true, 0}, "ULPs", .finding = "ulps", .unit = "1", .is_optional = true},
    {{"gain", true, 0}, "Gain", .finding = "gain", .unit = "x", .is_optional = true},
    {{"overlap", true, 0}, "Overlap", .finding = "overlap", .unit = "%", .is_optional = true},
    ROOF,
    {{"limit", false, 6}, "Limited by", .cell = cell_explained,
     .is_shown = has_limiter},
    VERDICT,
    {.name = NULL},
};

/* Kernels, bytes moved, and the gain over separate kernels. */
static const struct report_column expression_columns[] = {
    CASE("case", 8),
    METHOD(0),
    {{"n", true, 0}, "Kernels", .finding = "kernels", .unit = "1"},
    {{"moved", true, 0}, "Moved", .cell = cell_moved},
    MEDIAN,
    {{"GB/s", true, 0}, "GB/s", .cell = cell_gigabytes},
    ROOF,
    {{"gain", true, 0}, "Gain", .finding = "gain", .unit = "x"},
    {{"limit", false, 4}, "Limited by", .cell = cell_explained},
    VERDICT,
    {.name = NULL},
};

/* The limiter that each kernel was made for, and the one that was found. */
static const struct report_column limiter_columns[] = {
    VARIANT("kernel", 8),
    CASE("expected", 8),
    {{"found", false, 8}, "Limited by", .cell = cell_limiter},
    {{"share", true, 0}, "Share", .finding = "share", .unit = "%"},
    MEDIAN,
    VERDICT,
    {.name = NULL},
};

/* How much of the tiles (area) and of the last wave (fill) is used, the
 * alignment of rows, and the rate that remains to be explained. */
static const struct report_column sweep_columns[] = {
    CASE("size", 0),
    METHOD(4),
    MEDIAN,
    VALUE,
    BAR(cell_bar, 6),
    {{"area", true, 0}, "Area", .finding = "area", .unit = "%"},
    {{"waves", true, 0}, "Waves", .finding = "waves", .unit = "1"},
    {{"fill", true, 0}, "Fill", .finding = "fill", .unit = "%"},
    {{"rows", true, 0}, "Alignment of rows", .finding = "align_bytes", .unit = "B"},
    {{"rest", true, 0}, "Rest", .cell = cell_rest},
    {{"verdict", false, 0}, "Verdict", .cell = cell_verdict, .look = LOOK_VERDICT,
     .is_wide = true},
    {.name = NULL},
};

/* Times beside the bound that is allowed for them. */
static const struct report_column bound_columns[] = {
    CASE("case", 12),
    VARIANT("variant", 8),
    MEDIAN,
    {{"allowed", true, 0}, "Allowed", .finding = "bound_ns", .unit = "ns"},
    {{"times", true, 0}, "Times", .finding = "times", .unit = "x"},
    {{"limit", false, 0}, "Limited by", .cell = cell_limit},
    VERDICT,
    {.name = NULL},
};

static const struct report_column level_columns[] = {
    VARIANT("level", 0),
    {{"size", true, 0}, "Size", .cell = cell_size},
    VALUE,
    BAR(cell_latency_bar, 4),
    SPREAD,
    MEDIAN,
    VERDICT,
    {.name = NULL},
};

static const struct report_column kernel_columns[] = {
    {{"case", false, 12}, "Case", .cell = cell_axes},
    {{"kernel", false, 8}, "Kernel", .cell = cell_variant, .is_shown = has_variants},
    MEDIAN,
    {{"+-", true, 0}, "Spread", .cell = cell_spread, .is_wide = true},
    VALUE,
    ROOF,
    {{"best", true, 0}, "Of the best", .finding = "of_best", .unit = "x", .is_optional = true},
    {{"limit", false, 6}, "Limited by", .cell = cell_explained,
     .is_shown = has_limiter},
    VERDICT,
    {.name = NULL},
};

/* Operations of a pass, and their share of its time. */
static const struct report_column model_columns[] = {
    VARIANT("operation", 8),
    CASE("sizes", 4),
    {{"n", true, 0}, "Calls", .finding = "calls", .unit = "1"},
    {{"moved", true, 0}, "Moved", .cell = cell_moved},
    MEDIAN,
    {{"+-", true, 0}, "Spread", .cell = cell_spread, .is_wide = true},
    {{"share", true, 0}, "Of the pass", .finding = "of_pass", .unit = "%"},
    VALUE,
    ROOF,
    VERDICT,
    {.name = NULL},
};
/* clang-format on */

static const struct report_column *const columns_of[N_ROWS_KINDS] = {
    [ROWS_USUAL] = usual_columns,
    [ROWS_OF_EXPRESSIONS] = expression_columns,
    [ROWS_OF_A_SWEEP] = sweep_columns,
    [ROWS_WITH_BOUNDS] = bound_columns,
    [ROWS_OF_LIMITERS] = limiter_columns,
    [ROWS_OF_LEVELS] = level_columns,
    [ROWS_OF_KERNELS] = kernel_columns,
    [ROWS_OF_MODELS] = model_columns,
};

unsigned report_columns(const struct result_table *rows, bool is_wide,
                        const struct report_column **out)
{
    unsigned n = 0;
    for (const struct report_column *c = columns_of[rows->kind]; c->name; c++)
        if ((is_wide || !c->is_wide) && (!c->is_shown || c->is_shown(rows)) &&
            (!c->is_optional || has_finding(rows, c->finding)))
            out[n++] = c;
    return n;
}

struct table *report_device_table(const struct result_table *rows,
                                  struct notes *notes,
                                  const struct settings *set, bool is_wide)
{
    const struct report_column *columns[REPORT_MOST_COLUMNS];
    struct table_column heads[REPORT_MOST_COLUMNS];
    struct table_line l = {.rows = rows, .notes = notes, .set = set};
    const unsigned n = report_columns(rows, is_wide, columns);
    for (unsigned c = 0; c < n; c++)
        heads[c] = columns[c]->head;
    l.t = table_create(heads, n);
    for (l.i = 0; l.i < rows->n; l.i++) {
        l.row = &rows->list[l.i].row;
        for (unsigned c = 0; c < n; c++)
            if (columns[c]->finding)
                cell_finding(&l, columns[c]);
            else
                columns[c]->cell(&l);
    }
    return l.t;
}
