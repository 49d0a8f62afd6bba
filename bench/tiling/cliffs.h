/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --cliff N`: times random shapes, each compared with twice the
 * time of its roofline bound and a launch. A library that is tuned for a few
 * shapes may be many times slower for others: a performance cliff. */
#ifndef CLBENCH_TILING_CLIFFS_H
#define CLBENCH_TILING_CLIFFS_H

#include "base/rng.h"
#include "cli/session.h"

enum { CLIFF_MAX_SIZE = 4096, CLIFF_RATIO = 1000 };

/* Random m, n and k from 1 to CLIFF_MAX_SIZE with uniform logarithms, the
 * largest at most CLIFF_RATIO times the smallest. */
void cliff_shape(struct xl__rng *rng, size_t mnk[3]);

/* Measured rates of a device. */
struct cliff_device {
    double flop_per_s;
    double mem_bytes_per_s;
    double llc_bytes, llc_bytes_per_s; /* last-level cache; NaN: unknown */
    double launch_ns;
};

/* The time that a product is allowed. */
struct cliff_bound {
    double bound_ns;   /* max(flop / peak, bytes / bandwidth) */
    double allowed_ns; /* twice that and a launch */
    const char *limit; /* "fma", "memory", "cache" or "launch" */
};
struct cliff_bound cliff_bound(const struct cliff_device *dev, double flop,
                               double bytes);

/* Runs the command; an exit_code: EXIT_GATE if a shape takes longer. */
int cliff_run(struct session *s);

#endif
