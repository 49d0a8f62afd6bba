/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sizes of the kernels that multiply from local memory and registers: the
 * sets that a variant offers, which of them a device can run, how a product is
 * divided into tiles, and the model that chooses a set. */
#ifndef XL_OPS_GEMM_TILES_H
#define XL_OPS_GEMM_TILES_H

#include "ops/path/cost.h"
#include "ops/gemm/gemm.h"

/* A whole set of tunables as numbers: rows, columns and depth of a
 * work-group's tile, rows and columns of an item, vector width, slices in
 * local memory, tile rows of a band, groups per two compute units that share
 * cut tiles. */
struct xl__tile {
    size_t tm, tn, tk, rm, rn, vw, stages, band, parts;
    bool copies;   /* asynchronous copies to local memory,
                      common/async_copy.clh */
    enum xl__tile_kernel kernel; /* which of the device's lists it is of */
    unsigned width;              /* struct xl__tile_sets */
};

/* What is multiplied: `count` products in the kernel's orientation. */
struct xl__tile_job {
    size_t m, n, k, count;
    xl_dtype in;
    bool keeps_whole; /* tiles may not be cut by k */
    /* Elements of the rows (m), the columns (n) are loaded one by one, each
     * tested for being inside. */
    bool gathers_m, gathers_n;
};

/* Stream-K: tiles cut by k if they do not fill a device evenly. Tiles before
 * `whole` are computed by one group each; the slices of all tiles from there
 * on, in sequence, are divided evenly among `groups` groups:
 *
 *   tiles   |   0   |   1   |   2   |   `units` slices each
 *   groups  |  0 |  1  |  2 |  3  |   `each` slices, or one more
 *
 * Splitting every tile into equal parts is a special case. The partial sums of
 * cut tiles are in scratch in order of k: part p of tile t, both counted from
 * `whole` on, is in slot p + t.
 *
 * Source: Osama, Merrill, Cecka, Garland, Owens 2023, "Stream-K". */
struct xl__stream_k {
    size_t whole;  /* tiles that are not cut, before the others */
    size_t tiles;  /* tiles that are cut */
    size_t groups; /* groups that share them */
    size_t units;  /* slices of k of a tile */
    size_t each,
        extra; /* slices of a group; the first `extra` have one more */
};

/* Divide `tiles` of `units` slices each among groups of which `groups` run at
 * a time: full rounds of whole tiles, then the rest, which is never empty,
 * among groups that have at least `least` slices each if there are enough. All
 * are at least 1; tiles x units is at most SIZE_MAX. */
struct xl__stream_k xl__stream_k_divide(size_t tiles, size_t units,
                                        size_t groups, size_t least);
/* Number of slots for partial sums in scratch. */
size_t xl__stream_k_slots(const struct xl__stream_k *s);
/* Number of partial sums that are written and read. */
size_t xl__stream_k_written(const struct xl__stream_k *s);

/* How a job is divided into tiles. */
struct xl__tile_grid {
    size_t tiles_m, tiles_n; /* tiles of one product */
    size_t tiles;            /* tiles of all products */
    size_t units;            /* slices of a tile */
    bool is_cut;
    struct xl__stream_k stream; /* if is_cut */
};

/* The first rows of the tunables of gemm_tiled and conv_tiled. */
/* clang-format off */
#define XL__TILE_TUNABLES                                                     \
    {"TM", "rows of a work-group's tile", {2, 8, 16, 32, 64, 128, 256, 0}},   \
    {"TN", "columns of it", {2, 8, 16, 32, 64, 128, 256, 0}},                 \
    {"TK", "depth of a slice", {2, 4, 8, 16, 32, 0}},                         \
    {"RM", "rows in an item's registers", {1, 2, 4, 8, 16, 0}},               \
    {"RN", "columns there", {1, 2, 4, 8, 16, 0}},                             \
    {"VW", "widest vector", {1, 2, 4, 0}},                                    \
    {"ST", "slices kept in local memory", {1, 2, 0}},                         \
    {"GR", "tile rows of a band", {1, 2, 4, 8, 16, 0}}
/* clang-format on */

/* Indices in the tunables: those of gemm_tiled, then those of gemm_simt. */
enum {
    XL__TILE_RM = XL__GEMM_TK + 1,
    XL__TILE_RN,
    XL__TILE_VW,
    XL__TILE_ST,
    XL__TILE_GR,
    XL__TILE_PARTS,
    XL__TILE_COPY
};
enum { XL__TILE_BY_REGISTERS = 1, XL__TILE_BY_COPIES }; /* COPY */
/* The set that `params` hold. */
struct xl__tile xl__tile_of(const struct xl__limits *l,
                            enum xl__tile_kernel kernel,
                            const struct xl__params *params);
size_t xl__tile_items(const struct xl__tile *t);
/* Bytes of a sum, and of a value in local memory, for operands of `in`. */
size_t xl__tile_value_bytes(xl_dtype in);
/* Bytes of local memory, the most over all layouts of the matrices. */
size_t xl__tile_local_bytes(const struct xl__tile *t, xl_dtype in);
/* Returns true if the device can run the set: its work-group size, local
 * memory and registers suffice. */
bool xl__tile_runs(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in);
/* Returns true if the device can run the set and, as far as its facts show,
 * without spilling registers. */
bool xl__tile_fits(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in);
/* Divide a job into tiles. Returns false if the number of tiles exceeds what a
 * launch counts, the partial sums exceed a buffer, or the job is smaller than
 * the blocks of XL__TILES_GEMM_BLOCKS. */
bool xl__tile_cut(const struct xl__limits *l, const struct xl__tile *t,
                  const struct xl__tile_job *job, struct xl__tile_grid *out);
/* Add to *w how tiles fall on `n_cus` compute units: its fill, the launches,
 * and the bytes of the partial sums of cut tiles. */
void xl__tile_waves(const struct xl__tile *t, const struct xl__tile_job *job,
                    const struct xl__tile_grid *grid, double n_cus,
                    struct xl__cost *w);
/* What loading operands again costs where tiles are cut, in bytes of memory:
 * groups at different k share no lines, so that the less of a product's
 * `bytes` the last-level cache keeps, the more often memory supplies a line
 * again. `loaded`: by all tiles; `once`: each operand once. */
double xl__tile_again_bytes(const struct xl__limits *l, double loaded,
                            double once, double bytes);
/* Bytes of scratch for the partial sums of cut tiles. */
size_t xl__tile_scratch_bytes(const struct xl__tile *t, xl_dtype in,
                              const struct xl__tile_grid *grid);
/* The same, and the flop_frac of *w, for tiles on FMA units. */
void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   const struct xl__tile_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w);
/* Choose a kernel's set with the least time by the model for a cost whose
 * flop, bytes and bytes_frac are set. *out is all 0 if no set fits. */
void xl__tile_choose(const struct xl__limits *l, enum xl__tile_kernel kernel,
                     const struct xl__tile_job *job, const struct xl__cost *w,
                     struct xl__params *out);

#endif
