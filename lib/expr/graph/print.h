/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph as text of the language, for explain and messages. */
#ifndef XL_EXPR_PRINT_H
#define XL_EXPR_PRINT_H

#include "base/str.h"
#include "expr/graph/graph.h"

/* Append a node as one line of the language, for instance
 * "exp(x[:, 3] - max(x)) * 2". Inputs and scalars have the names of the
 * signature `s`. A text longer than 240 bytes is cut and ends in "...". */
void xl__graph_print(const struct xl__graph *g, const struct xl__signature *s,
                     unsigned node, struct xl__str *out);

#endif
