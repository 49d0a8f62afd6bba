/* SPDX-License-Identifier: Apache-2.0 */
/* Two or more sides that take turns at the same work, since a shared machine
 * changes speed from second to second: each round gives a ratio, and those are
 * what is quoted. A round in which other processes took the cores is done once
 * more: libraries share work out in different ways, so a busy core costs one
 * of them far more than another. */
#ifndef PEERS_ROUNDS_H
#define PEERS_ROUNDS_H

#include "results/json.h"
#include "cli/session.h"

enum { ROUNDS_SIDES = 4, ROUNDS_MOST = 64 };

struct rounds {
    struct session *s;
    unsigned n_sides, wanted; /* rounds */
    unsigned calls;           /* runs that are waited for together */
    uint64_t rest_ns;         /* before a turn, for threads that wait busily */
    /* One run; it may return before it is done. */
    xl_status (*run)(void *arg, unsigned side);
    /* Until everything is done. */
    xl_status (*wait)(void *arg);
    /* Whose turn it is from now on, N_SIDES: nobody's; NULL: who cares. */
    void (*turn)(void *arg, unsigned side);
    void *arg;
    /* What was found: of one run, a number for each round. */
    double ns[ROUNDS_SIDES][ROUNDS_MOST];
    double best_ns[ROUNDS_SIDES];
    double foreign_s[ROUNDS_MOST]; /* CPU time others took; NaN: unknown */
    unsigned n, n_redone;
};

/* Fill in what was found. XL_CANCELLED: stopped before the first round. */
xl_status rounds_take(struct rounds *r);

/* `theirs` over `ours`, round by round: above 1, ours is the faster. */
struct rounds_ratio {
    double median, lo, hi; /* 95 % */
    double best;           /* of the best runs of each */
    unsigned n_suspect;    /* rounds far above 1 while others took the cores */
};
struct rounds_ratio rounds_ratio(const struct rounds *r, unsigned ours,
                                 unsigned theirs);

/* A side's samples and value; the row is there already. */
void rounds_row(const struct rounds *r, unsigned side, xl_row *row);
/* The ratio as a member of the file's "pairs". */
json_t *rounds_pair(const struct rounds_ratio *ratio, const xl_row *ours,
                    const xl_row *theirs);
/* By --quick and --full. */
unsigned rounds_wanted(const struct settings *set);

#endif
