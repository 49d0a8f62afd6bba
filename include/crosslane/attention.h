/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: softmax(Q K^T) V without a matrix of scores in memory. */
#ifndef CROSSLANE_ATTENTION_H
#define CROSSLANE_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/gemm.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of every head of every sequence, in memory. Sizes are in the
 *  operation's descriptor. */
typedef struct xl_heads {
    xl_mem mem;
    size_t offset; ///< of the first element, in elements
    /** Elements from one to the next sequence, head, row, column, in this
     *  order; 0 repeats, in what is read only. All 0: dense in that order.
     *  For rows that have their heads side by side ([B, N, H, D]):
     *  {N H D, D, H D, 1}. */
    size_t stride[4];
    xl_dtype dtype;
} xl_heads;

/** How the rows of sequences lie in memory that are not n_batch blocks of one
 *  length. */
typedef enum xl_rows_kind {
    XL_ROWS_LENGTHS = 1, ///< blocks as without it, of which sequence b has only
                         ///< the first numbers[b] rows
    XL_ROWS_PACKED,      ///< one after the other: sequence b has the rows from
                         ///< numbers[b] on, up to numbers[b + 1]
    XL_ROWS_PAGED        ///< numbers[b] rows; row j is row j % page_rows of page
                         ///< number pages[b][j / page_rows]
} xl_rows_kind;

/** Sequences of unequal lengths. All numbers are i32 in the device's memory,
 *  which kernels read when they run: neither the host nor the plan of a call
 *  depends on them. n_q or n_kv, of the operation, is the longest that a
 *  sequence can be: of a length outside [0, n_q] the nearer end applies. Starts
 *  and page numbers are not checked: those of rows outside the operand's memory
 *  are an error of the caller, with undefined results. */
typedef struct xl_sequences {
    xl_rows_kind kind;
    xl_heads numbers; ///< n_batch x 1 x 1 x 1 of i32, packed n_batch + 1
    /** Packed: rows of all sequences in memory; paged: pages in memory. The
     *  operand then is 1 x heads x n_total x columns; or n_total x heads x
     *  page_rows x columns, of which stride[0] is from page to page. */
    size_t n_total;
    xl_heads pages;   ///< paged: n_batch x 1 x ceil(n_kv / page_rows) x 1, i32
    size_t page_rows; ///< paged: a power of two, at least 16
} xl_sequences;

/** An attention, in full. Zero in an optional field is its default. */
typedef struct xl_attention {
    size_t size; ///< XL_ATTENTION_INIT
    size_t n_batch;    ///< sequences; 0: 1
    size_t n_heads;    ///< of q and o; >= 1
    size_t n_kv_heads; ///< of k and v; divides n_heads: head h reads those of
                       ///< number h / (n_heads / n_kv_heads); 0: n_heads
    size_t n_q, n_kv;  ///< queries and keys of each sequence; >= 1
    size_t d_head;     ///< columns of q, k, v and o; 1 to 256
    xl_heads q;        ///< n_batch x n_heads x n_q x d_head
    xl_heads k, v;     ///< n_batch x n_kv_heads x n_kv x d_head
    xl_heads o;        ///< as q; must not overlap any other operand
    double scale;      ///< a normal number of f32, or 0: 1 / sqrt(d_head)
    bool is_causal;    ///< query i sees keys up to i + n_kv - n_q: the last
                       ///< query sees the last key
    size_t window;     ///< query i sees keys less than this far from key i +
                       ///< n_kv - n_q; 0: any
    double soft_cap;   ///< > 0: scores become soft_cap tanh(x / soft_cap);
                       ///< 0: not
    /** Optional: m[b][h][i][j] is added to scores; n_batch x n_heads x n_q x
     *  n_kv of f32, f16 or bf16. A stride of 0 repeats a sequence, a head, a
     *  row or a column. This and the next three are read before the call
     *  returns; their memory by kernels, when they run. */
    const xl_heads *mask;
    /** Optional: slope[b][h] |i + n_kv - n_q - j| is subtracted from scores
     *  (ALiBi); n_batch x n_heads x 1 x 1 of f32. */
    const xl_heads *slopes;
    /** Optional: exp(sink[b][h]) is added to each row's sum, as of a key whose
     *  value is 0; n_batch x n_heads x 1 x 1 of f32. */
    const xl_heads *sinks;
    /** Optional: where log(sum_j exp(x[i][j])) of each row is stored; n_batch
     *  x n_heads x n_q x 1 of f32. */
    const xl_heads *lse;
    xl_mem workspace;    ///< optional: scratch, xl_attention_workspace() bytes
    const char *variant; ///< "attention_ref" to force one; NULL: the best
    /** Optional: the score, an expression over `x`, which is all of the above
     *  as an f32. Operands broadcast to n_heads x n_q x n_kv, with more than
     *  one sequence to n_batch x n_heads x n_q x n_kv: "x + slope * at" with
     *  sizes {n_heads, 1, 1} and {n_kv}. At most XL_ATTENTION_MAX_BINDINGS
     *  bindings. */
    xl_epilogue prologue;
    /** The gradient of o, read, and where those of q, k and v are stored, each
     *  of the sizes and the type of its operand; with is_backward only. */
    const xl_heads *grad_o, *grad_q, *grad_k, *grad_v;
    bool is_backward; ///< compute these gradients instead; see below
    /** Optional: queries of unequal lengths, of q, o and lse; not paged. Rows
     *  past the end of a sequence are not stored. */
    const xl_sequences *q_rows;
    /** Optional: keys of unequal lengths, of k, v and their scales. With either,
     *  query i of a sequence sees keys by its own lengths, and rows and columns
     *  of the mask, n_q x n_kv, are those of the sequence. */
    const xl_sequences *kv_rows;
    /** Optional, where k and v are of i8 or f8e4m3: what their rows are
     *  multiplied by; n_batch x n_kv_heads x n_kv x 1 of f32, with kv_rows as
     *  they are. A stride of 0 repeats: {0, 0, 1, 0} for a scale per key,
     *  {n_kv_heads, 1, 0, 0} per head. NULL: 1. */
    const xl_heads *k_scales, *v_scales;
    xl_accuracy accuracy; ///< accuracy that may be given up for speed, where q,
                          ///< k and v are f32; not of gradients
} xl_attention;
#define XL_ATTENTION_INIT XL_SIZED(xl_attention)

enum { XL_ATTENTION_MAX_BINDINGS = 8 };

/**
 * Enqueue, for each sequence b, head h, query i and column c,
 *
 *   o[b][h][i][c] = sum_j p[j] v[b][g][j][c],
 *   p[j] = exp(x[j]) / (sum_j exp(x[j]) + exp(sink)),
 *   x[j] = prologue(cap(scale q[b][h][i] . k[b][g][j]) - slope distance +
 *                   mask),
 *
 * over the keys j that query i sees, g the head of k and v that h reads.
 * Scores are not stored: memory beyond the operands is at most a copy of k and
 * v in f32, or of o with two more columns; with XL_ACCURACY_SPLIT a copy of k
 * and v whose keys are rounded up to a multiple of 64 and columns to one of 16,
 * and 128 bytes for every 256 keys, rounded up, of a head.
 *
 * Types:     q, k, v and o have one type, f32, f16 or bf16; or k and v another
 *            one, i8 or f8e4m3, with scales; or q, k and v are f8e4m3 and o is
 *            f32, f16 or bf16. Then k_scales and scale have the factor of q,
 *            and scales must be positive. Sums are f32.
 * Specials:  a query that sees no key, or whose scores are all -inf, gives 0
 *            and without a sink an lse of -inf. A row with a score that is NaN
 *            or +inf is all NaN. Other scores of -inf have the weight 0. An
 *            infinity or NaN in v of a key with the weight 0, and in k or v
 *            of one that the query does not see but others do, may be multiplied
 *            by it, which gives NaN, or be skipped.
 * Cost:      4 d_head flop for each pair of a query and a key that it sees; at
 *            least q, k, v and o once.
 * Accuracy:  with d[j] the bound of the error of the score x[j], D the largest
 *            of them in the row, and a the largest difference of two scores of
 *            the row, but at most 104, since below that weights are 0,
 *              |error of o| <= (expm1(2 D) + (2 a + 2 n_kv + 64) u + w)
 *                              sum_j p[j] |v[j]| + 2^-126 sum_j |v[j]|
 *            before one rounding to o's type, u that of f32, w that of the
 *            type of v (p may be rounded to it; 0 for f32). That of lse is D +
 *            (a + n_kv + 64 + 2 |lse|) u. Without a prologue
 *              d[j] = u ((d_head + 6) scale |q| . |k[j]| + 16 soft_cap +
 *                        4 slope distance + 4 |x[j]|),
 *            |q| and |k[j]| by element, 0 where x[j] is -inf. With q of f8e4m3
 *            an engine may keep 13 bits of sums, as xl_gemm_run() states: w is
 *            2^-4 + n_kv 2^-12, 2^-16 takes the place of 2^-126, and d[j] has
 *            2^-12 d_head scale |q| . |k[j]| more, unless a power of two
 *            divides all of its products and is 2^-12 of the sum of their
 *            magnitudes or more. For long sums of one sign that bound is weak.
 *            With another `accuracy` than FULL, products of f32 lose l, 5 2^-22
 *            with SPLIT and 2^-9 with FAST: d[j] has (l + 2^-23 d_head) scale
 *            |q| . |k[j]| more, and w is l + 2^-16, since an engine may
 *            truncate sums. With SPLIT, for terms that are below the numbers
 *            of f16, d[j] has 2^-37 d_head scale Q K more, and |error of o|
 *            2^-31 sum_j |v[j]| + 2^-38 V, with Q, K and V the largest finite
 *            magnitudes of the sequence in a head of k, in that of v, and in
 *            the heads of q that read them. Then an infinity in q, k or
 *            v, and one of 2^127 or more in q, may give NaN for what it is
 *            multiplied by, and numbers below 2^-100 may lose all but 11 bits.
 *            Source: Higham 2002, section 3.1; Blanchard, Higham, Higham 2021, theorem 4.2.
 * Repeats, Blocks, @param, @return: as xl_gemm_run().
 *
 * With is_backward o and lse are read; they are what the call without it gave.
 * With p[i][j] = exp(x[i][j] - lse[i]), 0 where x[i][j] is -inf or query i
 * does not see key j, and cap' the derivative of the soft cap,
 *
 *   s[i][j] = p[i][j] (grad_o[i] . (v[j] - o[i])) cap', 0 where p[i][j] is 0,
 *   grad_q[i] = scale sum_j s[i][j] k[j],
 *   grad_k[j] = scale sum_i s[i][j] q[i],  grad_v[j] = sum_i p[i][j] grad_o[i],
 *
 * for each sequence and head, the sums over i also over the heads that read a
 * head of k and v. All five of lse and the gradients are required
 * (XL_BAD_ARGUMENT). A sink counts by way of lse; sinks are not read. The
 * gradients of mask, slopes and sinks are not given. A prologue,
 * q_rows, kv_rows and scales are refused (XL_UNSUPPORTED).
 * Types:     as above; gradients have the type of q. Sums are f32.
 * Specials:  a query that sees no key, or whose scores are all -inf, gives 0.
 *            One with an lse of NaN gives NaN to its row of grad_q and to
 *            those of grad_k and grad_v whose keys it sees with a score other
 *            than -inf. An infinity or NaN in q, k, v or grad_o may be
 *            multiplied by a weight of 0, as above.
 * Cost:      10 d_head flop for each pair are counted; at least all operands
 *            once. Memory beyond the operands is at most d_head + 3 f32 a
 *            query, their number in a head rounded up to a multiple of 128,
 *            and 256 bytes.
 * Accuracy:  with d the bound of the error of the score x[i][j], y = x[i][j] -
 *            lse[i], t = 2 d / soft_cap + 24 u with a soft cap, else 0,
 *            e = expm1(d + (|y| + 8) u), f = expm1(d + t + (|y| + d_head + 24)
 *            u), m = |grad_o[i]| . (|v[j]| + |o[i]|), n the queries of all
 *            heads that read a head of k and v, g = (n + 4) u + w, h = (n_kv +
 *            4) u + w, w that of the type of v (p and s may be rounded to it; 0
 *            for f32),
 *              |error of grad_v[j]| <= sum_i (p (e + g) + z) |grad_o[i]|
 *              |error of grad_q[i]| <= |scale| sum_j (p m (f + h) |k[j]| +
 *                                      z (1 + m) (1 + |k[j]|))
 *              |error of grad_k[j]| <= |scale| sum_i (p m (f + g) |q[i]| +
 *                                      z (1 + m) (1 + |q[i]|))
 *            and z, by element, z = 2^-126, with f16 2^-25, before one rounding
 *            to the gradient's type. What o and lse differ from those of exact arithmetic is not
 *            in it.
 * Repeats:   bit for bit: each sum has one order.
 */
XL_API xl_status xl_attention_run(xl_queue *q, const xl_attention *a,
                                  const xl_sync *sync);
XL_API xl_status xl_attention_prepare(xl_queue *q, const xl_attention *a);
/** As xl_gemm_prepare_range(), from a->n_kv to @p n_kv_last keys. */
XL_API xl_status xl_attention_prepare_range(xl_queue *q, const xl_attention *a,
                                            size_t n_kv_last);
/** As xl_gemm_prepare_async(), from a->n_kv to @p n_kv_last keys. */
XL_API xl_status xl_attention_prepare_async(xl_queue *q, const xl_attention *a,
                                            size_t n_kv_last, xl_prepared done,
                                            void *arg);
XL_API xl_status xl_attention_workspace(xl_queue *q, const xl_attention *a,
                                        size_t *bytes);
/** As xl_gemm_explain(). */
XL_API xl_status xl_attention_explain(xl_queue *q, const xl_attention *a,
                                      xl_choice *out, unsigned cap,
                                      unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
