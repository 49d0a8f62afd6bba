/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a graph on the host: node by node over its whole shape, in
 * plain loops, with an error bound for each element. It has no groups and no
 * forms, so fusion and loop nests are tested by the comparison. Operations by
 * element are computed by xl__eval_node(), whose bounds have tests of their
 * own; reductions have the bounds that include/crosslane/expr.h states. */
#ifndef XL_TESTS_EXPR_HOST_H
#define XL_TESTS_EXPR_HOST_H

#include "expr/graph/group_eval.h"
#include "expr/host/interval.h"
#include "expr/language/tree.h"
#include "lib/ops/expression/expr_case.h"

struct host_graph {
    struct xl__graph graph;
    struct xl__interval **node; /* graph.n_nodes arrays, dense */
};

/* Parse, infer and evaluate a case on its memory `before`. False: the error is
 * printed to stderr. Call host_clear() in any case. */
bool host_evaluate(const struct expr_case *c, struct host_graph *out);
void host_clear(struct host_graph *h);

/* The function that reduces n elements, for a node of class REDUCE. */
typedef struct xl__interval host_reduction(const struct xl__interval *v,
                                           size_t n);
host_reduction *host_reduce(const struct xl__node *node);

/* The element offset of element number `i` of shape `s` in a layout (n_dims,
 * size, stride) that is aligned with `s` at the last dimension and broadcast.
 */
size_t host_place(const struct xl__shape *s, size_t i, unsigned n_dims,
                  const size_t *size, const size_t *stride);

#endif
