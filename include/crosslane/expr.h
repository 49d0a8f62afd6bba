/* SPDX-License-Identifier: Apache-2.0 */
/* Fused expressions: arithmetic on tensors, given as text, is compiled at run
 * time into as few kernels as possible for the device.
 *
 *   text       = statement { (";" | newline) statement }
 *   statement  = [ name [ slice ] "=" ] expression
 *
 * A bare expression assigns to `out`. A name that is bound (xl_binding) is the
 * caller's tensor or scalar; a name that is assigned and not bound is a
 * temporary. A bound tensor that is assigned is an output; if it is read
 * before that, it is an input as well and is changed in place. `#` begins a
 * comment.
 *
 * Operators, tightest first: x[...], then powers ^ or ** (to the right), unary
 * - ! ~, then * / // %, then + -, then << >>, then < <= > >= == != (which do
 * not chain; write a < b & b < c), then &, then |. Numbers: 2 (an i32), 2.5
 * and 1e-3 (f32, or f64); pi, inf, nan, true, false.
 *
 * By element:  abs ceil floor round trunc sign sqrt rsqrt exp exp2 expm1 log
 *   log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
 *   atanh erf sigmoid relu gelu gelu_tanh silu softplus isnan isinf isfinite
 *   (1), min or minimum, max or maximum, pow mod fmod atan2 hypot copysign xor
 *   (2), where clamp fma (3), cast(x, f16); rand(seed), randn(seed): Philox of
 *   the seed and the element's index; index(axis): the element's index along
 *   an axis (i32), as in where(index(-1) <= index(-2), x, 0) for the lower
 *   triangle.
 * Over axes:   sum prod mean var std min max argmin argmax any all logsumexp
 *   norm2
 *   f(x) over all axes, f(x, axis=-1), f(x, axis=(0, 2)). The axes stay, with
 *   size 1, so a result broadcasts back; an output may omit them.
 * Rows:        softmax log_softmax (x, axis=-1), layer_norm(x, gain, bias,
 *   eps), rms_norm(x, gain, eps) over the last axis.
 * Views:       x[2:10:2, ...], x[::-1], x[:, None], transpose(x),
 *   permute(x, 1, 0, 2), reshape(x, 4, -1), of any value, one after another.
 * By index:    x[i], x[:, i] and gather(x, i, axis=0) of an integer value i;
 *   x[i:i + 4:2] and slice(x, i, i + 4, axis=0), elements from an offset on.
 * Pieces:      concat(x, y, axis=0) of 2 to 4 values; pad(x, before, after),
 *   pad(x, before, after, value), along all axes or those of axis=; cumsum(x)
 *   in the order of the elements, cumsum(x, axis=1).
 *
 * Broadcasting is NumPy's. Types: where a bound name or a cast() of the
 * expression is f64, all its floats are f64, also literals; what follows of
 * f32 and of its u is then said of f64 and u = 2^-53. Where one is i64 or u32,
 * all its integers are i64, and what follows of i32 is said of i64 (no u32
 * wraps: cast(x & 4294967295, u32)); integers of the text end below 2^53.
 * Otherwise arithmetic on f32, f16 and bf16 is in f32, and only cast() and
 * stores round; i8, u8, u16 and bool become i32; i32 wraps; an i32 combined
 * with a float becomes f32; `/` and functions give f32, but abs, sign, ceil,
 * floor, round, trunc, relu, min, max, clamp, mod, fmod, //, sum of integers
 * and integers ^ 2 (a whole number in the text) are i32; comparisons give bool,
 * the only type of ! any all and of where's condition. & | xor are of two bools, or bit by bit of two i32; ~
 * is ! of a bool and the complement of an i32; << and >> are of integers, and
 * a count below 0 or above 31 (63) gives what shifting one by one would: 0, or -1
 * of a negative x >> n. x^n is multiplied out for integers n from -5 to 16.
 * min and max propagate NaN. x // y is the quotient rounded down and x % y =
 * mod(x, y) what is left, with the sign of y, as in NumPy; fmod has the sign
 * of x, as in C. Division of an i32 by 0 by these three gives 0; of floats x
 * // 0 is x / 0, and the others NaN. A quotient of floats is exact below 2^20;
 * beyond it is within 8 ulp. gelu, gelu_tanh and silu of -inf are 0. round is
 * to even. cast to an integer truncates and saturates; NaN gives 0; cast to
 * bool is x != 0. An output accepts a value of its own kind or a lower one
 * (bool < integers < floats), broadcast to its shape; integers saturate in
 * narrower types. var divides by the count. argmin and argmax give the first
 * index (i32) along the flattened axes; a NaN counts as the smallest and as
 * the largest, respectively. softmax of a row that is all -inf (fully masked)
 * is 0; log_softmax and logsumexp of it are -inf. NaN in a row gives NaN in
 * all three; so does +inf, except that logsumexp is +inf.
 *
 * Views follow NumPy's rules; an index drops its axis, None is a new axis of
 * size 1, -1 in reshape is what remains, orders and sizes may be in
 * parentheses. Views of a bound tensor make no copy, unless strides cannot
 * express a reshape. A view of a computed value is computed again from views of
 * its operands, or the value is stored for it: what takes less time on the
 * device by its rates (xl_expr_kernels() has the numbers). Values of
 * reductions, of random numbers and those that are reshaped are stored.
 *
 * gather(x, i, axis) is NumPy's take(): the axes of i replace the axis of x,
 * so a single i (a scalar, or an element in device memory) is an offset that
 * is known at run time. x[2:, i, ::-1] is that of x[2:, :, ::-1]; beside i
 * there are only slices. A negative index counts from the end; where an index
 * is not in the axis, the element is NaN, or 0 or false, and no memory is
 * read. x is stored first if it is computed, and the result if a reduction
 * reads it. x[i:i + n] is gather() of i, i + 1 ...: its bounds differ by a
 * whole number in the text, which is the size. concat() and pad() are choices
 * among such gathers, so they store what they read unless it is a view of a
 * bound tensor. cumsum() along n elements, an i32 for integers and bools, is
 * exact for integers, and of floats within 10 u l sum |x|, where l = 1 for n up
 * to 64, and otherwise 1 more than for n / 32.
 *
 * A value without elements, as x[3:3], is one of size 0; a bound tensor may
 * have none, and then needs no memory. sum, any and norm2 of no elements are 0,
 * prod and all 1, mean and var NaN, logsumexp -inf; the others are an error, as
 * in NumPy.
 *
 * After an assignment the name has the assigned value, with the value's own
 * shape and type, bound or not. Disjoint slices of a bound tensor can be
 * assigned one by one (y[:4] = a; y[4:] = b); y cannot be read after that.
 * rand() and index() have no shape of their own: they get that of the first
 * operation with a tensor or a reduction's result, or of the output that they
 * are assigned to. Equal seeds and shapes give equal numbers. */
#ifndef CROSSLANE_EXPR_H
#define CROSSLANE_EXPR_H

#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Limits: names in one expression, bound or not; bytes of a name and of the
 *  text; nodes; nesting. Beyond a limit the status is XL_BAD_ARGUMENT. */
enum {
    XL_EXPR_MAX_BINDINGS = 32,
    XL_EXPR_MAX_NAME = 31,
    XL_EXPR_MAX_TEXT = 65536,
    XL_EXPR_MAX_NODES = 4096,
    XL_EXPR_MAX_DEPTH = 200
};

/** Arguments of one run. Zero in an optional field is its default. */
typedef struct xl_expr_args {
    size_t size; ///< XL_EXPR_ARGS_INIT
    const xl_binding *bindings;
    unsigned n_bindings;
    bool fast_math;      ///< allow native functions and inexact algebra
    const char *variant; ///< "expr_fused", "expr_unfused"; NULL: the best
    xl_mem workspace;    ///< optional: xl_expr_workspace() bytes
} xl_expr_args;
#define XL_EXPR_ARGS_INIT XL_SIZED(xl_expr_args)

/** A compiled expression. Immutable: it may be used by any thread and on any
 *  queue of the library it was compiled with. */
typedef struct xl_expr xl_expr;

/**
 * Parse, check against the bindings, fuse, build and self-check for the
 * queue's device. Memory in the bindings may be absent.
 *
 * Accuracy:  each operation within OpenCL's bound for it (OpenCL C 3.0,
 *            section 7.4). sum: |error| <= 8 u sum |x|, mean and norm2
 *            accordingly, whatever the count; u = 2^-24. No square of norm2
 *            overflows or underflows. var: <= 16 u (var + u mean^2) count-free
 *            to first order. prod of n: <= 2 n u |prod| unless a product of
 *            some of them is out of range.
 * Repeats:   bit for bit on one device and driver.
 *
 * @param text  ended by a 0 byte; not kept
 * @param out   xl_expr_destroy() it
 * @return XL_OK; otherwise the message is in xl_error_detail(q), with line
 *         and column, the line itself and a caret below the position:
 *         XL_BAD_ARGUMENT      a syntax error, an unknown name or function,
 *                              types that do not match, a limit exceeded, a
 *                              name bound twice or never used
 *         XL_BAD_SHAPE         shapes that do not broadcast, an axis that
 *                              does not exist, max() of no elements
 *         XL_OVERFLOW          a view's extent does not fit in 64 bits
 *         XL_UNSUPPORTED       not possible on this device; the detail has
 *                              the reason: f64 needs cl_khr_fp64
 *         XL_BUILD_FAILED      the log is in the detail
 *         XL_UNTRUSTED         the kernels failed their self-check
 *         XL_NO_MEMORY, or an OpenCL code
 */
XL_API xl_status xl_expr_compile(xl_queue *q, const char *text,
                                 const xl_expr_args *args, xl_expr **out);

/** xl_expr_compile() in the background (xl_prepared).
 *
 *  @param out   NULL now; the expression before @p done is called with XL_OK.
 *               Valid until @p done has been called
 *  @param done  NULL allowed
 *  @return XL_OK; XL_BAD_ARGUMENT (a NULL) or XL_NO_MEMORY: @p done is not
 *          called */
XL_API xl_status xl_expr_compile_async(xl_queue *q, const char *text,
                                       const xl_expr_args *args, xl_expr **out,
                                       xl_prepared done, void *arg);

/**
 * Sizes and type (f32, f64, i32, i64 or bool) of the value assigned to a name,
 * as a dense view without memory, so that the caller can allocate it. The other names are
 * bound as for xl_expr_compile(); outputs may be omitted. Nothing is built.
 *
 * @return as xl_expr_compile(); XL_BAD_ARGUMENT also when only slices of
 *         @p name are assigned
 */
XL_API xl_status xl_expr_result(xl_queue *q, const char *text,
                                const xl_expr_args *args, const char *name,
                                xl_tensor *out);

/** NULL is allowed. Enqueued runs are not affected. */
XL_API void xl_expr_destroy(xl_expr *e);

/**
 * Enqueue. The bindings may have other memory, offsets and scalar values than
 * those it was compiled with; for other shapes, strides or types it is planned
 * again and, where the structure of the kernels changes, built.
 *
 * @return as xl_expr_compile(), and
 *         XL_BUFFER_TOO_SMALL  a view runs past the end of its memory, or the
 *                              workspace or the queue's scratch limit is
 *                              too small
 *         XL_OVERLAP           an output overlaps another binding and is not
 *                              the same view, or overlaps another output, or
 *                              overlaps itself
 *         XL_BAD_SCALAR        an i32 scalar that is not a 32-bit integer, an
 *                              i64 scalar that is not whole or not below 2^53, a
 *                              finite f32 scalar that overflows when rounded
 *                              to f32 (NaN and infinity are valid in f32)
 *         After an OpenCL code a part of the call may be in the queue
 *         (xl_sync), and outputs are undefined; after one of ours nothing was
 *         enqueued.
 */
XL_API xl_status xl_expr_run(xl_queue *q, const xl_expr *e,
                             const xl_expr_args *args, const xl_sync *sync);

/** Bytes of scratch that xl_expr_run() needs with these arguments; 0 for none.
 *  Without a workspace the queue allocates and keeps one. */
XL_API xl_status xl_expr_workspace(xl_queue *q, const xl_expr *e,
                                   const xl_expr_args *args, size_t *bytes);

/** As xl_gemm_explain(): expr_fused and expr_unfused, best first. */
XL_API xl_status xl_expr_explain(xl_queue *q, const xl_expr *e,
                                 const xl_expr_args *args, xl_choice *out,
                                 unsigned cap, unsigned *n);

/** One kernel of an expression. The strings are valid during the callback. */
typedef struct xl_expr_kernel {
    const char *name;     ///< the function's: "expr_map"
    const char *computes; ///< "y = (x - mean) * rstd"
    const char *why;      ///< why these operations are fused, and the vector
                          ///< width, lanes and elements per work-item
    const char *source;   ///< OpenCL C as it is compiled, without the headers
                          ///< that it includes
    double flop, bytes;   ///< counted
    size_t global[3], wg[3];
} xl_expr_kernel;

/** Pass every kernel, in order, to @p each. Nothing is built. */
XL_API xl_status xl_expr_kernels(xl_queue *q, const xl_expr *e,
                                 const xl_expr_args *args,
                                 void (*each)(const xl_expr_kernel *, void *),
                                 void *arg);

/* -- expressions without text ------------------------------------------------
 * Terms are built from names and numbers by calls, with the names of the
 * language ("+", "sum", ...). The first error is recorded, and
 * xl_expr_compile_terms() returns it. */

typedef struct xl_terms xl_terms;
typedef unsigned xl_term; ///< 0: an error occurred

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
/** name = x, in the order of the calls. A name in @p x has its value at this
 *  call, not at the creation of its term. */
XL_API void xl_term_assign(xl_terms *t, const char *name, xl_term x);
/** As xl_expr_compile(); @p t may be destroyed afterwards. */
XL_API xl_status xl_expr_compile_terms(xl_queue *q, const xl_terms *t,
                                       const xl_expr_args *args,
                                       xl_expr **out);

#ifdef __cplusplus
}
#endif
#endif
