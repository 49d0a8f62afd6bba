/* SPDX-License-Identifier: Apache-2.0 */
/* How work is cut so that its upload, its kernels and its download run side by
 * side: one lane each, in order within a lane. Chunks may grow or shrink from
 * one to the next, since what nothing can overlap with is the first chunk's
 * upload and the last one's download. Plain arithmetic over rates that were
 * measured. */
#ifndef CLBENCH_PIPELINE_CHUNKS_H
#define CLBENCH_PIPELINE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>

enum { LANE_UP, LANE_RUN, LANE_DOWN, N_LANES };

/* What a lane takes for a chunk: so much for its commands, so much a unit, and
 * the host's time to enqueue it. */
struct pace_of_lane {
    double chunk_ns, unit_ns, enqueue_ns;
};

struct lane_paces {
    struct pace_of_lane lane[N_LANES];
};

enum { MOST_CHUNKS = 64 };

/* Units of each chunk; a unit is the least that is cut off. */
struct chunks {
    unsigned n;
    size_t units[MOST_CHUNKS];
    unsigned ahead; /* so many are sent before the kernels of the one in hand
                       are enqueued, if there are places (chunks_ahead()) */
};

/* From the time of `units` in one piece and in n: what a chunk costs apart
 * from its units. Noise gives no negative times. */
struct pace_of_lane chunks_pace(double whole_ns, double cut_ns, unsigned n,
                                size_t units);
/* n chunks, each `growth` times the one before it, as nearly as whole units
 * allow, one ahead; false when there are fewer units than chunks. */
bool chunks_make(size_t units, unsigned n, double growth, struct chunks *out);
/* Chunks whose upload is enqueued before the kernels of the chunk in hand: the
 * host takes longer to enqueue a small chunk than a big device to fetch it, so
 * uploads that bound the rest want one; downloads that do, none. */
unsigned chunks_ahead(const struct chunks *c, unsigned buffers);
/* From the first call to the end of the last download. Chunks take turns in
 * `buffers` places on the device: an upload waits for the kernels, and kernels
 * for the download, of the chunk that had the place before. */
double chunks_time(const struct chunks *c, const struct lane_paces *p,
                   unsigned buffers);
/* The quickest way to cut into `least` to `most` chunks; false: there is no
 * way. */
bool chunks_choose(size_t units, const struct lane_paces *p, unsigned buffers,
                   unsigned least, unsigned most, struct chunks *best);

#endif
