/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of the user as a timed op: a case is a combination of sizes, a
 * variant one of -D and the file. */
#ifndef CLBENCH_KERNEL_OP_H
#define CLBENCH_KERNEL_OP_H

#include "kernel/job.h"

/* The op of a job, whose variants are those of the job; bench_run() times it.
 * The session gets the build logs, in the `kernel` member of its extra. */
struct bench_op kernel_op(struct kernel_job *job);

#endif
