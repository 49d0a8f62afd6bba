/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of gemm_tiled: which sets there are, which fit a device, which is
 * best for a size by the model. */
#ifndef XL_OPS_GEMM_TILES_H
#define XL_OPS_GEMM_TILES_H

#include "ops/gemm.h"

enum xl__gemm_form {
    XL__FORM_GROUP = 1, /* gemm_tiled.cl: many items, local memory */
    XL__FORM_ITEM       /* gemm_tiled_item.cl: a thread an item */
};

/* A whole set, as numbers to reckon with. */
struct xl__tile {
    size_t tm, tn, tk, rm, rn, vw, stages, band;
    enum xl__gemm_form form;
};

extern const struct xl__tunable xl__gemm_tiled_tunables[];

struct xl__tile xl__tile_of(const struct xl__params *params);
size_t xl__tile_items(const struct xl__tile *t);
/* The most it can want, whichever way the matrices lie. */
size_t xl__tile_local_bytes(const struct xl__tile *t);
/* Does it fit the device? Pure arithmetic over facts. */
bool xl__tile_fits(const struct xl__limits *l, const struct xl__tile *t);
/* Number of tiles along m and n; false when a launch cannot count them. */
bool xl__tile_grid(const struct xl__tile *t, size_t m, size_t n,
                   size_t *tiles_m, size_t *tiles_n);
/* Share of the f32 rate it reaches on a compute unit that is kept busy, and
 * the share of the compute units' work that is not waste. */
void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   size_t m, size_t n, double *flop_frac, double *fill);
/* The best one for this size. */
void xl__tile_choose(const struct xl__limits *l, size_t m, size_t n,
                     struct xl__params *out);

#endif
