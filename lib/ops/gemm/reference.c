/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: an item per element of C, three loops, nothing shared. It
 * takes any strides and types, and any device. */
#include <math.h>

#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/orientation.h"
#include "ops/gemm/gemm.h"

/* Shares of the device's rates that an item per element reaches at best: each
 * FMA loads both of its operands. */
static const double gpu_flop_frac = 0.03, cpu_flop_frac = 0.004;
/* Neighbours read lines of their own where B is contiguous along k. */
static const double bytes_frac = 0.3;

/* A work-group of one row of items along n, as wide as is always allowed. */
static void set_sizes(const struct xl__limits *l, const xl_gemm *g,
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
    s->global[0] = xl__round_up(g->n, wg);
    s->global[1] = g->m;
    s->global[2] = g->batch.count;
    s->slice_dim = 1;
}

/* Items that keep a compute unit busy. */
static double fill(const struct xl__limits *l, const xl_gemm *g)
{
    static const double busy_items = 1024;
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double rows = (double)g->m * (double)g->batch.count;
    if (xl__is(l, XL__F_is_cpu))
        return fmin(1, rows / units);
    return fmin(1, rows * (double)g->n / (units * busy_items));
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct xl__step *s = &p->step[0];
    (void)params;
    p->n_steps = 1;
    p->flop = xl__gemm_flop(g);
    p->bytes = xl__gemm_bytes(g);
    s->source = "gemm/reference.cl";
    s->kernel = "gemm_ref";
    set_sizes(l, g, s);
    xl__gemm_define(s, desc);
    const xl_mat *mats[] = {&g->a, &g->b, &g->c};
    for (unsigned i = 0; i < 3; i++) {
        xl__arg_mem(s, XL__GEMM_A + i);
        xl__arg_value_u64(s, XL__GEMM_OFF_A + i);
        xl__arg_u64(s, mats[i]->row_stride);
        xl__arg_u64(s, mats[i]->col_stride);
    }
    xl__arg_u64(s, g->n);
    xl__arg_u64(s, g->k);
    xl__gemm_arg_last(s, desc, false);
    const size_t tiles_n = s->global[0] / s->local[0];
    p->tiling = (xl_tiling){.rows = 1,
                            .cols = s->local[0],
                            .m = g->m,
                            .n = g->n,
                            .tiles_m = g->m,
                            .tiles_n = tiles_n,
                            .count = g->batch.count,
                            .band = 1,
                            .whole = g->m * tiles_n * g->batch.count,
                            .groups = g->m * tiles_n * g->batch.count,
                            .wg_items = s->local[0]};
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__is(l, XL__F_is_cpu) ? cpu_flop_frac : gpu_flop_frac,
        .bytes = p->bytes,
        .bytes_frac = bytes_frac,
        .fill = fill(l, g),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no f64";
    return xl__iterations_refused(l, (double)g->k);
}

const struct xl__variant xl__gemm_ref = {
    .name = "gemm_ref",
    .repeats = "bit for bit: each element is one sum, taken in order of k",
    .refuses = refuses,
    .plan = plan,
};
