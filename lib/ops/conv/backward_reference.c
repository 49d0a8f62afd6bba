/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variants of the backward passes: one work-item computes one
 * element of the gradient. They support all strides and types, and every
 * device. */
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

static void add_arguments(const struct xl__conv_canonical *c,
                          struct xl__step *s)
{
    const xl_conv *d = &c->d;
    const size_t sizes[] = {d->n,           d->h * d->w, d->w,
                            c->p,           c->q,        xl__conv_cg(d),
                            xl__conv_kg(d), d->r,        d->s,
                            d->stride_h,    d->stride_w, d->dilation_h,
                            d->dilation_w,  d->pad_top,  d->pad_left};
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

/* A launch of an item for each of `lines` lines of `items` elements. */
static xl_status plan_items(const struct xl__limits *l,
                            const struct xl__conv_canonical *c,
                            const char *kernel, const size_t items[3],
                            struct xl__plan *p)
{
    enum { MOST_ITEMS = 64 }; /* of a group */
    struct xl__step *s =
        xl__plan_add(p, "conv/backward_reference.cl", kernel, 0, 0);
    p->flop = xl__conv_flop(c);
    p->bytes = xl__conv_bytes(c);
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), items[0], items[1],
                    items[2]);
    s->slice_dim = 1;
    xl__conv_define(s, c);
    add_arguments(c, s);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__reference_fill(l, (double)items[1] * (double)items[2],
                                   (double)items[0]),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static xl_status plan_data(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    (void)params;
    return plan_items(l, c, "conv_data_ref",
                      (size_t[3]){c->d.h * c->d.w, c->d.c, c->d.n}, p);
}

static xl_status plan_filters(const struct xl__limits *l, const void *desc,
                              const struct xl__params *params,
                              struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    (void)params;
    return plan_items(l, c, "conv_filters_ref",
                      (size_t[3]){c->d.r * c->d.s, xl__conv_cg(&c->d), c->d.k},
                      p);
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    if (xl__conv_y(c) == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return xl__iterations_refused(l, (double)xl__conv_terms(c));
}

const struct xl__variant xl__conv_data_ref = {
    .name = "conv_data_ref",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .refuses = find_refusal,
    .plan = plan_data,
};

const struct xl__variant xl__conv_filters_ref = {
    .name = "conv_filters_ref",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .refuses = find_refusal,
    .plan = plan_filters,
};
