/* SPDX-License-Identifier: Apache-2.0 */
/* One variant of one case on one device: the preparation before it is timed
 * and the evaluation afterwards. run_cases.c loops over cases, devices and
 * variants. */
#ifndef CLBENCH_TIMING_ATTEMPT_H
#define CLBENCH_TIMING_ATTEMPT_H

#include "timing/run_cases.h"

/* The time of earlier rows per unit of cost, from which the time of the next
 * row is estimated. */
struct pace {
    const xl_device *dev;
    char variant[32];
    xl_dtype dtype;
    double ns_per_cost;
};
enum { MAX_PACES = 32 };
struct paces {
    struct pace list[MAX_PACES];
    unsigned n;
};
void pace_record(struct paces *p, const xl_device *dev, const xl_row *row,
                 double ns);
/* Estimate the time of a run of a row; `otherwise` when there is no earlier
 * row of the same device, variant and type. */
double pace_estimate(const struct paces *p, const xl_device *dev,
                     const xl_row *row, double otherwise);

/* How long a row may take. */
struct extent {
    xl_sampling sampling;
    double row_s; /* a case of the table that takes longer is skipped; 0: no
                     limit */
};

/* A benchmark: one op over a list of cases. */
struct bench {
    struct session *s;
    const struct bench_op *op;
    const struct extent *extent;
    enum bench_origin origin;
    xl_queue **queues;
    struct paces paces;
    bool is_futile;     /* no case fits on a device: no roof is measured */
    uint64_t looked_ns; /* when a roof was last measured in bursts */
};

/* One variant of one case on one device. */
struct attempt {
    struct bench *b;
    xl_queue *q;
    xl_device *dev;
    struct case_run work;
    bool is_open; /* close() is due */
    bool is_live; /* to be timed: no failure so far */
    xl_row row;
    xl_choice choice; /* the variant that runs */
    char idle[160];   /* why no matrix engine is used; "": one is */
};

/* Fill in the row's case. */
void attempt_describe(struct attempt *t);
/* Choose the variant, estimate its time, run it once and compare the result:
 * is_live when it may be timed. */
void attempt_prepare(struct attempt *t);
/* The function that is timed; `arg` is the attempt. */
xl_status attempt_enqueue(xl_queue *q, void *arg);
/* After the timing: compare the result again, then compute the row's values.
 */
void attempt_finish(struct attempt *t);
/* The same in a further pass: only the value. */
void attempt_repeat(struct attempt *t);
/* Report the row as failed; is_live becomes false. */
void attempt_fail(struct attempt *t, xl_status status);

#endif
