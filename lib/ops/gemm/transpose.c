/* SPDX-License-Identifier: Apache-2.0 */
/* Plan steps that run gemm/transpose.cl. */
#include "ops/gemm/transpose.h"

#include <math.h>

#include "base/alloc.h"

/* Sizes of the kernel's tile, in words and items. */
enum { SIDE = 32, ROWS = 8, WORD = 4 };

static size_t elem_bytes(const xl_gemm *g)
{
    return xl_dtype_bytes(g->a.dtype);
}

static bool is_transposed(const struct xl__gemm_operand *operand)
{
    return xl__gemm_operand_unit(operand) != XL__UNIT_ALONG_K;
}

static size_t batch_step(const xl_gemm *g,
                         const struct xl__gemm_operand *operand)
{
    return operand->mem == XL__GEMM_A ? g->batch.a_step : g->batch.b_step;
}

/* Number of copies: one per product, or one for all. */
static size_t n_copies(const xl_gemm *g,
                       const struct xl__gemm_operand *operand)
{
    return batch_step(g, operand) > 0 ? g->batch.count : 1;
}

/* Local memory of the tile, the most over all layouts. */
static size_t local_bytes(const xl_gemm *g)
{
    return WORD / elem_bytes(g) * SIDE * (SIDE + 1) * WORD;
}

const char *xl__gemm_transpose_refused(const struct xl__limits *l,
                                       const xl_gemm *g)
{
    const struct xl__answer *most = &l->used[XL__F_max_wi_sizes];
    if (elem_bytes(g) > WORD)
        return "elements of 8 bytes cannot be transposed";
    if (g->batch.a_at)
        return "operands at listed offsets cannot be transposed";
    if (g->batch.inner > 0)
        return "operands along two axes of a batch cannot be transposed";
    if (xl__size_or(l, XL__F_max_wg_size, 1) < SIDE * ROWS ||
        (most->n_list > 1 && (most->list[0] < SIDE || most->list[1] < ROWS)))
        return "transposing an operand requires work-groups of 256";
    if (xl__size_or(l, XL__F_local_mem_bytes, 0) < local_bytes(g))
        return "the device has too little local memory to transpose an "
               "operand";
    return NULL;
}

bool xl__gemm_transpose_layout(const struct xl__limits *l, const xl_gemm *g,
                               const struct xl__gemm_operand *operand,
                               size_t taken, struct xl__gemm_transpose *out)
{
    const size_t elem = elem_bytes(g), n = n_copies(g, operand);
    const size_t line = xl__round_up(g->k * elem, XL__TRANSPOSE_ALIGN);
    const size_t first = xl__round_up(taken, line);
    size_t bytes;
    if (!xl__mul(operand->extent, line, &bytes) ||
        !xl__mul(bytes, n, &bytes) || !xl__add(bytes, first, &bytes))
        return false;
    *out = (struct xl__gemm_transpose){
        .line = line / elem,
        .first = first / elem,
        .step =
            batch_step(g, operand) > 0 ? operand->extent * (line / elem) : 0,
        .end_bytes = bytes,
        .moved_bytes = (double)n * (double)operand->extent *
                       (double)(g->k * elem + line)};
    return (double)bytes <= xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

static bool is_word_aligned(const xl_gemm *g,
                            const struct xl__gemm_operand *operand)
{
    return xl__gemm_operand_unit(operand) != XL__UNIT_NONE &&
           operand->aligned * elem_bytes(g) >= WORD;
}

void xl__gemm_transpose_add(const xl_gemm *g,
                            const struct xl__gemm_operand *operand,
                            const struct xl__gemm_transpose *copy,
                            struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const size_t elem = elem_bytes(g), each = WORD / elem;
    s->source = "gemm/transpose.cl";
    s->kernel = "gemm_turn";
    s->is_aid = true;
    xl__define(s, "BYTES", (long)elem);
    xl__define(s, "UNIT", (long)xl__gemm_operand_unit(operand));
    xl__define(s, "WORDS", is_word_aligned(g, operand));
    s->dims = 3;
    s->slice_dim = 1;
    s->local[0] = SIDE;
    s->local[1] = ROWS;
    s->local[2] = 1;
    s->global[0] = xl__ceil_div(operand->extent, SIDE * each) * SIDE;
    s->global[1] = xl__ceil_div(copy->line, SIDE * each) * ROWS;
    s->global[2] = n_copies(g, operand);
    s->local_mem_bytes = is_transposed(operand) ? local_bytes(g) : 0;
    xl__gemm_arg_operand(s, operand);
    xl__arg_u64(s, batch_step(g, operand));
    xl__arg_u64(s, operand->extent);
    xl__arg_u64(s, g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, copy->first / each);
    xl__arg_u64(s, copy->step / each);
    xl__arg_u64(s, copy->line / each);
}
