/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel text with its arguments, to be spliced into another kernel: what
 * lib/expr makes of an op's epilogue. The text takes the place of
 * cl/common/epilogue.clh, whose header says what it defines.
 *
 * An op keeps the pointer in its canonical descriptor: equal epilogues over
 * equal shapes and types are one snippet, kept as long as the context is. */
#ifndef XL_RUNTIME_SNIPPET_H
#define XL_RUNTIME_SNIPPET_H

#include <crosslane/ops.h>

#include "runtime/context.h"
#include "runtime/plan.h"

/* Along the products of a batch, rows and columns of the result. */
enum { XL__ALONG_BATCH, XL__ALONG_ROWS, XL__ALONG_COLS, XL__N_ALONG };

struct xl__epilogue_operand {
    xl_dtype dtype;  /* of a scalar: XL_F32 or XL_I32 */
    bool is_scalar;
    size_t stride[XL__N_ALONG]; /* elements; 0: one value for all */
};

/* Immutable. */
struct xl__epilogue_text {
    struct xl__epilogue_text *next; /* of the context's list for this hash */
    uint64_t hash;            /* of what it was made from */
    const char *text;
    unsigned n_operands;      /* bindings, in the caller's order */
    struct xl__epilogue_operand operand[XL_EPILOGUE_MAX_BINDINGS];
    double flop;              /* of one element */
    void *inside;             /* expr's own: what eval needs */
};

/* What a snippet is made from. */
struct xl__epilogue_request {
    const xl_epilogue *epilogue; /* expr is not NULL */
    size_t size[XL__N_ALONG];    /* of the result */
    xl_dtype dtype;              /* of the result */
};

/* expr/codegen/epilogue.c: find it in the queue's context or make it. Errors, with the
 * story as xl_expr_compile() tells it: XL_BAD_ARGUMENT, XL_BAD_SHAPE,
 * XL_OVERFLOW, XL_NO_MEMORY. Finding costs a hash and no allocation. */
xl_status xl__epilogue_text_get(xl_queue *q,
                                const struct xl__epilogue_request *want,
                                const struct xl__epilogue_text **out);
/* On the host, in double: the value stored for y, known to within y_error, and
 * the operands' values; *error bounds what a device may be off, its rounding
 * to `dtype` included. */
void xl__epilogue_text_eval(const struct xl__epilogue_text *s, xl_dtype dtype,
                            double y, double y_error, const double *operands,
                            double *want, double *error);

/* plan.c: hand the snippet to a step: its text, its defines (EPILOGUE=1, and
 * E<k> of each tensor: 0 one value for a whole row, 1 contiguous along
 * columns, 2 neither; EI<k>: 0 one value for a whole column, 1 not), and its
 * arguments: of a tensor memory, offset and strides along batch, rows and
 * columns; of a scalar its value. Operand k is call.mem[mem + k], its offset or
 * value call.value[value + k]. `turned`: the kernel's rows are the result's
 * columns. NULL s: nothing. */
void xl__arg_epilogue(struct xl__step *step, const struct xl__epilogue_text *s,
                      unsigned mem, unsigned value, bool turned);

#endif
