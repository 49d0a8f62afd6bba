/* SPDX-License-Identifier: Apache-2.0 */
/* Input types of the matrix engine probe and the products that are expected of
 * it, for tests without a device. */
#ifndef XL_MEASURE_MATRIX_H
#define XL_MEASURE_MATRIX_H

#include "measure/probe.h"

/* Values of WAY in probe/matrix_engine.cl: instructions of one sub-group, or
 * of four together; those of common/amd, of common/intel, a driver's matrices.
 */
enum xl__matrix_way {
    XL__MATRIX_SUBGROUP = 1,
    XL__MATRIX_FOUR_SUBGROUPS,
    XL__MATRIX_LINES,
    XL__MATRIX_SYSTOLIC,
    XL__MATRIX_COOPERATIVE
};

enum {
    XL__MATRIX_CHAINS_A = 4, /* as in probe/matrix_engine.cl */
    XL__MATRIX_CHAINS_B = 2,
    XL__MATRIX_LINES_A = 2, /* of the others */
    XL__MATRIX_LINES_B = 2,
    XL__MATRIX_CHECKED = 256 /* items whose results differ */
};

struct xl__matrix_type {
    xl_dtype in;
    uint32_t keep, set; /* bits of a random word: -D of
                           probe/matrix_engine.cl */
    double tolerance;   /* relative to the sum of |products|: engines
                           truncate sums, those of 8-bit floats after 13
                           bits */
    double cut;         /* relative to the sum: lost by truncation in one
                           iteration */
};

extern const struct xl__matrix_type xl__matrix_types[];
enum { XL__N_MATRIX_TYPES = 5 };

/* The expected value of an item after one step; *off: the tolerance. */
double xl__matrix_expected(const xl_matrix_op *op,
                           const struct xl__matrix_type *type, unsigned item,
                           double *off);

#endif
