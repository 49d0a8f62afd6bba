/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lib/base: compared with values computed by hand, published test
 * vectors, or a second algorithm. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/os/files.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/os/lock.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/str.h"

enum { N_HALVES = 1 << 16 };

#define assert_near(got, want, tolerance)                                     \
    assert_true(fabs((got) - (want)) <= (tolerance))

/* -- strings, memory, errors -----------------------------------------------*/

static void str_appends(void **state)
{
    (void)state;
    struct xl__str s = {0};
    assert_string_equal(xl__str_text(&s), "");
    for (int i = 0; i < 1000; i++)
        xl__str_printf(&s, "%d,", i % 10);
    assert_int_equal(s.len, 2000);
    assert_int_equal(strlen(s.text), 2000);
    xl__str_reset(&s);
    xl__str_add(&s, "one");
    xl__str_add_n(&s, " two three", 4);
    assert_string_equal(xl__str_text(&s), "one two");
    char *text = xl__str_steal(&s);
    assert_string_equal(text, "one two");
    assert_null(s.text);
    free(text);
    text = xl__str_steal(&s); /* of an empty string: "", not NULL */
    assert_string_equal(text, "");
    free(text);
}

/* A length that no memory can hold breaks the string; what follows is
 * ignored, and it is whole again after a reset. */
static void str_breaks(void **state)
{
    (void)state;
    struct xl__str s = {0};
    xl__str_add(&s, "kept");
    xl__str_add_n(&s, "", SIZE_MAX - 2);
    assert_true(s.broken);
    xl__str_add(&s, "more");
    xl__str_printf(&s, "%d", 1);
    assert_string_equal(xl__str_text(&s), "kept");
    assert_null(xl__str_steal(&s));
    assert_false(s.broken);
    xl__str_add_n(&s, "", SIZE_MAX);
    assert_true(s.broken);
    xl__str_reset(&s);
    xl__str_add(&s, "again");
    assert_string_equal(xl__str_text(&s), "again");
    xl__str_clear(&s);
}

/* Numbers have a point also where the application set a comma. */
static void str_ignores_the_locale(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8",
                                         "fr_FR.UTF-8", "de_DE"};
    struct xl__str s = {0};
    size_t i = 0;
    while (i < 4 && setlocale(LC_ALL, commas[i]) == NULL)
        i++;
    if (i == 4)
        skip();
    char with_comma[8];
    snprintf(with_comma, sizeof(with_comma), "%.1f", 0.5);
    xl__str_printf(&s, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    assert_string_equal(with_comma, "0,5");
    assert_string_equal(xl__str_text(&s), "0.5");
    xl__str_clear(&s);
}

static void str_compares(void **state)
{
    (void)state;
    assert_true(xl__streq(NULL, NULL));
    assert_false(xl__streq(NULL, ""));
    assert_true(xl__streq("a", "a"));
    assert_true(xl__str_contains("Some Device 3000", "dEVICE"));
    assert_true(xl__str_contains("aab", "AB"));
    assert_true(xl__str_contains("x", ""));
    assert_false(xl__str_contains("", "x"));
    assert_false(xl__str_contains("device", "devices"));
    assert_false(xl__str_contains(NULL, "x"));
    assert_null(xl__strdup(NULL));
    char small[4] = "zzz";
    assert_true(xl__strcpy(small, sizeof small, "abc"));
    assert_string_equal(small, "abc");
    assert_false(xl__strcpy(small, 0, "y"));
    assert_string_equal(small, "abc");
}

/* A cut is seen: by its mark, and by the result. */
static void str_shows_cuts(void **state)
{
    char text[8], little[2];
    (void)state;
    assert_true(xl__strcpy(text, sizeof text, "1234567"));
    assert_string_equal(text, "1234567");
    assert_false(xl__strcpy(text, sizeof text, "12345678"));
    assert_string_equal(text, "1234...");
    assert_true(xl__strfmt(text, sizeof text, "%d, %.1f", 42, 0.5));
    assert_string_equal(text, "42, 0.5");
    assert_false(xl__strfmt(text, sizeof text, "%d, %.2f", 42, 0.5));
    assert_string_equal(text, "42, ...");
    assert_false(xl__strcpy(little, sizeof little, "ab"));
    assert_string_equal(little, "a");
}

static void mem_overflows(void **state)
{
    (void)state;
    size_t out = 7;
    assert_true(xl__mul(SIZE_MAX / 2, 2, &out));
    assert_int_equal(out, SIZE_MAX - 1);
    assert_false(xl__mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(xl__mul(2, SIZE_MAX, &out));
    assert_true(xl__mul(SIZE_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(xl__add(SIZE_MAX - 1, 1, &out));
    assert_int_equal(out, SIZE_MAX);
    assert_false(xl__add(SIZE_MAX, 1, &out));
    assert_null(xl__calloc(SIZE_MAX / 2, 3));
    void *none = xl__calloc(0, 8);
    assert_non_null(none);
    free(none);
}

static void mem_grows(void **state)
{
    (void)state;
    int *array = NULL;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(xl__grow(&array, &cap, (size_t)i + 1, sizeof(*array)));
        array[i] = i;
    }
    assert_true(cap >= 1000 && cap <= 2048);
    int *before = array;
    size_t cap_before = cap;
    assert_false(xl__grow(&array, &cap, SIZE_MAX / 2, sizeof(*array)));
    assert_ptr_equal(array, before);
    assert_int_equal(cap, cap_before);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    free(array);
}

static void error_keeps_the_first(void **state)
{
    (void)state;
    struct xl__error e = {0};
    assert_int_equal(xl__error_set(NULL, XL_IO, "no record"), XL_IO);
    assert_int_equal(xl__error_set(&e, XL_BAD_SHAPE, "m is %d", 0),
                     XL_BAD_SHAPE);
    assert_int_equal(xl__error_set(&e, XL_IO, "later"), XL_IO);
    assert_int_equal(e.status, XL_BAD_SHAPE);
    assert_string_equal(xl__str_text(&e.detail), "m is 0");
    xl__error_reset(&e);
    assert_int_equal(e.status, XL_OK);
    assert_string_equal(xl__str_text(&e.detail), "");
    xl__error_clear(&e);
}

static void status_has_names(void **state)
{
    (void)state;
    assert_string_equal(xl_status_name(XL_OK), "XL_OK");
    assert_string_equal(xl_status_name(XL_BAD_SHAPE), "XL_BAD_SHAPE");
    assert_string_equal(xl_status_text(XL_NO_SPACE), "the disk is full");
    assert_string_equal(xl_status_name(-5), "CL_OUT_OF_RESOURCES");
    assert_string_equal(xl_status_name(-54), "CL_INVALID_WORK_GROUP_SIZE");
    assert_string_equal(xl_status_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(xl_status_name(-7098), "unknown status");
    assert_string_equal(xl_status_name(1), "unknown status");
}

/* -- half precision --------------------------------------------------------*/

/* The value by its definition, in double. */
static double f16_value(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return mantissa > 0 ? (double)NAN : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(mantissa, -24)
                         : sign * ldexp(1024 + mantissa, exponent - 25);
}

static double bf16_value(unsigned bits)
{
    int exponent = (int)(bits >> 7 & 255);
    double mantissa = bits & 127, sign = bits >> 15 ? -1 : 1;
    if (exponent == 255)
        return mantissa > 0 ? (double)NAN : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(mantissa, -133)
                         : sign * ldexp(128 + mantissa, exponent - 134);
}

struct half {
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    double (*value)(unsigned);
    unsigned infinity;
};

static const struct half f16 = {xl__f16_to_f32, xl__f32_to_f16, f16_value,
                                0x7c00};
static const struct half bf16 = {xl__bf16_to_f32, xl__f32_to_bf16, bf16_value,
                                 0x7f80};

/* Every value is the defined one and comes back as the same bits, NaN's
 * payload and the sign of 0 included. */
static void half_round_trips(const struct half *half)
{
    for (unsigned bits = 0; bits < N_HALVES; bits++) {
        float wide = half->widen((uint16_t)bits);
        double want = half->value(bits);
        assert_true(isnan(want) ? isnan(wide) : (double)wide == want);
        assert_int_equal(half->narrow(wide), bits);
    }
}

/* Between each two neighbours: the middle goes to the even one, one f32 step
 * beside it to the nearer one. After the largest finite value the neighbour
 * is what the next exponent would hold, which is infinity. */
static void half_rounds(const struct half *half)
{
    for (unsigned low = 0; low < half->infinity; low++) {
        double a = half->value(low), b = half->value(low + 1);
        if (isinf(b))
            b = 2 * a - half->value(low - 1);
        float middle = (float)((a + b) / 2);
        unsigned even = low % 2 == 0 ? low : low + 1;
        assert_int_equal(half->narrow(middle), even);
        assert_int_equal(half->narrow(-middle), even | 0x8000);
        assert_int_equal(half->narrow(nextafterf(middle, 0)), low);
        assert_int_equal(half->narrow(nextafterf(middle, INFINITY)), low + 1);
    }
}

static void half_is_exact(void **state)
{
    (void)state;
    half_round_trips(&f16);
    half_round_trips(&bf16);
}

static void half_rounds_to_even(void **state)
{
    (void)state;
    half_rounds(&f16);
    half_rounds(&bf16);
}

/* A NaN whose payload is all in the dropped bits stays a NaN; what is far out
 * of range becomes infinity or 0. */
static void half_keeps_specials(void **state)
{
    (void)state;
    const uint32_t low_payload[] = {0x7f800001, 0xff800001};
    for (int i = 0; i < 2; i++) {
        float x;
        memcpy(&x, &low_payload[i], sizeof(x));
        assert_true(isnan(xl__f16_to_f32(xl__f32_to_f16(x))));
        assert_true(isnan(xl__bf16_to_f32(xl__f32_to_bf16(x))));
    }
    assert_int_equal(xl__f32_to_f16(3e38f), 0x7c00);
    assert_int_equal(xl__f32_to_f16(-1e5f), 0xfc00);
    assert_int_equal(xl__f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(xl__f32_to_f16(1e-40f), 0);
    assert_int_equal(xl__f32_to_f16(-0.0f), 0x8000);
}

/* -- 8-bit floats ----------------------------------------------------------*/

/* OFP8's definitions: no infinities in the first, one NaN of each sign. */
static double e4m3_value(unsigned bits)
{
    int exponent = (int)(bits >> 3 & 15);
    double mantissa = bits & 7, sign = bits >> 7 ? -1 : 1;
    if ((bits & 127) == 127)
        return (double)NAN;
    return exponent == 0 ? sign * ldexp(mantissa, -9)
                         : sign * ldexp(8 + mantissa, exponent - 10);
}

static double e5m2_value(unsigned bits)
{
    int exponent = (int)(bits >> 2 & 31);
    double mantissa = bits & 3, sign = bits >> 7 ? -1 : 1;
    if (exponent == 31)
        return mantissa > 0 ? (double)NAN : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(mantissa, -16)
                         : sign * ldexp(4 + mantissa, exponent - 17);
}

static const struct f8 {
    float (*widen)(uint8_t);
    uint8_t (*narrow)(float);
    double (*value)(unsigned);
    unsigned largest;
} f8s[] = {{xl__e4m3_to_f32, xl__f32_to_e4m3, e4m3_value, 0x7e},
           {xl__e5m2_to_f32, xl__f32_to_e5m2, e5m2_value, 0x7b}};

static void f8_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (unsigned bits = 0; bits < 256; bits++) {
            const struct f8 *f = &f8s[i];
            const float wide = f->widen((uint8_t)bits);
            const double want = f->value(bits);
            const unsigned sign = bits & 0x80;
            assert_true(isnan(want) ? isnan(wide) : (double)wide == want);
            assert_int_equal(f->narrow(wide),
                             isnan(want)   ? sign | 0x7f
                             : isinf(want) ? sign | f->largest
                                           : bits);
        }
    }
    assert_true((double)xl__e4m3_to_f32(0x7e) == 448);
    assert_true((double)xl__e5m2_to_f32(0x7b) == 57344);
}

/* As half_rounds(); past the largest there is no neighbour. */
static void f8_rounds_to_even(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct f8 *f = &f8s[i];
        for (unsigned low = 0; low < f->largest; low++) {
            const float middle =
                (float)((f->value(low) + f->value(low + 1)) / 2);
            const unsigned even = low % 2 == 0 ? low : low + 1;
            assert_int_equal(f->narrow(middle), even);
            assert_int_equal(f->narrow(-middle), even | 0x80);
            assert_int_equal(f->narrow(nextafterf(middle, 0)), low);
            assert_int_equal(f->narrow(nextafterf(middle, INFINITY)),
                             low + 1);
        }
        const float most = f->widen((uint8_t)f->largest);
        assert_int_equal(f->narrow(1.5f * most), f->largest);
        assert_int_equal(f->narrow(-3e38f), f->largest | 0x80);
        assert_int_equal(f->narrow(1e-40f), 0);
        assert_int_equal(f->narrow(-0.0f), 0x80);
    }
}

/* -- random numbers, hashes ------------------------------------------------*/

/* Outputs published with the generators' reference code: xoshiro256** from
 * state {1, 2, 3, 4}; splitmix64 from 0. */
static void rng_matches_reference(void **state)
{
    (void)state;
    struct xl__rng rng = {{1, 2, 3, 4}};
    const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    for (int i = 0; i < 4; i++)
        assert_true(xl__rng_next(&rng) == want[i]);
    xl__rng_seed(&rng, 0);
    assert_true(rng.state[0] == 0xe220a8397b1dcdafu);
    assert_true(rng.state[1] == 0x6e789e6aa1b965f4u);
}

/* Moments of 10^5 numbers; the standard errors are 0.0032 for a mean of
 * deviation 1, 0.0045 for a variance; four of each are allowed. */
static void rng_has_the_right_moments(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct xl__rng rng;
    double sum = 0, squares = 0, uniform = 0;
    unsigned counts[10] = {0};
    xl__rng_seed(&rng, 42);
    for (int i = 0; i < N; i++) {
        double x = xl__rng_normal(&rng), u = xl__rng_uniform(&rng);
        assert_true(fabs(x) <= 6 && u >= 0 && u < 1);
        sum += x;
        squares += x * x;
        uniform += u;
        counts[xl__rng_below(&rng, 10)]++;
    }
    assert_near(sum / N, 0, 4 * 0.0032);
    assert_near(squares / N, 1, 4 * 0.0045);
    assert_near(uniform / N, 0.5, 4 * 0.0032 / sqrt(12));
    for (int i = 0; i < 10; i++)
        assert_near((double)counts[i], N / 10, 4 * sqrt(N * 0.09));
    assert_int_equal(xl__rng_below(&rng, 1), 0);
    assert_int_equal(xl__rng_below(&rng, 0), 0);
}

/* XXH3 of nothing, as published, and of a word, from the shared library. */
static void hash_matches_reference(void **state)
{
    (void)state;
    char hex[XL__HASH128_TEXT];
    assert_true(xl__hash64("", 0) == 0x2d06800538d394c2u);
    xl__hash128_hex("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    xl__hash128_hex("crosslane", 9, hex);
    assert_string_equal(hex, "cd552c413577bc49b5d645b90e0f65db");
}

/* -- statistics ------------------------------------------------------------*/

static void stats_median_and_quantiles(void **state)
{
    (void)state;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_near(xl__median(odd, 3), 5, 0);
    assert_near(xl__median(even, 4), 2.5, 0);
    assert_near(xl__median(one, 1), 7, 0);
    /* Type 7 at p of {1, 2, 3, 4}: 1 + 3 p. */
    assert_near(xl__quantile(even, 4, 0), 1, 0);
    assert_near(xl__quantile(even, 4, 1), 4, 0);
    assert_near(xl__quantile(even, 4, 0.25), 1.75, 1e-15);
    double with_nan[] = {NAN, 1, NAN, 0, 2};
    assert_near(xl__quantile(with_nan, 5, 0.5), 2, 0); /* NaN sorts last */
}

static void stats_summary(void **state)
{
    (void)state;
    /* Median 5; deviations 4 3 2 1 0 1 2 3 95: sorted 0 1 1 2 2 3 3 4 95. */
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 100};
    struct xl__summary s = xl__summarise(x, 9);
    assert_near(s.median, 5, 0);
    assert_near(s.mad, 2, 0);
    assert_near(s.min, 1, 0);
    assert_near(s.max, 100, 0);
    assert_near(s.p05, 1.4, 1e-14);
    assert_near(s.p95, 8 + 0.6 * 92, 1e-12);
    assert_int_equal(s.n_outliers, 1); /* 5 * 1.4826 * 2 = 14.8 */
    assert_near(x[8], 100, 0);         /* left as it was */
    /* Four alike of five: MAD is 0, mean deviation 2, limit 12.5. */
    const double alike[] = {3, 3, 3, 3, 13};
    s = xl__summarise(alike, 5);
    assert_near(s.mad, 0, 0);
    assert_int_equal(s.n_outliers, 0);
    const double same[] = {3, 3};
    assert_int_equal(xl__summarise(same, 2).n_outliers, 0);
    /* Limit 5 * 1.4826 * 0.1 = 0.74, but 1 % is 10: 1009 is near, 1011 far. */
    const double close[] = {999.9, 999.9, 1000, 1000, 1000.1, 1000.1, 1009};
    assert_int_equal(xl__summarise(close, 7).n_outliers, 0);
    const double far[] = {999.9, 999.9, 1000, 1000, 1000.1, 1000.1, 1011};
    assert_int_equal(xl__summarise(far, 7).n_outliers, 1);
}

/* Ranks of the 95 % interval from published tables (1-based, lower): the
 * sample is 1 .. n, so that a value is its rank. */
static void stats_interval_of_the_median(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double low;
    } table[] = {{1, 1},  {2, 1},  {5, 1},   {6, 1},   {8, 1},
                 {9, 2},  {10, 2}, {11, 2},  {12, 3},  {15, 4},
                 {20, 6}, {25, 8}, {50, 18}, {100, 40}};
    double x[5000];
    for (size_t i = 0; i < 5000; i++)
        x[i] = (double)i + 1;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct xl__summary s = xl__summarise(x, table[i].n);
        assert_near(s.lo, table[i].low, 0);
        assert_near(s.hi, (double)table[i].n + 1 - table[i].low, 0);
    }
    /* 2^-5000 underflows; n/2 - 0.98 sqrt(n) is the large-sample rank. */
    struct xl__summary s = xl__summarise(x, 5000);
    assert_near(s.lo, 2500 - 0.98 * sqrt(5000), 2);
}

/* How often does the interval hold the true ratio? 400 pairs of samples of 15:
 * nominal 95 %; the percentile method on medians of small samples is known to
 * be near that, and binomial noise has a deviation of 1.1 %. */
static void stats_ratio_interval(void **state)
{
    (void)state;
    enum { ROUNDS = 400, N = 15 };
    struct xl__rng rng;
    unsigned held = 0;
    xl__rng_seed(&rng, 3);
    for (int round = 0; round < ROUNDS; round++) {
        double a[N], b[N], ratio, lo, hi;
        for (int i = 0; i < N; i++) {
            a[i] = 20 + xl__rng_normal(&rng);
            b[i] = 10 + xl__rng_normal(&rng);
        }
        xl__ratio_interval(a, N, b, N, &ratio, &lo, &hi);
        assert_true(lo <= ratio && ratio <= hi);
        held += lo <= 2 && 2 <= hi;
    }
    assert_true(held >= ROUNDS * 90 / 100 && held <= ROUNDS * 995 / 1000);
}

/* Samples that are symmetric about their median, of odd and of even size, have
 * intervals that are: a resampled median is no order statistic beside the
 * middle. */
static void stats_ratio_is_symmetric(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, one = 1;
    for (size_t n = 9; n <= 10; n++) {
        double ratio, lo, hi;
        xl__ratio_interval(x, n, &one, 1, &ratio, &lo, &hi);
        assert_near(ratio, ((double)n + 1) / 2, 0);
        assert_near(lo + hi, 2 * ratio, 0);
    }
}

static void stats_ratio_repeats(void **state)
{
    (void)state;
    const double a[] = {4, 6}, b[] = {2}, c[] = {1, 2, 3, 4, 5, 6, 7};
    double ratio, lo, hi, again_lo, again_hi;
    xl__ratio_interval(a, 2, b, 1, &ratio, &lo, &hi);
    assert_near(ratio, 2.5, 0);
    assert_near(lo, 2, 0);
    assert_near(hi, 3, 0);
    xl__ratio_interval(b, 1, b, 1, &ratio, &lo, &hi);
    assert_true(ratio == 1 && lo == 1 && hi == 1);
    xl__ratio_interval(c, 7, c, 7, &ratio, &lo, &hi);
    xl__ratio_interval(c, 7, c, 7, &ratio, &again_lo, &again_hi);
    assert_true(lo == again_lo && hi == again_hi && lo < 1 && hi > 1);
}

/* -- paths -----------------------------------------------------------------*/

static void paths_join(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *name, *want;
    } table[] = {{"/a", "b", "/a/b"},
                 {"/a/", "b", "/a/b"},
                 {"", "b", "b"},
                 {"/", "b", "/b"}};
    for (size_t i = 0; i < 4; i++) {
        char *path = xl__path_join(table[i].dir, table[i].name);
        assert_string_equal(path, table[i].want);
        free(path);
    }
    assert_string_equal(xl__path_name("/a/b.c"), "b.c");
    assert_string_equal(xl__path_name("b"), "b");
    assert_string_equal(xl__path_name("a/"), "");
}

static void paths_of_the_user(void **state)
{
    (void)state;
    static const struct {
        const char *xdg, *home, *want;
    } table[] = {{"/x", "/home/u", "/x/crosslane"},
                 {NULL, "/home/u", "/home/u/.cache/crosslane"},
                 {"", "/home/u", "/home/u/.cache/crosslane"},
                 {"relative", "/home/u", "/home/u/.cache/crosslane"},
                 {NULL, NULL, NULL},
                 {NULL, "", NULL},
                 {"relative", "relative", NULL}};
    const char *home_now = getenv("HOME");
    char *home = xl__strdup(home_now);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        test_setenv("XDG_CACHE_HOME", table[i].xdg);
        test_setenv("HOME", table[i].home);
        char *dir = xl__user_cache_dir("crosslane");
        assert_true(xl__streq(dir, table[i].want));
        free(dir);
    }
    test_setenv("XDG_CACHE_HOME", NULL);
    test_setenv("HOME", home);
    free(home);
}

/* -- files -----------------------------------------------------------------*/

static bool count_file(const char *path, void *arg)
{
    (void)path;
    ++*(unsigned *)arg;
    return true;
}

static unsigned files_below(const char *dir)
{
    unsigned n = 0;
    assert_int_equal(xl__dir_scan(dir, count_file, &n), XL_OK);
    return n;
}

static void files_replace(void **state)
{
    (void)state;
    enum { LARGE = 3000000 };
    const char *dir = test_scratch("files");
    char *path = xl__path_join(dir, "f"), *link = xl__path_join(dir, "l");
    char *bytes, *large = xl__calloc(LARGE, 1);
    size_t len;
    large[LARGE - 1] = 'x';
    assert_int_equal(xl__file_replace(path, "old", 3), XL_OK);
    assert_int_equal(xl__file_replace(path, large, LARGE), XL_OK);
    assert_int_equal(xl__file_read(path, &bytes, &len), XL_OK);
    assert_int_equal(len, LARGE);
    assert_memory_equal(bytes, large, LARGE);
    assert_int_equal(bytes[len], 0);
    free(bytes);
    assert_int_equal(symlink("f", link), 0); /* followed, not replaced */
    assert_int_equal(xl__file_replace(link, "", 0), XL_OK);
    assert_int_equal(xl__file_read(path, &bytes, &len), XL_OK);
    assert_int_equal(len, 0);
    assert_string_equal(bytes, "");
    free(bytes);
    assert_int_equal(files_below(dir), 1); /* no temporary, no link */
    free(large);
    free(link);
    free(path);
}

/* What is not a plain file is written to: --json /dev/null, run by root, must
 * not put a file in its place. A pipe replaces the device. */
static void files_write_to_a_pipe(void **state)
{
    (void)state;
    char *path = xl__path_join(test_scratch("pipe"), "p"), got[4] = "";
    struct stat info;
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(xl__file_replace(path, "abc", 3), XL_OK);
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_string_equal(got, "abc");
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    close(fd);
    free(path);
}

static void files_fail(void **state)
{
    (void)state;
    const char *dir = test_scratch("fail");
    char *absent = xl__path_join(dir, "no/such"), *bytes;
    size_t len = 1;
    struct xl__file_info info;
    assert_int_equal(xl__file_read(absent, &bytes, &len), XL_IO);
    assert_int_equal(errno, ENOENT);
    assert_null(bytes);
    assert_int_equal(xl__file_read(dir, &bytes, &len), XL_IO);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(xl__file_replace(absent, "x", 1), XL_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(xl__file_replace(dir, "x", 1), XL_IO);
    assert_false(xl__file_stat(dir, &info));
    assert_false(xl__file_touch(absent));
    assert_false(xl__file_remove(absent));
    assert_int_equal(xl__dir_scan(absent, count_file, &len), XL_IO);
    assert_int_equal(files_below(dir), 0);
    free(absent);
}

static void folders_are_private(void **state)
{
    (void)state;
    const char *dir = test_scratch("folders"), *why = NULL;
    char *deep = xl__path_join(dir, "a/b/c"), *f = xl__path_join(dir, "f");
    char *below_file = xl__path_join(f, "x");
    struct stat info;
    assert_int_equal(xl__dir_create(deep, &why), XL_OK);
    assert_int_equal(xl__dir_create(deep, NULL), XL_OK); /* again */
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(chmod(deep, 0720), 0);
    assert_int_equal(xl__dir_create(deep, &why), XL_IO);
    assert_string_equal(why, "other users may write to it");
    assert_int_equal(chmod(deep, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(deep, 1, 1), 0);
        assert_int_equal(xl__dir_create(deep, &why), XL_IO);
        assert_string_equal(why, "it belongs to another user");
    }
    assert_int_equal(xl__file_replace(f, "x", 1), XL_OK);
    assert_int_equal(xl__dir_create(f, &why), XL_IO);
    assert_string_equal(why, "it is not a folder");
    assert_int_equal(xl__dir_create(below_file, &why), XL_IO);
    assert_int_equal(errno, ENOTDIR);
    free(below_file);
    free(f);
    free(deep);
}

/* As the umask has them; one that others may write to is fine. */
static void folders_are_shared(void **state)
{
    (void)state;
    const char *dir = test_scratch("shared");
    char *deep = xl__path_join(dir, "a/b/"), *f = xl__path_join(dir, "f");
    struct stat info;
    const mode_t mask = umask(0022);
    assert_int_equal(xl__dir_create_shared(deep), XL_OK);
    (void)umask(mask);
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    assert_int_equal(chmod(deep, 0777), 0);
    assert_int_equal(xl__dir_create_shared(deep), XL_OK); /* again */
    assert_int_equal(xl__file_replace(f, "x", 1), XL_OK);
    assert_int_equal(xl__dir_create_shared(f), XL_IO);
    assert_int_equal(errno, ENOTDIR);
    free(f);
    free(deep);
}

static bool stop_at_once(const char *path, void *arg)
{
    count_file(path, arg);
    return false;
}

/* Files in the folder, one and two folders below count; deeper ones and links
 * do not. */
static void folders_walk(void **state)
{
    (void)state;
    static const char *const names[] = {"f", "a/f", "a/b/f", "a/b/c/f"};
    const char *dir = test_scratch("walk");
    char *deep = xl__path_join(dir, "a/b/c"), *link = xl__path_join(dir, "l");
    unsigned n = 0;
    assert_int_equal(xl__dir_create(deep, NULL), XL_OK);
    for (size_t i = 0; i < 4; i++) {
        char *path = xl__path_join(dir, names[i]);
        assert_int_equal(xl__file_replace(path, "x", 1), XL_OK);
        free(path);
    }
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(files_below(dir), 3);
    assert_int_equal(xl__dir_scan(dir, stop_at_once, &n), XL_OK);
    assert_int_equal(n, 1);
    free(link);
    free(deep);
}

static void libraries_open(void **state)
{
    (void)state;
    assert_null(xl__dlopen("libno-such-library.so.0"));
    xl__dlclose(NULL);
}

/* -- clock, lock -----------------------------------------------------------*/

static void clock_goes_forward(void **state)
{
    (void)state;
    const uint64_t nap_ns = 2000000;
    uint64_t cpu = xl__thread_cpu_ns(), start = xl__now_ns();
    xl__sleep_ns(nap_ns);
    assert_true(xl__now_ns() - start >= nap_ns);
    uint64_t used = xl__thread_cpu_ns() - cpu;
    assert_true(used < nap_ns); /* sleeping costs nothing */
}

enum { N_THREADS = 4, N_STEPS = 20000 };

struct counter {
    xl__lock lock;
    long value;
};

static void *count_up(void *arg)
{
    struct counter *c = arg;
    for (int i = 0; i < N_STEPS; i++) {
        xl__lock_take(&c->lock);
        long seen = c->value;
        if (i % 100 == 0) /* let others in, if the lock does */
            sched_yield();
        c->value = seen + 1;
        xl__lock_drop(&c->lock);
    }
    return NULL;
}

static void lock_excludes(void **state)
{
    (void)state;
    struct counter c = {.value = 0};
    pthread_t threads[N_THREADS];
    xl__lock_init(&c.lock);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &c), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.value, (long)N_THREADS * N_STEPS);
    xl__lock_clear(&c.lock);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_appends),
        cmocka_unit_test(str_breaks),
        cmocka_unit_test(str_ignores_the_locale),
        cmocka_unit_test(str_compares),
        cmocka_unit_test(str_shows_cuts),
        cmocka_unit_test(mem_overflows),
        cmocka_unit_test(mem_grows),
        cmocka_unit_test(error_keeps_the_first),
        cmocka_unit_test(status_has_names),
        cmocka_unit_test(half_is_exact),
        cmocka_unit_test(half_rounds_to_even),
        cmocka_unit_test(half_keeps_specials),
        cmocka_unit_test(f8_is_exact),
        cmocka_unit_test(f8_rounds_to_even),
        cmocka_unit_test(rng_matches_reference),
        cmocka_unit_test(rng_has_the_right_moments),
        cmocka_unit_test(hash_matches_reference),
        cmocka_unit_test(stats_median_and_quantiles),
        cmocka_unit_test(stats_summary),
        cmocka_unit_test(stats_interval_of_the_median),
        cmocka_unit_test(stats_ratio_interval),
        cmocka_unit_test(stats_ratio_is_symmetric),
        cmocka_unit_test(stats_ratio_repeats),
        cmocka_unit_test(paths_join),
        cmocka_unit_test(paths_of_the_user),
        cmocka_unit_test(files_replace),
        cmocka_unit_test(files_write_to_a_pipe),
        cmocka_unit_test(files_fail),
        cmocka_unit_test(folders_are_private),
        cmocka_unit_test(folders_are_shared),
        cmocka_unit_test(folders_walk),
        cmocka_unit_test(libraries_open),
        cmocka_unit_test(clock_goes_forward),
        cmocka_unit_test(lock_excludes),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
