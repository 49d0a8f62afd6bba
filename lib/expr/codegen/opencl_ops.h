/* SPDX-License-Identifier: Apache-2.0 */
/* How OpenCL C spells operations, constants and element types: tables behind
 * emit.h, for emit*.c alone. */
#ifndef XL_EXPR_SPELL_H
#define XL_EXPR_SPELL_H

#include "expr/codegen/opencl.h"

/* Files of cl/common beside expr/expr.clh that an operation's spelling needs. */
enum { XL__USES_MATH = 1, XL__USES_RANDOM = 2 };

/* The spelling of a MAP-class operation on arguments of such a type: text in
 * which $a $b $c stand for the arguments, $n for the width and $s for a
 * vector type's suffix. */
const char *xl__opencl_op(const struct xl__emit *m, enum xl__expr_op op,
                         enum xl__vtype type);
/* Of all that a group computes, together. */
unsigned xl__opencl_uses(const struct xl__graph *g,
                        const struct xl__group *group);
/* The type behind a pointer to such elements: 16-bit floats are ushort. */
const char *xl__opencl_elem_type(xl_dtype dtype);
/* Append a constant that reads back as the very same value, in any locale. */
void xl__opencl_constant(struct xl__str *out, double value,
                        enum xl__vtype type, unsigned width);
/* The type that argument i of a node is brought to. */
enum xl__vtype xl__opencl_arg_type(const struct xl__graph *g,
                                const struct xl__node *n, unsigned i);

#endif
