/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a timed GEMM's result. */
#ifndef CLBENCH_TIMING_GEMM_CHECK_H
#define CLBENCH_TIMING_GEMM_CHECK_H

#include "cases/host_ops.h"
#include "timing/run_cases.h"

/* Every element of a product in the sums of its rows: C r against A (B r), r
 * of random signs, which costs the host a pass over each matrix and no
 * product. Source: Freivalds, "Probabilistic machines can use less running
 * time", IFIP Congress, 1977. */
struct gemm_sums {
    struct ref_mat a, b, c;
    size_t m, n, k;
    double alpha;
    double least; /* what one element may err */
    uint64_t seed;
};

/* A row with a wrong element; m: none. Nothing is said of products so small
 * or so large that it would not be sound or not be quick, or of which there is
 * no memory for the sums. */
size_t gemm_sums_outlier(const struct gemm_sums *s);

/* Rows at random, and all of a single product. */
xl_status gemm_check(xl_queue *q, const struct bench_work *w,
                     struct check_result *out);
xl_status gemm_check_whole(xl_queue *q, const struct bench_work *w,
                           struct check_result *out);

#endif
