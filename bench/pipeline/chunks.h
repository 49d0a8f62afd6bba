/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a workload into chunks whose upload, kernels and download overlap.
 * There is one lane for each of the three; a lane processes the chunks in
 * order. The first upload and the last download overlap with nothing, so
 * chunks may grow or shrink by a constant factor. Plain arithmetic over
 * measured costs, no device.
 *
 *     upload      |0|1| 2 |  3  |
 *     kernels       |0|1|  2 |   3  |
 *     download        |0| 1 |  2  |    3    | */
#ifndef CLBENCH_PIPELINE_CHUNKS_H
#define CLBENCH_PIPELINE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>

enum { LANE_UP, LANE_RUN, LANE_DOWN, N_LANES };

/* Time of a chunk in a lane: chunk_ns + unit_ns * units; enqueue_ns is the
 * host's time to enqueue it. */
struct lane_cost {
    double chunk_ns, unit_ns, enqueue_ns;
};

struct lane_costs {
    struct lane_cost lane[N_LANES];
};

enum { MOST_CHUNKS = 64 };

/* Units of each chunk; a unit is the smallest amount that can be divided. */
struct chunks {
    unsigned n;
    size_t units[MOST_CHUNKS];
    unsigned ahead; /* uploads enqueued before the kernels of the current
                       chunk, if there are enough slots; see chunks_ahead() */
};

/* The cost of a lane from its time for `units` in one piece and in n chunks.
 * Never negative, whatever the noise. */
struct lane_cost chunks_lane_cost(double whole_ns, double cut_ns, unsigned n,
                                  size_t units);
/* n chunks, each about `growth` times as large as the one before it; `ahead`
 * is 1. False: fewer units than chunks, or more than MOST_CHUNKS. */
bool chunks_make(size_t units, unsigned n, double growth, struct chunks *out);
/* The number of uploads to enqueue before the kernels of the current chunk. If
 * enqueueing takes longer than the device needs for a chunk, uploads that are
 * the bottleneck need one; for downloads that are, none is better. */
unsigned chunks_ahead(const struct chunks *c, unsigned buffers);
/* Simulated time from the first call to the end of the last download. Chunks
 * use `buffers` slots of device memory cyclically: an upload waits for the
 * kernels, and kernels for the download, of the previous chunk in the slot. */
double chunks_time(const struct chunks *c, const struct lane_costs *p,
                   unsigned buffers);
/* The chunks with the least simulated time, `least` to `most` of them. False:
 * there are none. */
bool chunks_choose(size_t units, const struct lane_costs *p, unsigned buffers,
                   unsigned least, unsigned most, struct chunks *best);

#endif
