/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as plain C loops over libm, each on a range of the data. */
#ifndef CLBENCH_PEERS_LIBM_LOOPS_H
#define CLBENCH_PEERS_LIBM_LOOPS_H

#include <stddef.h>

struct loop_data {
    const float *x, *y;
    float *out;
    size_t cols; /* of a row, where rows matter */
};

/* Elements (softmax: rows) from `first` up to `last`. loop_sum returns the
 * sum of the range, the others 0. */
typedef double loop_range(const struct loop_data *d, size_t first,
                          size_t last);

loop_range loop_sincos, loop_exp, loop_tanh, loop_gelu, loop_axpy,
    loop_softmax, loop_sum;

/* The constant of axpy. */
static const float loop_alpha = 1.75f;

#endif
