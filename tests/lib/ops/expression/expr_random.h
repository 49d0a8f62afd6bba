/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions with their bindings: every function and operator, every
 * dtype, up to 6 dimensions with broadcasting, strided, transposed and offset
 * views, several statements, outputs in place. The same seed gives the same
 * case. */
#ifndef XL_TESTS_EXPR_RANDOM_H
#define XL_TESTS_EXPR_RANDOM_H

#include "lib/ops/expression/expr_case.h"

/* A well-formed case whose largest shape has at most `most` elements. */
void random_case(struct expr_case *c, uint64_t seed, size_t most);

#endif
