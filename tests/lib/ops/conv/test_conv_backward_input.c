/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input of the backward passes, what they read and write, and the op of a
 * descriptor. Runs on the stub driver. */
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
        assert_status(
            xl_buffer_create(f->t.queue, elems[i] * sizeof(float), &f->mem[i]),
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

static void data(xl_conv *c)
{
    c->pass = XL_CONV_BACKWARD_DATA;
}
static void filters(xl_conv *c)
{
    c->pass = XL_CONV_BACKWARD_FILTERS;
}
static void no_pass(xl_conv *c)
{
    c->pass = (xl_conv_pass)3;
}
static void negative_pass(xl_conv *c)
{
    c->pass = (xl_conv_pass)-1;
}
static void with_epilogue(xl_conv *c)
{
    data(c);
    c->epilogue.expr = "relu(y)";
}
static void i8_data(xl_conv *c)
{
    data(c);
    c->out.dtype = c->filters.dtype = XL_I8;
}
static void i8_filters(xl_conv *c)
{
    filters(c);
    c->out.dtype = c->in.dtype = XL_I8;
}
static void other_filters(xl_conv *c)
{
    data(c);
    c->filters.dtype = XL_F16;
}
static void other_in(xl_conv *c)
{
    filters(c);
    c->in.dtype = XL_BF16;
}
static void wide_result(xl_conv *c)
{
    data(c);
    c->in.dtype = XL_F64;
}
static void in_is_out(xl_conv *c)
{
    data(c);
    c->k = CHANNELS;
    c->in.mem = c->out.mem;
}
static void filters_are_in(xl_conv *c)
{
    filters(c);
    c->filters.mem = c->in.mem;
}
static void in_meets_itself(xl_conv *c)
{
    data(c);
    c->in.stride[0] = CHANNELS * SIDE * SIDE;
    c->in.stride[1] = SIDE * SIDE - 1;
    c->in.stride[2] = SIDE;
    c->in.stride[3] = 1;
}
static void no_gradient(xl_conv *c)
{
    filters(c);
    c->out.mem.buf = NULL;
}
static void out_too_small(xl_conv *c)
{
    data(c);
    c->out.offset = 3;
}
static void forward_variant(xl_conv *c)
{
    data(c);
    c->variant = "conv_tiled";
}

/* clang-format off */
static const struct {
    void (*spoil)(xl_conv *c);
    xl_status want;
    const char *part;
} rows[] = {
    {no_pass,         XL_BAD_ARGUMENT,     "3 is no pass"},
    {negative_pass,   XL_BAD_ARGUMENT,     "-1 is no pass"},
    {with_epilogue,   XL_UNSUPPORTED,      "no epilogue"},
    {i8_data,         XL_UNSUPPORTED,      "filters i8"},
    {i8_filters,      XL_UNSUPPORTED,      "in i8"},
    {other_filters,   XL_UNSUPPORTED,      "filters f16"},
    {other_in,        XL_UNSUPPORTED,      "in bf16"},
    {wide_result,     XL_UNSUPPORTED,      "in f64"},
    {in_is_out,       XL_OVERLAP,          "in overlaps out"},
    {filters_are_in,  XL_OVERLAP,          "filters overlaps in"},
    {in_meets_itself, XL_OVERLAP,          "in overlaps itself"},
    {no_gradient,     XL_BAD_ARGUMENT,     "out has no memory"},
    {out_too_small,   XL_BUFFER_TOO_SMALL, "out needs"},
    {forward_variant, XL_BAD_ARGUMENT,     "conv_tiled"},
};
/* clang-format on */

static void bad_gradient(void **state)
{
    struct fixture f;
    (void)state;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        xl_conv c = f.conv;
        rows[i].spoil(&c);
        test_stub()->reset();
        const xl_status status = xl_conv_run(f.t.queue, &c, NULL);
        const char *message = xl_error_detail(f.t.queue);
        assert_status(status, rows[i].want, message);
        if (!strstr(message, rows[i].part))
            fail_msg("\"%s\" does not say \"%s\"", message, rows[i].part);
        assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
    }
    tear_down(&f);
}

/* With alpha = 0 only the result counts; every variant that is named takes it.
 */
static void no_alpha(void **state)
{
    static const char *const ops[] = {"conv", "conv_data", "conv_filters"};
    struct fixture f;
    (void)state;
    set_up(&f);
    for (int pass = XL_CONV_BACKWARD_DATA; pass <= XL_CONV_BACKWARD_FILTERS;
         pass++) {
        const char *variant = NULL;
        for (unsigned i = 0;
             i == 0 || (variant = xl_variant_name(f.t.device, ops[pass], i));
             i++) {
            xl_conv c = f.conv;
            c.pass = (xl_conv_pass)pass;
            c.alpha = 0;
            c.beta = 2;
            c.variant = variant;
            c.out.mem.buf = NULL;
            if (pass == XL_CONV_BACKWARD_DATA)
                c.filters.mem.buf = NULL;
            else
                c.in.mem.buf = NULL;
            assert_status(xl_conv_run(f.t.queue, &c, NULL), XL_OK,
                          xl_error_detail(f.t.queue));
        }
    }
    tear_down(&f);
}

/* The problem of a descriptor is the op of its pass; another is refused. */
static void problems(void **state)
{
    struct fixture f;
    xl_tuned tuned;
    (void)state;
    set_up(&f);
    assert_int_equal(xl_problem_conv(NULL).op, XL_OP_CONV);
    assert_int_equal(xl_problem_conv(&f.conv).op, XL_OP_CONV);
    f.conv.pass = XL_CONV_BACKWARD_DATA;
    assert_int_equal(xl_problem_conv(&f.conv).op, XL_OP_CONV_DATA);
    f.conv.pass = XL_CONV_BACKWARD_FILTERS;
    xl_problem p = xl_problem_conv(&f.conv);
    assert_int_equal(p.op, XL_OP_CONV_FILTERS);
    p.op = XL_OP_CONV_DATA;
    assert_status(xl_tune(f.t.queue, p, NULL, &tuned), XL_BAD_ARGUMENT,
                  xl_error_detail(f.t.queue));
    tear_down(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_gradient),
                                       cmocka_unit_test(no_alpha),
                                       cmocka_unit_test(problems)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("conv_backward_input", tests, NULL,
                                       NULL);
}
