/* SPDX-License-Identifier: Apache-2.0 */
/* A graph on the host, node by node over its whole shape, in plain loops: no
 * groups, no forms, so that fusing and loop nests are under test as well. By
 * element it is xl__eval_node(), whose bounds are tested on their own;
 * reductions have the bounds that expr.h states. */
#ifndef XL_TESTS_EXPR_HOST_H
#define XL_TESTS_EXPR_HOST_H

#include "expr/graph/group_eval.h"
#include "expr/host/interval.h"
#include "expr/language/tree.h"
#include "lib/expr/device/expr_case.h"

struct host_graph {
    struct xl__graph graph;
    struct xl__interval **node; /* graph.n_nodes arrays, dense */
};

/* Parse, infer and evaluate a case on its memory `before`; false with the
 * story on stderr. */
bool host_evaluate(const struct expr_case *c, struct host_graph *out);
void host_clear(struct host_graph *h);

/* expr_host_reduce.c: what a reduction makes of n elements. */
typedef struct xl__interval host_reduction(const struct xl__interval *v,
                                           size_t n);
host_reduction *host_reduce(const struct xl__node *node);

/* Where element number `i` of a dense shape lies, broadcast to or from
 * another layout whose last dimensions it shares. */
size_t host_place(const struct xl__shape *s, size_t i, unsigned n_dims,
                  const size_t *size, const size_t *stride);

#endif
