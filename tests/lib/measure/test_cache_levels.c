/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cache_levels.c: levels from the time of a load by working-set size,
 * with curves of a model of caches (LRU or random replacement) with noise, and
 * captured curves; and of the rings of pointer chases, which must be one cycle
 * over distinct lines. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "measure/memory/pointer_chase.h"
#include "measure/memory/cache_levels.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

enum { MOST_CACHES = 4, SEEDS = 25 };

/* -- a model -------------------------------------------------------------- */

struct device {
    const char *name;
    unsigned n; /* caches */
    double bytes[MOST_CACHES], ns[MOST_CACHES + 1];
    unsigned seen; /* of them, as levels */
};

static const struct device devices[] = {
    {"H200", 2, {208 * KIB, 50 * MIB}, {19, 135, 330}, 2},
    /* Two halves of a cache, one of them further away: too alike for two. */
    {"H200, halves",
     3,
     {208 * KIB, 25 * MIB, 50 * MIB},
     {19, 125, 155, 330},
     2},
    {"MI300X", 3, {32 * KIB, 4 * MIB, 256 * MIB}, {55, 115, 210, 345}, 3},
    {"RDNA3",
     4,
     {32 * KIB, 256 * KIB, 6 * MIB, 96 * MIB},
     {28, 55, 100, 190, 330},
     4},
    {"CPU", 3, {48 * KIB, 2 * MIB, 260 * MIB}, {1.7, 5.7, 36, 130}, 3},
    {"CPU, a share of the last",
     3,
     {48 * KIB, 2 * MIB, 9 * MIB},
     {1.7, 5.7, 36, 130},
     3},
    {"small GPU", 1, {512 * KIB}, {60, 280}, 1},
    {"no cache", 0, {0}, {100}, 0},
};

/* The share of a set that a cache holds while the set is read repeatedly. */
static double hits(double cache, double set, bool at_random)
{
    static const double gone = 1.2; /* by the last use: gone at once, nearly */
    double h = 0;
    if (set <= cache)
        return 1;
    if (!at_random)
        return fmax(0, (gone - set / cache) / (gone - 1));
    for (unsigned i = 0; i < 200; i++)
        h = exp(-(1 - h) * set / cache);
    return h;
}

static double model_ns(const struct device *d, double set, bool at_random)
{
    double ns = 0, above = 0;
    for (unsigned k = 0; k <= d->n; k++) {
        const double h =
            k < d->n ? fmax(above, hits(d->bytes[k], set, at_random)) : 1;
        ns += (h - above) * d->ns[k];
        above = h;
    }
    return ns;
}

/* Others only ever add time: a little, and now and then a lot. */
static unsigned model(const struct device *d, unsigned per_octave,
                      bool at_random, uint64_t seed,
                      struct xl__cache_point *out)
{
    enum { OCTAVES = 21, ONE_IN = 12 };
    struct xl__rng rng;
    const unsigned n = OCTAVES * per_octave + 1;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < n; i++) {
        const double bytes = KIB * exp2(i / (double)per_octave);
        double factor = 1 + 0.02 * fabs(xl__rng_normal(&rng));
        if (xl__rng_below(&rng, ONE_IN) == 0)
            factor *= 1.3 + 2 * xl__rng_uniform(&rng);
        out[i] = (struct xl__cache_point){
            bytes, model_ns(d, bytes, at_random) * (seed ? factor : 1)};
    }
    return n;
}

static bool within(double got, double expected, double factor)
{
    return got <= expected * factor && got >= expected / factor;
}

static void assert_within(double got, double expected, double factor,
                          const char *what)
{
    if (!within(got, expected, factor))
        fail_msg("%s is %g, not about %g", what, got, expected);
}

/* A size is right within half an octave or, with noise, a whole one. */
static bool is_read(const struct device *d, unsigned per_octave,
                    bool at_random, uint64_t seed)
{
    const double size_factor = seed ? 2 : 1.42, ns_factor = 1.2;
    struct xl__cache_point curve[XL__MOST_POINTS];
    struct xl__cache_level level[XL__MOST_LEVELS];
    const unsigned n = model(d, per_octave, at_random, seed, curve);
    bool right = xl__cache_levels_find(curve, n, level) == d->seen + 1;
    for (unsigned i = 0; right && i < d->seen; i++) {
        const unsigned k = d->seen < d->n && i + 1 == d->seen ? d->n - 1 : i;
        right = within(level[i].bytes, d->bytes[k], size_factor) &&
                within(level[i].ns, d->ns[i], ns_factor);
    }
    return right && isinf(level[d->seen].bytes) && !level[d->seen].is_open &&
           within(level[d->seen].ns, d->ns[d->n], ns_factor);
}

static void devices_are_read(void **state)
{
    (void)state;
    unsigned wrong = 0, n = 0;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        for (unsigned per = 2; per <= 4; per += 2)
            for (int at_random = 0; at_random < 2; at_random++)
                for (uint64_t seed = 0; seed < SEEDS; seed++, n++) {
                    const bool right =
                        is_read(&devices[i], per, at_random != 0, seed);
                    wrong += !right;
                    if (seed == 0 && !right)
                        fail_msg("%s, %u points an octave, %s",
                                 devices[i].name, per,
                                 at_random ? "at random" : "by last use");
                }
    /* Several adjacent disturbed points look like a level. */
    if (wrong > n / 50)
        fail_msg("%u of %u disturbed curves are misread", wrong, n);
}

/* -- captured ------------------------------------------------------------- */

/* Half an octave apart from 1 KiB, on two cores of a Xeon (48 KiB, 2 MiB, and
 * 260 MiB that many machines share) under other load. By windows of 2 MiB and
 * with nothing against translation, whose cost makes memory a slope. */
static const double windowed[] = {
    1.69, 1.72, 1.72, 1.71, 1.73, 1.71, 1.71, 1.72, 1.71, 1.71,
    1.72, 1.72, 5.42, 5.52, 5.45, 5.45, 5.47, 5.54, 6.05, 6.59,
    6.95, 7.85, 19.4, 32.1, 36.4, 55.0, 61.6, 103,  135,  131,
    132,  126,  124,  136,  129,  125,  134,  127,  125};
static const double crowded[] = {
    2.13, 2.00, 2.00, 2.00, 2.00, 2.00, 2.06, 2.06, 2.08, 2.09,
    2.33, 4.76, 6.95, 6.84, 5.67, 5.68, 5.68, 5.68, 6.28, 6.78,
    7.16, 7.91, 21.7, 36.9, 35.3, 74.6, 183,  182,  190,  218,
    205,  206,  238,  218,  238,  267,  283,  339,  584};
static const double contended[] = {
    2.04, 2.03, 2.01, 2.02, 2.05, 2.07, 2.06, 2.06, 2.12, 2.05,
    2.07, 3.86, 5.66, 5.67, 5.85, 5.88, 6.01, 6.61, 6.92, 7.34,
    10.7, 31.8, 44.7, 38.0, 119,  184,  200,  182,  169,  196,
    176,  196,  194,  202,  208,  200,  207,  206,  175};

static unsigned capture(const double *ns, size_t n,
                        struct xl__cache_level *level)
{
    struct xl__cache_point curve[XL__MOST_POINTS];
    for (size_t i = 0; i < n; i++)
        curve[i] = (struct xl__cache_point){KIB * exp2((double)i / 2), ns[i]};
    return xl__cache_levels_find(curve, (unsigned)n, level);
}

static void captured_curves_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const double *ns;
        size_t n;
        unsigned least, most; /* caches */
    } all[] = {
        {"windowed", windowed, sizeof windowed / sizeof *windowed, 2, 3},
        {"crowded", crowded, sizeof crowded / sizeof *crowded, 2, 3},
        {"contended", contended, sizeof contended / sizeof *contended, 2, 3},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct xl__cache_level level[XL__MOST_LEVELS];
        const unsigned n = capture(all[i].ns, all[i].n, level);
        assert_in_range(n - 1, all[i].least, all[i].most);
        assert_within(level[0].bytes, 48 * KIB, 1.42, "l1");
        assert_within(level[1].bytes, 2 * MIB, 2, "l2");
        assert_within(level[0].ns, 1.9, 1.2, "l1");
        assert_within(level[1].ns, 6, 1.2, "l2");
    }
}

/* -- curves without steps ------------------------------------------------- */

static void slopes_are_one_level(void **state)
{
    (void)state;
    struct xl__cache_point curve[XL__MOST_POINTS];
    struct xl__cache_level level[XL__MOST_LEVELS];
    for (unsigned i = 0; i < 60; i++)
        curve[i] = (struct xl__cache_point){KIB * exp2(i / 4.0),
                                            10 * pow(1.15, i / 4.0)};
    assert_int_equal(xl__cache_levels_find(curve, 60, level), 1);
    assert_true(isinf(level[0].bytes));
    /* And one that is steep all along has none. */
    for (unsigned i = 0; i < 60; i++)
        curve[i].ns = 10 * pow(1.5, i / 4.0);
    assert_int_equal(xl__cache_levels_find(curve, 60, level), 0);
}

static void a_curve_may_not_arrive(void **state)
{
    (void)state;
    struct xl__cache_point curve[] = {
        {1024, 10}, {2048, 10}, {4096, 10}, {8192, 14}, {16384, 30}};
    struct xl__cache_level level[XL__MOST_LEVELS];
    assert_int_equal(xl__cache_levels_find(curve, 5, level), 2);
    assert_true(level[1].is_open);
    assert_within(level[1].ns, 30, 1.001, "the end");
    assert_within(level[0].bytes, 8192 * 1.24, 1.05, "a size");
}

static void accidents_are_passed_over(void **state)
{
    (void)state;
    struct xl__cache_level level[XL__MOST_LEVELS];
    struct xl__cache_point curve[20];
    const unsigned at[] = {3, 7, 12, 17};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        for (int up = 0; up < 2; up++) {
            for (unsigned i = 0; i < 20; i++)
                curve[i] = (struct xl__cache_point){KIB * exp2(i / 2.0),
                                                    i < 10 ? 10 : 50};
            curve[at[k]].ns *= up ? 9 : 0.1;
            assert_int_equal(xl__cache_levels_find(curve, 20, level), 2);
            assert_within(level[0].ns, 10, 1.001, "near");
            assert_within(level[1].ns, 50, 1.001, "far");
        }
    }
    assert_int_equal(xl__cache_levels_find(curve, 0, level), 0);
    assert_int_equal(xl__cache_levels_find(curve, XL__MOST_POINTS + 1, level),
                     0);
}

/* -- order ---------------------------------------------------------------- */

static xl_verdict planted(double l1, double l2, double dram, unsigned at)
{
    xl_row row[3];
    xl_row *rows[] = {&row[0], &row[1], &row[2]};
    const double cost[] = {l1, l2, dram};
    bool all_well = true;
    xl_row_init(&row[0], "probe_cache", "l1");
    xl_row_init(&row[1], "probe_cache", "l2");
    xl_row_init(&row[2], "probe_cache", "dram");
    const bool well = xl__cache_levels_check_order(rows, cost, 3);
    for (unsigned i = 0; i < 3; i++) {
        all_well = all_well && row[i].verdict == XL_ROW_OK;
        assert_int_equal(row[i].verdict == XL_ROW_OK, *row[i].reason == '\0');
    }
    assert_int_equal(well, all_well);
    if (row[at].verdict != XL_ROW_OK)
        assert_non_null(strstr(row[at].reason, "further away"));
    return row[at].verdict;
}

static void nearer_is_never_slower(void **state)
{
    (void)state;
    assert_int_equal(planted(2, 6, 130, 0), XL_ROW_OK);
    assert_int_equal(planted(6.2, 6, 130, 0), XL_ROW_OK); /* noise */
    assert_int_equal(planted(8, 6, 130, 0), XL_ROW_SUSPICIOUS);
    assert_int_equal(planted(8, 6, 130, 1), XL_ROW_OK);
    assert_int_equal(planted(12, 6, 130, 0), XL_ROW_SUSPICIOUS);
    /* Not only by its neighbour. */
    assert_int_equal(planted(140, NAN, 100, 0), XL_ROW_SUSPICIOUS);
    assert_int_equal(planted(90, 200, 100, 1), XL_ROW_SUSPICIOUS);
    assert_int_equal(planted(90, 200, 100, 0), XL_ROW_OK);
    assert_int_equal(planted(2, 6, NAN, 0), XL_ROW_OK);
}

/* -- rings ---------------------------------------------------------------- */

/* One cycle over distinct lines of so many bytes. */
static void check_ring(struct xl__ring r, size_t bytes, size_t line_bytes)
{
    const size_t line = line_bytes / sizeof(cl_uint);
    const size_t lines = (size_t)r.slots * r.spread;
    unsigned char *seen = calloc(lines, 1);
    assert_non_null(seen);
    assert_true(r.slots == r.windows * r.each);
    assert_true(lines * line_bytes <= bytes);
    for (size_t i = 0; i < r.slots; i++) {
        const size_t at = xl__ring_word(&r, 7, i);
        assert_true(at % line == 0);
        assert_true(at / line < lines);
        assert_false(seen[at / line]);
        seen[at / line] = 1;
    }
    assert_true(xl__ring_word(&r, 7, r.slots) == xl__ring_word(&r, 7, 0));
    free(seen);
}

static void rings_are_one_cycle(void **state)
{
    (void)state;
    const size_t sizes[] = {64,     128,    1024,    1448,   49152,
                            100000, 262144, 3000000, 6500000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct xl__ring r = xl__ring_dense(sizes[i], 64);
        check_ring(r, sizes[i], 64);
        /* Hardly a line is left out. */
        assert_true((size_t)r.slots * 64 + 64 * r.windows + 64 > sizes[i]);
    }
    check_ring(xl__ring_spread(1 << 20, 1000, 128), 1 << 20, 128);
    check_ring(xl__ring_spread(64 << 20, 8192, 64), 64 << 20, 64);
}

/* Neighbours in time are within a window; without windows they are far. */
static void windows_bound_a_chase(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20, WINDOW_WORDS = (2 << 20) / 4 };
    const struct xl__ring dense = xl__ring_dense(BYTES, 64);
    const struct xl__ring spread = xl__ring_spread(BYTES, 8192, 64);
    size_t left = 0, far = 0;
    for (size_t i = 0; i < dense.slots; i++)
        left += xl__ring_word(&dense, 7, i) / WINDOW_WORDS !=
                xl__ring_word(&dense, 7, i + 1) / WINDOW_WORDS;
    for (size_t i = 0; i < spread.slots; i++)
        far += xl__ring_word(&spread, 7, i) / WINDOW_WORDS !=
               xl__ring_word(&spread, 7, i + 1) / WINDOW_WORDS;
    assert_int_equal(left, 32);
    assert_true(far > spread.slots * 9 / 10);
}

/* Steps up, down and to the next line are as rare as in any random order: no
 * prefetcher is fed. */
static void rings_are_in_no_order(void **state)
{
    (void)state;
    const struct xl__ring r = xl__ring_dense(1 << 20, 64);
    size_t up = 0, next = 0;
    for (size_t i = 0; i < r.slots; i++) {
        const size_t a = xl__ring_word(&r, 7, i);
        const size_t b = xl__ring_word(&r, 7, i + 1);
        up += b > a;
        next += b == a + r.line || a == b + r.line;
    }
    assert_in_range(up, r.slots * 45 / 100, r.slots * 55 / 100);
    assert_true(next < r.slots / 1000);
}

/* The curve of an EPYC in a virtual machine has steps where no cache ends. */
static void a_level_nobody_lists_has_no_name(void **state)
{
    const double kib = 1024, listed[] = {32 * kib, 512 * kib, 32768 * kib};
    const double found[] = {9.5 * kib, 38.1 * kib, 472 * kib, 2437 * kib,
                            INFINITY};
    struct xl__cache_level levels[5] = {{.first = 0}};
    unsigned number[5];
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        levels[i].bytes = found[i];
    assert_int_equal(xl__cache_levels_match(levels, 5, NULL, 0, number), 5);
    assert_int_equal(number[3], 4);
    assert_int_equal(xl__cache_levels_match(levels, 5, listed, 3, number), 3);
    assert_int_equal(number[0], 1);
    assert_int_equal(number[1], 2);
    assert_int_equal(number[2], 0); /* memory */
    assert_true(levels[0].bytes == found[1] && isinf(levels[2].bytes));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_nobody_lists_has_no_name),
        cmocka_unit_test(devices_are_read),
        cmocka_unit_test(captured_curves_are_read),
        cmocka_unit_test(slopes_are_one_level),
        cmocka_unit_test(a_curve_may_not_arrive),
        cmocka_unit_test(accidents_are_passed_over),
        cmocka_unit_test(nearer_is_never_slower),
        cmocka_unit_test(rings_are_one_cycle),
        cmocka_unit_test(windows_bound_a_chase),
        cmocka_unit_test(rings_are_in_no_order),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
