/* SPDX-License-Identifier: Apache-2.0 */
/* Every element of a product in the sums of its rows: C r against A (B r), r
 * of random signs, which costs the host a pass over each matrix and no
 * product. Source: Freivalds, "Probabilistic machines can use less running
 * time", IFIP Congress, 1977. */
#ifndef CLBENCH_OP_GEMM_SUMS_H
#define CLBENCH_OP_GEMM_SUMS_H

#include "cases/host_ops.h"

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

#endif
