/* SPDX-License-Identifier: Apache-2.0 */
/* How a result becomes tiles, tiles become groups, and groups run on compute
 * units: counted, modelled and, where a device can say, measured. Plain
 * numbers here, no device; measured and modelled records are of one form, so
 * that the same figures and pictures are made of both. */
#ifndef CLBENCH_SPLIT_H
#define CLBENCH_SPLIT_H

#include <crosslane/explain.h>
#include <crosslane/watch.h>

/* -- split_map.c: the tiles ----------------------------------------------- */

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

/* -- split_load.c: who did what, when ------------------------------------- */

/* A launch's pieces: out of a device, or out of the model. */
struct split_record {
    xl_piece_record *piece;
    size_t n;
    unsigned units;  /* there are, idle ones too */
    double total_ns; /* of the model, tiles one after the other */
    bool has_clock;
};

/* Equal units, each with room for so many groups at a time, take the next
 * group when they have room; a tile takes `tile_ns`, however many share the
 * unit. False: no memory. */
bool split_model(const xl_tiling *t, unsigned units, unsigned beside,
                 double tile_ns, struct split_record *out);
void split_record_clear(struct split_record *r);

/* Times as shares of the whole launch; NaN without a clock. */
struct split_load {
    unsigned used;        /* units that did a piece */
    unsigned least, most; /* pieces of one of those */
    unsigned beside;      /* pieces that a unit did at one time, at most */
    double busy;          /* mean over all units */
    double busy_least, busy_most; /* of those used */
    double tail;      /* from the first of those used to be done to the end */
    double imbalance; /* the busiest of those used over their mean */
};
/* `busy_of`: room for r->units shares, or NULL. False: no memory. */
bool split_load_of(const struct split_record *r, struct split_load *out,
                   double *busy_of);
/* Share of units at work in each of n equal spans of the launch. False: no
 * memory, or no clock. */
bool split_curve(const struct split_record *r, double *share, unsigned n);

#endif
