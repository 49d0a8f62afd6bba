/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of attention on the host. */
#include "verify/attention_gradients.h"

#include <math.h>

#include "base/alloc.h"

static struct attention_pair pair_of(const struct attention_ref *r, size_t b,
                                     size_t h, size_t i, size_t j, size_t n)
{
    static const double of_exp = 8, of_cap = 24, of_gradient = 24, of_sum = 4;
    const struct attention_case *c = r->c;
    const struct ref_mat *m = r->operand;
    const double u = ref_roundoff(XL_F32),
                 z = fmax(ref_floor(XL_F32), ref_floor(c->dtype)),
                 w = c->dtype == XL_F32 ? 0 : ref_roundoff(c->dtype);
    const size_t o = attention_line(c, ATTENTION_O, b, h, i),
                 g = attention_line(c, ATTENTION_GRAD_O, b, h, i),
                 v = attention_line(c, ATTENTION_V, b, h / attention_share(c),
                                    j);
    struct attention_pair pair = {.p = 0};
    double by = 0, size = 0;
    if (!attention_sees(c, b, i, j))
        return pair;
    const struct attention_score x = attention_score(r, b, h, i, j);
    if (x.x == -(double)INFINITY)
        return pair;
    for (size_t col = 0; col < c->d; col++) {
        const double grad = ref_at(&m[ATTENTION_GRAD_O], g, col),
                     value = ref_at(&m[ATTENTION_V], v, col),
                     result = ref_at(&m[ATTENTION_O], o, col);
        by += grad * (value - result);
        size += fabs(grad) * (fabs(value) + fabs(result));
    }
    const double y = x.x - ref_at(&m[ATTENTION_LSE], b * c->n_heads + h, i);
    const double sums = ((double)n + of_sum) * u + w;
    const double t =
        c->soft_cap > 0 ? 2 * x.error / c->soft_cap + of_cap * u : 0;
    pair.p = exp(y);
    pair.s = pair.p * by * x.slope;
    pair.p_error =
        pair.p * (expm1(x.error + (fabs(y) + of_exp) * u) + sums) + z;
    pair.s_error =
        pair.p * size *
        (expm1(x.error + t + (fabs(y) + (double)c->d + of_gradient) * u) +
         sums);
    pair.floor = z * (1 + size);
    return pair;
}

static bool is_of_query(const struct attention_line_at *at)
{
    return at->operand == ATTENTION_GRAD_Q;
}

static size_t count_pairs(const struct attention_case *c,
                          const struct attention_line_at *at)
{
    return is_of_query(at) ? c->n_kv : attention_share(c) * c->n_q;
}

size_t attention_most_pairs(const struct attention_case *c)
{
    return xl__max_size(c->n_kv, attention_share(c) * c->n_q);
}

void attention_pairs_of(const struct attention_ref *r,
                        const struct attention_line_at *at,
                        struct attention_pair *pair)
{
    const struct attention_case *c = r->c;
    const size_t n = count_pairs(c, at);
    for (size_t k = 0; k < n; k++) {
        const size_t h = at->h * attention_share(c) + k / c->n_q;
        pair[k] = is_of_query(at) ? pair_of(r, at->b, at->h, at->i, k, n)
                                  : pair_of(r, at->b, h, k % c->n_q, at->i, n);
    }
}

double attention_gradient(const struct attention_ref *r,
                          const struct attention_line_at *at,
                          const struct attention_pair *pair, size_t c,
                          double *tol)
{
    const struct attention_case *of = r->c;
    const size_t n = count_pairs(of, at), share = attention_share(of);
    const bool is_of_v = at->operand == ATTENTION_GRAD_V;
    const enum attention_operand by = is_of_query(at) ? ATTENTION_K
                                      : is_of_v       ? ATTENTION_GRAD_O
                                                      : ATTENTION_Q;
    const double scale = attention_scale(of);
    double sum = 0;
    *tol = fmax(ref_floor(XL_F32), ref_floor(of->dtype));
    for (size_t k = 0; k < n; k++) {
        const size_t line =
            is_of_query(at)
                ? attention_line(of, by, at->b, at->h / share, k)
                : attention_line(of, by, at->b, at->h * share + k / of->n_q,
                                 k % of->n_q);
        const double x = ref_at(&r->operand[by], line, c);
        sum += (is_of_v ? pair[k].p : scale * pair[k].s) * x;
        *tol += is_of_v ? pair[k].p_error * fabs(x)
                        : fabs(scale) * (pair[k].s_error * fabs(x) +
                                         pair[k].floor * (1 + fabs(x)));
    }
    if (of->dtype != XL_F32)
        *tol += ref_roundoff(of->dtype) * (fabs(sum) + *tol) +
                ref_floor(of->dtype);
    return sum;
}
