/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case for the self-check: sizes just over one tile and odd, a
 * few products where there is a batch, strides with padding, offsets, alpha
 * and beta, guards around C. */
#include "ops/gemm/selfcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/path/batch.h"
#include "ops/path/selfcheck_data.h"

/* Guards are NaN in every type of floats: what is read beyond a matrix and
 * multiplied by 0 shows. */
enum { GUARD = 0xFF, GUARD_ELEMS = 64, NO_TILE = 32 };
enum { SEED_A = 1, SEED_B, SEED_C };
enum { N_PRODUCTS = 3 }; /* of a batch */

/* What a small case owns beside its memory. */
struct gemm_case {
    struct xl__small_epilogue epilogue;
    cl_ulong at[3][N_PRODUCTS]; /* lists of A, B, C */
};

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
    s->batch.count = N_PRODUCTS;
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
    memcpy(small, canonical, sizeof(struct xl__gemm_canonical));
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
static double case_alpha(const void *small)
{
    if (xl__gemm_y_dtype(small) == XL_I32)
        return 3;
    return ((const xl_gemm *)small)->a.dtype == XL_I8 ? 1.5 / 64 : 1.5;
}

/* A case of full size has a beta only where the caller's has. */
static double case_beta(const void *small)
{
    if (((const xl_gemm *)small)->beta == 0)
        return 0;
    return xl__gemm_y_dtype(small) == XL_I32 ? -2 : -0.5;
}

/* -- host memory --------------------------------------------------------- */

static size_t first_elem(const xl_mat *mat, const struct xl__places *p,
                         size_t z)
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
        const size_t start = first_elem(mat, p, z);
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
static void make_lists(xl_gemm *g, struct gemm_case *own, struct xl__trial *t)
{
    const size_t steps[] = {g->batch.a_step, g->batch.b_step,
                            g->batch.c_step};
    for (unsigned i = 0; i < 3; i++) {
        for (size_t z = 0; z < N_PRODUCTS; z++)
            own->at[i][z] = (N_PRODUCTS - 1 - z) * steps[i];
        t->call.list[i] = own->at[i];
    }
    t->call.list_bytes = sizeof own->at[0];
    g->batch.a_at = own->at[0];
    g->batch.b_at = own->at[1];
    g->batch.c_at = own->at[2];
}

static void *initial_c(const void *small, size_t *bytes)
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

xl_status xl__gemm_selfcheck_init(void *small, struct xl__trial *t)
{
    xl_status status = XL_OK;
    struct xl__gemm_canonical *s = small;
    const bool lists = s->g.batch.count > 1 && s->g.batch.a_at;
    struct gemm_case *own = xl__calloc(1, sizeof *own);
    t->own = own;
    if (!own)
        TRY(XL_NO_MEMORY);
    t->result = XL__GEMM_C;
    t->call.value[XL__GEMM_ALPHA].f = case_alpha(small);
    t->call.value[XL__GEMM_BETA].f = case_beta(small);
    if (lists && s->g.batch.count != N_PRODUCTS)
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

/* -- the error bound ------------------------------------------------------ */

/* GEMM's error bound, ((1 + o)^2 (1 + k u) - 1) |A| |B|: o is lost of each
 * operand, u of each term of a sum.
 *
 * Sums rounded to nearest have their type's u, in any order. Source:
 * Jeannerod, Rump 2013, "Improved error bounds for inner products in
 * floating-point arithmetic".
 *
 * A matrix engine takes r products and the sum so far at a step: all but the
 * largest are cut F bits below its leading one, then their sum is cut to its
 * type (GE-28). Of |A| |B|, which none of them exceeds, a step with sums of
 * f32 loses r 2^-F + 2^-23 at most. F is 24 or more, and steps of 4 products
 * or more are no more than k / 2: together k 2^-24 + k / 2 2^-23 = k 2^-23;
 * one product alone is exact. Of 8-bit floats F is 13 and the sum is cut to 13
 * bits: r 2^-13 + 2^-13 a step, together no more than k 2^-12; of no more than
 * 128 of k where sums leave the engine that often. What is cut never grows, so
 * nothing is compounded. */

/* f32 in parts (gemm_split.h): parts and what is left out of their product
 * miss less than 2^-20 of it. Sums stay in the engine for 64 of k: 4 steps of
 * 16 for each of six products, each of which loses 21 2^-25 (16 terms and the
 * sum cut at 25 bits, the sum once more at 24: GE-28), so 2^-22 a term covers
 * them. Then they are added as in f32, which may do it all. What is missing of
 * elements far below the largest of their line is not counted: it is far less
 * where elements are drawn alike. */
enum { STAY = 64, STAY_F8 = 128 };

static const struct lost {
    double operand, term, block; /* block: of each of the first `stay` terms */
    size_t stay;
} lost[XL_N_DTYPES][XL_N_ACCURACIES] = {
    [XL_F32] = {{0, 0x1p-24, 0},
                {0x1p-21, 0x1p-24, 0x1p-22, STAY},
                {0x1p-10, 0x1p-23, 0}},
    [XL_F64] = {{0, 0x1p-53, 0}},
    [XL_F16] = {{0, 0x1p-23, 0}},
    [XL_BF16] = {{0, 0x1p-23, 0}},
    [XL_F8E4M3] = {{0, 0x1p-23, 0x1p-12, STAY_F8}, {0, 0, 0}, {0, 0x1p-12, 0}},
    [XL_F8E5M2] = {{0, 0x1p-23, 0x1p-12, STAY_F8}, {0, 0, 0}, {0, 0x1p-12, 0}},
};

double xl__gemm_error_bound(const void *canonical, double size)
{
    const xl_gemm *g = canonical;
    const struct lost *x = &lost[g->a.dtype][g->accuracy];
    const double products = x->operand * (2 + x->operand);
    const double sums = (double)g->k * x->term +
                        (double)(g->k < x->stay ? g->k : x->stay) * x->block;
    return (products + (1 + products) * sums) * size;
}

/* -- the comparison ------------------------------------------------------- */

struct judging {
    const xl_gemm *g;
    const struct xl__gemm_canonical *small;
    const struct xl__trial *t;
    struct xl__places a, b, c;
    void *before; /* C as it was */
    char *why;
    size_t why_cap;
};

/* One element of the result. */
struct place {
    size_t z, i, j;
};

static size_t at(const xl_mat *mat, const struct xl__places *p,
                 const struct place *e)
{
    return first_elem(mat, p, e->z) + e->i * mat->row_stride +
           e->j * mat->col_stride;
}

/* A row times a column, and the sum of absolute values. */
static void dot(const struct judging *d, const struct place *e, double *sum,
                double *size)
{
    const xl_gemm *g = d->g;
    const void *a = d->t->host[XL__GEMM_A], *b = d->t->host[XL__GEMM_B];
    const size_t row = first_elem(&g->a, &d->a, e->z) + e->i * g->a.row_stride;
    const size_t col = first_elem(&g->b, &d->b, e->z) + e->j * g->b.col_stride;
    *sum = *size = 0;
    for (size_t l = 0; l < g->k; l++) {
        const double term =
            xl__small_load(a, row + l * g->a.col_stride, g->a.dtype) *
            xl__small_load(b, col + l * g->b.row_stride, g->b.dtype);
        *sum += term;
        *size += fabs(term);
    }
}

/* How far off a sum of that size may be. Short sums of 8-bit floats fit as
 * they are drawn (small.h) into the 13 bits below the leading one that the
 * narrowest engine keeps: what such a small case gets wrong is wrong. */
static double sum_error(const xl_gemm *g, double size)
{
    static const double fits = 0x1p13 / 16;
    const bool is_f8 = g->a.dtype == XL_F8E4M3 || g->a.dtype == XL_F8E5M2;
    return is_f8 && size < fits ? 0 : xl__gemm_error_bound(g, size);
}

/* y, and how far a device's may be off. */
static double want_y(const struct judging *d, const struct place *e,
                     double *error)
{
    const xl_gemm *g = d->g;
    const double alpha = case_alpha(d->small), beta = case_beta(d->small);
    double sum, size;
    dot(d, e, &sum, &size);
    const double old =
        beta * xl__small_load(d->before, at(&g->c, &d->c, e), g->c.dtype);
    /* Four more roundings: of an integer sum to f32, alpha, beta and their
     * sum. The host rounds as often in f64 as the device does. */
    const double u = 4 * xl__small_roundoff(xl__gemm_y_dtype(d->small));
    const double hosts = g->a.dtype == XL_F64 ? 2 : 1;
    *error = hosts * (1 + u) * fabs(alpha) * sum_error(g, size) +
             hosts * u * (fabs(alpha) * size + fabs(old)) +
             xl__small_underflow(xl__gemm_y_dtype(d->small));
    return alpha * sum + old;
}

/* The stored value, of y with or without an epilogue. */
static double want_c(const struct judging *d, const struct place *e,
                     double *error)
{
    const xl_dtype dtype = d->g->c.dtype;
    const struct gemm_case *own = d->t->own;
    const size_t along[XL__N_ALONG] = {e->z, e->i, e->j};
    double y_error;
    const double y = want_y(d, e, &y_error);
    if (d->small->snippet)
        return xl__small_epilogue_want(&own->epilogue, d->t, along, dtype, y,
                                       y_error, error);
    *error = y_error + xl__small_roundoff(dtype) * fabs(y) +
             xl__small_underflow(dtype);
    return y;
}

/* Is the element one of those that are looked at? Scattered, so that no row,
 * column or place within tiles is left out. */
static bool is_sampled(const struct judging *d, const struct place *e)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 by golden ratio */
    const uint64_t at = (e->z * d->g->m + e->i) * d->g->n + e->j;
    return d->t->every <= 1 || (at * odd >> 32) % d->t->every == 0;
}

static bool judge_element(const struct judging *d, const struct place *e)
{
    double error;
    if (!is_sampled(d, e))
        return true;
    const double want = want_c(d, e, &error);
    const double got = xl__small_load(d->t->host[XL__GEMM_C],
                                      at(&d->g->c, &d->c, e), d->g->c.dtype);
    if (xl__small_agrees(got, want, error))
        return true;
    snprintf(d->why, d->why_cap,
             "C(%zu, %zu) of %zu x %zu x %zu, product %zu, is %.9g, not %.9g "
             "(within %.2g)",
             e->i, e->j, d->g->m, d->g->n, d->g->k, e->z, got, want, error);
    return false;
}

/* Every element of every product, until `is_right` says no. */
static bool for_all(const struct judging *d,
                    bool (*is_right)(const struct judging *d,
                                     const struct place *e))
{
    struct place e;
    for (e.z = 0; e.z < d->c.count; e.z++) {
        for (e.i = 0; e.i < d->g->m; e.i++) {
            for (e.j = 0; e.j < d->g->n; e.j++) {
                if (!is_right(d, &e))
                    return false;
            }
        }
    }
    return true;
}

static bool put_back(const struct judging *d, const struct place *e)
{
    const size_t elem = xl_dtype_bytes(d->g->c.dtype);
    const size_t byte = elem * at(&d->g->c, &d->c, e);
    memcpy((unsigned char *)d->t->host[XL__GEMM_C] + byte,
           (unsigned char *)d->before + byte, elem);
    return true;
}

/* Put the old elements back over the result: what then differs from the
 * memory before was none of C's. */
static bool judge_guards(const struct judging *d)
{
    const unsigned char *after = d->t->host[XL__GEMM_C], *before = d->before;
    for_all(d, put_back);
    for (size_t byte = 0; byte < d->t->bytes[XL__GEMM_C]; byte++) {
        if (after[byte] != before[byte]) {
            snprintf(d->why, d->why_cap,
                     "memory beside C was written: byte %zu", byte);
            return false;
        }
    }
    return true;
}

bool xl__gemm_selfcheck_compare(const void *small, const struct xl__trial *t,
                                char *why, size_t why_cap)
{
    const xl_gemm *g = small;
    size_t bytes;
    const struct judging d = {.g = g,
                              .small = small,
                              .t = t,
                              .a = xl__batch_a(&g->batch),
                              .b = xl__batch_b(&g->batch),
                              .c = xl__batch_c(&g->batch),
                              .before = initial_c(small, &bytes),
                              .why = why,
                              .why_cap = why_cap};
    bool ok = d.before != NULL;
    if (!ok)
        snprintf(why, why_cap, "out of host memory");
    ok = ok && for_all(&d, judge_element) && judge_guards(&d);
    free(d.before);
    return ok;
}
