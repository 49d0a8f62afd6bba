/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a typed graph: folding of constants, simplification, and
 * hash-consing.
 *
 *     spec -> normalised -> all arguments constant?  -> CONST
 *                        -> algebra.c has a rule?    -> the simpler node
 *                        -> in the hash table?       -> that node
 *                        -> else                     -> a new node
 *
 * A folded constant is what an exact device would compute: the operation in
 * double, rounded once to f32. For + - * / and sqrt that is correctly rounded
 * (Figueroa 1995: double has more than twice the digits); transcendental
 * functions are more accurate than on a device. */
#include "expr/graph/graph.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "expr/graph/algebra.h"
#include "expr/host/operation_value.h"

enum { FIRST_BUCKETS = 256, KEY_WORDS = 5 + 2 * XL_MAX_DIMS };

/* -- equality of nodes ------------------------------------------------ */

static bool has_strides(enum xl__expr_op op)
{
    return op == XL__E_INPUT || op == XL__E_VIEW;
}

/* The node with every field that does not concern its operation set to zero.
 */
static struct xl__node normalize_node(const struct xl__node *spec)
{
    const enum xl__expr_op op = spec->op;
    struct xl__node n = {
        .op = op, .type = spec->type, .location = spec->location};
    n.shape.n_dims = spec->shape.n_dims;
    for (unsigned d = 0; d < n.shape.n_dims; d++)
        n.shape.size[d] = spec->shape.size[d];
    for (unsigned i = 0; i < xl__expr_ops[op].n_args; i++)
        n.arg[i] = spec->arg[i];
    if (op == XL__E_CONST)
        n.value = spec->value;
    if (op == XL__E_CAST || op == XL__E_INPUT)
        n.dtype = spec->dtype;
    if (xl__expr_ops[op].cls == XL__C_REDUCE || op == XL__E_GATHER)
        n.axes = spec->axes;
    if (op == XL__E_INPUT || op == XL__E_SCALAR)
        n.binding = spec->binding;
    if (!has_strides(op))
        return n;
    n.offset = spec->offset;
    for (unsigned d = 0; d < n.shape.n_dims; d++)
        n.stride[d] = n.shape.size[d] > 1 ? spec->stride[d] : 0;
    return n;
}

/* Can the first two arguments be swapped? */
static bool is_commutative(enum xl__expr_op op)
{
    switch (op) {
    case XL__E_ADD:
    case XL__E_MUL:
    case XL__E_MIN:
    case XL__E_MAX:
    case XL__E_EQ:
    case XL__E_NE:
    case XL__E_AND:
    case XL__E_OR:
    case XL__E_XOR:
    case XL__E_HYPOT:
    case XL__E_FMA:
        return true;
    default:
        return false;
    }
}

/* All that distinguishes a normalized node, whatever the order of arguments
 * that can be swapped; returns the number of words. */
static size_t write_key(const struct xl__node *n, uint64_t key[KEY_WORDS])
{
    const bool is_swapped = is_commutative(n->op) && n->arg[0] > n->arg[1];
    uint64_t *at = key;
    *at++ = (uint64_t)n->op | (uint64_t)n->type << 8 |
            (uint64_t)n->dtype << 16 | (uint64_t)n->shape.n_dims << 24 |
            (uint64_t)n->axes << 32;
    *at++ = n->arg[is_swapped] | (uint64_t)n->arg[!is_swapped] << 32;
    *at++ = n->arg[2] | (uint64_t)n->binding << 32;
    memcpy(at++, &n->value, sizeof n->value); /* by bits: -0 differs from 0 */
    *at++ = n->offset;
    for (unsigned d = 0; d < n->shape.n_dims; d++)
        *at++ = n->shape.size[d];
    for (unsigned d = 0; has_strides(n->op) && d < n->shape.n_dims; d++)
        *at++ = n->stride[d];
    return (size_t)(at - key);
}

/* -- the table of nodes ----------------------------------------------- */

/* The bucket of an equal node, or the empty bucket for a new one. A bucket
 * holds the index of a node plus one; 0: it is empty. */
static unsigned *find_bucket(const struct xl__graph *g,
                             const struct xl__node *n)
{
    uint64_t key[KEY_WORDS], other[KEY_WORDS];
    const size_t bytes = write_key(n, key) * sizeof *key;
    size_t at = (size_t)xl__hash64(key, bytes);
    for (;; at++) {
        unsigned *bucket = &g->bucket[at & (g->n_buckets - 1)];
        if (*bucket == 0 ||
            (write_key(&g->node[*bucket - 1], other) * sizeof *key == bytes &&
             memcmp(key, other, bytes) == 0))
            return bucket;
    }
}

/* Reserve memory for one more node and keep at least half of the buckets
 * empty. */
static bool reserve_node(struct xl__graph *g)
{
    if (!xl__grow(&g->node, &g->cap_nodes, g->n_nodes + (size_t)1,
                  sizeof *g->node))
        return false;
    if (g->n_nodes < g->n_buckets / 2)
        return true;
    unsigned n = g->n_buckets == 0 ? FIRST_BUCKETS : 2 * g->n_buckets;
    while (n / 2 <= g->n_nodes)
        n *= 2;
    unsigned *bucket = xl__calloc(n, sizeof *bucket);
    if (bucket == NULL)
        return false;
    free(g->bucket);
    g->bucket = bucket;
    g->n_buckets = n;
    for (unsigned i = 0; i < g->n_nodes; i++)
        *find_bucket(g, &g->node[i]) = i + 1;
    return true;
}

static bool is_unshaped(const struct xl__graph *g, const struct xl__node *n)
{
    bool is = xl__is_of_place(n->op);
    for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
        is |= g->node[n->arg[a]].is_unshaped;
    return is && n->shape.n_dims == 0;
}

/* Find an equal node, also in a full graph, or add a new one. */
static unsigned intern_node(struct xl__graph *g, const struct xl__node *n)
{
    if (!reserve_node(g))
        return UINT_MAX;
    unsigned *bucket = find_bucket(g, n);
    if (*bucket != 0)
        return *bucket - 1;
    if (g->n_nodes == XL_EXPR_MAX_NODES)
        return UINT_MAX;
    g->node[g->n_nodes] = *n;
    g->node[g->n_nodes].is_unshaped = is_unshaped(g, n);
    *bucket = ++g->n_nodes;
    return g->n_nodes - 1;
}

/* -- constants -------------------------------------------------------- */

static double round_constant(const struct xl__graph *g, enum xl__vtype type,
                             double x)
{
    if (type == XL__V_BOOL)
        return x != 0;
    if (type == XL__V_I32)
        return x + 0.0; /* integers have no -0 */
    return isnan(x) ? (double)NAN : g->is_double ? x : (double)(float)x;
}

static bool is_foldable(const struct xl__graph *g, const struct xl__node *n)
{
    if (xl__expr_ops[n->op].cls != XL__C_MAP)
        return false;
    for (unsigned i = 0; i < xl__expr_ops[n->op].n_args; i++)
        if (g->node[n->arg[i]].op != XL__E_CONST)
            return false;
    return true;
}

/* Compute a node of constants. xl__eval_node() takes nodes of a graph, so the
 * node is put behind the last one for the time of the comparison. */
static unsigned fold_constants(struct xl__graph *g, const struct xl__node *n)
{
    struct xl__interval arg[XL__EXPR_ARGS] = {{0, 0}};
    struct xl__node out = {.op = XL__E_CONST,
                           .type = n->type,
                           .shape = n->shape,
                           .location = n->location};
    if (!reserve_node(g))
        return UINT_MAX;
    g->node[g->n_nodes] = *n;
    for (unsigned i = 0; i < xl__expr_ops[n->op].n_args; i++)
        arg[i].x = g->node[n->arg[i]].value;
    const struct xl__interval value = xl__eval_node(g, g->n_nodes, arg);
    if (n->type == XL__V_I32 && value.err > 0)
        return intern_node(g, n); /* it is no double */
    out.value = round_constant(g, n->type, value.x);
    return intern_node(g, &out);
}

/* -- adding nodes ----------------------------------------------------- */

unsigned xl__graph_node(struct xl__graph *g, const struct xl__node *spec)
{
    struct xl__node n = normalize_node(spec);
    unsigned simpler;
    if (is_foldable(g, &n))
        return fold_constants(g, &n);
    if (n.op == XL__E_CONST)
        n.value = round_constant(g, n.type, n.value);
    if (is_commutative(n.op) && g->node[n.arg[0]].op == XL__E_CONST) {
        n.arg[0] = n.arg[1]; /* rules expect a constant as the second one */
        n.arg[1] = spec->arg[0];
    }
    return xl__graph_simplify(g, &n, &simpler) ? simpler : intern_node(g, &n);
}

/* -- memory and pruning ----------------------------------------------- */

void xl__graph_clear(struct xl__graph *g)
{
    free(g->node);
    free(g->output);
    free(g->bucket);
    *g = (struct xl__graph){0};
}

/* Number the nodes that the outputs need, in order; all others get UINT_MAX.
 * Returns how many are needed. */
static unsigned number_needed(const struct xl__graph *g, unsigned *number)
{
    unsigned n = 0;
    for (unsigned o = 0; o < g->n_outputs; o++)
        number[g->output[o].node] = 1;
    for (unsigned i = g->n_nodes; i-- > 0;) {
        const struct xl__node *node = &g->node[i];
        for (unsigned a = 0; a < xl__expr_ops[node->op].n_args; a++)
            if (number[i] != 0)
                number[node->arg[a]] = 1;
    }
    for (unsigned i = 0; i < g->n_nodes; i++)
        number[i] = number[i] != 0 ? n++ : UINT_MAX;
    return n;
}

xl_status xl__graph_prune(struct xl__graph *g)
{
    unsigned *number = xl__calloc((size_t)g->n_nodes + 1, sizeof *number);
    if (number == NULL)
        return XL_NO_MEMORY;
    const unsigned n = number_needed(g, number);
    for (unsigned i = 0; i < g->n_nodes; i++) {
        if (number[i] == UINT_MAX)
            continue;
        struct xl__node *node = &g->node[number[i]];
        if (number[i] != i)
            *node = g->node[i];
        for (unsigned a = 0; a < xl__expr_ops[node->op].n_args; a++)
            node->arg[a] = number[node->arg[a]];
    }
    for (unsigned o = 0; o < g->n_outputs; o++)
        g->output[o].node = number[g->output[o].node];
    g->n_nodes = n;
    free(number);
    /* xl__graph_node() builds the hash table again when it is needed. */
    free(g->bucket);
    g->bucket = NULL;
    g->n_buckets = 0;
    return XL_OK;
}
