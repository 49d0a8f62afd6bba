/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma's tiles: which sets there are, which fit a device, which is best
 * for a size by the model. */
#ifndef XL_OPS_GEMM_MMA_H
#define XL_OPS_GEMM_MMA_H

#include "ops/gemm/tiles.h"

/* A whole set. Of `tile` tm, tn, tk, stages, band and parts count. */
struct xl__mma_set {
    struct xl__tile tile;
    size_t sm, sn, sk; /* sub-groups along m, n, k */
};

extern const struct xl__tunable xl__gemm_mma_tunables[];
enum { XL__MMA_SM = XL__GEMM_TK + 1, XL__MMA_SN, XL__MMA_SK, XL__MMA_ST,
       XL__MMA_GR, XL__MMA_PARTS, XL__MMA_TURN };
enum { XL__MMA_DIRECT = 1, XL__MMA_TRANSPOSED }; /* TURN */

/* What is multiplied, and whose elements are copied one by one. */
struct xl__mma_job {
    struct xl__tile_job tiles;
    bool slow_a, slow_b;
};

struct xl__mma_set xl__mma_set_of(const struct xl__params *params);
/* The model's i-th set for a type; all 0 behind the last. */
struct xl__params xl__mma_listed(size_t i, xl_dtype in);
size_t xl__mma_items(const struct xl__mma_set *s);
size_t xl__mma_local_bytes(const struct xl__mma_set *s, xl_dtype in);
bool xl__mma_fits(const struct xl__limits *l, const struct xl__mma_set *s,
                  xl_dtype in);
/* Set flop_frac, bytes_frac and fill; add launches, and the parts' bytes. */
void xl__mma_model(const struct xl__limits *l, const struct xl__mma_set *s,
                   const struct xl__mma_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w);
/* The best set for this work, whose flop and bytes are set, with what comes
 * before. Returns its time, infinite where nothing fits. */
double xl__mma_choose(const struct xl__limits *l,
                      const struct xl__mma_job *job, const struct xl__cost *w,
                      struct xl__params *out);

#endif
