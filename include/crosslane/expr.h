/* SPDX-License-Identifier: Apache-2.0 */
/* Fused expressions: a line of arithmetic becomes as few kernels as it can be,
 * made at run time for the device at hand.
 *
 *   text       = statement { (";" | newline) statement }
 *   statement  = [ name [ slice ] "=" ] expression
 *
 * A bare expression assigns to `out`. A name that is bound (xl_binding) is the
 * caller's tensor or scalar; one that is assigned and not bound is a
 * temporary. A bound tensor that is assigned is an output; read before that,
 * it is an input as well, changed in place. `#` begins a comment.
 *
 * Operators, tightest first: x[...], then ^ (to the right), unary - and !, then
 * * and /, then + and -, then < <= > >= == != (which do not chain; write a < b
 * & b < c), then &, then |. Numbers: 2 (an i32), 2.5 and 1e-3 (f32); pi, inf,
 * nan, true, false.
 *
 * By element:  abs ceil floor round trunc sign sqrt rsqrt exp exp2 expm1 log
 *   log2 log1p sin cos tan tanh erf sigmoid relu gelu gelu_tanh silu softplus
 *   isnan (1), min max pow mod (2), where clamp fma (3), cast(x, f16);
 *   rand(seed), randn(seed): by Philox from seed and place in the shape.
 * Over axes:   sum mean var min max argmin argmax any all logsumexp norm2
 *   f(x) over all axes, f(x, axis=-1), f(x, axis=(0, 2)). The axes stay, with
 *   size 1, so a result broadcasts back; an output may leave them out.
 * Rows:        softmax log_softmax (x, axis=-1), layer_norm(x, gain, bias,
 *   eps), rms_norm(x, gain, eps) over the last axis.
 * Views:       x[2:10:2, ...] of a bound tensor, transpose(x),
 *   permute(x, 1, 0, 2): no copy is made.
 *
 * Broadcasting is NumPy's. Types: arithmetic on f32, f16 and bf16 is in f32,
 * and only cast() and memory round; i8, u8 and bool become i32; i32 wraps; an
 * i32 meeting a float becomes f32; `/` and functions give f32, but abs, sign,
 * ceil, floor, round, trunc, relu, min, max, clamp, mod, sum of integers and
 * integers ^ 2 (a whole number in the text) are i32; comparisons give bool,
 * which alone & | ! any all and where's condition take. x^n is multiplied out
 * for whole n from -5 to 16. min and max hand NaN on. round is to even. cast
 * to an integer cuts off, and saturates; NaN gives 0; cast to bool is x != 0.
 * An output takes a value of its own kind or a lower one (bool < integers <
 * floats), broadcast into it; integers saturate in narrower ones. var divides
 * by the count. argmin and argmax give the first place (i32) along the axes
 * taken together; NaN counts as the largest and as the smallest.
 * softmax of a row of nothing but -inf is NaN.
 *
 * An assigned name is its value from then on, in the value's own shape and
 * type, bound or not. Parts of a bound tensor that do not meet can be assigned
 * one by one (y[:4] = a; y[4:] = b); y is not read after that. rand() has no
 * shape of its own: it takes that of the first operation with a tensor or a
 * reduction's result, or of the output that it is assigned to. Equal seeds in
 * equal shapes are equal numbers. */
#ifndef CROSSLANE_EXPR_H
#define CROSSLANE_EXPR_H

#include <crosslane/explain.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Names in one expression, bound or not; elements of a text in bytes; nodes;
 *  nesting. What is over a limit is refused with XL_BAD_ARGUMENT. */
enum {
    XL_EXPR_MAX_BINDINGS = 32,
    XL_EXPR_MAX_NAME = 31,
    XL_EXPR_MAX_TEXT = 65536,
    XL_EXPR_MAX_NODES = 4096,
    XL_EXPR_MAX_DEPTH = 200
};

/** Everything about one run but when. Zero in an optional field is its
 *  default. */
typedef struct xl_expr_args {
    const xl_binding *bindings;
    unsigned n_bindings;
    bool fast_math;      ///< allow native functions and inexact algebra
    const char *variant; ///< "expr_fused", "expr_unfused"; NULL: the best
    xl_mem workspace;    ///< optional: xl_expr_workspace() bytes
} xl_expr_args;

/** An expression that was understood. Immutable: any thread, any queue of the
 *  library it was compiled with. */
typedef struct xl_expr xl_expr;

/**
 * Parse, check against the bindings, fuse, build and self-check for the
 * queue's device. Memory in the bindings may be absent.
 *
 * Accuracy:  each operation within OpenCL's bound for it (OpenCL C 3.0,
 *            section 7.4). sum: |error| <= 8 u sum |x|, mean and norm2
 *            accordingly, whatever the count; u = 2^-24. var: <= 16 u (var +
 *            u mean^2) count-free to first order.
 * Repeats:   bit for bit on one device and driver.
 *
 * @param text  ended by 0; not kept
 * @param out   xl_expr_destroy() it
 * @return XL_OK; otherwise the story is in xl_error_detail(q), with line and
 *         column, the line itself and a caret below the place:
 *         XL_BAD_ARGUMENT      not in the language, an unknown name or
 *                              function, types that do not fit, a limit
 *                              exceeded, a name bound twice or never used
 *         XL_BAD_SHAPE         shapes that do not broadcast, an axis that is
 *                              not there, a slice that is empty
 *         XL_OVERFLOW          a view's extent does not fit in 64 bits
 *         XL_UNSUPPORTED       this device cannot; the detail says why
 *         XL_BUILD_FAILED      the log is in the detail
 *         XL_UNTRUSTED         the kernels gave wrong results here
 *         XL_NO_MEMORY, or an OpenCL code
 */
XL_API xl_status xl_expr_compile(xl_queue *q, const char *text,
                                 const xl_expr_args *args, xl_expr **out);

/**
 * What to bind an assigned name to: the sizes and the type (f32, i32 or bool)
 * of its value, as a dense view without memory. The other names are bound as
 * for xl_expr_compile(), outputs may be left out. Nothing is built.
 *
 * @return as xl_expr_compile(); XL_BAD_ARGUMENT as well when nothing but parts
 *         of @p name is assigned
 */
XL_API xl_status xl_expr_result(xl_queue *q, const char *text,
                                const xl_expr_args *args, const char *name,
                                xl_tensor *out);

/** NULL is allowed. Work in flight goes on. */
XL_API void xl_expr_destroy(xl_expr *e);

/**
 * Enqueue. The bindings may have other memory, offsets and scalar values than
 * those it was compiled with; for other shapes, strides or types it plans anew
 * and, where the kernels' structure changes, builds.
 *
 * @return as xl_expr_compile(), and
 *         XL_BUFFER_TOO_SMALL  a view runs past the end of its memory, or the
 *                              workspace is too small
 *         XL_OVERLAP           an output shares memory with another binding
 *                              and is not the very same view, or with another
 *                              output, or a view that is written meets itself
 *         XL_BAD_SCALAR        an i32 scalar that is not a whole number of 32
 *                              bits (NaN and infinity are fine in f32)
 *         Nothing of ours still runs then, and outputs are undefined only if
 *         work had begun.
 */
XL_API xl_status xl_expr_run(xl_queue *q, const xl_expr *e,
                             const xl_expr_args *args, const xl_sync *sync);

/** Bytes of scratch that xl_expr_run() wants with these; 0 for none. Without a
 *  workspace the queue keeps one of its own. */
XL_API xl_status xl_expr_workspace(xl_queue *q, const xl_expr *e,
                                   const xl_expr_args *args, size_t *bytes);

/** As xl_gemm_explain(): expr_fused and expr_unfused, best first. */
XL_API xl_status xl_expr_explain(xl_queue *q, const xl_expr *e,
                                 const xl_expr_args *args, xl_choice *out,
                                 unsigned cap, unsigned *n);

/** One kernel of what would run. Strings live until the callback returns. */
typedef struct xl_expr_kernel {
    const char *name;     ///< the function's: "expr_map"
    const char *computes; ///< "y = (x - mean) * rstd"
    const char *why;      ///< why these operations are together, and the
                          ///< vector width, lanes and work per item
    const char *source;   ///< OpenCL C, as it is handed to the compiler, but
                          ///< for the headers it includes
    double flop, bytes;   ///< counted
    size_t global[3], wg[3];
} xl_expr_kernel;

/** Give every kernel, in order, to @p each. Nothing is built. */
XL_API xl_status xl_expr_kernels(xl_queue *q, const xl_expr *e,
                                 const xl_expr_args *args,
                                 void (*each)(const xl_expr_kernel *, void *),
                                 void *arg);

/* -- the same without text --------------------------------------------------
 * Terms are built from names and numbers by calling functions, with the names
 * of the language ("+", "sum", ...). The first mistake is kept and told by
 * xl_expr_compile_terms(). */

typedef struct xl_terms xl_terms;
typedef unsigned xl_term; ///< 0: a mistake was made

XL_API xl_status xl_terms_create(xl_terms **out);
XL_API void xl_terms_destroy(xl_terms *t); ///< NULL is allowed
XL_API xl_term xl_term_name(xl_terms *t, const char *name);
XL_API xl_term xl_term_number(xl_terms *t, double value);
XL_API xl_term xl_term_integer(xl_terms *t, int value);
/** A function or operator by element, or one of the row functions. */
XL_API xl_term xl_term_call(xl_terms *t, const char *function,
                            const xl_term *args, unsigned n_args);
/** A reduction, 0 axes: over all; or softmax or log_softmax over an axis. */
XL_API xl_term xl_term_reduce(xl_terms *t, const char *function, xl_term x,
                              const int *axes, unsigned n_axes);
XL_API xl_term xl_term_cast(xl_terms *t, xl_term x, xl_dtype dtype);
/** name = x, in the order of the calls. A name in @p x is what it is at this
 *  call, not when its term was made. */
XL_API void xl_term_assign(xl_terms *t, const char *name, xl_term x);
/** As xl_expr_compile(); @p t may be destroyed afterwards. */
XL_API xl_status xl_expr_compile_terms(xl_queue *q, const xl_terms *t,
                                       const xl_expr_args *args,
                                       xl_expr **out);

#ifdef __cplusplus
}
#endif
#endif
