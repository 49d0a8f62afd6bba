/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case for the self-check: sizes just over one tile and odd, a
 * few products where there is a batch, strides with padding, offsets, alpha
 * and beta, guards around C. */
#include "ops/gemm/gemm_small.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

/* Guards are NaN in every type of floats: what is read beyond a matrix and
 * multiplied by 0 shows. */
enum { GUARD = 0xFF, GUARD_ELEMS = 64, NO_TILE = 32 };
enum { SEED_A = 1, SEED_B, SEED_C };

/* -- the case ------------------------------------------------------------ */

/* More than `tile`, odd but for the factors of two that let the real size take
 * its vector width. */
static size_t small_size(size_t real, size_t tile)
{
    enum { WIDEST = 16 };
    const size_t twos = (real | WIDEST) & (~(real | WIDEST) + 1);
    return twos * ((tile / twos + 1) | 1);
}

/* Elements of the alignment that a canonical matrix states. */
static size_t unit_of(const xl_mat *mat)
{
    return xl__max_size(1, mat->offset / xl_dtype_bytes(mat->dtype));
}

/* Strides of the same kind and alignment, with a gap between lines. */
static void shrink_view(const xl_mat *from, size_t rows, size_t cols,
                        xl_mat *to)
{
    const size_t step = unit_of(from);
    *to = *from;
    if (from->col_stride == 1) {
        to->row_stride = step * ((cols / step + 1) | 1);
    } else if (from->row_stride == 1) {
        to->col_stride = step * ((rows / step + 1) | 1);
    } else {
        to->col_stride = 2;
        to->row_stride = 2 * cols + 1;
    }
}

/* From one matrix to the next, with a gap of the operand's own and the
 * alignment kept; 0 where the real products share the matrix. */
static size_t shrink_step(size_t real, const xl_mat *mat,
                          const size_t size[2], size_t gap)
{
    size_t extent = 0;
    xl__mat_extent(mat, size[0], size[1], &extent);
    return real > 0
               ? xl__round_up(extent, unit_of(mat)) + gap * unit_of(mat)
               : 0;
}

static void shrink_batch(const xl_gemm *g, xl_gemm *s)
{
    const bool lists = g->batch.a_at != NULL;
    if (g->batch.count == 1)
        return;
    s->batch.count = XL__SMALL_BATCH;
    s->batch.a_step = shrink_step(lists | g->batch.a_step, &s->a,
                                  (size_t[2]){s->m, s->k}, 1);
    s->batch.b_step = shrink_step(lists | g->batch.b_step, &s->b,
                                  (size_t[2]){s->k, s->n}, 2);
    s->batch.c_step = shrink_step(1, &s->c, (size_t[2]){s->m, s->n}, 3);
}

void xl__gemm_shrink(const void *canonical,
                     const struct xl__variant *variant,
                     const struct xl__params *params, void *small)
{
    const xl_gemm *g = canonical;
    xl_gemm *s = small;
    const bool tiled = params && params->value[XL__GEMM_TM] > 0;
    size_t across = NO_TILE, deep = NO_TILE;
    if (tiled) {
        across = (size_t)params->value[XL__GEMM_TM];
        across = xl__max_size(across, (size_t)params->value[XL__GEMM_TN]);
        deep = 2 * (size_t)params->value[XL__GEMM_TK];
    }
    memcpy(small, canonical, sizeof(struct xl__gemm));
    s->m = small_size(g->m, across);
    s->n = small_size(g->n, across);
    s->k = small_size(g->k, deep);
    s->beta = variant->has_plain ? g->beta : 1;
    s->a.mem.svm = s->b.mem.svm = s->c.mem.svm = NULL;
    shrink_view(&g->a, s->m, s->k, &s->a);
    shrink_view(&g->b, s->k, s->n, &s->b);
    shrink_view(&g->c, s->m, s->n, &s->c);
    shrink_batch(g, s);
}

/* -- scalars -------------------------------------------------------------- */

/* Of sums of bytes little enough to stay within an f16. */
double xl__small_alpha(const void *small)
{
    if (xl__gemm_y(small) == XL_I32)
        return 3;
    return ((const xl_gemm *)small)->a.dtype == XL_I8 ? 1.5 / 64 : 1.5;
}

/* A case of full size has a beta only where the caller's has. */
double xl__small_beta(const void *small)
{
    if (((const xl_gemm *)small)->beta == 0)
        return 0;
    return xl__gemm_y(small) == XL_I32 ? -2 : -0.5;
}

/* -- host memory --------------------------------------------------------- */

size_t xl__small_start(const xl_mat *mat, const struct xl__places *p, size_t z)
{
    return unit_of(mat) + (p->at ? (size_t)p->at[z] : z * p->step);
}

/* Guards everywhere, random values where elements are. */
static void *fill(const xl_mat *mat, const size_t size[2],
                  const struct xl__places *p, uint64_t seed, size_t *bytes)
{
    struct xl__rng rng;
    size_t n;
    if (!xl__mat_extent(mat, size[0], size[1], &n))
        return NULL;
    n += (p->count - 1) * p->step + unit_of(mat) + GUARD_ELEMS;
    *bytes = n * xl_dtype_bytes(mat->dtype);
    void *base = xl__calloc(*bytes, 1);
    if (!base)
        return NULL;
    memset(base, GUARD, *bytes);
    xl__rng_seed(&rng, seed);
    for (size_t z = 0; z < p->count; z++) {
        const size_t start = xl__small_start(mat, p, z);
        for (size_t i = 0; i < size[0]; i++) {
            for (size_t j = 0; j < size[1]; j++)
                xl__small_store(
                    base, start + i * mat->row_stride + j * mat->col_stride,
                    mat->dtype, xl__small_draw(&rng, mat->dtype));
        }
    }
    return base;
}

/* Lists that do not rise: the last product first. */
static void make_lists(xl_gemm *g, struct xl__gemm_small *own,
                       struct xl__trial *t)
{
    const size_t steps[] = {g->batch.a_step, g->batch.b_step,
                            g->batch.c_step};
    for (unsigned i = 0; i < 3; i++) {
        for (size_t z = 0; z < XL__SMALL_BATCH; z++)
            own->at[i][z] = (XL__SMALL_BATCH - 1 - z) * steps[i];
        t->call.list[i] = own->at[i];
    }
    t->call.list_bytes = sizeof own->at[0];
    g->batch.a_at = own->at[0];
    g->batch.b_at = own->at[1];
    g->batch.c_at = own->at[2];
}

void *xl__small_c(const void *small, size_t *bytes)
{
    const xl_gemm *g = small;
    const struct xl__places places = xl__batch_c(&g->batch);
    return fill(&g->c, (size_t[2]){g->m, g->n}, &places, SEED_C, bytes);
}

static xl_status make_matrices(const xl_gemm *g, struct xl__trial *t)
{
    const struct {
        const xl_mat *mat;
        size_t size[2];
        struct xl__places places;
    } all[] = {{&g->a, {g->m, g->k}, xl__batch_a(&g->batch)},
               {&g->b, {g->k, g->n}, xl__batch_b(&g->batch)},
               {&g->c, {g->m, g->n}, xl__batch_c(&g->batch)}};
    for (unsigned i = 0; i < 3; i++) {
        const unsigned slot = XL__GEMM_A + i;
        t->host[slot] = fill(all[i].mat, all[i].size, &all[i].places,
                             SEED_A + i, &t->bytes[slot]);
        if (!t->host[slot])
            return XL_NO_MEMORY;
        t->call.value[XL__GEMM_OFF_A + i].u = unit_of(all[i].mat);
    }
    return XL_OK;
}

xl_status xl__gemm_trial_init(void *small, struct xl__trial *t)
{
    xl_status status = XL_OK;
    struct xl__gemm *s = small;
    const bool lists = s->g.batch.count > 1 && s->g.batch.a_at;
    struct xl__gemm_small *own = xl__calloc(1, sizeof *own);
    t->own = own;
    if (!own)
        TRY(XL_NO_MEMORY);
    t->result = XL__GEMM_C;
    t->call.value[XL__GEMM_ALPHA].f = xl__small_alpha(small);
    t->call.value[XL__GEMM_BETA].f = xl__small_beta(small);
    if (lists && s->g.batch.count != XL__SMALL_BATCH)
        TRY(XL_UNSUPPORTED);
    if (lists)
        make_lists(&s->g, own, t);
    TRY(make_matrices(&s->g, t));
    TRY(xl__small_epilogue_init(
        &own->epilogue, &s->snippet,
        (size_t[XL__N_ALONG]){s->g.batch.count, s->g.m, s->g.n},
        XL__GEMM_OPERAND, XL__GEMM_OPERAND_VALUE, t));
fail:
    return status;
}
