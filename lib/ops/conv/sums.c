/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a convolution and of its gradients on the host.
 *
 * Each of the three is a sum over the same products: out[n][k][p][q] belongs
 * to filters[k][c][r][s] and in[n][c][y][x] where (y, x) is the position of
 * the filter's element (r, s) at (p, q). */
#include "ops/conv/sums.h"

#include <math.h>

/* One product: the indices of its three elements. */
struct place {
    size_t n, k, p, q; /* out */
    size_t c, r, s;    /* the filter's; c counts within the group */
};

struct sums {
    const struct xl__conv_canonical *c;
    const struct xl__conv_values *v;
    size_t filter[XL__N_AT]; /* strides */
    double sum, size;
};

static size_t element(const size_t stride[XL__N_AT], size_t n, size_t c,
                      size_t h, size_t w)
{
    return n * stride[XL__AT_N] + c * stride[XL__AT_C] + h * stride[XL__AT_H] +
           w * stride[XL__AT_W];
}

/* The row and column of in; false in the padding. */
static bool find_pixel(const xl_conv *d, const struct place *o, size_t *y,
                       size_t *x)
{
    *y = o->p * d->stride_h + o->r * d->dilation_h - d->pad_top;
    *x = o->q * d->stride_w + o->s * d->dilation_w - d->pad_left;
    return *y < d->h && *x < d->w; /* before the first: beyond the last */
}

static double load_in(const struct sums *t, const struct place *o)
{
    const xl_conv *d = &t->c->d;
    size_t y, x;
    if (!find_pixel(d, o, &y, &x))
        return 0;
    const size_t c = o->k / xl__conv_kg(d) * xl__conv_cg(d) + o->c;
    return t->v->in[element(d->in.stride, o->n, c, y, x)];
}

static double load_filter(const struct sums *t, const struct place *o)
{
    return t->v->filters[element(t->filter, o->k, o->c, o->r, o->s)];
}

static double load_out(const struct sums *t, const struct place *o)
{
    return t->v->out[element(t->c->d.out.stride, o->n, o->k, o->p, o->q)];
}

static void add(struct sums *t, double term)
{
    t->sum += term;
    t->size += fabs(term);
}

static void sum_forward(struct sums *t, struct place o)
{
    const xl_conv *d = &t->c->d;
    for (o.c = 0; o.c < xl__conv_cg(d); o.c++) {
        for (o.r = 0; o.r < d->r; o.r++) {
            for (o.s = 0; o.s < d->s; o.s++)
                add(t, load_in(t, &o) * load_filter(t, &o));
        }
    }
}

/* Positions of the filter that reach `at` with element i, dilated; false: none
 * does. */
static bool find_position(size_t at, size_t pad, size_t i, size_t dilation,
                          size_t stride, size_t positions, size_t *out)
{
    if (at + pad < i * dilation || (at + pad - i * dilation) % stride)
        return false;
    *out = (at + pad - i * dilation) / stride;
    return *out < positions;
}

static void sum_data(struct sums *t, const size_t at[XL__N_AT])
{
    const xl_conv *d = &t->c->d;
    const size_t cg = xl__conv_cg(d), kg = xl__conv_kg(d);
    const size_t group = at[XL__AT_C] / cg;
    struct place o = {.n = at[XL__AT_N], .c = at[XL__AT_C] % cg};
    for (o.r = 0; o.r < d->r; o.r++) {
        for (o.s = 0; o.s < d->s; o.s++) {
            if (!find_position(at[XL__AT_H], d->pad_top, o.r, d->dilation_h,
                               d->stride_h, t->c->p, &o.p) ||
                !find_position(at[XL__AT_W], d->pad_left, o.s, d->dilation_w,
                               d->stride_w, t->c->q, &o.q))
                continue;
            for (o.k = group * kg; o.k < (group + 1) * kg; o.k++)
                add(t, load_out(t, &o) * load_filter(t, &o));
        }
    }
}

static void sum_filters(struct sums *t, struct place o)
{
    for (o.n = 0; o.n < t->c->d.n; o.n++) {
        for (o.p = 0; o.p < t->c->p; o.p++) {
            for (o.q = 0; o.q < t->c->q; o.q++)
                add(t, load_out(t, &o) * load_in(t, &o));
        }
    }
}

void xl__conv_sum(const struct xl__conv_canonical *c,
                  const struct xl__conv_values *v, const size_t at[XL__N_AT],
                  double *sum, double *size)
{
    struct sums t = {.c = c, .v = v};
    xl__conv_filter_strides(&c->d, t.filter);
    if (c->d.pass == XL_CONV_BACKWARD_DATA)
        sum_data(&t, at);
    else if (c->d.pass == XL_CONV_BACKWARD_FILTERS)
        sum_filters(&t, (struct place){
                            .k = at[0], .c = at[1], .r = at[2], .s = at[3]});
    else
        sum_forward(&t, (struct place){
                            .n = at[0], .k = at[1], .p = at[2], .q = at[3]});
    *sum = t.sum;
    *size = t.size;
}
