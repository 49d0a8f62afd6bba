/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of quantisation and its inverse, the same kernels: of
 * qconvert_units as many units of 32 columns in a group as the device has
 * items for, and words as wide as rows are aligned; the reference has the
 * least of both. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/quantised/qconvert.h"

enum { LEAST_WG = 8, LINE_PAD = 16 }; /* items that share a block of 256 */

static const struct xl__tunable tunables[] = {
    [XL__QCONVERT_WG] = {"WG",
                         "units of a group",
                         {LEAST_WG, 16, 32, 64, 128, 256, 0}},
    {NULL, NULL, {0}}};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    (void)desc;
    return xl__size_or(l, XL__F_max_wg_size, 1) < LEAST_WG
               ? "a group of this device has fewer than 8 items"
               : NULL;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { GROUP = 64 };
    (void)desc;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QCONVERT_WG] =
        xl__is(l, XL__F_is_cpu)
            ? LEAST_WG
            : (int)xl__floor_power_of_two(xl__most_items(l, GROUP));
}

static size_t line_bytes(const struct xl__qgemm_canonical *c)
{
    return XL__QGEMM_UNIT * xl_dtype_bytes((xl_dtype)c->a) + LINE_PAD;
}

static void add_options(struct xl__step *s,
                        const struct xl__qgemm_canonical *c, size_t wg,
                        size_t word)
{
    xl__define(s, "WG", (long)wg);
    xl__define(s, "VB", (long)word);
    xl__define(s, "TD", (long)c->a);
}

/* A step whose groups have wg units of a row. */
static struct xl__step *add_step(const struct xl__qgemm_canonical *c,
                                 const char *source, const char *kernel,
                                 size_t wg, size_t word, struct xl__plan *p)
{
    const size_t units = c->k / XL__QGEMM_UNIT;
    struct xl__step *s = xl__plan_add(p, source, kernel, 0, 0);
    xl__step_set_3d(s, wg, xl__round_up(units, wg), c->n, 1);
    s->slice_dim = 1;
    s->local_mem_bytes = wg * line_bytes(c);
    add_options(s, c, wg, word);
    return s;
}

struct xl__step *xl__qmat_add_dequantise(const struct xl__qgemm_canonical *c,
                                         size_t wg, size_t word,
                                         struct xl__plan *p)
{
    struct xl__step *s = add_step(c, "quantised/dequantise.cl",
                                  "qmat_dequantise", wg, word, p);
    xl__qgemm_add_weights(s, c);
    return s;
}

static void add_x(struct xl__step *s, const struct xl__qgemm_canonical *c)
{
    xl__arg_mem(s, XL__QCONVERT_X);
    xl__arg_u64(s, c->row_stride_a);
    xl__arg_value_u64(s, XL__QCONVERT_OFF_X);
}

void xl__qconvert_add_source(struct xl__step *s,
                             const struct xl__qgemm_canonical *c)
{
    xl__qgemm_add_weights(s, c);
    add_x(s, c);
    if (c->format == XL_FP8)
        xl__arg_u32(s, c->n);
}

/* Scales, and zeros of pairs of groups. */
static void add_fit(const struct xl__qgemm_canonical *c, size_t wg,
                    size_t word, struct xl__plan *p)
{
    enum { WORDS = 3 };
    const size_t groups = c->k / c->group;
    const xl_qshape shape = xl__qgemm_shape(c);
    struct xl__step *s =
        xl__plan_add(p, "quantised/quantise.cl", "qmat_fit", 0, 0);
    xl__step_set_3d(s, wg,
                    wg * xl__ceil_div(groups, c->format == XL_INT4 ? 2 : 1),
                    xl__ceil_div(c->n, xl__qshape_group_rows(&shape)), 1);
    s->slice_dim = 1;
    s->local_mem_bytes = WORDS * sizeof(float) * wg;
    add_options(s, c, wg, word);
    xl__qconvert_add_source(s, c);
}

static void add_quantise(const struct xl__qgemm_canonical *c, size_t wg,
                         size_t word, struct xl__plan *p)
{
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    if (f->has_scales)
        add_fit(c, wg, word, p);
    struct xl__step *s =
        add_step(c, "quantised/quantise.cl", "qmat_quantise", wg, word, p);
    s->local_mem_bytes +=
        wg * (2 * sizeof(float) + f->block_bytes * XL__QGEMM_UNIT / f->block);
    xl__qconvert_add_source(s, c);
}

double xl__qconvert_bytes(const struct xl__qgemm_canonical *c)
{
    return (double)c->n * (double)c->k *
               (double)xl_dtype_bytes((xl_dtype)c->a) +
           xl__qgemm_weight_bytes(c);
}

static xl_status plan_with(const struct xl__limits *l,
                           const struct xl__qconvert_canonical *c, size_t wg,
                           size_t word, struct xl__plan *p)
{
    if (wg > xl__size_or(l, XL__F_max_wg_size, 1))
        return XL_UNSUPPORTED;
    if (c->is_dequantise)
        add_x(xl__qmat_add_dequantise(&c->of, wg, word, p), &c->of);
    else
        add_quantise(&c->of, wg, word, p);
    for (unsigned i = 0; i < p->n_steps; i++) {
        if (p->step[i].local_mem_bytes >
            xl__size_or(l, XL__F_local_mem_bytes, 0))
            return XL_UNSUPPORTED;
    }
    p->bytes = xl__qconvert_bytes(&c->of);
    const double plain = p->bytes - xl__qgemm_weight_bytes(&c->of);
    const size_t groups = c->of.n * xl__ceil_div(c->of.k / XL__QGEMM_UNIT, wg);
    const struct xl__cost work = {
        .flop_frac = 1,
        .bytes = p->bytes + (p->n_steps > 1 ? plain : 0),
        .bytes_frac =
            wg > LEAST_WG || (c->is_dequantise && xl__is(l, XL__F_is_cpu))
                ? 1
                : xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)groups),
        .launches = p->n_steps};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static xl_status plan_units(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__qconvert_canonical *c = desc;
    return plan_with(l, c, (size_t)params->value[XL__QCONVERT_WG],
                     c->of.a_aligned, p);
}

static xl_status plan_reference(const struct xl__limits *l, const void *desc,
                                const struct xl__params *params,
                                struct xl__plan *p)
{
    const struct xl__qconvert_canonical *c = desc;
    (void)params;
    return plan_with(l, c, LEAST_WG, xl_dtype_bytes((xl_dtype)c->of.a), p);
}

const char xl__qconvert_repeats[] =
    "bit for bit: every element is rounded alone";

const struct xl__variant xl__qconvert_units = {
    .name = "qconvert_units",
    .repeats = xl__qconvert_repeats,
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_units,
};

const struct xl__variant xl__qconvert_ref = {
    .name = "qconvert_ref",
    .repeats = xl__qconvert_repeats,
    .refuses = find_refusal,
    .plan = plan_reference,
};
