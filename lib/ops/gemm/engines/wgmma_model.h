/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of gemm_wgmma: which there are, what each takes of a compute unit,
 * how a product falls into them, and the model that picks one. */
#ifndef XL_OPS_GEMM_WGMMA_MODEL_H
#define XL_OPS_GEMM_WGMMA_MODEL_H

#include "ops/gemm/engines/wgmma.h"

/* gemm/nvidia/wgmma.cl's ways to C. */
enum xl__wgmma_form { XL__FORM_BOXES, XL__FORM_ROWS, XL__FORM_VALUES };

/* A job as the tile's rows and columns see it. */
struct xl__wgmma_tiling {
    const struct xl__wgmma_job *job;
    const xl_gemm *g;
    struct xl__gemm_oriented s; /* of the caller's product */
    struct xl__wgmma_tile t;
    const struct xl__wgmma_operand *a,
        *b; /* the job's, or the other way round */
    size_t m, n;
    enum xl__wgmma_form form;
    size_t tiles_m, tiles_n, tiles; /* of a product; of all */
    size_t units;                   /* stages of a tile */
    bool is_cut;
    struct xl__stream_k stream; /* when it is */
};

/* false: the tile is none that there is, or does not fit. */
bool xl__wgmma_tiling_init(const struct xl__limits *l,
                           const struct xl__wgmma_job *job,
                           const struct xl__wgmma_tile *t,
                           struct xl__wgmma_tiling *out);
size_t xl__wgmma_items(const struct xl__wgmma_tiling *v);
/* That stay until all tiles are done. */
size_t xl__wgmma_groups(const struct xl__limits *l,
                        const struct xl__wgmma_tiling *v);
size_t xl__wgmma_local_bytes(const struct xl__wgmma_tiling *v);
/* Parts of cut tiles. */
size_t xl__wgmma_sums_bytes(const struct xl__wgmma_tiling *v);
/* Elements of an access to C where it is not by boxes. */
size_t xl__wgmma_width(const struct xl__wgmma_tiling *v);
/* By the model, without the first launch. */
double xl__wgmma_ns(const struct xl__limits *l,
                    const struct xl__wgmma_tiling *v, const char **bound);

#endif
