/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a result miss the one element that is wrong. What is cheap for
 * all of it: was each element written at all, and do sums over whole rows
 * stand out? */
#ifndef CLBENCH_TIMING_RESULT_CHECK_H
#define CLBENCH_TIMING_RESULT_CHECK_H

#include "timing/run_cases.h"

/* Is anything left of what bench_data_reset() put into the floats of a
 * result? Says where in out->why; XL_WRONG_RESULT then. */
xl_status whole_written(xl_queue *q, const struct bench_data *data,
                        struct check_result *out);

/* Rows err alike, by rounding, but for one with a wrong element. The first
 * whose error is more than many times the median one and than `least`; n:
 * none is. Of sums over fewer than WHOLE_LEAST_TERMS, whose errors are not
 * alike, nothing is said. */
enum { WHOLE_LEAST_TERMS = 64 };
size_t whole_outlier(const double *error, size_t n, double least);

#endif
