/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the analysis of on-chip memory: banks from strides, and pools that
 * groups share from the number of resident groups. Curves come from models of
 * the hardware, with noise. No device. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "device/device.h"
#include <crosslane/measure/roofline.h>

#include "measure/compute/occupancy.h"
#include "measure/memory/local_memory.h"

/* -- banks ---------------------------------------------------------------- */

/* Memory of `banks`, `words` wide, that serves `phase` items at a time. A
 * bank gives one of its rows a clock, to all who want that row. */
struct memory {
    unsigned banks, words, phase, width;
};

enum { MOST_WIDTH = 64, MOST_BANKS = 128, MOST_CURVE = 80 };

static unsigned clocks_of_phase(const struct memory *m, unsigned first,
                                unsigned stride, unsigned spread)
{
    unsigned rows[MOST_BANKS][MOST_WIDTH], n_rows[MOST_BANKS] = {0}, most = 1;
    for (unsigned i = first; i < first + m->phase; i++) {
        const unsigned word = i * stride + (i & spread);
        const unsigned bank = word / m->words % m->banks;
        const unsigned row = word / m->words / m->banks;
        unsigned r = 0;
        while (r < n_rows[bank] && rows[bank][r] != row)
            r++;
        rows[bank][r] = row;
        n_rows[bank] = r == n_rows[bank] ? r + 1 : n_rows[bank];
        most = n_rows[bank] > most ? n_rows[bank] : most;
    }
    return most;
}

static double clocks(const struct memory *m, unsigned stride, unsigned spread)
{
    double sum = 0;
    for (unsigned first = 0; first < m->width; first += m->phase)
        sum += clocks_of_phase(m, first, stride, spread);
    return sum;
}

/* Strides 1..64 and 128, each off by up to `noise`. */
static unsigned curve_of(const struct memory *m, double noise, uint64_t seed,
                         struct xl__stride_cost *curve)
{
    struct xl__rng rng;
    unsigned n = 0;
    xl__rng_seed(&rng, seed);
    for (unsigned s = 1; s <= 128; s = s < 64 ? s + 1 : 2 * s)
        curve[n++] = (struct xl__stride_cost){
            s, clocks(m, s, 0) * (1 + noise * xl__rng_uniform(&rng))};
    return n;
}

static void banks_are_where_doubling_stops(void **state)
{
    (void)state;
    static const struct memory memories[] = {
        {32, 1, 32, 32}, {32, 1, 32, 64}, {16, 1, 16, 16}, {16, 1, 32, 32},
        {64, 1, 64, 64}, {64, 1, 32, 64}, {32, 2, 32, 32},
    };
    struct xl__stride_cost curve[MOST_CURVE];
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        const struct memory *m = &memories[i];
        for (uint64_t seed = 0; seed < 20; seed++) {
            const unsigned n = curve_of(m, 0.2, seed, curve);
            const unsigned period = m->banks * m->words;
            assert_true(xl__bank_period(curve, n) == period);
            const double words = xl__bank_width_words(clocks(m, period, 0),
                                                      clocks(m, period, 1),
                                                      clocks(m, period, 3));
            assert_true(words == m->words);
        }
    }
}

/* A launch's own cost, and arithmetic that hides the first conflicts. */
static void other_limits_do_not_hide_banks(void **state)
{
    (void)state;
    const struct memory m = {32, 1, 32, 32};
    struct xl__stride_cost curve[MOST_CURVE];
    const unsigned n = curve_of(&m, 0.05, 1, curve);
    for (unsigned i = 0; i < n; i++)
        curve[i].ns = fmax(curve[i].ns + 0.1, 3);
    assert_true(xl__bank_period(curve, n) == 32);
}

/* Powers of two with a few padded rows are enough. */
static void few_strides_are_enough(void **state)
{
    (void)state;
    static const unsigned strides[] = {33, 16, 3, 1, 2, 64, 4, 32, 9, 8, 128};
    enum { N = sizeof strides / sizeof *strides };
    const struct memory m = {32, 1, 32, 32};
    struct xl__stride_cost curve[N];
    for (unsigned i = 0; i < N; i++)
        curve[i] =
            (struct xl__stride_cost){strides[i], clocks(&m, strides[i], 0)};
    assert_true(xl__bank_period(curve, N) == 32);
    /* The rise must be seen to end. */
    for (unsigned i = 0; i < N; i++)
        curve[i].stride = curve[i].stride > 32 ? 5 : curve[i].stride;
    assert_true(isnan(xl__bank_period(curve, N)));
    assert_true(isnan(xl__bank_period(curve, 0)));
}

static void caches_have_no_banks(void **state)
{
    (void)state;
    struct xl__stride_cost curve[MOST_CURVE];
    struct xl__rng rng;
    const struct memory m = {32, 1, 32, 32};
    const unsigned n = curve_of(&m, 0, 0, curve);
    xl__rng_seed(&rng, 7);
    /* Flat, and flat with noise that doubles at times. */
    for (unsigned i = 0; i < n; i++)
        curve[i].ns = 1;
    assert_true(isnan(xl__bank_period(curve, n)));
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < n; i++)
            curve[i].ns = 1 + xl__rng_uniform(&rng);
        assert_true(isnan(xl__bank_period(curve, n)));
    }
    /* Contiguous vectors are cheap, all else is gathered. */
    for (unsigned i = 0; i < n; i++)
        curve[i].ns = curve[i].stride == 1 ? 1 : 3;
    assert_true(isnan(xl__bank_period(curve, n)));
    /* Lines of 64 bytes: words of one line come together. */
    for (unsigned i = 0; i < n; i++)
        curve[i].ns = fmin(curve[i].stride, 16);
    assert_true(isnan(xl__bank_period(curve, n)));
    /* Something that grows with the stride, by far less than it. */
    for (unsigned i = 0; i < n; i++)
        curve[i].ns = curve[i].stride % 2 == 1
                          ? 1
                          : pow(clocks(&m, curve[i].stride, 0), 0.6);
    assert_true(isnan(xl__bank_period(curve, n)));
    assert_true(isnan(xl__bank_width_words(1, 1, 1)));
}

/* -- pools ---------------------------------------------------------------- */

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned up_to(unsigned x, unsigned piece)
{
    return (x + piece - 1) / piece * piece;
}

/* Local memory of several devices: granularity, and the reserve of a group. */
static unsigned hopper_local(unsigned bytes)
{
    return least_of(32, 233472 / (up_to(bytes, 128) + 1024));
}

static unsigned lds(unsigned bytes)
{
    return least_of(40, 65536 / up_to(bytes, 512));
}

static unsigned slm(unsigned bytes)
{
    unsigned piece = 1024;
    while (piece < bytes)
        piece *= 2;
    return least_of(64, 131072 / piece);
}

/* Registers are given out by eights, and are parted among four schedulers; a
 * group is two sub-groups of 32, or one of 64. */
static unsigned warps(unsigned live)
{
    return least_of(32, 4 * (16384 / (32 * up_to(live + 11, 8))) / 2);
}

static unsigned waves(unsigned live)
{
    return 4 * least_of(8, 512 / up_to(live + 6, 8));
}

/* What ptxas 13.0 gives sm_90 for 8, 16, 24 ... values: it takes more where
 * that costs no residents. */
static unsigned hopper_registers(unsigned live)
{
    static const unsigned taken[] = {32,  32,  40,  40,  48,  56,  72,  80,
                                     94,  96,  110, 120, 128, 128, 142, 152,
                                     162, 168, 168, 187, 196, 208, 214, 220,
                                     225, 242, 246, 254, 254, 255};
    return least_of(32, 4 * (512 / up_to(taken[live / 8 - 1], 8)) / 2);
}

static unsigned flat(unsigned size)
{
    (void)size;
    return 2;
}

struct asked {
    unsigned (*resident)(unsigned size);
    unsigned n_calls;
};

static xl_status ask(void *arg, unsigned size, unsigned *resident)
{
    struct asked *a = arg;
    *resident = a->resident(size);
    a->n_calls++;
    return XL_OK;
}

static void pools_are_found_from_cliffs(void **state)
{
    (void)state;
    static const struct {
        unsigned (*resident)(unsigned size);
        unsigned least, most, step, most_reserved, grain;
        double total, reserved; /* NaN: any */
    } rows[] = {
        {hopper_local, 256, 49152, 256, 4096, 128, 233472, 1024},
        {lds, 256, 65536, 256, 4096, 128, 65536, 0},
        {slm, 256, 65536, 256, 4096, 128, 131072, 0},
        {warps, 8, 128, 8, 48, 1, 65536 / 64, NAN},
        {warps, 8, 240, 8, 48, 1, 65536 / 64, NAN},
        {waves, 8, 288, 8, 48, 1, 131072 / 64, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct asked a = {rows[i].resident, 0};
        const struct xl__residency r = {ask, &a, rows[i].least, rows[i].most,
                                        rows[i].step};
        struct xl__cliff cliffs[XL__MOST_CLIFFS];
        struct xl__pool pool;
        unsigned n;
        assert_int_equal(xl__cliffs_find(&r, cliffs, &n), XL_OK);
        assert_in_range(n, 2, XL__MOST_CLIFFS);
        for (unsigned c = 0; c < n; c++) {
            assert_int_equal(a.resident(cliffs[c].most), cliffs[c].resident);
            assert_true(a.resident(cliffs[c].most + r.step) <
                        cliffs[c].resident);
        }
        assert_true(xl__pool_find(cliffs, n, r.step, rows[i].most_reserved,
                                  rows[i].grain, &pool));
        assert_true(pool.total == rows[i].total);
        assert_true(isnan(rows[i].reserved) ||
                    pool.reserved == rows[i].reserved);
        assert_true(pool.explained >= 2);
    }
}

/* 65536, whatever a compiler does with them; likewise 98304 and 131072. */
static void register_files_are_round(void **state)
{
    (void)state;
    for (unsigned most = 120; most <= 240; most += 8) {
        struct asked a = {hopper_registers, 0};
        const struct xl__residency r = {ask, &a, 8, most, 8};
        struct xl__cliff cliffs[XL__MOST_CLIFFS];
        struct xl__pool pool;
        unsigned n;
        assert_int_equal(xl__cliffs_find(&r, cliffs, &n), XL_OK);
        assert_true(xl__pool_find(cliffs, n, 8, 48, 1, &pool));
        assert_true(xl__register_file(64 * pool.total) == 65536);
    }
    /* Parted among schedulers, some numbers of groups never fit. */
    const struct xl__cliff parted[] = {{100, 8}, {153, 5}, {209, 4}};
    struct xl__pool pool;
    assert_true(xl__pool_find(parted, 3, 8, 16, 1, &pool));
    assert_int_equal(pool.explained, 2);
    assert_true(pool.total == 872 && pool.reserved == 9);
    assert_true(xl__register_file(90000) == 98304);
    assert_true(xl__register_file(131072) == 131072);
    assert_true(xl__register_file(120000) == 131072);
    assert_true(isnan(xl__register_file(75000)));
    assert_true(isnan(xl__register_file(0)));
    assert_true(isnan(xl__register_file(NAN)));
}

static void without_a_cliff_there_is_no_pool(void **state)
{
    (void)state;
    struct asked a = {flat, 0};
    const struct xl__residency r = {ask, &a, 256, 49152, 256};
    struct xl__cliff cliffs[XL__MOST_CLIFFS];
    struct xl__pool pool;
    unsigned n = 7;
    assert_int_equal(xl__cliffs_find(&r, cliffs, &n), XL_OK);
    assert_int_equal(n, 0);
    assert_int_equal(a.n_calls, 2);
    assert_false(xl__pool_find(cliffs, n, 256, 4096, 128, &pool));
    assert_true(isnan(pool.total));
}

static xl_status refuse(void *arg, unsigned size, unsigned *resident)
{
    (void)arg;
    *resident = size < 4096 ? 2 : 1;
    return size == 256 || size == 49152 ? XL_OK : XL_CANCELLED;
}

static void a_failure_ends_the_search(void **state)
{
    (void)state;
    const struct xl__residency r = {refuse, NULL, 256, 49152, 256};
    struct xl__cliff cliffs[XL__MOST_CLIFFS];
    unsigned n;
    assert_int_equal(xl__cliffs_find(&r, cliffs, &n), XL_CANCELLED);
}

/* -- the roof ------------------------------------------------------------- */

static void local_memory_is_a_roof_once_it_is_measured(void **state)
{
    (void)state;
    static const xl_roof roof = {.dtype = XL_F32, .level = XL_LEVEL_LOCAL};
    xl_device dev;
    xl_bound b;
    memset(&dev, 0, sizeof dev);
    xl__limits_init(&dev.seen);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 0, 1, &b), XL_UNSUPPORTED);
    xl__limits_measure(&dev.seen, XL__F_local_bytes_per_s, 32e12);
    xl__limits_measure(&dev.seen, XL__F_peak_f32_flop_per_s, 64e12);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 0, 1, &b), XL_OK);
    assert_true(b.value == 32e12);
    assert_string_equal(b.name, "local memory");
    assert_string_equal(b.unit, "B/s");
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1, 1, &b), XL_OK);
    assert_true(b.value == 32e12);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 4, 1, &b), XL_OK);
    assert_true(b.value == 64e12);
    xl__limits_clear(&dev.seen);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(banks_are_where_doubling_stops),
        cmocka_unit_test(other_limits_do_not_hide_banks),
        cmocka_unit_test(few_strides_are_enough),
        cmocka_unit_test(caches_have_no_banks),
        cmocka_unit_test(pools_are_found_from_cliffs),
        cmocka_unit_test(register_files_are_round),
        cmocka_unit_test(without_a_cliff_there_is_no_pool),
        cmocka_unit_test(a_failure_ends_the_search),
        cmocka_unit_test(local_memory_is_a_roof_once_it_is_measured),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
