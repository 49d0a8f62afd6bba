/* SPDX-License-Identifier: Apache-2.0 */
/* One variant of one case on one device: what is done before the timing and
 * after it. op_bench.c runs through cases, devices and variants. */
#ifndef CLBENCH_TIMING_ATTEMPT_H
#define CLBENCH_TIMING_ATTEMPT_H

#include "timing/run_cases.h"

/* What earlier rows showed of a variant's speed, to foresee the
 * next. */
struct pace {
    const xl_device *dev;
    char variant[32];
    xl_dtype dtype;
    double ns_per_work;
};
enum { MAX_PACES = 32 };
struct paces {
    struct pace list[MAX_PACES];
    unsigned n;
};
void pace_note(struct paces *p, const xl_device *dev, const xl_row *row,
               double ns);
/* The time that a row will take; `otherwise` when none like it was seen. */
double pace_foresee(const struct paces *p, const xl_device *dev,
                    const xl_row *row, double otherwise);

/* How long a row may take. */
struct extent {
    xl_sampling sampling;
    double row_s; /* skip a case of the table beyond this; 0: no bound */
};

struct bench {
    struct session *s;
    const struct bench_op *op;
    const struct extent *extent;
    enum bench_origin origin;
    xl_queue **queues;
    struct paces paces;
    unsigned n_doubts; /* roofs measured again */
};

/* One variant of one case on one device. */
struct attempt {
    struct bench *b;
    xl_queue *q;
    xl_device *dev;
    struct bench_work work;
    bool is_open; /* close() is due */
    bool is_live; /* to be timed: nothing spoke against it so far */
    xl_row row;
    xl_choice choice; /* what runs */
    char idle[160];   /* why no matrix engine multiplies; "": one does */
};

/* The row's case, before anything ran. */
void attempt_describe(struct attempt *t);
/* Choose, foresee, run once and compare: is_live when it may be timed. */
void attempt_line_up(struct attempt *t);
/* What the timing calls; `arg` is the attempt. */
xl_status attempt_enqueue(xl_queue *q, void *arg);
/* The row's figures, once it is timed and right a second time. */
void attempt_conclude(struct attempt *t);
/* Give the row away as failed; it is live no longer. */
void attempt_fail(struct attempt *t, xl_status status);

#endif
