/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench split` without a device: which tile is whose, the model against
 * what is worked out by hand, figures of records made up here, the sawtooth
 * against every size looked at, and what becomes of a group's raw record. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "charts/text_charts.h"
#include "measure/compute/workgroup_trace.h"
#include "tiling/sawtooth.h"
#include "tiling/split_grid.h"
#include "tiling/split_page.h"
#include "charts/svg.h"

static void assert_near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("%.9g, not %.9g", got, want);
}

/* -- tiles ---------------------------------------------------------------- */

static void toy_engine_is_256_tiles(void **state)
{
    const xl_tiling t = split_tiling(128, 128, 8, 8);
    (void)state;
    assert_int_equal(split_pieces(&t), 256);
    assert_int_equal(t.tiles_m, 16);
    assert_near(split_area(&t), 1, 0);
    const xl_tiling huge = split_tiling(SIZE_MAX / 2, SIZE_MAX / 2, 1, 1);
    assert_int_equal(split_pieces(&huge), 0);
}

/* Bands of two rows, walked column by column; five rows end in half a band. */
static void bands_are_walked_by_columns(void **state)
{
    static const size_t want[5][3] = {
        {0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}, {12, 13, 14}};
    xl_tiling t = split_tiling(5, 3, 1, 1);
    (void)state;
    t.band = 2;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(split_piece_at(&t, i, j, 0), want[i][j]);
    xl_tiling turned = split_tiling(3, 5, 1, 1);
    turned.band = 2;
    turned.turned = true;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(split_piece_at(&turned, j, i, 0), want[i][j]);
}

static void check_each_once(const xl_tiling *t)
{
    const size_t n = t->tiles_m * t->tiles_n * t->count;
    unsigned char *met = calloc(n, 1);
    assert_non_null(met);
    for (size_t z = 0; z < t->count; z++)
        for (size_t i = 0; i < t->tiles_m; i++)
            for (size_t j = 0; j < t->tiles_n; j++) {
                const size_t p = split_piece_at(t, i, j, z);
                assert_true(p < n);
                assert_int_equal(met[p]++, 0);
            }
    free(met);
}

static void each_tile_is_one_piece(void **state)
{
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 3);
    for (unsigned i = 0; i < 300; i++) {
        xl_tiling t = split_tiling(1 + xl__rng_below(&rng, 40),
                                   1 + xl__rng_below(&rng, 40), 1, 1);
        t.band = 1 + xl__rng_below(&rng, 9);
        t.count = 1 + xl__rng_below(&rng, 3);
        t.turned = xl__rng_below(&rng, 2) == 1;
        t.whole *= t.count;
        check_each_once(&t);
    }
}

/* 25 tiles, the last 5 among 8 groups. */
static xl_tiling cut_tiling(void)
{
    xl_tiling t = split_tiling(5, 5, 1, 1);
    t.whole = 20;
    t.sharers = 8;
    t.groups = 28;
    return t;
}

static void cut_tiles_are_all_there(void **state)
{
    const xl_tiling t = cut_tiling();
    double work = 0;
    (void)state;
    assert_int_equal(split_pieces(&t), 28);
    for (size_t p = 0; p < 28; p++)
        work += split_piece_frac(&t, p);
    assert_near(work, 25, 1e-12);
    assert_int_equal(split_piece_at(&t, 4, 0, 0), 20);
    assert_int_equal(split_piece_at(&t, 4, 4, 0), 26);
}

static void grids_show_what_fits(void **state)
{
    const xl_tiling wide = split_tiling(1000, 1000, 1, 10);
    const struct split_grid g = split_grid(&wide, 16, 64);
    xl_tiling rows = split_tiling(130, 1, 1, 1);
    (void)state;
    assert_true(g.is_map);
    assert_int_equal(g.rows, 16);
    assert_int_equal(g.cols, 64);
    assert_int_equal(split_grid_piece(&g, 0, 0), 0);
    assert_true(split_grid_piece(&g, 15, 63) < split_pieces(&wide));
    /* A column of tiles stands in lines. */
    const struct split_grid line = split_grid(&rows, 16, 64);
    assert_false(line.is_map);
    assert_int_equal(line.rows, 3);
    assert_int_equal(split_grid_piece(&line, 2, 1), 129);
    assert_int_equal(split_grid_piece(&line, 2, 2), SIZE_MAX);
}

/* -- the model ------------------------------------------------------------ */

static void model_of(const xl_tiling *t, unsigned units, unsigned beside,
                     struct split_load *out)
{
    struct split_record r;
    assert_true(split_model(t, units, beside, 1, &r));
    assert_true(split_load_of(&r, out, NULL));
    split_record_clear(&r);
}

/* What was worked out by hand, out of the model's own records. */
static void model_has_the_waves_worked_out(void **state)
{
    static const struct {
        size_t n;
        double tiles, waves[2], fill; /* on 108 and 132 units; on 132 */
    } cases[] = {{1792, 98, {1, 1}, 0.74},
                 {1793, 120, {2, 1}, 0.91},
                 {2048, 128, {2, 1}, 0.97},
                 {2049, 153, {2, 2}, 0.58}};
    static const unsigned units[2] = {108, 132};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const xl_tiling t = split_tiling(cases[i].n, cases[i].n, 256, 128);
        assert_near((double)split_pieces(&t), cases[i].tiles, 0);
        for (unsigned u = 0; u < 2; u++) {
            struct split_record r;
            assert_true(split_model(&t, units[u], 1, 1, &r));
            assert_near(r.total_ns, cases[i].waves[u], 0);
            split_record_clear(&r);
        }
        struct split_load load;
        model_of(&t, 132, 1, &load);
        assert_near(load.busy, cases[i].fill, 0.005);
    }
    const xl_tiling t = split_tiling(2049, 2049, 256, 128);
    assert_near(split_area(&t), 0.837, 0.0005);
}

static void last_waves_make_tails(void **state)
{
    const xl_tiling t = split_tiling(2049, 2049, 256, 128);
    struct split_load load;
    (void)state;
    model_of(&t, 132, 1, &load);
    assert_int_equal(load.used, 132);
    assert_int_equal(load.least, 1);
    assert_int_equal(load.most, 2);
    assert_int_equal(load.beside, 1);
    assert_near(load.tail, 0.5, 1e-12);
    assert_near(load.busy_least, 0.5, 1e-12);
    assert_near(load.imbalance, 2 * 132 / 153.0, 1e-12);
    /* Room for two: all at once, some units have one and some two. */
    model_of(&t, 132, 2, &load);
    assert_int_equal(load.beside, 2);
    assert_near(load.tail, 0, 1e-12);
    assert_near(load.imbalance, 1, 1e-12);
    /* Fewer tiles than units: the rest has nothing. */
    const xl_tiling few = split_tiling(10, 1, 1, 1);
    model_of(&few, 16, 1, &load);
    assert_int_equal(load.used, 10);
    assert_near(load.busy, 10 / 16.0, 1e-12);
    assert_near(load.tail, 0, 1e-12);
}

/* Groups that stay do tile after tile; cut tiles are shorter. */
static void groups_that_stay_take_turns(void **state)
{
    xl_tiling t = split_tiling(2049, 2049, 256, 128), cut = cut_tiling();
    struct split_record r;
    (void)state;
    t.groups = 132;
    assert_true(split_model(&t, 132, 1, 1, &r));
    assert_near(r.total_ns, 2, 0);
    assert_int_equal(r.piece[132].unit, r.piece[0].unit);
    assert_near(r.piece[132].start_ns, r.piece[0].end_ns, 0);
    split_record_clear(&r);
    assert_true(split_model(&cut, 28, 1, 1, &r));
    assert_near(r.piece[27].end_ns, 5 / 8.0, 1e-12);
    split_record_clear(&r);
}

/* -- figures of a record -------------------------------------------------- */

/* Unit 0: two beside one another, a pause, one more; unit 2: one. Unit 1 has
 * nothing. */
static xl_piece_record made_up[] = {
    {2, 1, 5}, {0, 6, 10}, {0, 0, 2}, {0, 1, 4}};
static const struct split_record made = {made_up, 4, 3, 10, true};

static void pieces_beside_one_another_count_once(void **state)
{
    struct split_load load;
    double busy[3] = {0, 0, 0}, share[5];
    (void)state;
    assert_true(split_load_of(&made, &load, busy));
    assert_int_equal(load.used, 2);
    assert_int_equal(load.least, 1);
    assert_int_equal(load.most, 3);
    assert_int_equal(load.beside, 2);
    assert_near(busy[0], 0.8, 1e-12);
    assert_near(busy[1], 0, 0);
    assert_near(busy[2], 0.4, 1e-12);
    assert_near(load.busy, 0.4, 1e-12);
    assert_near(load.tail, 0.5, 1e-12);
    assert_near(load.imbalance, 0.8 / 0.6, 1e-12);
    assert_true(split_curve(&made, share, 5));
    static const double want[5] = {1.5 / 3, 2 / 3.0, 0.5 / 3, 1 / 3.0,
                                   1 / 3.0};
    for (unsigned i = 0; i < 5; i++)
        assert_near(share[i], want[i], 1e-12);
}

/* The mean of the curve is the mean busy share, whatever the record. */
static void curves_keep_the_time(void **state)
{
    enum { N = 500, SPANS = 37 };
    static xl_piece_record piece[N];
    struct split_record r = {piece, N, 20, 100, true};
    struct split_load load;
    struct xl__rng rng;
    double share[SPANS], sum = 0;
    (void)state;
    xl__rng_seed(&rng, 11);
    for (unsigned i = 0; i < N; i++) {
        const double from = 99 * xl__rng_uniform(&rng);
        piece[i] = (xl_piece_record){
            (unsigned)xl__rng_below(&rng, 17), from,
            fmin(100, from + 3 * xl__rng_uniform(&rng))};
    }
    assert_true(split_load_of(&r, &load, NULL));
    assert_true(split_curve(&r, share, SPANS));
    for (unsigned i = 0; i < SPANS; i++)
        sum += share[i];
    assert_near(sum / SPANS, load.busy, 1e-9);
}

static void without_a_clock_nothing_is_said_of_time(void **state)
{
    struct split_record r = made;
    struct split_load load;
    double share[2];
    (void)state;
    r.has_clock = false;
    assert_true(split_load_of(&r, &load, NULL));
    assert_int_equal(load.used, 2);
    assert_true(isnan(load.busy) && isnan(load.tail) &&
                isnan(load.imbalance));
    assert_false(split_curve(&r, share, 2));
}

/* -- the sawtooth --------------------------------------------------------- */

static void teeth_are_those_of_every_size(void **state)
{
    enum { COLUMNS = 23 };
    static const struct sawtooth saws[] = {
        {2048, 2048, true, true, 256, 128, 1, 132},
        {77, 500, false, true, 32, 48, 3, 8},
        {500, 77, true, false, 7, 64, 1, 2}};
    const struct sawtooth_range r = {401, 803};
    (void)state;
    for (size_t i = 0; i < sizeof saws / sizeof *saws; i++) {
        double best = 0, least = INFINITY, most = 0;
        for (size_t n = r.from; n <= r.to; n++)
            best = fmax(best, sawtooth_at(&saws[i], n).share);
        const struct sawtooth_point found = sawtooth_best(&saws[i], r);
        assert_near(found.share, best, 0);
        assert_true(found.size >= r.from && found.size <= r.to);
        for (size_t n = r.from; n < found.size; n++)
            assert_true(sawtooth_at(&saws[i], n).share < best);
        for (unsigned c = 0; c < COLUMNS; c++) {
            const struct sawtooth_span s =
                sawtooth_span(&saws[i], r, c, COLUMNS);
            least = fmin(least, s.least);
            most = fmax(most, s.most);
        }
        assert_near(most, best, 0);
        for (size_t n = r.from; n <= r.to; n++)
            assert_true(sawtooth_at(&saws[i], n).share >= least);
    }
}

static void the_cliff_is_behind_2048(void **state)
{
    const struct sawtooth s = {0, 0, true, true, 256, 128, 1, 132};
    const struct sawtooth_range r = {1780, 2060};
    (void)state;
    assert_int_equal(sawtooth_best(&s, r).size, 2048);
    assert_near(sawtooth_at(&s, 2048).share, 0.97, 0.005);
    assert_near(sawtooth_at(&s, 2049).share, 0.58 * 0.837, 0.005);
    assert_int_equal(sawtooth_around(2048).from, 1536);
    assert_int_equal(sawtooth_around(1).from, 1);
}

/* -- what groups wrote ---------------------------------------------------- */

static void raw_records_get_numbers_and_times(void **state)
{
    const struct xl__trace_record raw[] = {{0x7000, 1100, 1300, 0},
                                           {0x1000, 1000, 1200, 0},
                                           {0x7000, 1300, 1500, 0}};
    xl_piece_record out[3];
    xl_watched about = {.n_units = 0};
    (void)state;
    assert_true(xl__trace_read(raw, 3, 0.5, out, &about));
    assert_int_equal(about.n_units, 2);
    assert_true(about.has_clock);
    assert_near(about.total_ns, 250, 0);
    assert_int_equal(out[0].unit, 1);
    assert_int_equal(out[1].unit, 0);
    assert_near(out[0].start_ns, 50, 0);
    assert_near(out[2].end_ns, 250, 0);
    assert_true(xl__trace_is_serial(out, 3));
    out[2].start_ns -= 1; /* now beside the one before, on the same unit */
    assert_false(xl__trace_is_serial(out, 3));
}

/* Nanoseconds since 1970 lie 256 apart as doubles. */
static void large_clocks_keep_their_steps(void **state)
{
    static const cl_ulong now = 1763780000000000000;
    const struct xl__trace_record raw[] = {{0, now + 1, now + 4, 0},
                                           {1, now + 3, now + 8, 0}};
    xl_piece_record out[2];
    xl_watched about;
    (void)state;
    assert_true(xl__trace_read(raw, 2, 1, out, &about));
    assert_true(about.has_clock);
    assert_near(about.total_ns, 7, 0);
    assert_near(out[0].end_ns, 3, 0);
    assert_near(out[1].start_ns, 2, 0);
}

static void clocks_that_cannot_be_are_dropped(void **state)
{
    const struct xl__trace_record back[] = {{0, 100, 200, 0},
                                            {1, 150, 140, 0}};
    const struct xl__trace_record none[] = {{0, 0, 0, 0}, {1, 0, 0, 0}};
    xl_piece_record out[2];
    xl_watched about;
    (void)state;
    assert_true(xl__trace_read(back, 2, 1, out, &about));
    assert_false(about.has_clock);
    assert_true(isnan(out[0].start_ns));
    assert_int_equal(about.n_units, 2);
    assert_true(xl__trace_read(none, 2, 1, out, &about));
    assert_false(about.has_clock);
    assert_true(xl__trace_read(back, 1, (double)NAN, out, &about));
    assert_false(about.has_clock);
}

/* -- letters and pictures ------------------------------------------------- */

static void charts_reach_their_shares(void **state)
{
    static const double most[] = {1, 0.5, 0.26, 0}, least[] = {0.9, 0, 0, 0};
    static const char *const want[] = {"#   ", "#   ", "### ", "### "};
    struct xl__str out = {0};
    (void)state;
    for (unsigned row = 0; row < 4; row++) {
        xl__str_reset(&out);
        chart_line(&out, NULL, most, 4, row, 4);
        assert_string_equal(xl__str_text(&out), want[row]);
    }
    xl__str_reset(&out);
    chart_line(&out, least, most, 4, 3, 4);
    assert_string_equal(xl__str_text(&out), " ## ");
    xl__str_clear(&out);
    assert_int_equal(chart_shade(0), ' ');
    assert_int_equal(chart_shade(0.001), '.');
    assert_int_equal(chart_shade(1), '@');
    assert_int_equal(chart_shade(7), '@');
}

static void pictures_escape_their_text(void **state)
{
    struct xl__str out = {0};
    char colour[SVG_COLOUR_CAP];
    (void)state;
    svg_text(&out, 1, 2, 3, "start", svg_ink, "a<b & \"c\"\033\xEF\xBF\xBF.");
    assert_non_null(strstr(xl__str_text(&out),
                           ">a&lt;b &amp; &quot;c&quot;\\x1B.</text>"));
    xl__str_clear(&out);
    svg_ramp(0, colour);
    assert_string_equal(colour, "#440154");
    svg_ramp(1, colour);
    assert_string_equal(colour, "#fde725");
    svg_ramp((double)NAN, colour);
    assert_int_equal(strlen(colour), 7);
}

/* -- what is uneven, in words --------------------------------------------- */

static void words_follow_the_figures(void **state)
{
    struct split_page p = {.units = 132, .beside = 1,
                           .tiling = split_tiling(2049, 2049, 256, 128)};
    struct xl__str out = {0};
    (void)state;
    split_say_waves(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "2 on 132 units; the last fills 21 of 132 places; "
                        "fill 58%");
    xl__str_reset(&out);
    split_say_uneven(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "edge tiles reach beyond the result (16% of all "
                        "tiles' area); the last wave leaves 42% of the places "
                        "empty");
    xl__str_reset(&out);
    p.tiling = split_tiling(1024, 1056, 128, 64);
    split_say_uneven(&p, &out);
    assert_non_null(strstr(xl__str_text(&out), "edge"));
    xl__str_reset(&out);
    p.tiling = split_tiling(12, 11, 1, 1);
    split_say_uneven(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "nothing: equal tiles, all waves full");
    xl__str_reset(&out);
    p.measured.n = 1;
    p.measured_load = (struct split_load){.used = 100, .imbalance = 1.5};
    p.model_load = (struct split_load){.used = 132, .imbalance = 1};
    split_say_uneven(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "only 100 units worked, the model has 132; the busiest "
                        "unit worked 50% longer than the mean, by how groups "
                        "were handed out");
    xl__str_clear(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toy_engine_is_256_tiles),
        cmocka_unit_test(bands_are_walked_by_columns),
        cmocka_unit_test(each_tile_is_one_piece),
        cmocka_unit_test(cut_tiles_are_all_there),
        cmocka_unit_test(grids_show_what_fits),
        cmocka_unit_test(model_has_the_waves_worked_out),
        cmocka_unit_test(last_waves_make_tails),
        cmocka_unit_test(groups_that_stay_take_turns),
        cmocka_unit_test(pieces_beside_one_another_count_once),
        cmocka_unit_test(curves_keep_the_time),
        cmocka_unit_test(without_a_clock_nothing_is_said_of_time),
        cmocka_unit_test(teeth_are_those_of_every_size),
        cmocka_unit_test(the_cliff_is_behind_2048),
        cmocka_unit_test(raw_records_get_numbers_and_times),
        cmocka_unit_test(large_clocks_keep_their_steps),
        cmocka_unit_test(clocks_that_cannot_be_are_dropped),
        cmocka_unit_test(charts_reach_their_shares),
        cmocka_unit_test(pictures_escape_their_text),
        cmocka_unit_test(words_follow_the_figures),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
