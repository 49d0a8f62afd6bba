/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM with an epilogue on a device against host doubles. Elements of A, B
 * and C are such that y is exact in f32 whatever the order of its sum, so the
 * epilogue alone is judged. Around and between elements of C are guards;
 * between operands' elements is NaN, or a number of no operand. */
#ifndef XL_TESTS_EPILOGUE_CASE_H
#define XL_TESTS_EPILOGUE_CASE_H

#include "support/support.h"

enum {
    CASE_TURNED = 1, /* C is column-major */
    CASE_BATCH = 2,
    CASE_LISTS = 4,  /* a batch by offsets */
    CASE_BETA = 8,   /* -0.5, else 0 */
    CASE_WIDE = 16   /* of one larger size, for kernels that want alignment */
};

struct epilogue_case {
    const char *expr;
    /* "bias:f32[n] r:f16[m,n]T s:f32=0.75 old:C": sizes are m, n, z (products)
     * or 1; T: column-major, 3: columns three apart, else dense with a gap
     * between rows; C: the very same view as C. */
    const char *operands;
    xl_dtype in, out;
    double (*want)(double y, const double *x); /* x: operands' values */
    double ulps; /* of f32 that the device may be off, next to the largest of
                    result, y, operands and 1 */
    unsigned how;
};

/* Over sizes of each kind, on each variant that takes it. All but the
 * reference, whose kernels build at once, get every third case, `turn` counting
 * them, and one of its sizes, unless XL_TEST_FULL is set. XL_TEST_VARIANT names
 * one alone. Fails the test where a result is wrong; how many took it. */
unsigned epilogue_run(const struct test_device *t,
                      const struct epilogue_case *c, size_t turn);

#endif
