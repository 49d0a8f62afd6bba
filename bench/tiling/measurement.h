/* SPDX-License-Identifier: Apache-2.0 */
/* A page's figures: from the device, or, of a tile that is only asked about,
 * from the model alone. */
#ifndef CLBENCH_SPLIT_RUN_H
#define CLBENCH_SPLIT_RUN_H

#include "tiling/sweep.h"
#include "timing/run_cases.h"
#include "tiling/split_page.h"

/* More tiles than this are no picture. */
enum { SPLIT_MOST = 1 << 20, SPLIT_MOST_UNITS = 1 << 16 };

/* What is split. */
struct split_job {
    struct session *s;
    const struct bench_op *op;
    const void *c;              /* the op's case */
    xl_dtype dtype;
    size_t m, n, count;         /* rows and columns of a result; 0: the op's
                                   tiles are not its rows and columns */
    size_t rows, cols;          /* --tile; 0: the library's */
    const struct sweep *sweep;  /* NULL: the sawtooth is around the size */
};

/* An exit_code. `dev` NULL: --tile and --units say everything. Clear the page
 * after a failure as well. */
int split_run(const struct split_job *job, xl_device *dev,
              struct split_page *out);

/* split_rates.c: the op's median time, out of samples of `max_s` seconds. */
xl_status split_time(const struct split_job *job, xl_queue *q, double max_s,
                     double *ns);
/* The sweep's sizes, timed, each with the library's own tile: p->rate. An
 * exit_code. */
int split_rates(const struct split_job *job, xl_queue *q,
                struct split_page *p);
/* The library's tiling of the job's case; an exit_code. */
int split_choose(const struct split_job *job, xl_queue *q,
                 struct split_page *p);

#endif
