/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's transforms on a real device: they need the caller's permission,
 * and their error on adversarial data is within the bound of conv.h. The bound
 * is for alpha 1, beta 0 and f32:
 *
 *   |error| <= g n u / (1 - n u) sum over c of F[k][c] D[c],
 *
 * u = 2^-24, n = c + 24, g = 64 for tiles of 2 x 2 and 2304 for 4 x 4, F and D
 * the largest magnitudes in a filter's channel and a tile's window. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum {
    CHANNELS = 70,
    ROWS = 11,
    COLS = 10,
    FILTERS = 37,
    TAPS = 3,
    IN = CHANNELS * ROWS * COLS,
    WEIGHTS = FILTERS * CHANNELS * TAPS * TAPS,
    OUT = FILTERS * ROWS * COLS
};

static const struct {
    const char *name;
    size_t tile;
    double growth;
    xl_accuracy least;
} variants[] = {{"conv_winograd_2x2", 2, 64, XL_ACCURACY_SPLIT},
                {"conv_winograd_4x4", 4, 2304, XL_ACCURACY_FAST}};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

static struct test_device t;
static cl_mem mem[3];
static float in[IN], weights[WEIGHTS], out[OUT];

static xl_conv describe(xl_layout layout, xl_accuracy accuracy)
{
    return (xl_conv){
        XL_CONV_INIT,
        .n = 1,
        .c = CHANNELS,
        .h = ROWS,
        .w = COLS,
        .k = FILTERS,
        .r = TAPS,
        .s = TAPS,
        .pad_top = 1,
        .pad_bottom = 1,
        .pad_left = 1,
        .pad_right = 1,
        .in = {.mem = {.buf = mem[0]}, .layout = layout},
        .filters = {.mem = {.buf = mem[1]}},
        .out = {.mem = {.buf = mem[2]}, .layout = layout},
        .alpha = 1,
        .accuracy = accuracy};
}

/* -- adversarial data ----------------------------------------------------- */

/* Large, with signs that alternate from pixel to pixel: the sums cancel. */
static float draw_alternating(struct xl__rng *rng, size_t y, size_t x)
{
    const double large = (y + x) % 2 ? -1e6 : 1e6;
    return (float)(large + xl__rng_normal(rng));
}

/* Magnitudes from 2^-30 to 2^30. */
static float draw_spread(struct xl__rng *rng, size_t y, size_t x)
{
    (void)y;
    (void)x;
    return (float)(xl__rng_normal(rng) *
                   exp2((double)xl__rng_below(rng, 61) - 30));
}

/* One sign and nearly one value: rows of filters that sum to 0 cancel it. */
static float draw_constant(struct xl__rng *rng, size_t y, size_t x)
{
    (void)y;
    (void)x;
    return (float)(1 + 1e-6 * xl__rng_normal(rng));
}

static float (*const draws[])(struct xl__rng *, size_t, size_t) = {
    draw_alternating, draw_spread, draw_constant};
enum { N_DRAWS = sizeof draws / sizeof *draws };

static size_t index_in(xl_layout layout, size_t c, size_t y, size_t x)
{
    return layout == XL_NCHW ? (c * ROWS + y) * COLS + x
                             : (y * COLS + x) * CHANNELS + c;
}

static void make_data(unsigned draw, xl_layout layout)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 3 + draw);
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t i = 0; i < ROWS * COLS; i++)
            in[index_in(layout, c, i / COLS, i % COLS)] =
                draws[draw](&rng, i / COLS, i % COLS);
    }
    for (size_t i = 0; i < WEIGHTS; i++) {
        const size_t tap = i % (TAPS * TAPS);
        weights[i] = draws[draw](&rng, tap / TAPS, tap % TAPS);
        /* Sums of 0: what is left is the rounding of the terms. */
        if (tap == TAPS * TAPS - 1 && draw != 1) {
            weights[i] = 0;
            for (size_t l = 1; l <= tap; l++)
                weights[i] -= weights[i - l];
        }
    }
    assert_status(xl_buffer_write(t.queue, mem[0], 0, in, sizeof in), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, mem[1], 0, weights, sizeof weights),
                  XL_OK, xl_error_detail(t.queue));
}

/* -- the expected result -------------------------------------------------- */

static double load_in(xl_layout layout, size_t c, size_t y, size_t x)
{
    return y < ROWS && x < COLS ? (double)in[index_in(layout, c, y, x)] : 0;
}

/* Of filter k at row p, column q; *scale is the sum of the bound. An index
 * before the image wraps to one behind it. */
static double expect(xl_layout layout, size_t tile, const size_t at[3],
                     double *scale)
{
    const size_t k = at[0], p = at[1], q = at[2];
    double sum = 0;
    *scale = 0;
    for (size_t c = 0; c < CHANNELS; c++) {
        const float *filter = weights + (k * CHANNELS + c) * TAPS * TAPS;
        double largest = 0, window = 0;
        for (size_t r = 0; r < TAPS; r++) {
            for (size_t s = 0; s < TAPS; s++) {
                const double w = (double)filter[r * TAPS + s];
                sum += w * load_in(layout, c, p + r - 1, q + s - 1);
                largest = fmax(largest, fabs(w));
            }
        }
        for (size_t r = 0; r < tile + 2; r++) {
            for (size_t s = 0; s < tile + 2; s++)
                window = fmax(window, fabs(load_in(layout, c,
                                                   p / tile * tile + r - 1,
                                                   q / tile * tile + s - 1)));
        }
        *scale += largest * window;
    }
    return sum;
}

static void check_result(unsigned v, unsigned draw, xl_layout layout)
{
    const double nu = (CHANNELS + 24) * exp2(-24);
    const double factor = variants[v].growth * nu / (1 - nu);
    for (size_t i = 0; i < OUT; i++) {
        const size_t pixel = layout == XL_NCHW ? i % (ROWS * COLS)
                                               : i / FILTERS;
        const size_t at[] = {layout == XL_NCHW ? i / (ROWS * COLS)
                                               : i % FILTERS,
                             pixel / COLS, pixel % COLS};
        double scale;
        const double want = expect(layout, variants[v].tile, at, &scale);
        if (!(fabs((double)out[i] - want) <= factor * scale))
            fail_msg("%s, data %u, layout %d: (%zu, %zu, %zu) is %g, not %g "
                     "within %g",
                     variants[v].name, draw, (int)layout, at[0], at[1], at[2],
                     (double)out[i], want, factor * scale);
    }
}

static void bounds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_VARIANTS * N_DRAWS * 2; i++) {
        const unsigned v = i / 2 % N_VARIANTS, draw = i / 2 / N_VARIANTS;
        const xl_layout layout = i % 2 ? XL_NHWC : XL_NCHW;
        xl_conv c = describe(layout, variants[v].least);
        c.variant = variants[v].name;
        make_data(draw, layout);
        assert_status(xl_conv_run(t.queue, &c, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[2], 0, out, sizeof out),
                      XL_OK, xl_error_detail(t.queue));
        check_result(v, draw, layout);
    }
}

/* -- permission ----------------------------------------------------------- */

static void permission(void **state)
{
    enum { MOST = 16 };
    static const char *const names[] = {"XL_ACCURACY_SPLIT",
                                        "XL_ACCURACY_FAST"};
    (void)state;
    for (unsigned a = 0; a < XL_N_ACCURACIES; a++) {
        xl_conv c = describe(XL_NHWC, (xl_accuracy)a);
        xl_choice list[MOST];
        unsigned n = 0, found = 0;
        assert_status(xl_conv_explain(t.queue, &c, list, MOST, &n), XL_OK,
                      xl_error_detail(t.queue));
        for (unsigned i = 0; i < n * N_VARIANTS; i++) {
            const unsigned v = i % N_VARIANTS;
            const xl_choice *x = &list[i / N_VARIANTS];
            const bool is_allowed = a >= (unsigned)variants[v].least;
            if (strcmp(x->variant, variants[v].name) != 0)
                continue;
            found++;
            assert_int_equal(isfinite(x->est_ns), is_allowed);
            assert_true(is_allowed || (!x->chosen && strstr(x->why, names[v])));
            c.variant = x->variant;
            assert_status(xl_conv_run(t.queue, &c, NULL),
                          is_allowed ? XL_OK : XL_UNSUPPORTED,
                          xl_error_detail(t.queue));
            c.variant = NULL;
        }
        assert_int_equal(found, N_VARIANTS);
    }
}

/* Of a layer with many channels and pixels, the permission is used. */
static void choice(void **state)
{
    enum { MOST = 16, SIDE = 56, MANY = 64 };
    for (unsigned a = 0; a < XL_N_ACCURACIES; a++) {
        xl_conv c = describe(XL_NCHW, (xl_accuracy)a);
        xl_choice list[MOST];
        unsigned n = 0;
        (void)state;
        c.c = c.k = MANY;
        c.h = c.w = SIDE;
        c.in.mem.buf = c.filters.mem.buf = c.out.mem.buf = NULL;
        assert_status(xl_conv_explain(t.queue, &c, list, MOST, &n), XL_OK,
                      xl_error_detail(t.queue));
        assert_true(n > 0 && list[0].chosen);
        assert_int_equal(strncmp(list[0].variant, "conv_winograd", 13) == 0,
                         a != XL_ACCURACY_FULL);
    }
}

static int open_device(void **state)
{
    const size_t bytes[] = {sizeof in, sizeof weights, sizeof out};
    (void)state;
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < 3; i++) {
        if (xl_buffer_create(t.queue, bytes[i], &mem[i]) != XL_OK)
            return 1;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(permission),
        cmocka_unit_test(choice),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
