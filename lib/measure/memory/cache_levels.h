/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of memory, from the time of a dependent load by the size of what is
 * walked over: a staircase whose plateaus are caches and, last, memory. Plain
 * arithmetic, so it is tested on curves of devices that nobody has here. */
#ifndef XL_MEASURE_LEVELS_H
#define XL_MEASURE_LEVELS_H

#include <crosslane/measure.h>

enum { XL__MOST_LEVELS = 8, XL__MOST_POINTS = 128 };

/* A point of the curve; sizes ascend. */
struct xl__cache_point {
    double bytes, ns;
};

struct xl__cache_level {
    unsigned first, last; /* points of its plateau */
    double bytes;         /* where the rise behind it is half done; INFINITY:
                             nothing lies behind it */
    double ns;            /* of a load from it */
    bool is_open;         /* the curve ends on a rise: it is slower still */
};

/* The levels of a curve of at most XL__MOST_POINTS, nearest first; how many.
 * Noise only adds time, so of two points the further counts when it is faster.
 * A plateau is an octave at least; a rise that is never steep (translation,
 * memory that fills up) does not part two levels. */
unsigned xl__cache_levels_find(const struct xl__cache_point *curve, unsigned n,
                               struct xl__cache_level out[XL__MOST_LEVELS]);

/* Nearer memory is never slower: a row whose cost (ns, or s/B; NaN: unknown)
 * is above that of a row further away is suspicious, and rejected when it is
 * far above. Rows come nearest first. Whether all is well. */
bool xl__cache_levels_check_order(xl_row *const *rows, const double *cost,
                                  unsigned n);

#endif
