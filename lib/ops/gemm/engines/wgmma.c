/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM on matrix instructions of four sub-groups. Operands are read where the
 * caller has them: lines of 16-bit types along k or across it, of others along
 * k, all at multiples of 16 bytes. What lies otherwise is copied first, as
 * lines along k. */
#include "ops/path/cost.h"
#include "ops/gemm/transpose.h"
#include "ops/gemm/engines/wgmma_model.h"
#include "ops/gemm/gemm.h"

enum { ALIGN = 16 };

/* A product and what is done before it. */
struct prepared {
    struct xl__wgmma_job job;
    struct xl__gemm_turn turn[2]; /* of A, of B */
    bool turns[2];
};

/* Does the instruction read the operand where it is? */
static bool is_ready(const xl_gemm *g, const struct xl__gemm_side *s)
{
    const enum xl__gemm_unit unit = xl__gemm_side_unit(s);
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    return s->aligned * elem % ALIGN == 0 && s->aligned > 0 &&
           (unit == XL__UNIT_ALONG_K ||
            (unit == XL__UNIT_ACROSS && elem == 2));
}

static struct xl__wgmma_side as_it_is(const struct xl__gemm_side *s,
                                      size_t step)
{
    const bool across = xl__gemm_side_unit(s) == XL__UNIT_ACROSS;
    return (struct xl__wgmma_side){.mem = s->mem,
                                   .offset = (int)s->offset,
                                   .across = across,
                                   .line = across ? s->stride_k : s->stride_x,
                                   .step = step};
}

static struct xl__wgmma_side as_turned(const struct xl__gemm_turn *t)
{
    return (struct xl__wgmma_side){.mem = XL__MEM_SCRATCH,
                                   .offset = XL__WGMMA_NOWHERE,
                                   .first = t->first,
                                   .line = t->line,
                                   .step = t->step};
}

static bool is_f8(xl_dtype dtype)
{
    return dtype == XL_F8E4M3 || dtype == XL_F8E5M2;
}

/* false: a copy does not fit. */
static bool prepare(const struct xl__limits *l, const void *desc,
                    struct prepared *out)
{
    const xl_gemm *g = desc;
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    const struct xl__gemm_side *side[] = {&s.a, &s.b};
    const size_t step[] = {s.turned ? g->batch.b_step : g->batch.a_step,
                           s.turned ? g->batch.a_step : g->batch.b_step};
    struct xl__wgmma_side *to[] = {&out->job.a, &out->job.b};
    *out = (struct prepared){
        .job = {.canonical = desc,
                .in = g->a.dtype,
                .planes = 1,
                .promotes = is_f8(g->a.dtype) &&
                            g->accuracy == XL_ACCURACY_FULL,
                .at_rows = XL__WGMMA_NOWHERE,
                .at_cols = XL__WGMMA_NOWHERE,
                .at_flag = XL__WGMMA_NOWHERE}};
    for (unsigned i = 0; i < 2; i++) {
        out->turns[i] = !is_ready(g, side[i]);
        if (!out->turns[i]) {
            *to[i] = as_it_is(side[i], step[i]);
            continue;
        }
        if (!xl__gemm_turn(l, desc, side[i], out->job.taken_bytes,
                           &out->turn[i]))
            return false;
        out->job.taken_bytes = out->turn[i].end_bytes;
        *to[i] = as_turned(&out->turn[i]);
    }
    return true;
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    struct prepared p;
    const char *why;
    if (g->a.dtype == XL_F64)
        return "the matrix engine's f64 is not used";
    if (g->a.dtype == XL_F32 && g->accuracy != XL_ACCURACY_FAST)
        return "f32 would be rounded to 11 bits: XL_ACCURACY_FAST allows it";
    why = xl__gemm_turn_refused(l, g);
    if (!prepare(l, desc, &p))
        return why ? why : "a copy along k does not fit into a buffer";
    if (why && (p.turns[0] || p.turns[1]))
        return why;
    return xl__wgmma_refused(l, &p.job);
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    struct prepared p;
    *out = (struct xl__params){.source = "model"};
    if (prepare(l, desc, &p))
        xl__wgmma_choose(l, &p.job, out);
}

/* The launches before and the first of the product itself. */
static double before_ns(const struct xl__limits *l, const struct prepared *p)
{
    const struct xl__work work = {
        .flop_frac = 1, .bytes_frac = 1, .fill = 1,
        .serial_bytes = p->turn[0].moved_bytes + p->turn[1].moved_bytes,
        .launches = 1U + p->turns[0] + p->turns[1]};
    const char *bound;
    return xl__work_ns(l, &work, &bound);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const struct xl__gemm_sides s = xl__gemm_sides(desc);
    struct prepared before;
    double ns;
    if (!prepare(l, desc, &before))
        return XL_UNSUPPORTED;
    if (before.turns[0])
        xl__gemm_turn_add(desc, &s.a, &before.turn[0], p);
    if (before.turns[1])
        xl__gemm_turn_add(desc, &s.b, &before.turn[1], p);
    const xl_status status =
        xl__wgmma_add(l, &before.job, params, p, &ns, &p->bound);
    if (status != XL_OK)
        return status;
    p->flop = xl__gemm_flop(desc);
    p->bytes = xl__gemm_bytes(desc);
    p->est_ns = ns + before_ns(l, &before);
    return XL_OK;
}

const struct xl__variant xl__gemm_wgmma = {
    .name = "gemm_wgmma",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__wgmma_tunables,
    .has_plain = true,
    .engine_terms = 1,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
