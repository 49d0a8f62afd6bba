/* SPDX-License-Identifier: Apache-2.0 */
/* What GEMM's variants share. The canonical descriptor of GEMM is an xl_gemm
 * in which
 *   a.offset, b.offset, c.offset   are the alignments of the matrices in
 *                                  bytes: xl__mat_align();
 *   mem.svm                        is not NULL when the memory is SVM;
 *   beta                           is 0 or 1;
 *   a stride along a dimension of size 1 is such that the other one can be
 *   taken for the contiguous one. */
#ifndef XL_OPS_GEMM_H
#define XL_OPS_GEMM_H

#include "ops/op.h"

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

/* gemm_trial.c: the three parts of xl__op_gemm that the self-check uses. */
void xl__gemm_shrink(const void *canonical, const struct xl__params *params,
                     void *small);
xl_status xl__gemm_trial_init(const void *small, struct xl__trial *t);
bool xl__gemm_trial_judge(const void *small, const struct xl__trial *t,
                          char *why, size_t why_cap);

#endif
