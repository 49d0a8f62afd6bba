/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a kernel's results after a run on fresh buffers: nothing outside
 * of a buffer and no `in` buffer was written, and the results are those of
 * another kernel on the same data. */
#ifndef CLBENCH_KERNEL_CHECK_H
#define CLBENCH_KERNEL_CHECK_H

#include "kernel/program.h"

/* The other kernel. */
struct kernel_reference {
    const struct kernel_program *program;
    const struct kernel_plan *plan;
};

/* XL_WRONG_RESULT with out->why; `reference` NULL: results are not compared,
 * else the buffers hold its results afterwards. */
xl_status kernel_check(xl_queue *q, const struct kernel_case *c,
                       const struct bench_data *data,
                       const struct kernel_reference *reference,
                       struct check_result *out);

/* What may differ without --tolerance, relative to the larger one of the
 * expected value and the root mean square of its buffer: 256 roundings of the
 * arithmetic, which is in f32 but for f64, and 4 of the stored type. 0 for an
 * integer. */
double kernel_tolerance(const struct element *e);

#endif
