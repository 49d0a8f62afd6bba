/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptor of a convolution. As far as their strides allow,
 * images are checked as matrices: contiguous lines at a constant pitch. */
#include "ops/conv/check.h"

#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/operands.h"

/* -- sizes and types ---------------------------------------------------- */

static xl_status check_sizes(const xl_conv *d, struct xl__conv_canonical *c,
                             struct xl__error *e)
{
    const size_t groups = d->groups ? d->groups : 1;
    const xl_status status = xl_conv_out_size(d, &c->p, &c->q);
    if (status == XL_OK)
        return XL_OK;
    if (status == XL_OVERFLOW)
        return xl__error_set(e, status,
                             "conv of %zu x %zu pixels with padding, filters "
                             "%zu x %zu with dilation do not fit in 64 bits",
                             d->h, d->w, d->r, d->s);
    if (d->c % groups || d->k % groups)
        return xl__error_set(e, status,
                             "conv of %zu channels and %zu filters in %zu "
                             "groups; groups must divide both",
                             d->c, d->k, groups);
    if (!d->n || !d->c || !d->h || !d->w || !d->k || !d->r || !d->s)
        return xl__error_set(e, status,
                             "conv of n = %zu, c = %zu, h = %zu, w = %zu, "
                             "k = %zu, r = %zu, s = %zu; each must be at "
                             "least 1",
                             d->n, d->c, d->h, d->w, d->k, d->r, d->s);
    return xl__error_set(e, status,
                         "a filter of %zu x %zu, dilation %zu and %zu, is "
                         "larger than the image with its padding, %zu x %zu",
                         d->r, d->s, d->dilation_h ? d->dilation_h : 1,
                         d->dilation_w ? d->dilation_w : 1,
                         d->h + d->pad_top + d->pad_bottom,
                         d->w + d->pad_left + d->pad_right);
}

/* Types whose sums are f32. */
static bool is_float(xl_dtype t)
{
    return t == XL_F32 || t == XL_F16 || t == XL_BF16;
}

static bool types_fit(xl_dtype in, xl_dtype out, bool has_epilogue)
{
    if (has_epilogue)
        return (is_float(in) || in == XL_I8) && out != XL_F64 &&
               out <= XL_BOOL;
    return is_float(in)  ? is_float(out)
           : in == XL_I8 ? is_float(out) || out == XL_I32
                         : in == XL_F64 && out == XL_F64;
}

static xl_status check_types(const xl_conv *d, struct xl__error *e)
{
    if (d->in.layout != XL_NCHW && d->in.layout != XL_NHWC)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "in: %d is no layout; use XL_NCHW or XL_NHWC",
                             (int)d->in.layout);
    if (d->out.layout != XL_NCHW && d->out.layout != XL_NHWC)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "out: %d is no layout; use XL_NCHW or XL_NHWC",
                             (int)d->out.layout);
    if (d->filters.layout != XL_KCRS && d->filters.layout != XL_KRSC)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "filters: %d is no layout; use XL_KCRS or "
                             "XL_KRSC",
                             (int)d->filters.layout);
    if (d->filters.dtype == d->in.dtype &&
        types_fit(d->in.dtype, d->out.dtype, d->epilogue.expr))
        return XL_OK;
    return xl__error_set(
        e, XL_UNSUPPORTED,
        "conv of in %s, filters %s, out %s%s; in and filters must be alike: "
        "f32, f16 or bf16 into any of these, f64 into f64 without an "
        "epilogue, i8 into i32, f32, f16 or bf16",
        xl_dtype_name(d->in.dtype), xl_dtype_name(d->filters.dtype),
        xl_dtype_name(d->out.dtype),
        d->epilogue.expr ? " with an epilogue" : "");
}

static xl_status check_scalars(const xl_conv *d, struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_dtype type = xl__conv_y_dtype(d->out.dtype, d->epilogue.expr);
    TRY(xl__check_scalar("alpha", d->alpha, type, e));
    TRY(xl__check_scalar("beta", d->beta, type, e));
fail:
    return status;
}

/* -- memory ------------------------------------------------------------- */

/* A view in the form that xl__check_... take. */
struct view {
    xl_mat mat;
    struct xl__named named;
};

static void name_view(struct view *v, const char *name, size_t rows,
                      size_t cols)
{
    v->named = (struct xl__named){
        .name = name, .mat = &v->mat, .rows = rows, .cols = cols};
}

/* Dimensions by stride, the largest first. */
static void sort_dims(const size_t stride[XL__N_AT], unsigned order[XL__N_AT])
{
    for (unsigned i = 0; i < XL__N_AT; i++) {
        unsigned at = i;
        for (; at > 0 && stride[order[at - 1]] < stride[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Elements from the first to one past the last; false on overflow. */
static bool find_extent(const size_t size[XL__N_AT],
                        const size_t stride[XL__N_AT], size_t *elems)
{
    *elems = 1;
    for (unsigned at = 0; at < XL__N_AT; at++) {
        size_t reach;
        if (!xl__mul(size[at] - 1, stride[at], &reach) ||
            !xl__add(*elems, reach, elems))
            return false;
    }
    return true;
}

/* The outer dimensions that have a constant pitch become the rows of a matrix,
 * the span of the others its columns. */
static void make_matrix(const size_t size[XL__N_AT],
                        const size_t stride[XL__N_AT], struct view *v,
                        const char *name)
{
    unsigned order[XL__N_AT], n = 1;
    size_t inner[XL__N_AT], cols = 0;
    sort_dims(stride, order);
    size_t rows = size[order[0]], pitch = stride[order[0]];
    for (; n < XL__N_AT && pitch == size[order[n]] * stride[order[n]]; n++) {
        rows *= size[order[n]];
        pitch = stride[order[n]];
    }
    for (unsigned at = 0; at < XL__N_AT; at++)
        inner[at] = size[at];
    for (unsigned i = 0; i < n; i++)
        inner[order[i]] = 1;
    find_extent(inner, stride, &cols);
    v->mat.row_stride = pitch;
    v->mat.col_stride = 1;
    name_view(v, name, rows, cols);
}

static xl_status view_images(const xl_images *x, const size_t size[XL__N_AT],
                             const char *name, struct view *v,
                             struct xl__error *e)
{
    xl_status status = XL_OK;
    size_t stride[XL__N_AT], elems = 0;
    v->mat = (xl_mat){.mem = x->mem,
                      .offset = x->offset,
                      .col_stride = 1,
                      .dtype = x->dtype};
    if (!xl__conv_strides(x, size, stride) ||
        !find_extent(size, stride, &elems))
        return xl__error_set(e, XL_OVERFLOW,
                             "%s: %zu x %zu x %zu x %zu elements do not fit "
                             "in 64 bits",
                             name, size[0], size[1], size[2], size[3]);
    name_view(v, name, 1, elems);
    TRY(xl__check_view(&v->named, e));
    make_matrix(size, stride, v, name);
fail:
    return status;
}

/* Each stride must be at least the span of the dimensions with smaller
 * strides. */
static xl_status check_writable(const xl_images *x,
                                const size_t size[XL__N_AT],
                                struct xl__error *e)
{
    size_t stride[XL__N_AT], span = 1;
    unsigned order[XL__N_AT];
    xl__conv_strides(x, size, stride);
    sort_dims(stride, order);
    for (unsigned i = XL__N_AT; i-- > 0;) {
        const unsigned at = order[i];
        if (size[at] > 1 && stride[at] < span)
            return xl__error_set(
                e, XL_OVERLAP,
                "out overlaps itself: %zu x %zu x %zu x %zu elements with "
                "strides %zu, %zu, %zu and %zu; each stride must be at least "
                "what the smaller ones span",
                size[0], size[1], size[2], size[3], stride[0], stride[1],
                stride[2], stride[3]);
        span += (size[at] - 1) * stride[at];
    }
    return XL_OK;
}

struct views {
    struct view in, filters, out;
};

static xl_status make_views(const struct xl__conv_canonical *c, struct views *v,
                            struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_conv *d = &c->d;
    size_t in[XL__N_AT], out[XL__N_AT], elems = 0;
    xl__conv_sizes(c, in, out);
    TRY(view_images(&d->in, in, "in", &v->in, e));
    TRY(view_images(&d->out, out, "out", &v->out, e));
    if (!xl__mul(xl__conv_cg(d), d->r, &elems) ||
        !xl__mul(elems, d->s, &elems) || !xl__mul(elems, d->k, &elems))
        return xl__error_set(e, XL_OVERFLOW,
                             "filters: their size does not fit in 64 bits");
    v->filters.mat = (xl_mat){.mem = d->filters.mem,
                              .offset = d->filters.offset,
                              .row_stride = elems,
                              .col_stride = 1,
                              .dtype = d->filters.dtype};
    name_view(&v->filters, "filters", 1, elems);
    TRY(xl__check_view(&v->filters.named, e));
fail:
    return status;
}

/* The result for the epilogue: a batch of matrices, one an image. */
static xl_status check_operands(const struct xl__conv_canonical *c, struct xl__error *e)
{
    const xl_conv *d = &c->d;
    size_t in[XL__N_AT], size[XL__N_AT], stride[XL__N_AT];
    const bool channels_first = d->out.layout == XL_NCHW;
    struct view v;
    xl__conv_sizes(c, in, size);
    xl__conv_strides(&d->out, size, stride);
    const size_t pixels = size[XL__AT_H] * size[XL__AT_W];
    v.mat = (xl_mat){
        .mem = d->out.mem, .offset = d->out.offset, .dtype = d->out.dtype};
    v.mat.row_stride = stride[channels_first ? XL__AT_C : XL__AT_W];
    v.mat.col_stride = stride[channels_first ? XL__AT_W : XL__AT_C];
    name_view(&v, "out", channels_first ? d->k : pixels,
              channels_first ? pixels : d->k);
    v.named.reach = (d->n - 1) * stride[XL__AT_N];
    return xl__operands_check_memory(&d->epilogue, &v.named, stride[XL__AT_N],
                                     e);
}

static xl_status check_memory(const struct xl__conv_canonical *c, const struct views *v,
                              struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_mem workspace = c->d.workspace;
    const struct xl__named *out = &v->out.named;
    const struct xl__named *const read[] = {&v->in.named, &v->filters.named};
    const unsigned n_read = xl__conv_reads_in(&c->d) ? 2 : 0;
    for (unsigned i = 0; i < n_read; i++)
        TRY(xl__check_memory(read[i], e));
    TRY(xl__check_memory(out, e));
    for (unsigned i = 0; i < n_read; i++)
        TRY(xl__check_apart(out, read[i], e));
    if (workspace.buf || workspace.svm)
        TRY(xl__check_scratch_apart(&v->out.named, workspace, e));
    TRY(check_operands(c, e));
fail:
    return status;
}

xl_status xl__conv_check(xl_queue *q, const void *desc, bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__error *e = &q->error;
    struct xl__conv_canonical c = {.d = *(const xl_conv *)desc};
    size_t in[XL__N_AT], out[XL__N_AT];
    struct views v;
    TRY(check_types(&c.d, e));
    TRY(check_sizes(&c.d, &c, e));
    if (c.d.groups == 0)
        c.d.groups = 1;
    TRY(make_views(&c, &v, e));
    TRY(check_scalars(&c.d, e));
    xl__conv_sizes(&c, in, out);
    TRY(check_writable(&c.d.out, out, e));
    TRY(xl__operands_check(&c.d.epilogue, e));
    if (with_memory)
        TRY(check_memory(&c, &v, e));
fail:
    return status;
}
