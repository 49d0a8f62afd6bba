/* SPDX-License-Identifier: Apache-2.0 */
/* Random statements over a few small tensors: reductions, views, temporaries,
 * outputs in place and by slices, and two names of the same memory. */
#ifndef XL_TESTS_RANDOM_STATEMENTS_H
#define XL_TESTS_RANDOM_STATEMENTS_H

#include "base/rng.h"
#include "expr/graph/graph.h"

/* Append random statements. */
void random_statements_text(struct xl__rng *r, struct xl__str *out);
/* Bind the names of the text; some of one shape are bound to the same view. */
void random_statements_bind(struct xl__rng *r, const char *text,
                            struct xl__signature *s);

#endif
