/* SPDX-License-Identifier: Apache-2.0 */
/* Output of clbench: numbers with units, shapes, columns, tables, labels of
 * rows, the JSON of a row and reading it back. No device, no driver. */
#include "commands.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/os/files.h"
#include "results/json.h"
#include "report/report.h"
#include "report/summary.h"
#include "results/result_file.h"
#include "results/result.h"
#include "cli/session.h"
#include "cases/shapes.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"
#include "results/warnings.h"

/* -- units ---------------------------------------------------------------- */

static void units_have_three_digits(void **state)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {60.1e12, "flop/s", "60.1 TFLOP/s"},
        {4.27e12, "B/s", "4.27 TB/s"},
        {54.8e9, "B/s", "54.8 GB/s"},
        {999.6e9, "B/s", "1.00 TB/s"},
        {999.4e9, "B/s", "999 GB/s"},
        {1.98e9, "Hz", "1.98 GHz"},
        {17.2e12, "op/s", "17.2 Top/s"},
        {2.5e9, "1/s", "2.50 G/s"},
        {65536, "B", "64 KiB"},
        {1000, "B", "1000 B"},
        {1024, "B", "1 KiB"},
        {150.7e9, "B", "140 GiB"},
        {4.56e-4, "s", "456 us"},
        {12.34, "s", "12.3 s"},
        {1e6, "ns", "1 ms"},
        {0, "B/s", "0 B/s"},
        {3.25, "1", "3.25"},
        {4096, NULL, "4096"},
        {NAN, "B/s", "-"},
        {INFINITY, "B/s", "inf"},
        {7, "widgets", "7 widgets"},
        {0.25, "ns", "0.25 ns"},
        {100, "flop/s", "100 FLOP/s"},
        {4294967296.0, "1", "4294967296"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[UNITS_CAP];
        units_format(text, sizeof text, cases[i].value, cases[i].unit);
        assert_string_equal(text, cases[i].text);
    }
}

static void percents(void **state)
{
    static const struct {
        double frac;
        const char *text;
    } cases[] = {{0.87, "87%"},    {0.004, "0.4%"}, {0, "0%"}, {1.234, "123%"},
                 {0.0994, "9.9%"}, {0.0996, "10%"}, {NAN, "-"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[UNITS_CAP];
        units_percent(text, sizeof text, cases[i].frac);
        assert_string_equal(text, cases[i].text);
    }
}

/* -- shapes --------------------------------------------------------------- */

static void shapes_are_read(void **state)
{
    char why[256] = "";
    size_t d[3] = {0};
    (void)state;
    assert_true(shape_gemm("1000x1023x517", d, why, sizeof why));
    assert_true(d[0] == 1000 && d[1] == 1023 && d[2] == 517);
    assert_true(shape_gemm("64", d, why, sizeof why));
    assert_true(d[0] == 64 && d[1] == 64 && d[2] == 64);
    assert_true(shape_rows("64x1000000", d, why, sizeof why));
    assert_true(d[0] == 64 && d[1] == 1000000);
    assert_true(shape_rows("7X9", d, why, sizeof why));
    assert_true(d[0] == 7 && d[1] == 9);
    assert_true(shape_rows("1x1000000000000", d, why, sizeof why));
}

static void bad_shapes_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "missing"},
        {"0", "a size is 0"},
        {"5x0x5", "a size is 0"},
        {"1x2", "too few"},
        {"1x2x3x4", "too many"},
        {"1x2x", "missing"},
        {"x2x3", "not an integer"},
        {"-1", "not an integer"},
        {"1.5", "integers"},
        {"1e3", "integers"},
        {"1*2*3", "integers"},
        {"12 ", "integers"},
        {"18446744073709551616x1x1", "does not fit in 64 bits"},
        {"18446744073709551615x1x1", "does not fit in 64 bits"},
        {"4294967296", "does not fit in 64 bits"},
        {"99999999999999999999999999", "does not fit in 64 bits"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[256] = "";
        size_t d[3];
        assert_false(shape_gemm(cases[i].text, d, why, sizeof why));
        if (!strstr(why, cases[i].why))
            fail_msg("'%s': %s", cases[i].text, why);
        assert_non_null(strstr(why, "MxNxK"));
    }
}

/* -- text ----------------------------------------------------------------- */

static void bytes_outside_utf8_are_escaped(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"\x1b[31mred", "\\x1B[31mred"},
        {"a\tb\n", "a\\x09b\\x0A"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xff\xfe", "\\xFF\\xFE"},
        {"\xc0\xaf", "\\xC0\\xAF"},                   /* overlong slash */
        {"\xed\xa0\x80", "\\xED\\xA0\\x80"},          /* surrogate */
        {"\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"}, /* beyond Unicode */
        {"\xe2\x82", "\\xE2\\x82"},                   /* cut off */
        {"\xc2\x9b", "\\xC2\\x9B"},                   /* a control character */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xl__str out = {0};
        text_escape(&out, cases[i].in);
        assert_string_equal(xl__str_text(&out), cases[i].out);
        json_t *json = json_text(cases[i].in);
        assert_true(json_is_string(json));
        json_decref(json);
        xl__str_clear(&out);
    }
}

static void cutting_counts_columns(void **state)
{
    /* Two wide characters, an e with a combining accent, plain letters. */
    static const char wide[] = "\xe8\xa9\xa6\xe9\xa8\x93 e\xcc\x81xyz";
    (void)state;
    assert_int_equal(text_columns(wide), 9);
    for (size_t columns = 0; columns <= 12; columns++) {
        struct xl__str out = {0};
        text_cut(&out, wide, columns);
        size_t got = text_columns(xl__str_text(&out));
        assert_int_equal(got, columns < 9 ? columns : 9);
        for (const char *at = xl__str_text(&out); *at; at++)
            assert_true((unsigned char)*at != 0xff);
        xl__str_clear(&out);
    }
}

static void nearest_name_is_found(void **state)
{
    static const char *const names[] = {"gemm", "softmax", "doctor", NULL};
    (void)state;
    assert_string_equal(text_nearest("gem", names), "gemm");
    assert_string_equal(text_nearest("softmx", names), "softmax");
    assert_string_equal(text_nearest("doc", names), "doctor");
    assert_null(text_nearest("zzzzzz", names));
    assert_null(text_nearest(
        "a-word-that-is-much-longer-than-any-name-could-be", names));
}

static void terminal_obeys_variables(void **state)
{
    (void)state;
    test_setenv("COLUMNS", "120");
    assert_int_equal(text_terminal_columns(), 120);
    test_setenv("COLUMNS", "rubbish");
    assert_true(text_terminal_columns() >= 20);
    test_setenv("COLUMNS", "1");
    assert_int_equal(text_terminal_columns(), 20);
    test_setenv("COLUMNS", NULL);
    test_setenv("CLICOLOR_FORCE", "1");
    test_setenv("NO_COLOR", NULL);
    assert_true(text_has_colour());
    test_setenv("NO_COLOR", "1");
    assert_false(text_has_colour());
    test_setenv("CLICOLOR_FORCE", NULL);
    test_setenv("NO_COLOR", NULL);
}

/* No line is wider than the terminal, as long as cutting can achieve that;
 * cells that must not be cut are whole. Where it is too narrow, a case is a
 * line above its rows. */
static void tables_fit(void **state)
{
    static const struct table_column columns[] = {
        {"case", false, 4}, {"value", true, 0}, {"note", false, 4}};
    (void)state;
    struct table *t = table_create(columns, 3);
    for (int i = 0; i < 5; i++) {
        table_cell(t, "a rather long case name %d", i / 2);
        table_cell(t, "%d", 12345 * i);
        table_cell_coloured(t, TABLE_RED, "a note of some length");
    }
    for (unsigned width = 20; width <= 90; width += 7) {
        char line[256];
        FILE *f = tmpfile();
        table_print(f, t, width, false);
        rewind(f);
        const bool is_wide = width >= 55;
        unsigned n = 0;
        for (; fgets(line, sizeof line, f); n++) {
            line[strcspn(line, "\n")] = '\0';
            assert_true(text_columns(line) <= width);
            assert_true(n != (is_wide ? 5 : 8) || strstr(line, "49380"));
            assert_true(is_wide || width < 27 || n != 4 ||
                        strcmp(line, "  a rather long case name 1") == 0);
        }
        assert_int_equal(n, is_wide ? 6 : 9);
        fclose(f);
    }
    table_destroy(t);
    table_destroy(NULL);
}

static void progress_shows_time_left(void **state)
{
    struct progress p = {.done = 3, .total = 12, .what = "gemm 1024"};
    char text[128];
    (void)state;
    progress_text(&p, 30, 0, 80, text, sizeof text);
    assert_string_equal(text, "[4/12] gemm 1024, 1:30 left");
    progress_text(&p, 30, 20, 80, text, sizeof text);
    assert_string_equal(text, "[4/12] gemm 1024, 0:20 left");
    p = (struct progress){.total = 12, .what = "gemm 1024"};
    progress_text(&p, 30, 0, 80, text, sizeof text);
    assert_string_equal(text, "[1/12] gemm 1024");
    progress_text(&p, 30, 0, 12, text, sizeof text);
    assert_true(strlen(text) <= 12);
}

/* A step that lasts longer than those before it does not raise the time. */
static void time_left_never_rises(void **state)
{
    struct progress p = {.done = 1, .total = 4, .what = "gemm 1024"};
    char text[128];
    double least = INFINITY;
    (void)state;
    for (unsigned at = 1; at < 60; at++) {
        unsigned minutes = 0, seconds = 0;
        p.done = at < 20 ? 1 : at < 40 ? 2 : 3;
        progress_text(&p, at, 0, 80, text, sizeof text);
        const char *comma = strchr(text, ',');
        if (!comma)
            continue;
        assert_int_equal(sscanf(comma, ", %u:%u left", &minutes, &seconds), 2);
        assert_true(60.0 * minutes + seconds <= least);
        least = 60.0 * minutes + seconds;
    }
    assert_true(least < 1.5);
    /* Of a planned run: its time, and no count of steps. */
    p = (struct progress){
        .done = 1, .total = 4, .is_part = true, .what = "gemm 1024"};
    progress_text(&p, 3, 27, 80, text, sizeof text);
    assert_string_equal(text, "gemm 1024, 0:27 left");
}

/* -- the summary ---------------------------------------------------------- */

/* What a display was given: each title, text and line of a table is a line. */
struct seen_lines {
    FILE *to;
};

static void see_text(void *arg, const char *text)
{
    fprintf(((struct seen_lines *)arg)->to, "%s\n", text);
}

static void see_table(void *arg, const struct table *t)
{
    table_print(((struct seen_lines *)arg)->to, t, 80, false);
}

static void see_gap(void *arg)
{
    fputc('\n', ((struct seen_lines *)arg)->to);
}

static void summarise(const struct summary *s, const char *name, char *out,
                      size_t cap)
{
    struct seen_lines seen = {tmpfile()};
    const struct display to = {&seen,     80,   see_text, see_text,
                               see_table, NULL, see_gap};
    const struct summary_head head = {
        .name = name, .detail = name, .state = "QUIET (load 0.1 on 2 cores)"};
    assert_non_null(seen.to);
    summary_show(s, s, &head, &to);
    rewind(seen.to);
    out[fread(out, 1, cap - 1, seen.to)] = '\0';
    fclose(seen.to);
}

static void add_summary_row(struct summary *s, const char *op,
                            const char *variant, xl_dtype dtype, double value,
                            const char *unit, xl_verdict verdict)
{
    xl_row row;
    xl_row_init(&row, op, variant);
    row.dtype = dtype;
    row.value = value;
    row.unit = unit;
    row.roof.value = 2 * value;
    row.verdict = verdict;
    memset(row.reason, 'r', sizeof row.reason - 1);
    row.reason[sizeof row.reason - 1] = '\0';
    summary_add(s, s, &row);
}

/* Every cell that there is, of the widest values, and all in doubt. */
static void fill_summary(struct summary *s, xl_verdict verdict)
{
    static const char *const flops[] = {"f32", "f64", "f16"};
    static const char *const ints[] = {"i8", "i16", "i32", "i64"};
    static const char *const memory[] = {"read", "write", "copy", "copy_llc"};
    static const char *const caches[] = {"l1_read", "l2_read", "l3_read"};
    static const char *const launches[] = {"back_to_back", "round_trip",
                                           "enqueue"};
    static const char *const transfers[] = {"pinned_up", "pinned_down"};
    static const char *const ops[] = {"gemm", "conv", "attention", "softmax"};
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16, XL_I8, XL_F64};
    static const xl_dtype of_flops[] = {XL_F32, XL_F64, XL_F16};
    for (unsigned i = 0; i < 3; i++) {
        add_summary_row(s, "probe_flops", flops[i], of_flops[i], 888.8e12,
                        "flop/s", verdict);
        add_summary_row(s, "probe_cache", caches[i], XL_N_DTYPES, 888.8e12,
                        "B/s", verdict);
        add_summary_row(s, "probe_launch", launches[i], XL_N_DTYPES, 88.8e-6,
                        "s", verdict);
        add_summary_row(s, "expr", "expr_fused", dtypes[i], 888.8e12, "B/s",
                        verdict);
    }
    for (unsigned i = 0; i < 4; i++) {
        add_summary_row(s, "probe_ints", ints[i], XL_N_DTYPES, 888.8e12,
                        "op/s", verdict);
        add_summary_row(s, "probe_bandwidth", memory[i], XL_N_DTYPES, 888.8e12,
                        "B/s", verdict);
    }
    for (unsigned i = 0; i < 2; i++)
        add_summary_row(s, "probe_transfer", transfers[i], XL_N_DTYPES,
                        888.8e9, "B/s", verdict);
    add_summary_row(s, "probe_transfer", "latency_up", XL_N_DTYPES, 8e-6, "s",
                    verdict);
    add_summary_row(s, "probe_local", "read", XL_N_DTYPES, 888.8e12, "B/s",
                    verdict);
    for (unsigned d = 0; d < 5; d++) {
        add_summary_row(s, "probe_matrix", "mma", dtypes[d], 888.8e15,
                        "flop/s", verdict);
        for (unsigned i = 0; i < 4; i++)
            add_summary_row(s, ops[i], "v", dtypes[d], 888.8e12, "flop/s",
                            verdict);
    }
}

static void a_summary_is_a_screen(void **state)
{
    static const xl_verdict verdicts[] = {XL_ROW_OK, XL_ROW_SUSPICIOUS,
                                          XL_ROW_REJECTED};
    char out[4096], name[300];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        struct summary s = {NULL, 0, 0};
        unsigned n = 0;
        fill_summary(&s, verdicts[i]);
        summarise(&s, name, out, sizeof out);
        for (char *at = out; *at; n++) {
            char *end = strchr(at, '\n');
            assert_non_null(end);
            *end = '\0';
            /* The title is cut by the display. */
            assert_true(n == 0 || text_columns(at) <= 80);
            *end = ' ';
            at = end + 1;
        }
        assert_true(n <= SUMMARY_LINES);
        assert_non_null(strstr(out, "f32 889 TFLOP/s"));
        if (verdicts[i] == XL_ROW_REJECTED)
            assert_non_null(strstr(out, "clbench verify"));
        summary_clear(&s);
    }
}

static void a_summary_keeps_the_best(void **state)
{
    struct summary s = {NULL, 0, 0};
    char out[4096];
    (void)state;
    summarise(&s, "d", out, sizeof out);
    assert_string_equal(out, ""); /* no rows */
    add_summary_row(&s, "probe_flops", "f32", XL_F32, 100e9, "flop/s",
                    XL_ROW_OK);
    add_summary_row(&s, "probe_flops", "f64", XL_F64, NAN, "flop/s",
                    XL_ROW_UNSUPPORTED);
    add_summary_row(&s, "gemm", "a", XL_F32, 50e9, "flop/s", XL_ROW_OK);
    add_summary_row(&s, "gemm", "b", XL_F32, 70e9, "flop/s", XL_ROW_OK);
    add_summary_row(&s, "gemm", "c", XL_F32, 90e9, "flop/s", XL_ROW_REJECTED);
    add_summary_row(&s, "probe_launch", "round_trip", XL_N_DTYPES, 9e-6, "s",
                    XL_ROW_OK);
    add_summary_row(&s, "probe_launch", "round_trip", XL_N_DTYPES, 7e-6, "s",
                    XL_ROW_OK);
    summarise(&s, "d", out, sizeof out);
    assert_non_null(strstr(out, "f32 100 GFLOP/s"));
    assert_non_null(strstr(out, "f64 -"));
    assert_non_null(strstr(out, "f32 70 GFLOP/s 50%"));
    assert_non_null(strstr(out, "waited 7 us"));
    assert_non_null(strstr(out, "! 1 rejected, first gemm c"));
    assert_null(strstr(out, "softmax "));
    summary_clear(&s);
}

/* -- rows ----------------------------------------------------------------- */

static xl_row example_row(const char *variant, double m)
{
    xl_row row;
    xl_row_init(&row, "gemm", variant);
    xl_row_shape(&row, "m", m);
    xl_row_shape(&row, "n", 1023);
    xl_row_shape(&row, "k", 517);
    xl_row_param_text(&row, "trans", "nt");
    xl_row_param(&row, "alpha", 1);
    row.dtype = XL_F16;
    row.seed = UINT64_MAX;
    row.value = 1.5e12;
    row.unit = "flop/s";
    row.flop = 2.0 * m * 1023 * 517;
    row.samples.runs = 3;
    row.samples.ns[0] = 100;
    row.samples.ns[1] = 110;
    row.samples.ns[2] = 105;
    row.samples.median_ns = 105;
    row.samples.mad_ns = 5;
    return row;
}

static void common_settings_are_stated_once(void **state)
{
    struct result_table rows = {0};
    struct xl__str text = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        xl_row row = example_row("gemm_tiled", 100 + i);
        xl_row_param(&row, "ld", 2000 + i);
        xl_row_found(&row, "group", 64); /* shown, not in the id */
        xl_row_found(&row, "floor_B_per_s", 1e9 * i);
        xl_row_param_text(&row, "out", "f16"); /* the type of all: hidden */
        assert_true(result_table_add(&rows, NULL, &row));
    }
    result_table_common(&rows, &text);
    assert_string_equal(xl__str_text(&text),
                        "f16, trans=nt, alpha=1, group=64");
    xl__str_reset(&text);
    result_table_label(&rows, 1, &text);
    assert_string_equal(xl__str_text(&text),
                        "101x1023x517 ld=2001 floor=1 GB/s");
    xl__str_reset(&text);
    result_row_id(&text, &rows.list[0].row);
    assert_string_equal(xl__str_text(&text),
                        "gemm/gemm_tiled/m=100,n=1023,k=517/"
                        "trans=nt,alpha=1,ld=2000,out=f16/f16/hot");
    xl__str_clear(&text);
    result_table_clear(&rows);
}

/* As the commands read them. */
static void sizes_are_joined(void **state)
{
    static const struct {
        const char *names[7], *text;
        double sizes[7];
    } shapes[] = {
        {{"n", "h", "w", "c", "k", "r", "s"},
         "32x56x56x64:128x3x1",
         {32, 56, 56, 64, 128, 3, 1}},
        {{"batch", "heads", "q", "kv", "d"},
         "2x8x1x4096x64",
         {2, 8, 1, 4096, 64}},
        {{"batch", "heads", "q", "kv", "d"},
         "2x8x512x64",
         {2, 8, 512, 512, 64}},
        {{"m", "n", "k", "batch"}, "32^3 x10", {32, 32, 32, 10}},
        {{"rows", "cols"}, "64x1000000", {64, 1000000}},
        {{"queries", "keys", "columns"}, "1x64x64", {1, 64, 64}},
        {{"N", "TILE"}, "N=1024 TILE=8", {1024, 8}},
        {{"kv"}, "3", {3}},
    };
    struct xl__str text = {0};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        xl_row row;
        xl_row_init(&row, "op", "");
        for (unsigned k = 0; k < 7 && shapes[i].names[k]; k++)
            xl_row_shape(&row, shapes[i].names[k], shapes[i].sizes[k]);
        xl__str_reset(&text);
        result_add_shape(&text, &row);
        assert_string_equal(xl__str_text(&text), shapes[i].text);
    }
    xl__str_clear(&text);
}

static void lines_are_cases_or_kernels(void **state)
{
    struct result_table rows = {0};
    xl_device *one = (xl_device *)&rows, *two = (xl_device *)state;
    xl_row row = example_row("gemm_tiled", 8);
    assert_true(result_table_add(&rows, one, &row));
    row = example_row("gemm_ref", 8); /* the other device's own choice */
    assert_true(result_table_add(&rows, two, &row));
    assert_int_equal(rows.n_repeats, 0);
    assert_string_equal(rows.list[0].case_key.id, rows.list[1].case_key.id);
    assert_string_not_equal(rows.list[0].kernel_key.id,
                            rows.list[1].kernel_key.id);
    assert_true(result_table_add(&rows, one, &row)); /* --variant all */
    assert_int_equal(rows.n_repeats, 1);
    assert_int_equal(rows.list[2].kernel_key.repeat, 0);
    assert_int_equal(rows.list[2].case_key.repeat, 1);
    result_table_clear(&rows);
}

static void notes_are_unique(void **state)
{
    struct notes notes = {0};
    struct settings set = {.quick = false};
    struct xl__str marks = {0};
    xl_row row = example_row("gemm_ref", 8);
    (void)state;
    row.warnings = XL_WARN(NOISY) | XL_WARN(WALL_CLOCK);
    strcpy(row.reason, "above the bound");
    notes_add_row(&notes, &row, &set, &marks);
    assert_string_equal(xl__str_text(&marks), "1-3");
    xl__str_reset(&marks);
    row.reason[0] = '\0';
    notes_add_row(&notes, &row, &set, &marks);
    assert_string_equal(xl__str_text(&marks), "2,3");
    assert_int_equal(notes.n, 3);
    /* A reason about a warning has the advice of the warning. */
    xl__str_reset(&marks);
    strcpy(row.reason, "noisy: above the limit");
    notes_add_row(&notes, &row, &set, &marks);
    assert_string_equal(xl__str_text(&marks), "3,4");
    assert_non_null(strstr(notes.text[3], "noisy: above the limit; "));
    for (unsigned i = 0; i < XL_N_WARN; i++)
        assert_true(*warn_text(i) && *warn_code(i));
    xl__str_clear(&marks);
    notes_clear(&notes);
}

/* An expression's name is its label; kernels and gain have columns and are not
 * in it. */
static void expressions_are_labelled_by_name(void **state)
{
    static const struct {
        const char *name, *label;
    } cases[] = {{"adam", "adam"}, {"layer norm", "layer norm"}};
    struct result_table rows = {.list = NULL};
    struct xl__str text = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        xl_row row;
        xl_row_init(&row, "expr", "expr_fused");
        row.dtype = XL_F32;
        xl_row_shape(&row, "d0", 4096);
        xl_row_shape(&row, "d1", 512);
        xl_row_param_text(&row, "case", cases[i].name);
        xl_row_found(&row, "kernels", (double)i + 1);
        xl_row_found(&row, "gain", 5.5);
        assert_true(result_table_add(&rows, NULL, &row));
        assert_true(result_finding(&row, "kernels") == (double)i + 1);
        assert_true(isnan(result_finding(&row, "case")));
        if (i == 0) { /* of a single case, the sizes are the label */
            result_table_label(&rows, 0, &text);
            assert_string_equal(xl__str_text(&text), "4096x512");
            xl__str_reset(&text);
            result_table_common(&rows, &text);
            assert_string_equal(xl__str_text(&text), "f32, adam");
        }
    }
    for (size_t i = 0; i < 2; i++) {
        xl__str_reset(&text);
        result_table_label(&rows, i, &text);
        assert_string_equal(xl__str_text(&text), cases[i].label);
    }
    xl__str_reset(&text);
    result_table_common(&rows, &text);
    assert_string_equal(xl__str_text(&text), "f32");
    xl__str_clear(&text);
    result_table_clear(&rows);
}

/* -- JSON ----------------------------------------------------------------- */

static json_t *write_and_load(struct session *s, const xl_row *row)
{
    s->report = report_open(s);
    assert_non_null(s->report);
    session_section(s, ROWS_USUAL, "GEMM", NULL);
    s->pass = 1; /* passes before and after the row itself */
    session_row(s, NULL, row);
    s->pass = 0;
    session_row(s, NULL, row);
    s->pass = 2;
    session_row(s, NULL, row);
    s->pass = 0;
    /* After a section the file is a whole document. */
    session_section_end(s);
    json_t *early = json_load_file(s->set.json, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(early);
    json_decref(early);
    assert_int_equal(report_close(s->report), EXIT_FINE);
    return json_load_file(s->set.json, JSON_REJECT_DUPLICATES, NULL);
}

static void json_row_has_its_members(void **state)
{
    static const char *const members[] = {
        "id",    "device",  "op",     "variant",    "shape",     "params",
        "seed",  "dtype",   "runs",   "samples_ns", "median_ns", "mad_ns",
        "value", "unit",    "flop",   "bytes",      "roof",      "cache",
        "clock", "verdict", "reason", "warnings",   "diagnosis",
        "part",  "conditions", "passes", "found",    "lo_ns",     "hi_ns",
        "launch", "joules", "flop_per_joule", "batch", "warmup",
        "sampled_s"};
    (void)state;
    struct session s = {.command = &cmd_gemm};
    char path[512];
    snprintf(path, sizeof path, "%s/out.json", test_scratch("report"));
    s.set.json = path;
    s.set.quiet = true;
    s.extra = json_pack("{s:s}", "more", "of a command");
    xl_row row = example_row("gemm_tiled", 1000);
    row.warnings = XL_WARN(NOISY);
    json_t *root = write_and_load(&s, &row);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "schema")),
                        "clbench/1");
    assert_string_equal(json_string_value(json_object_get(root, "more")),
                        "of a command");
    assert_true(json_is_object(json_object_get(root, "tool")));
    assert_true(json_is_object(json_object_get(root, "host")));
    assert_true(json_is_object(json_object_get(root, "environment")));
    json_t *out = json_array_get(json_object_get(root, "rows"), 0);
    size_t n = sizeof members / sizeof members[0];
    assert_int_equal(json_object_size(out), n);
    for (size_t i = 0; i < n; i++)
        assert_non_null(json_object_get(out, members[i]));
    assert_string_equal(json_string_value(json_object_get(out, "seed")),
                        "18446744073709551615");
    assert_true(json_is_null(json_object_get(out, "roof")));
    assert_true(json_is_null(json_object_get(out, "bytes")));
    assert_true(json_is_null(json_object_get(out, "diagnosis")));
    assert_true(json_is_null(json_object_get(out, "conditions")));
    assert_true(json_is_null(json_object_get(out, "reason")));
    assert_int_equal(json_array_size(json_object_get(out, "samples_ns")), 3);
    const json_t *passes = json_object_get(out, "passes");
    assert_int_equal(json_array_size(passes), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(passes, 1),
                                                     "samples_ns")),
                     3);
    assert_true(s.n_rows == 1);
    json_decref(root);
    json_decref(s.extra);
}

static void json_numbers_are_exact(void **state)
{
    (void)state;
    json_t *value = json_number(NAN);
    assert_true(json_is_null(value));
    value = json_number(-INFINITY);
    assert_true(json_is_null(value));
    value = json_number(18446744073709551615.0);
    assert_string_equal(json_string_value(value), "18446744073709551616");
    json_decref(value);
    value = json_uint(INT64_MAX);
    assert_true(json_integer_value(value) == INT64_MAX);
    json_decref(value);
    value = json_number(0.1);
    assert_true(fabs(json_real_value(value) - 0.1) < 1e-17);
    json_decref(value);
}

static void json_needs_a_writable_file(void **state)
{
    (void)state;
    struct session s = {.command = &cmd_gemm};
    s.set.json = "/no/such/folder/out.json";
    assert_null(report_open(&s));
}

/* -- results -------------------------------------------------------------- */

static const char result[] =
    "{\"schema\":\"clbench/1\",\"devices\":[{\"index\":%d,\"name\":\"%s\"}],"
    "\"rows\":[{\"id\":\"x\",\"device\":%d,\"verdict\":\"%s\","
    "\"samples_ns\":[%s]}]}";

static const char *scratch; /* folder of the current test */

static void write_result(char *path, size_t cap, const char *name, int index,
                         const char *verdict, const char *samples)
{
    char text[1024];
    snprintf(path, cap, "%s/%s.json", scratch, name);
    int len = snprintf(text, sizeof text, result, index, name, index, verdict,
                       samples);
    assert_int_equal(xl__file_replace(path, text, (size_t)len), XL_OK);
}

/* A row read back has the id of the row that was written. */
static void row_ids_are_read_back(void **state)
{
    struct xl__str expected = {0}, got = {0};
    struct session s = {.command = &cmd_gemm};
    char path[512], why[256] = "";
    (void)state;
    snprintf(path, sizeof path, "%s/out.json", test_scratch("report"));
    s.set.json = path;
    s.extra = json_object();
    xl_row back, row = example_row("gemm_tiled", 1000);
    row.cold = true;
    json_decref(write_and_load(&s, &row));
    struct result_file f;
    assert_true(result_file_read(path, &f, why, sizeof why));
    assert_int_equal(f.n_rows, 1);
    result_identity(&f.rows[0], &back);
    result_row_id(&expected, &row);
    result_row_id(&got, &back);
    assert_string_equal(xl__str_text(&got), xl__str_text(&expected));
    assert_string_equal(f.rows[0].id, xl__str_text(&expected));
    xl__str_clear(&expected);
    xl__str_clear(&got);
    result_file_clear(&f);
    json_decref(s.extra);
}

static void rows_without_times_are_not_timed(void **state)
{
    static const struct {
        const char *verdict, *samples;
        bool timed;
    } cases[] = {
        {"ok", "1,2,3", true},      {"suspicious", "1,2", true},
        {"rejected", "1,2", false}, {"ok", "", false},
        {"ok", "1,0,3", false},     {"ok", "1,-3", false},
        {"ok", "1,\"2\"", false},   {"error", "", false},
    };
    (void)state;
    scratch = test_scratch("results");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct result_file f;
        char path[512], why[256] = "";
        write_result(path, sizeof path, "f", 0, cases[i].verdict,
                     cases[i].samples);
        assert_true(result_file_read(path, &f, why, sizeof why));
        assert_true(result_is_timed(&f.rows[0]) == cases[i].timed);
        result_file_clear(&f);
    }
}

static void other_files_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "not JSON"},
        {"{}", "not a result of clbench"},
        {"[]", "not a result of clbench"},
        {"{\"schema\":\"clbench/2\"}", "not a result of clbench"},
        {"{\"schema\":\"clbench/1\"}", "no devices or no rows"},
        {"{\"schema\":\"clbench/1\",\"devices\":3,\"rows\":[]}", "no devices"},
        {"{\"schema\":\"clbench/1\",\"devices\":[],\"rows\":[7]}",
         "without an id"},
        {"{\"schema\":\"clbench/1\",", "not JSON"},
    };
    (void)state;
    struct result_file f;
    char path[512], why[256] = "";
    snprintf(path, sizeof path, "%s/x.json", test_scratch("results"));
    assert_false(result_file_read(path, &f, why, sizeof why));
    assert_non_null(strstr(why, "cannot be read"));
    result_file_clear(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        assert_int_equal(xl__file_replace(path, text, strlen(text)), XL_OK);
        assert_false(result_file_read(path, &f, why, sizeof why));
        if (!strstr(why, cases[i].why))
            fail_msg("%s: %s", text, why);
        result_file_clear(&f);
    }
}

/* The suite has the quick extent without --quick. */
static void advice_fits_the_extent(void **state)
{
    const struct settings quick = {.quick = true}, usual = {.quick = false};
    (void)state;
    for (unsigned bit = 0; bit < XL_N_WARN; bit++) {
        const char *advice = warn_advice(bit, &quick);
        assert_true(!advice || !strstr(advice, "--quick"));
    }
    assert_non_null(strstr(warn_advice(XL_WARN_BIT_NOISY, &quick), "--full"));
    assert_null(strstr(warn_advice(XL_WARN_BIT_NOISY, &usual), "--full"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_have_three_digits),
        cmocka_unit_test(percents),
        cmocka_unit_test(shapes_are_read),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bytes_outside_utf8_are_escaped),
        cmocka_unit_test(cutting_counts_columns),
        cmocka_unit_test(nearest_name_is_found),
        cmocka_unit_test(terminal_obeys_variables),
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(progress_shows_time_left),
        cmocka_unit_test(time_left_never_rises),
        cmocka_unit_test(a_summary_is_a_screen),
        cmocka_unit_test(a_summary_keeps_the_best),
        cmocka_unit_test(common_settings_are_stated_once),
        cmocka_unit_test(sizes_are_joined),
        cmocka_unit_test(lines_are_cases_or_kernels),
        cmocka_unit_test(notes_are_unique),
        cmocka_unit_test(expressions_are_labelled_by_name),
        cmocka_unit_test(json_row_has_its_members),
        cmocka_unit_test(json_numbers_are_exact),
        cmocka_unit_test(json_needs_a_writable_file),
        cmocka_unit_test(row_ids_are_read_back),
        cmocka_unit_test(rows_without_times_are_not_timed),
        cmocka_unit_test(advice_fits_the_extent),
        cmocka_unit_test(other_files_are_refused),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
