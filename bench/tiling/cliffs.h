/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --cliff N`: random shapes, each against twice the bound that
 * the device's measured peaks set and a launch's cost. A library that is
 * fast on its author's shapes falls off a cliff between them. */
#ifndef CLBENCH_GEMM_CLIFF_H
#define CLBENCH_GEMM_CLIFF_H

#include "base/rng.h"
#include "cli/session.h"

enum { CLIFF_SIDE = 4096, CLIFF_RATIO = 1000 };

/* Sides from 1 to CLIFF_SIDE, their logarithms uniform, the longest at most
 * CLIFF_RATIO times the shortest. */
void cliff_shape(struct xl__rng *rng, size_t mnk[3]);

/* What a device can do, measured. */
struct cliff_device {
    double flop_per_s;
    double mem_bytes_per_s;
    double llc_bytes, llc_bytes_per_s; /* NaN: unknown */
    double launch_ns;
};

/* What a product may take. */
struct cliff_bound {
    double bound_ns;   /* max(flop / peak, bytes / bandwidth) */
    double allowed_ns; /* twice that and a launch */
    const char *limit; /* "fma", "memory", "cache" or "launch" */
};
struct cliff_bound cliff_bound(const struct cliff_device *dev, double flop,
                               double bytes);

/* The whole command; an exit_code: EXIT_GATE when a shape takes longer. */
int cliff_run(struct session *s);

#endif
