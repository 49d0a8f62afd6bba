/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a product in registers and local memory: which sets a variant has,
 * which fit a device, which is best for a size by the model. */
#ifndef XL_OPS_GEMM_TILES_H
#define XL_OPS_GEMM_TILES_H

#include "ops/path/cost.h"
#include "ops/gemm/gemm.h"

/* What a variant's tiles have in common, and which sets it has. */
struct xl__tile_kind {
    size_t depths; /* whose values an item holds at a time: 1, 2 */
    size_t n_sets;
    const struct xl__tile_set {
        unsigned short tm, tn, tk, rm, rn, stages;
        double frac; /* share of the f32 rate it reaches */
    } *sets;
};

/* A whole set, as numbers to reckon with. */
struct xl__tile {
    size_t tm, tn, tk, rm, rn, vw, stages, band, parts;
    bool copies; /* slices come to local memory by themselves (common/async_copy.clh) */
    const struct xl__tile_kind *kind;
};

/* What is multiplied: `count` products, as the kernel sees them. */
struct xl__tile_job {
    size_t m, n, k, count;
    xl_dtype in;
    bool keeps_whole; /* no tile may be cut (conv_tiled) */
};

/* Tiles cut by k where they do not fill a device evenly ("stream-K"): most
 * tiles are a group's each; from tile `whole` on, the slices of all tiles in a
 * row are dealt out evenly. Splitting each tile alike is a special case. The
 * parts of a cut tile lie in scratch in order of k; part p of tile t, both
 * counted from there on, is the (p + t)-th. */
struct xl__stream_k {
    size_t whole;       /* tiles before */
    size_t tiles;       /* cut up */
    size_t groups;      /* among so many */
    size_t units;       /* slices of a tile */
    size_t each, extra; /* slices of a group; one more in the first `extra` */
};

/* Deal `tiles` of `units` slices each out to groups of which `groups` run at a
 * time: full rounds of whole tiles, then what is left, which is never nothing,
 * to groups with `least` slices where there are enough. All are at least 1,
 * tiles x units at most SIZE_MAX. */
struct xl__stream_k xl__stream_k_divide(size_t tiles, size_t units,
                                        size_t groups, size_t least);
/* Places for parts in scratch. */
size_t xl__stream_k_slots(const struct xl__stream_k *s);
/* Parts that are written and read. */
size_t xl__stream_k_written(const struct xl__stream_k *s);

/* How a job falls into tiles. */
struct xl__tile_grid {
    size_t tiles_m, tiles_n; /* of a product */
    size_t tiles;            /* of all */
    size_t units;            /* slices of a tile */
    bool is_cut;
    struct xl__stream_k stream; /* when it is */
};

extern const struct xl__tunable xl__gemm_tiled_tunables[];

/* By places in the tunables: those of gemm_tiled, then more. */
enum { XL__TILE_RM = XL__GEMM_TK + 1, XL__TILE_RN, XL__TILE_VW, XL__TILE_ST,
       XL__TILE_GR, XL__TILE_PARTS, XL__TILE_COPY };
enum { XL__TILE_BY_REGISTERS = 1, XL__TILE_BY_COPIES }; /* COPY */
/* Of gemm_tiled's kind. */
struct xl__tile xl__tile_of(const struct xl__params *params);
size_t xl__tile_items(const struct xl__tile *t);
/* Bytes of a sum, and of a value in local memory. */
size_t xl__tile_value_bytes(xl_dtype in);
/* The most local memory it can want, whichever way the matrices lie. */
size_t xl__tile_local_bytes(const struct xl__tile *t, xl_dtype in);
/* Can the device run it? Pure arithmetic over facts. */
bool xl__tile_runs(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in);
/* Does it suit the device as well, as far as is known? */
bool xl__tile_fits(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in);
/* false when a launch cannot count the tiles, or scratch the parts. */
bool xl__tile_cut(const struct xl__limits *l, const struct xl__tile *t,
                  const struct xl__tile_job *job, struct xl__tile_grid *out);
/* Bytes of scratch. */
size_t xl__tile_scratch_bytes(const struct xl__tile *t, xl_dtype in,
                              const struct xl__tile_grid *grid);
/* Set flop_frac, fill, launches, and the parts' bytes. */
void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   const struct xl__tile_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w);
/* The best set for this work, whose flop, bytes and bytes_frac are set: of
 * gemm_tiled's, of a kind's. */
void xl__tile_choose(const struct xl__limits *l,
                     const struct xl__tile_job *job, const struct xl__cost *w,
                     struct xl__params *out);
void xl__tile_choose_of(const struct xl__limits *l,
                        const struct xl__tile_kind *kind,
                        const struct xl__tile_job *job,
                        const struct xl__cost *w, struct xl__params *out);

#endif
