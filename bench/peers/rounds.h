/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved timing of two or more libraries on the same case, since a shared
 * machine changes speed from second to second:
 *
 *   round 0:  A B C      a round gives a ratio of times; the result is the
 *   round 1:  B C A      median of the ratios with its interval
 *   round 2:  C A B
 *
 * A round in which other processes used the cores is repeated: libraries
 * divide their work in different ways, so a busy core costs one of them far
 * more than another. */
#ifndef PEERS_ROUNDS_H
#define PEERS_ROUNDS_H

#include "results/json.h"
#include "cli/session.h"

enum { ROUNDS_LIBRARIES = 4, ROUNDS_MOST = 64 };

struct rounds {
    struct session *s;
    unsigned n_libraries;
    unsigned n_required; /* rounds */
    unsigned calls;      /* runs that are waited for together */
    uint64_t rest_ns;    /* before a measurement: lets busy waits end */
    /* One run; it may return before it is done. */
    xl_status (*run)(void *arg, unsigned library);
    /* Until everything is done. */
    xl_status (*wait)(void *arg);
    /* Called before a library is measured, and afterwards with n_libraries.
     * May be NULL. */
    void (*select)(void *arg, unsigned library);
    void *arg;
    /* Results: time of one run, by library and round. */
    double ns[ROUNDS_LIBRARIES][ROUNDS_MOST];
    double best_ns[ROUNDS_LIBRARIES];
    double foreign_s[ROUNDS_MOST]; /* CPU time of others; NaN: unknown */
    unsigned n, n_redone;          /* rounds measured; repeated */
};

/* Measure, and fill in the results. XL_CANCELLED: stopped before the first
 * round ended. */
xl_status rounds_measure(struct rounds *r);

/* Time of `theirs` over time of `ours`, by round: above 1, ours is faster. */
struct rounds_ratio {
    double median, lo, hi; /* 95 % */
    double best;           /* of the best runs of each */
    unsigned n_suspect;    /* rounds far above 1 while others used the cores */
};
struct rounds_ratio rounds_ratio(const struct rounds *r, unsigned ours,
                                 unsigned theirs);

/* Set the samples and the value of a library's row, which has its unit, bytes
 * and flop already. */
void rounds_fill_row(const struct rounds *r, unsigned library, xl_row *row);
/* The ratio as a member of the file's "pairs". */
json_t *rounds_pair(const struct rounds_ratio *ratio, const xl_row *ours,
                    const xl_row *theirs);
/* The number of rounds by --quick and --full. */
unsigned rounds_required(const struct settings *set);

#endif
