/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a graph on the host, node by node. See expr_host.h. The bounds
 * of reductions are those of include/crosslane/expr.h. */
#include "lib/ops/expression/expr_host.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "expr/graph/infer.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "expr/language/parser.h"

typedef struct xl__interval num;

static const double U = 0x1p-24;      /* of f32 */
static const double SMALL = 0x1p-126; /* what may be flushed */

/* A sum with NaN or an infinity: true, and the sum with its bound. */
static bool sum_specials(const num *v, size_t n, num *out)
{
    double sum = 0;
    bool special = false;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i].err < INFINITY)) {
            *out = (num){v[i].x, INFINITY};
            return true;
        }
        special = special || !isfinite(v[i].x);
        sum += isfinite(v[i].x) ? 0 : v[i].x;
    }
    *out = (num){sum, 0};
    return special;
}

static num reduce_sum(const num *v, size_t n)
{
    double sum = 0, low = 0, mag = 0, err = 0;
    num out;
    if (sum_specials(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        /* Neumaier's compensated sum: the reference's own error is
         * negligible. */
        const double t = sum + v[i].x;
        low += fabs(sum) >= fabs(v[i].x) ? (sum - t) + v[i].x
                                         : (v[i].x - t) + sum;
        sum = t;
        mag += fabs(v[i].x) + v[i].err;
        err += v[i].err;
    }
    /* If a partial sum may exceed FLT_MAX, any result is correct. */
    return (num){sum + low,
                 mag > FLT_MAX ? INFINITY : err + 8 * U * mag + SMALL};
}

/* Sums of i32 wrap. */
static num reduce_isum(const num *v, size_t n)
{
    uint32_t sum = 0;
    double err = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (uint32_t)(int64_t)v[i].x;
        err += v[i].err;
    }
    return (num){(double)(int32_t)sum, err > 0 ? INFINITY : 0};
}

/* 2 n u; if a partial product may exceed the range of f32, any result is
 * correct. */
static num reduce_prod(const num *v, size_t n)
{
    double x = 1, most = 1, least = 1, rel = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(v[i].x);
        x *= v[i].x;
        most *= fmax(1, size + v[i].err);
        least *= fmin(1, size - v[i].err);
        rel += v[i].err > 0 ? v[i].err / size : 0;
    }
    if (!(most < FLT_MAX && least > SMALL && rel < 0.01))
        return (num){x, INFINITY};
    return (num){x, fabs(x) * 2 * (rel + (double)n * U) + SMALL};
}

/* Products of i32 wrap. */
static num reduce_iprod(const num *v, size_t n)
{
    uint32_t x = 1;
    double err = 0;
    for (size_t i = 0; i < n; i++) {
        x *= (uint32_t)(int64_t)v[i].x;
        err += v[i].err;
    }
    return (num){(double)(int32_t)x, err > 0 ? INFINITY : 0};
}

static num reduce_mean(const num *v, size_t n)
{
    num s = reduce_sum(v, n);
    s.x /= (double)n;
    s.err = s.err / (double)n + 4 * U * fabs(s.x); /* the division */
    return isfinite(s.x) ? s : (num){s.x, s.err < INFINITY ? 0 : INFINITY};
}

static num reduce_var(const num *v, size_t n)
{
    num mean = reduce_mean(v, n);
    double var = 0, err = 0;
    if (!isfinite(mean.x) || !(mean.err < INFINITY))
        return (num){NAN, mean.err < INFINITY ? 0 : INFINITY};
    for (size_t i = 0; i < n; i++) {
        const double d = v[i].x - mean.x;
        var += d * d;
        err += 2 * fabs(d) * v[i].err + v[i].err * v[i].err;
    }
    var /= (double)n;
    if (var > FLT_MAX / (double)n)
        return (num){var, INFINITY};
    return (num){var, err / (double)n + SMALL +
                          16 * U * (var + U * mean.x * mean.x)};
}

/* If an element is NaN, so is the result; if that is not certain of an
 * element, any result is correct. */
static bool has_nan(const num *v, size_t n, num *out)
{
    bool unsure = false, nan = false;
    for (size_t i = 0; i < n; i++) {
        unsure = unsure || !(v[i].err < INFINITY);
        nan = nan || isnan(v[i].x);
    }
    *out = (num){NAN, unsure ? INFINITY : 0};
    return unsure || nan;
}

static num find_extremum(const num *v, size_t n, double sign)
{
    num out;
    double most = -INFINITY, low = -INFINITY, high = -INFINITY;
    if (has_nan(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        const double x = sign * v[i].x;
        most = fmax(most, x);
        low = fmax(low, x - v[i].err);
        high = fmax(high, x + v[i].err);
    }
    if (!isfinite(most))
        return (num){sign * most, 0};
    return (num){sign * most, fmax(most - low, high - most)};
}

static num reduce_max(const num *v, size_t n)
{
    return find_extremum(v, n, 1);
}
static num reduce_min(const num *v, size_t n)
{
    return find_extremum(v, n, -1);
}

/* The first index of the extreme; any result is correct if the bounds of
 * another element overlap it. */
static num find_arg_extremum(const num *v, size_t n, double sign)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i].err < INFINITY))
            return (num){0, INFINITY};
        if (!isnan(v[at].x) &&
            (isnan(v[i].x) || sign * v[i].x > sign * v[at].x))
            at = i;
    }
    for (size_t i = 0; i < n && !isnan(v[at].x); i++) {
        const double gap = sign * (v[at].x - v[i].x);
        const double err = v[i].err + v[at].err;
        if (i != at && err > 0 && !(gap > err))
            return (num){(double)at, INFINITY};
    }
    return (num){(double)at, 0};
}

static num reduce_argmax(const num *v, size_t n)
{
    return find_arg_extremum(v, n, 1);
}

static num reduce_argmin(const num *v, size_t n)
{
    return find_arg_extremum(v, n, -1);
}

/* any (which = true) and all (false): one element that is certainly `which`
 * decides the result. */
static num reduce_logic(const num *v, size_t n, bool which)
{
    bool unsure = false;
    for (size_t i = 0; i < n; i++) {
        const bool sure = v[i].err == 0;
        if (sure && (v[i].x != 0) == which)
            return (num){which, 0};
        unsure = unsure || !sure;
    }
    return (num){!which, unsure ? INFINITY : 0};
}

static num reduce_any(const num *v, size_t n)
{
    return reduce_logic(v, n, true);
}

static num reduce_all(const num *v, size_t n)
{
    return reduce_logic(v, n, false);
}

/* max + log(sum exp(x - max)). The sum's terms have 3 ulp of exp and the
 * rounding of a difference each, twice where a partial sum is scaled to a new
 * maximum; log has 3 ulp; ulp <= 2 u. */
static num reduce_logsumexp(const num *v, size_t n)
{
    num max = reduce_max(v, n);
    double sum = 0, rel = 0, err = 0;
    if (!isfinite(max.x) || !(max.err < INFINITY))
        return max;
    for (size_t i = 0; i < n; i++) {
        const double below = max.x - v[i].x, e = exp(-below);
        sum += e;
        rel += e > 0 ? e * (2 * below + 24 + 8) * U : 0;
        err = fmax(err, v[i].err);
    }
    return (num){max.x + log(sum),
                 err + rel / sum + 6 * U * fabs(log(sum)) + SMALL +
                     2 * U * (fabs(max.x) + fabs(max.x + log(sum)))};
}

/* Half of the sum's bound and its squares' rounding; 3 ulp of sqrt. */
static num reduce_norm2(const num *v, size_t n)
{
    num out;
    double sum = 0, err = 0;
    bool infinite = false;
    if (has_nan(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        infinite = infinite || !isfinite(v[i].x);
        sum += v[i].x * v[i].x;
        err += v[i].err * v[i].err;
    }
    if (infinite)
        return (num){INFINITY, 0};
    if (sqrt(sum) > FLT_MAX)
        return (num){sqrt(sum), INFINITY};
    /* Numbers below the smallest normal one may be flushed. */
    return (num){sqrt(sum), sqrt(err) + 12 * U * (sqrt(sum) + sqrt(err)) +
                                sqrt((double)n) * SMALL};
}

static host_reduction *const reductions[XL__N_EXPR_OPS] = {
    [XL__E_SUM] = reduce_sum,
    [XL__E_MEAN] = reduce_mean,
    [XL__E_PROD] = reduce_prod,
    [XL__E_VAR] = reduce_var,
    [XL__E_RMIN] = reduce_min,
    [XL__E_RMAX] = reduce_max,
    [XL__E_ARGMIN] = reduce_argmin,
    [XL__E_ARGMAX] = reduce_argmax,
    [XL__E_ANY] = reduce_any,
    [XL__E_ALL] = reduce_all,
    [XL__E_LOGSUMEXP] = reduce_logsumexp,
    [XL__E_NORM2] = reduce_norm2,
};

host_reduction *host_reduce(const struct xl__node *node)
{
    if (node->type == XL__V_I32 && node->op == XL__E_SUM)
        return reduce_isum;
    if (node->type == XL__V_I32 && node->op == XL__E_PROD)
        return reduce_iprod;
    return reductions[node->op];
}

size_t host_place(const struct xl__shape *s, size_t i, unsigned n_dims,
                  const size_t *size, const size_t *stride)
{
    size_t place = 0;
    for (unsigned d = s->n_dims, e = n_dims; d-- > 0;) {
        const size_t at = i % s->size[d];
        i /= s->size[d];
        if (e > 0 && size[--e] > 1)
            place += at * stride[e];
    }
    return place;
}

static void dense_strides(const struct xl__shape *s, size_t *stride)
{
    size_t step = 1;
    for (unsigned d = s->n_dims; d-- > 0;) {
        stride[d] = step;
        step *= s->size[d];
    }
}

/* -- nodes ---------------------------------------------------------------- */

/* The type to which a reduction's argument is converted; reductions to f32
 * read integers as f32. */
static enum xl__vtype argument_type(const struct xl__node *node,
                                    const struct xl__node *arg)
{
    const enum xl__result result = xl__expr_ops[node->op].result;
    return result == XL__R_FLOAT  ? XL__V_F32
           : result == XL__R_SAME ? node->type
                                  : arg->type;
}

/* Gather the elements of `arg` that are reduced to element `i` of `node`, in
 * order of their index. */
static void gather_row(const struct xl__node *node, const struct xl__node *arg,
                       const num *from, size_t i, num *to)
{
    const enum xl__vtype type = argument_type(node, arg);
    size_t stride[XL_MAX_DIMS], kept[XL_MAX_DIMS];
    struct xl__shape reduced = arg->shape;
    dense_strides(&arg->shape, stride);
    for (unsigned d = 0; d < arg->shape.n_dims; d++) {
        const bool is_reduced = node->axes >> d & 1;
        kept[d] = is_reduced ? 1 : arg->shape.size[d];
        if (!is_reduced)
            reduced.size[d] = 1;
    }
    const size_t base = host_place(&node->shape, i, arg->shape.n_dims, kept,
                                   stride);
    const size_t n = xl__shape_elems(&reduced);
    for (size_t r = 0; r < n; r++)
        to[r] = xl__interval_convert(
            xl__precision_of(NULL),
            from[base + host_place(&reduced, r, arg->shape.n_dims,
                                   arg->shape.size, stride)],
            arg->type, type);
}

static bool eval_reduction(struct host_graph *h, const struct xl__node *node,
                           num *out)
{
    const struct xl__node *arg = &h->graph.node[node->arg[0]];
    const size_t n_out = xl__shape_elems(&node->shape);
    const size_t n = xl__shape_elems(&arg->shape) / n_out;
    host_reduction *reduce = host_reduce(node);
    num *row = xl__calloc(n, sizeof *row);
    if (!row)
        return false;
    for (size_t i = 0; i < n_out; i++) {
        gather_row(node, arg, h->node[node->arg[0]], i, row);
        out[i] = reduce(row, n);
    }
    free(row);
    return true;
}

static void eval_map(struct host_graph *h, unsigned id, num *out)
{
    const struct xl__node *node = &h->graph.node[id];
    const unsigned n_args = xl__expr_ops[node->op].n_args;
    const size_t n = xl__shape_elems(&node->shape);
    for (size_t i = 0; i < n; i++) {
        num arg[XL__EXPR_ARGS] = {{0, 0}};
        for (unsigned a = 0; a < n_args; a++) {
            const struct xl__shape *s = &h->graph.node[node->arg[a]].shape;
            size_t stride[XL_MAX_DIMS];
            dense_strides(s, stride);
            arg[a] = h->node[node->arg[a]][host_place(
                &node->shape, i, s->n_dims, s->size, stride)];
        }
        out[i] = xl__eval_node(&h->graph, id, arg);
    }
}

/* By places: those of the result before, along and behind the index. */
static void eval_gather(struct host_graph *h, const struct xl__node *node,
                        num *out)
{
    const unsigned index = node->arg[XL__GATHER_INDEX];
    const struct xl__shape *at = &h->graph.node[index].shape;
    const struct xl__node *from = &h->graph.node[node->arg[XL__GATHER_SOURCE]];
    size_t stride[XL_MAX_DIMS], behind = 1;
    unsigned axis = from->shape.n_dims;
    while (!(node->axes >> --axis & 1))
        behind *= from->shape.size[axis];
    size_t ahead = 1;
    for (unsigned d = 0; d < axis; d++)
        ahead *= from->shape.size[d];
    const size_t n = xl__shape_elems(&node->shape), each = n / ahead;
    const long long size = (long long)from->shape.size[axis];
    dense_strides(at, stride);
    for (size_t i = 0; i < n; i++) {
        const num k = h->node[index][host_place(&node->shape, i, at->n_dims,
                                                at->size, stride)];
        const long long place = (long long)k.x + (k.x < 0 ? size : 0);
        out[i] = (num){node->type == XL__V_F32 ? (double)NAN : 0, 0};
        if (place >= 0 && place < size)
            out[i] =
                h->node[node->arg[XL__GATHER_SOURCE]]
                       [(i / each * (size_t)size + (size_t)place) * behind +
                        i % behind];
        if (k.err > 0)
            out[i].err = INFINITY;
    }
}

static num eval_leaf(const struct expr_case *c, const struct host_graph *h,
                     const struct xl__node *node, size_t i)
{
    const xl_binding *b = &c->binding[node->binding];
    switch (node->op) {
    case XL__E_INPUT:
        return (num){case_load(c->mem[c->buffer[node->binding]].before,
                               b->tensor.offset + node->offset +
                                   host_place(&node->shape, i,
                                              node->shape.n_dims,
                                              node->shape.size, node->stride),
                               b->tensor.dtype),
                     0};
    case XL__E_SCALAR:
        return (num){node->type == XL__V_F32 ? (double)(float)b->scalar
                                             : b->scalar,
                     0};
    case XL__E_RAND:
    case XL__E_RANDN: {
        const num seed = h->node[node->arg[0]][0];
        const double x = xl__eval_rand(node->op, (int32_t)seed.x, i);
        const double ulp = xl__expr_ops[node->op].ulp;
        /* The factors of Box and Muller's method are at most 8; the bound is
         * absolute. */
        return (num){x, seed.err > 0 ? INFINITY : ulp * 2 * U * 8};
    }
    case XL__E_INDEX: {
        const unsigned axis = (unsigned)h->graph.node[node->arg[0]].value;
        for (unsigned d = node->shape.n_dims - 1; d > axis; d--)
            i /= node->shape.size[d];
        return (num){(double)(i % node->shape.size[axis]), 0};
    }
    default: return (num){node->value, 0}; /* CONST */
    }
}

static bool eval_node(struct host_graph *h, const struct expr_case *c,
                      unsigned id)
{
    const struct xl__node *node = &h->graph.node[id];
    const size_t n = xl__shape_elems(&node->shape);
    num *out = h->node[id] = xl__calloc(n, sizeof *out);
    if (!out)
        return false;
    switch (xl__expr_ops[node->op].cls) {
    case XL__C_REDUCE:
        return eval_reduction(h, node, out);
    case XL__C_MAP:
        eval_map(h, id, out);
        return true;
    case XL__C_VIEW:
        if (node->op == XL__E_GATHER) {
            eval_gather(h, node, out);
            return true;
        }
        for (size_t i = 0; i < n; i++)
            out[i] = h->node[node->arg[0]]
                            [node->offset +
                             host_place(&node->shape, i, node->shape.n_dims,
                                        node->shape.size, node->stride)];
        return true;
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = eval_leaf(c, h, node, i);
    return true;
}

/* -- a case --------------------------------------------------------------- */

static size_t power_of_two(size_t x, size_t most)
{
    size_t p = 1;
    while (p < most && x % (p * 2) == 0)
        p *= 2;
    return p;
}

static bool is_same_view(const struct expr_case *c, unsigned i, unsigned j)
{
    const xl_tensor *a = &c->binding[i].tensor, *b = &c->binding[j].tensor;
    return !c->binding[i].is_scalar && !c->binding[j].is_scalar &&
           c->buffer[i] == c->buffer[j] && a->offset == b->offset &&
           a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static void make_signature(const struct expr_case *c, struct xl__signature *s)
{
    memset(s, 0, sizeof *s);
    s->n = c->n;
    s->fast_math = c->fast_math;
    for (unsigned i = 0; i < c->n; i++) {
        const xl_binding *from = &c->binding[i];
        struct xl__parameter *b = &s->b[i];
        snprintf(b->name, sizeof b->name, "%s", from->name);
        memcpy(b->size, from->tensor.size, sizeof b->size);
        memcpy(b->stride, from->tensor.stride, sizeof b->stride);
        b->n_dims = from->tensor.n_dims;
        b->is_scalar = from->is_scalar;
        b->dtype = from->tensor.dtype;
        b->align = (unsigned)power_of_two(from->tensor.offset, 64);
        while (b->same_as < i && !is_same_view(c, b->same_as, i))
            b->same_as++;
    }
}

bool host_evaluate(const struct expr_case *c, struct host_graph *out)
{
    struct xl__error e = {0};
    struct xl__tree tree = {0};
    struct xl__signature *s = xl__calloc(1, sizeof *s);
    bool right = s != NULL;
    memset(out, 0, sizeof *out);
    if (right) {
        make_signature(c, s);
        right = xl__parse(xl__str_text(&c->text), c->text.len, &tree, &e) ==
                    XL_OK &&
                xl__infer(&tree, s, &out->graph, &e) == XL_OK;
        if (!right)
            fprintf(stderr, "%s\n", xl__str_text(&e.detail));
    }
    if (right)
        out->node = xl__calloc(out->graph.n_nodes, sizeof *out->node);
    right = right && out->node;
    for (unsigned i = 0; right && i < out->graph.n_nodes; i++)
        right = eval_node(out, c, i);
    xl__tree_clear(&tree);
    xl__error_clear(&e);
    free(s);
    return right;
}

void host_clear(struct host_graph *h)
{
    for (unsigned i = 0; h->node && i < h->graph.n_nodes; i++)
        free(h->node[i]);
    free(h->node);
    xl__graph_clear(&h->graph);
    memset(h, 0, sizeof *h);
}
