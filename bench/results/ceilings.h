/* SPDX-License-Identifier: Apache-2.0 */
/* The ceilings of a device's roofline as a table: which fact each is, and
 * which probe measures it. */
#ifndef CLBENCH_CEILINGS_H
#define CLBENCH_CEILINGS_H

#include <stdbool.h>

struct xl_device;

struct ceiling {
    const char *fact, *name; /* "copy_bytes_per_s", "DRAM" */
    const char *probe;       /* of `clbench probe` */
    bool is_memory;          /* bytes per second; else flop per second */
};
extern const struct ceiling ceilings[]; /* the DRAM first, NULL fact last */

/* A ceiling's rate on the device; NaN when it is unknown. */
double ceiling_rate(const struct xl_device *dev, const struct ceiling *c);
/* Intensity in flop per byte from which on a peak is the limit and not the
 * DRAM: peak / bandwidth. NaN: unknown, or a memory. */
double ceiling_ridge(const struct xl_device *dev, const struct ceiling *c);

#endif
