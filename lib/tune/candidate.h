/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates tried on a case of the call's own size: data on host and device
 * that all of them share. */
#ifndef XL_TUNE_TRIAL_H
#define XL_TUNE_TRIAL_H

#include <crosslane/measure.h>

#include "tune/space.h"

struct xl__case {
    xl_queue *q;
    const struct xl__op *op;
    const void *canonical;     /* the call's: what programs are checked for */
    uint64_t full[XL__DESC_CAP / sizeof(uint64_t)]; /* the case's own */
    struct xl__trial trial;
    void *before;              /* the result's memory before any run */
    struct xl__plan plan;      /* room: a plan is too large for the stack */
};

/* A candidate that is right, ready to be run many times. */
struct xl__entrant {
    struct xl__case *on;
    struct xl__cached_plan ready;
};

/* Make the data: XL_UNSUPPORTED when this call cannot be tried, XL_NO_MEMORY,
 * or an OpenCL code; the story is the queue's. xl__case_clear() anyway. */
xl_status xl__case_init(struct xl__case *c, const struct xl__op_call *call);
void xl__case_clear(struct xl__case *c);

/* Build, check and compare. Whatever the candidate does wrong is out->end; on
 * XL_CANDIDATE_RIGHT the entrant is ready: xl__entrant_clear(). */
void xl__entrant_init(struct xl__entrant *e, struct xl__case *c,
                      const struct xl__point *point, xl_candidate_result *out);
void xl__entrant_clear(struct xl__entrant *e);
/* Enqueue it once; `arg` is the entrant. For the sampler. */
xl_status xl__entrant_run(xl_queue *q, void *arg);

/* All of a trial: xl__entrant_init() and its time. */
void xl__case_try(struct xl__case *c, const struct xl__point *point,
                  double limit_ns, xl_candidate_result *out);

/* The point that a candidate names: XL_BAD_ARGUMENT when there is none. */
xl_status xl__point_of(const struct xl__op_call *call, const xl_candidate *c,
                       struct xl__point *out);

#endif
