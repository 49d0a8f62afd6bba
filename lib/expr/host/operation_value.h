/* SPDX-License-Identifier: Apache-2.0 */
/* The value of one operation by element on the host, with its error bound. */
#ifndef XL_EXPR_OPERATION_VALUE_H
#define XL_EXPR_OPERATION_VALUE_H

#include "expr/host/interval.h"

/* Value and error bound of a MAP-class node (enum xl__op_class) from those of
 * its arguments: arg[i] belongs to the node's i-th argument and has that
 * node's type. */
struct xl__interval xl__eval_node(const struct xl__graph *g, unsigned node,
                                  const struct xl__interval *arg);

/* The random numbers of cl/expr/expr.clh: element `index` of the stream of
 * `seed`, uniform in [0, 1) for XL__E_RAND, else normal (XL__E_RANDN, before
 * it is rounded to f32). */
double xl__eval_rand(enum xl__expr_op op, int32_t seed, uint64_t index);

#endif
