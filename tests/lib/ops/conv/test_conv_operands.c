/* SPDX-License-Identifier: Apache-2.0 */
/* Where the operands of an epilogue lie: by each variant of convolution, on
 * one queue, the same convolution with operands that begin at multiples of 256
 * bytes, then at odd elements, then with other strides and an odd result. A
 * plan that is kept must not count on the places of an earlier call. Values
 * are whole and small, so that sums in f32 are exact.
 *
 * XL_TEST_ARCH  the engine of this architecture, emulated, by the variants for
 *               it (emulate_chip()); without it those of the device
 * XL_TEST_FULL  set: each variant and layout, else every sixth of the
 * device's, NHWC of an engine's */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "support/emulated_variant.h"

enum {
    SEED = 9,
    IMAGES = 2,
    SIDE = 5,
    WIDTH = 6,
    PIXELS = SIDE * WIDTH,
    CHANNELS = 32,
    FILTERS = 40,
    ROOM = 1 << 14,
    GAP = 3
};
enum { MEM_IN, MEM_FILTERS, MEM_OUT, MEM_BIAS, MEM_OTHER, N_MEMS };

static struct test_device t;
static cl_mem mem[N_MEMS];
static float host[N_MEMS][ROOM]; /* whole numbers */

static const struct place {
    size_t bias, bias_stride, other, gap, out;
} places[] = {
    {0, 1, 0, 0, 0},   /* aligned */
    {1, 1, 1, 0, 0},   /* the same but for offsets */
    {0, 1, 3, 0, 0},   /* one of them aligned */
    {5, 2, 7, 0, 1},   /* another stride, an odd result */
    {0, 1, 0, GAP, 0}, /* an operand with a gap between images */
    {0, 1, 0, 0, 0},   /* aligned again */
};
enum { N_PLACES = sizeof places / sizeof *places };

static const struct shape {
    size_t side, groups;
} shapes[] = {{3, 1}, {1, 1}, {3, CHANNELS}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static bool is_half(unsigned i)
{
    return i == MEM_IN || i == MEM_FILTERS || i == MEM_BIAS;
}

static void write_memory(unsigned i)
{
    static uint16_t bits[ROOM];
    for (size_t j = 0; j < ROOM; j++)
        bits[j] = xl__f32_to_f16(host[i][j]);
    assert_status(xl_buffer_write(t.queue, mem[i], 0,
                                  is_half(i) ? (const void *)bits : host[i],
                                  ROOM * (is_half(i) ? 2 : 4)),
                  XL_OK, xl_error_detail(t.queue));
}

static void fill_memory(void)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_MEMS; i++) {
        for (size_t j = 0; j < ROOM; j++)
            host[i][j] = (float)xl__rng_below(&rng, 9) - 4;
        assert_status(xl_buffer_create(t.queue, ROOM * sizeof(float), &mem[i]),
                      XL_OK, xl_error_detail(t.queue));
        write_memory(i);
    }
}

static void free_memory(void)
{
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(mem[i]);
}

static size_t filters_of(const struct shape *s)
{
    return s->groups > 1 ? CHANNELS : FILTERS;
}

/* (n, c, pixel) of dense images. */
static size_t element(xl_layout layout, size_t n, size_t c, size_t pixel,
                      size_t channels)
{
    return layout == XL_NCHW ? (n * channels + c) * PIXELS + pixel
                             : (n * PIXELS + pixel) * channels + c;
}

static double sum_of(xl_layout layout, const struct shape *s, size_t n,
                     size_t k, size_t pixel)
{
    const size_t cg = CHANNELS / s->groups, pad = s->side / 2;
    double sum = 0;
    for (size_t r = 0; r < s->side; r++) {
        for (size_t q = 0; q < s->side; q++) {
            const size_t y = pixel / WIDTH + r - pad,
                         x = pixel % WIDTH + q - pad;
            for (size_t c = 0; c < cg && y < SIDE && x < WIDTH; c++)
                sum +=
                    (double)
                        host[MEM_IN][element(layout, n, s->groups > 1 ? k : c,
                                             y * WIDTH + x, CHANNELS)] *
                    (double)host[MEM_FILTERS]
                                [((k * s->side + r) * s->side + q) * cg + c];
        }
    }
    return sum;
}

/* What out becomes. */
static void expect(xl_layout layout, const struct shape *s,
                   const struct place *p, float *out)
{
    const size_t filters = filters_of(s);
    memcpy(out, host[MEM_OUT], sizeof host[MEM_OUT]);
    for (size_t i = 0; i < IMAGES * filters * PIXELS; i++) {
        const size_t n = i / (filters * PIXELS), k = i / PIXELS % filters;
        const size_t at = element(layout, n, k, i % PIXELS, filters);
        const double y = sum_of(layout, s, n, k, i % PIXELS) +
                         (double)host[MEM_BIAS][p->bias + k * p->bias_stride];
        out[p->out + at] =
            (float)((y > 0 ? y : 0) +
                    (double)host[MEM_OTHER][p->other + at + n * p->gap]);
    }
}

static xl_status convolve(xl_layout layout, const struct shape *s,
                          const struct place *p, const char *variant)
{
    const bool first = layout == XL_NCHW;
    const size_t filters = filters_of(s);
    const size_t lines = first ? filters : PIXELS,
                 line = first ? PIXELS : filters;
    const xl_binding operands[] = {
        {.name = "bias",
         .tensor = {.mem.buf = mem[MEM_BIAS],
                    .offset = p->bias,
                    .n_dims = first ? 2 : 1,
                    .size = {filters, 1},
                    .stride = {p->bias_stride, 1},
                    .dtype = XL_F16}},
        {.name = "other",
         .tensor = {.mem.buf = mem[MEM_OTHER],
                    .offset = p->other,
                    .n_dims = 3,
                    .size = {IMAGES, lines, line},
                    .stride = {lines * line + p->gap, line, 1},
                    .dtype = XL_F32}}};
    const xl_conv d = {
        XL_CONV_INIT,
        .n = IMAGES,
        .c = CHANNELS,
        .h = SIDE,
        .w = WIDTH,
        .k = filters,
        .r = s->side,
        .s = s->side,
        .groups = s->groups,
        .pad_top = s->side / 2,
        .pad_bottom = s->side / 2,
        .pad_left = s->side / 2,
        .pad_right = s->side / 2,
        .in = {.mem.buf = mem[MEM_IN], .layout = layout, .dtype = XL_F16},
        .filters = {.mem.buf = mem[MEM_FILTERS],
                    .layout = XL_KRSC,
                    .dtype = XL_F16},
        .out = {.mem.buf = mem[MEM_OUT],
                .offset = p->out,
                .layout = layout,
                .dtype = XL_F32},
        .alpha = 1,
        .variant = variant,
        .epilogue = {"max(y + bias, 0) + other", operands, 2}};
    write_memory(MEM_OUT);
    return xl_conv_run(t.queue, &d, NULL);
}

/* Calls that a variant takes, of the first shape that it does. */
static unsigned each_place(xl_layout layout, const char *variant)
{
    static float expected[ROOM];
    unsigned n = 0;
    for (unsigned s = 0; s < N_SHAPES && n == 0; s++) {
        for (unsigned i = 0; i < N_PLACES; i++) {
            char what[96];
            const xl_status status =
                convolve(layout, &shapes[s], &places[i], variant);
            if (status == XL_UNSUPPORTED)
                continue;
            assert_status(status, XL_OK, xl_error_detail(t.queue));
            expect(layout, &shapes[s], &places[i], expected);
            snprintf(what, sizeof what, "%s, %s, shape %u, place %u", variant,
                     layout == XL_NCHW ? "NCHW" : "NHWC", s, i);
            test_compare_floats(t.queue, mem[MEM_OUT], expected, ROOM, what);
            n++;
        }
    }
    return n;
}

static void of_the_device(void **state)
{
    const char *variant;
    unsigned n = 0;
    (void)state;
    test_device_open(&t, NULL);
    fill_memory();
    for (unsigned i = 0; (variant = xl_variant_name(t.device, "conv", i));
         i++) {
        if (!test_is_sampled(i, 6))
            continue;
        n += each_place(XL_NHWC, variant);
        if (getenv("XL_TEST_FULL"))
            n += each_place(XL_NCHW, variant);
    }
    print_message("%u calls\n", n);
    assert_true(n >= N_PLACES);
    free_memory();
    test_device_close(&t);
}

static void of_the_engine(const struct xl__variant *own, const char *arch)
{
    emulated_open(&t, XL__OP_CONV, own);
    if (strcmp(arch, "mma") != 0)
        emulate_chip(&t.device->limits, arch);
    fill_memory();
    assert_int_equal(each_place(XL_NHWC, own->name) >= N_PLACES - 1, true);
    if (getenv("XL_TEST_FULL") && own != &xl__conv_gemm_dpas)
        assert_true(each_place(XL_NCHW, own->name) > 0);
    free_memory();
    test_device_close(&t);
}

static void operands_lie_anywhere(void **state)
{
    const char *arch = getenv("XL_TEST_ARCH");
    const bool is_dpas = arch && strchr("dp", arch[0]); /* dg2, pvc */
    if (!arch) {
        of_the_device(state);
        return;
    }
    of_the_engine(is_dpas ? &xl__conv_dpas : &xl__conv_mma, arch);
    if (getenv("XL_TEST_FULL"))
        of_the_engine(is_dpas ? &xl__conv_gemm_dpas : &xl__conv_gemm_mma,
                      arch);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_lie_anywhere),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
