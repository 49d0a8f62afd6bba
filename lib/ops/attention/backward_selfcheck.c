/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of attention's gradient, with the operands of
 * selfcheck.c. Gradients are a function of o and lse, so these are random too,
 * not the results of a forward pass. The host computes in double; the
 * tolerance is the Accuracy line of xl_attention_run() for gradients. */
#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/attention/case.h"

static const double u = FLT_EPSILON / 2;

/* w and z of the Accuracy line. */
static double roundoff_of(const struct xl__attention_canonical *c)
{
    const xl_dtype dtype = c->view[XL__ATTENTION_V].dtype;
    return dtype == XL_F32 ? 0 : xl__dtype_unit_roundoff(dtype);
}
static double floor_of(const struct xl__attention_canonical *c)
{
    return fmax((double)FLT_MIN,
                xl__dtype_underflow(c->view[XL__ATTENTION_V].dtype));
}

/* A weight and the gradient of its score, with the bounds of a device's
 * errors, but for those of sums over them. */
struct pair {
    double p, p_error, s, s_error, s_size, s_floor;
};

static struct pair pair_at(const struct xl__selfcheck_case *t, size_t b,
                           size_t h, size_t i, size_t j)
{
    static const double of_exp = 8, of_tanh = 24, of_gradient = 24;
    const struct xl__attention_canonical *c = t->of;
    const size_t g = h / xl__attention_share(c);
    const double cap = t->call.value[XL__ATTENTION_CAP].f, z = floor_of(c);
    const struct xl__attention_score x =
        xl__attention_case_score(t, b, h, i, j);
    const double y =
        x.x - xl__attention_case_load(t, XL__ATTENTION_LSE, b, h, i, 0);
    double sum = 0, size = 0;
    for (size_t col = 0; col < c->d_head; col++) {
        const double by = xl__attention_case_load(t, XL__ATTENTION_GRAD_O, b,
                                                  h, i, col),
                     v = xl__attention_case_load(t, XL__ATTENTION_V, b, g, j,
                                                 col),
                     o = xl__attention_case_load(t, XL__ATTENTION_O, b, h, i,
                                                 col);
        sum += by * (v - o);
        size += fabs(by) * (fabs(v) + fabs(o));
    }
    if (x.x == -(double)INFINITY)
        return (struct pair){.p = 0};
    const double of_cap = c->has_cap ? 2 * x.error / cap + of_tanh * u : 0;
    const double e = x.error + fabs(y) * u;
    struct pair r = {.p = exp(y)};
    r.p_error = r.p * expm1(e + of_exp * u) + z;
    r.s = r.p * sum * x.slope;
    r.s_size = r.p * size;
    r.s_error =
        r.s_size * expm1(e + of_cap + ((double)c->d_head + of_gradient) * u);
    r.s_floor = z * (1 + size);
    return r;
}

/* The pairs of a row of a result: of a query those of its keys, of a key those
 * of the queries of each head that reads it. */
struct line {
    unsigned result;
    size_t row; /* 1 + its number; 0: none yet */
    struct pair pair[];
};

static void compute_line(const struct xl__selfcheck_case *t, unsigned view,
                         const size_t *at)
{
    const struct xl__attention_canonical *c = t->of;
    const size_t share = xl__attention_share(c);
    struct line *line = t->own;
    const bool is_of_query = view == XL__ATTENTION_GRAD_Q;
    const size_t n = is_of_query ? c->n_kv : share * c->n_q;
    for (size_t k = 0; k < n; k++) {
        const size_t h = is_of_query ? at[1] : at[1] * share + k / c->n_q,
                     i = is_of_query ? at[2] : k % c->n_q,
                     j = is_of_query ? k : at[2];
        size_t first, last;
        xl__attention_keys(c, i, &first, &last);
        line->pair[k] = j >= first && j < last ? pair_at(t, at[0], h, i, j)
                                               : (struct pair){.p = 0};
    }
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    enum { MORE = 4 };
    const struct xl__attention_canonical *c = t->of;
    struct line *line = t->own;
    const unsigned view = t->result[result].slot - XL__ATTENTION_MEM;
    const size_t share = xl__attention_share(c);
    const bool is_of_query = view == XL__ATTENTION_GRAD_Q,
               is_of_v = view == XL__ATTENTION_GRAD_V;
    const size_t heads = is_of_query ? c->n_heads : c->n_kv_heads,
                 rows = is_of_query ? c->n_q : c->n_kv,
                 n = is_of_query ? c->n_kv : share * c->n_q,
                 row = (at[0] * heads + at[1]) * rows + at[2] + 1;
    const double scale = (double)(float)t->call.value[XL__ATTENTION_SCALE].f;
    const double of_sum = ((double)n + MORE) * u + roundoff_of(c);
    const xl_dtype dtype = c->view[view].dtype;
    double sum = 0;
    if (line->row != row || line->result != result)
        compute_line(t, view, at);
    line->row = row;
    line->result = result;
    *error = 0;
    for (size_t k = 0; k < n; k++) {
        const struct pair *p = &line->pair[k];
        const size_t h = at[1] * share + k / c->n_q, i = k % c->n_q;
        const double x =
            is_of_query
                ? xl__attention_case_load(t, XL__ATTENTION_K, at[0],
                                          at[1] / share, k, at[3])
                : xl__attention_case_load(
                      t, is_of_v ? XL__ATTENTION_GRAD_O : XL__ATTENTION_Q,
                      at[0], h, i, at[3]);
        sum += (is_of_v ? p->p : scale * p->s) * x;
        *error += is_of_v ? (p->p_error + p->p * of_sum) * fabs(x)
                          : fabs(scale) *
                                ((p->s_error + p->s_size * of_sum) * fabs(x) +
                                 p->s_floor * (1 + fabs(x)));
    }
    *error += floor_of(c);
    if (dtype != XL_F32)
        *error += xl__dtype_unit_roundoff(dtype) * (fabs(sum) + *error) +
                  xl__dtype_underflow(dtype);
    return sum;
}

xl_status xl__attention_backward_case_init(void *small,
                                           struct xl__selfcheck_case *t)
{
    const struct xl__attention_canonical *c = small;
    const size_t most = xl__max_size(c->n_kv, xl__attention_share(c) * c->n_q);
    struct line *line =
        xl__calloc(1, sizeof *line + most * sizeof *line->pair);
    const double flop = xl__attention_flop(c);
    t->of = small;
    t->expect = expected_value;
    t->own = line;
    if (!line)
        return XL_NO_MEMORY;
    /* Of a sample of a large case each element has a row of its own. */
    if (xl__case_sample_step(flop) > 1)
        t->every = xl__case_sample_step(flop * (double)c->d_head) | 1;
    return xl__attention_case_init_views(t, c);
}
