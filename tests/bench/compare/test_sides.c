/* SPDX-License-Identifier: Apache-2.0 */
/* The same cases on several devices: which rows meet in a line, ratios of
 * rates and of times, marks of verdicts, and the width. Without a device. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "compare/sides.h"

/* -- what is shown, a line a line ----------------------------------------- */

static void see_text(void *arg, const char *text)
{
    xl__str_printf(arg, "%s\n", text);
}

/* Cells with one blank between them. */
static void see_table(void *arg, const struct table *t)
{
    const struct table_column *columns = NULL;
    const unsigned n = table_columns(t, &columns);
    for (unsigned c = 0; c < n; c++)
        xl__str_printf(arg, "%s%s", c ? " | " : "", columns[c].title);
    xl__str_add(arg, "\n");
    for (size_t i = 0; i < table_lines(t); i++)
        for (unsigned c = 0; c < n; c++)
            xl__str_printf(arg, "%s%s", table_text(t, i, c),
                           c + 1 < n ? " | " : "\n");
}

static void see_gap(void *arg)
{
    xl__str_add(arg, "\n");
}

static int keys[3]; /* of the devices */
static const struct side devices[] = {
    {&keys[0], "0: X"}, {&keys[1], "1: Y"}, {&keys[2], "2: Z"}};

static const char *show(struct result_table *rows, unsigned n_devices,
                        const char *kernel, unsigned width)
{
    static struct xl__str seen;
    const struct sides s = {.rows = rows,
                            .list = devices,
                            .n = n_devices,
                            .first = 'A',
                            .kernel = kernel};
    const struct display to = {&seen,     width, see_text, see_text,
                               see_table, NULL,  see_gap};
    xl__str_reset(&seen);
    sides_show(&s, &to);
    result_table_clear(rows);
    return xl__str_text(&seen);
}

static void add(struct result_table *rows, unsigned device,
                const char *variant, double size, double value,
                xl_verdict verdict)
{
    xl_row row;
    xl_row_init(&row, "gemm", variant);
    row.dtype = XL_F32;
    row.unit = "flop/s";
    row.value = value;
    row.verdict = verdict;
    xl_row_shape(&row, "m", size);
    xl_row_param(&row, "alpha", 1);
    assert_true(result_table_add(rows, &keys[device], &row));
}

static void has(const char *seen, const char *line)
{
    if (!strstr(seen, line))
        fail_msg("lacks '%s':\n%s", line, seen);
}

/* -- tests ---------------------------------------------------------------- */

static void a_line_is_a_case(void **state)
{
    (void)state;
    struct result_table rows = {.n = 0};
    add(&rows, 0, "gemm_cpu", 64, 4e9, XL_ROW_OK);
    add(&rows, 0, "gemm_tiled", 64, 1e9, XL_ROW_OK);
    add(&rows, 0, "gemm_cpu", 128, 5e9, XL_ROW_OK);
    add(&rows, 1, "gemm_tiled", 64, 8e9, XL_ROW_SUSPICIOUS);
    const char *seen = show(&rows, 2, NULL, 80);
    has(seen, "A = 0: X\nB = 1: Y\nBest of each");
    has(seen, "case | kernel | A | B | x A\n"
              "64 | A cpu, B tiled | 4 GFLOP/s | 8 GFLOP/s? | 2.00\n"
              "128 | cpu | 5 GFLOP/s | - | -\n");
    has(seen, "Same kernel\ncase | kernel | A | B | x A\n"
              "64 | tiled | 1 GFLOP/s | 8 GFLOP/s? | 8.00\n");
}

/* What is rejected has no ratio, and is not the best where another row is. */
static void verdicts_are_marked(void **state)
{
    (void)state;
    struct result_table rows = {.n = 0};
    add(&rows, 0, "gemm_cpu", 64, 9e9, XL_ROW_REJECTED);
    add(&rows, 0, "gemm_tiled", 64, 1e9, XL_ROW_OK);
    add(&rows, 1, "gemm_cpu", 64, 2e9, XL_ROW_REJECTED);
    add(&rows, 0, "gemm_tiled", 128, 1e9, XL_ROW_OK);
    add(&rows, 1, "gemm_tiled", 128, NAN, XL_ROW_UNSUPPORTED);
    const char *seen = show(&rows, 2, "gemm_ref", 80);
    has(seen, "64 | A tiled, B cpu | 1 GFLOP/s | 2 GFLOP/s! | -\n");
    has(seen, "128 | tiled | 1 GFLOP/s | unsupported | -\n");
    has(seen, "Same kernel: no device ran it");
}

/* Working sets differ; a time is better when it is less. */
static void probes_meet_by_what_they_measure(void **state)
{
    (void)state;
    struct result_table rows = {.n = 0};
    for (unsigned d = 0; d < 2; d++) {
        xl_row row;
        xl_row_init(&row, "probe_launch", "enqueue");
        row.unit = "s";
        row.value = d ? 4e-6 : 1e-6;
        row.verdict = XL_ROW_OK;
        row.dtype = XL_N_DTYPES;
        xl_row_param(&row, "group", d ? 64 : 1);
        assert_true(result_table_add(&rows, &keys[d], &row));
    }
    const char *seen = show(&rows, 2, NULL, 80);
    has(seen, "case | A | B | x A\nenqueue | 1 us | 4 us | 0.25\n");
    assert_null(strstr(seen, "Same kernel"));
}

/* A third device has a table of its own at 80 columns, and none in Markdown.
 */
static void tables_are_as_wide_as_there_is_room(void **state)
{
    (void)state;
    for (unsigned is_page = 0; is_page < 2; is_page++) {
        struct result_table rows = {.n = 0};
        for (unsigned d = 0; d < 3; d++)
            add(&rows, d, "gemm_tiled", 64, (d + 1) * 1e9, XL_ROW_OK);
        const char *seen = show(&rows, 3, NULL, is_page ? 0 : 80);
        has(seen, is_page ? "case | kernel | A | B | x A | C | x A\n"
                          : "case | kernel | A | C | x A\n"
                            "64 | tiled | 1 GFLOP/s | 3 GFLOP/s | 3.00");
        has(seen, "Same kernel: as above");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_case),
        cmocka_unit_test(verdicts_are_marked),
        cmocka_unit_test(probes_meet_by_what_they_measure),
        cmocka_unit_test(tables_are_as_wide_as_there_is_room),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
