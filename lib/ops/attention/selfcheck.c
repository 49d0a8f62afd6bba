/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of attention: sequences and heads that are not their
 * neighbours', queries and keys that cross the border of a tile, padded rows,
 * guard bytes around the results, one query with a NaN. The host computes in
 * double; the tolerance is the Accuracy line of xl_attention_run(). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/attention/case.h"
#include "ops/path/check.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64, SEED = 1 };
enum { ROW_NAN = 2 };
static const double u = FLT_EPSILON / 2;

/* What products of f32 lose on a matrix engine. Two terms of 11 bits are off
 * by 2^-23 of a number where the first is rounded, by 3 2^-23 where it is cut,
 * and the product of the second terms, 2^-11 and 2^-10, is missing: 2^-20 for
 * one of each, and what is lost of the losses below 2^-22. Rounded to 11 bits,
 * or cut: 2^-9. Each instruction adds 8 products to a sum and cuts all at 25
 * bits, the sum once more at 24: 13 2^-25, 3 times for 8 of d_head below 2^-23
 * a column; for the 64 keys of a block below 2^-16. Of f16, whose
 * instructions add 16 products, 21 2^-25, it is less.
 *
 * Terms of f16 are rounded both: 2^-22 of a number each, and the product of
 * the second terms 2^-22, 3 2^-22 in all; or, where that is more, half of the
 * least number of f16, 2^-25, for a number 2^-39 of the largest of its block,
 * which is scaled to 2^14 or more. With Q and K the largest, a product of x
 * and y loses 2^-39 (1 + 2^-10) (Q |y| + |x| K) + 2^-77 Q K more, less than
 * 2^-37 Q K. Weights, of which one of a row is 1 or more, or the sink's is,
 * have the factor 2^7, so that one loses 2^-32: of o less than 2^-31 of the
 * sum of v's magnitudes, and with V the largest, since shares add up to 1 or
 * less, 2^-38 V. */
static const struct lost {
    double product, column, block;
    double of_largest, weight, value;
} lost[XL_N_ACCURACIES] = {
    [XL_ACCURACY_SPLIT] = {5 * 0x1p-22, 0x1p-23, 0x1p-16, 0x1p-37, 0x1p-31,
                           0x1p-38},
    [XL_ACCURACY_FAST] = {0x1p-9, 0x1p-23, 0x1p-16, 0, 0, 0}};

/* -- the case ------------------------------------------------------------- */

static const xl_heads *view_of(const struct xl__attention_canonical *c,
                               unsigned view)
{
    return &c->view[view];
}

size_t xl__heads_case_grain(const xl_heads *x)
{
    return xl__max_size(1, x->offset / xl_dtype_bytes(x->dtype));
}

void xl__heads_case_shrink(xl_heads *x, const size_t size[XL__HEADS_DIMS],
                           bool is_repeatable)
{
    const size_t grain = xl__heads_case_grain(x);
    if (x->stride[XL__HEADS_COL] > 1)
        x->stride[XL__HEADS_COL] = 2;
    size_t step = grain * ((xl__max_size(1, x->stride[XL__HEADS_COL]) *
                                size[XL__HEADS_COL] / grain + 1) | 1);
    for (unsigned d = XL__HEADS_COL; d-- > 0;) {
        if (is_repeatable && x->stride[d] == 0)
            continue;
        /* As canonical ones; packed rows have one block. */
        x->stride[d] = size[d] > 1 ? step : 0;
        step *= size[d];
    }
}

/* What is repeated of mask, slopes and sinks remains so. */
static void shrink_view(struct xl__attention_canonical *c, unsigned view)
{
    size_t size[XL__HEADS_DIMS];
    xl__attention_sizes(c, view, size);
    xl__heads_case_shrink(&c->view[view], size,
                          view >= XL__ATTENTION_MASK &&
                              view < XL__ATTENTION_GRAD_O);
}

/* Of a limit on distances within `keys`. */
static size_t shrink_limit(size_t limit, size_t keys)
{
    return limit == XL__ATTENTION_ANY ? limit : xl__min_size(limit, keys);
}

void xl__attention_shrink(const void *canonical,
                          const struct xl__variant *variant,
                          const struct xl__params *params, void *small)
{
    enum {
        ROWS = 4,
        KEYS = 16,
        MORE = 3,
        TILES = 2,
        MOST_SHARE = 3,
        PAGE_ROWS = 16
    };
    struct xl__attention_canonical *to = small;
    const bool is_tiled = variant && variant->tunables && params;
    const size_t rows =
        is_tiled ? (size_t)params->value[XL__ATTENTION_BQ] : ROWS;
    const size_t keys =
        is_tiled ? (size_t)params->value[XL__ATTENTION_BK] : KEYS;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    const size_t share = xl__min_size(xl__attention_share(to), MOST_SHARE);
    to->n_batch = xl__min_size(to->n_batch, 2);
    to->n_kv_heads = xl__min_size(to->n_kv_heads, 2);
    to->n_heads = share * to->n_kv_heads;
    /* Tiles of a gradient have the queries of one head. */
    to->n_q = rows / (xl__attention_is_backward(to) ? 1 : share) + MORE;
    to->n_kv = TILES * keys + MORE;
    to->before = shrink_limit(to->before, keys);
    to->after = shrink_limit(to->after, keys);
    if (to->kv_rows.page_rows)
        to->kv_rows.page_rows = PAGE_ROWS;
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        if (xl__attention_has(to, i))
            shrink_view(to, i);
    }
}

/* -- host memory ---------------------------------------------------------- */

size_t xl__heads_case_at(const xl_heads *x, const size_t at[XL__HEADS_DIMS])
{
    size_t i = xl__heads_case_grain(x);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        i += at[d] * x->stride[d];
    return i;
}

/* Keys of sequence b: fewer than n_kv, where the case may state it. */
static size_t keys_of(const struct xl__attention_canonical *c, size_t b)
{
    enum { LESS = 3 };
    return c->kv_rows.kind ? c->n_kv - b * LESS : c->n_kv;
}

/* The page that has key j, each once and in another order. */
static size_t page_of(const struct xl__attention_canonical *c, size_t b,
                      size_t page)
{
    const size_t n = xl__ceil_div(c->n_kv, c->kv_rows.page_rows);
    return n * c->n_batch - 1 - (b * n + page);
}

/* Where row i of sequence b is: in its block, packed, or in a page. */
static void locate_row(const struct xl__attention_canonical *c, unsigned view,
                       size_t at[XL__HEADS_DIMS])
{
    const size_t b = at[XL__HEADS_BATCH], i = at[XL__HEADS_ROW];
    const bool is_of_q = view == XL__ATTENTION_Q || view == XL__ATTENTION_O ||
                         view == XL__ATTENTION_LSE;
    const bool is_of_kv = view == XL__ATTENTION_K || view == XL__ATTENTION_V ||
                          view == XL__ATTENTION_K_SCALES ||
                          view == XL__ATTENTION_V_SCALES;
    const size_t kind = is_of_q    ? c->q_rows.kind
                        : is_of_kv ? c->kv_rows.kind
                                   : 0;
    if (kind == XL_ROWS_PACKED) {
        at[XL__HEADS_BATCH] = 0;
        for (size_t s = 0; s < b; s++)
            at[XL__HEADS_ROW] += is_of_q ? c->n_q : keys_of(c, s);
    } else if (kind == XL_ROWS_PAGED) {
        at[XL__HEADS_BATCH] = page_of(c, b, i / c->kv_rows.page_rows);
        at[XL__HEADS_ROW] = i % c->kv_rows.page_rows;
    }
}

static double load_element(const struct xl__selfcheck_case *t, unsigned view,
                           size_t b, size_t h, size_t i, size_t c)
{
    const xl_heads *x = view_of(t->of, view);
    size_t at[XL__HEADS_DIMS] = {b, h, i, c};
    locate_row(t->of, view, at);
    return xl__dtype_load(t->before[XL__ATTENTION_MEM + view],
                          xl__heads_case_at(x, at), x->dtype);
}

double xl__attention_case_load(const struct xl__selfcheck_case *t,
                               unsigned view, size_t b, size_t h, size_t i,
                               size_t c)
{
    const unsigned scales = view == XL__ATTENTION_K   ? XL__ATTENTION_K_SCALES
                            : view == XL__ATTENTION_V ? XL__ATTENTION_V_SCALES
                                                      : 0;
    const double x = load_element(t, view, b, h, i, c);
    return scales && xl__attention_has(t->of, scales)
               ? x * load_element(t, scales, b, h, i, 0)
               : x;
}

/* A number of a sequence, or of a page. */
static size_t number_at(const struct xl__attention_canonical *c, unsigned view,
                        const size_t at[XL__HEADS_DIMS])
{
    const bool is_of_q = view == XL__ATTENTION_Q_ROWS;
    const size_t b = at[XL__HEADS_BATCH];
    size_t start = 0;
    if (view == XL__ATTENTION_PAGES)
        return page_of(c, b, at[XL__HEADS_ROW]);
    if ((is_of_q ? c->q_rows.kind : c->kv_rows.kind) != XL_ROWS_PACKED)
        return is_of_q ? c->n_q : keys_of(c, b);
    for (size_t s = 0; s < b; s++)
        start += is_of_q ? c->n_q : keys_of(c, s);
    return start;
}

/* A value of an operand: normal, of bytes times 32; a mask has -inf here and
 * there, slopes and scales are positive; the lse of a gradient is large enough
 * for weights below 1. */
static double draw_value(struct xl__rng *rng, unsigned view, xl_dtype dtype)
{
    enum { ONE_IN = 8, OF_BYTES = 32 };
    static const double steepest = 0.25, lse = 5;
    if (view == XL__ATTENTION_K_SCALES || view == XL__ATTENTION_V_SCALES)
        return (xl__rng_uniform(rng) + 1) / OF_BYTES;
    if (dtype == XL_I8)
        return OF_BYTES * xl__rng_normal(rng);
    if (dtype == XL_F8E4M3) /* so few digits that sums may be exact */
        return rint(2 * xl__rng_normal(rng)) / 2;
    if (view == XL__ATTENTION_SLOPES)
        return steepest * xl__rng_uniform(rng);
    if (view == XL__ATTENTION_LSE)
        return lse + xl__rng_uniform(rng);
    if (view == XL__ATTENTION_MASK && xl__rng_below(rng, ONE_IN) == 0)
        return -(double)INFINITY;
    return xl__rng_normal(rng);
}

/* Blocks of keys that are split into terms have factors of their own. */
static int magnitude_of(const struct xl__attention_canonical *c, unsigned view,
                        const size_t at[XL__HEADS_DIMS])
{
    enum { ALIKE = 32, MAGNITUDES = 4 };
    const bool is_kv = view == XL__ATTENTION_K || view == XL__ATTENTION_V;
    return is_kv && c->accuracy == XL_ACCURACY_SPLIT
               ? (int)(at[XL__HEADS_ROW] / ALIKE % MAGNITUDES)
               : 0;
}

static void fill_view(const struct xl__attention_canonical *c, void *base,
                      const xl_heads *x, const size_t size[XL__HEADS_DIMS],
                      unsigned view)
{
    const bool is_list =
        view >= XL__ATTENTION_Q_ROWS && view <= XL__ATTENTION_PAGES;
    struct xl__rng rng;
    size_t at[XL__HEADS_DIMS];
    xl__rng_seed(&rng, SEED + view);
    for (at[0] = 0; at[0] < size[0]; at[0]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[2] = 0; at[2] < size[2]; at[2]++)
                for (at[3] = 0; at[3] < size[3]; at[3]++)
                    xl__dtype_store(
                        base, xl__heads_case_at(x, at), x->dtype,
                        is_list ? (double)number_at(c, view, at)
                                : ldexp(draw_value(&rng, view, x->dtype),
                                        -magnitude_of(c, view, at)));
}

static xl_status make_result(struct xl__selfcheck_case *t, const xl_heads *x,
                             const size_t size[XL__HEADS_DIMS], unsigned view)
{
    struct xl__case_result *r = xl__case_add_result(
        t, xl__attention_names[view], XL__ATTENTION_MEM + view, x->dtype,
        xl__heads_case_grain(x));
    for (unsigned d = 0; r && d < XL__HEADS_DIMS; d++)
        xl__case_add_dim(r, size[d], x->stride[d]);
    return r ? XL_OK : XL_NO_MEMORY;
}

static xl_status make_view(struct xl__selfcheck_case *t,
                           const struct xl__attention_canonical *c,
                           unsigned view)
{
    const xl_heads *x = view_of(c, view);
    size_t size[XL__HEADS_DIMS], last[XL__HEADS_DIMS];
    xl__attention_sizes(c, view, size);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        last[d] = size[d] - 1;
    void *base = xl__case_add_memory(
        t, XL__ATTENTION_MEM + view,
        xl__heads_case_at(x, last) + 1 + GUARD_ELEMS, x->dtype, GUARD);
    t->call.value[XL__ATTENTION_OFF + view].u = xl__heads_case_grain(x);
    xl__attention_set_end(&t->call, view, size, x);
    if (!base)
        return XL_NO_MEMORY;
    const bool is_backward = xl__attention_is_backward(c);
    if (xl__attention_is_result(view, is_backward))
        return make_result(t, x, size, view);
    fill_view(c, base, x, size, view);
    /* Of a gradient, a NaN would hide what sums over queries give. */
    if (view == XL__ATTENTION_Q && c->n_q > ROW_NAN && !is_backward) {
        const size_t at[XL__HEADS_DIMS] = {0, 0, ROW_NAN, c->d_head / 2};
        xl__dtype_store(base, xl__heads_case_at(x, at), x->dtype, (double)NAN);
    }
    return XL_OK;
}

/* -- the elements --------------------------------------------------------- */

/* What a case owns besides its memory: a row, of which `weight` has a value
 * for each key that it sees. */
struct attention_case {
    struct xl__case_epilogue hook;
    size_t row; /* 1 + its number; 0: none yet */
    size_t first, last;
    double lse, error, lse_error; /* error: relative, of a weight */
    size_t head;                  /* 1 + k's of the row; 0: none yet */
    double largest[XL__ATTENTION_V + 1]; /* of q, k, v, with this head */
    double weight[];
};

static bool is_f8(const struct xl__attention_canonical *c)
{
    return view_of(c, XL__ATTENTION_Q)->dtype == XL_F8E4M3;
}

/* An engine may keep 13 bits of sums of 8-bit floats. Of products that a g, a
 * power of two, divides and whose magnitudes add up to 2^12 g or less, these
 * are all. */
static const double f8_sums = 0x1p12;

static bool is_cut(const struct xl__selfcheck_case *t, size_t b, size_t h,
                   size_t i, size_t j)
{
    const struct xl__attention_canonical *c = t->of;
    const size_t g = h / xl__attention_share(c);
    double grain = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        double size = 0;
        for (size_t col = 0; col < c->d_head; col++) {
            const double x = load_element(t, XL__ATTENTION_Q, b, h, i, col) *
                             load_element(t, XL__ATTENTION_K, b, g, j, col);
            size += fabs(x);
            if (pass > 0 && x / grain != (double)(long)(x / grain))
                return true;
        }
        if (!isfinite(size) || size == 0)
            return false;
        grain = exp2(ceil(log2(size / f8_sums)));
    }
    return false;
}

struct xl__attention_score
xl__attention_case_score(const struct xl__selfcheck_case *t, size_t b,
                         size_t h, size_t i, size_t j)
{
    const struct xl__attention_canonical *c = t->of;
    const size_t g = h / xl__attention_share(c);
    const double scale = (double)(float)t->call.value[XL__ATTENTION_SCALE].f,
                 cap = (double)(float)t->call.value[XL__ATTENTION_CAP].f;
    struct xl__attention_score s = {.slope = 1};
    double size = 0, bias = 0;
    for (size_t col = 0; col < c->d_head; col++) {
        const double term =
            xl__attention_case_load(t, XL__ATTENTION_Q, b, h, i, col) *
            xl__attention_case_load(t, XL__ATTENTION_K, b, g, j, col);
        s.x += term;
        size += fabs(term);
    }
    s.x *= scale;
    if (c->has_cap) {
        const double y = tanh(s.x / cap);
        s.slope = 1 - y * y;
        s.x = cap * y;
    }
    if (xl__attention_has(c, XL__ATTENTION_SLOPES))
        bias = xl__attention_case_load(t, XL__ATTENTION_SLOPES, b, h, 0, 0) *
               fabs((double)i + (double)keys_of(c, b) - (double)c->n_q -
                    (double)j);
    s.x -= bias;
    if (xl__attention_has(c, XL__ATTENTION_MASK))
        s.x += xl__attention_case_load(t, XL__ATTENTION_MASK, b, h, i, j);
    s.error = isinf(s.x) ? 0
                         : u * (((double)c->d_head + 6) * fabs(scale) * size +
                                16 * cap + 4 * bias + 4 * fabs(s.x));
    if (!isinf(s.x))
        s.error += (lost[c->accuracy].product +
                    (double)c->d_head * lost[c->accuracy].column) *
                   fabs(scale) * size;
    if (is_f8(c) && !isinf(s.x) && is_cut(t, b, h, i, j))
        s.error += (double)c->d_head / f8_sums * fabs(scale) * size;
    return s;
}

/* Score j of a row, and the bound of a device's error. */
static double score_at(const struct xl__selfcheck_case *t,
                       const size_t along[XL__N_ALONG], double *error)
{
    const struct xl__attention_canonical *c = t->of;
    const struct attention_case *own = t->own;
    struct xl__attention_score s = xl__attention_case_score(
        t, along[XL__ALONG_OUTER], along[XL__ALONG_BATCH],
        along[XL__ALONG_ROWS], along[XL__ALONG_COLS]);
    if (!isinf(s.x))
        s.error += lost[c->accuracy].of_largest * (double)c->d_head *
                   fabs((double)t->call.value[XL__ATTENTION_SCALE].f) *
                   own->largest[XL__ATTENTION_Q] *
                   own->largest[XL__ATTENTION_K];
    *error = s.error;
    return c->score
               ? xl__case_epilogue_expected(&own->hook, t, along, XL_F32, s.x,
                                            isnan(s.x) ? 0 : s.error, error)
               : s.x;
}

/* Into `own`: the largest magnitudes of what head g of k is multiplied with.
 */
static void find_largest(const struct xl__selfcheck_case *t, size_t b,
                         size_t g)
{
    const struct xl__attention_canonical *c = t->of;
    struct attention_case *own = t->own;
    if (own->head == 1 + b * c->n_kv_heads + g)
        return;
    own->head = 1 + b * c->n_kv_heads + g;
    for (unsigned view = XL__ATTENTION_Q; view <= XL__ATTENTION_V; view++) {
        const bool is_q = view == XL__ATTENTION_Q;
        const size_t heads = is_q ? xl__attention_share(c) : 1,
                     n = is_q ? c->n_q : keys_of(c, b);
        double *largest = &own->largest[view];
        *largest = 0;
        for (size_t i = 0; i < heads * n; i++) {
            for (size_t col = 0; col < c->d_head; col++)
                *largest = fmax(
                    *largest, fabs(xl__attention_case_load(
                                  t, view, b, g * heads + i / n, i % n, col)));
        }
    }
}

/* Into `own`: the row's weights, lse and errors. */
static void compute_row(const struct xl__selfcheck_case *t, size_t b, size_t h,
                        size_t i)
{
    static const double lowest = 104, fixed = 64;
    const struct xl__attention_canonical *c = t->of;
    struct attention_case *own = t->own;
    size_t along[XL__N_ALONG] = {b, h, i, 0};
    const double sink =
        xl__attention_has(c, XL__ATTENTION_SINKS)
            ? xl__attention_case_load(t, XL__ATTENTION_SINKS, b, h, 0, 0)
            : -(double)INFINITY;
    double top = sink, deepest = 0, most = 0, sum = 0;
    bool is_nan = false;
    find_largest(t, b, h / xl__attention_share(c));
    struct xl__attention_canonical of = *c;
    of.n_kv = keys_of(c, b);
    xl__attention_keys(&of, i, &own->first, &own->last);
    for (size_t j = own->first; j < own->last; j++) {
        double error;
        along[XL__ALONG_COLS] = j;
        own->weight[j] = score_at(t, along, &error);
        is_nan = is_nan || isnan(own->weight[j]) ||
                 own->weight[j] == (double)INFINITY;
        top = fmax(top, own->weight[j]);
        most = fmax(most, isnan(error) ? 0 : error);
    }
    const double shift = isinf(top) ? 0 : top;
    sum = exp(sink - shift);
    for (size_t j = own->first; j < own->last; j++) {
        if (isfinite(own->weight[j]))
            deepest = fmax(deepest, shift - own->weight[j]);
        own->weight[j] = exp(own->weight[j] - shift);
        sum += own->weight[j];
    }
    for (size_t j = own->first; j < own->last; j++)
        own->weight[j] = is_nan     ? (double)NAN
                         : sum == 0 ? 0
                                    : own->weight[j] / sum;
    deepest = fmin(deepest, lowest);
    own->lse = is_nan ? (double)NAN : shift + log(sum);
    own->error = expm1(2 * most) +
                 (2 * deepest + 2 * (double)c->n_kv + fixed) * u;
    own->lse_error = most + (deepest + (double)c->n_kv + fixed +
                             2 * fabs(isfinite(own->lse) ? own->lse : 0)) * u;
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *place,
                             double *error)
{
    const struct xl__attention_canonical *c = t->of;
    size_t at[XL__HEADS_DIMS];
    memcpy(at, place, sizeof at);
    if (c->q_rows.kind == XL_ROWS_PACKED) {
        at[0] = place[2] / c->n_q;
        at[2] = place[2] % c->n_q;
    }
    struct attention_case *own = t->own;
    const xl_dtype dtype = view_of(c, XL__ATTENTION_O)->dtype;
    const double rounding = xl__dtype_unit_roundoff(dtype);
    const size_t row = (at[0] * c->n_heads + at[1]) * c->n_q + at[2] + 1;
    double sum = 0, size = 0, all = 0;
    if (own->row != row)
        compute_row(t, at[0], at[1], at[2]);
    own->row = row;
    if (t->result[result].slot == XL__ATTENTION_MEM + XL__ATTENTION_LSE) {
        *error = own->lse_error;
        return own->lse;
    }
    for (size_t j = own->first; j < own->last; j++) {
        const double v =
            xl__attention_case_load(t, XL__ATTENTION_V, at[0],
                                    at[1] / xl__attention_share(c), j, at[3]);
        sum += own->weight[j] * v;
        size += own->weight[j] * fabs(v);
        all += fabs(v);
    }
    if (is_f8(c))
        *error = (own->error + xl__dtype_unit_roundoff(XL_F8E4M3) +
                  (double)c->n_kv / f8_sums) *
                     size +
                 0x1p-16 * all;
    else
        *error = (own->error + (dtype == XL_F32 ? 0 : rounding) +
                  lost[c->accuracy].product + lost[c->accuracy].block) *
                     size +
                 ((double)FLT_MIN + lost[c->accuracy].weight) * all +
                 lost[c->accuracy].value * own->largest[XL__ATTENTION_V];
    if (dtype != XL_F32)
        *error += rounding * (fabs(sum) + *error) + xl__dtype_underflow(dtype);
    return sum;
}

xl_status
xl__attention_case_init_views(struct xl__selfcheck_case *t,
                              const struct xl__attention_canonical *c)
{
    static const double scale = 1.5, cap = 4;
    xl_status status = XL_OK;
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        if (xl__attention_has(c, i))
            TRY(make_view(t, c, i));
    }
    t->call.value[XL__ATTENTION_SCALE].f = scale / sqrt((double)c->d_head);
    t->call.value[XL__ATTENTION_CAP].f = c->has_cap ? cap : 0;
fail:
    return status;
}

xl_status xl__attention_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__attention_canonical *c = small;
    const size_t size[XL__N_ALONG] = {c->n_batch, c->n_heads, c->n_q, c->n_kv};
    struct attention_case *own =
        xl__calloc(1, sizeof *own + c->n_kv * sizeof *own->weight);
    t->of = small;
    t->expect = expected_value;
    t->own = own;
    TRY(own ? XL_OK : XL_NO_MEMORY);
    /* Of a sample of a large case each element has a row of its own. */
    if (xl__case_sample_step(xl__attention_flop(c)) > 1)
        t->every = xl__case_sample_step(xl__attention_flop(c) *
                                        (double)c->d_head) | 1;
    TRY(xl__attention_case_init_views(t, c));
    TRY(xl__case_epilogue_init(&own->hook, &c->score, size,
                               XL__ATTENTION_OPERAND,
                               XL__ATTENTION_OPERAND_VALUE, t));
fail:
    return status;
}
