/* SPDX-License-Identifier: Apache-2.0 */
/* Writes comparisons to files: CSV (every row of every comparison, then one
 * line for each op), Markdown, and one HTML page with a forest plot of the
 * ops, a forest plot of the rows and a table of all rows.
 *
 * A forest plot draws each ratio as a mark with its interval as a line over
 * one logarithmic axis:
 *
 *     gemm      |        --o--
 *     softmax   |   -o-
 *               +----+----+----+
 *              0.9   1   1.1  1.2    time, b/a
 *
 * Intervals beyond the axis end in an arrow. */
#include "compare/output_files.h"

#include <math.h>
#include <stdio.h>

#include "charts/svg.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "cli/units.h"
#include "compare/differences.h"
#include "compare/tables.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/markdown.h"
#include "results/json.h"

/* -- CSV ------------------------------------------------------------------ */

static const char *const columns[] = {"side_a",
                                      "side_b",
                                      "row",
                                      "id",
                                      "op",
                                      "variant_a",
                                      "variant_b",
                                      "unit",
                                      "a",
                                      "b",
                                      "time_b_over_a",
                                      "low",
                                      "high",
                                      "call",
                                      "verdict_a",
                                      "verdict_b",
                                      "fails_gate",
                                      "would_be_decided_by"};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void add_field(struct xl__str *out, const char *text)
{
    xl__str_add(out, ",");
    csv_text(out, text ? text : "");
}

static void add_number(struct xl__str *out, double value)
{
    xl__str_add(out, ",");
    csv_number(out, value);
}

static void begin_csv_row(const struct comparison *c, struct xl__str *out)
{
    csv_text(out, c->a.files[0].path);
    add_field(out, c->b.files[0].path);
}

static void add_csv_ratio(const struct ratio *r, struct xl__str *out)
{
    add_number(out, r->ratio);
    add_number(out, r->lo);
    add_number(out, r->hi);
    add_field(out, call_name(r->call));
}

static void add_csv_pair(const struct comparison *c, const struct pair *p,
                         struct xl__str *out)
{
    const struct result_row *row = p->a ? p->a : p->b;
    begin_csv_row(c, out);
    add_field(out, p->label);
    add_field(out, row->id);
    add_field(out, json_text_at(row->json, "op"));
    add_field(out, p->a ? p->a->variant : "");
    add_field(out, p->b ? p->b->variant : "");
    add_field(out, p->unit);
    add_number(out, p->a_value);
    add_number(out, p->b_value);
    add_csv_ratio(&p->ratio, out);
    add_field(out, p->a ? p->a->verdict : "");
    add_field(out, p->b ? p->b->verdict : "");
    xl__str_printf(out, ",%d", p->is_gated);
    struct xl__str missing = {0};
    compare_describe_missing(c, p, &missing);
    add_field(out, xl__str_text(&missing));
    out->broken = out->broken || missing.broken;
    xl__str_clear(&missing);
    xl__str_add(out, csv_end);
}

static void add_csv_op(const struct comparison *c, const struct op_mean *op,
                       struct xl__str *out)
{
    begin_csv_row(c, out);
    add_field(out, "geometric mean");
    add_field(out, "");
    add_field(out, op->op ? op->op : "all");
    xl__str_add(out, ",,,,,");
    add_csv_ratio(&op->mean, out);
    xl__str_printf(out, ",,,%d,%s", op->is_gated, csv_end);
}

void compare_csv(const struct comparisons *s, const struct gate *gate,
                 struct xl__str *out)
{
    (void)gate;
    for (int i = 0; i < N_COLUMNS; i++)
        xl__str_printf(out, "%s%s", i > 0 ? "," : "", columns[i]);
    xl__str_add(out, csv_end);
    for (size_t e = 0; e < s->n; e++) {
        const struct comparison *c = &s->list[e];
        for (size_t i = 0; i < c->n; i++)
            add_csv_pair(c, &c->pairs[i], out);
        for (size_t i = 0; i < c->n_ops; i++)
            if (c->ops[i].mean.lo > 0)
                add_csv_op(c, &c->ops[i], out);
        if (c->n_compared > 0)
            add_csv_op(c, &c->all, out);
    }
}

/* -- forest plot ---------------------------------------------------------- */

struct forest_line {
    const char *label;
    const struct ratio *ratio;
    bool is_mean;
};

static const double widest = 4, narrowest = 1.05; /* limits of the axis */
enum {
    LABEL_WIDTH = 270, RIGHT = 116, LINE = 20, TOP = 12, BOTTOM = 56,
    SERIES_SLOWER = 1, SERIES_FASTER = 2, SERIES_OTHER = 0
};

struct forest {
    struct xl__str *out;
    double reach; /* of the axis: 1 / reach to reach */
    size_t n;
};

/* Horizontal position of a ratio on the logarithmic axis, limited to its
 * ends. */
static double x_of(const struct forest *f, double ratio)
{
    static const double width = SVG_WIDTH - LABEL_WIDTH - RIGHT;
    const double at = log(ratio) / log(f->reach);
    return LABEL_WIDTH + width * (fmin(fmax(at, -1), 1) + 1) / 2;
}

static double y_of(size_t i)
{
    return TOP + LINE * ((double)i + 0.5);
}

/* The end of the axis: the widest interval, within limits. */
static double axis_limit(const struct forest_line *lines, size_t n)
{
    static const double air = 1.1;
    double far = log(narrowest);
    for (size_t i = 0; i < n; i++)
        if (lines[i].ratio->lo > 0)
            far = fmax(far, fmax(fabs(log(lines[i].ratio->lo)),
                                 fabs(log(lines[i].ratio->hi))));
    return exp(fmin(far * air, log(widest)));
}

/* Draws axis, ticks and the band of the margin. A tick label is omitted if it
 * would overlap the previous one or that of 1. */
static void draw_axis(const struct forest *f, double margin)
{
    static const double ticks[] = {0.25, 0.5,  0.7, 0.8, 0.9, 0.95, 0.98, 1,
                                   1.02, 1.05, 1.1, 1.2, 1.4, 2,    4};
    static const double spacing = 34, below = 16, caption = 38;
    const double top = TOP, bottom = TOP + LINE * (double)f->n;
    double free_from = 0;
    char text[32];
    svg_grid(f->out);
    svg_rect(f->out, x_of(f, 1 / (1 + margin)), top,
             x_of(f, 1 + margin) - x_of(f, 1 / (1 + margin)), bottom - top,
             svg_ink, "within the margin");
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        if (fabs(log(ticks[i])) <= log(f->reach))
            svg_line(f->out, x_of(f, ticks[i]), top, x_of(f, ticks[i]),
                     bottom, 0);
    svg_group_end(f->out);
    svg_line(f->out, x_of(f, 1), top, x_of(f, 1), bottom, 0);
    svg_aside(f->out);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        const double x = x_of(f, ticks[i]);
        const bool is_one = fabs(ticks[i] - 1) < 1e-9;
        if (fabs(log(ticks[i])) > log(f->reach) ||
            (!is_one && (x < free_from || fabs(x - x_of(f, 1)) < spacing)))
            continue;
        snprintf(text, sizeof text, "%g", ticks[i]);
        svg_text(f->out, x, bottom + below, svg_small, "middle", svg_ink,
                 text);
        free_from = x + spacing;
    }
    svg_text(f->out, x_of(f, 1 / f->reach), bottom + caption, svg_small,
             "start", svg_ink, "b faster");
    svg_text(f->out, x_of(f, f->reach), bottom + caption, svg_small, "end",
             svg_ink, "b slower");
    svg_text(f->out, x_of(f, 1), bottom + caption, svg_small, "middle",
             svg_ink, "time, b/a");
    svg_group_end(f->out);
}

/* Draws the end of an interval: a bar, or an arrow if it exceeds the axis. */
static void draw_end(const struct forest *f, double at, double y)
{
    static const double tall = 4;
    const double x = x_of(f, at);
    const double inward = at > 1 ? -1 : 1;
    if (fabs(log(at)) <= log(f->reach)) {
        svg_line(f->out, x, y - tall, x, y + tall, 0);
        return;
    }
    svg_line(f->out, x, y, x + inward * tall, y - tall, 0);
    svg_line(f->out, x, y, x + inward * tall, y + tall, 0);
}

/* Draws one line: label (shortened at a UTF-8 character), interval, mark of
 * the ratio, numbers. */
static void draw_interval(const struct forest *f,
                          const struct forest_line *line, size_t i)
{
    enum { LETTERS = 40, ROUND = 0, SQUARE = 1 };
    const struct ratio *r = line->ratio;
    const double y = y_of(i), base = y + 4;
    struct xl__str label = {0}, tip = {0};
    char ratio[RATIO_CAP], interval[RATIO_CAP], text[2 * RATIO_CAP + 2];
    compare_format_ratio(r, ratio, sizeof ratio);
    compare_format_interval(r, interval, sizeof interval);
    snprintf(text, sizeof text, "%s  %s", ratio, interval);
    xl__str_printf(&tip, "%s: %s, %s", line->label, text, call_name(r->call));
    size_t n = 0;
    while (line->label[n] && n < LETTERS)
        n++;
    while (n == LETTERS && n > 0 && ((unsigned char)line->label[n] & 0xc0) ==
                                        0x80)
        n--;
    xl__str_add_n(&label, line->label, n);
    svg_text(f->out, LABEL_WIDTH - 12, base, svg_small, "end", svg_ink,
             xl__str_text(&label));
    svg_text(f->out, SVG_WIDTH - 4, base, svg_small, "end", svg_ink, text);
    svg_series(f->out, r->call == CALL_SLOWER   ? SERIES_SLOWER
                       : r->call == CALL_FASTER ? SERIES_FASTER
                                                : SERIES_OTHER);
    svg_line(f->out, x_of(f, r->lo), y, x_of(f, r->hi), y, 0);
    draw_end(f, r->lo, y);
    draw_end(f, r->hi, y);
    if (fabs(log(r->ratio)) <= log(f->reach))
        svg_mark(f->out, line->is_mean ? SQUARE : ROUND, x_of(f, r->ratio), y,
                 r->call == CALL_AMBIGUOUS, xl__str_text(&tip));
    svg_group_end(f->out);
    f->out->broken = f->out->broken || label.broken || tip.broken;
    xl__str_clear(&label);
    xl__str_clear(&tip);
}

static void draw_forest(const struct forest_line *lines, size_t n,
                        double margin, const char *title, struct xl__str *out)
{
    const struct forest f = {out, axis_limit(lines, n), n};
    svg_begin(out, SVG_WIDTH, TOP + LINE * (double)n + BOTTOM, title,
              "Each line is the interval of a ratio of times, b over a; the "
              "band is the margin. Right of it b is slower, left of it "
              "faster. A hollow mark is ambiguous, an arrow marks an interval "
              "that exceeds the axis.");
    draw_axis(&f, margin / 100);
    for (size_t i = 0; i < n; i++)
        draw_interval(&f, &lines[i], i);
    svg_end(out);
}

static void draw_rows_forest(const struct comparison *c, double margin,
                             struct xl__str *out)
{
    struct forest_line lines[FOREST_MOST_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < c->n_compared && n < FOREST_MOST_ROWS; i++)
        lines[n++] =
            (struct forest_line){c->pairs[i].label, &c->pairs[i].ratio, false};
    draw_forest(lines, n, margin, "Rows", out);
}

static void draw_ops_forest(const struct comparison *c, double margin,
                            struct xl__str *out)
{
    struct forest_line lines[NOISE_MOST_OPS + 1];
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops; i++)
        if (c->ops[i].mean.lo > 0)
            lines[n++] =
                (struct forest_line){c->ops[i].op, &c->ops[i].mean, true};
    if (c->n_compared > 0)
        lines[n++] = (struct forest_line){"all", &c->all.mean, true};
    draw_forest(lines, n, margin, "Ops", out);
}

/* -- HTML ----------------------------------------------------------------- */

static void add_paragraph(struct xl__str *out, const struct xl__str *text)
{
    if (text->len > 0)
        html_add(out, "<p>%s</p>\n", text->text);
    out->broken = out->broken || text->broken;
}

/* Adds a list with one item for each line of `text`. */
static void add_list(struct xl__str *out, const struct xl__str *text)
{
    struct xl__str line = {0};
    if (text->len == 0)
        return;
    xl__str_add(out, "<ul>\n");
    for (const char *at = text->text; *at; at++) {
        xl__str_reset(&line);
        for (; *at && *at != '\n'; at++)
            xl__str_add_n(&line, at, 1);
        html_add(out, "<li>%s</li>\n", xl__str_text(&line));
        if (!*at)
            break;
    }
    xl__str_add(out, "</ul>\n");
    out->broken = out->broken || text->broken || line.broken;
    xl__str_clear(&line);
}

static void add_set_item(struct xl__str *out, char letter,
                         const struct result_set *s)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%c = ", letter);
    compare_describe_set(s, &text);
    html_add(out, "<li>%s</li>\n", xl__str_text(&text));
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

static void add_header(struct xl__str *out, const struct comparisons *s)
{
    xl__str_add(out, "<header>\n<p class=\"name\">clbench compare</p>\n"
                     "<h1>Comparison</h1>\n<ul class=\"runs\">\n");
    if (s->n > 0)
        add_set_item(out, 'a', &s->list[0].a);
    for (size_t e = 0; e < s->n; e++)
        add_set_item(out, (char)('b' + (int)e), &s->list[e].b);
    xl__str_add(out, "</ul>\n</header>\n");
}

/* Adds a cell; `sorted` is the value by which the page sorts the column. */
static void add_number_cell(struct xl__str *out, double sorted,
                            const char *text)
{
    if (isfinite(sorted))
        xl__str_printf(out, "<td class=\"n\" data-v=\"%.9g\">", sorted);
    else
        xl__str_add(out, "<td class=\"n\">");
    html_add(out, "%s</td>", text);
}

static void add_value_cell(struct xl__str *out, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    add_number_cell(out, value, text);
}

/* Adds the cells of ratio, interval and call. */
static void add_ratio_cells(struct xl__str *out, const struct ratio *r,
                            bool is_gated)
{
    char text[RATIO_CAP], call[64];
    compare_format_ratio(r, text, sizeof text);
    add_number_cell(out, r->ratio, text);
    compare_format_interval(r, text, sizeof text);
    add_number_cell(out, r->lo, text);
    compare_format_call(r->call, is_gated, call, sizeof call);
    html_add(out, "<td><span class=\"verdict %m\">%s</span></td>",
             is_gated || r->call == CALL_SLOWER ? "rejected"
             : r->call == CALL_FASTER           ? "ok"
                                                : "unsupported",
             call);
}

static void add_rows_table(struct xl__str *out, const struct comparison *c)
{
    html_table_begin(out, "rows", "Every row, largest differences first");
    html_column(out, "row", false);
    html_column(out, "a", true);
    html_column(out, "b", true);
    html_column(out, "time b/a", true);
    html_column(out, "interval", true);
    html_column(out, "call", false);
    html_column(out, "would be decided by", false);
    html_table_body(out);
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        struct xl__str missing = {0};
        html_add(out, "<tr><th scope=\"row\">%s</th>", p->label);
        add_value_cell(out, p->a_value, p->unit);
        add_value_cell(out, p->b_value, p->unit);
        add_ratio_cells(out, &p->ratio, p->is_gated);
        compare_describe_missing(c, p, &missing);
        html_add(out, "<td>%s</td></tr>\n", xl__str_text(&missing));
        out->broken = out->broken || missing.broken;
        xl__str_clear(&missing);
    }
    html_table_end(out);
}

static void add_ops_table(struct xl__str *out, const struct comparison *c)
{
    html_table_begin(out, "beside", "Geometric means by op");
    html_column(out, "op", false);
    for (enum call k = 0; call_has_interval(k); k++)
        html_column(out, call_name(k), true);
    html_column(out, "time b/a", true);
    html_column(out, "interval", true);
    html_column(out, "call", false);
    html_table_body(out);
    for (size_t i = 0; i <= c->n_ops; i++) {
        const struct op_mean *op = i < c->n_ops ? &c->ops[i] : &c->all;
        if (isnan(op->mean.ratio))
            continue;
        html_add(out, "<tr><th scope=\"row\">%s</th>",
                 op->op ? op->op : "all");
        for (enum call k = 0; call_has_interval(k); k++) {
            char text[UNITS_CAP];
            snprintf(text, sizeof text, "%zu", op->n_call[k]);
            add_number_cell(out, (double)op->n_call[k], text);
        }
        add_ratio_cells(out, &op->mean, op->is_gated);
        xl__str_add(out, "</tr>\n");
    }
    html_table_end(out);
}

/* Adds a figure that `draw` produces. */
static void add_picture(struct xl__str *out, const struct comparison *c,
                        double margin, const char *label,
                        void (*draw)(const struct comparison *, double,
                                     struct xl__str *))
{
    struct xl__str svg = {0};
    draw(c, margin, &svg);
    html_add(out,
             "<figure><div class=\"scroll picture\" tabindex=\"0\" "
             "role=\"region\" aria-label=\"%s\">\n%m</div></figure>\n",
             label, xl__str_text(&svg));
    out->broken = out->broken || svg.broken;
    xl__str_clear(&svg);
}

/* Adds the section of comparison e: summary, changes, plots and tables. */
static void add_section(struct xl__str *out, const struct comparisons *s,
                        size_t e)
{
    const struct comparison *c = &s->list[e];
    struct xl__str text = {0};
    const char name[] = {(char)('b' + (int)e), '\0'};
    html_add(out, "<section aria-labelledby=\"h-%m\">\n<h2 id=\"h-%m\">"
                  "%m over a</h2>\n<p class=\"lead\">", name, name, name);
    compare_describe_common(c, &text);
    compare_describe_calls(c, &text);
    html_add(out, "%s</p>\n", xl__str_text(&text));
    xl__str_reset(&text);
    compare_describe_findings(c, &text);
    add_list(out, &text);
    xl__str_reset(&text);
    compare_describe_relation(c, &text);
    xl__str_add(&text, " ");
    compare_describe_noise(c, &text);
    xl__str_add(&text, " ");
    compare_describe_conditions(c, &text);
    add_paragraph(out, &text);
    xl__str_reset(&text);
    compare_describe_changes(c, &text);
    add_list(out, &text);
    if (c->n_compared > 0) {
        html_add(out, "<h3>By op</h3>\n");
        add_picture(out, c, s->margin, "Ratios by op", draw_ops_forest);
        add_ops_table(out, c);
        html_add(out, "<h3>By row</h3>\n");
        add_picture(out, c, s->margin, "Ratios by row", draw_rows_forest);
    }
    if (c->n_compared > FOREST_MOST_ROWS)
        html_add(out, "<p>The plot shows the first %z of %z rows.</p>\n",
                 (size_t)FOREST_MOST_ROWS, c->n_compared);
    add_rows_table(out, c);
    xl__str_add(out, "</section>\n");
    xl__str_clear(&text);
}

void compare_html(const struct comparisons *s, const struct gate *gate,
                  struct xl__str *out)
{
    struct xl__str text = {0};
    html_begin(out, "Comparison");
    add_header(out, s);
    html_add(
        out,
        "<main id=\"main\">\n<section>\n<p>Ratios are of times, b/a: "
        "above 1, b is slower. SLOWER, FASTER: the difference is real, but "
        "for 5 %% of such rows (a false-discovery rate), and beyond the "
        "margin; SAME: the 95 %% interval is within the margin; AMBIGUOUS: "
        "neither.</p>\n");
    gate_report(gate, &text);
    add_list(out, &text);
    xl__str_add(out, "</section>\n");
    for (size_t e = 0; e < s->n; e++)
        add_section(out, s, e);
    xl__str_add(out, "</main>\n");
    html_end(out);
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

/* -- all files ------------------------------------------------------------ */

static void write_markdown(const struct comparisons *s,
                            const struct gate *gate, struct xl__str *out)
{
    struct markdown page = {out, false};
    const struct display display = display_markdown(&page);
    xl__str_add(out, "# Comparison by clbench\n\n");
    compare_print(s, gate, &display);
}

int compare_write_files(struct session *session, const struct comparisons *s,
                        const struct gate *gate)
{
    const struct {
        const char *option, *path;
        void (*render)(const struct comparisons *, const struct gate *,
                       struct xl__str *);
    } files[] = {{"csv", session->set.csv, compare_csv},
                 {"markdown", session->set.markdown, write_markdown},
                 {"html", session->set.html, compare_html}};
    int code = EXIT_FINE;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct xl__str text = {0};
        if (!files[i].path)
            continue;
        files[i].render(s, gate, &text);
        if (text.broken)
            code = session_fail(session, "writing", XL_NO_MEMORY, "");
        else if (!out_file_write(session, files[i].option, files[i].path,
                                 text.text, text.len))
            code = EXIT_FILE;
        xl__str_clear(&text);
    }
    return code;
}
