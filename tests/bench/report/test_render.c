/* SPDX-License-Identifier: Apache-2.0 */
/* Result documents as other files: rows read back as the run had them, CSV and
 * Markdown of hostile texts, files that lack members, and files that cannot be
 * written. */
#include "commands.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/str.h"
#include "results/document.h"
#include "report/figure_files.h"
#include "report/html_page.h"
#include "report/markdown.h"
#include "report/outputs.h"
#include "report/section.h"
#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"

/* -- documents ------------------------------------------------------------ */

static struct result_file read_document(json_t *document)
{
    struct result_file file;
    char why[256] = "";
    assert_non_null(document);
    if (!result_file_from(document, "a.json", &file, why, sizeof why))
        fail_msg("%s", why);
    return file;
}

static struct result_file read_text(const char *text)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        fail_msg("%s: %s", error.text, text);
    return read_document(document);
}

/* A row with all that a row can have. */
static void full_row(xl_row *row, double m)
{
    xl_row_init(row, "gemm", "gemm_tiled");
    xl_row_shape(row, "m", m);
    xl_row_shape(row, "n", 1023);
    xl_row_shape(row, "k", 517);
    xl_row_param_text(row, "trans", "nt");
    xl_row_param(row, "alpha", 1);
    xl_row_found(row, "group", 64);
    row->dtype = XL_F16;
    row->value = 1.5e12 / 7;
    row->unit = "flop/s";
    row->flop = 2.0 * m * 1023 * 517;
    row->bytes = 3e6;
    row->roof = (xl_bound){3e12, "flop/s", "fma f16", XL_MEASURED};
    row->launch = (xl_launch_use){264, 256, 2, 16384, NAN, 168, 8};
    row->samples.conditions.readings = 2;
    row->samples.conditions.span_ns = 1e9;
    row->samples.conditions.energy_j = 300;
    row->cold = true;
    row->verdict = XL_ROW_SUSPICIOUS;
    snprintf(row->reason, sizeof row->reason, "noisy: 7 %% of the median");
    row->warnings = XL_WARN(NOISY) | XL_WARN(WALL_CLOCK);
    row->samples.runs = 5;
    for (unsigned i = 0; i < 5; i++)
        row->samples.ns[i] = 1e6 / 3 + 1e3 * i;
    row->samples.median_ns = 1e6 / 3 + 2e3;
    row->samples.mad_ns = row->samples.ns[3] - row->samples.ns[2];
    row->samples.lo_ns = row->samples.ns[1];
    row->samples.hi_ns = row->samples.ns[3];
    row->samples.wall_clock = true;
    row->diagnosis.limiter = XL_LIMITER_DRAM;
    row->diagnosis.share = 0.3;
    row->diagnosis.busy = 0.9;
    row->diagnosis.intensity = 12.5;
    row->diagnosis.bytes_per_s = 1e9;
    snprintf(row->diagnosis.evidence, sizeof row->diagnosis.evidence,
             "DRAM: 3 MB at 1 GB/s");
    snprintf(row->diagnosis.engine, sizeof row->diagnosis.engine,
             "the engine is idle");
}

/* Several tables and a row outside of any. */
static json_t *full_document(void)
{
    struct session s = {.command = &cmd_gemm};
    struct document d;
    xl_row row;
    assert_true(document_begin(&d));
    document_section(&d, ROWS_USUAL, "GEMM", "a note\nof two lines");
    full_row(&row, 100);
    document_row(&d, NULL, &row);
    full_row(&row, 200);
    row.verdict = XL_ROW_OK;
    document_row(&d, NULL, &row);
    document_section_end(&d);
    document_row(&d, NULL, &row);
    json_t *json = document_json(&d, &s, false);
    document_clear(&d);
    return json;
}

static void same_number(double a, double b)
{
    if (isnan(a) != isnan(b) || a < b || a > b)
        fail_msg("%.17g is not %.17g", a, b);
}

static void rows_are_read_back(void **state)
{
    xl_row expected, *got = test_malloc(sizeof *got);
    (void)state;
    struct result_file file = read_document(full_document());
    full_row(&expected, 100);
    assert_int_equal(file.n_rows, 3);
    result_row_read(&file.rows[0], got);
    assert_string_equal(got->op, expected.op);
    assert_string_equal(got->variant, expected.variant);
    assert_int_equal(got->n_shape, 3);
    assert_int_equal(got->n_params, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(got->params[i].name, expected.params[i].name);
        assert_string_equal(got->params[i].text, expected.params[i].text);
        assert_int_equal(got->params[i].is_found, expected.params[i].is_found);
        same_number(got->params[i].value, expected.params[i].value);
        same_number(got->shape[i].value, expected.shape[i].value);
    }
    assert_int_equal(got->dtype, expected.dtype);
    same_number(got->value, expected.value);
    assert_string_equal(got->unit, expected.unit);
    same_number(got->flop, expected.flop);
    same_number(got->launch.groups, expected.launch.groups);
    same_number(got->launch.local_bytes, expected.launch.local_bytes);
    same_number(got->launch.private_bytes, expected.launch.private_bytes);
    same_number(got->launch.registers, expected.launch.registers);
    same_number(got->launch.spill_bytes, expected.launch.spill_bytes);
    same_number(result_joules(got), 300 / 1e9 * expected.samples.median_ns);
    same_number(got->bytes, expected.bytes);
    same_number(got->roof.value, expected.roof.value);
    assert_string_equal(got->roof.name, expected.roof.name);
    assert_int_equal(got->roof.source, expected.roof.source);
    assert_true(got->cold);
    assert_int_equal(got->verdict, expected.verdict);
    assert_string_equal(got->reason, expected.reason);
    assert_int_equal(got->warnings, expected.warnings);
    assert_int_equal(got->samples.runs, 5);
    same_number(got->samples.median_ns, expected.samples.median_ns);
    same_number(got->samples.mad_ns, expected.samples.mad_ns);
    assert_true(got->samples.lo_ns <= got->samples.median_ns);
    assert_true(got->samples.hi_ns >= got->samples.median_ns);
    assert_true(got->samples.wall_clock);
    assert_int_equal(got->diagnosis.limiter, expected.diagnosis.limiter);
    same_number(got->diagnosis.share, expected.diagnosis.share);
    same_number(got->diagnosis.busy, expected.diagnosis.busy);
    same_number(got->diagnosis.intensity, expected.diagnosis.intensity);
    same_number(got->diagnosis.bytes_per_s, expected.diagnosis.bytes_per_s);
    assert_string_equal(got->diagnosis.evidence, expected.diagnosis.evidence);
    assert_string_equal(got->diagnosis.engine, expected.diagnosis.engine);
    assert_string_equal(json_string_value(json_object_get(
                            result_section(&file, &file.rows[1]), "title")),
                        "GEMM");
    assert_null(result_section(&file, &file.rows[2]));
    result_file_clear(&file);
    test_free(got);
}

/* Energy of the samples' span, of which a run has its share of time; what is
 * not known is left out. */
static void launches_are_described(void **state)
{
    xl_row *row = test_malloc(sizeof *row);
    struct xl__str text = {0};
    (void)state;
    full_row(row, 1000);
    row->samples.median_ns = 1e6;
    row->flop = 6e9;
    xl_row_found(row, "model_ns", 825e3);
    result_describe_launch(row, &text);
    assert_string_equal(text.text,
                        "264 groups of 256, 2 a unit; 16 KiB of local memory; "
                        "168 registers, 8 B spilled; 825 us expected; 0.3 J a run, 20 GFLOP/J");
    xl__str_reset(&text);
    xl_row_init(row, "gemm", "gemm_clblast");
    result_describe_launch(row, &text);
    assert_string_equal(xl__str_text(&text), "");
    xl__str_clear(&text);
    test_free(row);
}

/* -- what is shown -------------------------------------------------------- */

static void record_title(void *arg, const char *text)
{
    xl__str_printf(arg, "<%s>\n", text);
}

static void record_text(void *arg, const char *text)
{
    xl__str_printf(arg, "%s\n", text);
}

static void record_table(void *arg, const struct table *t)
{
    const struct table_column *columns = NULL;
    const unsigned n = table_columns(t, &columns);
    for (unsigned c = 0; c < n; c++)
        xl__str_printf(arg, "%s;", columns[c].title);
    for (size_t i = 0; i < table_lines(t); i++)
        for (unsigned c = 0; c < n; c++)
            xl__str_printf(arg, "%s%s;", c ? "" : "\n", table_text(t, i, c));
    xl__str_add(arg, "\n");
}

static void record_note(void *arg, size_t number, const char *text)
{
    xl__str_printf(arg, "[%zu] %s\n", number, text);
}

static void record_gap(void *arg)
{
    xl__str_add(arg, "\n");
}

static struct display recorder(struct xl__str *to, unsigned width)
{
    return (struct display){to,           width,       record_title,
                            record_text,  record_table, record_note,
                            record_gap};
}

/* The section of a run, and the same from its document. */
static void files_show_what_runs_show(void **state)
{
    struct xl__str live = {0}, later = {0};
    const struct settings set = {.quick = false};
    struct section p = {
        .title = "GEMM", .note = "a note\nof two lines", .set = &set};
    xl_row row;
    (void)state;
    full_row(&row, 100);
    assert_true(result_table_add(&p.rows, NULL, &row));
    full_row(&row, 200);
    row.verdict = XL_ROW_OK;
    assert_true(result_table_add(&p.rows, NULL, &row));
    struct display to = recorder(&live, 80);
    section_show(&p, &to);
    result_table_clear(&p.rows);
    notes_clear(&p.notes);
    struct result_file file = read_document(full_document());
    to = recorder(&later, 80);
    results_show(&file, false, NULL, &to);
    /* After it comes the row that belongs to no section. */
    assert_int_equal(strncmp(xl__str_text(&live), xl__str_text(&later),
                             live.len), 0);
    assert_non_null(strstr(xl__str_text(&live), "suspicious [1,2]"));
    assert_non_null(strstr(xl__str_text(&live), "limited by DRAM, 2 of 2"));
    assert_non_null(strstr(xl__str_text(&later) + live.len, "<gemm>"));
    result_file_clear(&file);
    xl__str_clear(&live);
    xl__str_clear(&later);
}

static const char two_devices[] =
    "{\"schema\":\"clbench/1\","
    "\"environment\":{\"options\":{\"full\":%s}},"
    "\"devices\":[{\"index\":3,\"name\":\"Left\",\"driver\":\"1.0\"},"
    "{\"index\":5,\"name\":\"Right\"}],\"rows\":["
    "{\"id\":\"p/a/m=1/-/hot\",\"op\":\"p\",\"variant\":\"a\",\"device\":3,"
    "\"shape\":{\"m\":1},\"value\":2,\"unit\":\"\\u001b[0m\","
    "\"verdict\":\"ok\","
    "\"samples_ns\":[5,6,7]},"
    "{\"id\":\"p/a/m=1/-/hot\",\"op\":\"p\",\"variant\":\"a\",\"device\":5,"
    "\"shape\":{\"m\":1},\"value\":4,\"unit\":\"B/s\","
    "\"verdict\":\"suspicious\",\"reason\":\"why\",\"samples_ns\":[3]},"
    "{\"id\":\"p/b/m=2/-/hot\",\"op\":\"p\",\"variant\":\"b\",\"device\":5,"
    "\"shape\":{\"m\":2},\"params\":{\"curve\":1},\"verdict\":\"ok\"}]}";

static void devices_are_side_by_side(void **state)
{
    struct xl__str shown = {0};
    char text[2048];
    (void)state;
    snprintf(text, sizeof text, two_devices, "false");
    struct result_file file = read_text(text);
    struct display to = recorder(&shown, 90);
    results_show(&file, false, NULL, &to);
    assert_non_null(strstr(xl__str_text(&shown),
                           "case;kernel;A;B;x A;\n"
                           "1;a;2 \\x1B[0m;4 B/s?[1];-;\n"));
    /* A point of a curve, which only a whole report has. */
    assert_null(strstr(xl__str_text(&shown), "\n2;b;"));
    xl__str_reset(&shown);
    to.width = 0;
    results_show(&file, true, NULL, &to);
    assert_non_null(strstr(xl__str_text(&shown), "4 B/s?[1]"));
    assert_non_null(strstr(xl__str_text(&shown), "\n2;b;"));
    result_file_clear(&file);
    /* As a run with --full had it. */
    snprintf(text, sizeof text, two_devices, "true");
    file = read_text(text);
    xl__str_reset(&shown);
    results_show(&file, false, NULL, &to);
    assert_non_null(strstr(xl__str_text(&shown), "\n2;b;"));
    result_file_clear(&file);
    xl__str_clear(&shown);
}

/* Earlier versions wrote neither the kind of a section's rows, nor which
 * parameters were found, nor the interval of the median. */
static void files_of_earlier_versions_are_completed(void **state)
{
    static const char text[] =
        "{\"schema\":\"clbench/1\",\"devices\":[{\"index\":0}],"
        "\"parts\":[{\"title\":\"Expressions\",\"note\":null},"
        "{\"title\":\"Others\",\"note\":null}],\"rows\":["
        "{\"id\":\"expr/expr_fused/n=8/alpha=2/f32/hot\",\"op\":\"expr\","
        "\"variant\":\"expr_fused\",\"part\":0,\"device\":0,"
        "\"shape\":{\"n\":8},\"params\":{\"alpha\":2,\"kernels\":3},"
        "\"dtype\":\"f32\",\"samples_ns\":[5,6,7],\"verdict\":\"ok\"},"
        "{\"id\":\"p/a/m=1/-/hot\",\"op\":\"p\",\"variant\":\"a\","
        "\"part\":1,\"device\":0,\"shape\":{\"m\":1},\"verdict\":\"ok\"}]}";
    xl_row *row = test_malloc(sizeof *row);
    (void)state;
    struct result_file file = read_text(text);
    assert_int_equal(result_rows_kind(&file, &file.rows[0]),
                     ROWS_OF_EXPRESSIONS);
    assert_int_equal(result_rows_kind(&file, &file.rows[1]), ROWS_USUAL);
    result_row_read(&file.rows[0], row);
    assert_int_equal(row->n_params, 2);
    assert_false(row->params[0].is_found);
    assert_true(row->params[1].is_found);
    assert_true(result_number(&file.rows[0], NULL, "lo_ns") <= 6);
    assert_true(result_number(&file.rows[0], NULL, "hi_ns") >= 6);
    assert_true(isnan(result_number(&file.rows[1], NULL, "lo_ns")));
    result_file_clear(&file);
    test_free(row);
}

/* The state of the run and its end are in each format. */
static void states_are_shown(void **state)
{
    static const char text[] =
        "{\"schema\":\"clbench/1\",\"interrupted\":true,"
        "\"state\":{\"text\":\"BUSY (others 63 %)\"},"
        "\"devices\":[],\"rows\":[]}";
    const struct renderer *const formats[] = {&render_markdown, &render_html};
    (void)state;
    struct result_file file = read_text(text);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct xl__str out = {0};
        formats[i]->render(&file, 1, &out);
        assert_non_null(strstr(xl__str_text(&out), "BUSY (others 63 %)"));
        assert_non_null(strstr(xl__str_text(&out),
                               "interrupted: rows may be missing"));
        xl__str_clear(&out);
    }
    result_file_clear(&file);
}

static void files_without_rows_show_facts(void **state)
{
    static const char text[] =
        "{\"schema\":\"clbench/1\",\"split\":[],\"rows\":[],\"devices\":[{"
        "\"name\":\"Chip\",\"facts\":["
        "{\"name\":\"a\",\"value\":true,\"source\":\"queried\"},"
        "{\"name\":\"b\",\"value\":65536,\"unit\":\"B\",\"note\":\"N-1\"},"
        "{\"name\":\"c\",\"value\":[1,2],\"unit\":\"B\"},"
        "{\"name\":\"d\",\"value\":null,\"source\":\"unknown\"},"
        "{\"name\":\"e\",\"value\":\"0123456789012345678901234\"}]}]}";
    struct xl__str shown = {0};
    (void)state;
    struct result_file file = read_text(text);
    const struct display to = recorder(&shown, 80);
    results_show(&file, false, NULL, &to);
    assert_string_equal(xl__str_text(&shown),
                        "<Chip>\nfact;value;source;note;\n"
                        "a;yes;queried;;\nb;64 KiB;;N-1;\nc;1 B, 2 B;;;\n"
                        "d;-;unknown;;\ne;0123456789012345678901234;;;\n"
                        "e: 0123456789012345678901234\n\n");
    xl__str_reset(&shown);
    results_tally(&file, &shown);
    assert_string_equal(xl__str_text(&shown), "0 rows; also: split");
    result_file_clear(&file);
    xl__str_clear(&shown);
}

/* -- CSV ------------------------------------------------------------------ */

/* A strict reader of RFC 4180: the fields of a line, each ended by 0; returns
 * their number. *text advances to the next line. */
enum { MOST_FIELDS = 80 };
static unsigned read_line(const char **text, char *buffer, size_t cap,
                          const char **fields)
{
    unsigned n = 0;
    const char *at = *text;
    char *to = buffer;
    for (;;) {
        assert_true(n < MOST_FIELDS);
        fields[n++] = to;
        const bool is_quoted = *at == '"';
        for (at += is_quoted; *at; at++) {
            assert_true((size_t)(to - buffer) < cap - 2);
            if (is_quoted && *at == '"') {
                if (at[1] != '"')
                    break;
                at++;
            } else if (!is_quoted) {
                assert_true(*at != '"');
                if (*at == ',' || *at == '\r' || *at == '\n')
                    break;
            }
            *to++ = *at;
        }
        *to++ = '\0';
        if (is_quoted) {
            assert_true(*at == '"');
            at++;
        }
        if (*at != ',')
            break;
        at++;
    }
    assert_memory_equal(at, "\r\n", 2);
    *text = at + 2;
    return n;
}

/* A file with hostile texts. */
static const char hostile[] =
    "{\"schema\":\"clbench/1\",\"devices\":[{\"index\":0,"
    "\"name\":\"=cmd|' /C calc'!A0\","
    "\"driver\":\"<script>alert(1)</script>\"}],"
    "\"rows\":[{\"id\":\"x|y,z\",\"op\":\"@SUM(1)\",\"device\":0,"
    "\"variant\":\"-1+1\",\"dtype\":\"\\u001b[31mred\","
    "\"shape\":{\"m\":-3,\"a,b\":0.1,\"t\":\"1 2\"},"
    "\"unit\":\"+x\",\"verdict\":\"ok\","
    "\"reason\":\"say \\\"hi\\\",\\n|then| `go` "
    "<b>*home*</b> \\\\ \\u20ac\"}]}";

static void csv_keeps_every_text(void **state)
{
    static const struct {
        const char *column, *text;
    } expected[] = {
        {"file", "a.json"},
        {"device", "'=cmd|' /C calc'!A0"},
        {"driver", "<script>alert(1)</script>"},
        {"id", "x|y,z"},
        {"op", "'@SUM(1)"},
        {"variant", "'-1+1"},
        {"dtype", "\\x1B[31mred"},
        {"shape.m", "-3"},
        {"shape.a,b", "0.1"},
        {"shape.t", "1 2"},
        {"unit", "'+x"},
        {"verdict", "ok"},
        {"reason", "say \"hi\",\n|then| `go` <b>*home*</b> \\ \xe2\x82\xac"},
        {"median_ns", ""},
        {"lo_ns", ""},
        {"value", ""},
        {"diagnosis.limiter", ""},
        {"warnings", ""},
    };
    struct xl__str out = {0};
    char head_text[2048], row_text[2048];
    const char *head[MOST_FIELDS], *row[MOST_FIELDS];
    (void)state;
    struct result_file file = read_text(hostile);
    render_csv.render(&file, 1, &out);
    assert_false(out.broken);
    const char *at = xl__str_text(&out);
    const unsigned n = read_line(&at, head_text, sizeof head_text, head);
    assert_int_equal(read_line(&at, row_text, sizeof row_text, row), n);
    assert_int_equal(*at, '\0');
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        unsigned c = 0;
        while (c < n && strcmp(head[c], expected[i].column) != 0)
            c++;
        assert_true(c < n);
        assert_string_equal(row[c], expected[i].text);
    }
    result_file_clear(&file);
    xl__str_clear(&out);
}

static void csv_numbers_are_exact(void **state)
{
    struct xl__str out = {0};
    char text[2048];
    const char *field[MOST_FIELDS], *head[MOST_FIELDS];
    char head_text[2048];
    (void)state;
    struct result_file file = read_document(full_document());
    render_csv.render(&file, 1, &out);
    const char *at = xl__str_text(&out);
    const unsigned n = read_line(&at, head_text, sizeof head_text, head);
    assert_int_equal(read_line(&at, text, sizeof text, field), n);
    static const struct {
        const char *column;
        double value;
    } expected[] = {{"value", 1.5e12 / 7},
                    {"median_ns", 1e6 / 3 + 2e3},
                    {"roof.frac", 1.5e12 / 7 / 3e12},
                    {"runs", 5},
                    {"shape.m", 100},
                    {"params.group", 64},
                    {"roof.value", 3e12}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        unsigned c = 0;
        while (c < n && strcmp(head[c], expected[i].column) != 0)
            c++;
        assert_true(c < n);
        same_number(strtod(field[c], NULL), expected[i].value);
    }
    /* The interval contains the median. */
    for (unsigned c = 0; c < n; c++)
        if (strcmp(head[c], "lo_ns") == 0) {
            assert_true(strtod(field[c], NULL) <= 1e6 / 3 + 2e3);
            assert_true(strtod(field[c + 1], NULL) >= 1e6 / 3 + 2e3);
        }
    result_file_clear(&file);
    xl__str_clear(&out);
}

/* -- Markdown ------------------------------------------------------------- */

/* Bars that separate cells: those after an even number of backslashes. */
static unsigned count_bars(const char *line, size_t len)
{
    unsigned n = 0, slashes = 0;
    for (size_t i = 0; i < len; i++) {
        n += line[i] == '|' && slashes % 2 == 0;
        slashes = line[i] == '\\' ? slashes + 1 : 0;
    }
    return n;
}

static void markdown_escapes_markup(void **state)
{
    static const char *const markup[] = {"<", ">", "`", "*", NULL};
    struct xl__str out = {0};
    unsigned n_bars = 0, n_lines = 0;
    (void)state;
    struct result_file file = read_text(hostile);
    render_markdown.render(&file, 1, &out);
    assert_false(out.broken);
    for (const char *line = xl__str_text(&out); *line;) {
        const size_t len = strcspn(line, "\n");
        if (*line == '|') {
            n_bars = n_lines++ == 0 ? count_bars(line, len) : n_bars;
            assert_int_equal(count_bars(line, len), n_bars);
        }
        line += len + (line[len] == '\n');
    }
    assert_int_equal(n_lines, 3);
    for (size_t i = 0; markup[i]; i++)
        for (const char *at = xl__str_text(&out);
             (at = strstr(at, markup[i])); at++)
            assert_true(at > out.text && at[-1] == '\\');
    assert_null(strchr(xl__str_text(&out), '\x1b'));
    assert_non_null(strstr(xl__str_text(&out), "say \"hi\""));
    result_file_clear(&file);
    xl__str_clear(&out);
}

static void markdown_paragraphs_are_no_lists(void **state)
{
    static const char text[] =
        "{\"schema\":\"clbench/1\",\"devices\":[],"
        "\"parts\":[{\"title\":\"T\",\"note\":\"# no\\n 12. no\\n- no\\n"
        "3 a_b _c_\"}],\"rows\":[{\"id\":\"x\",\"part\":0}]}";
    struct xl__str out = {0};
    (void)state;
    struct result_file file = read_text(text);
    render_markdown.render(&file, 1, &out);
    assert_non_null(strstr(xl__str_text(&out),
                           "\\# no\n12\\. no\n\\- no\n3 a_b \\_c\\_\n"));
    result_file_clear(&file);
    xl__str_clear(&out);
}

/* -- files that lack members ---------------------------------------------- */

static void missing_members_are_unknown(void **state)
{
    static const char *const texts[] = {
        "{\"schema\":\"clbench/1\",\"devices\":[],\"rows\":[]}",
        "{\"schema\":\"clbench/1\",\"devices\":[],\"rows\":[{\"id\":\"x\"}]}",
        "{\"schema\":\"clbench/1\",\"devices\":[7],\"rows\":[{\"id\":\"x\","
        "\"device\":9,\"part\":-1,\"roof\":3,\"shape\":[1],\"params\":null,"
        "\"warnings\":[1,\"noisy\"],\"diagnosis\":[],\"samples_ns\":\"x\"}]}",
        "{\"schema\":\"clbench/1\",\"devices\":[{}],\"parts\":{},"
        "\"tool\":1,\"host\":[],\"environment\":{\"options\":3},"
        "\"rows\":[{\"id\":\"x\",\"part\":9223372036854775807,"
        "\"unit\":3,\"value\":\"much\",\"roof\":{\"value\":-1}}]}",
        /* Bars whose lengths overflow. */
        "{\"schema\":\"clbench/1\",\"devices\":[],\"rows\":["
        "{\"id\":\"x\",\"op\":\"a\",\"unit\":\"s\",\"value\":1e-300,"
        "\"params\":{\"size_bytes\":1}},"
        "{\"id\":\"x\",\"op\":\"a\",\"unit\":\"s\",\"value\":1e300},"
        "{\"id\":\"x\",\"op\":\"b\",\"value\":-1,"
        "\"params\":{\"align_bytes\":1}}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct result_file file = read_text(texts[i]);
        for (size_t f = 0; renderers[f]; f++) {
            struct xl__str out = {0};
            renderers[f]->render(&file, 1, &out);
            assert_false(out.broken);
            assert_true(out.len > 0);
            xl__str_clear(&out);
        }
        result_file_clear(&file);
    }
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void two_files_are_distinguished(void **state)
{
    struct result_file files[2];
    struct xl__str out = {0};
    (void)state;
    files[0] = read_text(hostile);
    files[1] = read_document(full_document());
    files[1].path = "b|2.json";
    render_csv.render(files, 2, &out);
    assert_int_equal(count(xl__str_text(&out), "\r\na.json,"), 1);
    assert_int_equal(count(xl__str_text(&out), "\r\nb|2.json,"), 3);
    xl__str_reset(&out);
    render_markdown.render(files, 2, &out);
    assert_int_equal(count(xl__str_text(&out), "\n## a.json\n"), 1);
    assert_int_equal(count(xl__str_text(&out), "\n## b\\|2.json\n"), 1);
    assert_int_equal(count(xl__str_text(&out), "\n### GEMM"), 1);
    assert_int_equal(count(xl__str_text(&out), "suspicious"), 2);
    result_file_clear(&files[0]);
    result_file_clear(&files[1]);
    xl__str_clear(&out);
}

/* -- the files of a run --------------------------------------------------- */

static void clashing_paths_are_found(void **state)
{
    const char *a = NULL, *b = NULL;
    struct settings set = {.csv = "x", .markdown = "y", .html = "z"};
    (void)state;
    assert_false(outputs_clash(&set, &a, &b));
    assert_false(outputs_use_stdout(&set));
    assert_true(outputs_requested(&set));
    set.html = "x";
    assert_true(outputs_clash(&set, &a, &b));
    assert_string_equal(a, "csv");
    assert_string_equal(b, "html");
    set.html = "-";
    assert_true(outputs_use_stdout(&set));
    set = (struct settings){.svg = "pictures"};
    assert_true(outputs_requested(&set));
    set = (struct settings){.trace = "-"};
    assert_false(outputs_requested(&set));
}

static char *read_content(const char *folder, const char *name)
{
    char path[512], *text = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return xl__file_read(path, &text, &len) == XL_OK ? text : NULL;
}

/* Files are rewritten after each section, and hold what the document holds. */
static void files_grow_with_sections(void **state)
{
    struct session s = {.command = &cmd_gemm, .is_stdout_taken = true};
    const char *folder = test_scratch("render");
    char json[512], csv[512], markdown[512];
    xl_row row;
    (void)state;
    snprintf(json, sizeof json, "%s/r.json", folder);
    snprintf(csv, sizeof csv, "%s/r.csv", folder);
    snprintf(markdown, sizeof markdown, "%s/r.md", folder);
    s.set = (struct settings){.json = json, .csv = csv, .markdown = markdown};
    s.extra = json_object();
    struct report *r = report_open(&s);
    assert_non_null(r);
    for (unsigned i = 1; i <= 2; i++) {
        full_row(&row, 100 * i);
        s.sink.section(s.sink.arg, ROWS_USUAL, "GEMM", NULL);
        s.sink.row(s.sink.arg, NULL, &row);
        s.sink.section_end(s.sink.arg);
        char *text = read_content(folder, "r.csv");
        assert_int_equal(count(text, "\r\n"), 1 + i);
        free(text);
        text = read_content(folder, "r.md");
        assert_int_equal(count(text, "## GEMM"), i);
        free(text);
    }
    assert_int_equal(report_close(r), EXIT_FINE);
    /* A file renders as the run did. */
    struct result_file file;
    char why[256];
    assert_true(result_file_read(json, &file, why, sizeof why));
    for (size_t f = 0; f < 2; f++) {
        const struct renderer *format = f ? &render_markdown : &render_csv;
        struct xl__str out = {0};
        char *text = read_content(folder, f ? "r.md" : "r.csv");
        format->render(&file, 1, &out);
        assert_string_equal(xl__str_text(&out), text);
        xl__str_clear(&out);
        free(text);
    }
    result_file_clear(&file);
    json_decref(s.extra);
}

static void failed_writes_are_reported(void **state)
{
    struct session s = {.command = &cmd_gemm, .is_stdout_taken = true};
    char csv[512];
    (void)state;
    s.set = (struct settings){.csv = "/no/such/folder/x.csv"};
    assert_null(report_open(&s));
    s.set = (struct settings){.svg = "/dev/null/pictures"};
    assert_null(report_open(&s));
    /* The file that can be written is written, the other reported. */
    const char *folder = test_scratch("render");
    snprintf(csv, sizeof csv, "%s/x.csv", folder);
    s.set = (struct settings){.csv = csv, .markdown = "/dev/full"};
    s.extra = json_object();
    struct report *r = report_open(&s);
    assert_non_null(r);
    assert_int_equal(report_close(r), EXIT_FILE);
    char *text = read_content(folder, "x.csv");
    assert_non_null(text);
    free(text);
    /* Nothing was measured: an older file is kept. */
    json_decref(s.extra);
    s.extra = NULL;
    assert_int_equal(xl__file_replace(csv, "old", 3), XL_OK);
    s.set = (struct settings){.csv = csv};
    r = report_open(&s);
    assert_int_equal(report_close(r), EXIT_FINE);
    text = read_content(folder, "x.csv");
    assert_string_equal(text, "old");
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_back),
        cmocka_unit_test(launches_are_described),
        cmocka_unit_test(files_show_what_runs_show),
        cmocka_unit_test(devices_are_side_by_side),
        cmocka_unit_test(files_of_earlier_versions_are_completed),
        cmocka_unit_test(states_are_shown),
        cmocka_unit_test(files_without_rows_show_facts),
        cmocka_unit_test(csv_keeps_every_text),
        cmocka_unit_test(csv_numbers_are_exact),
        cmocka_unit_test(markdown_escapes_markup),
        cmocka_unit_test(markdown_paragraphs_are_no_lists),
        cmocka_unit_test(missing_members_are_unknown),
        cmocka_unit_test(two_files_are_distinguished),
        cmocka_unit_test(clashing_paths_are_found),
        cmocka_unit_test(files_grow_with_sections),
        cmocka_unit_test(failed_writes_are_reported),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
