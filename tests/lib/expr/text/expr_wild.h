/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions over a few small tensors: reductions, views, temporaries,
 * outputs in place and in parts, and two names for the same memory. */
#ifndef XL_TESTS_EXPR_WILD_H
#define XL_TESTS_EXPR_WILD_H

#include "base/rng.h"
#include "expr/graph/graph.h"

void wild_text(struct xl__rng *r, struct xl__str *out);
/* Its names; some of one shape are bound to the same view. */
void wild_bind(struct xl__rng *r, const char *text, struct xl__signature *s);

#endif
