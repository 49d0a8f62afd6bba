/* SPDX-License-Identifier: Apache-2.0 */
/* What GEMM's variants share: the canonical descriptor. */
#ifndef XL_OPS_GEMM_H
#define XL_OPS_GEMM_H

#include "ops/path/op.h"
#include "runtime/epilogue.h"

/* The canonical descriptor of GEMM. In `g`
 *   a.offset, b.offset, c.offset   are the alignments of the matrices in
 *                                  bytes, of all products together;
 *   mem.svm                        is not NULL when the memory is SVM;
 *   beta                           is 0 or 1;
 *   a stride along a dimension of size 1 is such that the other one can be
 *   taken for the contiguous one;
 *   batch                          has a count of at least 1; a_at, b_at and
 *                                  c_at are not NULL where there are lists;
 *   epilogue                       is blank: `snippet` tells it. */
struct xl__gemm_canonical {
    xl_gemm g; /* first: a pointer to this is one to an xl_gemm */
    const struct xl__epilogue_text *snippet; /* NULL: no epilogue */
};

/* Call slots of gemm's plans. Lists: A's offsets, B's, C's. */
enum { XL__GEMM_A = 1, XL__GEMM_B, XL__GEMM_C, XL__GEMM_OPERAND }; /* mem */
enum { XL__GEMM_ALPHA, XL__GEMM_BETA, XL__GEMM_OFF_A, XL__GEMM_OFF_B,
       XL__GEMM_OFF_C, XL__GEMM_OPERAND_VALUE }; /* value */

static inline const struct xl__epilogue_text *
xl__gemm_epilogue_text(const void *canonical)
{
    return ((const struct xl__gemm_canonical *)canonical)->snippet;
}
/* The type of y = alpha A B + beta C: f32, f64 or i32. */
xl_dtype xl__gemm_y_dtype(const void *canonical);
/* Every variant with tiles keeps their sizes here, so that the self-check
 * knows how big a case crosses a tile's border; 0: no tiles. */
enum { XL__GEMM_TM, XL__GEMM_TN, XL__GEMM_TK };
enum { XL__GEMM_WIDEST = 16 }; /* elements of the widest vector */

/* Along which dimension a matrix is contiguous, as the kernels know it. */
enum xl__gemm_unit {
    XL__UNIT_ALONG_K, /* of A and B; of C: along its rows */
    XL__UNIT_ACROSS,  /* along m (A), n (B); of C: along its columns */
    XL__UNIT_NONE
};

enum xl__gemm_unit xl__gemm_unit_a(const xl_gemm *g);
enum xl__gemm_unit xl__gemm_unit_b(const xl_gemm *g);

extern const struct xl__op xl__op_gemm;

/* Its variants, one a file here and in engines/. */
extern const struct xl__variant xl__gemm_ref, xl__gemm_tiled, xl__gemm_clblast,
    xl__gemm_wgmma, xl__gemm_cpu, xl__gemm_mma, xl__gemm_simt, xl__gemm_skinny,
    xl__gemm_split_f16, xl__gemm_split_bf16, xl__gemm_split_mma_f16,
    xl__gemm_split_mma_bf16;

#endif
