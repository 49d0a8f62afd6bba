/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with filters of one element by each variant of GEMM, on a real
 * device: layouts, groups, gaps, offsets, and an epilogue with an operand of
 * each channel and one of each element, which may have a gap between images.
 * Values are whole and small, so that sums in f32 are exact. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum { SEED = 8, MOST = 1 << 12 };
enum { N, C, H, W };
enum { IN, FILTERS, OUT, BIAS, OTHER, N_MEMS };

static struct test_device t;
static cl_mem mem[N_MEMS];
static float host[N_MEMS][MOST], expected[MOST];
/* Strides of a layout with lines of `gap` elements more, and images. */
static void set_strides(xl_images *x, size_t c, size_t h, size_t w, size_t gap)
{
    const bool first = x->layout == XL_NCHW;
    x->stride[C] = first ? h * w + gap : 1;
    x->stride[W] = first ? 1 : c + gap;
    x->stride[H] = w * x->stride[W];
    x->stride[N] = first ? c * x->stride[C] : h * x->stride[H];
}

static size_t element(const xl_images *x, size_t n, size_t c, size_t pixel)
{
    return x->offset + n * x->stride[N] + c * x->stride[C] +
           pixel * x->stride[W];
}

static const struct shape {
    xl_layout in, out;
    size_t n, c, h, w, k, groups, gap, offset;
    double beta;
    bool has_epilogue;
    size_t image_gap; /* of the epilogue's operand */
} shapes[] = {
    /* One product, with an operand that continues, and one that does not. */
    {XL_NHWC, XL_NHWC, 3, 24, 3, 7, 13, 1, 0, 0, 1, true, 0},
    {XL_NHWC, XL_NHWC, 3, 24, 3, 7, 13, 1, 0, 0, 1, true, 5},
    {XL_NHWC, XL_NHWC, 2, 33, 5, 7, 15, 1, 3, 5, 0, false, 0},
    {XL_NCHW, XL_NCHW, 3, 13, 3, 7, 24, 1, 0, 0, 1, true, 3},
    {XL_NCHW, XL_NCHW, 2, 26, 4, 6, 14, 2, 2, 1, 0, false, 0},
    {XL_NHWC, XL_NCHW, 2, 16, 4, 6, 9, 1, 0, 3, 1, true, 0},
};

static xl_conv make_conv(const char *variant, const struct shape *s)
{
    xl_conv d = {XL_CONV_INIT, .n = s->n, .c = s->c, .h = s->h, .w = s->w,
                 .k = s->k, .r = 1, .s = 1, .groups = s->groups, .alpha = -1,
                 .beta = s->beta, .in.layout = s->in, .out.layout = s->out,
                 .variant = variant};
    set_strides(&d.in, d.c, d.h, d.w, s->gap);
    set_strides(&d.out, d.k, d.h, d.w, s->gap);
    d.in.offset = d.out.offset = d.filters.offset = s->offset;
    d.in.mem.buf = mem[IN];
    d.filters.mem.buf = mem[FILTERS];
    d.out.mem.buf = mem[OUT];
    return d;
}

/* A value for each channel; one for each element, as out lies, with a gap
 * behind each image. */
static void bind_operands(const xl_conv *d, size_t gap, xl_binding *b)
{
    const bool first = d->out.layout == XL_NCHW;
    const size_t pixels = d->h * d->w, image = d->k * pixels + gap;
    b[0] = (xl_binding){.name = "bias",
                        .tensor = {.mem.buf = mem[BIAS],
                                   .n_dims = first ? 2 : 1,
                                   .size = {d->k, 1},
                                   .stride = {1, 1},
                                   .dtype = XL_F32}};
    b[1] = (xl_binding){
        .name = "other",
        .tensor = {.mem.buf = mem[OTHER],
                   .n_dims = 3,
                   .size = {d->n, first ? d->k : pixels,
                            first ? pixels : d->k},
                   .stride = {image, first ? pixels : d->k, 1},
                   .dtype = XL_F32}};
}

static void convolve(const xl_conv *d, size_t gap)
{
    const size_t pixels = d->h * d->w, cg = d->c / d->groups,
                 kg = d->k / d->groups;
    const bool first = d->out.layout == XL_NCHW;
    memcpy(expected, host[OUT], sizeof expected);
    for (size_t i = 0; i < d->n * d->k * pixels; i++) {
        const size_t n = i / (d->k * pixels), k = i / pixels % d->k;
        const size_t x = i % pixels, to = element(&d->out, n, k, x);
        double sum = 0;
        for (size_t c = 0; c < cg; c++)
            sum += (double)host[FILTERS][d->filters.offset + k * cg + c] *
                   (double)host[IN][element(&d->in, n, k / kg * cg + c, x)];
        sum = d->alpha * sum + d->beta * (double)host[OUT][to];
        if (d->epilogue.expr)
            sum += (double)host[BIAS][k] +
                   2 * (double)host[OTHER][n * (d->k * pixels + gap) +
                                           (first ? k * pixels + x
                                                  : x * d->k + k)];
        expected[to] = (float)sum;
    }
}

static void compare(const xl_conv *d)
{
    char name[160];
    snprintf(name, sizeof name,
             "%s, n %zu c %zu of %zux%zu k %zu, groups %zu, layouts %d %d, "
             "strides %zu %zu, epilogue %d",
             d->variant, d->n, d->c, d->h, d->w, d->k, d->groups,
             (int)d->in.layout, (int)d->out.layout, d->in.stride[N],
             d->out.stride[N], d->epilogue.expr != NULL);
    test_compare_floats(t.queue, mem[OUT], expected, MOST, name);
}

/* Whether the variant supports it. */
static bool run_one(const char *variant, const struct shape *s)
{
    xl_conv d = make_conv(variant, s);
    xl_binding b[2];
    bind_operands(&d, s->image_gap, b);
    if (s->has_epilogue)
        d.epilogue = (xl_epilogue){"y + bias + 2 * other", b, 2};
    convolve(&d, s->image_gap);
    for (unsigned i = 0; i < N_MEMS; i++)
        assert_status(
            xl_buffer_write(t.queue, mem[i], 0, host[i], sizeof host[i]),
            XL_OK, xl_error_detail(t.queue));
    const xl_status status = xl_conv_run(t.queue, &d, NULL);
    if (status == XL_UNSUPPORTED)
        return false;
    assert_status(status, XL_OK, xl_error_detail(t.queue));
    compare(&d);
    return true;
}

/* All shapes by the first of the variants, one by each other, since the
 * product is the same: the first that it supports. */
static void each_variant(void **state)
{
    enum { N_SHAPES = sizeof shapes / sizeof *shapes };
    const char *variant;
    unsigned most = N_SHAPES;
    (void)state;
    for (unsigned i = 0; (variant = xl_variant_name(t.device, "conv", i));
         i++) {
        unsigned n = 0;
        if (strncmp(variant, "conv_gemm_", strlen("conv_gemm_")) != 0 ||
            !test_has_engine(t.device, variant))
            continue;
        for (unsigned k = 0; k < N_SHAPES && n < most; k++)
            n += run_one(variant, &shapes[k]);
        if (n != most)
            fail_msg("%s supports %u of %u shapes", variant, n, most);
        most = 1;
    }
    assert_int_equal(most, 1);
}

int main(int argc, char **argv)
{
    struct xl__rng rng;
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_variant)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < N_MEMS; i++)
        assert_status(
            xl_buffer_create(t.queue, MOST * sizeof(float), &mem[i]), XL_OK,
            xl_error_detail(t.queue));
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_MEMS * MOST; i++)
        host[i / MOST][i % MOST] = (float)xl__rng_below(&rng, 17) - 8;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
