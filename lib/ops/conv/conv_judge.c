/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution's small case, judged: the host sums in double. The tolerance is
 * the rounding bound of a dot product of c r s / groups terms in any order
 * (Higham 2002, section 3.5), then what the epilogue makes of it, then one
 * rounding to out's type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/conv/conv_small.h"

struct judging {
    const struct xl__conv *c;
    const struct xl__trial *t;
    size_t filter[XL__N_AT]; /* strides */
    void *before;            /* out as it was */
    char *why;
    size_t why_cap;
};

/* One element of the result. */
struct place {
    size_t n, k, p, q;
};

static size_t at_out(const struct judging *j, const struct place *o)
{
    const xl_images *x = &j->c->d.out;
    return xl__conv_small_start(x->offset, x->dtype) +
           o->n * x->stride[XL__AT_N] + o->k * x->stride[XL__AT_C] +
           o->p * x->stride[XL__AT_H] + o->q * x->stride[XL__AT_W];
}

/* in at a place that may be outside; c counts all channels. */
static double load_in(const struct judging *j, const struct place *o, size_t c,
                      const size_t rs[2])
{
    const xl_conv *d = &j->c->d;
    const size_t y = o->p * d->stride_h + rs[0] * d->dilation_h;
    const size_t x = o->q * d->stride_w + rs[1] * d->dilation_w;
    if (y < d->pad_top || y - d->pad_top >= d->h || x < d->pad_left ||
        x - d->pad_left >= d->w)
        return 0;
    return xl__small_load(
        j->t->host[xl__conv_slot_in(d)],
        xl__conv_small_start(d->in.offset, d->in.dtype) +
            o->n * d->in.stride[XL__AT_N] + c * d->in.stride[XL__AT_C] +
            (y - d->pad_top) * d->in.stride[XL__AT_H] +
            (x - d->pad_left) * d->in.stride[XL__AT_W],
        d->in.dtype);
}

static double load_filter(const struct judging *j, size_t k, size_t c,
                          const size_t rs[2])
{
    const xl_conv *d = &j->c->d;
    return xl__small_load(
        j->t->host[xl__conv_slot_filters(d)],
        xl__conv_small_start(d->filters.offset, d->filters.dtype) +
            k * j->filter[XL__AT_N] + c * j->filter[XL__AT_C] +
            rs[0] * j->filter[XL__AT_H] + rs[1] * j->filter[XL__AT_W],
        d->filters.dtype);
}

/* The sum, and that of absolute values. */
static void sum_up(const struct judging *j, const struct place *o, double *sum,
                   double *size)
{
    const xl_conv *d = &j->c->d;
    const size_t cg = xl__conv_cg(d), c0 = o->k / xl__conv_kg(d) * cg;
    size_t rs[2];
    *sum = *size = 0;
    for (size_t c = 0; c < cg; c++) {
        for (rs[0] = 0; rs[0] < d->r; rs[0]++) {
            for (rs[1] = 0; rs[1] < d->s; rs[1]++) {
                const double term =
                    load_in(j, o, c0 + c, rs) * load_filter(j, o->k, c, rs);
                *sum += term;
                *size += fabs(term);
            }
        }
    }
}

/* y, and how far a device's may be off. */
static double want_y(const struct judging *j, const struct place *o,
                     double *error)
{
    const xl_conv *d = &j->c->d;
    const double alpha = xl__conv_small_alpha(j->c);
    double sum, size;
    sum_up(j, o, &sum, &size);
    const double old = xl__conv_small_beta(j->c) *
                       xl__small_load(j->before, at_out(j, o), d->out.dtype);
    /* Three more roundings: alpha, beta and their sum; of an integer sum also
     * the one to f32. The host rounds as often in f64 as the device does. */
    const double terms =
        d->in.dtype == XL_I8 ? 1 : (double)xl__conv_depth(d);
    const double ku = (terms + 3) * xl__small_roundoff(xl__conv_y(j->c));
    const double hosts = d->in.dtype == XL_F64 ? 2 : 1;
    *error = hosts * ku / (1 - ku) * (fabs(alpha) * size + fabs(old)) +
             xl__small_underflow(xl__conv_y(j->c));
    return alpha * sum + old;
}

/* The stored value, of y with or without an epilogue. */
static double want_out(const struct judging *j, const struct place *o,
                       double *error)
{
    const struct xl__small_epilogue *ep = j->t->own;
    const xl_dtype dtype = j->c->d.out.dtype;
    const bool first = j->c->d.out.layout == XL_NCHW;
    const size_t pixel = o->p * j->c->q + o->q;
    const size_t along[XL__N_ALONG] = {o->n, first ? o->k : pixel,
                                       first ? pixel : o->k};
    double y_error;
    const double y = want_y(j, o, &y_error);
    if (j->c->snippet)
        return xl__small_epilogue_want(ep, j->t, along, dtype, y, y_error,
                                       error);
    *error = y_error + xl__small_roundoff(dtype) * fabs(y) +
             xl__small_underflow(dtype);
    return y;
}

static bool judge_element(const struct judging *j, const struct place *o)
{
    const xl_conv *d = &j->c->d;
    double error;
    const double want = want_out(j, o, &error);
    const double got = xl__small_load(j->t->host[XL__CONV_OUT], at_out(j, o),
                                      d->out.dtype);
    if (xl__small_agrees(got, want, error))
        return true;
    snprintf(j->why, j->why_cap,
             "out(%zu, %zu, %zu, %zu) of %zux%zux%zux%zu:%zux%zux%zu is %.9g, "
             "not %.9g (within %.2g)",
             o->n, o->k, o->p, o->q, d->n, d->h, d->w, d->c, d->k, d->r, d->s,
             got, want, error);
    return false;
}

/* Every element, until `is_right` says no. */
static bool for_all(const struct judging *j,
                    bool (*is_right)(const struct judging *j,
                                     const struct place *o))
{
    const struct xl__conv *c = j->c;
    const size_t all = c->d.n * c->d.k * c->p * c->q;
    for (size_t i = 0; i < all; i++) {
        const struct place o = {i / (c->d.k * c->p * c->q),
                                i / (c->p * c->q) % c->d.k,
                                i / c->q % c->p, i % c->q};
        if (!is_right(j, &o))
            return false;
    }
    return true;
}

static bool put_back(const struct judging *j, const struct place *o)
{
    const size_t elem = xl_dtype_bytes(j->c->d.out.dtype);
    const size_t byte = elem * at_out(j, o);
    memcpy((unsigned char *)j->t->host[XL__CONV_OUT] + byte,
           (unsigned char *)j->before + byte, elem);
    return true;
}

/* Put the old elements back over the result: what then differs from the
 * memory before was none of out's. */
static bool judge_guards(const struct judging *j)
{
    const unsigned char *after = j->t->host[XL__CONV_OUT], *before = j->before;
    for_all(j, put_back);
    for (size_t byte = 0; byte < j->t->bytes[XL__CONV_OUT]; byte++) {
        if (after[byte] != before[byte]) {
            snprintf(j->why, j->why_cap,
                     "memory beside out was written: byte %zu", byte);
            return false;
        }
    }
    return true;
}

bool xl__conv_trial_judge(const void *small, const struct xl__trial *t,
                          char *why, size_t why_cap)
{
    const struct xl__conv *c = small;
    size_t bytes;
    struct judging j = {.c = c, .t = t, .why = why, .why_cap = why_cap,
                        .before = xl__conv_small_out(c, &bytes)};
    xl__conv_filter_strides(&c->d, j.filter);
    bool ok = j.before != NULL;
    if (!ok)
        snprintf(why, why_cap, "out of host memory");
    ok = ok && for_all(&j, judge_element) && judge_guards(&j);
    free(j.before);
    return ok;
}
