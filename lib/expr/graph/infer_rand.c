/* SPDX-License-Identifier: Apache-2.0 */
/* rand() is written without a shape and takes that of what it meets. Until
 * then the nodes that hold it are loose: single values, which are built again
 * around a rand() with a shape once there is one. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/graph/infer.h"

void xl__infer_mark_loose(struct xl__infer *in)
{
    for (; in->n_known < in->g->n_nodes; in->n_known++) {
        const struct xl__node *n = &in->g->node[in->n_known];
        bool is_loose = n->op == XL__E_RAND || n->op == XL__E_RANDN;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            is_loose = is_loose || in->is_loose[n->arg[a]];
        in->is_loose[in->n_known] = is_loose && n->shape.n_dims == 0;
    }
}

bool xl__infer_has_shape(struct xl__infer *in, unsigned node)
{
    if (in->is_loose[node])
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "rand() has no shape here: let it meet a tensor first, or "
                  "assign it to a bound one");
    return in->status == XL_OK;
}

/* Which loose nodes does `node` hold? */
static void mark(const struct xl__infer *in, unsigned node, bool *is_held)
{
    is_held[node] = true;
    for (unsigned i = node + 1; i-- > 0;) {
        const struct xl__node *n = &in->g->node[i];
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            if (is_held[i] && in->is_loose[n->arg[a]])
                is_held[n->arg[a]] = true;
    }
}

unsigned xl__infer_set_rand_shape(struct xl__infer *in, unsigned node,
                                  const struct xl__shape *shape)
{
    if (in->status != XL_OK || !in->is_loose[node] || shape->n_dims == 0)
        return node;
    bool *is_held = xl__calloc((size_t)node + 1, sizeof *is_held);
    unsigned *again = xl__calloc((size_t)node + 1, sizeof *again);
    unsigned out = XL__NO_NODE;
    if (is_held == NULL || again == NULL) {
        XL__WRONG(in, XL_NO_MEMORY, "out of memory");
        goto done;
    }
    mark(in, node, is_held);
    for (unsigned i = 0; i <= node && in->status == XL_OK; i++) {
        struct xl__node n = in->g->node[i];
        again[i] = i;
        if (!is_held[i])
            continue;
        n.shape = *shape;
        for (unsigned a = 0; a < xl__expr_ops[n.op].n_args; a++)
            n.arg[a] = again[n.arg[a]];
        again[i] = xl__infer_node(in, &n);
    }
    out = in->status == XL_OK ? again[node] : XL__NO_NODE;
done:
    free(is_held);
    free(again);
    return out;
}
