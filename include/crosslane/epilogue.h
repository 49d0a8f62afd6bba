/* SPDX-License-Identifier: Apache-2.0 */
/* An expression that an op applies to its result before storing it, or to a
 * value before reducing it. */
#ifndef CROSSLANE_EPILOGUE_H
#define CROSSLANE_EPILOGUE_H

#include <crosslane/tensor.h>

enum { XL_EPILOGUE_MAX_BINDINGS = 16 };

/** An operation applied to each element in the kernel of an op: as an epilogue
 *  to a result before it is stored, as a prologue to a value before it is
 *  reduced. All zero: none. */
typedef struct xl_epilogue {
    /** An expression in the language of crosslane/expr.h over `y`, which is
     *  the result as an f32, such as alpha A B + beta C, and names that are
     *  bound below: "relu(y + bias)", "cast(round(y * scale), i8)". In a
     *  prologue the value is `x`, and the result is rounded to f32:
     *  "x * s + bias". By element: no reductions, row functions, random
     *  numbers or views. Temporaries are allowed
     *  ("t = y + b; t * sigmoid(t)"). NULL: y itself. */
    const char *expr;
    /** Tensors that broadcast to C, m x n, batch x m x n, or with a second
     *  axis of the batch rows x inner x m x n: sizes {n} are one value per
     *  column, {m, 1} one per row, {inner, m, n} a matrix per head. One may be
     *  the same view as C, for example to add to it; otherwise none may overlap
     *  C. Those of xl_softmax broadcast to rows x cols, and dst is C. A scalar
     *  is as in xl_expr_run(). */
    const xl_binding *bindings;
    unsigned n_bindings;
} xl_epilogue;

#endif
