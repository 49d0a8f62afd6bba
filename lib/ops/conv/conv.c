/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution's entry: how a descriptor splits into what the plan depends on
 * and what changes from call to call. */
#include "ops/conv/conv.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/conv/check.h"
#include "ops/path/operands.h"

/* Largest power of two, at most 64, that divides the byte address of every
 * line: of a plane in NCHW, of a pixel in NHWC. */
static size_t align_of(const xl_images *x, const size_t stride[XL__N_AT])
{
    enum { MOST_ALIGN = 64 };
    const size_t elem = xl_dtype_bytes(x->dtype);
    size_t bits = MOST_ALIGN | x->offset * elem | (size_t)x->mem.svm;
    bits |= stride[XL__AT_N] * elem;
    if (x->layout == XL_NCHW)
        bits |= stride[XL__AT_C] * elem;
    else
        bits |= (stride[XL__AT_H] | stride[XL__AT_W]) * elem;
    return bits & (~bits + 1);
}

/* By field, so that padding stays 0 and descriptors compare by their bytes. */
static void settle_images(const xl_images *from, const size_t size[XL__N_AT],
                          xl_images *to)
{
    xl__conv_strides(from, size, to->stride);
    for (unsigned at = 0; at < XL__N_AT; at++) {
        if (size[at] == 1)
            to->stride[at] = 0;
    }
    to->layout = from->layout;
    to->dtype = from->dtype;
    to->offset = align_of(from, to->stride);
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
}

static void settle_filters(const xl_filters *from, xl_filters *to)
{
    enum { MOST_ALIGN = 64 };
    const size_t bits = MOST_ALIGN | (size_t)from->mem.svm |
                        from->offset * xl_dtype_bytes(from->dtype);
    to->layout = from->layout;
    to->dtype = from->dtype;
    to->offset = bits & (~bits + 1);
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
}

static size_t or_one(size_t x)
{
    return x ? x : 1;
}

static void settle(const xl_conv *d, struct xl__conv *to)
{
    size_t in[XL__N_AT], out[XL__N_AT];
    xl_conv *c = &to->d;
    c->n = d->n;
    c->c = d->c;
    c->h = d->h;
    c->w = d->w;
    c->k = d->k;
    c->r = d->r;
    c->s = d->s;
    c->groups = or_one(d->groups);
    c->stride_h = or_one(d->stride_h);
    c->stride_w = or_one(d->stride_w);
    c->dilation_h = or_one(d->dilation_h);
    c->dilation_w = or_one(d->dilation_w);
    c->pad_top = d->pad_top;
    c->pad_bottom = d->pad_bottom;
    c->pad_left = d->pad_left;
    c->pad_right = d->pad_right;
    c->alpha = 1;
    c->beta = d->beta != 0;
    (void)xl_conv_out_size(d, &to->p, &to->q);
    xl__conv_sizes(to, in, out);
    settle_images(&d->in, in, &c->in);
    settle_images(&d->out, out, &c->out);
    settle_filters(&d->filters, &c->filters);
}

static xl_status bind_epilogue(xl_queue *q, const xl_conv *d,
                               struct xl__conv *to, struct xl__call *call)
{
    xl_status status = XL_OK;
    struct xl__epilogue_request want = {.epilogue = &d->epilogue,
                                        .dtype = d->out.dtype};
    if (!d->epilogue.expr)
        return XL_OK;
    const bool channels_first = d->out.layout == XL_NCHW;
    want.size[XL__ALONG_BATCH] = d->n;
    want.size[XL__ALONG_ROWS] = channels_first ? d->k : to->p * to->q;
    want.size[XL__ALONG_COLS] = channels_first ? to->p * to->q : d->k;
    TRY(xl__epilogue_text_get(q, &want, &to->snippet));
    xl__operands_bind(&d->epilogue, call, XL__CONV_OPERAND,
                      XL__CONV_OPERAND_VALUE);
fail:
    return status;
}

static xl_status bind(xl_queue *q, const void *desc, void *canonical,
                      struct xl__call *call)
{
    const xl_conv *d = desc;
    struct xl__conv *to = canonical;
    const unsigned in = xl__conv_slot_in(d), filters = xl__conv_slot_filters(d);
    memset(to, 0, sizeof *to);
    settle(d, to);
    call->mem[in] = d->in.mem;
    call->mem[filters] = d->filters.mem;
    call->mem[XL__CONV_OUT] = d->out.mem;
    call->value[XL__CONV_ALPHA].f = d->alpha;
    call->value[XL__CONV_BETA].f = d->beta;
    call->value[in - XL__CONV_A + XL__CONV_OFF_A].u = d->in.offset;
    call->value[filters - XL__CONV_A + XL__CONV_OFF_A].u = d->filters.offset;
    call->value[XL__CONV_OFF_OUT].u = d->out.offset;
    return bind_epilogue(q, d, to, call);
}

static const char *forced(const void *desc)
{
    return ((const xl_conv *)desc)->variant;
}

static xl_mem workspace(const void *desc)
{
    return ((const xl_conv *)desc)->workspace;
}

const struct xl__op xl__op_conv = {
    .id = XL__OP_CONV,
    .name = "conv",
    .canonical_bytes = sizeof(struct xl__conv),
    .check = xl__conv_check,
    .bind = bind,
    .forced = forced,
    .workspace = workspace,
    .shape_class = xl__conv_shape_class,
    .shrink = xl__conv_shrink,
    .trial_init = xl__conv_trial_init,
    .trial_judge = xl__conv_trial_judge,
};

/* -- the public functions ----------------------------------------------- */

xl_status xl_conv_run(xl_queue *q, const xl_conv *c, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_conv, c, sync);
}

xl_status xl_conv_prepare(xl_queue *q, const xl_conv *c)
{
    return xl__op_prepare(q, &xl__op_conv, c);
}

xl_status xl_conv_workspace(xl_queue *q, const xl_conv *c, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_conv, c, bytes);
}

xl_status xl_conv_explain(xl_queue *q, const xl_conv *c, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_conv, c, out, cap, n);
}
