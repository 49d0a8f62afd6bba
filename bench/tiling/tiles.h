/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of tiles. */
#ifndef CLBENCH_TILING_TILES_H
#define CLBENCH_TILING_TILES_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/explain.h>

/* A tile may have any size; an m x n result is covered by whole ones. */
struct tile_cover {
    double tiles;
    double area; /* useful share of their area */
};
struct tile_cover tile_cover(size_t m, size_t n, size_t tm, size_t tn);

/* Groups of equal work, one a compute unit at a time. */
struct tile_waves {
    double waves;
    double fill; /* share of all waves' places that have a group */
};
struct tile_waves tile_waves(double groups, double units);

/* What an m x n x k product reads, each tile its rows of A and its columns of
 * B, from beyond the compute unit. */
struct tile_reads {
    double per_a, per_b; /* times each element of A and of B is read */
    double bytes;
    double flop_per_byte;
};
struct tile_reads tile_reads(const size_t mnk[3], size_t tile, size_t bytes);

/* The largest power of two, in bytes and up to 128, at whose multiples each
 * line of a matrix begins. */
size_t tile_alignment(size_t ld, size_t elem_bytes);

/* The value of a name in xl_choice's tunables, "model: TM=64 TN=128"; false:
 * it is not there. */
bool tile_tunable(const char *tunables, const char *name, size_t *out);

/* Tiles of rows x cols over an m x n result, a group each. */
xl_tiling split_tiling(size_t m, size_t n, size_t rows, size_t cols);
/* Pieces of work: whole tiles, and the shares of those that are cut. 0: more
 * than can be counted. */
size_t split_pieces(const xl_tiling *t);
/* A piece's share of a whole tile's work. */
double split_piece_frac(const xl_tiling *t, size_t piece);
/* The piece that does the tile of row i and column j of product z; of a tile
 * that is cut, the first. */
size_t split_piece_at(const xl_tiling *t, size_t i, size_t j, size_t z);
/* Useful share of the tiles' area; NaN: nothing is known of tiles. */
double split_area(const xl_tiling *t);
/* Does it say which tile is where? */
bool split_has_map(const xl_tiling *t);

struct split_grid {
    const xl_tiling *tiling;
    size_t rows, cols;         /* cells */
    size_t tiles_m, tiles_n;   /* behind them; of groups in order: lines */
    bool is_map;
};

struct split_grid split_grid(const xl_tiling *t, size_t most_rows,
                             size_t most_cols);
/* The piece that a cell shows; SIZE_MAX: none (the last line's end). */
size_t split_grid_piece(const struct split_grid *g, size_t row, size_t col);

/* What stays the same, and which sides are the size. */
struct sawtooth {
    size_t m, n;         /* of a side that does not grow */
    bool grows_m, grows_n;
    size_t rows, cols;   /* of a tile */
    size_t count;        /* products */
    double places;       /* groups that run at a time */
};

struct sawtooth_point {
    size_t size;
    double tiles;
    double waves, fill; /* fill: groups over the waves' places */
    double area;        /* useful share of the tiles' */
    double share;       /* of the device's rate: fill times area */
};

struct sawtooth_point sawtooth_at(const struct sawtooth *s, size_t size);

/* The sizes around `size` that a picture shows: a quarter to both sides. */
struct sawtooth_range {
    size_t from, to;
};
struct sawtooth_range sawtooth_around(size_t size);
/* The best share in from..to, the smallest such size. */
struct sawtooth_point sawtooth_best(const struct sawtooth *s,
                                    struct sawtooth_range r);
/* The least and the most share in a part of a range: what one column of a
 * picture stands for. */
struct sawtooth_span {
    double least, most;
};
struct sawtooth_span sawtooth_span(const struct sawtooth *s,
                                   struct sawtooth_range r, unsigned column,
                                   unsigned columns);

#endif
