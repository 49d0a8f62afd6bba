/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that work-groups of a compute unit share (local memory,
 * registers), inferred from how many groups are resident. */
#ifndef XL_MEASURE_OCCUPANCY_H
#define XL_MEASURE_OCCUPANCY_H

#include <stdbool.h>

#include <crosslane/status.h>

/* A cliff: the largest size at which so many groups are resident. */
struct xl__cliff {
    unsigned most, resident;
};
enum { XL__MOST_CLIFFS = 64 };

/* Counts the groups that are resident when each takes `size`. */
struct xl__residency {
    xl_status (*count)(void *arg, unsigned size, unsigned *resident);
    void *arg;
    unsigned least, most, step; /* sizes that are tried: least + i * step */
};

/* Finds all cliffs between the least and the most size, each to a step, by
 * bisection; sizes ascend. */
xl_status xl__cliffs_find(const struct xl__residency *r,
                          struct xl__cliff cliffs[XL__MOST_CLIFFS],
                          unsigned *n);

/* The model resident = floor(total / (size + reserved)). */
struct xl__pool {
    double total, reserved;
    unsigned explained; /* number of cliffs that it explains */
};

/* Fits the model to cliffs, with `reserved` from 0 to `most_reserved` in steps
 * of `grain`. false: there is no cliff. */
bool xl__pool_find(const struct xl__cliff *cliffs, unsigned n, unsigned step,
                   unsigned most_reserved, unsigned grain,
                   struct xl__pool *out);

/* The size of the register file of a unit, of which `seen` registers were in
 * use: a power of two, or 1.5 times one. NaN if `seen` is near none. */
double xl__register_file(double seen);

#endif
