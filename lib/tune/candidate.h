/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of the tuner, measured on a case of the call's own size. All of
 * them share its data on host and device. */
#ifndef XL_TUNE_CANDIDATE_H
#define XL_TUNE_CANDIDATE_H

#include <crosslane/sampling.h>

#include "tune/space.h"

struct xl__tuning_case {
    xl_queue *q;
    const struct xl__op *op;
    const void *canonical; /* the call's: programs are checked for it */
    void *full;            /* the case's own, on the heap */
    struct xl__selfcheck_case op_case;
    struct xl__plan plan; /* here, since a plan is too large for the stack */
};

/* A candidate that is correct and can run any number of times. */
struct xl__entrant {
    struct xl__tuning_case *on;
    struct xl__cached_plan ready;
};

/* Makes the data; of one that `is_timed` results cannot be compared.
 * XL_UNSUPPORTED where the op has no case of this size,
 * XL_NO_MEMORY, or an OpenCL code, with the detail in the queue. Call
 * xl__tuning_case_clear() whatever the status. */
xl_status xl__tuning_case_init(struct xl__tuning_case *c,
                               const struct xl__op_call *call, bool is_timed);
void xl__tuning_case_clear(struct xl__tuning_case *c);

/* Builds, self-checks and compares; without the comparison. A failure of the
 * candidate is out->end, and its status is returned; after XL_CANDIDATE_RIGHT
 * the entrant can run, and xl__entrant_clear() frees it. */
void xl__entrant_init(struct xl__entrant *e, struct xl__tuning_case *c,
                      const struct xl__point *point, xl_candidate_result *out);
xl_status xl__entrant_build(struct xl__entrant *e, struct xl__tuning_case *c,
                            const struct xl__point *point,
                            xl_candidate_result *out);
void xl__entrant_clear(struct xl__entrant *e);
/* Enqueues it once; `arg` is the entrant. For the sampler. */
xl_status xl__entrant_run(xl_queue *q, void *arg);

/* xl__entrant_init(), then its time. */
void xl__tuning_case_measure(struct xl__tuning_case *c,
                             const struct xl__point *point, double limit_ns,
                             xl_candidate_result *out);

/* The point that a candidate names: XL_BAD_ARGUMENT when there is none. */
xl_status xl__point_of(const struct xl__op_call *call, const xl_candidate *c,
                       struct xl__point *out);

#endif
