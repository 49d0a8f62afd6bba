/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma's tile sets: which sets there are, which of them a device can run,
 * and the model that chooses the best one for a size. */
#ifndef XL_OPS_GEMM_MMA_H
#define XL_OPS_GEMM_MMA_H

#include "ops/gemm/tiles.h"

/* A whole set. Of `tile` the fields tm, tn, tk, stages, band and parts are
 * used. */
struct xl__mma_set {
    struct xl__tile tile;
    size_t sm, sn, sk; /* sub-groups along m, n, k */
};

enum { XL__MMA_SM = XL__GEMM_TK + 1, XL__MMA_SN, XL__MMA_SK, XL__MMA_ST,
       XL__MMA_GR, XL__MMA_PARTS, XL__MMA_TURN };
enum {
    XL__MMA_DIRECT = 1,
    XL__MMA_TRANSPOSED
}; /* values of TURN: an
      operand whose elements
      would be copied one by
      one is read directly, or
      first transposed into
      the workspace */

/* What is multiplied, by which instruction. slow_a, slow_b: the operand's
 * elements are copied to local memory one by one. */
struct xl__mma_job {
    const xl_matrix_op *op;
    struct xl__tile_job tiles;
    bool slow_a, slow_b;
};

struct xl__mma_set xl__mma_set_of(const struct xl__params *params);
/* The i-th set of the device's list for a type, without its band (GR); all 0
 * past the last. */
struct xl__params xl__mma_listed(const struct xl__limits *l, size_t i,
                                 xl_dtype in);
size_t xl__mma_items(const xl_matrix_op *op, const struct xl__mma_set *s);
size_t xl__mma_local_bytes(const xl_matrix_op *op,
                           const struct xl__mma_set *s);
bool xl__mma_fits(const struct xl__limits *l, const xl_matrix_op *op,
                  const struct xl__mma_set *s);
/* Set flop_frac, bytes_frac and fill of *w; add its launches, and the bytes of
 * partial sums. */
void xl__mma_model(const struct xl__limits *l, const struct xl__mma_set *s,
                   const struct xl__mma_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w);
/* Choose the set with the least time for a cost whose flop and bytes are set;
 * its apart_bytes and launches are those of earlier steps. Returns the time in
 * ns, or infinity if no set fits. */
double xl__mma_choose(const struct xl__limits *l,
                      const struct xl__mma_job *job, const struct xl__cost *w,
                      struct xl__params *out);

#endif
