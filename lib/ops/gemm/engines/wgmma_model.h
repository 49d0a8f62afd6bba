/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_wgmma's tiles: which tiles there are, the registers and local memory
 * that each takes, how a product is divided into them, and the model that
 * chooses one. */
#ifndef XL_OPS_GEMM_WGMMA_MODEL_H
#define XL_OPS_GEMM_WGMMA_MODEL_H

#include "ops/gemm/engines/wgmma.h"

/* FORM of gemm/nvidia/wgmma.cl: how sums are stored to C. */
enum xl__wgmma_form { XL__FORM_BOXES, XL__FORM_ROWS, XL__FORM_VALUES };

/* A job divided into tiles. a, b, m and n are in the order of the tile's rows
 * and columns. */
struct xl__wgmma_tiling {
    const struct xl__wgmma_job *job;
    const xl_matrix_op *op;
    const xl_gemm *g;
    struct xl__gemm_oriented s; /* of the caller's product */
    struct xl__wgmma_tile t;
    const struct xl__wgmma_operand *a,
        *b; /* operands of the job, swapped if t.is_swapped */
    size_t m, n;
    enum xl__wgmma_form form;
    size_t tiles_m, tiles_n, tiles; /* tiles along m and n of a product; of
                                       all products */
    size_t units;                   /* stages of k of a tile */
    bool is_cut;
    struct xl__stream_k stream; /* if is_cut */
};

/* Divide `job` into tiles `t`. Returns false if there is no such tile, or it
 * does not fit. */
bool xl__wgmma_tiling_init(const struct xl__limits *l,
                           const struct xl__wgmma_job *job,
                           const struct xl__wgmma_tile *t,
                           struct xl__wgmma_tiling *out);
/* Whether rows of C are pixels of residues (windows.h). */
bool xl__wgmma_has_residues(const struct xl__wgmma_tiling *v);
size_t xl__wgmma_items(const struct xl__wgmma_tiling *v);
/* Number of work-groups, which stay resident until all tiles are done. */
size_t xl__wgmma_groups(const struct xl__limits *l,
                        const struct xl__wgmma_tiling *v);
size_t xl__wgmma_local_bytes(const struct xl__wgmma_tiling *v);
/* Bytes of scratch for the partial sums of cut tiles. */
size_t xl__wgmma_sums_bytes(const struct xl__wgmma_tiling *v);
/* Elements of an access to C in XL__FORM_VALUES and in the join. */
size_t xl__wgmma_width(const struct xl__wgmma_tiling *v);
/* Time by the model in ns, without the first launch; *bound: what limits
 * it. */
double xl__wgmma_ns(const struct xl__limits *l,
                    const struct xl__wgmma_tiling *v, const char **bound);

#endif
