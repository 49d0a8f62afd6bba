/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variants of the three passes: one work-item computes one
 * element of the result. They support all strides and types, and every
 * device. */
#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

struct reference {
    const char *file, *kernel;
    size_t items[3];
    size_t sizes[5], n_sizes; /* arguments before those that all have */
};

static void add_sizes(const size_t *sizes, size_t n, struct xl__step *s)
{
    for (size_t i = 0; i < n; i++)
        xl__arg_u64(s, sizes[i]);
}

static void add_arguments(const struct xl__conv_canonical *c,
                          const struct reference *of, struct xl__step *s)
{
    const xl_conv *d = &c->d;
    const size_t sizes[] = {xl__conv_cg(d), xl__conv_kg(d), d->r,
                            d->s,           d->stride_h,    d->stride_w,
                            d->dilation_h,  d->dilation_w,  d->pad_top,
                            d->pad_left};
    size_t filter[XL__N_AT];
    xl__conv_filter_strides(d, filter);
    xl__conv_arg_in(s, c);
    xl__conv_arg_filters(s, c);
    add_sizes(filter, XL__N_AT, s);
    xl__conv_arg_out(s, c);
    add_sizes(of->sizes, of->n_sizes, s);
    add_sizes(sizes, sizeof sizes / sizeof *sizes, s);
    xl__conv_arg_last(s, c);
}

/* A launch of an item for each element of the result. */
static xl_status plan_items(const struct xl__limits *l,
                            const struct xl__conv_canonical *c,
                            const struct reference *of, struct xl__plan *p)
{
    enum { MOST_ITEMS = 64 }; /* of a group */
    struct xl__step *s = xl__plan_add(p, of->file, of->kernel, 0, 0);
    p->flop = xl__conv_flop(c);
    p->bytes = xl__conv_bytes(c);
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), of->items[0],
                    of->items[1], of->items[2]);
    s->slice_dim = 1;
    xl__conv_define(s, c);
    if (c->d.pass == XL_CONV_FORWARD)
        xl__define(s, "FIRST", c->d.out.layout == XL_NCHW);
    add_arguments(c, of, s);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill =
            xl__reference_fill(l, (double)of->items[1] * (double)of->items[2],
                               (double)of->items[0]),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static xl_status plan_forward(const struct xl__limits *l, const void *desc,
                              const struct xl__params *params,
                              struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    const struct reference of = {"conv/reference.cl",
                                 "conv_ref",
                                 {c->p * c->q, d->k, d->n},
                                 {d->h, d->w, c->p * c->q, c->q},
                                 4};
    (void)params;
    return plan_items(l, c, &of, p);
}

static xl_status plan_data(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    const struct reference of = {"conv/backward_reference.cl",
                                 "conv_data_ref",
                                 {d->h * d->w, d->c, d->n},
                                 {d->n, d->h * d->w, d->w, c->p, c->q},
                                 5};
    (void)params;
    return plan_items(l, c, &of, p);
}

static xl_status plan_filters(const struct xl__limits *l, const void *desc,
                              const struct xl__params *params,
                              struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    const struct reference of = {"conv/backward_reference.cl",
                                 "conv_filters_ref",
                                 {d->r * d->s, xl__conv_cg(d), d->k},
                                 {d->n, d->h * d->w, d->w, c->p, c->q},
                                 5};
    (void)params;
    return plan_items(l, c, &of, p);
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    if (xl__conv_y(c) == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return xl__iterations_refused(l, (double)xl__conv_terms(c));
}

#define VARIANT(to, of)                                                       \
    const struct xl__variant xl__##to##_ref = {                               \
        .name = #to "_ref",                                                   \
        .repeats = "bit for bit: each element is one sum in a fixed order",   \
        .refuses = find_refusal,                                              \
        .plan = plan_##of}
VARIANT(conv, forward);
VARIANT(conv_data, data);
VARIANT(conv_filters, filters);
