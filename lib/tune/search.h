/* SPDX-License-Identifier: Apache-2.0 */
/* Which candidate is tried next, and what came of those before. */
#ifndef XL_TUNE_SEARCH_H
#define XL_TUNE_SEARCH_H

#include "tune/journal.h"
#include "tune/candidate.h"

/* A point in the line of what is to be tried. */
struct xl__turn {
    double est_ns;
    size_t at;
    int rank;
};

struct xl__search {
    struct xl__op_call *call;
    const xl_tuning *how;
    struct xl__space space;
    struct xl__turn *turns;   /* in order; n_taken of them were given out */
    size_t n_turns, turns_cap, n_taken;
    bool is_lined_up;         /* else what was learnt changed the order */
    struct xl__case data;     /* of trials in this process */
    bool has_data;
    struct xl__journal journal;
    uint64_t begun_ns;
    double budget_s, tried_s; /* tried_s: spent in trials */
    long best;                /* point; -1: none is right yet */
    unsigned n_tried, n_lost, n_resumed;
    bool is_complete;
};

/* Try candidates until none is left, the time is over or somebody says stop.
 * XL_OK then; else a failure that is no candidate's. */
xl_status xl__search_run(struct xl__search *s);
void xl__search_clear(struct xl__search *s);
/* The data for trials in this process, made when first asked for. */
xl_status xl__search_data(struct xl__search *s, struct xl__case **out);
/* Tell the application where the search is; `now` NULL: re-timing. */
void xl__search_tell(const struct xl__search *s, const xl_candidate *now);

/* final.c: the best, the runner-up and the model's choice timed in turns, in
 * this process, with the very plans a call would run. */
xl_status xl__search_final(struct xl__search *s, xl_tuned *out);

#endif
