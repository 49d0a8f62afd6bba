/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of tiles: what of their area is useful, how many waves of
 * groups a device runs and how full they are, what tiles read. Plain numbers,
 * no device. */
#ifndef CLBENCH_GEMM_TILING_H
#define CLBENCH_GEMM_TILING_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
