/* SPDX-License-Identifier: Apache-2.0 */
/* A group computed on the host, row by row. A row is one iteration of the kept
 * loops; each value of the group is computed for the whole row before the next
 * value.
 *
 * The numbers of a node are an array over the reduced loops, or one number
 * when only kept loops vary it:
 *
 *     for each row:  load operands, compute values in order, store operands */
#include "expr/graph/group_eval.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "expr/host/operation_value.h"
#include "expr/host/reduction_value.h"

typedef struct xl__interval num;

struct numbers {
    num *a;         /* NULL: not allocated yet */
    unsigned step;  /* 1, or 0: one number for the whole row */
    bool is_loaded; /* an operand is loaded into it, whatever its operation */
};

struct group_eval {
    const struct xl__graph *g;
    const struct xl__group *group;
    const double *scalar;
    struct xl__eval_mem *mem;
    struct numbers *node; /* by node of the graph */
    size_t n_reduced;     /* iterations of the reduced loops together */
};

/* -- indices ---------------------------------------------------------- */

/* The operand's index in the i-th iteration of the kept or of the reduced
 * loops. */
static size_t operand_index(const struct xl__group *group,
                            const struct xl__operand *o, bool reduced,
                            size_t i)
{
    size_t index = 0;
    for (unsigned d = group->n_loops; d-- > 0;) {
        const struct xl__loop *loop = &group->loop[d];
        if (loop->is_reduced != reduced)
            continue;
        index += i % loop->size * o->stride[d];
        i /= loop->size;
    }
    return index;
}

static size_t n_iterations(const struct xl__group *group, bool reduced)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= group->loop[d].is_reduced == reduced ? group->loop[d].size : 1;
    return n;
}

static bool is_same_for_row(const struct xl__group *group,
                            const struct xl__operand *o)
{
    for (unsigned d = 0; d < group->n_loops; d++) {
        if (group->loop[d].is_reduced && o->stride[d] > 0 &&
            group->loop[d].size > 1)
            return false;
    }
    return true;
}

/* -- leaves ----------------------------------------------------------- */

/* A random number. The error of the normal distribution is relative to the
 * radius, which is below 5.8 with 24 bits: the rounding of the angle changes a
 * number near 0 as much as one near the radius. */
static num random_number(const struct group_eval *e, const struct xl__node *n,
                         uint64_t index)
{
    static const double radius = 5.8;
    const num seed = e->node[n->arg[0]].a[0];
    const double x = xl__eval_rand(n->op, (int32_t)seed.x, index);
    const double ulp = xl__expr_ops[n->op].ulp;
    return xl__interval_float(xl__precision_of(NULL), x,
                              seed.err > 0 ? xl__unbounded
                                           : 2 * 0x1p-24 * ulp * radius);
}

static num load_number(const struct group_eval *e, unsigned operand,
                       size_t index)
{
    const struct xl__operand *o = &e->group->operand[operand];
    const struct xl__eval_mem *m = &e->mem[operand];
    const struct xl__node *n = &e->g->node[o->node];
    if (o->at == XL__AT_INDEX && n->op == XL__E_INDEX)
        return (num){(double)(o->offset + index), 0};
    if (o->at == XL__AT_INDEX)
        return random_number(e, n, o->offset + index);
    index += xl__operand_before(e->group, o);
    num out = {m->value[index], m->error ? m->error[index] : 0};
    if (n->type == XL__V_BOOL)
        return xl__interval_round(xl__precision_of(NULL), out, XL_BOOL);
    return n->type == XL__V_F32
               ? xl__interval_float(xl__precision_of(e->g), out.x, out.err)
               : out;
}

static void load_operand(struct group_eval *e, unsigned operand, size_t row)
{
    const struct xl__operand *o = &e->group->operand[operand];
    struct numbers *to = &e->node[o->node];
    const size_t start = operand_index(e->group, o, false, row);
    const size_t n = to->step ? e->n_reduced : 1;
    for (size_t i = 0; i < n; i++)
        to->a[i] = load_number(e, operand,
                               start + operand_index(e->group, o, true, i));
}

static num constant_value(const struct group_eval *e, const struct xl__node *n)
{
    const double x = n->op == XL__E_SCALAR ? e->scalar[n->binding] : n->value;
    return n->type == XL__V_F32 && !e->g->is_double
               ? (num){(double)(float)x, 0}
               : (num){x, 0};
}

/* -- values ----------------------------------------------------------- */

static void compute_map(struct group_eval *e, unsigned node)
{
    const struct xl__node *n = &e->g->node[node];
    const unsigned n_args = xl__expr_ops[n->op].n_args;
    struct numbers *to = &e->node[node];
    const size_t count = to->step ? e->n_reduced : 1;
    for (size_t i = 0; i < count; i++) {
        num arg[XL__EXPR_ARGS] = {{0, 0}};
        for (unsigned k = 0; k < n_args; k++) {
            const struct numbers *from = &e->node[n->arg[k]];
            arg[k] = from->a[i * from->step];
        }
        to->a[i] = xl__eval_node(e->g, node, arg);
    }
}

/* An element at an index that counts from the end if it is negative; NaN or 0
 * if there is none. */
static void gather_number(struct group_eval *e, unsigned operand, size_t row)
{
    const struct xl__operand *o = &e->group->operand[operand];
    const struct xl__node *n = &e->g->node[o->node];
    const num at = e->node[n->arg[XL__GATHER_INDEX]].a[0];
    const double from_first = at.x < 0 ? at.x + (double)o->gather_size : at.x;
    num *to = e->node[o->node].a;
    *to = (num){n->type == XL__V_F32 ? (double)NAN : 0, 0};
    if (from_first >= 0 && from_first < (double)o->gather_size)
        *to = load_number(e, operand,
                          operand_index(e->group, o, false, row) +
                              (size_t)from_first * o->gather_stride);
    if (at.err > 0)
        to->err = xl__unbounded;
}

/* The operand that the node gathers from; XL__EXPR_OPERANDS: none. */
static unsigned gathered_operand(const struct xl__group *group, unsigned node)
{
    unsigned k = 0;
    while (k < group->n_operands && (group->operand[k].gather_size == 0 ||
                                     group->operand[k].node != node))
        k++;
    return k < group->n_operands ? k : XL__EXPR_OPERANDS;
}

static void compute_node(struct group_eval *e, unsigned node, size_t row)
{
    const struct xl__node *n = &e->g->node[node];
    const unsigned gathered = gathered_operand(e->group, node);
    if (gathered < XL__EXPR_OPERANDS)
        gather_number(e, gathered, row);
    if (e->node[node].is_loaded)
        return;
    if (xl__expr_ops[n->op].cls == XL__C_MAP) {
        compute_map(e, node);
    } else if (xl__expr_ops[n->op].cls == XL__C_REDUCE) {
        const struct numbers *from = &e->node[n->arg[0]];
        e->node[node].a[0] =
            xl__eval_reduce(e->g, node, from->a, from->step, e->n_reduced);
    }
}

static void store_operand(struct group_eval *e, unsigned operand, size_t row)
{
    const struct xl__operand *o = &e->group->operand[operand];
    const struct xl__eval_mem *m = &e->mem[operand];
    const struct numbers *from = &e->node[o->node];
    const size_t start = operand_index(e->group, o, false, row);
    const size_t n = is_same_for_row(e->group, o) ? 1 : e->n_reduced;
    const enum xl__vtype type = e->g->node[o->node].type;
    const struct xl__precision *p = xl__precision_of(e->g);
    for (size_t i = 0; i < n; i++) {
        const size_t at = start + operand_index(e->group, o, true, i);
        num x = from->a[i * from->step];
        if (o->dtype == XL_F32 || o->dtype == XL_F64)
            x = xl__interval_convert(p, x, type, XL__V_F32);
        x = xl__interval_round(p, x, o->dtype);
        m->value[at] = x.x;
        m->error[at] = x.err;
    }
}

static void compute_row(struct group_eval *e, size_t row)
{
    const struct xl__group *group = e->group;
    for (unsigned i = 0; i < group->n_operands; i++) {
        if (!group->operand[i].is_written && !group->operand[i].gather_size)
            load_operand(e, i, row);
    }
    for (unsigned i = 0; i < group->n_values; i++)
        compute_node(e, group->value[i].node, row);
    for (unsigned i = 0; i < group->n_operands; i++) {
        if (group->operand[i].is_written)
            store_operand(e, i, row);
    }
}

/* -- memory ----------------------------------------------------------- */

/* Allocate a node's numbers, once. */
static xl_status allocate_numbers(struct group_eval *e, unsigned node,
                                  bool is_row)
{
    struct numbers *n = &e->node[node];
    if (n->a)
        return XL_OK;
    n->step = is_row ? 0 : 1;
    n->a = xl__calloc(is_row ? 1 : e->n_reduced, sizeof *n->a);
    return n->a ? XL_OK : XL_NO_MEMORY;
}

/* A reduction has one number; so has an operation on values of the row. */
static xl_status allocate_value(struct group_eval *e, unsigned node)
{
    const struct xl__node *n = &e->g->node[node];
    const struct xl__expr_op_info *op = &xl__expr_ops[n->op];
    bool is_row = true;
    if (op->cls == XL__C_LEAF || e->node[node].is_loaded)
        return XL_OK;
    for (unsigned i = 0; i < op->n_args; i++) {
        if (!e->node[n->arg[i]].a)
            return XL_UNSUPPORTED; /* not in topological order */
        is_row = is_row && e->node[n->arg[i]].step == 0;
    }
    return allocate_numbers(e, node, is_row || op->cls == XL__C_REDUCE);
}

static xl_status allocate_all(struct group_eval *e)
{
    xl_status status = XL_OK;
    const struct xl__group *group = e->group;
    for (unsigned i = 0; i < e->g->n_nodes; i++) {
        const struct xl__node *n = &e->g->node[i];
        if (n->op != XL__E_CONST && n->op != XL__E_SCALAR)
            continue;
        TRY(allocate_numbers(e, i, true));
        e->node[i].a[0] = constant_value(e, n);
    }
    for (unsigned i = 0; i < group->n_operands; i++) {
        const struct xl__operand *o = &group->operand[i];
        if (o->is_written)
            continue;
        TRY(allocate_numbers(e, o->node, is_same_for_row(group, o)));
        e->node[o->node].is_loaded = true;
    }
    for (unsigned i = 0; i < group->n_values; i++)
        TRY(allocate_value(e, group->value[i].node));
fail:
    return status;
}

xl_status xl__eval_group(const struct xl__graph *g,
                         const struct xl__group *group, const double *scalar,
                         struct xl__eval_mem *mem)
{
    xl_status status = XL_OK;
    struct group_eval e = {
        .g = g, .group = group, .scalar = scalar, .mem = mem};
    e.n_reduced = n_iterations(group, true);
    e.node = xl__calloc(g->n_nodes, sizeof *e.node);
    if (!e.node)
        TRY(XL_NO_MEMORY);
    TRY(allocate_all(&e));
    const size_t rows = n_iterations(group, false);
    for (size_t row = 0; row < rows; row++)
        compute_row(&e, row);
fail:
    for (unsigned i = 0; e.node && i < g->n_nodes; i++)
        free(e.node[i].a);
    free(e.node);
    return status;
}
