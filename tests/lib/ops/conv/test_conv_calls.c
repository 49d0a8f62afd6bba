/* SPDX-License-Identifier: Apache-2.0 */
/* What conv.h states of a call, on a real device: alpha = 0, and results that
 * repeat. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum {
    IMAGES = 2,
    CHANNELS = 3,
    SIDE = 6,
    FILTERS = 5,
    TAPS = 3,
    IN = IMAGES * CHANNELS * SIDE * SIDE,
    WEIGHTS = FILTERS * CHANNELS * TAPS * TAPS,
    PIXELS = (SIDE - TAPS + 1) * (SIDE - TAPS + 1),
    OUT = IMAGES * FILTERS * PIXELS,
    GUARD = 64
};

static struct test_device t;
static cl_mem mem[3];

static void write_floats(cl_mem to, const float *from, size_t n)
{
    assert_status(xl_buffer_write(t.queue, to, 0, from, n * sizeof *from),
                  XL_OK, xl_error_detail(t.queue));
}

/* out = epilogue(beta out) with in and filters of NaN, then without memory, by
 * each variant, in both layouts, for an alpha of 0 and one that is 0 as an
 * f32; what stands behind out stays as it was. A NaN of out stays where it is:
 * it would spread if out, whose memory is passed as in's, were read. */
static void no_product(void **state)
{
    static float nan[IN], before[OUT + GUARD], after[OUT + GUARD];
    const xl_binding five = {.name = "s",
                             .is_scalar = true,
                             .scalar = 5,
                             .tensor = {.dtype = XL_F32}};
    unsigned n = 0;
    (void)state;
    for (size_t i = 0; i < IN; i++)
        nan[i] = NAN;
    for (size_t i = 0; i < OUT + GUARD; i++)
        before[i] = (float)(i % 37) - 18;
    before[OUT / 2] = NAN;
    write_floats(mem[0], nan, IN);
    write_floats(mem[1], nan, WEIGHTS);
    for (; xl_variant_name(t.device, "conv", n / 4); n++) {
        const bool has_epilogue = n % 4 == 1, is_absent = n % 4 == 2;
        const xl_layout layout = n % 2 ? XL_NCHW : XL_NHWC;
        xl_conv c = {XL_CONV_INIT,
                     .n = IMAGES,
                     .c = CHANNELS,
                     .h = SIDE,
                     .w = SIDE,
                     .k = FILTERS,
                     .r = TAPS,
                     .s = TAPS,
                     .in = {.mem = {.buf = mem[0]}, .layout = layout},
                     .filters = {.mem = {.buf = mem[1]}},
                     .out = {.mem = {.buf = mem[2]}, .layout = layout},
                     .alpha = n % 4 == 3 ? 1e-300 : 0,
                     .beta = 2,
                     .variant = xl_variant_name(t.device, "conv", n / 4)};
        if (has_epilogue)
            c.epilogue = (xl_epilogue){"y + s", &five, 1};
        if (is_absent)
            c.in.mem.buf = c.filters.mem.buf = NULL;
        write_floats(mem[2], before, OUT + GUARD);
        assert_status(xl_conv_run(t.queue, &c, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[2], 0, after, sizeof after),
                      XL_OK, xl_error_detail(t.queue));
        for (size_t i = 0; i < OUT + GUARD; i++) {
            const float want =
                i >= OUT ? before[i] : 2 * before[i] + 5 * has_epilogue;
            if (after[i] != want && !(isnan(after[i]) && isnan(want)))
                fail_msg("%s, case %u: element %zu is %g, not %g", c.variant,
                         n % 4, i, (double)after[i], (double)want);
        }
    }
}

/* The same call gives the same bits, by each variant, in both layouts, with
 * filters of all channels and of one. */
static void repeats(void **state)
{
    static float in[IN], weights[WEIGHTS], out[2][OUT];
    unsigned n_run[2] = {0};
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 11);
    for (size_t i = 0; i < IN; i++)
        in[i] = (float)xl__rng_normal(&rng);
    for (size_t i = 0; i < WEIGHTS; i++)
        weights[i] = (float)xl__rng_normal(&rng);
    write_floats(mem[0], in, IN);
    write_floats(mem[1], weights, WEIGHTS);
    for (unsigned n = 0; xl_variant_name(t.device, "conv", n / 4); n++) {
        const xl_layout layout = n % 2 ? XL_NCHW : XL_NHWC;
        const bool is_depthwise = n / 2 % 2;
        const xl_conv c = {XL_CONV_INIT,
                           .n = IMAGES,
                           .c = CHANNELS,
                           .h = SIDE,
                           .w = SIDE,
                           .k = is_depthwise ? CHANNELS : FILTERS,
                           .r = TAPS,
                           .s = TAPS,
                           .groups = is_depthwise ? CHANNELS : 1,
                           .in = {.mem = {.buf = mem[0]}, .layout = layout},
                           .filters = {.mem = {.buf = mem[1]}},
                           .out = {.mem = {.buf = mem[2]}, .layout = layout},
                           .alpha = 1,
                           .accuracy = XL_ACCURACY_FAST,
                           .variant =
                               xl_variant_name(t.device, "conv", n / 4)};
        const xl_status status = xl_conv_prepare(t.queue, &c);
        n_run[is_depthwise] += status == XL_OK;
        if (status == XL_UNSUPPORTED)
            continue;
        for (unsigned time = 0; time < 3; time++) {
            float *to = out[time > 0];
            assert_status(xl_conv_run(t.queue, &c, NULL), XL_OK,
                          xl_error_detail(t.queue));
            assert_status(
                xl_buffer_read(t.queue, mem[2], 0, to, sizeof out[0]), XL_OK,
                xl_error_detail(t.queue));
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
    assert_true(n_run[0] >= 4 && n_run[1] >= 4);
}

int main(int argc, char **argv)
{
    const size_t floats[3] = {IN, WEIGHTS, OUT + GUARD};
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_product),
                                       cmocka_unit_test(repeats)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < 3; i++)
        assert_status(
            xl_buffer_create(t.queue, floats[i] * sizeof(float), &mem[i]),
            XL_OK, xl_error_detail(t.queue));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
