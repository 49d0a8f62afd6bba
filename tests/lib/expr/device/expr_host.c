/* SPDX-License-Identifier: Apache-2.0 */
/* See expr_host.h. */
#include "lib/expr/device/expr_host.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "expr/graph/infer.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "expr/language/parser.h"

typedef struct xl__interval num;

static const double U = 0x1p-24; /* of f32 */

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

/* -- nodes ----------------------------------------------------------------- */

/* What a reduction takes: those to f32 take integers as such. */
static enum xl__vtype taken(const struct xl__node *node,
                            const struct xl__node *arg)
{
    const enum xl__result result = xl__expr_ops[node->op].result;
    return result == XL__R_FLOAT  ? XL__V_F32
           : result == XL__R_SAME ? node->type
                                  : arg->type;
}

/* Elements of `arg` that fall on element `i` of `node`, in order of place. */
static void gather(const struct xl__node *node, const struct xl__node *arg,
                   const num *from, size_t i, num *to)
{
    const enum xl__vtype type = taken(node, arg);
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
            from[base + host_place(&reduced, r, arg->shape.n_dims,
                                   arg->shape.size, stride)],
            arg->type, type);
}

static bool run_reduction(struct host_graph *h, const struct xl__node *node,
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
        gather(node, arg, h->node[node->arg[0]], i, row);
        out[i] = reduce(row, n);
    }
    free(row);
    return true;
}

static void run_map(struct host_graph *h, unsigned id, num *out)
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

static num leaf(const struct expr_case *c, const struct host_graph *h,
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
        /* Box and Muller's factors are at most 8: absolute, not relative. */
        return (num){x, seed.err > 0 ? INFINITY : ulp * 2 * U * 8};
    }
    default: return (num){node->value, 0}; /* CONST */
    }
}

static bool run_node(struct host_graph *h, const struct expr_case *c,
                     unsigned id)
{
    const struct xl__node *node = &h->graph.node[id];
    const size_t n = xl__shape_elems(&node->shape);
    num *out = h->node[id] = xl__calloc(n, sizeof *out);
    if (!out)
        return false;
    switch (xl__expr_ops[node->op].cls) {
    case XL__C_REDUCE: return run_reduction(h, node, out);
    case XL__C_MAP: run_map(h, id, out); return true;
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = leaf(c, h, node, i);
    return true;
}

/* -- a case ---------------------------------------------------------------- */

static size_t power_of_two(size_t x, size_t most)
{
    size_t p = 1;
    while (p < most && x % (p * 2) == 0)
        p *= 2;
    return p;
}

static bool same_view(const struct expr_case *c, unsigned i, unsigned j)
{
    const xl_tensor *a = &c->binding[i].tensor, *b = &c->binding[j].tensor;
    return !c->binding[i].is_scalar && !c->binding[j].is_scalar &&
           c->buffer[i] == c->buffer[j] && a->offset == b->offset &&
           a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static void sign(const struct expr_case *c, struct xl__signature *s)
{
    memset(s, 0, sizeof *s);
    s->n = c->n;
    s->fast_math = c->fast_math;
    for (unsigned i = 0; i < c->n; i++) {
        const xl_binding *from = &c->binding[i];
        struct xl__param *b = &s->b[i];
        snprintf(b->name, sizeof b->name, "%s", from->name);
        memcpy(b->size, from->tensor.size, sizeof b->size);
        memcpy(b->stride, from->tensor.stride, sizeof b->stride);
        b->n_dims = from->tensor.n_dims;
        b->is_scalar = from->is_scalar;
        b->dtype = from->tensor.dtype;
        b->align = (unsigned)power_of_two(from->tensor.offset, 64);
        while (b->same_as < i && !same_view(c, b->same_as, i))
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
        sign(c, s);
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
        right = run_node(out, c, i);
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
