/* SPDX-License-Identifier: Apache-2.0 */
/* Pools that work-groups share, from how many groups are resident. */
#ifndef XL_MEASURE_OCCUPANCY_H
#define XL_MEASURE_OCCUPANCY_H

#include <stdbool.h>

#include <crosslane/status.h>

/* The most that a group may take for so many to be resident. */
struct xl__cliff {
    unsigned most, resident;
};
enum { XL__MOST_CLIFFS = 64 };

/* How many groups are resident when each takes `size`. */
struct xl__residency {
    xl_status (*count)(void *arg, unsigned size, unsigned *resident);
    void *arg;
    unsigned least, most, step; /* sizes that are asked for: least + i step */
};

/* All cliffs between the least and the most, each to a step, by halving; sizes
 * ascend. */
xl_status xl__cliffs_find(const struct xl__residency *r,
                          struct xl__cliff cliffs[XL__MOST_CLIFFS],
                          unsigned *n);

/* resident = floor(total / (size + reserved)), as far as that explains the
 * cliffs. */
struct xl__pool {
    double total, reserved;
    unsigned explained; /* cliffs */
};

/* `reserved` is looked for from 0 to `most_reserved`, by `grain`. false: there
 * is no cliff. */
bool xl__pool_find(const struct xl__cliff *cliffs, unsigned n, unsigned step,
                   unsigned most_reserved, unsigned grain,
                   struct xl__pool *out);

/* The registers of a unit, of which at least `seen` were in use: a power of
 * two, or one and a half times one. NaN: `seen` is not near any. */
double xl__register_file(double seen);

#endif
