/* SPDX-License-Identifier: Apache-2.0 */
/* Planning gemm/transpose.cl. */
#include "ops/gemm/transpose.h"

#include <math.h>

#include "base/alloc.h"

/* As in the kernel. */
enum { SIDE = 32, ROWS = 8, WORD = 4 };

static size_t elem_bytes(const xl_gemm *g)
{
    return xl_dtype_bytes(g->a.dtype);
}

static bool across(const struct xl__gemm_operand *side)
{
    return xl__gemm_operand_unit(side) != XL__UNIT_ALONG_K;
}

static size_t step_of(const xl_gemm *g, const struct xl__gemm_operand *side)
{
    return side->mem == XL__GEMM_A ? g->batch.a_step : g->batch.b_step;
}

/* Copies that are made. */
static size_t count_of(const xl_gemm *g, const struct xl__gemm_operand *side)
{
    return step_of(g, side) > 0 ? g->batch.count : 1;
}

/* Of the tile, at most. */
static size_t local_bytes(const xl_gemm *g)
{
    return WORD / elem_bytes(g) * SIDE * (SIDE + 1) * WORD;
}

const char *xl__gemm_transpose_refused(const struct xl__limits *l,
                                       const xl_gemm *g)
{
    const struct xl__answer *most = &l->used[XL__F_max_wi_sizes];
    if (elem_bytes(g) > WORD)
        return "elements of 8 bytes are not turned";
    if (g->batch.a_at)
        return "products at listed offsets are not turned";
    if (xl__size_or(l, XL__F_max_wg_size, 1) < SIDE * ROWS ||
        (most->n_list > 1 && (most->list[0] < SIDE || most->list[1] < ROWS)))
        return "turning an operand takes work-groups of 256";
    if (xl__size_or(l, XL__F_local_mem_bytes, 0) < local_bytes(g))
        return "the device has too little local memory to turn an operand";
    return NULL;
}

bool xl__gemm_transpose_layout(const struct xl__limits *l, const xl_gemm *g,
                               const struct xl__gemm_operand *side,
                               size_t taken, struct xl__gemm_transpose *out)
{
    const size_t elem = elem_bytes(g), n = count_of(g, side);
    const size_t line = xl__round_up(g->k * elem, XL__TRANSPOSE_ALIGN);
    const size_t first = xl__round_up(taken, line);
    size_t bytes;
    if (!xl__mul(side->extent, line, &bytes) || !xl__mul(bytes, n, &bytes) ||
        !xl__add(bytes, first, &bytes))
        return false;
    *out = (struct xl__gemm_transpose){
        .line = line / elem,
        .first = first / elem,
        .step = step_of(g, side) > 0 ? side->extent * (line / elem) : 0,
        .end_bytes = bytes,
        .moved_bytes =
            (double)n * (double)side->extent * (double)(g->k * elem + line)};
    return (double)bytes <= xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

static bool on_words(const xl_gemm *g, const struct xl__gemm_operand *side)
{
    return xl__gemm_operand_unit(side) != XL__UNIT_NONE &&
           side->aligned * elem_bytes(g) >= WORD;
}

void xl__gemm_transpose_add(const xl_gemm *g,
                            const struct xl__gemm_operand *side,
                            const struct xl__gemm_transpose *turn,
                            struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const size_t elem = elem_bytes(g), each = WORD / elem;
    s->source = "gemm/transpose.cl";
    s->kernel = "gemm_turn";
    s->is_aid = true;
    xl__define(s, "BYTES", (long)elem);
    xl__define(s, "UNIT", (long)xl__gemm_operand_unit(side));
    xl__define(s, "WORDS", on_words(g, side));
    s->dims = 3;
    s->slice_dim = 1;
    s->local[0] = SIDE;
    s->local[1] = ROWS;
    s->local[2] = 1;
    s->global[0] = xl__ceil_div(side->extent, SIDE * each) * SIDE;
    s->global[1] = xl__ceil_div(turn->line, SIDE * each) * ROWS;
    s->global[2] = count_of(g, side);
    s->local_mem_bytes = across(side) ? local_bytes(g) : 0;
    xl__gemm_arg_operand(s, side);
    xl__arg_u64(s, step_of(g, side));
    xl__arg_u64(s, side->extent);
    xl__arg_u64(s, g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, turn->first / each);
    xl__arg_u64(s, turn->step / each);
    xl__arg_u64(s, turn->line / each);
}
