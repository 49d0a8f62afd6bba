/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case for the self-check: sizes just over one tile and odd,
 * strides with padding, offsets, alpha and beta, guards around C; the host
 * sums in double. The tolerance is the rounding bound of a dot product of k
 * terms in any order (Higham 2002, section 3.5), then one rounding to C's
 * type. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ops/check.h"
#include "ops/gemm.h"
#include "ops/variants.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64, NO_TILE = 32 };
enum { SEED_A = 1, SEED_B = 2, SEED_C = 3 };
static const double alpha = 1.5, beta = -0.5;

/* -- the case ------------------------------------------------------------ */

/* More than `tile`, odd but for the factors of two that let the real size take
 * its vector width. */
static size_t small_size(size_t real, size_t tile)
{
    enum { WIDEST = 16 };
    const size_t twos = (real | WIDEST) & (~(real | WIDEST) + 1);
    return twos * ((tile / twos + 1) | 1);
}

/* Strides of the same kind and alignment, with a gap between lines. */
static void shrink_view(const xl_mat *from, size_t rows, size_t cols,
                        xl_mat *to)
{
    const size_t unit = from->offset / xl_dtype_bytes(from->dtype);
    const size_t step = unit > 0 ? unit : 1;
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

void xl__gemm_shrink(const void *canonical, const struct xl__params *params,
                     void *small)
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
    memcpy(s, g, sizeof *s);
    s->m = small_size(g->m, across);
    s->n = small_size(g->n, across);
    s->k = small_size(g->k, deep);
    s->beta = 1;
    s->a.mem.svm = s->b.mem.svm = s->c.mem.svm = NULL;
    shrink_view(&g->a, s->m, s->k, &s->a);
    shrink_view(&g->b, s->k, s->n, &s->b);
    shrink_view(&g->c, s->m, s->n, &s->c);
}

/* -- host memory --------------------------------------------------------- */

static void put(void *base, size_t i, xl_dtype dtype, float x)
{
    if (dtype == XL_F32)
        ((float *)base)[i] = x;
    else
        ((uint16_t *)base)[i] =
            dtype == XL_F16 ? xl__f32_to_f16(x) : xl__f32_to_bf16(x);
}

static double get(const void *base, size_t i, xl_dtype dtype)
{
    if (dtype == XL_F32)
        return (double)((const float *)base)[i];
    const uint16_t bits = ((const uint16_t *)base)[i];
    return (double)(dtype == XL_F16 ? xl__f16_to_f32(bits)
                                    : xl__bf16_to_f32(bits));
}

/* Where element (0, 0) is, in elements: an offset of the alignment asked. */
static size_t start_of(const xl_mat *mat)
{
    return xl__max_size(1, mat->offset / xl_dtype_bytes(mat->dtype));
}

/* Guards everywhere, random values in [-1, 1) where elements are. */
static void *fill(const xl_mat *mat, size_t rows, size_t cols, uint64_t seed,
                  size_t *bytes)
{
    struct xl__rng rng;
    size_t n;
    if (!xl__mat_extent(mat, rows, cols, &n))
        return NULL;
    *bytes = (start_of(mat) + n + GUARD_ELEMS) * xl_dtype_bytes(mat->dtype);
    void *base = xl__calloc(*bytes, 1);
    if (!base)
        return NULL;
    memset(base, GUARD, *bytes);
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            put(base,
                start_of(mat) + i * mat->row_stride + j * mat->col_stride,
                mat->dtype, (float)(2 * xl__rng_uniform(&rng) - 1));
    }
    return base;
}

xl_status xl__gemm_trial_init(const void *small, struct xl__trial *t)
{
    const xl_gemm *g = small;
    t->host[XL__GEMM_A] =
        fill(&g->a, g->m, g->k, SEED_A, &t->bytes[XL__GEMM_A]);
    t->host[XL__GEMM_B] =
        fill(&g->b, g->k, g->n, SEED_B, &t->bytes[XL__GEMM_B]);
    t->host[XL__GEMM_C] =
        fill(&g->c, g->m, g->n, SEED_C, &t->bytes[XL__GEMM_C]);
    t->result = XL__GEMM_C;
    t->call.value[XL__GEMM_ALPHA].f = alpha;
    t->call.value[XL__GEMM_BETA].f = beta;
    t->call.value[XL__GEMM_OFF_A].u = start_of(&g->a);
    t->call.value[XL__GEMM_OFF_B].u = start_of(&g->b);
    t->call.value[XL__GEMM_OFF_C].u = start_of(&g->c);
    return t->host[XL__GEMM_A] && t->host[XL__GEMM_B] && t->host[XL__GEMM_C]
               ? XL_OK
               : XL_NO_MEMORY;
}

/* -- the judgement ------------------------------------------------------- */

struct judging {
    const xl_gemm *g;
    const struct xl__trial *t;
    void *before; /* C as it was */
    char *why;
    size_t why_cap;
};

/* Unit roundoff and half the least subnormal of a type. */
static double roundoff(xl_dtype dtype)
{
    return dtype == XL_F32 ? ldexp(1, -24)
                           : ldexp(1, dtype == XL_F16 ? -11 : -8);
}
static double underflow(xl_dtype dtype)
{
    return dtype == XL_F16 ? ldexp(1, -25) : (double)FLT_MIN;
}

static size_t at(const xl_mat *mat, size_t i, size_t j)
{
    return start_of(mat) + i * mat->row_stride + j * mat->col_stride;
}

static bool judge_element(const struct judging *d, size_t i, size_t j)
{
    const xl_gemm *g = d->g;
    const void *a = d->t->host[XL__GEMM_A], *b = d->t->host[XL__GEMM_B];
    double sum = 0, size = 0;
    for (size_t l = 0; l < g->k; l++) {
        const double term = get(a, at(&g->a, i, l), g->a.dtype) *
                            get(b, at(&g->b, l, j), g->b.dtype);
        sum += term;
        size += fabs(term);
    }
    const double old = beta * get(d->before, at(&g->c, i, j), g->c.dtype);
    const double want = alpha * sum + old;
    const double got =
        get(d->t->host[XL__GEMM_C], at(&g->c, i, j), g->c.dtype);
    /* three more roundings: alpha, beta and their sum */
    const double ku = ((double)g->k + 3) * roundoff(XL_F32);
    const double allowed = ku / (1 - ku) * (fabs(alpha) * size + fabs(old)) +
                           roundoff(g->c.dtype) * fabs(want) +
                           underflow(g->c.dtype);
    if (fabs(got - want) <= allowed) /* false for NaN */
        return true;
    snprintf(d->why, d->why_cap,
             "C(%zu, %zu) of %zu x %zu x %zu is %.9g, not %.9g (within %.2g)",
             i, j, g->m, g->n, g->k, got, want, allowed);
    return false;
}

/* Put the old elements back over the result: what then differs from the
 * memory before was none of C's. */
static bool judge_guards(const struct judging *d)
{
    const xl_gemm *g = d->g;
    const size_t elem = xl_dtype_bytes(g->c.dtype);
    unsigned char *after = d->t->host[XL__GEMM_C];
    const unsigned char *before = d->before;
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++)
            memcpy(after + elem * at(&g->c, i, j),
                   before + elem * at(&g->c, i, j), elem);
    }
    for (size_t byte = 0; byte < d->t->bytes[XL__GEMM_C]; byte++) {
        if (after[byte] != before[byte]) {
            snprintf(d->why, d->why_cap,
                     "memory beside C was written: byte %zu", byte);
            return false;
        }
    }
    return true;
}

bool xl__gemm_trial_judge(const void *small, const struct xl__trial *t,
                          char *why, size_t why_cap)
{
    const xl_gemm *g = small;
    size_t bytes;
    struct judging d = {g, t, NULL, why, why_cap};
    d.before = fill(&g->c, g->m, g->n, SEED_C, &bytes);
    bool ok = d.before != NULL;
    if (!ok)
        snprintf(why, why_cap, "out of host memory");
    for (size_t i = 0; ok && i < g->m; i++) {
        for (size_t j = 0; ok && j < g->n; j++)
            ok = judge_element(&d, i, j);
    }
    ok = ok && judge_guards(&d);
    free(d.before);
    return ok;
}
