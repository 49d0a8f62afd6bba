/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a reduction, in double, with its error bound.
 *
 *     bound = what the arguments' errors become + the reduction's own rounding
 *
 * The second term holds for any order of summation; its values are those that
 * include/crosslane/expr.h states for each reduction; for a sum of floats it
 * is 8 u sum |x|, whatever the order. */
#include "expr/host/reduction_value.h"

#include "expr/host/interval.h"

typedef struct xl__interval num;

/* The numbers to reduce, converted from the argument's type to the type that
 * the reduction works in. */
struct reduced_numbers {
    const num *a;
    unsigned step;
    size_t n;
    enum xl__vtype from, to;
    const struct xl__precision *p;
};

static num get_number(const struct reduced_numbers *m, size_t i)
{
    return xl__interval_convert(m->p, m->a[i * m->step], m->from, m->to);
}

/* A sum of floats: |error| <= 8 u sum |x|. */
static const double sum_roundings = 8;

struct sums {
    double x, size, err;
};

static struct sums add_up(const struct reduced_numbers *m)
{
    struct sums s = {0, 0, 0};
    long double x = 0;
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        x += (long double)a.x;
        s.size += fabs(a.x) + a.err;
        s.err += a.err;
    }
    s.x = (double)x;
    return s;
}

/* A partial sum in the order of the device may exceed the largest float
 * although the sum does not: then the bound is infinite. */
static num reduce_sum_f32(const struct reduced_numbers *m)
{
    const struct sums s = add_up(m);
    if (isfinite(s.x) && s.size > m->p->most)
        return (num){s.x, xl__unbounded};
    return xl__interval_float(
        m->p, s.x,
        s.err + (isfinite(s.x) ? sum_roundings * m->p->u * s.size : 0));
}

static num reduce_sum_i32(const struct reduced_numbers *m)
{
    const struct sums s = add_up(m);
    uint64_t bits = 0;
    for (size_t i = 0; i < m->n; i++)
        bits += (uint64_t)xl__to_i64(get_number(m, i).x);
    num out = xl__interval_integer(m->p, bits);
    if (s.err > 0)
        out.err = s.size > m->p->top ? xl__unbounded : s.err;
    return out;
}

/* n - 1 products of one rounding u each, whatever the order: (1 + u)^n - 1,
 * which is at most 2 n u here. The arguments' errors enter relatively. A
 * partial product may overflow, or be flushed to 0, although the product of
 * all is neither: that leaves NaN, or an exact 0, certain. */
static num reduce_prod_f32(const struct reduced_numbers *m)
{
    const double u = m->p->u, n = (double)m->n;
    double x = 1, most = 1, least = 1, wide = 1;
    bool is_sure = n * u < 0.5, has_zero = false;
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        const double size = fabs(a.x);
        x *= a.x;
        wide *= a.err > 0 ? 1 + a.err / size : 1;
        most *= fmax(size + a.err, 1);
        least *= fmin(fmax(size - a.err, 0), 1);
        is_sure = is_sure && (a.err == 0 || size > a.err);
        has_zero = has_zero || (a.x == 0 && a.err == 0);
    }
    if (is_sure && (isnan(x) || (has_zero && most <= m->p->most)))
        return (num){x, 0};
    if (!is_sure || most > m->p->most || least < m->p->least)
        return (num){x, xl__unbounded};
    return xl__interval_float(m->p, x, fabs(x) * (wide * (1 + 2 * n * u) - 1));
}

static num reduce_prod_i32(const struct reduced_numbers *m)
{
    uint64_t bits = 1;
    double err = 0;
    for (size_t i = 0; i < m->n; i++) {
        bits *= (uint64_t)xl__to_i64(get_number(m, i).x);
        err += get_number(m, i).err;
    }
    num out = xl__interval_integer(m->p, bits);
    if (err > 0)
        out.err = xl__unbounded;
    return out;
}

/* The device divides by n or multiplies by 1 / n: at most 2 roundings of 2.5
 * ulp, or 10 u. */
static num reduce_mean(const struct reduced_numbers *m)
{
    enum { DIVISION = 10 };
    const double n = (double)m->n;
    const num s = reduce_sum_f32(m);
    const double x = s.x / n;
    if (!isfinite(x) || !isfinite(s.err))
        return (num){x, s.err};
    return xl__interval_float(m->p, x,
                              s.err / n + DIVISION * m->p->u * fabs(x));
}

/* The arguments' errors dx change the variance by at most 2 / n sum |x - mean|
 * dx + 1 / n sum dx^2. Squares below the least normal number may be flushed to
 * 0. */
static num reduce_variance(const struct reduced_numbers *m)
{
    enum { OF_VAR = 16 };
    const double n = (double)m->n, u = m->p->u;
    const struct sums s = add_up(m);
    const double middle = s.x / n;
    double x = 0, err = 0;
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        const double d = a.x - middle;
        x += d * d;
        err += 2 * fabs(d) * a.err + a.err * a.err;
    }
    x /= n;
    if (isfinite(x) && (s.size > m->p->most || x * n > m->p->most))
        return (num){x, xl__unbounded};
    if (!isfinite(x))
        return xl__interval_float(m->p, x, s.err);
    return xl__interval_float(m->p, x,
                              err / n + m->p->least +
                                  OF_VAR * u * (x + u * middle * middle));
}

/* The arguments' errors e change the Euclidean norm by at most |e|, since | |x
 * + e| - |x| | <= |e|. Each square is rounded, the sum has the error of a sum,
 * and the root has 3 ulp. No square overflows or underflows; numbers below the
 * least normal one may be flushed to 0. */
static num reduce_norm2(const struct reduced_numbers *m)
{
    enum { OF_ROOT = 6 };
    double sum = 0, moved = 0;
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        sum += a.x * a.x;
        moved += a.err * a.err;
    }
    const double x = sqrt(sum), lost = sqrt((double)m->n) * m->p->least;
    if (!isfinite(x))
        return xl__interval_float(m->p, x, sqrt(moved));
    return xl__interval_float(m->p, x,
                              sqrt(moved) + lost +
                                  ((sum_roundings + 1) / 2 + OF_ROOT) *
                                      m->p->u * x);
}

/* -- minimum, maximum, their index, any, all -------------------------- */

/* Is a larger (for_most) or smaller than b? NaN is more extreme than any
 * number. */
static bool is_more_extreme(bool for_most, double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && !isnan(b);
    return for_most ? a > b : a < b;
}

static size_t find_extreme(const struct reduced_numbers *m, bool for_most)
{
    size_t found = 0;
    for (size_t i = 1; i < m->n; i++) {
        if (is_more_extreme(for_most, get_number(m, i).x,
                            get_number(m, found).x))
            found = i;
    }
    return found;
}

/* The result lies between the extreme of the lower ends and the extreme of the
 * upper ends of the arguments' intervals. */
static num reduce_extreme(const struct reduced_numbers *m, bool for_most)
{
    const double x = get_number(m, find_extreme(m, for_most)).x;
    double low = for_most ? -xl__unbounded : xl__unbounded, high = low;
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        if (isinf(a.err))
            return (num){x, xl__unbounded};
        if (isnan(a.x))
            return (num){x, 0};
        low = for_most ? fmax(low, a.x - a.err) : fmin(low, a.x - a.err);
        high = for_most ? fmax(high, a.x + a.err) : fmin(high, a.x + a.err);
    }
    return (num){
        x, fmax(xl__value_distance(low, x), xl__value_distance(high, x))};
}

/* The index is certain when no other interval reaches the extreme one. Of
 * exact and equal numbers the first is the result. */
static num reduce_index(const struct reduced_numbers *m, bool for_most)
{
    const size_t found = find_extreme(m, for_most);
    const num top = get_number(m, found);
    double err = isinf(top.err) ? xl__unbounded : 0;
    for (size_t i = 0; i < m->n && err == 0; i++) {
        const num a = get_number(m, i);
        const bool is_open = a.err > 0 || top.err > 0;
        if (i != found && is_open && !isnan(top.x) &&
            !(fabs(top.x - a.x) > a.err + top.err))
            err = xl__unbounded;
        if (isinf(a.err))
            err = xl__unbounded;
    }
    return (num){(double)found, err};
}

/* ANY (decides = 1) and ALL (decides = 0): one certain number that has the
 * deciding value is enough. */
static num reduce_logic(const struct reduced_numbers *m, double decides)
{
    num out = {1 - decides, 0};
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        if (a.x == decides && a.err == 0)
            return (num){decides, 0};
        if (a.x == decides)
            out.x = decides;
        out.err = fmax(out.err, a.err);
    }
    return out;
}

/* -- log(sum(exp(x))) ------------------------------------------------- */

/* The errors of the arguments enter with the weights of softmax, p / sum p.
 * exp has 3 ulp and takes x - max with its rounding; what was summed under a
 * smaller maximum is rescaled, by an exp and a product each time the maximum
 * rises. */
static num reduce_logsumexp(const struct reduced_numbers *m)
{
    enum { OF_SUM = 64, OF_LOG = 6 };
    const num top = reduce_extreme(m, true);
    double sum = 0, moved = 0, shifted = 0, far = 0;
    if (!isfinite(top.x) || isinf(top.err))
        return xl__interval_float(m->p, top.x, top.err);
    for (size_t i = 0; i < m->n; i++) {
        const num a = get_number(m, i);
        const double d = a.x - top.x, p = exp(d);
        sum += p;
        if (p > 0) {
            moved += p * a.err;
            shifted += p * fabs(d);
        }
        far = fmax(far, a.err);
    }
    const double x = top.x + log(sum);
    const double first = moved / sum, second = expm1(2 * far) * first;
    const double own =
        OF_SUM + 2 * shifted / sum + OF_LOG * log(sum) + fabs(top.x) + fabs(x);
    return xl__interval_float(m->p, x,
                              fmin(first + second, far) + own * m->p->u);
}

/* -- any reduction ---------------------------------------------------- */

static enum xl__vtype operand_type(const struct xl__node *n,
                                   enum xl__vtype from)
{
    switch (xl__expr_ops[n->op].result) {
    case XL__R_FLOAT:
        return XL__V_F32;
    case XL__R_LOGIC:
        return XL__V_BOOL;
    case XL__R_SAME:
        return n->type;
    default:
        return from;
    }
}

struct xl__interval xl__eval_reduce(const struct xl__graph *g, unsigned node,
                                    const num *a, unsigned step, size_t n)
{
    const struct xl__node *r = &g->node[node];
    const enum xl__vtype from = g->node[r->arg[0]].type;
    const struct reduced_numbers m = {
        a, step, n, from, operand_type(r, from), xl__precision_of(g)};
    switch (r->op) {
    case XL__E_SUM:
        return m.to == XL__V_F32 ? reduce_sum_f32(&m) : reduce_sum_i32(&m);
    case XL__E_PROD:
        return m.to == XL__V_F32 ? reduce_prod_f32(&m) : reduce_prod_i32(&m);
    case XL__E_MEAN:
        return reduce_mean(&m);
    case XL__E_VAR:
        return reduce_variance(&m);
    case XL__E_RMIN:
    case XL__E_RMAX:
        return reduce_extreme(&m, r->op == XL__E_RMAX);
    case XL__E_ARGMIN:
    case XL__E_ARGMAX:
        return reduce_index(&m, r->op == XL__E_ARGMAX);
    case XL__E_ANY:
    case XL__E_ALL:
        return reduce_logic(&m, r->op == XL__E_ANY);
    case XL__E_LOGSUMEXP:
        return reduce_logsumexp(&m);
    default:
        return reduce_norm2(&m);
    }
}
