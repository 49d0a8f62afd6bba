/* SPDX-License-Identifier: Apache-2.0 */
/* What a query sees, scores and results of attention on the host, in double. */
#include "cases/attention/attention_cases.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"

/* How far key j is behind query i, where the last of each are at one place. */
static double distance(const struct attention_case *c, size_t b, size_t i,
                       size_t j)
{
    return (double)i + (double)attention_keys(c, b) -
           (double)attention_queries(c, b) - (double)j;
}

bool attention_sees(const struct attention_case *c, size_t b, size_t i,
                    size_t j)
{
    const double d = distance(c, b, i, j);
    return j < attention_keys(c, b) && (!c->is_causal || d >= 0) &&
           (c->window == 0 || fabs(d) < (double)c->window);
}

double attention_pairs(const struct attention_case *c)
{
    double pairs = 0;
    for (size_t i = 0; i < c->n_q; i++) {
        const double at = (double)i + (double)c->n_kv - (double)c->n_q;
        const double reach =
            c->window ? (double)c->window : (double)(c->n_q + c->n_kv);
        const double end = fmin((double)c->n_kv,
                                at + (c->is_causal ? 1 : reach));
        pairs += fmax(0, end - fmax(0, at - reach + 1));
    }
    return pairs * (double)c->n_batch * (double)c->n_heads;
}

double attention_scale(const struct attention_case *c)
{
    return c->scale == 0 ? 1 / sqrt((double)c->d) : c->scale;
}

static const double f8_sums = 0x1p12;

/* What an engine's products of f32 lose: attention.h, Accuracy. */
static const struct loss {
    double product, column, block;
    double of_largest, weight, value; /* terms that are below f16's */
} losses[XL_N_ACCURACIES] = {
    [XL_ACCURACY_SPLIT] = {5 * 0x1p-22, 0x1p-23, 0x1p-16, 0x1p-37, 0x1p-31,
                           0x1p-38},
    [XL_ACCURACY_FAST] = {0x1p-9, 0x1p-23, 0x1p-16, 0, 0, 0}};

/* An engine may keep 13 bits of sums of 8-bit floats: all, if a power of two
 * divides the products whose magnitudes add up to 2^12 of it or less. */
static bool is_cut(const struct attention_ref *r, size_t q, size_t k,
                   double size)
{
    const struct ref_mat *m = r->operand;
    if (r->c->dtype != XL_F8E4M3 || !isfinite(size) || size == 0)
        return false;
    const double grain = exp2(ceil(log2(size / f8_sums)));
    for (size_t col = 0; col < r->c->d; col++) {
        const double x = ref_at(&m[ATTENTION_Q], q, col) *
                         ref_at(&m[ATTENTION_K], k, col) / grain;
        if (x != (double)(long)x)
            return true;
    }
    return false;
}

struct attention_score attention_score(const struct attention_ref *r, size_t b,
                                       size_t h, size_t i, size_t j)
{
    const struct attention_case *c = r->c;
    const struct ref_mat *m = r->operand;
    const size_t q = attention_line(c, ATTENTION_Q, b, h, i);
    const size_t k = attention_line(c, ATTENTION_K, b,
                                    h / attention_share(c), j);
    const size_t scale_line =
        attention_line(c, ATTENTION_K_SCALES, b, h / attention_share(c), j);
    struct attention_score s = {.slope = 1};
    const double factor = attention_has_scales(c)
                              ? ref_at(&m[ATTENTION_K_SCALES], scale_line, 0)
                              : 1;
    double size = 0, bias = 0, slope = 0;
    for (size_t col = 0; col < c->d; col++) {
        const double term = ref_at(&m[ATTENTION_Q], q, col) *
                            ref_at(&m[ATTENTION_K], k, col) * factor;
        s.x += term;
        size += fabs(term);
    }
    s.x *= attention_scale(c);
    if (c->soft_cap > 0) {
        const double y = tanh(s.x / c->soft_cap);
        s.slope = 1 - y * y;
        s.x = c->soft_cap * y;
    }
    if (c->with & WITH_SLOPES)
        bias = ref_at(&m[ATTENTION_SLOPES], b, h) * fabs(distance(c, b, i, j));
    s.x -= bias;
    if (attention_has(c, ATTENTION_MASK))
        s.x += ref_at(&m[ATTENTION_MASK],
                      attention_line(c, ATTENTION_MASK, b, h, i), j);
    if (c->with & WITH_SCORE)
        slope = ref_at(&m[ATTENTION_SLOPE], 0, h) *
                ref_at(&m[ATTENTION_AT], 0, j);
    s.error = ((double)c->d + 6) * fabs(attention_scale(c)) * size +
              16 * c->soft_cap + 4 * fabs(bias) + 4 * fabs(s.x);
    s.x += slope;
    s.error += 4 * fabs(slope) + fabs(s.x);
    s.error *= ref_roundoff(XL_F32);
    if (is_cut(r, q, k, size / factor))
        s.error += (double)c->d / f8_sums * fabs(attention_scale(c)) * size;
    s.error += (losses[c->accuracy].product +
                (double)c->d * losses[c->accuracy].column) *
               fabs(attention_scale(c)) * size;
    s.error = isfinite(s.x) ? s.error : 0;
    return s;
}

/* Of an operand, in the rows that belong to head g of k. */
static double largest_of(const struct attention_ref *r,
                         enum attention_operand x, size_t b, size_t g)
{
    const struct attention_case *c = r->c;
    const bool is_q = x == ATTENTION_Q;
    const size_t n_heads = is_q ? attention_share(c) : 1,
                 n = is_q ? attention_queries(c, b) : attention_keys(c, b);
    double largest = 0;
    for (size_t i = 0; i < n_heads * n; i++) {
        const size_t line =
            attention_line(c, x, b, g * n_heads + i / n, i % n);
        for (size_t col = 0; col < c->d; col++)
            largest = fmax(largest, fabs(ref_at(&r->operand[x], line, col)));
    }
    return largest;
}

void attention_row(const struct attention_ref *r, size_t b, size_t h, size_t i,
                   struct attention_row *row)
{
    static const double lowest = 104, fixed = 64;
    const struct attention_case *c = r->c;
    const double u = ref_roundoff(XL_F32), n = (double)c->n_kv;
    const double sink = c->with & WITH_SINKS
                            ? ref_at(&r->operand[ATTENTION_SINKS], b, h)
                            : -(double)INFINITY;
    double top = sink, most = 0, deepest = 0;
    bool is_nan = false;
    row->b = b;
    row->h = h;
    row->first = row->last = 0;
    for (size_t j = 0; j < c->n_kv; j++) {
        if (!attention_sees(c, b, i, j))
            continue;
        row->first = row->last == 0 ? j : row->first;
        row->last = j + 1;
        const struct attention_score s = attention_score(r, b, h, i, j);
        const double x = row->weight[j] = s.x;
        is_nan = is_nan || isnan(x) || x == (double)INFINITY;
        top = fmax(top, x);
        most = fmax(most, s.error);
    }
    row->largest_v = 0;
    if (losses[c->accuracy].of_largest > 0) {
        const size_t g = h / attention_share(c);
        most += losses[c->accuracy].of_largest * (double)c->d *
                fabs(attention_scale(c)) * largest_of(r, ATTENTION_Q, b, g) *
                largest_of(r, ATTENTION_K, b, g);
        row->largest_v = largest_of(r, ATTENTION_V, b, g);
    }
    top = isinf(top) ? 0 : top;
    double sum = exp(sink - top);
    for (size_t j = row->first; j < row->last; j++) {
        if (isfinite(row->weight[j]))
            deepest = fmax(deepest, fmin(lowest, top - row->weight[j]));
        row->weight[j] = exp(row->weight[j] - top);
        sum += row->weight[j];
    }
    for (size_t j = row->first; j < row->last; j++) {
        row->weight[j] = sum == 0 ? 0 : row->weight[j] / sum;
        if (is_nan)
            row->weight[j] = (double)NAN;
    }
    row->lse = is_nan ? (double)NAN : top + log(sum);
    row->error = expm1(2 * most) + (2 * deepest + 2 * n + fixed) * u;
    row->lse_tol = most + (deepest + n + fixed +
                           (isfinite(row->lse) ? 2 * fabs(row->lse) : 0)) * u;
}

double attention_expected(const struct attention_ref *r,
                          const struct attention_row *row, size_t c,
                          double *tol)
{
    const size_t share = attention_share(r->c);
    const xl_dtype t = attention_out(r->c);
    const bool is_f8 = r->c->dtype == XL_F8E4M3;
    const double narrow = t == XL_F32 ? 0 : ref_roundoff(t);
    const double weights = is_f8 ? xl__dtype_unit_roundoff(XL_F8E4M3) +
                                       (double)r->c->n_kv / f8_sums
                                 : narrow + losses[r->c->accuracy].product +
                                       losses[r->c->accuracy].block;
    const double least =
        is_f8 ? 0x1p-16 : ref_floor(XL_F32) + losses[r->c->accuracy].weight;
    double sum = 0, size = 0, all = 0;
    for (size_t j = row->first; j < row->last; j++) {
        const size_t line =
            attention_line(r->c, ATTENTION_V, row->b, row->h / share, j);
        double v = ref_at(&r->operand[ATTENTION_V], line, c);
        if (attention_has_scales(r->c))
            v *= ref_at(&r->operand[ATTENTION_V_SCALES],
                        attention_line(r->c, ATTENTION_V_SCALES, row->b,
                                       row->h / share, j),
                        0);
        sum += row->weight[j] * v;
        size += row->weight[j] * fabs(v);
        all += fabs(v);
    }
    *tol = (row->error + weights) * size + least * all +
           losses[r->c->accuracy].value * row->largest_v;
    *tol += narrow * (fabs(sum) + *tol) + ref_floor(t);
    return sum;
}
