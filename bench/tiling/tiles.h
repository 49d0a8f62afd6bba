/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of tiles: how a result is covered by tiles, how many waves of
 * work-groups a device runs, what tiles read, which piece of a launch computes
 * which tile, and the sawtooth of the rate over the size. Plain numbers, no
 * device.
 *
 *     tiles   = ceil(m / tm) ceil(n / tn)
 *     area    = m n / (tiles tm tn)              useful share of the tiles
 *     waves   = ceil(groups / slots)
 *     fill    = groups / (waves slots)
 *     share   = fill area                        of the device's rate */
#ifndef CLBENCH_TILING_TILES_H
#define CLBENCH_TILING_TILES_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/explain.h>

/* The covering of an m x n result by whole tiles of tm x tn. */
struct tile_cover {
    double tiles;
    double area; /* useful share of their area */
};
struct tile_cover tile_cover(size_t m, size_t n, size_t tm, size_t tn);

/* Groups of equal duration, one a unit at a time. */
struct tile_waves {
    double waves;
    double fill; /* share of the slots of all waves that have a group */
};
struct tile_waves tile_waves(double groups, double units);

/* What an m x n x k product reads from beyond the compute unit, if each square
 * tile reads its rows of A and its columns of B once. */
struct tile_reads {
    double per_a, per_b; /* times each element of A and of B is read */
    double bytes;
    double flop_per_byte;
};
struct tile_reads tile_reads(const size_t mnk[3], size_t tile, size_t bytes);

/* What attention reads and writes beyond the compute units, in bytes.
 *
 *     plain = Q + K + V + O + 4 S       S = pairs of all heads, masked or not:
 *                                       scores written, read, weights written,
 *                                       read, each element as wide as Q's
 *     tiled = Q + O + sum over blocks of block rows of Q, of the keys that one
 *             of them sees, in K and V
 *     bound = max(Q + K + V + O, pairs d^2 / M)         elements
 *
 * M: elements of memory on the chip, of one compute unit, d <= M. Source of
 * the bound, up to a constant: Dao et al. 2022, FlashAttention, proposition 3.
 */
struct attention_sizes {
    size_t n_heads, n_kv_heads; /* of all sequences */
    size_t n_q, n_kv, d;
    size_t elem_bytes;
    bool is_causal;
    size_t window; /* 0: none */
};
struct attention_reads {
    double scores; /* S as bytes: what the plain way has to keep */
    double plain, tiled, bound;
};
/* The keys that one of the queries from..to - 1 sees. */
double attention_keys_seen(const struct attention_sizes *a, size_t from,
                           size_t to);
struct attention_reads attention_reads(const struct attention_sizes *a,
                                       size_t block, double chip_bytes);

/* The largest power of two in bytes, up to 128, that divides the start of each
 * contiguous row of a matrix. */
size_t tile_alignment(size_t ld, size_t elem_bytes);

/* The value of a name in xl_choice's tunables, "model: TM=64 TN=128". False:
 * it is not there. */
bool tile_tunable(const char *tunables, const char *name, size_t *out);

/* -- tiles of a launch ---------------------------------------------------- */

/* Tiles of rows x cols over an m x n result, one work-group each. */
xl_tiling tiling_of_shape(size_t m, size_t n, size_t rows, size_t cols);
/* Number of pieces of work: whole tiles, and shares of tiles that are split
 * by k. 0: too many to count. */
size_t tiling_n_pieces(const xl_tiling *t);
/* Work of a piece relative to a whole tile. */
double tiling_piece_frac(const xl_tiling *t, size_t piece);
/* The piece that computes the tile in tile row i and tile column j of product
 * z; of a tile that is split, the first. */
size_t tiling_piece_at(const xl_tiling *t, size_t i, size_t j, size_t z);
/* Useful share of the area of the tiles; NaN: unknown. */
double tiling_useful_area(const xl_tiling *t);
/* True if the position of each tile is known. */
bool tiling_has_map(const xl_tiling *t);

/* -- grid of cells -------------------------------------------------------- */

/* A grid of limited size, each cell of which shows one tile. If the positions
 * of tiles are unknown, groups are shown in order, line by line. */
struct tiling_grid {
    const xl_tiling *tiling;
    size_t rows, cols;         /* cells */
    size_t tiles_m, tiles_n;   /* tiles; of groups in order: lines */
    bool is_map;
};

struct tiling_grid tiling_grid(const xl_tiling *t, size_t most_rows,
                               size_t most_cols);
/* The piece that a cell shows; SIZE_MAX: none (end of the last line). */
size_t tiling_grid_piece(const struct tiling_grid *g, size_t row, size_t col);

/* -- sawtooth ------------------------------------------------------------- */

/* The share of the device's rate that whole tiles and whole waves leave, as a
 * function of m, n, or both. */
struct sawtooth {
    size_t m, n; /* of a size that does not grow */
    bool grows_m, grows_n;
    size_t rows, cols;   /* of a tile */
    size_t count;        /* products */
    double slots;        /* groups that run at a time */
};

struct sawtooth_point {
    size_t size;
    double tiles;
    double waves, fill; /* fill: groups over the slots of all waves */
    double area;        /* useful share of the tiles' */
    double share;       /* of the device's rate: fill times area */
};

struct sawtooth_point sawtooth_at(const struct sawtooth *s, size_t size);

/* The sizes around `size` that a chart shows: 3/4 to 5/4 of it. */
struct sawtooth_range {
    size_t from, to;
};
struct sawtooth_range sawtooth_around(size_t size);
/* The smallest size with the best share in the range. */
struct sawtooth_point sawtooth_best(const struct sawtooth *s,
                                    struct sawtooth_range r);
/* The least and largest share in one of `columns` equal slices of a range. */
struct sawtooth_span {
    double least, most;
};
struct sawtooth_span sawtooth_span(const struct sawtooth *s,
                                   struct sawtooth_range r, unsigned column,
                                   unsigned columns);

#endif
