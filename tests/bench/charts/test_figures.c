/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a synthetic document: axes and their ticks, marks at their
 * positions and as many as there are rows, labels that keep clear; and of
 * documents with each value replaced by an invalid one: a figure without a
 * coordinate that is NaN or infinite, or no figure. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "figure_document.h"
#include "charts/figure.h"
#include "results/json.h"
#include "charts/plot.h"
#include "report/figure_files.h"
#include "tiling/split_page.h"

static void assert_near(double got, double expected, double tol)
{
    if (!(fabs(got - expected) <= tol))
        fail_msg("%.9g, not %.9g", got, expected);
}

/* -- axes ----------------------------------------------------------------- */

static void ticks_are_whole(void **state)
{
    static const struct {
        double from, to;
        unsigned base, most, n;
        double at[8];
    } cases[] = {
        {0, 1, 0, 6, 6, {0, 0.2, 0.4, 0.6, 0.8, 1}},
        {0, 1, 0, 5, 3, {0, 0.5, 1}},
        {-3, 17, 0, 6, 4, {0, 5, 10, 15}},
        {1, 1e6, 10, 8, 7, {1, 10, 100, 1e3, 1e4, 1e5, 1e6}},
        {1, 1e6, 10, 4, 4, {1, 100, 1e4, 1e6}},
        {3, 70, 10, 8, 4, {5, 10, 20, 50}},
        {1000, 1100, 10, 6, 6, {1000, 1020, 1040, 1060, 1080, 1100}},
        {4, 4096, 2, 6, 6, {4, 16, 64, 256, 1024, 4096}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plot_axis a = plot_axis(cases[i].base, "1", "");
        double at[PLOT_MOST_TICKS];
        a.from = cases[i].from;
        a.to = cases[i].to;
        const unsigned n = plot_ticks(&a, cases[i].most, at);
        if (n != cases[i].n)
            fail_msg("case %zu: %u ticks, not %u", i, n, cases[i].n);
        for (unsigned t = 0; t < n; t++)
            assert_near(at[t], cases[i].at[t], 1e-9 * fabs(cases[i].to));
    }
}

/* Whatever the range, ticks are within it, in order, and not too many. */
static void ticks_stay_within(void **state)
{
    static const unsigned bases[] = {0, 2, 10};
    (void)state;
    for (unsigned b = 0; b < 3; b++)
        for (double from = 1e-12; from < 1e15; from *= 7.3)
            for (double to = from * 1.001; to < 1e20; to *= 3.1) {
                struct plot_axis a = plot_axis(bases[b], "1", "");
                double at[PLOT_MOST_TICKS], last = -INFINITY;
                a.from = from;
                a.to = to;
                const unsigned n = plot_ticks(&a, 7, at);
                assert_true(n <= 7);
                for (unsigned i = 0; i < n; i++) {
                    assert_true(at[i] > last);
                    assert_true(at[i] >= from - (to - from) * 1e-6);
                    assert_true(at[i] <= to * (1 + 1e-6));
                    last = at[i];
                }
            }
}

static void positions_follow_the_axes(void **state)
{
    struct plot p = {.left = 100, .top = 50, .width = 400, .height = 200,
                     .x = plot_axis(2, "B", ""), .y = plot_axis(0, "%", "")};
    struct plot_series s = {.n = 0};
    static const struct plot_point shown[] = {
        {.x = 1, .y = 0}, {.x = 16, .y = 1, .low = 0.5, .high = 2}};
    struct plot_point refused = {.x = 4, .y = (double)NAN};
    (void)state;
    assert_true(plot_add(&p, &s, &shown[1]));
    assert_true(plot_add(&p, &s, &shown[0]));
    assert_false(plot_add(&p, &s, &refused));
    refused.y = 1;
    refused.x = 0; /* a logarithmic axis has no 0 */
    assert_false(plot_add(&p, &s, &refused));
    refused.x = 1e300;
    assert_false(plot_add(&p, &s, &refused));
    assert_int_equal(s.n, 2);
    assert_near(p.y.to, 2, 0); /* room for the interval */
    assert_near(plot_x(&p, 4), 300, 1e-9);
    assert_near(plot_y(&p, 0.5), 200, 1e-9);
    plot_sort(&s);
    assert_near(s.at[0].x, 1, 0);
    plot_series_clear(&s);
}

/* As many labels as there is room for, none over another. */
static void labels_keep_clear(void **state)
{
    const struct plot p = {.left = 0, .top = 0, .width = 200, .height = 100};
    struct plot_labels *taken = calloc(1, sizeof *taken);
    struct xl__str out = {0};
    unsigned n = 0;
    (void)state;
    assert_non_null(taken);
    plot_reserve(taken, 100, 50, 12, 12);
    while (n < 100 && plot_label(&out, &p, taken, 100, 50, "label"))
        n++;
    assert_true(n >= 4);
    assert_int_equal(taken->n, n + 1);
    for (unsigned i = 0; i < taken->n; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct plot_box *a = &taken->box[i], *b = &taken->box[j];
            assert_true(a->left >= b->right || b->left >= a->right ||
                        a->top >= b->bottom || b->top >= a->bottom);
        }
    xl__str_clear(&out);
    free(taken);
}

/* -- figures -------------------------------------------------------------- */

static struct result_file read_document(json_t *document)
{
    struct result_file f;
    char why[160];
    if (!result_file_from(document, "made up", &f, why, sizeof why))
        fail_msg("%s", why);
    return f;
}

static bool draw(const struct figure *figure, const struct result_file *f,
                 struct xl__str *out)
{
    const json_t *devices = json_object_get(f->document, "devices");
    return figure->draw(f, json_array_get(devices, 0), out);
}

/* Draws a document; fails without a figure. */
static void draw_document(const struct figure *figure, json_t *document,
                          struct xl__str *out)
{
    struct result_file f = read_document(document);
    if (!draw(figure, &f, out))
        fail_msg("%s: nothing drawn", figure->name);
    result_file_clear(&f);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

/* The number of shapes with a tooltip. */
static unsigned count_marks(const struct xl__str *svg)
{
    return count(xl__str_text(svg), "><title>") -
           count(xl__str_text(svg), "<svg><title>");
}

/* The number of attribute `name` in the element whose tooltip has `tip`. */
static double read_attribute(const struct xl__str *svg, const char *tip,
                             const char *name)
{
    const char *at = strstr(xl__str_text(svg), tip);
    char text[32];
    assert_non_null(at);
    while (at > xl__str_text(svg) && strncmp(at, "\n<", 2) != 0)
        at--;
    snprintf(text, sizeof text, " %s=\"", name);
    const char *found = strstr(at, text);
    assert_non_null(found);
    return strtod(found + strlen(text), NULL);
}

static const struct {
    const struct figure *figure;
    unsigned marks;
} expected_marks[] = {
    {&figure_roofline, N_PRODUCTS},
    {&figure_gemm, N_PRODUCTS},
    {&figure_softmax, N_SHARES},
    {&figure_expr, N_SHARES},
    {&figure_conv, 1},
    {&figure_cache, N_CHASED},
    {&figure_bandwidth, 5}, /* the last-level cache was not measured */
    {&figure_coalescing, 2 * N_STRIDES + 3},
    {&figure_banks, 3},
    {&figure_transfer, 3},
    {&figure_pipeline, N_COMMANDS},
};

static void every_row_has_a_mark(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expected_marks / sizeof *expected_marks;
         i++) {
        struct xl__str svg = {0};
        draw_document(expected_marks[i].figure, figure_document(), &svg);
        if (count_marks(&svg) != expected_marks[i].marks)
            fail_msg("%s: %u marks, not %u", expected_marks[i].figure->name,
                     count_marks(&svg), expected_marks[i].marks);
        xl__str_clear(&svg);
    }
}

static void rows_that_are_not_ok_have_none(void **state)
{
    static const char *const verdicts[] = {"rejected", "error", "unsupported"};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        json_t *d = figure_document();
        struct xl__str members = {0}, svg = {0};
        xl__str_printf(&members,
                       "\"shape\": {\"m\": 64, \"n\": 64, \"k\": 64}, "
                       "\"value\": 1e12, \"flop\": 1e6, \"bytes\": 1e5, "
                       "\"verdict\": \"%s\"", verdicts[i]);
        figure_document_add(d, "gemm", "gemm_tiled", xl__str_text(&members));
        draw_document(&figure_gemm, json_incref(d), &svg);
        assert_int_equal(count_marks(&svg), N_PRODUCTS);
        xl__str_reset(&svg);
        draw_document(&figure_roofline, d, &svg);
        assert_int_equal(count_marks(&svg), N_PRODUCTS);
        xl__str_clear(&svg);
        xl__str_clear(&members);
    }
}

/* A kernel at the peak, with the intensity of the ridge, is where the line of
 * the memory ends. */
static void ridge_is_where_lines_cross(void **state)
{
    json_t *d = figure_document();
    struct xl__str svg = {0};
    double x, y;
    char end[64];
    (void)state;
    figure_document_add(d, "gemm", "gemm_best",
                        "\"value\": 1e13, \"unit\": \"flop/s\", \"flop\": "
                        "1e7, \"bytes\": 1e6, \"median_ns\": 1000");
    draw_document(&figure_roofline, d, &svg);
    const char *tip = strstr(xl__str_text(&svg), "<title>gemm gemm_best");
    assert_non_null(tip);
    while (strncmp(tip, "\n<path", 6) != 0)
        tip--;
    assert_int_equal(sscanf(tip, "\n<path d=\"M%lf %lf", &x, &y), 2);
    snprintf(end, sizeof end, "x2=\"%.1f\" y2=\"%.1f\"", x, y);
    assert_non_null(strstr(xl__str_text(&svg), end));
    /* Ceilings that were not measured have their source. */
    assert_non_null(strstr(xl__str_text(&svg), "4 TB/s (assumed)"));
    xl__str_clear(&svg);
}

static void bars_are_as_long_as_their_shares(void **state)
{
    struct xl__str svg = {0};
    (void)state;
    draw_document(&figure_softmax, figure_document(), &svg);
    const double half = read_attribute(&svg, ", 64x1024 f32:", "width");
    const double whole = read_attribute(&svg, ", 64x2048 f32:", "width");
    assert_near(half / whole, 0.5, 1e-3);
    /* The suspicious one is an outline. */
    assert_int_equal(count(xl__str_text(&svg), "fill=\"none\""), 1);
    assert_non_null(strstr(xl__str_text(&svg),
                           "suspicious: &lt;noisy&gt; &amp; &quot;odd&quot;"));
    xl__str_clear(&svg);
}

static void timeline_has_one_scale(void **state)
{
    struct xl__str svg = {0};
    (void)state;
    draw_document(&figure_pipeline, figure_document(), &svg);
    const double up = read_attribute(&svg, "write Q:", "width");
    const double run = read_attribute(&svg, "gemm:", "width");
    const double at = read_attribute(&svg, "write Q:", "x");
    assert_near((up + 0.4) / (run + 0.4), 2, 0.01);
    assert_near(read_attribute(&svg, "gemm:", "x"), at + up + 0.4, 0.02);
    assert_near(read_attribute(&svg, "read:", "x"), at + 1.5 * (up + 0.4),
                0.02);
    assert_true(read_attribute(&svg, "gemm:", "y") >
                read_attribute(&svg, "write Q:", "y"));
    xl__str_clear(&svg);
}

static void headlines_have_the_findings(void **state)
{
    static const struct {
        const struct figure *figure;
        const char *text;
    } cases[] = {
        {&figure_cache, ">L1 32 KiB in 1 ns, DRAM in 100 ns<"},
        {&figure_coalescing, ">Memory moves granules of 64 B<"},
        {&figure_banks, ">32 banks; the worst stride is 4 times as slow<"},
        {&figure_gemm, ">8 TFLOP/s at best: 2048 f16<"},
        {&figure_gemm, ">m = n = k<"},
        {&figure_softmax, ">50% to 100% of the measured copy<"},
        {&figure_bandwidth, ">8 TB/s (first cache, read) to 60 GB/s"},
        {&figure_transfer, ">4.10 GB/s to the device, 0 B/s back<"},
        {&figure_pipeline, ">qk f16: bound by upload, 50% of the fastest"},
        {&figure_split, ">Split of gemm 300 f32<"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str svg = {0};
        draw_document(cases[i].figure, figure_document(), &svg);
        if (!strstr(xl__str_text(&svg), cases[i].text))
            fail_msg("%s: no '%s' in %s", cases[i].figure->name,
                     cases[i].text, xl__str_text(&svg));
        xl__str_clear(&svg);
    }
}

/* A figure is of one device of several. */
static void other_devices_are_left_out(void **state)
{
    json_t *d = figure_document();
    json_t *rows = json_object_get(d, "rows");
    struct result_file f;
    (void)state;
    json_array_append_new(json_object_get(d, "devices"),
                          json_pack("{s:i,s:s}", "index", 1, "name", "other"));
    for (size_t i = 0; i < json_array_size(rows); i++)
        json_put(json_array_get(rows, i), "device", json_integer(1));
    f = read_document(d);
    for (size_t i = 0; figures[i]; i++) {
        struct xl__str svg = {0};
        if (figures[i] == &figure_pipeline || figures[i] == &figure_split)
            continue;                       /* their members name the device */
        if (figures[i] != &figure_roofline) /* it has ceilings to show */
            assert_false(draw(figures[i], &f, &svg));
        else if (draw(figures[i], &f, &svg))
            assert_int_equal(count_marks(&svg), 0);
        xl__str_clear(&svg);
    }
    result_file_clear(&f);
}

/* -- reading a split ------------------------------------------------------ */

static void split_is_read_back(void **state)
{
    json_t *d = figure_document();
    json_t *entry = json_array_get(json_object_get(d, "split"), 0);
    struct split_page p;
    (void)state;
    assert_true(split_read(entry, &p));
    json_t *again = split_json(&p);
    json_put(again, "device", json_integer(0));
    assert_true(json_equal(entry, again));
    json_decref(again);
    split_page_clear(&p);
    json_decref(d);
}

/* Tiles on units that do not exist, that end before they begin or after the
 * launch; a number of tiles that the record does not have. */
static void impossible_splits_are_refused(void **state)
{
    static const struct {
        const char *list; /* of the record; NULL: a number of the tiling */
        const char *name;
        double value;
    } cases[] = {{"unit", NULL, 8},          {"unit", NULL, -1},
                 {"start_ns", NULL, -5},     {"end_ns", NULL, 1e6},
                 {"start_ns", NULL, 1e6},    {NULL, "whole", 24},
                 {NULL, "tiles_m", 6},       {NULL, "band", 0},
                 {NULL, "groups", 0},        {NULL, "cols", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *d = figure_document();
        json_t *entry = json_array_get(json_object_get(d, "split"), 0);
        struct split_page p;
        if (cases[i].list)
            json_array_set_new(
                json_object_get(json_object_get(entry, "model"),
                                cases[i].list),
                3, json_number(cases[i].value));
        else
            json_put(json_object_get(entry, "tiling"), cases[i].name,
                     json_number(cases[i].value));
        if (split_read(entry, &p))
            fail_msg("case %zu was accepted", i);
        json_decref(d);
    }
}

/* -- invalid values ------------------------------------------------------- */

/* No coordinate is "nan" or "inf", and elements are closed in order. */
static void assert_well_formed(const char *svg, const char *figure)
{
    enum { DEEPEST = 16 };
    const char *open[DEEPEST];
    size_t len[DEEPEST], depth = 0;
    for (const char *at = svg; (at = strchr(at, '<')) != NULL; at++) {
        const char *end = strchr(at, '>');
        if (!end)
            fail_msg("%s: an element has no end", figure);
        for (const char *c = at; c < end; c++)
            if (*c == '"' && (strncmp(c + 1, "nan", 3) == 0 ||
                              strncmp(c + 1, "inf", 3) == 0 ||
                              strncmp(c + 1, "-nan", 4) == 0 ||
                              strncmp(c + 1, "-inf", 4) == 0))
                fail_msg("%s: %.*s", figure, (int)(end - at), at);
        if (at[1] == '/') {
            depth--;
            if (depth >= DEEPEST ||
                strncmp(open[depth], at + 2, len[depth]) != 0)
                fail_msg("%s: closed out of order: %.60s", figure, at);
        } else if (end[-1] != '/') {
            assert_true(depth < DEEPEST);
            open[depth] = at + 1;
            len[depth++] = strcspn(at + 1, " >");
        }
    }
    assert_int_equal(depth, 0);
}

/* All figures, or `only`. */
static void draw_invalid(const json_t *document, const struct figure *only)
{
    static const char before[] = "before";
    struct result_file f;
    char why[160];
    if (!result_file_from(json_deep_copy(document), "made up", &f, why,
                          sizeof why)) {
        result_file_clear(&f);
        return;
    }
    for (size_t i = 0; figures[i]; i++) {
        struct xl__str svg = {0};
        if (only && figures[i] != only)
            continue;
        xl__str_add(&svg, before);
        if (draw(figures[i], &f, &svg))
            assert_well_formed(xl__str_text(&svg) + strlen(before),
                               figures[i]->name);
        else
            assert_string_equal(xl__str_text(&svg), before);
        xl__str_clear(&svg);
    }
    result_file_clear(&f);
}

/* Replaces each value of the document by each of a few invalid ones; of long
 * lists only the first values. */
static void replace_values(json_t *document, json_t *in,
                           const struct figure *only)
{
    enum { N_FIRST = 2 };
    static const char *const invalid[] = {"null",  "-1",         "0",
                                          "1e300", "2000000000", "\"\""};
    const size_t n = json_is_object(in) ? json_object_size(in)
                                        : json_array_size(in);
    void *at = json_object_iter(in);
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_is_object(in) ? json_object_iter_value(at)
                                           : json_array_get(in, i);
        if (json_is_array(in) && i >= N_FIRST && !json_is_object(value))
            break;
        json_incref(value);
        for (size_t o = 0; o < sizeof invalid / sizeof *invalid; o++) {
            json_t *replacement =
                json_loads(invalid[o], JSON_DECODE_ANY, NULL);
            if (json_is_object(in))
                json_object_iter_set_new(in, at, replacement);
            else
                json_array_set_new(in, i, replacement);
            draw_invalid(document, only);
        }
        if (json_is_object(in))
            json_object_iter_set(in, at, value);
        else
            json_array_set(in, i, value);
        replace_values(document, value, only);
        json_decref(value);
        at = json_is_object(in) ? json_object_iter_next(in, at) : NULL;
    }
}

static void invalid_members_are_no_coordinates(void **state)
{
    static const struct {
        const char *name;
        const struct figure *only;
    } members[] = {{"pipeline", &figure_pipeline},
                   {"split", &figure_split},
                   {"devices", NULL}};
    json_t *d = figure_document();
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        replace_values(d, json_object_get(d, members[i].name),
                       members[i].only);
    json_decref(d);
}

/* A document with the rows of one op, so that little is drawn. */
static json_t *keep_rows(const char *op)
{
    static const char *const unread[] = {"runs", "mad_ns", "cache", "seed"};
    json_t *d = figure_document();
    json_t *rows = json_object_get(d, "rows");
    json_object_del(d, "split");
    json_object_del(d, "pipeline");
    for (size_t i = json_array_size(rows); i-- > 0;) {
        json_t *row = json_array_get(rows, i);
        for (size_t m = 0; m < sizeof unread / sizeof *unread; m++)
            json_object_del(row, unread[m]);
        if (strcmp(json_text_at(row, "op"), op) != 0)
            json_array_remove(rows, i);
    }
    return d;
}

/* The first row of each variant: others are of the same form. */
static void invalid_rows_are_no_coordinates(void **state)
{
    static const char *const ops[] = {
        "gemm", "conv", "softmax", "expr", "probe_cache", "probe_bandwidth",
        "probe_coalescing", "probe_local", "probe_transfer"};
    (void)state;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        json_t *d = keep_rows(ops[o]);
        json_t *rows = json_object_get(d, "rows");
        const char *last = "";
        for (size_t i = 0; i < json_array_size(rows); i++) {
            json_t *row = json_array_get(rows, i);
            if (strcmp(json_text_at(row, "variant"), last) != 0)
                replace_values(d, row, NULL);
            last = json_text_at(row, "variant");
        }
        json_decref(d);
    }
}

static void empty_documents_have_no_figures(void **state)
{
    static const char *const texts[] = {
        "{\"schema\": \"clbench/1\", \"devices\": [], \"rows\": []}",
        "{\"schema\": \"clbench/1\", \"devices\": [{}], \"rows\": []}",
        "{\"schema\": \"clbench/1\", \"devices\": [7], \"rows\": [], "
        "\"split\": 3, \"pipeline\": {}}"};
    (void)state;
    for (unsigned t = 0; t < 3; t++) {
        struct result_file f = read_document(json_loads(texts[t], 0, NULL));
        for (size_t i = 0; figures[i]; i++) {
            struct xl__str svg = {0};
            assert_false(draw(figures[i], &f, &svg));
            assert_int_equal(svg.len, 0);
        }
        result_file_clear(&f);
    }
}

/* Writes the figures for check_svg.py. */
static void written_for_others(void **state)
{
    const char *folder = getenv("XL_TEST_FIGURES");
    struct result_file f = read_document(figure_document());
    (void)state;
    for (size_t i = 0; folder && figures[i]; i++) {
        struct xl__str svg = {0}, name = {0};
        if (draw(figures[i], &f, &svg)) {
            xl__str_printf(&name, "%s/%s.svg", folder, figures[i]->name);
            assert_int_equal(xl__file_replace(xl__str_text(&name), svg.text,
                                              svg.len),
                             XL_OK);
        }
        xl__str_clear(&svg);
        xl__str_clear(&name);
    }
    result_file_clear(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_whole),
        cmocka_unit_test(ticks_stay_within),
        cmocka_unit_test(positions_follow_the_axes),
        cmocka_unit_test(labels_keep_clear),
        cmocka_unit_test(every_row_has_a_mark),
        cmocka_unit_test(rows_that_are_not_ok_have_none),
        cmocka_unit_test(ridge_is_where_lines_cross),
        cmocka_unit_test(bars_are_as_long_as_their_shares),
        cmocka_unit_test(timeline_has_one_scale),
        cmocka_unit_test(headlines_have_the_findings),
        cmocka_unit_test(other_devices_are_left_out),
        cmocka_unit_test(split_is_read_back),
        cmocka_unit_test(impossible_splits_are_refused),
        cmocka_unit_test(invalid_members_are_no_coordinates),
        cmocka_unit_test(invalid_rows_are_no_coordinates),
        cmocka_unit_test(empty_documents_have_no_figures),
        cmocka_unit_test(written_for_others),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
