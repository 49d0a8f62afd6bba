/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the text chart of the roofline: its width, its roof at the computed
 * position, kernels below it and never under a label. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "timing/roofs/peaks.h"
#include "charts/text_charts.h"

static const struct roof_line lines[] = {{"DRAM", 4e12, true},
                                         {"cache", 9e12, true},
                                         {"FMA", 64e12, false},
                                         {"matrix", 850e12, false}};

static char *drawn(const struct roof_mark *marks, unsigned n, unsigned columns)
{
    const struct roof_picture p = {lines, 4, marks, n};
    struct xl__str out = {0};
    roof_draw(&out, &p, columns);
    assert_false(out.broken);
    return xl__str_steal(&out);
}

/* Line and column of a letter that occurs once. */
static void place_of(const char *text, char letter, int *row, int *column)
{
    const char *line = text;
    *row = 0;
    for (const char *at = text; *at; at++) {
        if (*at == letter) {
            *column = (int)(at - line);
            return;
        }
        if (*at == '\n') {
            line = at + 1;
            ++*row;
        }
    }
    fail_msg("no %c in\n%s", letter, text);
}

static void no_line_is_too_wide(void **state)
{
    (void)state;
    const struct roof_mark mark = {100, 1e12, 'Q'};
    for (unsigned columns = 40; columns <= 140; columns += 20) {
        char *text = drawn(&mark, 1, columns);
        for (const char *at = text; *at;) {
            const size_t len = strcspn(at, "\n");
            assert_true(len <= columns);
            assert_true(len == 0 || at[len - 1] != ' ');
            at += len + 1;
        }
        free(text);
    }
}

static void names_are_all_there(void **state)
{
    (void)state;
    char *text = drawn(NULL, 0, 80);
    for (unsigned i = 0; i < 4; i++)
        if (!strstr(text, lines[i].name))
            fail_msg("no %s in\n%s", lines[i].name, text);
    assert_non_null(strstr(text, "flop/B"));
    free(text);
}

/* Twice the intensity is to the right, twice the rate above, by as much each
 * time. */
static void axes_are_logarithmic(void **state)
{
    (void)state;
    const struct roof_mark marks[] = {{4, 1e12, 'Q'},
                                      {16, 16e12, 'R'},
                                      {64, 256e12, 'S'}};
    int row[3], column[3];
    char *text = drawn(marks, 3, 80);
    for (int i = 0; i < 3; i++)
        place_of(text, "QRS"[i], &row[i], &column[i]);
    assert_in_range(column[1] - column[0] - (column[2] - column[1]) + 1, 0, 2);
    assert_in_range(row[0] - row[1] - (row[1] - row[2]) + 1, 0, 2);
    assert_true(column[1] > column[0] && row[1] < row[0]);
    free(text);
}

/* A kernel that reaches the roof is drawn on its line, which continues beside
 * it; one above the roof is not. */
static void kernels_on_the_roof_are_on_its_line(void **state)
{
    (void)state;
    const struct roof_mark marks[] = {{8, 32e12, 'Q'}, {8, 2e12, 'R'}};
    int row = 0, column = 0;
    char *text = drawn(marks, 2, 80);
    for (int i = 0; i < 2; i++) {
        place_of(text, "QR"[i], &row, &column);
        const char *line = text;
        for (int skip = 0; skip < row; skip++)
            line = strchr(line, '\n') + 1;
        const size_t len = strcspn(line, "\n");
        const size_t end = (size_t)column + 2 < len ? (size_t)column + 2 : len;
        const bool goes_on =
            memchr(line + column - 1, '/', end - (size_t)column + 1) != NULL;
        assert_int_equal(goes_on, i == 0);
    }
    free(text);
}

static void nothing_is_drawn_of_nothing(void **state)
{
    (void)state;
    const struct roof_picture p = {lines, 2, NULL, 0};
    struct xl__str out = {0};
    roof_draw(&out, &p, 80);
    assert_int_equal(out.len, 0);
    xl__str_clear(&out);
}

static void ceilings_are_facts(void **state)
{
    (void)state;
    for (unsigned i = 0; ceilings[i].fact; i++) {
        const char *name = NULL;
        bool is_fact = false;
        for (unsigned f = 0; (name = xl_fact_name(f, NULL)) != NULL; f++)
            is_fact = is_fact || strcmp(name, ceilings[i].fact) == 0;
        if (!is_fact)
            fail_msg("%s is no fact", ceilings[i].fact);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_too_wide),
        cmocka_unit_test(names_are_all_there),
        cmocka_unit_test(axes_are_logarithmic),
        cmocka_unit_test(kernels_on_the_roof_are_on_its_line),
        cmocka_unit_test(nothing_is_drawn_of_nothing),
        cmocka_unit_test(ceilings_are_facts),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
