/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of `clbench split` without a device: numbering of tiles, the model
 * against cases computed by hand, load of synthetic records, the sawtooth
 * against every size, conversion of raw records, sentences. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "charts/text_charts.h"
#include "charts/svg.h"
#include "measure/compute/workgroup_trace.h"
#include "tiling/mask_work.h"
#include "tiling/measurement.h"
#include "tiling/text.h"
#include "tiling/tiles.h"

static void assert_near(double got, double expected, double tol)
{
    if (!(fabs(got - expected) <= tol))
        fail_msg("%.9g, not %.9g", got, expected);
}

/* -- tiles ---------------------------------------------------------------- */

static void a_128_square_is_256_tiles(void **state)
{
    const xl_tiling t = tiling_of_shape(128, 128, 8, 8);
    (void)state;
    assert_int_equal(tiling_n_pieces(&t), 256);
    assert_int_equal(t.tiles_m, 16);
    assert_near(tiling_useful_area(&t), 1, 0);
    const xl_tiling huge = tiling_of_shape(SIZE_MAX / 2, SIZE_MAX / 2, 1, 1);
    assert_int_equal(tiling_n_pieces(&huge), 0);
}

/* The bytes of attention against a walk over all queries and keys. */
static void attention_reads_what_it_sees(void **state)
{
    enum {
        HEADS = 6,
        KV_HEADS = 2,
        N_Q = 37,
        N_KV = 53,
        D = 24,
        BYTES = 2,
        CHIP = 2048
    };
    static const struct {
        bool is_causal;
        size_t window, block;
    } cases[] = {{false, 0, 16}, {true, 0, 16}, {true, 5, 8},
                 {false, 7, 37}, {true, 1, 1},  {true, 60, 64}};
    const double q_and_o = 2.0 * HEADS * N_Q * D * BYTES;
    const double k_and_v = 2.0 * KV_HEADS * N_KV * D * BYTES;
    (void)state;
    for (size_t x = 0; x < sizeof cases / sizeof *cases; x++) {
        const struct attention_sizes a = {
            HEADS,          KV_HEADS, N_Q, N_KV, D, BYTES, cases[x].is_causal,
            cases[x].window};
        double pairs = 0, read = 0;
        for (size_t i0 = 0; i0 < N_Q; i0 += cases[x].block) {
            bool seen[N_KV] = {false};
            for (size_t i = i0; i < i0 + cases[x].block && i < N_Q; i++)
                for (size_t j = 0; j < N_KV; j++) {
                    const long behind = (long)i + N_KV - N_Q - (long)j;
                    const long reach = a.window ? (long)a.window : N_Q + N_KV;
                    if ((a.is_causal && behind < 0) || behind >= reach ||
                        -behind >= reach)
                        continue;
                    pairs++;
                    read += !seen[j];
                    seen[j] = true;
                }
        }
        const struct attention_reads r =
            attention_reads(&a, cases[x].block, CHIP);
        assert_near(r.scores, (double)HEADS * N_Q * N_KV * BYTES, 0);
        assert_near(r.plain, q_and_o + k_and_v + 4 * r.scores, 0);
        assert_near(r.tiled, q_and_o + 2 * HEADS * read * D * BYTES, 1e-6);
        assert_near(r.bound,
                    fmax(q_and_o + k_and_v,
                         HEADS * pairs * D * D * BYTES * BYTES / CHIP),
                    1e-6);
    }
}

/* Bands of two rows are numbered column by column; five rows end with half a
 * band. */
static void bands_are_numbered_by_columns(void **state)
{
    static const size_t expected[5][3] = {
        {0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}, {12, 13, 14}};
    xl_tiling t = tiling_of_shape(5, 3, 1, 1);
    (void)state;
    t.band = 2;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(tiling_piece_at(&t, i, j, 0), expected[i][j]);
    xl_tiling turned = tiling_of_shape(3, 5, 1, 1);
    turned.band = 2;
    turned.is_swapped = true;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(tiling_piece_at(&turned, j, i, 0),
                             expected[i][j]);
}

static void check_each_once(const xl_tiling *t)
{
    const size_t n = t->tiles_m * t->tiles_n * t->count;
    unsigned char *n_seen = calloc(n, 1);
    assert_non_null(n_seen);
    for (size_t z = 0; z < t->count; z++)
        for (size_t i = 0; i < t->tiles_m; i++)
            for (size_t j = 0; j < t->tiles_n; j++) {
                const size_t p = tiling_piece_at(t, i, j, z);
                assert_true(p < n);
                assert_int_equal(n_seen[p]++, 0);
            }
    free(n_seen);
}

static void each_tile_is_one_piece(void **state)
{
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 3);
    for (unsigned i = 0; i < 300; i++) {
        xl_tiling t = tiling_of_shape(1 + xl__rng_below(&rng, 40),
                                      1 + xl__rng_below(&rng, 40), 1, 1);
        t.band = 1 + xl__rng_below(&rng, 9);
        t.count = 1 + xl__rng_below(&rng, 3);
        t.is_swapped = xl__rng_below(&rng, 2) == 1;
        t.whole *= t.count;
        check_each_once(&t);
    }
}

/* 25 tiles, the last 5 among 8 groups. */
static xl_tiling cut_tiling(void)
{
    xl_tiling t = tiling_of_shape(5, 5, 1, 1);
    t.whole = 20;
    t.sharers = 8;
    t.groups = 28;
    return t;
}

static void split_tiles_add_up(void **state)
{
    const xl_tiling t = cut_tiling();
    double work = 0;
    (void)state;
    assert_int_equal(tiling_n_pieces(&t), 28);
    for (size_t p = 0; p < 28; p++)
        work += tiling_piece_frac(&t, p);
    assert_near(work, 25, 1e-12);
    assert_int_equal(tiling_piece_at(&t, 4, 0, 0), 20);
    assert_int_equal(tiling_piece_at(&t, 4, 4, 0), 26);
}

static void grids_show_what_fits(void **state)
{
    const xl_tiling wide = tiling_of_shape(1000, 1000, 1, 10);
    const struct tiling_grid g = tiling_grid(&wide, 16, 64);
    xl_tiling rows = tiling_of_shape(130, 1, 1, 1);
    (void)state;
    assert_true(g.is_map);
    assert_int_equal(g.rows, 16);
    assert_int_equal(g.cols, 64);
    assert_int_equal(tiling_grid_piece(&g, 0, 0), 0);
    assert_true(tiling_grid_piece(&g, 15, 63) < tiling_n_pieces(&wide));
    /* A column of tiles is shown in lines. */
    const struct tiling_grid line = tiling_grid(&rows, 16, 64);
    assert_false(line.is_map);
    assert_int_equal(line.rows, 3);
    assert_int_equal(tiling_grid_piece(&line, 2, 1), 129);
    assert_int_equal(tiling_grid_piece(&line, 2, 2), SIZE_MAX);
}

/* -- the model ------------------------------------------------------------ */

static void model_of(const xl_tiling *t, unsigned units, unsigned concurrent,
                     struct tiling_load *out)
{
    struct tiling_record r;
    assert_true(tiling_model_launch(t, units, concurrent, 1, NULL, &r));
    assert_true(tiling_load_of(&r, out, NULL));
    tiling_record_clear(&r);
}

/* Cases computed by hand, against the records of the model. */
static void model_has_the_computed_waves(void **state)
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
        const xl_tiling t = tiling_of_shape(cases[i].n, cases[i].n, 256, 128);
        assert_near((double)tiling_n_pieces(&t), cases[i].tiles, 0);
        for (unsigned u = 0; u < 2; u++) {
            struct tiling_record r;
            assert_true(tiling_model_launch(&t, units[u], 1, 1, NULL, &r));
            assert_near(r.total_ns, cases[i].waves[u], 0);
            tiling_record_clear(&r);
        }
        struct tiling_load load;
        model_of(&t, 132, 1, &load);
        assert_near(load.busy, cases[i].fill, 0.005);
    }
    const xl_tiling t = tiling_of_shape(2049, 2049, 256, 128);
    assert_near(tiling_useful_area(&t), 0.837, 0.0005);
}

static void last_waves_make_tails(void **state)
{
    const xl_tiling t = tiling_of_shape(2049, 2049, 256, 128);
    struct tiling_load load;
    (void)state;
    model_of(&t, 132, 1, &load);
    assert_int_equal(load.used, 132);
    assert_int_equal(load.least, 1);
    assert_int_equal(load.most, 2);
    assert_int_equal(load.concurrent, 1);
    assert_near(load.tail, 0.5, 1e-12);
    assert_near(load.busy_least, 0.5, 1e-12);
    assert_near(load.imbalance, 2 * 132 / 153.0, 1e-12);
    /* two at a time: all at once, one or two on each unit */
    model_of(&t, 132, 2, &load);
    assert_int_equal(load.concurrent, 2);
    assert_near(load.tail, 0, 1e-12);
    assert_near(load.imbalance, 1, 1e-12);
    /* fewer tiles than units: the others are idle */
    const xl_tiling few = tiling_of_shape(10, 1, 1, 1);
    model_of(&few, 16, 1, &load);
    assert_int_equal(load.used, 10);
    assert_near(load.busy, 10 / 16.0, 1e-12);
    assert_near(load.tail, 0, 1e-12);
}

/* Persistent groups process several tiles; split tiles are shorter. */
static void persistent_groups_take_several_tiles(void **state)
{
    xl_tiling t = tiling_of_shape(2049, 2049, 256, 128), cut = cut_tiling();
    struct tiling_record r;
    (void)state;
    t.groups = 132;
    assert_true(tiling_model_launch(&t, 132, 1, 1, NULL, &r));
    assert_near(r.total_ns, 2, 0);
    assert_int_equal(r.piece[132].unit, r.piece[0].unit);
    assert_near(r.piece[132].start_ns, r.piece[0].end_ns, 0);
    tiling_record_clear(&r);
    assert_true(tiling_model_launch(&cut, 28, 1, 1, NULL, &r));
    assert_near(r.piece[27].end_ns, 5 / 8.0, 1e-12);
    tiling_record_clear(&r);
}

/* A causal mask: blocks of 8 rows, of 4 queries of 2 heads of 16 queries each,
 * see 4, 8, 12 and 16 keys. The last rows of each head first end together,
 * the first ones first leave a unit idle. */
static void masks_make_unequal_groups(void **state)
{
    const struct attention_sizes a = {.n_heads = 4,
                                      .n_kv_heads = 2,
                                      .n_q = 16,
                                      .n_kv = 16,
                                      .d = 8,
                                      .elem_bytes = 2,
                                      .is_causal = true};
    static const struct {
        const char *variant;
        size_t groups, block, pieces;
        double first[3]; /* of the mean */
        double imbalance;
    } cases[] = {{"attention_ref", 8, 8, 8, {0.4, 0.8, 1.2}, 44.0 / 40},
                 {"attention_mma", 8, 8, 8, {1.6, 1.2, 0.8}, 1},
                 {"attention_wgmma", 2, 8, 8, {4.0 / 3, 4.0 / 3, 4.0 / 3}, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        xl_tiling t = {.groups = cases[i].groups, .whole = cases[i].groups};
        struct tiling_record r;
        struct tiling_load load;
        double sum = 0;
        double *work = mask_work(&a, cases[i].variant, cases[i].block, &t);
        assert_non_null(work);
        assert_int_equal(cases[i].pieces, tiling_n_pieces(&t));
        assert_int_equal(cases[i].pieces, t.groups);
        for (size_t k = 0; k < t.groups; k++)
            sum += work[k];
        assert_near(sum, (double)t.groups, 1e-9);
        for (size_t k = 0; k < 3; k++)
            assert_near(work[k], cases[i].first[k], 1e-9);
        assert_true(tiling_model_launch(&t, 2, 1, 1, work, &r));
        assert_true(tiling_load_of(&r, &load, NULL));
        assert_near(load.imbalance, cases[i].imbalance, 1e-9);
        tiling_record_clear(&r);
        free(work);
        t.groups++; /* such as parts of the keys */
        assert_true(i == 2 ||
                    !mask_work(&a, cases[i].variant, cases[i].block, &t));
    }
}

/* -- load of a record ----------------------------------------------------- */

/* Unit 0: two concurrent pieces, a pause, one more; unit 1: none; unit 2:
 * one. */
static xl_piece_record synthetic[] = {
    {2, 1, 5}, {0, 6, 10}, {0, 0, 2}, {0, 1, 4}};
static const struct tiling_record synthetic_record = {synthetic, 4, 3, 10,
                                                      true};

static void concurrent_pieces_count_once(void **state)
{
    struct tiling_load load;
    double busy[3] = {0, 0, 0}, share[5];
    (void)state;
    assert_true(tiling_load_of(&synthetic_record, &load, busy));
    assert_int_equal(load.used, 2);
    assert_int_equal(load.least, 1);
    assert_int_equal(load.most, 3);
    assert_int_equal(load.concurrent, 2);
    assert_near(busy[0], 0.8, 1e-12);
    assert_near(busy[1], 0, 0);
    assert_near(busy[2], 0.4, 1e-12);
    assert_near(load.busy, 0.4, 1e-12);
    assert_near(load.tail, 0.5, 1e-12);
    assert_near(load.imbalance, 0.8 / 0.6, 1e-12);
    assert_true(tiling_busy_curve(&synthetic_record, share, 5));
    static const double expected[5] = {1.5 / 3, 2 / 3.0, 0.5 / 3, 1 / 3.0,
                                       1 / 3.0};
    for (unsigned i = 0; i < 5; i++)
        assert_near(share[i], expected[i], 1e-12);
}

/* The mean of the curve is the mean busy share, whatever the record. */
static void curves_keep_the_time(void **state)
{
    enum { N = 500, SPANS = 37 };
    static xl_piece_record piece[N];
    struct tiling_record r = {piece, N, 20, 100, true};
    struct tiling_load load;
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
    assert_true(tiling_load_of(&r, &load, NULL));
    assert_true(tiling_busy_curve(&r, share, SPANS));
    for (unsigned i = 0; i < SPANS; i++)
        sum += share[i];
    assert_near(sum / SPANS, load.busy, 1e-9);
}

static void without_a_clock_times_are_unknown(void **state)
{
    struct tiling_record r = synthetic_record;
    struct tiling_load load;
    double share[2];
    (void)state;
    r.has_clock = false;
    assert_true(tiling_load_of(&r, &load, NULL));
    assert_int_equal(load.used, 2);
    assert_true(isnan(load.busy) && isnan(load.tail) &&
                isnan(load.imbalance));
    assert_false(tiling_busy_curve(&r, share, 2));
}

/* -- the sawtooth --------------------------------------------------------- */

static void teeth_equal_every_size(void **state)
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

/* -- raw records ---------------------------------------------------------- */

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
    out[2].start_ns -=
        1; /* now concurrent with the one before, on the same unit */
    assert_false(xl__trace_is_serial(out, 3));
}

/* Nanoseconds since 1970 are 256 apart as doubles. */
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
    const struct xl__trace_record back[] = {{0, 100, 200, 0}, {1, 150, 140, 0}};
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

/* -- charts and pictures -------------------------------------------------- */

static void charts_reach_their_shares(void **state)
{
    static const double most[] = {1, 0.5, 0.26, 0}, least[] = {0.9, 0, 0, 0};
    static const char *const expected[] = {"#   ", "#   ", "### ", "### "};
    struct xl__str out = {0};
    (void)state;
    for (unsigned row = 0; row < 4; row++) {
        xl__str_reset(&out);
        chart_line(&out, NULL, most, 4, row, 4);
        assert_string_equal(xl__str_text(&out), expected[row]);
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

/* -- sentences ------------------------------------------------------------ */

static void sentences_match_the_load(void **state)
{
    struct tiling_report p = {.units = 132,
                              .concurrent = 1,
                              .tiling = tiling_of_shape(2049, 2049, 256, 128)};
    struct xl__str out = {0};
    (void)state;
    tiling_describe_waves(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "2 on 132 units; the last fills 21 of 132 slots; "
                        "fill 58%");
    xl__str_reset(&out);
    tiling_describe_imbalance(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "edge tiles exceed the result (16% of the area of "
                        "all tiles); the last wave leaves 42% of the slots "
                        "empty");
    xl__str_reset(&out);
    p.tiling = tiling_of_shape(1024, 1056, 128, 64);
    tiling_describe_imbalance(&p, &out);
    assert_non_null(strstr(xl__str_text(&out), "edge"));
    xl__str_reset(&out);
    p.tiling = tiling_of_shape(12, 11, 1, 1);
    tiling_describe_imbalance(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "none: equal tiles, all waves full");
    xl__str_reset(&out);
    p.measured.n = 1;
    p.measured_load = (struct tiling_load){.used = 100, .imbalance = 1.5};
    p.model_load = (struct tiling_load){.used = 132, .imbalance = 1};
    tiling_describe_imbalance(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "only 100 units were used, the model uses 132; the "
                        "busiest unit was active 50% longer than the mean, "
                        "by the distribution of groups");
    xl__str_reset(&out);
    p.measured_load =
        (struct tiling_load){.used = 1, .imbalance = 1, .tail = 0.102};
    p.model_load = (struct tiling_load){.used = 2, .imbalance = 1};
    strcpy(p.busy, "BUSY (load 5.6 on 2 cores)");
    tiling_describe_imbalance(&p, &out);
    assert_string_equal(xl__str_text(&out),
                        "only 1 unit was used, the model uses 2; the first "
                        "unit ended 10% before the last; the machine was "
                        "BUSY (load 5.6 on 2 cores), which may be the cause");
    xl__str_clear(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_128_square_is_256_tiles),
        cmocka_unit_test(attention_reads_what_it_sees),
        cmocka_unit_test(bands_are_numbered_by_columns),
        cmocka_unit_test(each_tile_is_one_piece),
        cmocka_unit_test(split_tiles_add_up),
        cmocka_unit_test(grids_show_what_fits),
        cmocka_unit_test(model_has_the_computed_waves),
        cmocka_unit_test(last_waves_make_tails),
        cmocka_unit_test(persistent_groups_take_several_tiles),
        cmocka_unit_test(masks_make_unequal_groups),
        cmocka_unit_test(concurrent_pieces_count_once),
        cmocka_unit_test(curves_keep_the_time),
        cmocka_unit_test(without_a_clock_times_are_unknown),
        cmocka_unit_test(teeth_equal_every_size),
        cmocka_unit_test(the_cliff_is_behind_2048),
        cmocka_unit_test(raw_records_get_numbers_and_times),
        cmocka_unit_test(large_clocks_keep_their_steps),
        cmocka_unit_test(clocks_that_cannot_be_are_dropped),
        cmocka_unit_test(charts_reach_their_shares),
        cmocka_unit_test(pictures_escape_their_text),
        cmocka_unit_test(sentences_match_the_load),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
