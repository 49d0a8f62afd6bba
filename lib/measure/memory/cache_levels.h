/* SPDX-License-Identifier: Apache-2.0 */
/* Finds levels of memory in the curve of load latency by working-set size:
 * plateaus are caches and, last, memory. Plain arithmetic, tested with curves
 * of other devices.
 *
 *     ns                         _____  memory
 *                         ______/
 *                ________/       level 2
 *      _________/       level 1
 *     +-------------------------------- bytes */
#ifndef XL_MEASURE_CACHE_LEVELS_H
#define XL_MEASURE_CACHE_LEVELS_H

#include <crosslane/measure.h>

enum { XL__MOST_LEVELS = 8, XL__MOST_POINTS = 128 };

/* A point of the curve; sizes ascend. */
struct xl__cache_point {
    double bytes, ns;
};

struct xl__cache_level {
    unsigned first, last; /* points of its plateau */
    double bytes;         /* where the rise after it is half done; INFINITY
                             for the last level */
    double ns;            /* of a load from it */
    bool is_open;         /* the curve ends on a rise: it is slower still */
};

/* Finds the levels of a curve of at most XL__MOST_POINTS points, nearest
 * first, and returns their number. Noise only adds time, so a point that is
 * slower than a later one is corrected. A plateau spans an octave at least;
 * a gradual rise (translation, memory that fills up) does not separate
 * levels. */
unsigned xl__cache_levels_find(const struct xl__cache_point *curve, unsigned n,
                               struct xl__cache_level out[XL__MOST_LEVELS]);

/* Keeps the levels that a stated cache explains: its size is within a factor
 * of two. `stated`: sizes of the caches 1, 2, ...; NaN: unknown. level[i]: the
 * number, from 1, of the i-th one that is kept; 0 for the last, memory.
 * Returns how many are kept: all, where nothing is stated. */
unsigned xl__cache_levels_match(struct xl__cache_level *levels, unsigned n,
                                const double *stated, unsigned n_stated,
                                unsigned *level);

/* Checks that nearer memory is not slower: a row whose cost (ns, or s/B; NaN:
 * unknown) exceeds that of a row further away becomes suspicious. Rows come
 * nearest first. Returns whether all are in order. */
bool xl__cache_levels_check_order(xl_row *const *rows, const double *cost,
                                  unsigned n);

#endif
