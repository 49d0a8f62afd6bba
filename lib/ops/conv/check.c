/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptor of a convolution. */
#include "ops/conv/check.h"

#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/check.h"
#include "ops/path/operands.h"

/* -- sizes and types ---------------------------------------------------- */

static xl_status check_sizes(const xl_conv *d, struct xl__conv_canonical *c,
                             struct xl__error *e)
{
    const size_t groups = d->groups ? d->groups : 1;
    const xl_status status = xl__conv_count_positions(d, &c->p, &c->q);
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
                             "conv of n = %zu, c = %zu, h = %zu, w = %zu, k = "
                             "%zu, r = %zu, s = %zu; each must be at least 1",
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

/* Of a backward pass. */
static xl_status check_gradient(const xl_conv *d, struct xl__error *e)
{
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const xl_dtype read = xl__conv_read_dtype(d);
    const xl_dtype result = xl__conv_result_dtype(d);
    if (d->epilogue.expr)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "a backward pass has no epilogue");
    if (d->out.dtype == (is_data ? d->filters.dtype : d->in.dtype) &&
        read != XL_I8 && types_fit(read, result, false))
        return XL_OK;
    return xl__error_set(
        e, XL_UNSUPPORTED,
        "conv backward %s of in %s, filters %s, out %s; %s and out must be "
        "alike: f32, f16 or bf16 into any of these, or all f64",
        is_data ? "data" : "filters", xl_dtype_name(d->in.dtype),
        xl_dtype_name(d->filters.dtype), xl_dtype_name(d->out.dtype),
        is_data ? "filters" : "in");
}

static xl_status check_types(const xl_conv *d, struct xl__error *e)
{
    if ((unsigned)d->pass > XL_CONV_BACKWARD_FILTERS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%d is no pass; use XL_CONV_FORWARD, "
                             "XL_CONV_BACKWARD_DATA or "
                             "XL_CONV_BACKWARD_FILTERS",
                             (int)d->pass);
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
    if (d->pass != XL_CONV_FORWARD)
        return check_gradient(d, e);
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
    const xl_dtype type =
        xl__conv_y_dtype(xl__conv_result_dtype(d), d->epilogue.expr);
    TRY(xl__check_scalar("alpha", d->alpha, type, e));
    TRY(xl__check_scalar("beta", d->beta, type, e));
fail:
    return status;
}

/* -- memory ------------------------------------------------------------- */

/* The dimensions as an epilogue names them: images, channels and pixels, in
 * the order of the layout. Pixels without a common pitch are two dimensions.
 */
static xl_status add_images(xl_queue *q, const xl_images *x,
                            const size_t size[XL__N_AT], const char *name)
{
    static const unsigned order[][XL__N_AT] = {
        [XL_NCHW] = {XL__AT_N, XL__AT_C, XL__AT_H, XL__AT_W},
        [XL_NHWC] = {XL__AT_N, XL__AT_H, XL__AT_W, XL__AT_C}};
    struct xl__region *r = &q->memory.operand[q->memory.n++];
    xl_tensor view = {.offset = x->offset, .dtype = x->dtype};
    size_t stride[XL__N_AT];
    if (!xl__conv_strides(x, size, stride))
        return xl__error_set(&q->error, XL_OVERFLOW,
                             "%s: %zu x %zu x %zu x %zu elements do not fit "
                             "in 64 bits",
                             name, size[0], size[1], size[2], size[3]);
    for (unsigned i = 0; i < XL__N_AT; i++) {
        const unsigned at = order[x->layout][i], n = view.n_dims;
        size_t line, pixels;
        if (at == XL__AT_W && xl__mul(size[at], stride[at], &line) &&
            xl__mul(size[at], view.size[n - 1], &pixels) &&
            (line == view.stride[n - 1] || view.size[n - 1] == 1)) {
            view.size[n - 1] = pixels;
            view.stride[n - 1] = stride[at];
            continue;
        }
        view.size[n] = size[at];
        view.stride[n] = stride[at];
        view.n_dims++;
    }
    return xl__region_init(r, name, &view, &q->error);
}

static xl_status add_filters(xl_queue *q, const xl_conv *d)
{
    xl_tensor view = {.offset = d->filters.offset,
                      .n_dims = 1,
                      .stride = {1},
                      .dtype = d->filters.dtype};
    size_t *n = &view.size[0];
    if (!xl__mul(xl__conv_cg(d), d->r, n) || !xl__mul(*n, d->s, n) ||
        !xl__mul(*n, d->k, n))
        return xl__error_set(&q->error, XL_OVERFLOW,
                             "filters: their size does not fit in 64 bits");
    return xl__region_init(&q->memory.operand[q->memory.n++], "filters", &view,
                           &q->error);
}

static unsigned written_region(const xl_conv *d)
{
    return d->pass == XL_CONV_BACKWARD_DATA      ? XL__CONV_IN_REGION
           : d->pass == XL_CONV_BACKWARD_FILTERS ? XL__CONV_FILTERS_REGION
                                                 : XL__CONV_OUT_REGION;
}

static xl_status add_operands(xl_queue *q, const struct xl__conv_canonical *c)
{
    xl_status status = XL_OK;
    size_t in[XL__N_AT], out[XL__N_AT];
    struct xl__region *written = &q->memory.operand[written_region(&c->d)];
    xl__conv_sizes(c, in, out);
    q->memory.n = 0;
    TRY(add_images(q, &c->d.in, in, "in"));
    TRY(add_filters(q, &c->d));
    TRY(add_images(q, &c->d.out, out, "out"));
    written->is_written = true;
    TRY(xl__region_check_itself(written, &q->error));
fail:
    return status;
}

static xl_status check_memory(xl_queue *q, const xl_conv *d, bool with_memory)
{
    const xl_mem mem[] = {d->in.mem, d->filters.mem, d->out.mem};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < q->memory.n; i++) {
        if (i == written_region(d) || xl__conv_reads(d))
            TRY(xl__operand_locate(&q->memory, i, mem[i], with_memory,
                                   &q->error));
    }
    TRY(xl__operands_check_memory(q, &d->epilogue, with_memory));
fail:
    return status;
}

xl_status xl__conv_check(xl_queue *q, const void *desc, bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__error *e = &q->error;
    struct xl__conv_canonical c = {.d = *(const xl_conv *)desc};
    TRY(check_types(&c.d, e));
    TRY(check_sizes(&c.d, &c, e));
    if (c.d.groups == 0)
        c.d.groups = 1;
    TRY(add_operands(q, &c));
    TRY(check_scalars(&c.d, e));
    TRY(xl__check_accuracy("conv", c.d.accuracy, e));
    TRY(xl__operands_check(&c.d.epilogue, XL__EPILOGUE, e));
    TRY(check_memory(q, &c.d, with_memory));
fail:
    return status;
}
