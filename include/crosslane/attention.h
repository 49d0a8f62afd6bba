/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: softmax(Q K^T) V without a matrix of scores in memory. */
#ifndef CROSSLANE_ATTENTION_H
#define CROSSLANE_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
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
 * v in f32, or of o with two more columns.
 *
 * Types:     q, k, v and o have one type, f32, f16 or bf16. Sums are f32.
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
 *              d[j] = u ((d_head + 4) scale |q| . |k[j]| + 16 soft_cap +
 *                        4 slope distance + 4 |x[j]|),
 *            |q| and |k[j]| by element, 0 where x[j] is -inf. Source: Higham
 *            2002, section 3.1; Blanchard, Higham, Higham 2021, theorem 4.2.
 * Repeats, Blocks, @param, @return: as xl_gemm_run().
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
