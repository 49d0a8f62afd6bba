/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench roofline`: measure the ceilings of a device, and place the
 * library's operations among them: the fraction of its roof that each reaches,
 * and what limits it.
 *
 *     flop/s = min(compute ceiling, intensity x bandwidth ceiling)
 *
 * Source: Williams, Waterman, Patterson, "Roofline: an insightful visual
 * performance model", CACM 52(4), 2009. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/alloc.h"
#include "timing/roofs/peaks.h"
#include "results/json.h"
#include "timing/run_cases.h"
#include "cli/progress.h"
#include "report/report.h"
#include "report/section.h"
#include "charts/text_charts.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { INDENT = 2, MOST_LINES = 16, MOST_MARKS = 26, NAME_CAP = 40 };

/* The cases, besides the fused expressions. `is_big`: only on a GPU, where
 * they take little time. */
static const struct roofline_case {
    const struct bench_op *op;
    const char *shape;
    xl_dtype dtype;
    bool is_big;
} roofline_cases[] = {
    {&bench_gemm, "256", XL_F32, false},
    {&bench_gemm, "1024", XL_F32, false},
    {&bench_gemm, "1024", XL_F16, false},
    {&bench_gemm, "8x4096x4096", XL_F16, false},
    {&bench_gemm, "4096", XL_F32, true},
    {&bench_gemm, "4096", XL_F16, true},
    {&bench_gemm, "8192", XL_F16, true},
    {&bench_conv, "8x28x28x64:64x3x3", XL_F32, false},
    {&bench_conv, "32x56x56x64:64x3x3", XL_F16, true},
    {&bench_softmax, "1024x1024", XL_F32, false},
    {&bench_softmax, "4096x4096", XL_F32, false},
    {&bench_softmax, "16384x4096", XL_F16, true},
};
enum { N_CASES = sizeof roofline_cases / sizeof roofline_cases[0] };

/* -- result_table ----------------------------------------------------------------- */

/* The result_table of one device, in order, with the label of each. */
struct roofline_rows {
    struct result_table result_table;
    char name[MOST_MARKS][NAME_CAP];
    const struct roofline_case *rc; /* that runs; NULL: an expression */
};

static void keep_row(void *arg, xl_device *dev, const xl_row *row)
{
    struct roofline_rows *found = arg;
    struct xl__str name = {0};
    const size_t i = found->result_table.n;
    if (i == MOST_MARKS || !result_table_add(&found->result_table, dev, row))
        return;
    if (found->rc)
        xl__str_printf(&name, "%s %s", found->rc->shape,
                       xl_dtype_name(found->rc->dtype));
    else
        result_table_label(&found->result_table, i, &name);
    xl__strcpy(found->name[i], NAME_CAP, xl__str_text(&name));
    xl__str_clear(&name);
}

static bool is_gpu(const xl_device *dev)
{
    xl_fact f;
    return xl_device_fact(dev, "is_gpu", XL_UNKNOWN, &f) == XL_OK &&
           f.value > 0;
}

static int run_case(struct session *s, const struct roofline_case *rc)
{
    void *c = xl__calloc(1, rc->op->case_bytes);
    const void *list[1] = {c};
    struct settings set = s->set;
    char why[160] = "";
    int code = EXIT_FINE;
    set.dtype = rc->dtype;
    set.layout = -1;
    set.pad = 1;
    if (!c)
        return session_fail(s, "starting", XL_NO_MEMORY, "");
    if (rc->op->parse(&set, rc->shape, c, why, sizeof why))
        code = bench_run(s, rc->op, list, 1, CASES_OF_TABLE);
    else
        code = session_fail(s, "reading a shape", XL_BAD_ARGUMENT, why);
    free(c);
    return code;
}

/* Run all cases. */
static int run_cases(struct session *s, const xl_device *dev,
                     struct roofline_rows *found)
{
    struct bench_op fused = bench_expr;
    int code = EXIT_FINE;
    fused.runs_all = false;
    for (unsigned i = 0; i < N_CASES && !session_stopped(s); i++) {
        if (roofline_cases[i].is_big && !is_gpu(dev))
            continue;
        found->rc = &roofline_cases[i];
        const int failed = run_case(s, &roofline_cases[i]);
        code = failed ? failed : code;
    }
    found->rc = NULL;
    if (!session_stopped(s)) {
        const int failed = bench_table(s, &fused);
        code = failed ? failed : code;
    }
    return code;
}

/* -- the output ------------------------------------------------------------
 */

static double rate_of(const xl_row *row)
{
    return row->diagnosis.flop_per_s;
}

/* The bound by the roofline in flop/s, whatever the row's unit. */
static double bound_of(const xl_row *row)
{
    return row->roof.value / row->value * rate_of(row);
}

static bool has_position(const xl_row *row)
{
    return row->diagnosis.intensity > 0 && rate_of(row) > 0;
}

static char letter_of(size_t i)
{
    return (char)('a' + i);
}

static void draw_roofline(const xl_device *dev, const struct result_table *result_table)
{
    struct roof_line lines[MOST_LINES];
    struct roof_mark marks[MOST_MARKS];
    struct roof_picture p = {lines, 0, marks, 0};
    struct xl__str text = {0};
    for (const struct ceiling *c = ceilings; c->fact; c++)
        if (ceiling_rate(dev, c) > 0)
            lines[p.n_lines++] = (struct roof_line){
                c->name, ceiling_rate(dev, c), c->is_memory};
    for (size_t i = 0; i < result_table->n; i++) {
        const xl_row *row = &result_table->list[i].row;
        if (has_position(row))
            marks[p.n_marks++] = (struct roof_mark){
                row->diagnosis.intensity, rate_of(row), letter_of(i)};
    }
    roof_draw(&text, &p, text_terminal_columns());
    printf("\n%s\n", xl__str_text(&text));
    xl__str_clear(&text);
}

static void cell_number(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

/* A rate that is not to be quoted is marked as in tables side by side. */
static void cell_rate(struct table *t, const xl_row *row)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, rate_of(row), "flop/s");
    table_cell(t, "%s%s", text,
               row->verdict == XL_ROW_REJECTED     ? "!"
               : row->verdict == XL_ROW_SUSPICIOUS ? "?"
                                                   : "");
}

static void cell_percent(struct table *t, double frac)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, frac);
    table_cell(t, "%s", text);
}

static void cell_gap(struct table *t, struct notes *notes,
                     const struct session *s, const xl_row *row)
{
    char limiter[UNITS_CAP];
    struct xl__str marks = {0};
    report_limiter(row, limiter, sizeof limiter);
    notes_add_row(notes, row, &s->set, &marks);
    table_cell(t, "%s%s%s%s", limiter, marks.len ? " [" : "",
               xl__str_text(&marks), marks.len ? "]" : "");
    xl__str_clear(&marks);
}

static void print_cases(const struct session *s,
                        const struct roofline_rows *found, struct notes *notes)
{
    static const struct table_column columns[] = {
        {"", false, 0},      {"op", false, 0},    {"case", false, 10},
        {"flop/B", true, 0}, {"rate", true, 0},   {"of roof", true, 0},
        {"model", true, 0},  {"limit", false, 12}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < found->result_table.n; i++) {
        const xl_row *row = &found->result_table.list[i].row;
        const double model = result_finding(row, "model_ns");
        table_cell(t, "%c", has_position(row) ? letter_of(i) : ' ');
        table_cell(t, "%s", row->op);
        table_cell(t, "%s", found->name[i]);
        cell_number(t, row->diagnosis.intensity, "1");
        cell_rate(t, row);
        cell_percent(t, rate_of(row) / bound_of(row));
        cell_percent(t, model / row->samples.median_ns);
        cell_gap(t, notes, s, row);
    }
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
}

static void print_roofline(const struct session *s, const xl_device *dev,
                           const struct roofline_rows *found)
{
    const struct result_table *result_table = &found->result_table;
    struct notes notes = {0};
    struct xl__str name = {0};
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    text_escape(&name, device_fact_text(dev, "name", "?"));
    printf("Roofline of %u: %s\n", xl_device_index(dev),
           xl__str_text(&name));
    xl__str_clear(&name);
    ceilings_print(dev);
    draw_roofline(dev, result_table);
    print_cases(s, found, &notes);
    if (!s->set.quiet) {
        terminal.text(
            terminal.arg,
            "of roof: fraction of the bound by these ceilings; model: the "
            "library's estimate over the measured time; limit: what limits "
            "it; a rate with ? is suspicious, with ! rejected");
        report_limits(result_table, &terminal);
    }
    for (size_t i = 0; i < notes.n; i++)
        terminal.note(terminal.arg, i + 1, notes.text[i]);
    printf("\n");
    fflush(stdout);
    notes_clear(&notes);
}

/* -- the result file -------------------------------------------------------
 */

static json_t *case_json(const struct roofline_rows *found, size_t i)
{
    const xl_row *row = &found->result_table.list[i].row;
    struct xl__str id = {0};
    json_t *out = json_object();
    char letter[] = {letter_of(i), '\0'};
    result_row_id(&id, row);
    json_put(out, "letter", json_text(letter));
    json_put(out, "row", json_text(xl__str_text(&id)));
    json_put(out, "case", json_text(found->name[i]));
    json_put(out, "intensity", json_number(row->diagnosis.intensity));
    json_put(out, "flop_per_s", json_number(rate_of(row)));
    json_put(out, "bound_flop_per_s", json_number(bound_of(row)));
    json_put(out, "bound_name", json_text(row->roof.name));
    json_put(out, "model_ns", json_number(result_finding(row, "model_ns")));
    json_put(out, "median_ns", json_number(row->samples.median_ns));
    json_put(out, "limiter",
             json_text(xl_limiter_name(row->diagnosis.limiter)));
    xl__str_clear(&id);
    return out;
}

static void add_json(struct session *s, const xl_device *dev,
                     const struct roofline_rows *found)
{
    json_t *all, *out = json_object(), *list = json_array();
    if (!s->extra)
        s->extra = json_object();
    all = json_object_get(s->extra, "roofline");
    if (!all) {
        json_put(s->extra, "roofline", json_array());
        all = json_object_get(s->extra, "roofline");
    }
    for (size_t i = 0; i < found->result_table.n; i++)
        json_add(list, case_json(found, i));
    json_put(out, "device", json_integer(xl_device_index(dev)));
    json_put(out, "ceilings", ceilings_json(dev));
    json_put(out, "places", list);
    json_add(all, out);
}

/* -- the command ---------------------------------------------------------- */

/* Devices run one after another, since a picture is of one device. */
static int run_on_device(struct session *s, xl_device *dev)
{
    struct roofline_rows found = {0};
    struct session one = *s;
    int code = ceilings_measure(s, dev);
    if (code != EXIT_FINE)
        return code;
    one.devices = &dev;
    one.n_devices = 1;
    one.watch = keep_row;
    one.watch_arg = &found;
    report_mute(s->report, true);
    code = run_cases(&one, dev, &found);
    report_mute(s->report, false);
    s->progress = one.progress;
    s->n_rows = one.n_rows;
    s->n_wrong = one.n_wrong;
    s->n_rejected = one.n_rejected;
    s->n_errors = one.n_errors;
    progress_hide(s);
    if (session_tables(s))
        print_roofline(s, dev, &found);
    add_json(s, dev, &found);
    result_table_clear(&found.result_table);
    return code;
}

static int run_roofline(struct session *s)
{
    int code = session_open_devices(s);
    s->set.quick = !s->set.full;
    for (unsigned i = 0;
         code == EXIT_FINE && i < s->n_devices && !session_stopped(s); i++)
        code = run_on_device(s, s->devices[i]);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device",         "all-devices", "json",   REPORT_OPTIONS,
    "seed",           "quick",       "full",   "max-time",
    SAMPLING_OPTIONS, "roofs",       "strict", NULL};

const struct command cmd_roofline = {
    .name = "roofline",
    .summary = "measured ceilings, with the library's operations",
    .about =
        "Measures the ceilings of a device that are not known yet (memory, "
        "each cache, local memory, plain and matrix arithmetic of each type) "
        "and draws them with the library's products, convolutions, softmaxes "
        "and fused expressions, on logarithmic axes. Each row is compared "
        "with "
        "the roofline and with the library's own estimate; the cause of the "
        "gap follows from its counts. --json has the result_table and the "
        "ceilings.\n\n"
        "  clbench roofline --device 1\n"
        "  clbench roofline --json roofline.json",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_roofline,
};
