/* SPDX-License-Identifier: Apache-2.0 */
/* The backward passes against finite differences of the forward convolution on
 * the host, in double, for random shapes and every variant of the device.
 *
 * With L = sum of g conv(x, w), L is linear in each element of x and of w, so
 * (L(x + e) - L(x - e)) / 2 e is the gradient but for the rounding of doubles.
 * A device's sum of `terms` products in f32 is within terms u / (1 - terms u)
 * of the sum of their absolute values (Higham 2002, section 3.5), which is the
 * same difference of L over |g|, |x|, |w|. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "runtime/launch.h"
#include "support/support.h"

enum { N_SHAPES = 16, MOST = 1 << 13, PROBED = 24, SEED = 11 };

/* An operand: x, w or g, dense NCHW or KCRS on the host. */
struct operand {
    size_t n;
    double value[MOST];
};
static struct operand x, w, g;

static size_t pick(struct xl__rng *rng, size_t least, size_t most)
{
    return least + (size_t)xl__rng_below(rng, most - least + 1);
}

/* false: the filter does not fit. */
static bool random_conv(struct xl__rng *rng, xl_conv *c, size_t *p, size_t *q)
{
    const size_t groups = pick(rng, 0, 2) ? 1 : pick(rng, 2, 3);
    *c = (xl_conv){XL_CONV_INIT, .groups = groups, .alpha = 1};
    c->n = pick(rng, 1, 3);
    c->c = groups * pick(rng, 1, 5);
    c->k = groups * pick(rng, 1, 6);
    c->h = pick(rng, 1, 9);
    c->w = pick(rng, 1, 9);
    c->r = pick(rng, 1, 4);
    c->s = pick(rng, 1, 4);
    c->stride_h = pick(rng, 1, 3);
    c->stride_w = pick(rng, 1, 3);
    c->dilation_h = pick(rng, 1, 3);
    c->dilation_w = pick(rng, 1, 2);
    c->pad_top = pick(rng, 0, 3);
    c->pad_bottom = pick(rng, 0, 3);
    c->pad_left = pick(rng, 0, 3);
    c->pad_right = pick(rng, 0, 2);
    return xl_conv_out_size(c, p, q) == XL_OK;
}

/* L, or that of absolute values. */
static double loss(const xl_conv *c, size_t p, size_t q, bool absolute)
{
    const size_t cg = c->c / c->groups, kg = c->k / c->groups;
    double sum = 0;
    /* clang-format off */
    for (size_t n = 0; n < c->n; n++)
    for (size_t k = 0; k < c->k; k++)
    for (size_t i = 0; i < p; i++)
    for (size_t j = 0; j < q; j++)
    for (size_t l = 0; l < cg; l++)
    for (size_t r = 0; r < c->r; r++)
    for (size_t s = 0; s < c->s; s++) {
        const long y = (long)(i * c->stride_h + r * c->dilation_h) -
                       (long)c->pad_top;
        const long z = (long)(j * c->stride_w + s * c->dilation_w) -
                       (long)c->pad_left;
        if (y < 0 || y >= (long)c->h || z < 0 || z >= (long)c->w)
            continue;
        const double term =
            g.value[((n * c->k + k) * p + i) * q + j] *
            w.value[((k * cg + l) * c->r + r) * c->s + s] *
            x.value[((n * c->c + k / kg * cg + l) * c->h + (size_t)y) * c->w +
                    (size_t)z];
        sum += absolute ? fabs(term) : term;
    }
    /* clang-format on */
    return sum;
}

/* Random multiples of 1/64 in [-1, 1), exact in f16. */
static void fill(struct operand *o, size_t n, struct xl__rng *rng)
{
    o->n = n;
    for (size_t i = 0; i < n; i++)
        o->value[i] = floor(xl__rng_uniform(rng) * 128) / 64 - 1;
}

static double difference(const xl_conv *c, size_t p, size_t q,
                         struct operand *of, size_t i, bool absolute)
{
    const double was = of->value[i], step = 0.5;
    /* Absolute: the slope of |.| to the right of 0. */
    of->value[i] = absolute ? 2 : was + step;
    const double up = loss(c, p, q, absolute);
    of->value[i] = absolute ? 1 : was - step;
    const double down = loss(c, p, q, absolute);
    of->value[i] = was;
    return up - down; /* over 2 step */
}

static cl_mem upload(struct test_device *t, const struct operand *o)
{
    static float host[MOST];
    cl_mem mem = NULL;
    for (size_t i = 0; i < o->n; i++)
        host[i] = (float)o->value[i];
    assert_status(xl_buffer_create(t->queue, o->n * sizeof *host, &mem), XL_OK,
                  xl_error_detail(t->queue));
    assert_status(xl_buffer_write(t->queue, mem, 0, host, o->n * sizeof *host),
                  XL_OK, xl_error_detail(t->queue));
    return mem;
}

/* All variants of a pass for one shape; returns those that took it. */
static unsigned check_pass(struct test_device *t, xl_conv c, size_t p,
                           size_t q, struct xl__rng *rng)
{
    static float got[MOST];
    const bool is_data = c.pass == XL_CONV_BACKWARD_DATA;
    struct operand *const of = is_data ? &x : &w;
    const double u = ldexp(1, -24);
    const double terms =
        is_data ? (double)(c.k / c.groups * c.r * c.s) : (double)(c.n * p * q);
    const char *variant;
    unsigned n_taken = 0;
    c.in.mem.buf = upload(t, &x);
    c.filters.mem.buf = upload(t, &w);
    c.out.mem.buf = upload(t, &g);
    const cl_mem result = is_data ? c.in.mem.buf : c.filters.mem.buf;
    for (unsigned v = 0;
         (variant = xl_variant_name(
              t->device, is_data ? "conv_data" : "conv_filters", v));
         v++) {
        c.variant = variant;
        const xl_status status = xl_conv_run(t->queue, &c, NULL);
        if (status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t->queue));
        assert_status(
            xl_buffer_read(t->queue, result, 0, got, of->n * sizeof *got),
            XL_OK, xl_error_detail(t->queue));
        n_taken++;
        for (unsigned i = 0; i < PROBED; i++) {
            const size_t at = (size_t)xl__rng_below(rng, of->n);
            const double want = difference(&c, p, q, of, at, false);
            const double size = difference(&c, p, q, of, at, true);
            const double tol = (terms + 2) * u / (1 - terms * u) * size;
            if (fabs(got[at] - want) > tol)
                fail_msg("%s, n %zu c %zu %zux%zu k %zu %zux%zu groups %zu "
                         "stride %zu %zu dilation %zu %zu pad %zu %zu %zu %zu"
                         ": element %zu is %.9g, not %.9g",
                         variant, c.n, c.c, c.h, c.w, c.k, c.r, c.s, c.groups,
                         c.stride_h, c.stride_w, c.dilation_h, c.dilation_w,
                         c.pad_top, c.pad_bottom, c.pad_left, c.pad_right, at,
                         (double)got[at], want);
        }
    }
    clReleaseMemObject(c.in.mem.buf);
    clReleaseMemObject(c.filters.mem.buf);
    clReleaseMemObject(c.out.mem.buf);
    return n_taken;
}

static void finite_differences(void **state)
{
    static const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                       .cache_dir = ""};
    struct test_device t;
    struct xl__rng rng;
    unsigned n_taken = 0;
    (void)state;
    xl__rng_seed(&rng, SEED);
    test_device_open(&t, &options);
    for (unsigned n = 0; n < N_SHAPES;) {
        xl_conv c;
        size_t p, q;
        if (!random_conv(&rng, &c, &p, &q))
            continue;
        fill(&x, c.n * c.c * c.h * c.w, &rng);
        fill(&w, c.k * c.c / c.groups * c.r * c.s, &rng);
        fill(&g, c.n * c.k * p * q, &rng);
        c.pass = XL_CONV_BACKWARD_DATA;
        n_taken += check_pass(&t, c, p, q, &rng);
        c.pass = XL_CONV_BACKWARD_FILTERS;
        n_taken += check_pass(&t, c, p, q, &rng);
        n++;
    }
    printf("%u results of variants\n", n_taken);
    assert_in_range(n_taken, 2 * N_SHAPES, 1 << 16);
    test_device_close(&t);
}

/* Depthwise filters of which an item's registers hold all rows, four, two or
 * one (with 5 x 5: three). */
static void few_registers(void **state)
{
    static const double registers[] = {255, 128, 100, 48};
    static const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                       .cache_dir = ""};
    enum { CHANNELS = 3, SIDE = 13 };
    struct test_device t;
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, SEED);
    test_device_open(&t, &options);
    for (unsigned i = 0; i < 8; i++) {
        xl_conv c = {XL_CONV_INIT,
                     .pass = XL_CONV_BACKWARD_FILTERS,
                     .n = 2,
                     .c = CHANNELS,
                     .h = SIDE,
                     .w = SIDE,
                     .k = CHANNELS,
                     .groups = CHANNELS,
                     .r = i / 4 ? 5 : 7,
                     .s = 7,
                     .stride_h = 1 + i % 3,
                     .stride_w = 1 + i % 2,
                     .dilation_h = 1,
                     .dilation_w = 1,
                     .pad_top = 3,
                     .pad_left = 2,
                     .alpha = 1};
        size_t p, q;
        assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_OK);
        fill(&x, c.n * c.c * c.h * c.w, &rng);
        fill(&w, c.k * c.r * c.s, &rng);
        fill(&g, c.n * c.k * p * q, &rng);
        xl__limits_correct(&t.device->limits, XL__F_registers_per_item,
                           registers[i % 4], XL_ASSUMED, "GE-01");
        xl__plan_cache_clear(t.queue);
        assert_in_range(check_pass(&t, c, p, q, &rng), 2, 16);
    }
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences),
                                       cmocka_unit_test(few_registers)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("conv_gradients", tests, NULL, NULL);
}
