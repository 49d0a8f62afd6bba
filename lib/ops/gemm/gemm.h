/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's canonical descriptor, the call slots of its plans, and the list of
 * its variants. Every variant plans from the canonical descriptor; the
 * scalars, offsets and memory of a call are filled into the slots when it is
 * launched. */
#ifndef XL_OPS_GEMM_H
#define XL_OPS_GEMM_H

#include "ops/path/op.h"
#include "runtime/epilogue.h"

/* The canonical descriptor of GEMM: what plans depend on. In `g`
 *   a.offset, b.offset, c.offset   are the alignments of the matrices in
 *                                  bytes, the least over the batch;
 *   mem.svm                        is not NULL if the memory is SVM;
 *   beta                           is 0 or 1;
 *   k                              is 0 if alpha is: then A and B are not
 *                                  read, and only the reference runs;
 *   row_stride, col_stride         of a dimension of size 1 are such that the
 *                                  other dimension counts as contiguous;
 *   batch                          has a count of at least 1; a_at, b_at and
 *                                  c_at are not NULL if offsets are listed;
 *                                  inner is 0 unless two axes are needed;
 *                                  rows is not NULL if products have rows of
 *                                  their own;
 *   epilogue                       is empty: `snippet` describes it. */
struct xl__gemm_canonical {
    xl_gemm g; /* first member, so that this is a valid xl_gemm too */
    const struct xl__epilogue_text *snippet; /* NULL: no epilogue */
};

/* Call slots of gemm's plans. The offset lists of a batch are those of A, B
 * and C, in this order. */
enum {
    XL__GEMM_A = 1,
    XL__GEMM_B,
    XL__GEMM_C,
    XL__GEMM_ROWS,
    XL__GEMM_OPERAND
}; /* mem */
enum {
    XL__GEMM_ALPHA,
    XL__GEMM_BETA,
    XL__GEMM_OFF_A,
    XL__GEMM_OFF_B,
    XL__GEMM_OFF_C,
    XL__GEMM_OFF_ROWS,
    XL__GEMM_OPERAND_VALUE
}; /* value */

static inline const struct xl__epilogue_text *xl__gemm_epilogue_text(const void *canonical)
{
    return ((const struct xl__gemm_canonical *)canonical)->snippet;
}
/* Whether A and B count: alpha, rounded to y's type, is not 0. */
bool xl__gemm_reads_ab(const xl_gemm *g);
/* The type in which y = alpha A B + beta C is computed: f32, f64 or i32. */
xl_dtype xl__gemm_y_dtype(const void *canonical);
/* Why a variant refuses batch.rows, whose kernel has no OWN_ROWS. */
extern const char xl__gemm_no_rows[];
/* Indices of the tile sizes in the tunables of every variant that has tiles.
 * The self-check reads them to make a case that crosses a tile's edge; a value
 * of 0 means that there are no tiles. */
enum { XL__GEMM_TM, XL__GEMM_TN, XL__GEMM_TK };
/* Of canonical descriptors, for all products of a batch. */
double xl__gemm_flop(const xl_gemm *g);
double
xl__gemm_bytes(const xl_gemm *g); /* each matrix once; C twice if read */
enum { XL__GEMM_WIDEST = 16 }; /* elements of the widest vector */

/* The dimension along which a matrix is contiguous, as the kernels' UA and
 * UB. */
enum xl__gemm_unit {
    XL__UNIT_ALONG_K, /* of A and B; of C: along its rows */
    XL__UNIT_ACROSS,  /* along m (A), n (B); of C: along its columns */
    XL__UNIT_NONE
};

enum xl__gemm_unit xl__gemm_unit_a(const xl_gemm *g);
enum xl__gemm_unit xl__gemm_unit_b(const xl_gemm *g);

extern const struct xl__op xl__op_gemm;

/* The `own` of a variant of GEMM; NULL: all zero. */
struct xl__gemm_variant {
    bool has_plain; /* other programs where C is not read (beta = 0) */
    /* The sizes of m, n and k that a self-check case exceeds, all tunables
     * set. NULL: those of its tiles, by XL__GEMM_TM and on. */
    void (*tile)(const void *canonical, const struct xl__params *,
                 size_t sizes[3]);
};

/* The variants: one file each, here and in engines/. */
extern const struct xl__variant xl__gemm_ref, xl__gemm_tiled, xl__gemm_clblast,
    xl__gemm_wgmma, xl__gemm_cpu, xl__gemm_mma, xl__gemm_simt, xl__gemm_skinny,
    xl__gemm_split_f16, xl__gemm_split_bf16, xl__gemm_split_mma_f16,
    xl__gemm_split_mma_bf16;

#endif
