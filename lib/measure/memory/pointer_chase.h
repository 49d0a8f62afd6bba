/* SPDX-License-Identifier: Apache-2.0 */
/* Dependent loads: a ring of links through memory in random order, walked by
 * one work-item. cl/probe/pointer_chase.cl draws it. Launches go on where the
 * one before stopped, and every end is held against the host's reckoning. */
#ifndef XL_MEASURE_CHASE_H
#define XL_MEASURE_CHASE_H

#include "measure/probe.h"

/* Where the slots are. */
struct xl__ring {
    cl_uint slots, windows, each; /* slots = windows * each */
    cl_uint stride, spread, line; /* words; places in a slot; words */
};

struct xl__chase {
    cl_mem links, ends;
    size_t bytes, line_bytes; /* of links; of a cache line */
    struct xl__ring ring;     /* the one laid */
    uint64_t steps_done;      /* steps since it was laid */
    double ns;                /* of a load, when last seen; 0: never */
    bool wall_clock;          /* by which it was seen */
};

/* Every line of so many bytes, by windows that a TLB knows. */
struct xl__ring xl__ring_dense(size_t bytes, size_t line_bytes);
/* `slots` lines evenly over so many bytes, each at a random place of its part,
 * in no order at all. */
struct xl__ring xl__ring_spread(size_t bytes, size_t slots, size_t line_bytes);
/* The word that is read at a step. */
size_t xl__ring_word(const struct xl__ring *ring, uint64_t seed,
                     uint64_t step);

/* Memory for rings of at most `bytes`, less where it does not fit. */
xl_status xl__chase_begin(struct xl__session *p, size_t bytes,
                          struct xl__chase *chase);
void xl__chase_end(struct xl__chase *chase);
/* Link a ring. */
xl_status xl__chase_link(struct xl__session *p, struct xl__chase *chase,
                         struct xl__ring ring);
/* A row from launches of so many turns; value: seconds of one load. As struct
 * xl__iteration_source wants it, with the struct xl__chase as `chase`. */
xl_status xl__chase_sample(struct xl__session *p, void *chase,
                           size_t iterations, xl_row *row);
/* Turns of a launch that is short, by the time of a load when last seen. */
size_t xl__chase_iterations(const struct xl__session *p,
                            const struct xl__chase *chase);
/* A point of a curve: lay a ring, bring it near, sample it briefly; its time
 * is chase->ns then. The row is not handed out. */
xl_status xl__chase_point(struct xl__session *p, struct xl__chase *chase,
                          struct xl__ring ring, xl_row *row);

#endif
