/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer chasing: one work-item follows a ring of links through memory in
 * random order, so each load depends on the one before. The links are written
 * by cl/probe/pointer_chase.cl. Each launch continues where the one before
 * stopped, and its end is compared with the word that the host computes. */
#ifndef XL_MEASURE_POINTER_CHASE_H
#define XL_MEASURE_POINTER_CHASE_H

#include "measure/probe.h"

/* The layout of a ring. */
struct xl__ring {
    cl_uint slots, windows, each; /* slots = windows * each */
    cl_uint stride, spread, line; /* words; lines per slot; words */
};

struct xl__chase {
    cl_mem links, ends;
    size_t bytes, line_bytes; /* of links; of a cache line */
    struct xl__ring ring;     /* the ring that is linked */
    uint64_t steps_done;      /* steps since it was linked */
    double ns;                /* of a load, when last measured; 0: never */
    bool wall_clock;          /* that time is by the wall clock */
};

/* A ring over every line of so many bytes, in windows that a TLB covers. */
struct xl__ring xl__ring_dense(size_t bytes, size_t line_bytes);
/* A ring over `slots` lines, evenly distributed over so many bytes, each at a
 * random position in its slot, in random order. */
struct xl__ring xl__ring_spread(size_t bytes, size_t slots, size_t line_bytes);
/* The index of the word that is read at a step. */
size_t xl__ring_word(const struct xl__ring *ring, uint64_t seed,
                     uint64_t step);

/* Allocates memory for rings of at most `bytes`, less if it does not fit. */
xl_status xl__chase_begin(struct xl__session *p, size_t bytes,
                          struct xl__chase *chase);
void xl__chase_end(struct xl__chase *chase);
/* Links a ring. */
xl_status xl__chase_link(struct xl__session *p, struct xl__chase *chase,
                         struct xl__ring ring);
/* Samples launches of so many iterations; row->value: seconds per load. The
 * sample function of struct xl__iteration_source; `chase` is a struct
 * xl__chase. */
xl_status xl__chase_sample(struct xl__session *p, void *chase,
                           size_t iterations, xl_row *row);
/* The iterations of a short launch, by the last measured time of a load. */
size_t xl__chase_iterations(const struct xl__session *p,
                            const struct xl__chase *chase);
/* Measures a point of a curve: links a ring, loads it into the caches, and
 * samples it briefly; chase->ns is its time. Does not emit the row. */
xl_status xl__chase_point(struct xl__session *p, struct xl__chase *chase,
                          struct xl__ring ring, xl_row *row);
/* The same as a row of probe `op` with the reach of the ring; chase->ns is the
 * point of its curve. *is_sound becomes false if the row is rejected. */
xl_status xl__chase_curve_point(struct xl__session *p, struct xl__chase *chase,
                                struct xl__ring ring, const char *op,
                                double bytes, bool *is_sound);

#endif
