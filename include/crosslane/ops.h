/* SPDX-License-Identifier: Apache-2.0 */
/* The operations: one descriptor and one _run each, asynchronous, on the
 * caller's queue and memory. */
#ifndef CROSSLANE_OPS_H
#define CROSSLANE_OPS_H

#include <stddef.h>

#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A GEMM, in full. Zero in an optional field is its default. */
typedef struct xl_gemm {
    size_t m, n, k;      ///< A is m x k, B is k x n, C is m x n; all >= 1
    xl_mat a, b, c;      ///< c must not overlap a or b; a and b may be one
    double alpha, beta;  ///< finite; beta == 0: C is written, never read
    xl_mem workspace;    ///< optional: scratch, xl_gemm_workspace() bytes
    const char *variant; ///< "gemm_tiled" to force one; NULL: the best
} xl_gemm;

/**
 * Enqueue C = alpha A B + beta C.
 *
 * Types:     a and b alike: f32, f16, bf16. c: f32 or a's type. Sums in f32.
 * Cost:      2 m n k flop; at least (m k + k n) sizeof(a) + m n sizeof(c)
 *            bytes moved, and m n sizeof(c) more when beta != 0.
 * Accuracy:  alpha = 1, beta = 0: |error| <= gamma_k |A| |B| elementwise,
 *            gamma_k = k u / (1 - k u), u of the sum's type, then one rounding
 *            to c's type. Source: Higham 2002, section 3.5. A variant on a
 *            matrix engine states its own bound.
 * Repeats:   bit for bit on one device and driver, unless the variant says
 *            otherwise in xl_gemm_explain().
 * Blocks:    only the first time a program meets a device and driver (build
 *            and self-check); xl_gemm_prepare() does that ahead of time.
 *
 * @param q     one thread at a time; queues are independent of each other
 * @param sync  NULL: after what is in the queue
 * @return XL_OK: enqueued, not finished. Otherwise nothing of ours still
 *         runs and C is undefined only if work had begun; the story is in
 *         xl_error_detail(q) until the next call on q:
 *         XL_BAD_ARGUMENT      a NULL, an unknown dtype or variant name
 *         XL_BAD_SHAPE         a size is 0
 *         XL_OVERFLOW          a matrix's extent does not fit in 64 bits
 *         XL_BUFFER_TOO_SMALL  a matrix runs past the end of its memory, or
 *                              the workspace is too small
 *         XL_OVERLAP           strides make C overlap itself, or C overlaps
 *                              A, B or the workspace
 *         XL_BAD_SCALAR        alpha or beta is NaN or infinite
 *         XL_UNSUPPORTED       no variant takes these types on this device
 *         XL_BUILD_FAILED      the log is in the detail
 *         XL_UNTRUSTED         every variant gave wrong results here
 *         anything else        an OpenCL code
 */
XL_API xl_status xl_gemm_run(xl_queue *q, const xl_gemm *g,
                             const xl_sync *sync);

/** Select, build and self-check what xl_gemm_run() with this descriptor would
 *  use. The memory in it may be absent. Errors as xl_gemm_run(). */
XL_API xl_status xl_gemm_prepare(xl_queue *q, const xl_gemm *g);

/** Bytes of scratch that xl_gemm_run() wants for this descriptor; 0 for none.
 *  Without a workspace the queue keeps one of its own. */
XL_API xl_status xl_gemm_workspace(xl_queue *q, const xl_gemm *g,
                                   size_t *bytes);

/** A softmax over rows. Zero in an optional field is its default. */
typedef struct xl_softmax {
    size_t rows, cols;   ///< both >= 1
    xl_mat src, dst;     ///< rows x cols; dst may be the very same view as src
    double scale;        ///< a normal number of f32, or 0: 1
    xl_mat mask;         ///< optional, added after scaling; a stride of 0
                         ///< repeats a row or a column; any float type
    xl_mem workspace;    ///< optional: scratch, xl_softmax_workspace() bytes
    const char *variant; ///< "softmax_online" to force one; NULL: the best
} xl_softmax;

/**
 * Enqueue dst[i][j] = exp(x[i][j] - max_j x[i]) / sum_j exp(x[i][j] - max_j
 * x[i]), x = scale * src + mask: a product and a sum of f32, each rounded.
 *
 * Types:     src and dst alike: f32, f16, bf16. Sums in f32.
 * Specials:  of x: a row with a NaN, or with +inf, is all NaN; a row that is
 *            all -inf (fully masked) is all 0; -inf elsewhere gives 0. So +inf
 *            in src under a mask of -inf is NaN, as is -inf under +inf.
 * Cost:      5 rows cols flop; at least 2 rows cols sizeof(src) bytes.
 * Accuracy:  relative error of an element <= (|x - max| + 48 + 2 log2 cols) u,
 *            u of f32, then one rounding to dst's type; what is below the
 *            least normal number of f32 may come as 0. The 48 hold the 3 ulp
 *            of each exp and the 2.5 of a division that OpenCL allows.
 *            Source: Blanchard, Higham, Higham 2021, theorem 4.2, with sums
 *            taken pairwise over work-items.
 * Blocks, @param, @return: as xl_gemm_run().
 */
XL_API xl_status xl_softmax_run(xl_queue *q, const xl_softmax *s,
                                const xl_sync *sync);
XL_API xl_status xl_softmax_prepare(xl_queue *q, const xl_softmax *s);
XL_API xl_status xl_softmax_workspace(xl_queue *q, const xl_softmax *s,
                                      size_t *bytes);

/** Name of the @p i-th variant of an op ("gemm", "softmax") that the device's
 *  vendor table lists, best first; NULL past the last or for no such op. */
XL_API const char *xl_variant_name(const xl_device *dev, const char *op,
                                   unsigned i);

#ifdef __cplusplus
}
#endif
#endif
