/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding of queries and keys, together with the append of keys
 * and values to a cache. */
#ifndef CROSSLANE_ROTARY_H
#define CROSSLANE_ROTARY_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/attention.h>
#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which columns are rotated together. */
typedef enum xl_rotary_pairs {
    XL_ROTARY_HALVES,      ///< j and j + d_rotary / 2, as in GPT-NeoX
    XL_ROTARY_INTERLEAVED, ///< 2 j and 2 j + 1, as in GPT-J
    XL_ROTARY_NONE,        ///< none: q, k and v are copied as they are
    XL_N_ROTARY_PAIRS
} xl_rotary_pairs;

/** A rotary embedding with an append to the cache that xl_attention reads.
 *  Sizes, q_rows and kv_rows are those of that attention: n_kv counts the keys
 *  with the new ones. Zero in an optional field is its default. */
typedef struct xl_rotary {
    size_t size;       ///< XL_ROTARY_INIT
    size_t n_batch;    ///< sequences; 0: 1
    size_t n_heads;    ///< of q; >= 1
    size_t n_kv_heads; ///< of k and v; 0: n_heads
    size_t n_q;        ///< new tokens of each sequence; >= 1
    size_t n_kv;       ///< keys of each sequence, the new ones the last; >= 1
    size_t d_head;     ///< columns; even, 2 to 256
    xl_heads q;        ///< n_batch x n_heads x n_q x d_head
    xl_heads k;        ///< n_batch x n_kv_heads x n_q x d_head
    xl_heads q_out;    ///< as q; it may be the same view
    xl_heads k_cache;  ///< n_batch x n_kv_heads x n_kv x d_head, or as kv_rows
                       ///< says; the last n_q rows are written
    /** Optional, together: values, as k, and their cache, as k_cache. They are
     *  not rotated. These and all other pointers are read before the call
     *  returns; their memory by kernels, when they run. */
    const xl_heads *v, *v_cache;
    /** Optional: as of xl_attention. With kv_rows lengths are read from the
     *  device's memory: token i of sequence b has the position
     *  n_kv(b) - n_q(b) + i, and is row number that of the cache. Tokens of
     *  negative positions are not stored. */
    const xl_sequences *q_rows, *kv_rows;
    /** Optional, where caches are of i8 or f8e4m3: where the factor of each
     *  row is stored, n_batch x n_kv_heads x n_kv x 1 of f32, or as kv_rows
     *  says. NULL: 1. */
    const xl_heads *k_scales, *v_scales;
    size_t d_rotary;       ///< the first columns, which are rotated; even; 0:
                           ///< d_head. Others are copied
    xl_rotary_pairs pairs;
    double base;  ///< of frequencies; above 1; 0: 10000
    double scale; ///< of positions, above 0 and at most 4; 0: 1
    double magnitude; ///< of cos and sin (YaRN's attention factor); 0: 1
    /** Optional: frequency j is divided by factors[j]; 1 x 1 x 1 x d_rotary / 2
     *  of f32, normal numbers from 2^-8 to 2^16 (the `rope_freqs` of GGUF). */
    const xl_heads *factors;
    xl_mem workspace;    ///< optional: scratch, xl_rotary_workspace() bytes
    const char *variant; ///< "rotary_ref" to force one; NULL: the best
    /** Optional, together: rows of q and of k are first divided by the root of
     *  the mean of their squares plus norm_eps, and multiplied by these gains;
     *  1 x 1 x 1 x d_head of f32 (the q_norm and k_norm of Qwen 3 and Gemma 3).
     */
    const xl_heads *q_norm, *k_norm;
    double norm_eps; ///< 0: 1e-5
} xl_rotary;
#define XL_ROTARY_INIT XL_SIZED(xl_rotary)

/**
 * Enqueue one kernel that stores q, rotated, in q_out; k, rotated, and v in the
 * rows of the caches that the positions of the tokens name. With position p,
 * the pair j of columns x, y becomes
 *
 *   x cos(a) - y sin(a),  x sin(a) + y cos(a),
 *   a = p scale base^(-2 j / d_rotary) / factors[j],
 *
 * times magnitude. Source: Su et al. 2021, RoFormer, section 3.2.2. With q_norm
 * and k_norm x and y are columns of the normed rows, not rounded before.
 *
 * Types:     q, k and v of one type, f32, f16 or bf16; q_out and caches of any
 *            of these, both caches of one; caches also of i8 or f8e4m3.
 *            Arithmetic is in f32, of angles in 64-bit fixed point.
 * Narrow:    with scales a row with the largest magnitude m is stored as
 *            x / s to the nearest, s = m / 127 of i8, m / 448 of f8e4m3; 0 for
 *            m < 2^-100. Without, s is 1, and values beyond the type's range
 *            become its largest.
 * Specials:  a row with a NaN or an infinity has the scale NaN or infinity and
 *            undefined codes. In wider types an infinity or a NaN makes its
 *            pair NaN or infinite. With norms its row becomes NaN or 0, as
 *            does one whose sum of squares exceeds f32.
 * Cost:      6 flop for each rotated pair are counted, 4 for each column of a
 *            normed row; all operands once.
 * Accuracy:  |error| <= e (|x| + |y|) magnitude with e = 2^-20 + |a| 2^-46;
 *            columns that are not rotated are exact. With norms 2^-17 more,
 *            of these columns too. Then one rounding to the result's type. A
 *            code times s differs from the rotated value by
 *            at most that error, half a step of the code times s, and 2^-20 m;
 *            s by 2^-20 s besides the error of m.
 * Repeats:   bit for bit.
 * Blocks, @param: as xl_gemm_run().
 * @return as xl_gemm_run():
 *         XL_BAD_ARGUMENT  no such pairs; v without v_cache, q_norm without
 *                          k_norm or the reverse
 *         XL_BAD_SHAPE     a size of 0, d_head or d_rotary odd, d_rotary above
 *                          d_head; sizes of kv_rows and q_rows as of
 *                          xl_attention
 *         XL_BAD_SCALAR    base, scale, magnitude or norm_eps
 *         XL_OVERLAP       a result overlaps itself or another operand; q_out
 *                          may be the same view as q
 *         XL_UNSUPPORTED   types; d_head above 256
 */
XL_API xl_status xl_rotary_run(xl_queue *q, const xl_rotary *r,
                               const xl_sync *sync);
XL_API xl_status xl_rotary_prepare(xl_queue *q, const xl_rotary *r);
/** As xl_gemm_prepare_range(), from r->n_q to @p n_q_last tokens. */
XL_API xl_status xl_rotary_prepare_range(xl_queue *q, const xl_rotary *r,
                                         size_t n_q_last);
/** As xl_gemm_prepare_async(), from r->n_q to @p n_q_last tokens. */
XL_API xl_status xl_rotary_prepare_async(xl_queue *q, const xl_rotary *r,
                                         size_t n_q_last, xl_prepared done,
                                         void *arg);
XL_API xl_status xl_rotary_workspace(xl_queue *q, const xl_rotary *r,
                                     size_t *bytes);
/** As xl_gemm_explain(). */
XL_API xl_status xl_rotary_explain(xl_queue *q, const xl_rotary *r,
                                   xl_choice *out, unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
