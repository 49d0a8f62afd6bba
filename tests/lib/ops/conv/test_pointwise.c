/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with filters of one element as products of matrices, without a
 * device: the product that the descriptor becomes is computed on the host by
 * its strides, and has the elements of the convolution, where they belong.
 * Values are whole and small, so that sums are exact. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ops/conv/conv.h"
#include "ops/path/batch.h"
#include "support/support.h"

enum { N_SHAPES = 4000, SEED = 3, MOST = 1 << 16, NEVER = 1 << 20 };

static int in[MOST], filters[MOST], out[MOST], expected[MOST];
static struct xl__rng rng;

static size_t below(size_t n)
{
    return (size_t)xl__rng_below(&rng, n);
}

/* Dense images, or views with a step along the line, or with gaps behind
 * lines, images, rows. */
static void random_view(xl_images *x, const size_t size[XL__N_AT])
{
    static const unsigned order[][XL__N_AT] = {
        [XL_NCHW] = {XL__AT_W, XL__AT_H, XL__AT_C, XL__AT_N},
        [XL_NHWC] = {XL__AT_C, XL__AT_W, XL__AT_H, XL__AT_N}};
    size_t step = below(4) ? 1 : 2;
    if (below(2))
        return;
    for (unsigned i = 0; i < XL__N_AT; i++) {
        const unsigned at = order[x->layout][i];
        x->stride[at] = step;
        step = step * size[at] + (below(4) ? 0 : 1 + below(3)) * step;
    }
}

static xl_conv random_conv(void)
{
    const size_t groups = below(3) ? 1 : 2 + below(2);
    xl_conv d = {XL_CONV_INIT, .n = 1 + below(3), .h = 1 + below(5),
                 .w = 1 + below(5), .r = 1, .s = 1, .groups = groups,
                 .alpha = 1};
    d.c = groups * (1 + below(5));
    d.k = groups * (1 + below(5));
    d.stride_h = below(4) ? 1 : 2;
    d.stride_w = below(4) ? 1 : 2;
    d.pad_left = below(20) == 0;
    d.in.layout = (xl_layout)below(2);
    d.out.layout = (xl_layout)below(2);
    d.filters.layout = (xl_filter_layout)below(2);
    return d;
}

/* -- the convolution ------------------------------------------------------ */

static size_t element(const xl_images *x, size_t n, size_t c, size_t h,
                      size_t w)
{
    return n * x->stride[XL__AT_N] + c * x->stride[XL__AT_C] +
           h * x->stride[XL__AT_H] + w * x->stride[XL__AT_W];
}

static void convolve(const struct xl__conv_canonical *c, int *to)
{
    const xl_conv *d = &c->d;
    const size_t cg = d->c / d->groups, kg = d->k / d->groups;
    for (size_t i = 0; i < d->n * d->k * c->p * c->q; i++) {
        const size_t n = i / (d->k * c->p * c->q), k = i / (c->p * c->q) % d->k;
        const size_t p = i / c->q % c->p, q = i % c->q;
        int sum = 0;
        for (size_t x = 0; x < cg; x++)
            sum += filters[k * cg + x] *
                   in[element(&d->in, n, k / kg * cg + x, p * d->stride_h,
                              q * d->stride_w)];
        to[element(&d->out, n, k, p, q)] = sum;
    }
}

/* -- the product ---------------------------------------------------------- */

static void multiply(const struct xl__conv_canonical *c, const xl_gemm *g,
                     int *to)
{
    const bool first = c->d.out.layout == XL_NCHW;
    const int *a = first ? filters : in, *b = first ? in : filters;
    const struct xl__places at_a = xl__batch_a(&g->batch),
                            at_b = xl__batch_b(&g->batch),
                            at_c = xl__batch_c(&g->batch);
    for (size_t e = 0; e < g->batch.count * g->m * g->n; e++) {
        const size_t z = e / (g->m * g->n), i = e / g->n % g->m, j = e % g->n;
        int sum = 0;
        for (size_t k = 0; k < g->k; k++)
            sum += a[xl__places_at(&at_a, z) + i * g->a.row_stride +
                     k * g->a.col_stride] *
                   b[xl__places_at(&at_b, z) + k * g->b.row_stride +
                     j * g->b.col_stride];
        int *at = &to[xl__places_at(&at_c, z) + i * g->c.row_stride +
                      j * g->c.col_stride];
        assert_int_equal(*at, NEVER); /* each element once */
        *at = sum;
    }
}

static const struct xl__inner *inner(void)
{
    return xl__conv_gemm_tiled.inner;
}

static void bind(const xl_conv *d, struct xl__conv_canonical *c)
{
    struct xl__call call;
    memset(&call, 0, sizeof call);
    assert_int_equal(xl__op_conv.bind(NULL, d, c, &call), XL_OK);
}

static void fill(int *to, int value)
{
    for (size_t i = 0; i < MOST; i++)
        to[i] = value == NEVER ? value : (int)below(19) - 9;
}

static void elements(void **state)
{
    unsigned n_mapped = 0, n_joined = 0, n_two_axes = 0;
    (void)state;
    xl__rng_seed(&rng, SEED);
    fill(in, 0);
    fill(filters, 0);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        struct xl__gemm_canonical product;
        struct xl__conv_canonical c;
        xl_conv d = random_conv();
        size_t p, q;
        assert_int_equal(xl_conv_out_size(&d, &p, &q), XL_OK);
        random_view(&d.in, (const size_t[]){d.n, d.c, d.h, d.w});
        random_view(&d.out, (const size_t[]){d.n, d.k, p, q});
        bind(&d, &c);
        c.by_image = below(4) == 0;
        memset(&product, 0, sizeof product);
        if (inner()->map(&c, &product))
            continue;
        assert_int_equal(d.pad_left, 0);
        fill(out, NEVER);
        fill(expected, NEVER);
        convolve(&c, expected);
        multiply(&c, &product.g, out);
        assert_memory_equal(out, expected, sizeof out);
        n_mapped++;
        n_joined += d.n > 1 && product.g.batch.count == 1;
        n_two_axes += product.g.batch.inner > 0;
        assert_true(!c.by_image || product.g.batch.count >= d.n);
    }
    assert_true(n_mapped > N_SHAPES / 4);
    assert_true(n_joined > N_SHAPES / 64 && n_two_axes > N_SHAPES / 64);
}

/* -- what is one product, and what is none -------------------------------- */

static xl_conv layer(xl_layout layout)
{
    return (xl_conv){XL_CONV_INIT, .n = 3, .c = 24, .h = 6, .w = 8, .k = 40,
                     .r = 1, .s = 1, .alpha = 1, .in.layout = layout,
                     .out.layout = layout};
}

static const char *map(const xl_conv *d, struct xl__gemm_canonical *to)
{
    struct xl__conv_canonical c;
    bind(d, &c);
    memset(to, 0, sizeof *to);
    return inner()->map(&c, to);
}

/* The images are one product in NHWC, a batch in NCHW; lines of 16 bytes
 * remain lines of 16 bytes. */
static void sizes(void **state)
{
    struct xl__gemm_canonical to;
    xl_conv d = layer(XL_NHWC);
    (void)state;
    assert_null(map(&d, &to));
    assert_int_equal(to.g.batch.count, 1);
    assert_int_equal(to.g.m, 3 * 6 * 8);
    assert_int_equal(to.g.n, 40);
    assert_int_equal(to.g.k, 24);
    assert_int_equal(to.g.a.row_stride, 24);
    assert_int_equal(to.g.a.offset, 32);
    assert_int_equal(to.g.c.offset, 32);
    d = layer(XL_NCHW);
    assert_null(map(&d, &to));
    assert_int_equal(to.g.batch.count, 3);
    assert_int_equal(to.g.m, 40);
    assert_int_equal(to.g.n, 6 * 8);
    assert_int_equal(to.g.batch.a_step, 0);
    assert_int_equal(to.g.batch.c_step, 40 * 6 * 8);
    assert_int_equal(to.g.b.offset, 64);
    d.in.offset = 2;
    assert_null(map(&d, &to));
    assert_int_equal(to.g.b.offset, 8);
}

static void refusals(void **state)
{
    struct xl__gemm_canonical to;
    xl_conv d = layer(XL_NHWC);
    (void)state;
    d.s = 2;
    assert_non_null(map(&d, &to));
    d = layer(XL_NHWC);
    d.pad_bottom = 1;
    assert_non_null(map(&d, &to));
    d = layer(XL_NHWC);
    d.stride_h = d.stride_w = 2; /* the pixels of a row, and its end */
    assert_non_null(map(&d, &to));
    d.stride_h = 1; /* every other pixel of an image */
    assert_null(map(&d, &to));
    assert_int_equal(to.g.a.row_stride, 2 * 24);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements),
                                       cmocka_unit_test(sizes),
                                       cmocka_unit_test(refusals)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("pointwise", tests, NULL, NULL);
}
