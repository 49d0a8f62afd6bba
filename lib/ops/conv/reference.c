/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variant: one work-item computes one element of the result with
 * three loops. It supports all strides and types, and every device. */
#include <math.h>

#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

/* The fractions of the device's rates that it reaches at best: each FMA loads
 * both of its operands and tests the bounds. */
static const double gpu_flop_frac = 0.02, cpu_flop_frac = 0.003;

static void set_sizes(const struct xl__limits *l, const struct xl__conv_canonical *c,
                      struct xl__step *s)
{
    enum { MOST = 64 };
    size_t wg = xl__min_size(MOST, xl__size_or(l, XL__F_max_wg_size, 1));
    const struct xl__answer *sizes = &l->used[XL__F_max_wi_sizes];
    if (sizes->n_list > 0 && sizes->list[0] >= 1 && sizes->list[0] < MOST)
        wg = xl__min_size(wg, (size_t)sizes->list[0]);
    wg = xl__max_size(wg, 1);
    s->dims = 3;
    s->local[0] = wg;
    s->local[1] = s->local[2] = 1;
    s->global[0] = xl__round_up(c->p * c->q, wg);
    s->global[1] = c->d.k;
    s->global[2] = c->d.n;
    s->slice_dim = 1;
}

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

/* The fraction of the compute units that are busy. */
static double estimate_fill(const struct xl__limits *l,
                            const struct xl__conv_canonical *c)
{
    static const double busy_items = 1024;
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double rows = (double)c->d.k * (double)c->d.n;
    if (xl__is(l, XL__F_is_cpu))
        return fmin(1, rows / units);
    return fmin(1, rows * (double)c->p * (double)c->q / (units * busy_items));
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__conv_canonical *c = desc;
    struct xl__step *s = &p->step[0];
    (void)params;
    p->n_steps = 1;
    p->flop = xl__conv_flop(c);
    p->bytes = xl__conv_bytes(c);
    s->source = "conv/reference.cl";
    s->kernel = "conv_ref";
    set_sizes(l, c, s);
    xl__conv_define(s, c);
    xl__define(s, "FIRST", c->d.out.layout == XL_NCHW);
    add_arguments(c, s);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__is(l, XL__F_is_cpu) ? cpu_flop_frac : gpu_flop_frac,
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = estimate_fill(l, c),
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
