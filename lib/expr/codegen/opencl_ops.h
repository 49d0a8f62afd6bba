/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of OpenCL C text: operations, constants and element types. */
#ifndef XL_EXPR_OPENCL_OPS_H
#define XL_EXPR_OPENCL_OPS_H

#include "expr/codegen/opencl.h"

/* Headers of cl/expr besides expr.clh that an operation's text needs. */
enum { XL__USES_MATH = 1, XL__USES_RANDOM = 2, XL__USES_GATHER = 4 };

/* The template of a MAP-class operation on arguments of a type: text in which
 * $a $b $c stand for the arguments, $n for the width and $s for the suffix of
 * the vector type ("" for width 1). Static. */
const char *xl__opencl_op(const struct xl__emit *m, enum xl__expr_op op,
                          enum xl__vtype type);
/* XL__USES_... of all that m's group computes, combined. */
unsigned xl__opencl_uses(const struct xl__emit *m);
/* The element type of a pointer to a dtype: ushort for f16 and bf16. */
const char *xl__opencl_elem_type(xl_dtype dtype);
/* Append a constant that a compiler reads back as exactly this value, in any
 * locale. */
void xl__opencl_constant(const struct xl__emit *m, double value,
                         enum xl__vtype type, unsigned width);
/* The type to which argument i of a node is converted. */
enum xl__vtype xl__opencl_arg_type(const struct xl__graph *g,
                                   const struct xl__node *n, unsigned i);

#endif
