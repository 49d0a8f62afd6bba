/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM with an epilogue on a device, compared with values computed in double
 * on the host. The elements of A, B and C are chosen so that y is exact in f32
 * in any order of summation: only the epilogue has an error. Guard bytes
 * surround the elements of C, and must not change. The gaps between operands'
 * elements contain NaN, or for integers a number that no element has. */
#ifndef XL_TESTS_EPILOGUE_CASE_H
#define XL_TESTS_EPILOGUE_CASE_H

#include "support/support.h"

enum {
    CASE_TRANSPOSED = 1, /* C is column-major */
    CASE_BATCH = 2,
    CASE_LISTS = 4, /* a batch by offsets */
    CASE_BETA = 8,  /* -0.5, else 0 */
    CASE_WIDE = 16  /* one larger size, for kernels that require alignment */
};

struct epilogue_case {
    const char *expr;
    /* "bias:f32[n] r:f16[m,n]T s:f32=0.75 old:C": sizes are m, n, z (products)
     * or 1; T: column-major, 3: columns three apart, else dense with a gap
     * between rows; C: the very same view as C. */
    const char *operands;
    xl_dtype in, out;
    double (*expected)(double y, const double *x); /* x: operands' values */
    double ulps; /* bound of the error: ulps of f32 of the largest of result,
                    y, operands and 1 */
    unsigned how;
};

/* Run the case with each size and each variant of GEMM that supports it. The
 * reference runs all; to save build time, other variants run every third case,
 * counted by i_case, in one of the sizes, unless XL_TEST_FULL is set.
 * XL_TEST_VARIANT selects a single variant. A wrong result fails the test.
 * Returns the number of runs. */
unsigned epilogue_run(const struct test_device *t,
                      const struct epilogue_case *c, size_t i_case);

#endif
