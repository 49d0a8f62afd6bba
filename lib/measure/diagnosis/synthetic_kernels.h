/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic kernels, each limited by one known resource: their plans and
 * counts. Plain data and arithmetic: probes/diagnosis.c runs them, tests run
 * them by models of other devices. */
#ifndef XL_MEASURE_SYNTHETIC_KERNELS_H
#define XL_MEASURE_SYNTHETIC_KERNELS_H

#include <crosslane/measure/diagnosis.h>

#include "device/facts.h"
#include "runtime/plan.h"

enum {
    XL__SYNTHETIC_OUT = 1, /* memory slots of a plan */
    XL__SYNTHETIC_IN = 2,
    XL__SYNTHETIC_DST = 3,
    XL__SYNTHETIC_RING = 128 /* words of the longest ring */
};

/* One run of a synthetic kernel. */
struct xl__synthetic_run {
    struct xl__plan plan;
    xl_counts counts; /* without the time */
    unsigned launches;
    size_t out_words;   /* written, 4 bytes each */
    size_t in_bytes;    /* random words at _IN, as many at _DST; 0: none */
    size_t ring;        /* words of the ring at _IN; 0: none */
    size_t upload_bytes; /* before the launch */
};

/* The properties of a device that plans depend on. */
struct xl__synthetic_target {
    const struct xl__limits *l;
    size_t most_wg;
    bool scalar, quick;
};

/* A word that a run wrote, and what the host needs to compute the expected
 * one. */
struct xl__synthetic_word {
    size_t i, items;
    cl_uint word;
    size_t iterations;
    const cl_uint *ring; /* of n_ring words */
    size_t n_ring;
    uint64_t seed;
};

struct xl__synthetic {
    const char *name;    /* "bank_conflict" */
    xl_limiter limiter;  /* the expected diagnosis */
    enum xl__fact_id need; /* the rate that the diagnosis needs */
    /* NULL, or the reason why the device cannot show it. */
    const char *(*refuses)(const struct xl__limits *l);
    void (*plan)(const struct xl__synthetic_target *on, size_t iterations,
                 struct xl__synthetic_run *out);
    /* Is the word the expected one? */
    bool (*is_right)(const struct xl__synthetic_word *w);
    bool is_fixed;   /* its duration does not depend on iterations */
    bool is_slowing; /* its later runs do more work, as if the clock
                        fell */
};

/* the last has a NULL name */
extern const struct xl__synthetic xl__synthetic[];

/* Fills in plan and counts of a run; `out` is cleared first. */
void xl__synthetic_plan(const struct xl__synthetic *kind,
                        const struct xl__synthetic_target *on,
                        size_t iterations, struct xl__synthetic_run *out);

/* Creates one cycle through n words, n a power of two up to
 * XL__SYNTHETIC_RING. */
void xl__synthetic_ring(uint64_t seed, cl_uint *ring, size_t n);

#endif
