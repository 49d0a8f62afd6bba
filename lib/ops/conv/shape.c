/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, strides, flop and bytes of a convolution. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"

/* The number of positions along `length` of a filter of `size` elements at
 * distances `dilation`, with the stride `step`:
 *   (length + pad - ((size - 1) dilation + 1)) / step + 1. */
static xl_status count_positions(size_t length, const size_t pad[2],
                                 size_t size, size_t dilation, size_t step,
                                 size_t *out)
{
    size_t span, padded;
    if (!xl__mul(size - 1, dilation, &span) ||
        !xl__add(pad[0], pad[1], &padded) || !xl__add(padded, length, &padded))
        return XL_OVERFLOW;
    if (span >= padded)
        return XL_BAD_SHAPE;
    *out = (padded - span - 1) / step + 1;
    return XL_OK;
}

xl_status xl_conv_out_size(const xl_conv *c, size_t *p, size_t *q)
{
    xl_conv full;
    if (!c || !p || !q)
        return XL_BAD_ARGUMENT;
    *p = *q = 0;
    c = xl__sized_read(&xl__op_conv.descriptor, c, &full, NULL);
    return c ? xl__conv_count_positions(c, p, q) : XL_BAD_ARGUMENT;
}

xl_status xl__conv_count_positions(const xl_conv *c, size_t *p, size_t *q)
{
    const size_t groups = c->groups ? c->groups : 1;
    size_t rows = 0, cols = 0;
    *p = *q = 0;
    if (!c->n || !c->c || !c->h || !c->w || !c->k || !c->r || !c->s ||
        c->c % groups || c->k % groups)
        return XL_BAD_SHAPE;
    xl_status status =
        count_positions(c->h, (size_t[2]){c->pad_top, c->pad_bottom}, c->r,
                        c->dilation_h ? c->dilation_h : 1,
                        c->stride_h ? c->stride_h : 1, &rows);
    if (status == XL_OK)
        status = count_positions(c->w, (size_t[2]){c->pad_left, c->pad_right},
                                 c->s, c->dilation_w ? c->dilation_w : 1,
                                 c->stride_w ? c->stride_w : 1, &cols);
    if (status == XL_OK) {
        *p = rows;
        *q = cols;
    }
    return status;
}

size_t xl__conv_cg(const xl_conv *d)
{
    return d->c / d->groups;
}

size_t xl__conv_kg(const xl_conv *d)
{
    return d->k / d->groups;
}

size_t xl__conv_depth(const xl_conv *d)
{
    return xl__conv_cg(d) * d->r * d->s;
}

void xl__conv_sizes(const struct xl__conv_canonical *c, size_t in[XL__N_AT],
                    size_t out[XL__N_AT])
{
    in[XL__AT_N] = out[XL__AT_N] = c->d.n;
    in[XL__AT_C] = c->d.c;
    in[XL__AT_H] = c->d.h;
    in[XL__AT_W] = c->d.w;
    out[XL__AT_C] = c->d.k;
    out[XL__AT_H] = c->p;
    out[XL__AT_W] = c->q;
}

bool xl__conv_strides(const xl_images *x, const size_t size[XL__N_AT],
                      size_t stride[XL__N_AT])
{
    static const unsigned inner_first[][XL__N_AT] = {
        [XL_NCHW] = {XL__AT_W, XL__AT_H, XL__AT_C, XL__AT_N},
        [XL_NHWC] = {XL__AT_C, XL__AT_W, XL__AT_H, XL__AT_N}};
    const size_t *given = x->stride;
    const bool is_dense = !given[0] && !given[1] && !given[2] && !given[3];
    size_t step = 1;
    for (unsigned i = 0; i < XL__N_AT; i++) {
        const unsigned at = inner_first[x->layout][i];
        stride[at] = is_dense ? step : given[at];
        if (is_dense && !xl__mul(step, size[at], &step))
            return false;
    }
    return true;
}

void xl__conv_filter_strides(const xl_conv *d, size_t stride[XL__N_AT])
{
    const size_t cg = xl__conv_cg(d);
    const bool last = d->filters.layout == XL_KRSC;
    stride[XL__AT_N] = xl__conv_depth(d);
    stride[XL__AT_C] = last ? 1 : d->r * d->s;
    stride[XL__AT_H] = last ? d->s * cg : d->s;
    stride[XL__AT_W] = last ? cg : 1;
}

bool xl__conv_is_flat(const xl_images *x, const size_t size[XL__N_AT])
{
    return size[XL__AT_H] == 1 || size[XL__AT_W] == 1 ||
           x->stride[XL__AT_H] == size[XL__AT_W] * x->stride[XL__AT_W];
}

size_t xl__conv_pixel_stride(const xl_images *x)
{
    return x->stride[XL__AT_W] ? x->stride[XL__AT_W] : x->stride[XL__AT_H];
}

bool xl__conv_join(size_t outer, size_t step, size_t inner, size_t *stride)
{
    if (inner == 1)
        *stride = step;
    return outer == 1 || inner == 1 || step == inner * *stride;
}

size_t xl__conv_span_of_input(const xl_conv *d)
{
    return (d->n - 1) * d->in.stride[XL__AT_N] +
           (d->c - 1) * d->in.stride[XL__AT_C] +
           (d->h - 1) * d->in.stride[XL__AT_H] +
           (d->w - 1) * d->in.stride[XL__AT_W] + 1;
}

bool xl__conv_fits_32(const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    const size_t sizes[] = {d->n * c->p * c->q,
                            d->k * xl__conv_depth(d),
                            d->c,
                            d->c * d->in.stride[XL__AT_C] +
                                d->h * d->in.stride[XL__AT_H] +
                                d->w * d->in.stride[XL__AT_W],
                            d->h + d->pad_top + d->pad_bottom,
                            d->w + d->pad_left + d->pad_right,
                            d->stride_h,
                            d->stride_w};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] > INT32_MAX / 2)
            return false;
    }
    return true;
}

xl_dtype xl__conv_y_dtype(xl_dtype result, bool has_epilogue)
{
    return result == XL_F64                    ? XL_F64
           : result == XL_I32 && !has_epilogue ? XL_I32
                                               : XL_F32;
}

xl_dtype xl__conv_y(const struct xl__conv_canonical *c)
{
    return xl__conv_y_dtype(xl__conv_result_dtype(&c->d), c->snippet);
}

xl_dtype xl__conv_read_dtype(const xl_conv *d)
{
    return d->pass == XL_CONV_BACKWARD_DATA ? d->out.dtype : d->in.dtype;
}

xl_dtype xl__conv_result_dtype(const xl_conv *d)
{
    return d->pass == XL_CONV_BACKWARD_DATA      ? d->in.dtype
           : d->pass == XL_CONV_BACKWARD_FILTERS ? d->filters.dtype
                                                 : d->out.dtype;
}

bool xl__conv_reads(const xl_conv *d)
{
    return xl__scalar_round(d->alpha,
                            xl__conv_y_dtype(xl__conv_result_dtype(d),
                                             d->epilogue.expr)) != 0;
}

bool xl__conv_find_side(size_t residue, size_t stride, size_t dilation,
                        size_t pad, size_t taps, size_t positions, size_t out,
                        struct xl__conv_side *s)
{
    const size_t common = xl__gcd(stride, dilation);
    const size_t at = residue + pad;
    *s = (struct xl__conv_side){.period = stride / common,
                                .dilation = dilation / common};
    while (s->first < taps && s->first < s->period &&
           (at % stride + stride - s->first * dilation % stride) % stride)
        s->first++;
    if (s->first >= taps || s->first >= s->period)
        return false;
    s->n = xl__ceil_div(taps - s->first, s->period);
    /* Where the first of the taps is at the first pixel, then the last. */
    const long base = ((long)at - (long)(s->first * dilation)) / (long)stride;
    const long before = (long)((s->n - 1) * s->dilation) - base;
    s->skip = before < 0 ? (size_t)-before : 0;
    s->pad = before > 0 ? (size_t)before : 0;
    if (s->skip >= positions)
        return false;
    s->in = positions - s->skip;
    const long after =
        (long)(out + s->dilation * (s->n - 1)) - (long)(s->in + s->pad);
    s->pad_after = after > 0 ? (size_t)after : 0;
    if (after < 0 && (size_t)-after >= s->in)
        return false;
    s->in -= after < 0 ? (size_t)-after : 0;
    return true;
}

size_t xl__conv_terms(const struct xl__conv_canonical *c)
{
    return c->d.pass == XL_CONV_BACKWARD_DATA
               ? xl__conv_kg(&c->d) * c->d.r * c->d.s
           : c->d.pass == XL_CONV_BACKWARD_FILTERS ? c->d.n * c->p * c->q
                                                   : xl__conv_depth(&c->d);
}

double xl__conv_flop(const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    return 2.0 * (double)d->n * (double)d->k * (double)c->p * (double)c->q *
           (double)xl__conv_depth(d);
}

double xl__conv_bytes(const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    const double old = d->beta != 0;
    const double in =
        (double)d->n * (double)d->c * (double)d->h * (double)d->w;
    const double filters = (double)d->k * (double)xl__conv_depth(d);
    const double out =
        (double)d->n * (double)d->k * (double)c->p * (double)c->q;
    const double result = d->pass == XL_CONV_BACKWARD_DATA      ? in
                          : d->pass == XL_CONV_BACKWARD_FILTERS ? filters
                                                                : out;
    return in * (double)xl_dtype_bytes(d->in.dtype) +
           filters * (double)xl_dtype_bytes(d->filters.dtype) +
           out * (double)xl_dtype_bytes(d->out.dtype) +
           old * result * (double)xl_dtype_bytes(xl__conv_result_dtype(d));
}

bool xl__conv_has_tensors(const struct xl__conv_canonical *c)
{
    const struct xl__epilogue_text *s = c->snippet;
    for (unsigned k = 0; s && k < s->n_operands; k++) {
        if (!s->operand[k].is_scalar)
            return true;
    }
    return false;
}
