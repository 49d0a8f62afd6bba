/* SPDX-License-Identifier: Apache-2.0 */
/* Products on matrix instructions of four sub-groups, whose operands are
 * copied to local memory by tensor maps (cl/gemm/nvidia/wgmma.cl): what is
 * multiplied, the tile, and the steps of a plan. gemm_wgmma passes the
 * caller's matrices, or transposed copies of them; split_wgmma.c passes planes
 * that it has written to the workspace. */
#ifndef XL_OPS_GEMM_WGMMA_H
#define XL_OPS_GEMM_WGMMA_H

#include "ops/gemm/orientation.h"
#include "ops/gemm/tiles.h"

enum { XL__WGMMA_NONE = -1 };

/* One operand as contiguous lines of elements, along k or along x, the
 * dimension that it shares with C. The distances of lines and of products are
 * multiples of 16 bytes. */
struct xl__wgmma_operand {
    unsigned mem; /* call slot of its memory */
    int offset;   /* value slot of its offset; XL__WGMMA_NONE: it begins
                     at `first`, a multiple of `line` */
    size_t first;
    bool across;  /* contiguous along x, else along k; 16-bit types only */
    size_t line;  /* elements from one line to the next */
    size_t plane; /* elements from one plane to the next, if there are
                     several */
    size_t step;  /* elements from one product to the next; 0: they share
                     it */
    const struct xl__windows *windows; /* NULL: it is a matrix */
};

/* What is multiplied. C, its type, alpha, beta, the batch and the epilogue are
 * those of the canonical descriptor; a and b are in the order of
 * xl__gemm_orient(). */
struct xl__wgmma_job {
    const void *canonical;
    struct xl__wgmma_operand a, b;
    xl_dtype in;     /* type that the instructions multiply; XL_F32 is
                        rounded to tf32 */
    unsigned planes; /* number of planes of each operand. Products of
                        planes i of A and j of B with i + j < planes are
                        added to one sum. In a batch `step` is `planes`
                        times `plane` */
    bool promotes;   /* sums are added in f32 outside the engine after each
                        128 bytes of k */
    /* Offsets into scratch in elements of 4 bytes; XL__WGMMA_NONE: none.
     * Factors (floats) of the sums of each row and column of the product,
     * products one after the other; and a word that is 0 if the product is to
     * be computed. */
    long at_rows, at_cols, at_flag;
    size_t taken_bytes; /* of scratch that earlier steps use */
};

/* The tunables of a tile: rows, columns and depth, stages in local memory,
 * tile rows of a band, 1 whole tiles or 2 tiles cut by k. */
struct xl__wgmma_tile {
    size_t bm, bn, bk;  /* bk: 128 bytes of elements */
    size_t stages, band, parts;
    bool is_swapped; /* rows of the tile are columns of C */
};

/* TM, TN and TK come first (gemm.h). */
struct xl__wgmma_tile xl__wgmma_tile_of(const struct xl__params *params);

/* The instruction that multiplies this type; NULL: none. */
const xl_matrix_op *xl__wgmma_op(const struct xl__limits *l, xl_dtype in);
/* NULL, or why the device cannot compute the job: a fact of the device, a kind
 * of memory, an alignment, a batch by lists. */
const char *xl__wgmma_refused(const struct xl__limits *l,
                              const struct xl__wgmma_job *job);
/* Choose the tile with the least time by the model. */
void xl__wgmma_choose(const struct xl__limits *l,
                      const struct xl__wgmma_job *job,
                      struct xl__params *out);
/* Append one step, or two if tiles are cut by k, and raise the plan's
 * scratch_bytes to what they need behind `taken_bytes`. *ns: their time by the
 * model with one launch; *bound: what limits it. XL_UNSUPPORTED: the tile does
 * not fit. */
xl_status xl__wgmma_add(const struct xl__limits *l,
                        const struct xl__wgmma_job *job,
                        const struct xl__params *params, struct xl__plan *p,
                        double *ns, const char **bound);

#endif
