/* SPDX-License-Identifier: Apache-2.0 */
/* A part of xl__graph_print(). */
#ifndef XL_EXPR_PRINT_H
#define XL_EXPR_PRINT_H

#include "base/str.h"
#include "expr/graph/graph.h"

/* An INPUT node as it is written: "x", "transpose(x)", "x[:, 3]". */
void xl__print_view(const struct xl__node *n, const struct xl__param *b,
                    struct xl__str *out);

#endif
