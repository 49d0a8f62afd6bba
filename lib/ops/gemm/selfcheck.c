/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's self-check: a small case that runs the same program as the caller's
 * product, and its elements as sums in double on the host.
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
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/path/batch.h"
#include "ops/path/selfcheck_data.h"

/* Guards are NaN in every type of floats: a value that is read beyond a matrix
 * and multiplied by 0 shows in the result. */
enum { GUARD = 0xFF, GUARD_ELEMS = 64, NO_TILE = 32 };
enum { SEED_A = 1, SEED_B, SEED_C, SEED_SCALES };
enum { N_PRODUCTS = 2, N_ROWS = 4 }; /* of a batch; with rows of their own */
enum { ROWS_AT = 3 };                /* offset of these rows */

/* What a case owns besides the memory of its matrices. A line of A or B along
 * k is decoded when the first element needs it: the current row of A, and the
 * columns of B of a block. */
struct gemm_case {
    struct xl__case_epilogue epilogue;
    cl_ulong at[3][N_ROWS]; /* offset lists of A, B, C */
    struct xl__places a, b;
    size_t line[1 + XL__CASE_BLOCK]; /* 1 + row or column of all products; 0:
                                        none */
    double value[];                  /* k numbers for each */
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

/* Of two axes, a row and the first product of the next one. A row has two
 * matrices of each operand that has several. */
static void shrink_axes(const xl_batch *g, xl_batch *s)
{
    const size_t share = xl__max_size(g->a_share, g->b_share) > 1 ? 2 : 1;
    s->inner = 1 + share;
    s->count = s->inner + 1;
    s->a_share = g->a_share > 1 ? share : 1;
    s->b_share = g->b_share > 1 ? share : 1;
    s->a_inner = g->a_inner > 0 ? s->a_step : 0;
    s->b_inner = g->b_inner > 0 ? s->b_step : 0;
    s->c_inner = s->c_step;
    s->a_step = g->a_step > 0 ? s->inner * s->a_step : 0;
    s->b_step = g->b_step > 0 ? s->inner * s->b_step : 0;
    s->c_step *= s->inner;
}

static size_t n_products(const xl_gemm *g)
{
    return g->batch.rows ? N_ROWS : N_PRODUCTS;
}

static void shrink_batch(const xl_gemm *g, xl_gemm *s)
{
    const bool lists = g->batch.a_at != NULL;
    s->batch.at = NULL; /* the same program reads lists of the host's */
    if (g->batch.count == 1 && !lists)
        return;
    s->batch.count = n_products(g);
    s->batch.a_step = shrink_step(lists | g->batch.a_step | g->batch.a_inner,
                                  &s->a, (size_t[2]){s->m, s->k}, 1);
    s->batch.b_step = shrink_step(lists | g->batch.b_step | g->batch.b_inner,
                                  &s->b, (size_t[2]){s->k, s->n}, 2);
    s->batch.c_step = shrink_step(1, &s->c, (size_t[2]){s->m, s->n}, 3);
    if (g->batch.inner > 0)
        shrink_axes(&g->batch, &s->batch);
}

static const struct xl__gemm_variant *
of_gemm(const struct xl__variant *variant)
{
    static const struct xl__gemm_variant usual = {0};
    return variant->own ? variant->own : &usual;
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
    if (of_gemm(variant)->tile) {
        of_gemm(variant)->tile(g, params, tile);
        return;
    }
    tile[0] = tile[1] =
        (size_t)(params->value[XL__GEMM_TM] > params->value[XL__GEMM_TN]
                     ? params->value[XL__GEMM_TM]
                     : params->value[XL__GEMM_TN]);
    tile[2] = 2 * (size_t)params->value[XL__GEMM_TK];
}

/* Groups that are no larger than this are crossed too. */
static void exceed_groups(const struct xl__gemm_canonical *c, size_t tile[3])
{
    enum { MOST = 128 };
    for (unsigned i = 0; i < 2; i++) {
        const struct xl__gemm_scales *s = &c->scales[i];
        if (s->group_x <= MOST)
            tile[i] = xl__max_size(tile[i], s->group_x);
        if (s->group_k <= MOST)
            tile[2] = xl__max_size(tile[2], s->group_k);
    }
}

/* A matrix of scales or zeros, with a column for each group along k, and its
 * size. */
static xl_mat scale_mat(const struct xl__gemm_canonical *c, unsigned operand,
                        unsigned which, size_t size[2])
{
    const struct xl__gemm_scale *s = &c->scales[operand].of[which];
    xl__gemm_groups(c, operand, size);
    return (xl_mat){.row_stride = s->stride_x,
                    .col_stride = s->stride_k,
                    .dtype = s->dtype};
}

static void shrink_scale(struct xl__gemm_canonical *c, unsigned operand,
                         unsigned which)
{
    struct xl__gemm_scale *s = &c->scales[operand].of[which];
    const xl_batch *b = &c->g.batch;
    size_t size[2];
    const xl_mat real = scale_mat(c, operand, which, size);
    xl_mat mat;
    if (!s->is_given)
        return;
    shrink_layout(&real, size[0], size[1], &mat);
    s->stride_x = mat.row_stride;
    s->stride_k = mat.col_stride;
    s->inner_step = shrink_step(1, &mat, size, 1); /* whatever the real one */
    s->step = s->inner_step * xl__max_size(b->inner, 1);
}

void xl__gemm_shrink(const void *canonical,
                     const struct xl__variant *variant,
                     const struct xl__params *params, void *small)
{
    const xl_gemm *g = canonical;
    xl_gemm *s = small;
    size_t tile[3];
    find_tile(g, variant, params, tile);
    exceed_groups(canonical, tile);
    memcpy(small, canonical, sizeof(struct xl__gemm_canonical));
    s->m = odd_size(g->m, tile[0]);
    s->n = odd_size(g->n, tile[1]);
    s->k = odd_size(g->k, tile[2]);
    s->beta = of_gemm(variant)->has_plain ? g->beta : 1;
    s->a.mem.svm = s->b.mem.svm = s->c.mem.svm = NULL;
    shrink_layout(&g->a, s->m, s->k, &s->a);
    shrink_layout(&g->b, s->k, s->n, &s->b);
    shrink_layout(&g->c, s->m, s->n, &s->c);
    shrink_batch(g, s);
    for (unsigned i = 0; i < 4; i++)
        shrink_scale(small, i / 2, i % 2);
}

/* -- scalars -------------------------------------------------------------- */

/* beta; a case of full size has one only if the caller's product does. */
static double case_beta(const void *small)
{
    if (((const xl_gemm *)small)->beta == 0)
        return 0;
    return xl__gemm_y_dtype(small) == XL_I32 ? -2 : -0.5;
}

static double case_alpha(const xl_gemm *g)
{
    const xl_dtype a = g->a.dtype, b = g->b.dtype;
    const bool are_bytes =
        (a == XL_I8 || a == XL_U8) && (b == XL_I8 || b == XL_U8);
    const xl_dtype in = !are_bytes                 ? XL_F32
                        : a == XL_U8 || b == XL_U8 ? XL_U8
                                                   : XL_I8;
    return xl__case_alpha(in, xl__gemm_y_dtype(g));
}

/* -- host memory ---------------------------------------------------------- */

static size_t first_elem(const xl_mat *mat, const struct xl__places *p,
                         size_t z)
{
    return aligned_elems(mat) + xl__places_at(p, z);
}

/* Memory of a matrix: random values in its elements, guards everywhere else;
 * seed 0: guards only. */
static xl_status make_matrix(const xl_mat *mat, const size_t size[2],
                             const struct xl__places *p, uint64_t seed,
                             unsigned slot, struct xl__selfcheck_case *t)
{
    struct xl__rng rng;
    size_t n, last = 0;
    if (!xl__mat_extent(mat, size[0], size[1], &n))
        return XL_NO_MEMORY;
    for (size_t z = 0; z < p->count; z++)
        last = xl__max_size(last, first_elem(mat, p, z));
    void *base =
        xl__case_add_memory(t, slot, n + last + GUARD_ELEMS, mat->dtype, GUARD);
    if (!base)
        return XL_NO_MEMORY;
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
    return XL_OK;
}

/* Offset lists that do not rise: the last product comes first. */
static void make_lists(xl_gemm *g, struct gemm_case *own,
                       struct xl__selfcheck_case *t)
{
    const size_t steps[] = {g->batch.a_step, g->batch.b_step,
                            g->batch.c_step};
    for (unsigned i = 0; i < 3; i++) {
        for (size_t z = 0; z < g->batch.count; z++)
            own->at[i][z] = (g->batch.count - 1 - z) * steps[i];
        t->call.list[i] = own->at[i];
    }
    t->call.list_bytes = g->batch.count * sizeof own->at[0][0];
    g->batch.a_at = own->at[0];
    g->batch.b_at = own->at[1];
    g->batch.c_at = own->at[2];
}

/* C is not read if beta is 0: then it holds guards. */
static uint64_t seed_of_c(const xl_gemm *g)
{
    return g->beta == 0 ? 0 : SEED_C;
}

static xl_status make_matrices(const xl_gemm *g, struct xl__selfcheck_case *t)
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
        if (make_matrix(all[i].mat, all[i].size, &all[i].places, all[i].seed,
                        XL__GEMM_A + i, t) != XL_OK)
            return XL_NO_MEMORY;
        t->call.value[XL__GEMM_OFF_A + i].u = aligned_elems(all[i].mat);
    }
    return XL_OK;
}

static xl_status make_scales(const struct xl__gemm_canonical *c,
                             struct xl__selfcheck_case *t)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct xl__places places =
            xl__gemm_scale_places(c, i / 2, i % 2);
        size_t size[2];
        const xl_mat mat = scale_mat(c, i / 2, i % 2, size);
        if (!c->scales[i / 2].of[i % 2].is_given)
            continue;
        if (make_matrix(&mat, size, &places, SEED_SCALES + i,
                        XL__GEMM_SCALES + i, t) != XL_OK)
            return XL_NO_MEMORY;
        t->call.value[XL__GEMM_OFF_SCALES + i].u = aligned_elems(&mat);
    }
    return XL_OK;
}

/* The rows of each product: some, more than there are, none, all. */
static xl_status make_rows(const xl_gemm *g, struct xl__selfcheck_case *t)
{
    const size_t rows[N_ROWS] = {g->m / 2 | 1, g->m + 1, 0, g->m};
    if (!g->batch.rows)
        return XL_OK;
    cl_uint *all = xl__case_add_memory(
        t, XL__GEMM_ROWS, ROWS_AT + g->batch.count, XL_I32, GUARD);
    if (!all)
        return XL_NO_MEMORY;
    for (size_t z = 0; z < g->batch.count; z++)
        all[ROWS_AT + z] = (cl_uint)rows[z % N_ROWS];
    t->call.value[XL__GEMM_OFF_ROWS].u = ROWS_AT;
    return XL_OK;
}

/* A result is a row of products. Those of lists descend in memory. */
static xl_status add_results(const xl_gemm *g, struct xl__selfcheck_case *t)
{
    const struct xl__places c = xl__batch_c(&g->batch);
    const size_t row = xl__batch_row_count(&g->batch);
    for (size_t z = 0; z < c.count; z += row) {
        const size_t n = xl__min_size(row, c.count - z);
        const size_t first = first_elem(&g->c, &c, z);
        struct xl__case_result *r =
            xl__case_add_result(t, "C", XL__GEMM_C, g->c.dtype, first);
        if (!r)
            return XL_NO_MEMORY;
        xl__case_add_dim(r, n,
                         n > 1 ? first_elem(&g->c, &c, z + 1) - first : 0);
        xl__case_add_dim(r, g->m, g->c.row_stride);
        xl__case_add_dim(r, g->n, g->c.col_stride);
    }
    return XL_OK;
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
 * terms and the sum cut at 25 bits, the sum once more at 24), so that 2^-22 a
 * term covers them. Then they are added in f32, and an implementation
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

static bool is_f8(xl_dtype dtype)
{
    return dtype == XL_F8E4M3 || dtype == XL_F8E5M2;
}

/* A and B of different types lose what narrower floats do, or two 8-bit
 * floats; i8 and u8 nothing. */
static const struct lost *lost_of(const xl_gemm *g)
{
    const xl_dtype a = g->a.dtype, b = g->b.dtype;
    const xl_dtype in = xl__gemm_in(g) == XL_I8            ? XL_I8
                        : a == b || (is_f8(a) && is_f8(b)) ? a
                                                           : XL_F16;
    return &lost[in][g->accuracy];
}

/* scale (element - zero) rounds twice to nearest in f32, each time by no more
 * than v = u / (1 + u), u = 2^-24; (1 + v)^2 - 1 < 2 u. */
static double operand_error(const struct xl__gemm_canonical *c, unsigned i)
{
    const struct xl__gemm_scales *s = &c->scales[i];
    return s->of[0].is_given || s->of[1].is_given ? 0x1p-23
                                                  : lost_of(&c->g)->operand;
}

double xl__gemm_error_bound(const void *canonical, double size)
{
    const xl_gemm *g = canonical;
    const struct lost *x = lost_of(g);
    const double products =
        (1 + operand_error(canonical, 0)) * (1 + operand_error(canonical, 1)) -
        1;
    const double sums = (double)g->k * x->term +
                        (double)(g->k < x->stay ? g->k : x->stay) * x->block;
    return (products + (1 + products) * sums) * size;
}

/* -- the elements --------------------------------------------------------- */

static size_t group_of(size_t i, size_t group)
{
    return group ? i / group : 0;
}

/* k numbers of line x of product z: scale (element - zero). */
static void apply_scales(const struct xl__selfcheck_case *t, unsigned operand,
                         size_t z, size_t x, double *line)
{
    const struct xl__gemm_canonical *c = t->of;
    const struct xl__gemm_scales *s = &c->scales[operand];
    for (unsigned which = 2; which-- > 0;) {
        const struct xl__places p = xl__gemm_scale_places(c, operand, which);
        const void *base = t->before[XL__GEMM_SCALES + 2 * operand + which];
        size_t size[2];
        const xl_mat mat = scale_mat(c, operand, which, size);
        for (size_t l = 0; s->of[which].is_given && l < c->g.k; l++) {
            const double value =
                xl__dtype_load(base,
                               first_elem(&mat, &p, z) +
                                   group_of(x, s->group_x) * mat.row_stride +
                                   group_of(l, s->group_k) * mat.col_stride,
                               mat.dtype);
            line[l] = which == 1 ? line[l] - value : line[l] * value;
        }
    }
}

/* Line x of product z of A^T or B: k numbers, decoded into a slot. */
static const double *decode_line(const struct xl__selfcheck_case *t,
                                 unsigned slot, unsigned operand, size_t z,
                                 size_t x)
{
    const xl_gemm *g = t->of;
    struct gemm_case *own = t->own;
    const xl_mat *mat = operand ? &g->b : &g->a;
    const size_t stride_x = operand ? mat->col_stride : mat->row_stride,
                 stride_k = operand ? mat->row_stride : mat->col_stride,
                 line = z * (operand ? g->n : g->m) + x,
                 first = first_elem(mat, operand ? &own->b : &own->a, z) +
                         x * stride_x;
    double *out = own->value + slot * g->k;
    if (own->line[slot] == line + 1)
        return out;
    own->line[slot] = line + 1;
    for (size_t l = 0; l < g->k; l++)
        out[l] = xl__dtype_load(t->before[XL__GEMM_A + operand],
                                first + l * stride_k, mat->dtype);
    apply_scales(t, operand, z, x, out);
    return out;
}

/* Computes an element of A B, and the same of |A| |B|. */
static void compute_dot(const struct xl__selfcheck_case *t,
                        const size_t along[XL__N_ALONG], double *sum,
                        double *size)
{
    const xl_gemm *g = t->of;
    const size_t z = along[XL__ALONG_OUTER] * xl__batch_row_count(&g->batch) +
                     along[XL__ALONG_BATCH];
    const size_t i = along[XL__ALONG_ROWS], j = along[XL__ALONG_COLS];
    const double *a = decode_line(t, 0, 0, z, i);
    const double *b = decode_line(t, 1 + j % XL__CASE_BLOCK, 1, z, j);
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
    const bool is_short = is_f8(g->a.dtype) && is_f8(g->b.dtype) &&
                          !xl__gemm_scales_refused(g) && size < fits;
    return is_short ? 0 : xl__gemm_error_bound(g, size);
}

/* The expected y, and the largest error that a device may make. */
static double expected_y(const struct xl__selfcheck_case *t,
                         const size_t along[XL__N_ALONG], double *error)
{
    const xl_gemm *g = t->of;
    const double alpha = t->call.value[XL__GEMM_ALPHA].f;
    const double beta = t->call.value[XL__GEMM_BETA].f;
    double sum, size;
    compute_dot(t, along, &sum, &size);
    const size_t at = xl__case_element(&t->result[along[XL__ALONG_OUTER]],
                                       along + XL__ALONG_BATCH);
    const double old =
        beta == 0
            ? 0
            : beta * xl__dtype_load(t->before[XL__GEMM_C], at, g->c.dtype);
    /* Four more roundings: an integer sum to f32, alpha, beta and the
     * addition. The host rounds in f64 as often as a device that computes
     * f64. */
    const double u = 4 * xl__dtype_unit_roundoff(xl__gemm_y_dtype(t->of));
    const double hosts = g->a.dtype == XL_F64 ? 2 : 1;
    *error = hosts * (1 + u) * fabs(alpha) * sum_error_bound(g, size) +
             hosts * u * (fabs(alpha) * size + fabs(old)) +
             xl__dtype_underflow(xl__gemm_y_dtype(t->of));
    return alpha * sum + old;
}

/* Whether row i of product z is computed. */
static bool is_row_used(const struct xl__selfcheck_case *t, size_t z, size_t i)
{
    const cl_uint *all = (const void *)t->before[XL__GEMM_ROWS];
    return !all || i < all[ROWS_AT + z];
}

/* Of C: y with or without an epilogue, or what it was. */
static double expected_c(const struct xl__selfcheck_case *t, unsigned result,
                         const size_t *at, double *error)
{
    const struct xl__gemm_canonical *small = t->of;
    const struct gemm_case *own = t->own;
    const xl_dtype dtype = small->g.c.dtype;
    const size_t along[XL__N_ALONG] = {result, at[0], at[1], at[2]};
    double y_error;
    const size_t z = result * xl__batch_row_count(&small->g.batch) + at[0];
    if (!is_row_used(t, z, at[1]))
        return xl__dtype_load(t->before[XL__GEMM_C],
                              xl__case_element(&t->result[result], at), dtype);
    const double y = expected_y(t, along, &y_error);
    if (small->snippet)
        return xl__case_epilogue_expected(&own->epilogue, t, along, dtype, y,
                                          y_error, error);
    *error = y_error + xl__dtype_unit_roundoff(dtype) * fabs(y) +
             xl__dtype_underflow(dtype);
    return y;
}

xl_status xl__gemm_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__gemm_canonical *s = small;
    const bool lists = s->g.batch.a_at != NULL;
    struct gemm_case *own = xl__calloc(
        1, sizeof *own + (1 + XL__CASE_BLOCK) * s->g.k * sizeof *own->value);
    t->own = own;
    t->of = small;
    t->expect = expected_c;
    if (!own)
        TRY(XL_NO_MEMORY);
    t->call.value[XL__GEMM_ALPHA].f = case_alpha(&s->g);
    t->call.value[XL__GEMM_BETA].f = case_beta(small);
    if (s->g.batch.at || (lists && s->g.batch.count != n_products(&s->g)))
        TRY(XL_UNSUPPORTED);
    if (lists)
        make_lists(&s->g, own, t);
    own->a = xl__batch_a(&s->g.batch);
    own->b = xl__batch_b(&s->g.batch);
    TRY(make_matrices(&s->g, t));
    TRY(make_scales(s, t));
    TRY(make_rows(&s->g, t));
    TRY(add_results(&s->g, t));
    TRY(xl__case_epilogue_init(
        &own->epilogue, &s->snippet,
        (size_t[XL__N_ALONG]){t->n_results, t->result->size[0], s->g.m, s->g.n},
        XL__GEMM_OPERAND, XL__GEMM_OPERAND_VALUE, t));
fail:
    return status;
}
