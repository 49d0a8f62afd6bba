/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's self-check: a small case that runs the same program as the caller's
 * product, and its comparison with a sum in double on the host.
 *
 * The case has odd sizes just over one tile in each dimension, so that tiles
 * that are whole and tiles that are cut both occur; two products if there is a
 * batch, strides with padding, offsets, alpha and beta. m n k of its products
 * together is at most XL__CASE_TERMS, for every variant and every set of
 * tunables: a dimension that a variant keeps few has a tile of few. So the
 * host compares every element, and it decodes each operand once. Memory around
 * the elements of C holds guards, which must not change. The tuner compares a
 * sample of a case of full size in the same way. */
#include "ops/gemm/selfcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/path/batch.h"
#include "ops/path/selfcheck_data.h"

/* Guards are NaN in every type of floats: a value that is read beyond a matrix
 * and multiplied by 0 shows in the result. */
enum { GUARD = 0xFF, GUARD_ELEMS = 64, NO_TILE = 32 };
enum { SEED_A = 1, SEED_B, SEED_C };
enum { N_PRODUCTS = 2 }; /* of a batch */

/* What a case owns besides the memory of its matrices. */
struct gemm_case {
    struct xl__case_epilogue epilogue;
    cl_ulong at[3][N_PRODUCTS]; /* offset lists of A, B, C */
};

/* -- the case ------------------------------------------------------------- */

/* A size larger than `tile`, odd except for the factors of two that let the
 * real size have its vector width. */
static size_t odd_size(size_t real, size_t tile)
{
    enum { WIDEST = 16 };
    const size_t twos = (real | WIDEST) & (~(real | WIDEST) + 1);
    return twos * ((tile / twos + 1) | 1);
}

/* The alignment of a canonical matrix, in elements. */
static size_t aligned_elems(const xl_mat *mat)
{
    return xl__max_size(1, mat->offset / xl_dtype_bytes(mat->dtype));
}

/* Strides of the same layout and alignment, with a gap between rows
 * (columns). */
static void shrink_layout(const xl_mat *from, size_t rows, size_t cols,
                          xl_mat *to)
{
    const size_t step = aligned_elems(from);
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

/* Elements from one matrix of the batch to the next: the alignment is kept,
 * and the gap is different for each operand. 0 if the real products share the
 * matrix. */
static size_t shrink_step(size_t real, const xl_mat *mat,
                          const size_t size[2], size_t gap)
{
    size_t extent = 0;
    xl__mat_extent(mat, size[0], size[1], &extent);
    return real > 0 ? xl__round_up(extent, aligned_elems(mat)) +
                          gap * aligned_elems(mat)
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

/* The sizes of m, n and k that the case exceeds. The tiles of most variants
 * may be of C or of C^T; they are small enough for the case to exceed them
 * either way, and two slices of k. */
static void find_tile(const xl_gemm *g, const struct xl__variant *variant,
                      const struct xl__params *params, size_t tile[3])
{
    tile[0] = tile[1] = tile[2] = NO_TILE;
    if (!params || params->value[XL__GEMM_TM] <= 0)
        return;
    if (variant->tile) {
        variant->tile(g, params, tile);
        return;
    }
    tile[0] = tile[1] =
        (size_t)(params->value[XL__GEMM_TM] > params->value[XL__GEMM_TN]
                     ? params->value[XL__GEMM_TM]
                     : params->value[XL__GEMM_TN]);
    tile[2] = 2 * (size_t)params->value[XL__GEMM_TK];
}

void xl__gemm_shrink(const void *canonical,
                     const struct xl__variant *variant,
                     const struct xl__params *params, void *small)
{
    const xl_gemm *g = canonical;
    xl_gemm *s = small;
    size_t tile[3];
    find_tile(g, variant, params, tile);
    memcpy(small, canonical, sizeof(struct xl__gemm_canonical));
    s->m = odd_size(g->m, tile[0]);
    s->n = odd_size(g->n, tile[1]);
    s->k = odd_size(g->k, tile[2]);
    s->beta = variant->has_plain ? g->beta : 1;
    s->a.mem.svm = s->b.mem.svm = s->c.mem.svm = NULL;
    shrink_layout(&g->a, s->m, s->k, &s->a);
    shrink_layout(&g->b, s->k, s->n, &s->b);
    shrink_layout(&g->c, s->m, s->n, &s->c);
    shrink_batch(g, s);
}

/* -- scalars -------------------------------------------------------------- */

/* beta; a case of full size has one only if the caller's product does. */
static double case_beta(const void *small)
{
    if (((const xl_gemm *)small)->beta == 0)
        return 0;
    return xl__gemm_y_dtype(small) == XL_I32 ? -2 : -0.5;
}

/* -- host memory ---------------------------------------------------------- */

static size_t first_elem(const xl_mat *mat, const struct xl__places *p,
                         size_t z)
{
    return aligned_elems(mat) + (p->at ? (size_t)p->at[z] : z * p->step);
}

/* Memory of a matrix: random values in its elements, guards everywhere else;
 * seed 0: guards only. NULL: out of memory. */
static void *make_matrix(const xl_mat *mat, const size_t size[2],
                         const struct xl__places *p, uint64_t seed,
                         size_t *bytes)
{
    struct xl__rng rng;
    size_t n;
    if (!xl__mat_extent(mat, size[0], size[1], &n))
        return NULL;
    n += (p->count - 1) * p->step + aligned_elems(mat) + GUARD_ELEMS;
    *bytes = n * xl_dtype_bytes(mat->dtype);
    void *base = xl__calloc(*bytes, 1);
    if (!base)
        return NULL;
    memset(base, GUARD, *bytes);
    xl__rng_seed(&rng, seed);
    for (size_t z = 0; seed && z < p->count; z++) {
        const size_t start = first_elem(mat, p, z);
        for (size_t i = 0; i < size[0]; i++) {
            for (size_t j = 0; j < size[1]; j++)
                xl__dtype_store(
                    base, start + i * mat->row_stride + j * mat->col_stride,
                    mat->dtype, xl__case_draw(&rng, mat->dtype));
        }
    }
    return base;
}

/* Offset lists that do not rise: the last product comes first. */
static void make_lists(xl_gemm *g, struct gemm_case *own, struct xl__op_case *t)
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

/* C is not read if beta is 0: then it holds guards. */
static uint64_t seed_of_c(const xl_gemm *g)
{
    return g->beta == 0 ? 0 : SEED_C;
}

static void *initial_c(const void *small, size_t *bytes)
{
    const xl_gemm *g = small;
    const struct xl__places places = xl__batch_c(&g->batch);
    return make_matrix(&g->c, (size_t[2]){g->m, g->n}, &places, seed_of_c(g),
                       bytes);
}

static xl_status make_matrices(const xl_gemm *g, struct xl__op_case *t)
{
    const struct {
        const xl_mat *mat;
        size_t size[2];
        struct xl__places places;
        uint64_t seed;
    } all[] = {{&g->a, {g->m, g->k}, xl__batch_a(&g->batch), SEED_A},
               {&g->b, {g->k, g->n}, xl__batch_b(&g->batch), SEED_B},
               {&g->c, {g->m, g->n}, xl__batch_c(&g->batch), seed_of_c(g)}};
    for (unsigned i = 0; i < 3; i++) {
        const unsigned slot = XL__GEMM_A + i;
        t->host[slot] = make_matrix(all[i].mat, all[i].size, &all[i].places,
                                    all[i].seed, &t->bytes[slot]);
        if (!t->host[slot])
            return XL_NO_MEMORY;
        t->call.value[XL__GEMM_OFF_A + i].u = aligned_elems(all[i].mat);
    }
    return XL_OK;
}

xl_status xl__gemm_selfcheck_init(void *small, struct xl__op_case *t)
{
    xl_status status = XL_OK;
    struct xl__gemm_canonical *s = small;
    const bool lists = s->g.batch.count > 1 && s->g.batch.a_at;
    struct gemm_case *own = xl__calloc(1, sizeof *own);
    t->own = own;
    if (!own)
        TRY(XL_NO_MEMORY);
    t->result = XL__GEMM_C;
    t->call.value[XL__GEMM_ALPHA].f =
        xl__case_alpha(s->g.a.dtype, xl__gemm_y_dtype(small));
    t->call.value[XL__GEMM_BETA].f = case_beta(small);
    if (lists && s->g.batch.count != N_PRODUCTS)
        TRY(XL_UNSUPPORTED);
    if (lists)
        make_lists(&s->g, own, t);
    TRY(make_matrices(&s->g, t));
    TRY(xl__case_epilogue_init(
        &own->epilogue, &s->snippet,
        (size_t[XL__N_ALONG]){s->g.batch.count, s->g.m, s->g.n},
        XL__GEMM_OPERAND, XL__GEMM_OPERAND_VALUE, t));
fail:
    return status;
}

/* -- the error bound ------------------------------------------------------ */

/* GEMM's error bound is ((1 + o)^2 (1 + k u) - 1) |A| |B|, where o is the
 * relative error of each operand and u that of each term of a sum.
 *
 * Sums rounded to nearest have their type's u, in any order. Source:
 * Jeannerod, Rump 2013, "Improved error bounds for inner products in
 * floating-point arithmetic".
 *
 * A matrix engine adds r products and the previous sum at a step: all but the
 * largest are cut F bits below its leading one, then their sum is cut to its
 * type (GE-28). Relative to |A| |B|, which none of them exceeds, a step with
 * sums of f32 loses at most r 2^-F + 2^-23. F is 24 or more, and steps of 4
 * products or more are no more than k / 2: together k 2^-24 + k / 2 2^-23 = k
 * 2^-23. A single product is exact. For 8-bit floats F is 13 and the sum is
 * cut to 13 bits: r 2^-13 + 2^-13 a step, together no more than k 2^-12, or
 * 128 2^-12 if sums leave the engine after 128 of k. Values that are cut never
 * grow, so errors do not compound. */

/* f32 in planes (engines/split.h): the planes and the products that are left
 * out miss less than 2^-20 of a product. Sums stay in the engine for 64 of k:
 * 4 steps of 16 for each of six products, each of which loses 21 2^-25 (16
 * terms and the sum cut at 25 bits, the sum once more at 24: GE-28), so that
 * 2^-22 a term covers them. Then they are added in f32, and an implementation
 * may add all of them in f32. The error of elements far below the largest of
 * their row (column) is not counted: it is far less if elements are of one
 * distribution. */
enum { STAY = 64, STAY_F8 = 128 };

static const struct lost {
    double operand, term, block; /* block: added for each of the first
                                    `stay` terms */
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

/* One element of the result: product, row, column. */
struct element {
    size_t z, i, j;
};

/* Lines of A and B along k in double: the current row of A, and a block of
 * columns of B. A line is decoded when the first element needs it, thus A once
 * for each block of columns and B once. */
enum { BLOCK = 64 };

struct decoded {
    size_t line[1 + BLOCK]; /* 1 + row or column of all products; 0: none */
    double *value;          /* k numbers each */
};

struct gemm_comparison {
    const xl_gemm *g;
    const struct xl__gemm_canonical *small;
    const struct xl__op_case *t;
    struct xl__places a, b, c;
    struct decoded *decoded;
    void *before; /* C before the run */
    size_t *n_sure, *n_written;
    char *why;
    size_t why_cap;
};

static size_t elem_index(const xl_mat *mat, const struct xl__places *p,
                         const struct element *e)
{
    return first_elem(mat, p, e->z) + e->i * mat->row_stride +
           e->j * mat->col_stride;
}

/* Line i of product z of A^T or B: k numbers from `first`, decoded into a
 * slot. */
static const double *decode_line(const struct gemm_comparison *d,
                                 unsigned slot, size_t line, const void *base,
                                 const size_t first_and_step[2])
{
    double *out = d->decoded->value + slot * d->g->k;
    if (d->decoded->line[slot] == line + 1)
        return out;
    d->decoded->line[slot] = line + 1;
    for (size_t l = 0; l < d->g->k; l++)
        out[l] = xl__dtype_load(
            base, first_and_step[0] + l * first_and_step[1], d->g->a.dtype);
    return out;
}

/* Computes an element of A B, and the same of |A| |B|. */
static void compute_dot(const struct gemm_comparison *d,
                        const struct element *e, double *sum, double *size)
{
    const xl_gemm *g = d->g;
    const double *a = decode_line(
        d, 0, e->z * g->m + e->i, d->t->host[XL__GEMM_A],
        (size_t[2]){first_elem(&g->a, &d->a, e->z) + e->i * g->a.row_stride,
                    g->a.col_stride});
    const double *b = decode_line(
        d, 1 + e->j % BLOCK, e->z * g->n + e->j, d->t->host[XL__GEMM_B],
        (size_t[2]){first_elem(&g->b, &d->b, e->z) + e->j * g->b.col_stride,
                    g->b.row_stride});
    *sum = *size = 0;
    for (size_t l = 0; l < g->k; l++) {
        const double term = a[l] * b[l];
        *sum += term;
        *size += fabs(term);
    }
}

/* The largest error of a sum whose absolute values sum to `size`. Short
 * sums of 8-bit floats, as the case draws them (selfcheck_data.h), fit into
 * the 13 bits below the leading one that the narrowest engine keeps: they
 * are exact. */
static double sum_error_bound(const xl_gemm *g, double size)
{
    static const double fits = 0x1p13 / 16;
    const bool is_f8 = g->a.dtype == XL_F8E4M3 || g->a.dtype == XL_F8E5M2;
    return is_f8 && size < fits ? 0 : xl__gemm_error_bound(g, size);
}

/* The expected y, and the largest error that a device may make. */
static double expected_y(const struct gemm_comparison *d,
                         const struct element *e, double *error)
{
    const xl_gemm *g = d->g;
    const double alpha = d->t->call.value[XL__GEMM_ALPHA].f;
    const double beta = d->t->call.value[XL__GEMM_BETA].f;
    double sum, size;
    compute_dot(d, e, &sum, &size);
    const double old =
        beta == 0
            ? 0
            : beta * xl__dtype_load(d->before, elem_index(&g->c, &d->c, e),
                                    g->c.dtype);
    /* Four more roundings: an integer sum to f32, alpha, beta and the
     * addition. The host rounds in f64 as often as a device that computes
     * f64. */
    const double u = 4 * xl__dtype_unit_roundoff(xl__gemm_y_dtype(d->small));
    const double hosts = g->a.dtype == XL_F64 ? 2 : 1;
    *error = hosts * (1 + u) * fabs(alpha) * sum_error_bound(g, size) +
             hosts * u * (fabs(alpha) * size + fabs(old)) +
             xl__dtype_underflow(xl__gemm_y_dtype(d->small));
    return alpha * sum + old;
}

/* The expected element of C, of y with or without an epilogue. */
static double expected_c(const struct gemm_comparison *d,
                         const struct element *e, double *error)
{
    const xl_dtype dtype = d->g->c.dtype;
    const struct gemm_case *own = d->t->own;
    const size_t along[XL__N_ALONG] = {e->z, e->i, e->j};
    double y_error;
    const double y = expected_y(d, e, &y_error);
    if (d->small->snippet)
        return xl__case_epilogue_expected(&own->epilogue, d->t, along, dtype, y,
                                       y_error, error);
    *error = y_error + xl__dtype_unit_roundoff(dtype) * fabs(y) +
             xl__dtype_underflow(dtype);
    return y;
}

/* Returns true for the elements of the sample. They are scattered by a hash,
 * so that no row, column or position within tiles is left out. */
static bool is_sampled(const struct gemm_comparison *d,
                       const struct element *e)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 by golden ratio */
    const uint64_t at = (e->z * d->g->m + e->i) * d->g->n + e->j;
    return d->t->every <= 1 || (at * odd >> 32) % d->t->every == 0;
}

static bool compare_element(const struct gemm_comparison *d,
                            const struct element *e)
{
    double error;
    if (!is_sampled(d, e))
        return true;
    const xl_dtype dtype = d->g->c.dtype;
    const size_t at = elem_index(&d->g->c, &d->c, e);
    const size_t elem = xl_dtype_bytes(dtype);
    const unsigned char *after = d->t->host[XL__GEMM_C], *before = d->before;
    const double expected = expected_c(d, e, &error);
    const double got = xl__dtype_load(after, at, dtype);
    *d->n_sure += !isinf(error);
    *d->n_written += memcmp(after + at * elem, before + at * elem, elem) != 0;
    if (xl__case_agrees(got, expected, error, dtype))
        return true;
    snprintf(d->why, d->why_cap,
             "C(%zu, %zu) of %zu x %zu x %zu, product %zu, is %.9g, not %.9g "
             "(within %.2g)",
             e->i, e->j, d->g->m, d->g->n, d->g->k, e->z, got, expected,
             error);
    return false;
}

/* Calls is_right for every element of every product until it returns false:
 * all rows of a block of columns, then the next block. */
static bool all_elements(const struct gemm_comparison *d,
                         bool (*is_right)(const struct gemm_comparison *d,
                                          const struct element *e))
{
    const size_t blocks = xl__ceil_div(d->g->n, BLOCK);
    struct element e;
    for (size_t i = 0; i < d->c.count * blocks * d->g->m; i++) {
        const size_t first = i / d->g->m % blocks * BLOCK;
        e.z = i / d->g->m / blocks;
        e.i = i % d->g->m;
        for (e.j = first; e.j < d->g->n && e.j < first + BLOCK; e.j++) {
            if (!is_right(d, &e))
                return false;
        }
    }
    return true;
}

static bool restore_element(const struct gemm_comparison *d,
                            const struct element *e)
{
    const size_t elem = xl_dtype_bytes(d->g->c.dtype);
    const size_t byte = elem * elem_index(&d->g->c, &d->c, e);
    memcpy((unsigned char *)d->t->host[XL__GEMM_C] + byte,
           (unsigned char *)d->before + byte, elem);
    return true;
}

/* Restores the elements of C: any difference from the memory before the run is
 * then outside C. */
static bool check_guards(const struct gemm_comparison *d)
{
    const unsigned char *after = d->t->host[XL__GEMM_C], *before = d->before;
    all_elements(d, restore_element);
    for (size_t byte = 0; byte < d->t->bytes[XL__GEMM_C]; byte++) {
        if (after[byte] != before[byte]) {
            snprintf(d->why, d->why_cap,
                     "memory outside C was written at byte %zu", byte);
            return false;
        }
    }
    return true;
}

bool xl__gemm_selfcheck_compare(const void *small, const struct xl__op_case *t,
                                char *why, size_t why_cap)
{
    const xl_gemm *g = small;
    size_t bytes, n_sure = 0, n_written = 0;
    struct decoded decoded = {
        .value = xl__calloc(g->k, (1 + BLOCK) * sizeof(double))};
    const struct gemm_comparison d = {.g = g,
                                      .small = small,
                                      .t = t,
                                      .a = xl__batch_a(&g->batch),
                                      .b = xl__batch_b(&g->batch),
                                      .c = xl__batch_c(&g->batch),
                                      .decoded = &decoded,
                                      .before = initial_c(small, &bytes),
                                      .n_sure = &n_sure,
                                      .n_written = &n_written,
                                      .why = why,
                                      .why_cap = why_cap};
    bool ok = d.before && decoded.value;
    if (!ok)
        snprintf(why, why_cap, "out of host memory");
    ok = ok && all_elements(&d, compare_element);
    if (ok && n_sure + n_written == 0) {
        snprintf(why, why_cap, "no element of C was written");
        ok = false;
    }
    ok = ok && check_guards(&d);
    free(d.before);
    free(decoded.value);
    return ok;
}
