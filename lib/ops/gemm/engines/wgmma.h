/* SPDX-License-Identifier: Apache-2.0 */
/* Products on matrix instructions of four sub-groups whose operands come to
 * local memory by tensor maps (cl/gemm/nvidia/wgmma.cl): what is multiplied,
 * which tile, and the steps of a plan. gemm_wgmma.c hands it a caller's
 * matrices as they lie; a variant that prepares its operands in the workspace
 * first hands it those. */
#ifndef XL_OPS_GEMM_WGMMA_H
#define XL_OPS_GEMM_WGMMA_H

#include "ops/gemm/orientation.h"
#include "ops/gemm/tiles.h"

enum { XL__WGMMA_NONE = -1 };

/* One operand as lines of elements, each line and step a multiple of 16
 * bytes. x is the dimension it shares with C. */
struct xl__wgmma_operand {
    unsigned mem;    /* call slot */
    int offset;      /* value slot of where it begins; XL__WGMMA_NONE: at
                        `first`, a multiple of `line` */
    size_t first;
    bool across;     /* lines lie along x, else along k; 16-bit types alone */
    size_t line;     /* elements from one to the next */
    size_t plane;    /* from a plane to the next, where there are several */
    size_t step;     /* from a product to the next; 0: they share it */
};

/* What is multiplied. C, its type, alpha, beta, batch and epilogue are the
 * canonical descriptor's; a and b in the order of xl__gemm_orient(). */
struct xl__wgmma_job {
    const void *canonical;
    struct xl__wgmma_operand a, b;
    xl_dtype in;      /* as what it is multiplied: XL_F32 is rounded to tf32 */
    unsigned planes;  /* of both: 1, or planes i of A and j of B with i + j
                         less than that are multiplied, all into one sum. With
                         a batch `step` is that times `plane` */
    bool promotes;    /* sums leave the engine for f32 after each 128
                         bytes of k */
    /* Into scratch, in elements of 4 bytes; XL__WGMMA_NONE: none. Floats
     * that multiply the sums of a row and of a column, one a row (column) of
     * the product, products one after the other; and a word that is 0 where
     * the product is wanted at all. */
    long at_rows, at_cols, at_flag;
    size_t taken_bytes; /* of scratch that is in use */
};

/* How it falls into tiles. */
struct xl__wgmma_tile {
    size_t bm, bn, bk;  /* bk: 128 bytes of elements */
    size_t stages, band, parts;
    bool is_swapped; /* rows of the tile are columns of C */
};

/* TM TN TK first (gemm.h). */
extern const struct xl__tunable xl__wgmma_tunables[];
struct xl__wgmma_tile xl__wgmma_tile_of(const struct xl__params *params);

/* NULL, or why not: the device's facts, memory, alignment, batches. */
const char *xl__wgmma_refused(const struct xl__limits *l,
                              const struct xl__wgmma_job *job);
/* The tile that the model holds best. */
void xl__wgmma_choose(const struct xl__limits *l,
                      const struct xl__wgmma_job *job,
                      struct xl__params *out);
/* Append one step, or two where tiles are cut by k; scratch_bytes grows to
 * what these need behind `taken_bytes`. *ns: their time by the model, with
 * one launch, and what bounds it. XL_UNSUPPORTED: it does not fit. */
xl_status xl__wgmma_add(const struct xl__limits *l,
                        const struct xl__wgmma_job *job,
                        const struct xl__params *params, struct xl__plan *p,
                        double *ns, const char **bound);

#endif
