/* SPDX-License-Identifier: Apache-2.0 */
/* The search over tunables: which candidate is measured next, and the results
 * so far. */
#ifndef XL_TUNE_SEARCH_H
#define XL_TUNE_SEARCH_H

#include "tune/journal.h"
#include "tune/candidate.h"

/* An entry of the queue: a point without a result. */
struct xl__queued {
    double est_ns;
    size_t at;
    int rank;
};

struct xl__search {
    struct xl__op_call *call;
    const xl_tuning *how;
    struct xl__space space;
    struct xl__queued *queue; /* sorted; the first n_taken are done */
    size_t n_queued, queue_cap, n_taken;
    bool is_queue_current; /* false: a result changed ranks */
    struct xl__tuning_case data; /* for measuring in this process */
    bool has_data;
    struct xl__journal journal;
    uint64_t begun_ns;
    double budget_s, tried_s; /* tried_s: spent measuring candidates */
    long best;                /* point; -1: none is correct yet */
    unsigned n_tried, n_lost, n_resumed;
    bool is_complete;
};

/* Measures candidates until none is left, the time is over or the application
 * stops it: XL_OK in these cases, else a failure that no candidate causes. */
xl_status xl__search_run(struct xl__search *s);
void xl__search_clear(struct xl__search *s);

/* Compares the model's choice and the two fastest others, interleaved, in this
 * process, with the plans that a call runs. XL_UNSUPPORTED: none is correct.
 */
xl_status xl__search_final(struct xl__search *s, xl_tuned *out);

#endif
