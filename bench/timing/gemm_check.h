/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a timed GEMM's result: elements at random, and all elements in
 * sums of rows. */
#ifndef CLBENCH_TIMING_GEMM_CHECK_H
#define CLBENCH_TIMING_GEMM_CHECK_H

#include "cases/host_ops.h"
#include "timing/run_cases.h"

/* A check of all elements of a product by sums of rows: C r is compared with
 * A (B r) for a vector r of random signs. The host needs one pass over each
 * matrix and no matrix product. Source: Freivalds, "Probabilistic machines can
 * use less running time", IFIP Congress, 1977. */
struct gemm_sums {
    struct ref_mat a, b, c;
    size_t m, n, k;
    double alpha;
    double least; /* error permitted to one element */
    uint64_t seed;
};

/* A row with a wrong element; m: none found. Products that are too small for
 * the statistics or too large for the host are not checked, nor is any when
 * there is no memory for the sums. */
size_t gemm_sums_outlier(const struct gemm_sums *s);

/* Compare rows at random with the host; check all of a single product. They
 * fit bench_op.check and bench_op.check_whole. */
xl_status gemm_check(xl_queue *q, const struct case_run *w,
                     struct check_result *out);
xl_status gemm_check_whole(xl_queue *q, const struct case_run *w,
                           struct check_result *out);

#endif
