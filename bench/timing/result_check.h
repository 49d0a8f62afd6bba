/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a whole result, since a sample may miss the one wrong element: is
 * each element written, and does the sum of any row deviate? */
#ifndef CLBENCH_TIMING_RESULT_CHECK_H
#define CLBENCH_TIMING_RESULT_CHECK_H

#include "timing/run_cases.h"

/* Is each float of the results written since bench_data_reset()? If not,
 * XL_WRONG_RESULT, with the element in out->why. */
xl_status check_written(xl_queue *q, const struct bench_data *data,
                        struct check_result *out);

/* The first of n errors that exceeds both many times the median and `least`;
 * n: none. Rounding errors of all rows have about the same size, so such a row
 * has a wrong element. Sums need at least OUTLIER_MIN_TERMS terms for this. */
enum { OUTLIER_MIN_TERMS = 64 };
size_t find_outlier(const double *error, size_t n, double least);

#endif
