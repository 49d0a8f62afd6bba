/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of products with quantised weights: rows of A and of W
 * beyond those of a group, columns beyond an iteration of its lanes, gaps
 * between rows, guard bytes. The host dequantises the weights and sums in
 * double; the tolerance is the Accuracy line of xl_qgemm_run(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "ops/gemm/selfcheck.h"
#include "ops/path/selfcheck_data.h"
#include "ops/quantised/qgemm.h"

enum {
    GUARD = 0xA5,
    GUARD_ELEMS = 64,
    SEED = 1,
    GAP = 5,
    EVEN_GAP = 16,
    GROUP_ROWS = 3
};

/* Elements between rows of A, so that they are aligned as those of the call.
 */
static size_t gap_of(const struct xl__qgemm_canonical *c)
{
    const size_t elem = xl_dtype_bytes((xl_dtype)c->a);
    return c->a_aligned % EVEN_GAP ? GAP * xl__max_size(1, c->a_aligned / elem)
                                   : EVEN_GAP;
}

/* A norm's form may not take more columns than those of the call. */
static size_t at_most(const struct xl__qgemm_canonical *c, size_t k)
{
    return c->norm ? xl__min_size(k, c->k) : k;
}

/* Sizes and strides of the case of the product, columns in whole blocks. */
static void shrink_product(const struct xl__qgemm_canonical *c,
                           const struct xl__variant *gemm,
                           const struct xl__params *params,
                           struct xl__qgemm_canonical *to)
{
    struct xl__gemm_canonical product = {.g = {0}}, small;
    const size_t group = xl__qgemm_has_groups(c)
                             ? xl__qgemm_group_units(c) * XL__QGEMM_UNIT
                             : xl_qformat_layout((xl_qformat)c->format)->block;
    xl__qgemm_product(c, &product);
    xl__gemm_shrink(&product, gemm, params, &small);
    to->m = small.g.m;
    to->n = small.g.n;
    to->k = at_most(c, xl__round_up(small.g.k, group));
    to->group = xl__qgemm_has_groups(c) ? group : to->k;
    to->col_stride_c = small.g.c.col_stride;
    to->row_stride_a = to->m == 1 ? 0 : to->k + gap_of(c);
    to->row_stride_c = to->m == 1 ? 0 : small.g.c.row_stride;
}

void xl__qgemm_shrink(const void *canonical, const struct xl__variant *variant,
                      const struct xl__params *params, void *small)
{
    enum { ROWS = 3, UNITS = 5, TILE = 16, FOUR = 64, WORD = 16 };
    struct xl__qgemm_canonical *to = small;
    const bool is_tiled = variant && variant->tunables && params;
    memcpy(to, canonical, sizeof *to);
    to->group_rows = xl__min_size(to->group_rows, GROUP_ROWS);
    if (variant && variant->own && params) {
        shrink_product(canonical, variant->own, params, to);
        return;
    }
    const int *value = is_tiled ? params->value : NULL;
    const bool has_lanes = value && variant == &xl__qgemm_gemv;
    const size_t rn = value ? (size_t)value[XL__QGEMM_RN] : 1;
    const bool is_skinny = value && variant == &xl__qgemm_skinny;
    const bool is_wgmma = value && variant == &xl__qgemm_wgmma;
    const bool has_tiles = is_skinny || (value && variant == &xl__qgemm_mma);
    const size_t lanes = has_lanes   ? (size_t)value[XL__QGEMM_LANES]
                         : is_wgmma  ? xl__qgemm_wgmma_units(to, params)
                         : has_tiles ? (size_t)value[XL__QGEMM_SK] *
                                           (size_t)value[XL__QGEMM_ST] *
                                           XL__QGEMM_STAGE / XL__QGEMM_UNIT
                                     : 1;
    const size_t rows = has_lanes   ? rn * (size_t)value[XL__QGEMM_WG] / lanes
                        : is_skinny ? TILE
                        : is_wgmma  ? rn * FOUR
                        : has_tiles ? rn * TILE * (size_t)value[XL__QGEMM_RT]
                                    : rn;
    to->m = xl__min_size(to->m, (value ? (size_t)value[XL__QGEMM_TM] : 1) + 1);
    to->n = xl__min_size(to->n, 2 * rows + ROWS + to->pair);
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)to->format);
    const bool has_groups = xl__qgemm_has_groups(to);
    const size_t group = xl__qgemm_group_units(to) * XL__QGEMM_UNIT;
    /* So many columns have whole words of 16 bytes. */
    const size_t whole =
        to->w_aligned == WORD
            ? f->block * (WORD / xl__shrink_to_divisor(WORD, f->block_bytes))
            : f->block;
    const size_t together = has_groups ? group : whole;
    to->k = xl__round_up((lanes + UNITS) * XL__QGEMM_UNIT, together);
    const struct xl__qgemm_canonical *c = canonical;
    if (is_skinny && c->k % XL__QGEMM_STAGE == 0)
        to->k = xl__round_up(to->k, XL__QGEMM_STAGE);
    else if (is_skinny && to->k % XL__QGEMM_STAGE == 0)
        to->k += has_groups ? group : XL__QGEMM_UNIT;
    to->k = at_most(c, to->k);
    to->group = has_groups ? group : to->k;
    to->col_stride_c = xl__min_size(to->col_stride_c, 2);
    to->row_stride_a = to->m == 1 ? 0 : to->k + gap_of(to);
    to->row_stride_c = to->m == 1 ? 0 : to->n * to->col_stride_c + GAP;
}

/* What a case owns besides its memory: the weights, n x k; behind them A as it
 * is multiplied, m x k, and how far each element may be from that, but for
 * roundings. */
struct qgemm_case {
    struct xl__case_epilogue hook;
    struct xl__epilogue_text scaled; /* with the operands of `hook` */
    float w[];
};

/* The distance of codes around q: integers, or E4M3. */
static double step_of(const struct xl__qgemm_canonical *c, double q)
{
    enum { MANTISSA = 3, LEAST = -6 };
    if (c->activations != XL_ACTIVATIONS_F8)
        return 1;
    const int e = q == 0 ? LEAST : ilogb(q);
    return ldexp(1, (e < LEAST ? LEAST : e) - MANTISSA);
}

/* A row of A, and where activations are bytes, as these: scale times code, and
 * one step where the code may be one of two (enum xl_activations). */
static void make_row(const struct xl__qgemm_canonical *c, float *x,
                     float *apart)
{
    static const double middle = 0.5, near = 0x1p-14, normed_near = 0x1p-10,
                        least = 0x1p-90;
    const bool is_f8 = c->activations == XL_ACTIVATIONS_F8;
    const double most = is_f8 ? 448 : 127;
    const size_t group = !c->activations                 ? 0
                         : is_f8 || c->format == XL_INT8 ? c->k
                                                         : XL__QGEMM_UNIT;
    for (size_t first = 0; group && first < c->k; first += group) {
        double top = 0;
        for (size_t l = first; l < first + group; l++)
            top = fmax(top, fabs((double)x[l]));
        for (size_t l = first; l < first + group; l++) {
            const double q = top < least ? 0 : x[l] / top * most;
            const double step = step_of(c, q), steps = q / step;
            const double off = is_f8 ? near * fabs(steps) : near;
            const bool is_either =
                fabs(fabs(steps - trunc(steps)) - middle) < off;
            if (c->norm) {
                apart[l] =
                    (float)((middle + off + normed_near) * step * top / most);
                continue;
            }
            x[l] = (float)(rint(steps) * step * top / most);
            apart[l] = is_either ? (float)(step * top / most) : 0;
        }
    }
}

static const double case_eps = 0.25;

static void norm_row(const struct xl__qgemm_canonical *c, const void *gain,
                     float *x)
{
    double squares = 0;
    for (size_t l = 0; l < c->k; l++)
        squares += (double)x[l] * (double)x[l];
    const double factor = 1 / sqrt(squares / (double)c->k + case_eps);
    for (size_t l = 0; l < c->k; l++)
        x[l] =
            (float)(x[l] * factor *
                    xl__dtype_load(gain, GUARD_ELEMS + l, (xl_dtype)c->gain));
}

/* The gain, in memory of the case; NULL: no memory. */
static const void *make_gain(const struct xl__qgemm_canonical *c,
                             struct xl__selfcheck_case *t)
{
    struct xl__rng rng;
    void *gain = xl__case_add_memory(t, XL__QGEMM_GAIN, c->k + 2 * GUARD_ELEMS,
                                     (xl_dtype)c->gain, GUARD);
    xl__rng_seed(&rng, SEED + 2);
    for (size_t l = 0; gain && l < c->k; l++)
        xl__dtype_store(gain, GUARD_ELEMS + l, (xl_dtype)c->gain,
                        xl__rng_normal(&rng));
    t->call.value[XL__QGEMM_OFF_GAIN].u = GUARD_ELEMS;
    t->call.value[XL__QGEMM_EPS].f = case_eps;
    return gain;
}

/* Are weights sums of a code's part and another one? Each is at most twice the
 * largest weight of the row, with the case's scales and zeros. */
static bool has_parts(size_t format)
{
    return format == XL_Q4_0 || format == XL_Q4_1 || format == XL_Q5_0 ||
           format == XL_Q4_K || format == XL_INT4;
}

/* What activations as bytes add to the error: of the sum, of roundings; of
 * E4M3 the sum's own, as it stands in the Accuracy line. */
static double bytes_error(const struct xl__qgemm_canonical *c, const float *a,
                          const float *apart, const float *w)
{
    static const double roundings = 24, u = 0x1p-23, least = 0x1p-110,
                        narrow = 0x1p-12, block = 128, few = 8;
    double top = 0, size = 0, either = 0;
    for (size_t l = 0; l < c->k; l++)
        top = fmax(top, 2 * fabs((double)w[l]));
    for (size_t l = 0; l < c->k; l++) {
        size += fabs((double)a[l]) *
                (fabs((double)w[l]) + (has_parts(c->format) ? 2 * top : 0));
        either += (double)apart[l] * fabs((double)w[l]);
    }
    const double of_sum =
        c->activations == XL_ACTIVATIONS_F8
            ? (double)c->k * (c->is_fast ? narrow : u) +
                  fmin((double)c->k, block) * narrow + few * u
            : expm1(((double)(c->k / XL__QGEMM_UNIT) + roundings) * log1p(u));
    return of_sum * size + either + 2 * (double)c->k * least;
}

/* Of row i of A and row j of W, before an epilogue. */
static double product_of(const struct xl__selfcheck_case *t, size_t i,
                         size_t j, double *error)
{
    static const double u = 0x1p-23;
    const struct xl__qgemm_canonical *c = t->of;
    const double k = (double)c->k, least = c->norm ? 0x1p-109 : 0x1p-126,
                 roundings = c->norm ? k / 2 + 16 : 8;
    const struct qgemm_case *own = t->own;
    const bool is_rounded = c->is_fast && !c->activations && c->a != XL_F32;
    const float *a = own->w + (c->n + i) * c->k, *w = own->w + j * c->k;
    double y = 0, size = 0, all = 0, weights = 0;
    for (size_t l = 0; l < c->k; l++) {
        const double x = (double)a[l];
        const double term = x * (double)w[l];
        y += term;
        all += fabs(x);
        weights += fabs((double)w[l]);
        size += fabs(term);
    }
    *error = expm1((k + roundings) * log1p(u)) * size + 2 * k * least;
    if (c->activations)
        *error =
            (c->norm ? *error : 0) + bytes_error(c, a, a + c->m * c->k, w);
    if (is_rounded)
        *error += (1 + *error / fmax(size, least)) *
                  (xl__dtype_unit_roundoff((xl_dtype)c->a) * size +
                   xl__dtype_underflow((xl_dtype)c->a) * all);
    if (c->norm) /* A' is of A's type */
        *error += (1 + *error / fmax(size, least)) *
                  (xl__dtype_unit_roundoff((xl_dtype)c->a) * size +
                   xl__dtype_underflow((xl_dtype)c->a) * weights);
    return y;
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct xl__qgemm_canonical *c = t->of;
    struct qgemm_case *own = t->own;
    const size_t along[XL__N_ALONG] = {0, 0, at[0], at[1]};
    const xl_dtype dtype = (xl_dtype)c->c;
    const double y = product_of(t, at[0], at[1], error);
    (void)result;
    if (c->pair) {
        const unsigned second = own->hook.snippet.n_operands - 1;
        own->hook.scalar[second] =
            product_of(t, at[0], xl__qgemm_cols(c) + at[1],
                       &own->hook.scalar_error[second]);
    }
    if (c->epilogue)
        return xl__case_epilogue_expected(&own->hook, t, along, dtype, y,
                                          *error, error);
    if (dtype != XL_F32)
        *error += xl__dtype_unit_roundoff(dtype) * (fabs(y) + *error) +
                  xl__dtype_underflow(dtype);
    return y;
}

xl_status xl__qmat_case_parts(const struct xl__qgemm_canonical *c,
                              struct xl__selfcheck_case *t,
                              struct xl__qmat_part part[XL__QGEMM_PARTS])
{
    xl_status status = XL_OK;
    const xl_qshape shape = xl__qgemm_shape(c);
    xl_qbytes bytes;
    TRY(xl_qshape_bytes(&shape, &bytes));
    const xl_dtype types[] = {
        XL_U8, xl_qformat_layout((xl_qformat)c->format)->scale_dtype, XL_U8};
    const size_t n[] = {bytes.blocks, bytes.scales / xl_dtype_bytes(types[1]),
                        c->has_zeros ? bytes.zeros : 0};
    const size_t rows[] = {
        c->n, xl__ceil_div(c->n, xl__qshape_group_rows(&shape)), c->n};
    static const char *const names[] = {"w", "scales of w", "zeros of w"};
    for (unsigned i = 0; i < XL__QGEMM_PARTS; i++) {
        part[i] = (struct xl__qmat_part){names[i],
                                         XL__QGEMM_BLOCKS + i,
                                         XL__QGEMM_OFF_BLOCKS + i,
                                         types[i],
                                         n[i],
                                         rows[i],
                                         NULL};
        if (n[i] == 0)
            continue;
        unsigned char *first = xl__case_add_memory(
            t, part[i].slot, n[i] + 2 * GUARD_ELEMS, types[i], GUARD);
        TRY(first ? XL_OK : XL_NO_MEMORY);
        part[i].first = first + GUARD_ELEMS * xl_dtype_bytes(types[i]);
        t->call.value[part[i].offset_slot].u = GUARD_ELEMS;
    }
fail:
    return status;
}

/* Random weights, quantised, and their values. */
static xl_status make_weights(const struct xl__qgemm_canonical *c,
                              struct xl__selfcheck_case *t, float *w)
{
    xl_status status = XL_OK;
    const xl_qshape shape = xl__qgemm_shape(c);
    struct xl__qmat_part part[XL__QGEMM_PARTS];
    struct xl__rng rng;
    TRY(xl__qmat_case_parts(c, t, part));
    const xl_qdata data = {part[0].first, part[1].first, part[2].first};
    xl__rng_seed(&rng, SEED);
    for (size_t i = 0; i < c->n * c->k; i++)
        w[i] = (float)xl__rng_normal(&rng);
    TRY(xl_qmat_quantise_host(&shape, w, &data));
    TRY(xl_qmat_dequantise_host(&shape, &data, w));
fail:
    return status;
}

/* A full-size case may be of a class whose columns are not whole blocks. */
xl_status xl__qgemm_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__qgemm_canonical *c = small;
    const size_t cols = xl__qgemm_cols(c),
                 size[XL__N_ALONG] = {1, 1, c->m, cols};
    const size_t elems_a = (c->m - 1) * c->row_stride_a + c->k;
    const void *gain = NULL;
    const size_t elems_c =
        (c->m - 1) * c->row_stride_c + (cols - 1) * c->col_stride_c + 1;
    size_t bytes;
    struct xl__rng rng;
    if (!xl__mul(c->n + 2 * c->m, c->k, &bytes) ||
        !xl__mul(bytes, sizeof(float), &bytes))
        return XL_UNSUPPORTED;
    struct qgemm_case *own = xl__calloc(1, sizeof *own + bytes);
    struct xl__case_result *r =
        xl__case_add_result(t, "C", XL__QGEMM_C, (xl_dtype)c->c, GUARD_ELEMS);
    void *a = xl__case_add_memory(t, XL__QGEMM_A, elems_a + 2 * GUARD_ELEMS,
                                  (xl_dtype)c->a, GUARD);
    t->of = small;
    t->expect = expected_value;
    t->own = own;
    t->every = xl__case_sample_step(xl__qgemm_flop(c));
    if (!own || !r || !a ||
        !xl__case_add_memory(t, XL__QGEMM_C, elems_c + 2 * GUARD_ELEMS,
                             (xl_dtype)c->c, GUARD))
        return XL_NO_MEMORY;
    if (c->norm && !(gain = make_gain(c, t)))
        return XL_NO_MEMORY;
    t->call.value[XL__GEMM_ALPHA].f = 1;
    t->call.value[XL__QGEMM_OFF_A].u = GUARD_ELEMS;
    t->call.value[XL__QGEMM_OFF_C].u = GUARD_ELEMS;
    xl__case_add_dim(r, c->m, c->row_stride_c);
    xl__case_add_dim(r, cols, c->col_stride_c);
    xl__rng_seed(&rng, SEED + 1);
    for (size_t i = 0; i < c->m; i++) {
        float *row = own->w + (c->n + i) * c->k;
        for (size_t l = 0; l < c->k; l++) {
            const size_t e = GUARD_ELEMS + i * c->row_stride_a + l;
            xl__dtype_store(a, e, (xl_dtype)c->a, xl__rng_normal(&rng));
            row[l] = (float)xl__dtype_load(a, e, (xl_dtype)c->a);
        }
        if (gain)
            norm_row(c, gain, row);
        make_row(c, row, row + c->m * c->k);
    }
    TRY(make_weights(c, t, own->w));
    TRY(xl__case_epilogue_init(&own->hook, &c->epilogue, size,
                               XL__QGEMM_OPERAND, XL__QGEMM_OPERAND_VALUE, t));
    if (c->scaled) {
        own->scaled = *c->scaled;
        for (unsigned i = 0; c->epilogue && i < c->epilogue->n_operands; i++)
            own->scaled.operand[i] = c->epilogue->operand[i];
        c->scaled = &own->scaled;
    }
fail:
    return status;
}
