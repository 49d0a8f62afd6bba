/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's bad input: each kind has its own status and a message that
 * says what is wrong. Runs on the stub driver. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { IMAGES = 2, CHANNELS = 4, SIDE = 8, FILTERS = 6, TAPS = 3 };

struct fixture {
    struct test_device t;
    cl_mem mem[3];
    xl_conv conv;
};

static void set_up(struct fixture *f)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    const size_t elems[] = {IMAGES * CHANNELS * SIDE * SIDE,
                            FILTERS * CHANNELS * TAPS * TAPS,
                            IMAGES * FILTERS * SIDE * SIDE};
    memset(f, 0, sizeof *f);
    test_device_open(&f->t, &options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(f->t.queue, elems[i] * sizeof(float),
                                       &f->mem[i]),
                      XL_OK, xl_error_detail(f->t.queue));
    f->conv =
        (xl_conv){XL_CONV_INIT, .n = IMAGES,     .c = CHANNELS, .h = SIDE,
                  .w = SIDE,    .k = FILTERS,    .r = TAPS,     .s = TAPS,
                  .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1,
                  .alpha = 1};
    f->conv.in.mem.buf = f->mem[0];
    f->conv.filters.mem.buf = f->mem[1];
    f->conv.out.mem.buf = f->mem[2];
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(f->mem[i]);
    test_device_close(&f->t);
    assert_int_equal(test_stub()->live(), 0);
}

static void no_images(xl_conv *c) { c->n = 0; }
static void no_columns(xl_conv *c) { c->s = 0; }
static void odd_groups(xl_conv *c) { c->groups = 4; }
static void large_filter(xl_conv *c) { c->dilation_h = 5; }
static void huge_padding(xl_conv *c) { c->pad_left = SIZE_MAX; }
static void huge_images(xl_conv *c) { c->n = SIZE_MAX / 64; }
static void no_layout(xl_conv *c) { c->out.layout = (xl_layout)7; }
static void no_filter_layout(xl_conv *c)
{
    c->filters.layout = (xl_filter_layout)9;
}
static void other_type(xl_conv *c) { c->filters.dtype = XL_F16; }
static void wide_out(xl_conv *c) { c->out.dtype = XL_F64; }
static void f8_in(xl_conv *c) { c->in.dtype = c->filters.dtype = XL_F8E4M3; }
static void f8_out(xl_conv *c)
{
    c->out.dtype = XL_F8E5M2;
    c->epilogue.expr = "y";
}
static void alpha_nan(xl_conv *c) { c->alpha = (double)NAN; }
static void alpha_large(xl_conv *c) { c->alpha = 1e39; }
static void beta_large(xl_conv *c) { c->beta = 1e300; }
static void i32_alpha(xl_conv *c)
{
    c->in.dtype = c->filters.dtype = XL_I8;
    c->out.dtype = XL_I32;
    c->alpha = 0.5;
}
static void in_too_small(xl_conv *c) { c->in.offset = 1; }
static void filters_too_small(xl_conv *c) { c->filters.offset = 2; }
static void out_too_small(xl_conv *c) { c->out.offset = 3; }
static void out_is_in(xl_conv *c)
{
    c->k = CHANNELS;
    c->out.mem = c->in.mem;
}
static void out_is_filters(xl_conv *c)
{
    c->n = c->k = 1;
    c->out.mem = c->filters.mem;
}
static void out_meets_itself(xl_conv *c)
{
    c->out.stride[0] = FILTERS * SIDE * SIDE;
    c->out.stride[1] = SIDE * SIDE - 1;
    c->out.stride[2] = SIDE;
    c->out.stride[3] = 1;
}
static void no_memory(xl_conv *c) { c->in.mem.buf = NULL; }
static void no_accuracy(xl_conv *c) { c->accuracy = XL_N_ACCURACIES; }
static void no_variant(xl_conv *c) { c->variant = "conv_magic"; }
static void no_expression(xl_conv *c) { c->epilogue.n_bindings = 1; }

/* clang-format off */
static const struct {
    void (*spoil)(xl_conv *c);
    xl_status want;
    const char *part;
} rows[] = {
    {no_images,         XL_BAD_SHAPE,        "n = 0"},
    {no_columns,        XL_BAD_SHAPE,        "s = 0"},
    {odd_groups,        XL_BAD_SHAPE,        "must divide"},
    {large_filter,      XL_BAD_SHAPE,        "larger than the image"},
    {huge_padding,      XL_OVERFLOW,         "padding"},
    {huge_images,       XL_OVERFLOW,         "in"},
    {no_layout,         XL_BAD_ARGUMENT,     "7 is no layout"},
    {no_filter_layout,  XL_BAD_ARGUMENT,     "KCRS"},
    {other_type,        XL_UNSUPPORTED,      "filters f16"},
    {wide_out,          XL_UNSUPPORTED,      "out f64"},
    {f8_in,             XL_UNSUPPORTED,      "in f8e4m3"},
    {f8_out,            XL_UNSUPPORTED,      "out f8e5m2"},
    {alpha_nan,         XL_BAD_SCALAR,       "alpha"},
    {alpha_large,       XL_BAD_SCALAR,       "alpha is 1e+39, which overflows"},
    {beta_large,        XL_BAD_SCALAR,       "beta is 1e+300, which overflows"},
    {i32_alpha,         XL_BAD_SCALAR,       "whole number of 32 bits"},
    {in_too_small,      XL_BUFFER_TOO_SMALL, "in needs"},
    {filters_too_small, XL_BUFFER_TOO_SMALL, "filters needs"},
    {out_too_small,     XL_BUFFER_TOO_SMALL, "out needs"},
    {out_is_in,         XL_OVERLAP,          "out overlaps in"},
    {out_is_filters,    XL_OVERLAP,          "out overlaps filters"},
    {out_meets_itself,  XL_OVERLAP,          "out overlaps itself"},
    {no_memory,         XL_BAD_ARGUMENT,     "in has no memory"},
    {no_accuracy,       XL_BAD_ARGUMENT,     "accuracy"},
    {no_variant,        XL_BAD_ARGUMENT,     "conv_magic"},
    {no_expression,     XL_BAD_ARGUMENT,     "expression"},
};
/* clang-format on */

static void bad_conv(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cl_event done = NULL;
        const xl_sync sync = {XL_SYNC_INIT, .done = &done};
        xl_conv c = f.conv;
        rows[i].spoil(&c);
        test_stub()->reset();
        const xl_status status = xl_conv_run(f.t.queue, &c, &sync);
        const char *message = xl_error_detail(f.t.queue);
        assert_status(status, rows[i].want, message);
        if (!strstr(message, rows[i].part))
            fail_msg("\"%s\" does not say \"%s\"", message, rows[i].part);
        assert_null(done);
        assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
    }
    /* Nothing of it stays: the same queue computes, and has no message. */
    assert_status(xl_conv_run(f.t.queue, &f.conv, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    assert_string_equal(xl_error_detail(f.t.queue), "");
    tear_down(&f);
}

/* With alpha = 0 only out counts: in and filters need no memory, and out may
 * be theirs. Every variant that is named takes it. */
static void no_alpha(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    f.conv.alpha = 0;
    f.conv.beta = 2;
    f.conv.in.mem.buf = f.conv.filters.mem.buf = NULL;
    for (unsigned i = 0; xl_variant_name(f.t.device, "conv", i); i++) {
        f.conv.variant = xl_variant_name(f.t.device, "conv", i);
        assert_status(xl_conv_run(f.t.queue, &f.conv, NULL), XL_OK,
                      xl_error_detail(f.t.queue));
    }
    f.conv.in.mem = f.conv.filters.mem = f.conv.out.mem;
    assert_status(xl_conv_run(f.t.queue, &f.conv, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    f.conv.alpha = 1;
    assert_status(xl_conv_run(f.t.queue, &f.conv, NULL), XL_OVERLAP, "");
    f.conv.alpha = 0;
    f.conv.out.mem.buf = NULL;
    assert_status(xl_conv_run(f.t.queue, &f.conv, NULL), XL_BAD_ARGUMENT, "");
    tear_down(&f);
}

/* Channels of one buffer, a part of them written next to what is read. */
static void side_by_side(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    xl_conv c = f.conv;
    c.c = c.k = 2;
    c.in.mem = c.out.mem;
    c.in.layout = c.out.layout = XL_NHWC;
    c.filters.layout = XL_KRSC;
    const size_t stride[] = {4 * SIDE * SIDE, 1, 4 * SIDE, 4};
    memcpy(c.in.stride, stride, sizeof stride);
    memcpy(c.out.stride, stride, sizeof stride);
    c.out.offset = 2;
    assert_status(xl_conv_run(f.t.queue, &c, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    c.out.offset = 1;
    assert_status(xl_conv_run(f.t.queue, &c, NULL), XL_OVERLAP,
                  xl_error_detail(f.t.queue));
    tear_down(&f);
}

static bool has_variant(const struct fixture *f, const char *name)
{
    const char *v;
    for (unsigned i = 0; (v = xl_variant_name(f->t.device, "conv", i)); i++) {
        if (strcmp(v, name) == 0)
            return true;
    }
    return false;
}

/* On a CPU: the variant that packs the filters into scratch memory. That is
 * smaller than the matrix of an im2col would be. */
static void workspace_overlaps(void **state)
{
    enum {
        BYTES = 1 << 20,
        DEPTH = 32,
        PACKED = DEPTH * DEPTH * TAPS * TAPS * sizeof(float),
        COLUMNS = IMAGES * SIDE * SIDE * DEPTH * TAPS * TAPS * sizeof(float)
    };
    static const char *const names[] = {"in", "filters", "out"};
    struct fixture f;
    size_t bytes = 0;
    (void)state;
    set_up(&f);
    xl_conv c = f.conv;
    c.variant = "conv_cpu";
    c.c = c.k = DEPTH;
    xl_mem *const mem[] = {&c.in.mem, &c.filters.mem, &c.out.mem};
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(f.t.queue, BYTES, &mem[i]->buf), XL_OK,
                      xl_error_detail(f.t.queue));
    if (has_variant(&f, c.variant)) {
        assert_status(xl_conv_workspace(f.t.queue, &c, &bytes), XL_OK,
                      xl_error_detail(f.t.queue));
        assert_in_range(bytes, 1, 2 * PACKED);
        assert_in_range(bytes, 1, COLUMNS - 1);
    }
    for (unsigned i = 0; i < 3 && bytes > 0; i++) {
        char part[64];
        snprintf(part, sizeof part, "%s overlaps the workspace", names[i]);
        c.workspace = *mem[i];
        assert_status(xl_conv_run(f.t.queue, &c, NULL), XL_OVERLAP,
                      xl_error_detail(f.t.queue));
        assert_non_null(strstr(xl_error_detail(f.t.queue), part));
    }
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]->buf);
    tear_down(&f);
    if (bytes == 0)
        skip();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_conv),
                                       cmocka_unit_test(no_alpha),
                                       cmocka_unit_test(side_by_side),
                                       cmocka_unit_test(workspace_overlaps)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("conv_input", tests, NULL, NULL);
}
