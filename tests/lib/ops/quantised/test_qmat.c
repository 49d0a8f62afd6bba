/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of quantised matrices on the host: the table, sizes, bad input,
 * and how far a quantised element is from its own. check_qmat.py has the
 * layouts. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { ROWS = 3, COLS = 768, GROUP = 64, GROUP_ROWS = 2, GUARD = 64, FILL = 0xa5 };

static void formats_are_found_by_name(void **state)
{
    (void)state;
    for (int f = 0; f < XL_N_QFORMATS; f++) {
        const xl_qlayout *l = xl_qformat_layout((xl_qformat)f);
        assert_non_null(l);
        assert_int_equal(xl_qformat_find(l->name), f);
    }
    assert_null(xl_qformat_layout(XL_N_QFORMATS));
    assert_int_equal(xl_qformat_find("q4"), XL_N_QFORMATS);
    assert_int_equal(xl_qformat_find(NULL), XL_N_QFORMATS);
}

static void sizes_are_those_of_the_formats(void **state)
{
    static const double bits[XL_N_QFORMATS] = {[XL_Q4_0] = 4.5,
                                               [XL_Q4_1] = 5,
                                               [XL_Q5_0] = 5.5,
                                               [XL_Q8_0] = 8.5,
                                               [XL_Q4_K] = 4.5,
                                               [XL_Q6_K] = 6.5625,
                                               [XL_IQ4_NL] = 4.5,
                                               [XL_MXFP4] = 4.25,
                                               [XL_INT4] = 4 + 20.0 / GROUP,
                                               [XL_INT8] = 8 + 16.0 / COLS,
                                               /* two of a row's three */
                                               [XL_FP8] =
                                                   8 + 2.0 / 3 * 32 / GROUP};
    (void)state;
    for (int f = 0; f < XL_N_QFORMATS; f++) {
        const xl_qshape s = {(xl_qformat)f, ROWS, COLS, GROUP, GROUP_ROWS};
        xl_qbytes b;
        assert_int_equal(xl_qshape_bytes(&s, &b), XL_OK);
        assert_true(fabs(b.bits - bits[f]) < 1e-12);
        assert_true(b.bits * ROWS * COLS / 8 ==
                    (double)(b.blocks + b.scales + b.zeros));
    }
}

static void bad_shapes_are_refused(void **state)
{
    static const struct {
        xl_qshape s;
        xl_status status;
    } bad[] = {{{XL_N_QFORMATS, 1, 32, 0, 0}, XL_BAD_ARGUMENT},
               {{XL_Q4_0, 0, 32, 0, 0}, XL_BAD_SHAPE},
               {{XL_Q4_0, 1, 0, 0, 0}, XL_BAD_SHAPE},
               {{XL_Q4_0, 1, 48, 0, 0}, XL_BAD_SHAPE},
               {{XL_Q4_K, 1, 128, 0, 0}, XL_BAD_SHAPE},
               {{XL_INT4, 1, 128, 0, 0}, XL_BAD_SHAPE},
               {{XL_INT4, 1, 128, 48, 0}, XL_BAD_SHAPE},
               {{XL_INT4, 1, 96, 64, 0}, XL_BAD_SHAPE},
               {{XL_FP8, 1, 48, 0, 0}, XL_BAD_SHAPE},
               {{XL_FP8, 1, 128, 48, 1}, XL_BAD_SHAPE},
               {{XL_FP8, 1, 96, 64, 0}, XL_BAD_SHAPE},
               {{XL_Q8_0, SIZE_MAX / 8, 1024, 0, 0}, XL_OVERFLOW}};
    const xl_qshape good = {XL_INT8, 1, 32, 0, 0};
    unsigned char room[64];
    float x[32] = {0};
    xl_qbytes b = {7, 7, 7, 7};
    const xl_qdata lacks = {room, NULL, NULL}, whole = {room, room + 32, NULL};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(xl_qshape_bytes(&bad[i].s, &b), bad[i].status);
        assert_int_equal(b.blocks, 7);
        assert_int_equal(xl_qmat_dequantise_host(&bad[i].s, &whole, x),
                         bad[i].status);
    }
    assert_int_equal(xl_qshape_bytes(NULL, &b), XL_BAD_ARGUMENT);
    assert_int_equal(xl_qshape_bytes(&good, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_qmat_quantise_host(&good, NULL, &whole),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_qmat_quantise_host(&good, x, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_qmat_quantise_host(&good, x, &lacks), XL_BAD_ARGUMENT);
}

static void elements_without_a_value_are_refused(void **state)
{
    static const float wrong[] = {INFINITY, -INFINITY, NAN, 1e38f};
    unsigned char room[512];
    float x[256];
    (void)state;
    for (int f = 0; f < XL_N_QFORMATS; f++) {
        const xl_qshape s = {(xl_qformat)f, 1, 256, 256, 0};
        const xl_qdata to = {room, room + 256, NULL};
        const bool has_scale = f == XL_MXFP4 || f == XL_FP8;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            memset(x, 0, sizeof x);
            x[200] = wrong[i];
            /* 1e38 has a scale of MXFP4 and of FP8. */
            assert_int_equal(
                xl_qmat_quantise_host(&s, x, &to),
                has_scale && isfinite(wrong[i]) ? XL_OK : XL_BAD_SCALAR);
        }
    }
}

/* How far an element may be from its value, of the largest magnitude in its
 * block: half of the largest step of the format, the end of the range that it
 * lacks (one step, of formats whose codes are not symmetric), and for scales
 * that are rounded: to f16 2^-11; of Q4_K a half of 1/63 of the largest scale
 * over up to 15 steps and of the largest minimum; of Q6_K a half of 1/128 over
 * up to 32 steps. */
static double bound_of(xl_qformat f)
{
    static const double f16 = 0x1p-11 * 1.001;
    switch (f) {
    case XL_Q4_0:
        return 1.0 / 8 + f16;
    case XL_Q4_1:
        return 1.0 / 15 + 3 * f16;
    case XL_Q5_0:
        return 1.0 / 16 + f16;
    case XL_Q4_K:
        return 1.0 / 15 * (1 + 1 / 126.0) + 2.0 / 126 + 1.0 / 126 + 3 * f16;
    case XL_Q6_K:
        return 1.0 / 32 * 1.01 + 1.0 / 256 + f16;
    case XL_IQ4_NL:
        return 14.0 / 127 + f16; /* 113 of 127 */
    case XL_MXFP4:
        return 1.0 / 4; /* 4 to 8 of 8 become 6 at the most */
    case XL_INT4:
        return 1.0 / 8 + 3 * f16;
    case XL_FP8:
        return 1.0 / 28 * 1.001; /* half of 32, of 448 */
    default:
        return 0.5 / 127 + f16;
    }
}

static void elements_are_near(void **state)
{
    float *x = calloc(ROWS * COLS, sizeof *x),
          *y = calloc(ROWS * COLS, sizeof *y);
    struct xl__rng rng;
    (void)state;
    assert_true(x && y);
    xl__rng_seed(&rng, 3);
    for (size_t i = 0; i < ROWS * COLS; i++)
        x[i] = (float)(2 * xl__rng_uniform(&rng) - 1);
    for (int f = 0; f < XL_N_QFORMATS; f++) {
        for (int zeros = 0; zeros <= (f == XL_INT4); zeros++) {
            const xl_qshape s = {(xl_qformat)f, ROWS, COLS, GROUP, GROUP_ROWS};
            xl_qbytes b;
            assert_int_equal(xl_qshape_bytes(&s, &b), XL_OK);
            const size_t all = b.blocks + b.scales + b.zeros;
            unsigned char *room = malloc(all + 2 * GUARD);
            assert_non_null(room);
            memset(room, FILL, all + 2 * GUARD);
            const xl_qdata to = {room + GUARD, room + GUARD + b.blocks,
                                 zeros ? room + GUARD + b.blocks + b.scales
                                       : NULL};
            assert_int_equal(xl_qmat_quantise_host(&s, x, &to), XL_OK);
            assert_int_equal(xl_qmat_dequantise_host(&s, &to, y), XL_OK);
            for (size_t i = 0; i < ROWS * COLS; i++)
                assert_true(fabs((double)x[i] - (double)y[i]) <=
                            bound_of((xl_qformat)f));
            for (size_t i = 0; i < GUARD; i++)
                assert_true(room[i] == FILL && room[GUARD + all + i] == FILL);
            free(room);
        }
    }
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_found_by_name),
        cmocka_unit_test(sizes_are_those_of_the_formats),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(elements_without_a_value_are_refused),
        cmocka_unit_test(elements_are_near),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("qmat", tests, NULL, NULL);
}
