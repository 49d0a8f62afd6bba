/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of quantisation and its inverse. */
#ifndef CLBENCH_QCONVERT_CASES_H
#define CLBENCH_QCONVERT_CASES_H

#include <crosslane/qconvert.h>

#include "cases/gemm_cases.h"

/* Its operands, in the order of a product's with quantised weights. */
enum {
    QCONVERT_X,
    QCONVERT_BLOCKS,
    QCONVERT_SCALES,
    QCONVERT_ZEROS,
    QCONVERT_OPERANDS
};
extern const char *const qconvert_names[QCONVERT_OPERANDS];

struct qconvert_case {
    /* n x k, as the weights of a product; x is of type `in`, pad and off are
     * of it; off, which is even, also in bytes of the parts. */
    struct qgemm_case of;
    bool is_dequantise;
};

extern const struct qconvert_case qconvert_cases[]; /* NULL name last */

/* Bytes of a part; 0: there is none. */
size_t qconvert_bytes(const struct qconvert_case *c, unsigned part);
bool qconvert_is_result(const struct qconvert_case *c, unsigned operand);
/* The call on these operands, x with rows of ld elements; `first`: bytes
 * before each. */
xl_qconvert qconvert_call(const struct qconvert_case *c,
                          const cl_mem mem[QCONVERT_OPERANDS],
                          const size_t first[QCONVERT_OPERANDS], size_t ld,
                          const char *variant);

#endif
