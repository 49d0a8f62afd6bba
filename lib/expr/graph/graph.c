/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations are, and the graph's memory. */
#include "expr/graph/graph.h"

#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"

void xl__graph_clear(struct xl__graph *g)
{
    free(g->node);
    free(g->bucket);
    *g = (struct xl__graph){0};
}

/* Give what the outputs need its new number; what they do not, UINT_MAX. */
static unsigned renumber(const struct xl__graph *g, unsigned *number)
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
    const unsigned n = renumber(g, number);
    for (unsigned i = 0; i < g->n_nodes; i++) {
        struct xl__node node = g->node[i];
        if (number[i] == UINT_MAX)
            continue;
        for (unsigned a = 0; a < xl__expr_ops[node.op].n_args; a++)
            node.arg[a] = number[node.arg[a]];
        g->node[number[i]] = node;
    }
    for (unsigned o = 0; o < g->n_outputs; o++)
        g->output[o].node = number[g->output[o].node];
    g->n_nodes = n;
    free(number);
    /* The table of nodes is made anew when somebody adds one. */
    free(g->bucket);
    g->bucket = NULL;
    g->n_buckets = 0;
    return XL_OK;
}
