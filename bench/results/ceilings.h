/* SPDX-License-Identifier: Apache-2.0 */
/* The ceilings of a device as a table: which fact each is, and which probe
 * measures it. */
#ifndef CLBENCH_CEILINGS_H
#define CLBENCH_CEILINGS_H

#include <stdbool.h>

struct xl_device;

struct ceiling {
    const char *fact, *name;
    const char *probe;
    bool is_memory;
};
extern const struct ceiling ceilings[]; /* NULL fact last */

/* A ceiling's rate here; NaN when it is unknown. */
double ceiling_rate(const struct xl_device *dev, const struct ceiling *c);
/* Flop a byte at which a peak is reached from the DRAM; NaN: unknown. */
double ceiling_ridge(const struct xl_device *dev, const struct ceiling *c);

#endif
