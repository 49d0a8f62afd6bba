/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant a convolution takes on the stub of a GPU with matrix engines:
 * an engine's for half precision, and with filters of one element GEMM's tuned
 * set where there is one of the product's class. */
#include <string.h>

#include "base/str.h"
#include "ops/variants.h"
#include "runtime/context.h"
#include "support/support.h"

/* ResNet-50 and MobileNet: side, channels, filters. */
static const size_t layers[][3] = {
    {56, 64, 64},     {56, 64, 256},    {56, 256, 64},    {56, 256, 128},
    {28, 128, 512},   {28, 512, 128},   {28, 512, 256},   {14, 256, 1024},
    {14, 1024, 256},  {14, 1024, 512},  {7, 512, 2048},   {7, 2048, 512},
    {112, 32, 64},    {56, 64, 128},    {56, 128, 128},   {28, 128, 256},
    {28, 256, 256},   {14, 256, 512},   {14, 512, 512},   {7, 512, 1024},
    {7, 1024, 1024},
};

static xl_conv make_layer(const size_t *size, size_t n, xl_layout layout,
                          xl_dtype dtype)
{
    return (xl_conv){XL_CONV_INIT,
                     .n = n,
                     .c = size[1],
                     .h = size[0],
                     .w = size[0],
                     .k = size[2],
                     .r = 1,
                     .s = 1,
                     .alpha = 1,
                     .in = {.layout = layout, .dtype = dtype},
                     .filters.dtype = dtype,
                     .out = {.layout = layout, .dtype = dtype}};
}

/* The first candidate for a call. */
static struct xl__variant_candidate choose(xl_queue *q, const xl_conv *d)
{
    static const struct xl__op *const ops[] = {
        [XL_CONV_FORWARD] = &xl__op_conv,
        [XL_CONV_BACKWARD_DATA] = &xl__op_conv_data,
        [XL_CONV_BACKWARD_FILTERS] = &xl__op_conv_filters};
    struct xl__op_call w;
    assert_status(xl__op_call_begin(&w, q, ops[d->pass], d, false), XL_OK,
                  xl_error_detail(q));
    assert_status(xl__op_call_select(&w), XL_OK, xl_error_detail(q));
    assert_status(xl__op_call_plan_first(&w), XL_OK, xl_error_detail(q));
    const struct xl__variant_candidate first = w.list[0];
    xl__op_call_end(&w);
    return first;
}

/* As products of GEMM; where that packs images, windows of one pixel are
 * faster. */
static void engines(void **state)
{
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const xl_conv d = make_layer(layers[i], 32, XL_NHWC, XL_F16);
        const struct xl__variant_candidate c = choose(t.queue, &d);
        if ((!c.variant->inner && !t.device->limits.model.dpas) ||
            c.variant->on.engine != XL_ENGINE_MATRIX)
            fail_msg("%zux%zux%zu: %s", d.h, d.c, d.k, c.variant->name);
    }
    test_device_close(&t);
}

/* 3x3 layers of networks for images and for boards, of few images too. */
static void windows(void **state)
{
    static const size_t sizes[][3] = {{56, 64, 64},   {28, 128, 128},
                                      {14, 256, 256}, {7, 512, 512},
                                      {19, 192, 192}, {8, 256, 256}};
    enum { N_SIZES = sizeof sizes / sizeof *sizes, TAPS = 3 };
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    for (size_t i = 0; i < 4 * N_SIZES; i++) {
        xl_conv d = make_layer(sizes[i / 4], i % 2 ? 32 : 1,
                               i / 2 % 2 ? XL_NCHW : XL_NHWC, XL_F16);
        d.r = d.s = TAPS;
        d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 1;
        struct xl__variant_candidate c = choose(t.queue, &d);
        if (c.variant->on.engine == XL_ENGINE_MATRIX &&
            t.device->limits.model.dpas && d.in.layout == XL_NHWC) {
            d.filters.layout = XL_KRSC;
            d.in.dtype = d.filters.dtype = XL_I8;
            d.out.dtype = XL_I32;
            c = choose(t.queue, &d);
        }
        if (c.variant->on.engine != XL_ENGINE_MATRIX)
            fail_msg("%zux%zux%zux%zu in %s: %s", d.n, d.h, d.c, d.k,
                     d.in.layout == XL_NCHW ? "NCHW" : "NHWC",
                     c.variant->name);
    }
    test_device_close(&t);
}

/* The backward passes of layers of 1x1 and 3x3, with strides of 1 and 2. */
static void backward(void **state)
{
    static const size_t sizes[][3] = {
        {56, 64, 256}, {28, 128, 128}, {14, 256, 512}};
    enum { N_SIZES = sizeof sizes / sizeof *sizes, FORMS = 16 };
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    for (size_t i = 0; i < FORMS * N_SIZES; i++) {
        xl_conv d = make_layer(sizes[i / FORMS], 32, i % 2 ? XL_NCHW : XL_NHWC,
                               XL_F16);
        d.filters.layout = i % 2 ? XL_KCRS : XL_KRSC;
        d.pass = i / 2 % 2 ? XL_CONV_BACKWARD_FILTERS : XL_CONV_BACKWARD_DATA;
        d.r = d.s = i / 4 % 2 ? 3 : 1;
        d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = i / 4 % 2;
        d.stride_h = d.stride_w = 1 + i / 8 % 2;
        if (d.in.layout == XL_NCHW && (d.r == 1 || d.stride_w > 1))
            continue; /* copies to NHWC may take longer than the product */
        const struct xl__variant_candidate c = choose(t.queue, &d);
        if (c.variant->on.engine != XL_ENGINE_MATRIX)
            fail_msg("%zux%zux%zu, form %zu: %s", d.h, d.c, d.k, i % FORMS,
                     c.variant->name);
    }
    test_device_close(&t);
}

static void save_set(const struct test_device *t, const char *shape_class)
{
    struct xl__error e = {0};
    struct xl__tuned_set set = {.op = "gemm",
                                .variant = "gemm_simt",
                                .tunables = "TM=128 TN=256 TK=8 RM=16 RN=8 "
                                            "VW=4 ST=2 GR=8 PARTS=1 COPY=1",
                                .driver = "1",
                                .date = "2026-01-01T00:00:00Z",
                                .median_ns = 1,
                                .gain = 2,
                                .runs = 9};
    xl__strcpy(set.shape_class, sizeof set.shape_class, shape_class);
    assert_status(
        xl__tuned_sets_save(&t->lib->tuned, t->device,
                            &(struct xl__tuned_change){.set = &set}, &e),
        XL_OK, xl__str_text(&e.detail));
}

/* Filters, pixels and channels of a product of 1024 x 1024 x 1024. */
static void tuned(void **state)
{
    const size_t size[] = {32, 1024, 1024};
    const xl_conv d = make_layer(size, 1, XL_NCHW, XL_F32),
                  other = make_layer(size, 5, XL_NCHW, XL_F32);
    struct test_device t;
    (void)state;
    test_device_open(&t, &(xl_options){XL_OPTIONS_INIT,
                                       .tuned_dir = test_scratch("tuned")});
    assert_null(choose(t.queue, &other).tuned);
    save_set(&t, "f32 f32 A:k B:n C:n m1024 n1024 k1024");
    const struct xl__variant_candidate c = choose(t.queue, &d);
    assert_non_null(c.tuned);
    assert_string_equal(c.variant->name, "conv_gemm_simt");
    assert_int_equal(c.params.value[XL__GEMM_TN], 256);
    assert_null(choose(t.queue, &other).tuned);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines), cmocka_unit_test(windows),
        cmocka_unit_test(backward), cmocka_unit_test(tuned)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
