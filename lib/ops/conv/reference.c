/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variant: one work-item computes one element of the result with
 * three loops. It supports all strides and types, and every device. */
#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

static void add_arguments(const struct xl__conv_canonical *c, struct xl__step *s)
{
    const xl_conv *d = &c->d;
    const size_t sizes[] = {d->h,        d->w,           c->p * c->q,
                            c->q,        xl__conv_cg(d), xl__conv_kg(d),
                            d->r,        d->s,           d->stride_h,
                            d->stride_w, d->dilation_h,  d->dilation_w,
                            d->pad_top,  d->pad_left};
    size_t filter[XL__N_AT];
    xl__conv_filter_strides(d, filter);
    xl__conv_arg_in(s, c);
    xl__conv_arg_filters(s, c);
    for (unsigned at = 0; at < XL__N_AT; at++)
        xl__arg_u64(s, filter[at]);
    xl__conv_arg_out(s, c);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        xl__arg_u64(s, sizes[i]);
    xl__conv_arg_last(s, c);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { MOST_ITEMS = 64 }; /* of a group, along the pixels */
    const struct xl__conv_canonical *c = desc;
    struct xl__step *s =
        xl__plan_add(p, "conv/reference.cl", "conv_ref", 0, 0);
    (void)params;
    p->flop = xl__conv_flop(c);
    p->bytes = xl__conv_bytes(c);
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), c->p * c->q, c->d.k,
                    c->d.n);
    s->slice_dim = 1;
    xl__conv_define(s, c);
    xl__define(s, "FIRST", c->d.out.layout == XL_NCHW);
    add_arguments(c, s);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__reference_fill(l, (double)c->d.k * (double)c->d.n,
                                   (double)c->p * (double)c->q),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    if (c->d.in.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return xl__iterations_refused(l, (double)xl__conv_depth(&c->d));
}

const struct xl__variant xl__conv_ref = {
    .name = "conv_ref",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .refuses = find_refusal,
    .plan = plan_steps,
};
