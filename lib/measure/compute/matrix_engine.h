/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe of matrix engines multiplies, and what must come of it. */
#ifndef XL_MEASURE_MATRIX_H
#define XL_MEASURE_MATRIX_H

#include "measure/probe.h"

/* The ways of probe/matrix_engine.cl: instructions of a sub-group, of four. */
enum xl__matrix_way { XL__MATRIX_SUBGROUP = 1, XL__MATRIX_FOUR_SUBGROUPS = 2 };

enum {
    XL__MATRIX_CHAINS_A = 4, /* as in probe/matrix_engine.cl */
    XL__MATRIX_CHAINS_B = 2,
    XL__MATRIX_CHECKED = 256 /* items whose numbers differ */
};

struct xl__matrix_type {
    xl_dtype in;
    uint32_t keep, set; /* bits of a random word: -D of probe/matrix_engine.cl */
    double tolerance;   /* of the sum of amounts: engines cut sums off, those
                           of 8-bit floats after 13 bits */
    double cut;         /* of the sum itself, that a turn may cut off in all */
};

extern const struct xl__matrix_type xl__matrix_types[];
enum { XL__N_MATRIX_TYPES = 5 };

/* What an item's number is after one step, and by how much it may be off. */
double xl__matrix_expected(enum xl__matrix_way way,
                           const struct xl__matrix_type *type, unsigned item,
                           double *off);

#endif
