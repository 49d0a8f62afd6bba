/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues: the text that lib/expr generates from an op's xl_epilogue, and
 * its arguments. A prologue is the same text at another place of the op's
 * kernel, with names of its own, so that a kernel may have both. The text
 * replaces cl/common/epilogue.clh or prologue.clh in the op's kernel; the
 * headers of these files state what it defines.
 *
 * Equal epilogues over equal types and classes of strides share one struct of
 * the context, which lives as long as a queue has it: until the queue's plans are released.
 * So an op stores the pointer in its canonical descriptor, and equal pointers
 * mean equal epilogues. The context's selections have such descriptors too,
 * and are cleared before a text is freed.
 *
 * The runtime only declares what it needs of lib/expr here:
 * xl__epilogue_text_get, _strides and _eval are defined in
 * expr/codegen/epilogue.c. */
#ifndef XL_RUNTIME_EPILOGUE_H
#define XL_RUNTIME_EPILOGUE_H

#include <crosslane/epilogue.h>

#include "runtime/context.h"
#include "runtime/plan.h"

/* Dimensions of the result: of a batch of two axes the outer one, else 1;
 * products of a batch; rows; columns. */
enum {
    XL__ALONG_OUTER,
    XL__ALONG_BATCH,
    XL__ALONG_ROWS,
    XL__ALONG_COLS,
    XL__N_ALONG
};

/* Names of a hook: the value in the expression; in messages; in the text:
 * -DEPILOGUE, the prefix of operands, the letter of their layouts. */
static const struct xl__hook_words {
    const char *value, *one, *name, *define, *prefix;
    char layout;
} xl__hook_words[XL__N_HOOKS] = {
    [XL__PROLOGUE] = {"x", "a prologue", "prologue", "PROLOGUE", "pr", 'P'},
    [XL__EPILOGUE] = {"y", "an epilogue", "epilogue", "EPILOGUE", "ep", 'E'}};

struct xl__epilogue_operand {
    xl_dtype dtype; /* of a scalar: XL_F32 or XL_I32 */
    bool is_scalar;
    bool is_aligned; /* elements that are contiguous along one dimension are
                        aligned to XL__EPILOGUE_ALIGN of them, wherever it
                        begins */
    /* The class of each stride: 0 broadcast, 1 contiguous, 2 any other. The
     * strides themselves are values of the call. */
    size_t stride[XL__N_ALONG];
};

/* Operands at most: those of a caller, and two that an op adds. The widest
 * vector of them. */
enum {
    XL__EPILOGUE_OPERANDS = XL_EPILOGUE_MAX_BINDINGS + 2,
    XL__EPILOGUE_ALIGN = 16
};

/* Values of a call for operand k, from value + k XL__EPILOGUE_VALUES on: its
 * offset, or its value if it is a scalar; its strides. */
enum {
    XL__EPILOGUE_AT,
    XL__EPILOGUE_STRIDE,
    XL__EPILOGUE_VALUES = XL__EPILOGUE_STRIDE + XL__N_ALONG
};

/* The text of one epilogue. Constant once it is in its list, except n_queues
 * and `next`, which are under ctx->lock. */
struct xl__epilogue_text {
    struct xl__epilogue_text *next; /* of the context's list for this hash */
    uint64_t hash;                  /* of the request */
    enum xl__hook hook;
    unsigned n_queues; /* that have it */
    const char *text;
    unsigned n_operands; /* bindings, in the caller's order */
    struct xl__epilogue_operand operand[XL__EPILOGUE_OPERANDS];
    double flop;  /* per element */
    void *inside; /* private to lib/expr, for evaluation */
};

/* A text that a queue has. */
struct xl__epilogue_use {
    struct xl__epilogue_use *next;
    struct xl__epilogue_text *text;
};

/* The inputs from which an epilogue text is generated. */
struct xl__epilogue_request {
    const xl_epilogue *epilogue; /* expr is not NULL */
    size_t size[XL__N_ALONG];    /* of the result */
    xl_dtype dtype;              /* of the result */
    enum xl__hook hook;
    const char *value; /* its name in the expression; NULL: the hook's */
};

/* Find the text in the queue, else in its context, or generate it.
 * XL_BAD_ARGUMENT, XL_BAD_SHAPE, XL_OVERFLOW, XL_NO_MEMORY, with a message as
 * that of xl_expr_compile(). To find it in the queue takes a hash, no
 * allocation and no lock. */
xl_status xl__epilogue_text_get(xl_queue *q,
                                const struct xl__epilogue_request *request,
                                const struct xl__epilogue_text **out);
/* Does the operand broadcast over the result? Sets its strides along the
 * dimensions of the result, in elements: 0 where its size is 1, and for a
 * scalar. */
bool xl__epilogue_strides(const xl_binding *b, const size_t size[XL__N_ALONG],
                          size_t stride[XL__N_ALONG]);
/* Evaluate it on the host, in double, for y, which is known to within y_error,
 * and the operands' values, known to within theirs (NULL: exactly): *expected
 * is the value stored, *error the bound of a device's deviation from it, with
 * the rounding to `dtype`. */
void xl__epilogue_text_eval(const struct xl__epilogue_text *s, xl_dtype dtype,
                            double y, double y_error, const double *operands,
                            const double *operand_errors, double *expected,
                            double *error);

/* Add the epilogue to a step (plan.c): its text, its defines and its
 * arguments. Defines: EPILOGUE=1, and for each tensor k
 *
 *   E<k>   column stride: 0 broadcast, 1 contiguous, 3 contiguous and aligned,
 *          2 any other
 *   EI<k>  row stride: 0 broadcast, 1 any other
 *   EZ<k>  strides along the batch: 0 broadcast, 1 any other
 *
 * and for a prologue PROLOGUE=1, P<k>, PI<k> and PZ<k>.
 *
 * With two axes of a batch, `inner` products along the second, EO=1 and inner
 * as the first argument; one axis: 0. Arguments: of a tensor its memory, its
 * offset and, of its strides along batch, with EO outer axis, rows and
 * columns, those that the defines do not give; of a scalar its value. Operand
 * k is call.mem[mem + k] and the values from call.value[value + k
 * XL__EPILOGUE_VALUES] on. `swapped`: the kernel's rows are the result's
 * columns. No effect for a NULL epilogue. */
void xl__arg_epilogue(struct xl__step *step, const struct xl__epilogue_text *s,
                      unsigned mem, unsigned value, size_t inner,
                      bool swapped);
/* Number of operands that are the same in all rows of a product and differ
 * along its columns: XL_EPILOGUE_FETCHED of cl/common/epilogue.clh. 0 for a
 * NULL epilogue. */
unsigned xl__epilogue_fetched(const struct xl__epilogue_text *s, bool swapped);
/* Can a value of this type be one of them? */
static inline bool xl__epilogue_is_fetched(xl_dtype dtype, bool is_scalar)
{
    return !is_scalar && dtype != XL_BOOL;
}

#endif
