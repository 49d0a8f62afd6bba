/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, one or a batch. As every op: a descriptor and an
 * asynchronous _run() on the caller's queue and memory; _prepare() builds ahead
 * of time, _workspace() returns the scratch size, _explain() lists the
 * variants. */
#ifndef CROSSLANE_GEMM_H
#define CROSSLANE_GEMM_H

#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Accuracy that an operation may give up for speed: a GEMM, where A and B have
 *  one type, a convolution of floats, attention of f32, or a product with
 *  quantised weights. Bounds: xl_gemm_run(), xl_conv_run(), xl_attention_run(),
 *  which states what its terms lose, and xl_qgemm_run(). */
typedef enum xl_accuracy {
    /** Products of f32 are f32 products; sums have the sum's type. */
    XL_ACCURACY_FULL,
    /** Operands of f32 may be split into terms of a narrower type, which a
     *  matrix engine multiplies. The error of the product, relative to the
     *  norms of the rows of A and columns of B, is no larger than that of a
     *  chain of f32 FMAs. This does not hold element by element: an element of
     *  A (B) below 2^-16 of the largest in its row (column) loses bits, and one
     *  below 2^-39 counts as 0. Rows and columns may have any scale. Where an
     *  operand has an infinity or NaN, the device itself computes the product
     *  in plain f32 instead. The workspace holds the terms.
     *  A convolution may use Winograd's F(2x2, 3x3): an error relative to the
     *  largest magnitudes of filters and windows, not element by element. */
    XL_ACCURACY_SPLIT,
    /** f32 operands may be rounded to 11 significant bits (TF32), and sums
     *  of 8-bit floats kept as the matrix engine keeps them. A convolution may
     *  use F(4x4, 3x3). */
    XL_ACCURACY_FAST,
    XL_N_ACCURACIES
} xl_accuracy;

/** Sizes that are in device memory: numbers of 32 bits without sign, one after
 *  another. Kernels read them when they run, so a command that the call waits
 *  for may write them. The library reads this struct before the call returns.
 */
typedef struct xl_sizes {
    xl_mem mem;    ///< must not overlap what the call writes
    size_t offset; ///< of the first one, in numbers
} xl_sizes;

/** Offsets that are in device memory: numbers of 64 bits without sign, likewise
 *  read by kernels. */
typedef struct xl_offsets {
    xl_mem mem;
    size_t offset; ///< of the first one, in numbers
} xl_offsets;

/** The products of a batched call, and the offsets of their matrices. All zero:
 *  one product. */
typedef struct xl_batch {
    size_t count; ///< products in all; 0: one
    /** Elements from one product's matrix to the next one's. 0 for A or B: all
     *  products share the matrix. The matrices C must be disjoint. */
    size_t a_step, b_step, c_step;
    /** Instead of steps, all three or none: arrays of `count` offsets in
     *  elements, added to the view's own. Read before the call returns. */
    const cl_ulong *a_at, *b_at, *c_at;
    /** A second axis, as the heads of a batch: product z is number z % inner
     * of row z / inner. The steps above then lead from row to row. `inner`
     *  divides `count`; 0: one axis. Not with listed offsets. */
    size_t inner;
    /** Elements from one product of a row to the next one; 0 for A or B: the
     *  row shares the matrix. */
    size_t a_inner, b_inner, c_inner;
    /** So many consecutive products of a row share a matrix of A, or of B, as
     *  grouped queries do: product i of a row takes matrix i / share. 0: 1. */
    size_t a_share, b_share;
    /** Optional: how many of the m rows of C each product computes, `count`
     *  numbers, as the tokens of each expert or the lengths of sequences. A
     *  number above m counts as m; 0: nothing. The other rows of C are neither
     *  read nor written; those of A may be read, without effect. All matrices
     *  must have the memory for m rows. A single product may have it too. The
     *  variants are gemm_ref, gemm_tiled, gemm_simt, gemm_skinny and gemm_cpu;
     *  all but the first skip tiles without such rows. xl_gemm_prepare() needs
     *  it set, but not its memory. */
    const xl_sizes *rows;
    /** Optional, instead of steps and listed offsets, as of blocks or experts
     *  that an earlier command chose: the offsets in elements in device memory,
     *  `count` numbers for A, then for B, then for C. Not with `inner`. The
     *  views must fit as they are; what the numbers lead to is not checked: a
     *  matrix must be within the memory of its view, and those of C disjoint
     *  from each other, from the workspace and from all that the call reads.
     *  The matrices count as aligned to their elements only. The variants are
     *  those of listed offsets, but for gemm_clblast. xl_gemm_prepare() needs
     *  it set, but not its memory. */
    const xl_offsets *at;
} xl_batch;

/** What the elements of A or of B stand for: scale (element - zero), computed
 *  in f32. Groups of elements share one scale and one zero: element (i, j) has
 *  those at (i / group_rows, j / group_cols), so that the matrices of both are
 *  rows / group_rows by cols / group_cols, rounded up. For B of k x n that is
 *  one a tensor with 0, 0; one a column (an output channel of weights) with
 *  0, 1; a group of 64 along k in each column with 64, 1; blocks of 128 x 128
 *  with 128, 128. All zero: the elements themselves. */
typedef struct xl_scales {
    /** Of f32, f16 or bf16; NULL: 1. A stride of 0 repeats one; both are
     *  below 2^32. Read before the call returns; its memory by kernels, when
     *  they run. */
    const xl_mat *scale;
    /** Likewise, also of i8, u8 or i32, converted to f32; NULL: 0. */
    const xl_mat *zero;
    size_t group_rows, group_cols; ///< 0: all rows, all columns
    /** Elements from the scales, and the zeros, of one product of a batch to
     *  the next one's, as a_step of xl_batch, and along its second axis, as
     *  a_inner; a_share or b_share applies. 0: products share them. Listed
     *  offsets do not apply: product z has those z steps on. */
    size_t scale_step, zero_step, scale_inner, zero_inner;
} xl_scales;

/** A GEMM, in full. Zero in an optional field is its default. */
typedef struct xl_gemm {
    size_t size; ///< XL_GEMM_INIT
    size_t m, n, k;      ///< A is m x k, B is k x n, C is m x n; all >= 1
    xl_mat a, b, c;      ///< c must not overlap a or b; a and b may be one.
                         ///< Their own rows (columns) must not overlap, but a
                         ///< stride of 0 in a or b repeats one
    double alpha, beta;  ///< alpha == 0: A and B are not read; beta == 0: C is
                         ///< written, never read
    xl_mem workspace;    ///< optional: scratch, xl_gemm_workspace() bytes,
                         ///< which must not overlap any operand
    const char *variant; ///< "gemm_tiled" to force one; NULL: the best
    xl_batch batch;      ///< optional
    xl_epilogue epilogue; ///< optional
    xl_accuracy accuracy; ///< accuracy that may be given up for speed
    xl_scales a_scales, b_scales; ///< optional; group_rows, group_cols of A
                                  ///< are along m and k, those of B along k
                                  ///< and n
} xl_gemm;
#define XL_GEMM_INIT XL_SIZED(xl_gemm)

/**
 * Enqueue C = epilogue(alpha A B + beta C), once for each product of a batch.
 *
 * Types:     each of A and B; sums; C:
 *              f32, f16, bf16, f8e4m3,
 *              f8e5m2, i8, u8   f32   f32, f16, bf16
 *              both i8 or u8    i32   i32, f32, f16, bf16
 *              both f64         f64   f64
 *            For C of i32, alpha and beta are integers and sums wrap; for
 *            C of floats, a sum in i32 is rounded to f32 first. A and B of
 *            different types, and u8, have the variants gemm_ref, gemm_tiled,
 *            gemm_skinny, and gemm_simt and gemm_block_read for f32, f16 and
 *            bf16. With scales or zeros sums are f32, A and B not f64, and the
 *            variants gemm_ref and gemm_tiled. With an epilogue C may be of
 *            f32, f16, bf16, i32, i8, u8 or bool; its text casts where the
 *            language requires it; f64 has no epilogue.
 * Scalars:   alpha and beta are rounded to the type of y first: f64 or i32
 *            where C is, and f32 otherwise or with an epilogue. With alpha = 0
 *            C = epilogue(beta C), as in BLAS: A and B are not read, so that a
 *            NaN in them has no effect, and their memory may be absent or
 *            overlap C; their types, sizes and strides are checked. `variant`
 *            and `accuracy` then have no effect. With beta = 0 what C contains
 *            has no effect.
 * Cost:      2 m n k flop a product; at least (m k + k n) sizeof(a) +
 *            m n sizeof(c) bytes moved, and m n sizeof(c) more when beta != 0.
 * Accuracy:  alpha = 1, beta = 0: |error| <= ((1 + o)^2 (1 + k u) - 1) |A| |B|
 *            elementwise, then one rounding to c's type. o is the rounding of
 *            an operand, u that of a sum:
 *              f64                     o = 0      u = 2^-53
 *              f32                     o = 0      u = 2^-24
 *              other floats, or floats
 *              and i8 or u8            o = 0      u = 2^-23
 *              f32, FAST               o = 2^-10  u = 2^-23
 *              8-bit floats, FAST      o = 0      u = 2^-12
 *            These have the larger u because a matrix engine may truncate
 *            sums instead of rounding them. Where both are 8-bit floats, add
 *            min(k, 128) 2^-12 |A| |B|, since an engine may keep 13 bits of
 *            the sums of 128 products; in FAST the bound is weak for long sums
 *            of one sign. An operand with scales or zeros has o = 2^-23 in its
 *            own factor (1 + o), for two roundings in f32 of scale (element -
 *            zero), and |A| or |B| is of these values; one below 2^-126 may
 *            count as 0. Sums in i32 are exact. For f32 in XL_ACCURACY_SPLIT
 *            |error| <= (k + 272) 2^-24 |A| |B| + k 2^-37 r c, with r the
 *            largest magnitude in the row of A and c in the column of B.
 *            Source: Jeannerod, Rump 2013; lib/ops/gemm/selfcheck.c.
 * Repeats:   bit for bit on one device and driver, unless xl_gemm_explain()
 *            states otherwise for the variant.
 * Blocks:    only for the first call of its kind on a device and driver (build,
 *            self-check, audition: xl_audition); xl_gemm_prepare() does that
 *            ahead of time.
 * Memory:    the library allocates the queue's scratch where no workspace is
 *            given, and a device copy of a batch's offsets, kept until they
 *            change. The self-check and the audition of a first call have
 *            buffers of their own, which are released before it returns.
 *
 * Backward:  with dC the gradient of C = A B (A m x k, B k x n), the other two
 *            products of a training step are GEMMs on the same views:
 *              dA = dC B^T   m, k, n;  a = dC, b = xl_mat_transposed(B)
 *              dB = A^T dC   k, n, m;  a = xl_mat_transposed(A), b = dC
 *            beta = 1 accumulates gradients; f16 or bf16 operands with f32
 *            gradients are among the types above. The gradient of a bias is
 *            "sum(dC, axis=0)" (crosslane/expr.h).
 *
 * @param q     one thread at a time; queues are independent of each other
 * @param sync  NULL: start after the commands already in the queue
 * @return XL_OK: enqueued, not finished. Otherwise the message is in
 *         xl_error_detail(q) until the next call on q. After an OpenCL code a
 *         part of the call may be in the queue (xl_sync), and C is undefined;
 *         after one of these nothing was enqueued, and C is as it was:
 *         XL_BAD_ARGUMENT      a NULL, an unknown dtype or variant name, only
 *                              some of the arrays of offsets, an epilogue
 *                              that is not in the language, memory of another
 *                              cl_context, an address that is not a multiple
 *                              of an element's size, batch.at with another
 *                              form of a batch
 *         XL_BAD_SHAPE         a size is 0, a binding does not broadcast
 *         XL_OVERFLOW          a matrix's extent does not fit in 64 bits
 *         XL_BUFFER_TOO_SMALL  a matrix runs past the end of its memory, or
 *                              the workspace is too small, or the queue's
 *                              scratch limit is
 *         XL_OVERLAP           strides, steps or offsets make C overlap
 *                              itself, or C overlaps A, B, scales or zeros or
 *                              a binding; a leading dimension of A, B, scales
 *                              or zeros is shorter than a row and not 0; the workspace overlaps an
 *                              operand. Views of one buffer that interleave
 *                              at a common distance, as the rows of two
 *                              blocks or the products of records [A, B, C]
 *                              do, are disjoint
 *         XL_BAD_SCALAR        alpha or beta is NaN or infinite, overflows in
 *                              the type of y, or is not a 32-bit integer where
 *                              that is i32; a scalar of the epilogue as in
 *                              xl_expr_run()
 *         XL_UNSUPPORTED       no variant supports these types on this device
 *         XL_BUILD_FAILED      the log is in the detail
 *         XL_UNTRUSTED         every variant failed its self-check
 *         anything else        an OpenCL code
 */
XL_API xl_status xl_gemm_run(xl_queue *q, const xl_gemm *g,
                             const xl_sync *sync);

/**
 * Enqueue @p n products of different sizes, as n calls of xl_gemm_run().
 * Products that differ only in the offsets of A, B and C share a launch; the
 * others run one after another, in any order. So no C may overlap the A, B, C
 * or a binding of another product, which is checked. The workspaces of the
 * products are not used; the queue's own scratch is.
 *
 * @param sync  its wait list precedes the first product; `first` is of the
 *              first product, `done` of the last
 * @return as xl_gemm_run(); the detail has the index of the product, from 0.
 *         Descriptors, memory and epilogues of all products are checked before
 *         any is enqueued. After any later failure, for example of a build,
 *         products enqueued before it still run, and there is no event.
 */
XL_API xl_status xl_gemm_run_group(xl_queue *q, const xl_gemm *products,
                                   size_t n, const xl_sync *sync);

/** Select, build and self-check what xl_gemm_run() with this descriptor would
 *  use. The memory in it may be absent; what is given is located, since its
 *  alignment counts. Of alpha and beta it counts only whether each is 0. Errors
 *  as xl_gemm_run(). */
XL_API xl_status xl_gemm_prepare(xl_queue *q, const xl_gemm *g);

/** Likewise for every descriptor that differs from @p g only in m, from g->m to
 *  @p m_last: none of them builds or checks anything later on this queue, and
 *  none selects a variant while its class of sizes is among the 1024 that the
 *  queues of a context used last. The strides of @p g hold for all, and an
 *  operand of the epilogue must not extend along m. Beside the builds it takes
 *  some microseconds a size.
 *
 * @return as xl_gemm_prepare(), of the least size that fails, with that size
 *         in the detail; XL_BAD_ARGUMENT if m_last < g->m or the range has more
 *         than 1048576 sizes. What was built before stays. */
XL_API xl_status xl_gemm_prepare_range(xl_queue *q, const xl_gemm *g,
                                       size_t m_last);

/** xl_gemm_prepare_range() in the background (xl_prepared): builds and checks
 *  for every m from g->m to @p m_last; 0: for g->m alone. The message of a
 *  failure is given to @p done.
 *  @param done  NULL allowed
 *  @return XL_OK; XL_BAD_ARGUMENT (a NULL) or XL_NO_MEMORY: @p done is not
 *          called */
XL_API xl_status xl_gemm_prepare_async(xl_queue *q, const xl_gemm *g,
                                       size_t m_last, xl_prepared done,
                                       void *arg);

/** Bytes of scratch that xl_gemm_run() needs for this descriptor; 0 for none.
 *  Without a workspace the queue allocates and keeps one. */
XL_API xl_status xl_gemm_workspace(xl_queue *q, const xl_gemm *g,
                                   size_t *bytes);

/**
 * List the variants for this descriptor, best first, as xl_gemm_run() ranks
 * them. Builds and self-checks the chosen one, since a build can fail.
 *
 * @param out  room for @p cap choices; *n is the number of choices. Where no
 *             variant can run, each says why, and none is chosen
 * @return as xl_gemm_prepare()
 */
XL_API xl_status xl_gemm_explain(xl_queue *q, const xl_gemm *g, xl_choice *out,
                                 unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
