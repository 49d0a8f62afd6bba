/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels made to be limited by one thing each: what is launched and what it
 * does, counted. Plain data and arithmetic: probe_diagnosis.c runs them, tests
 * let a model of other devices run them. */
#ifndef XL_MEASURE_PLANTED_H
#define XL_MEASURE_PLANTED_H

#include <crosslane/diagnosis.h>

#include "device/facts.h"
#include "runtime/plan.h"

enum {
    XL__PLANTED_OUT = 1, /* memory slots of a plan */
    XL__PLANTED_IN = 2,
    XL__PLANTED_DST = 3,
    XL__PLANTED_RING = 128 /* words of the longest ring */
};

/* What one run of a planted kernel is. */
struct xl__planted_run {
    struct xl__plan plan;
    xl_counts work; /* its time is not known yet */
    unsigned launches;
    size_t out_words;   /* written, 4 bytes each */
    size_t in_bytes;    /* random words at _IN, as many at _DST; 0: none */
    size_t ring;        /* words of the ring at _IN; 0: none */
    size_t upload_bytes; /* before the launch */
};

/* How a device is launched on. */
struct xl__planting {
    const struct xl__limits *l;
    size_t most_wg;
    bool scalar, quick;
};

/* A word that a run wrote, and what the host needs to tell it. */
struct xl__planted_word {
    size_t i, items;
    cl_uint word;
    size_t turns;
    const cl_uint *ring; /* of n_ring words */
    size_t n_ring;
    uint64_t seed;
};

struct xl__planted {
    const char *name;    /* "bank_conflict" */
    xl_limiter limiter;  /* what is to be found */
    enum xl__fact_id need; /* the rate without which nobody can */
    /* NULL, or why it cannot be had here. */
    const char *(*refuses)(const struct xl__limits *l);
    void (*make)(const struct xl__planting *on, size_t turns,
                 struct xl__planted_run *out);
    /* Is this what the host gets? */
    bool (*is_right)(const struct xl__planted_word *w);
    bool is_fixed;       /* turns make it no longer */
    bool is_slowing;     /* its later runs do more, as if the clock fell */
};

extern const struct xl__planted xl__planted[]; /* NULL name last */

/* The run's plan and counts, with nothing left from before. */
void xl__planted_make(const struct xl__planted *kind,
                      const struct xl__planting *on, size_t turns,
                      struct xl__planted_run *out);

/* One cycle through all n places, n a power of two up to XL__PLANTED_RING. */
void xl__planted_ring(uint64_t seed, cl_uint *ring, size_t n);

#endif
