/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix instructions of a sub-group that cl/common/matrix.clh has code
 * for, and the options that select it; systolic ones: common/intel/dpas.clh.
 */
#ifndef XL_OPS_MMA_H
#define XL_OPS_MMA_H

#include "device/facts.h"
#include "runtime/plan.h"

/* What cl/common/matrix.clh makes of an instruction. */
struct xl__mma_step {
    size_t k;            /* elements along k of mma() */
    size_t side_by_side; /* fragments of B that are loaded together */
    size_t pad;          /* MMA_C_PAD */
    size_t b_words;      /* MMA_B_WORDS */
    size_t stack;        /* MMA_STACK; 0: it has no columns */
};

/* The instruction that multiplies this type; NULL: none. */
const xl_matrix_op *xl__mma_op(const struct xl__limits *l, xl_dtype in);
/* NULL, or the reason why there is none. */
const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in);
/* NULL, or the reason why there is none whose sums kernels have as numbers. */
const char *xl__mma_sums_refused(const struct xl__limits *l, xl_dtype in);
/* NULL, or the reason why there is none whose rows matrix.clh reduces and
 * whose sums it makes an operand. */
const char *xl__mma_rows_refused(const struct xl__limits *l, xl_dtype in);
struct xl__mma_step xl__mma_step(const xl_matrix_op *op);
/* Its rate, flop/s; that of FMA where it is not known. */
double xl__mma_rate(const struct xl__limits *l, const xl_matrix_op *op);
/* Append -DXL_MMA_<CODE>, -DMMA_FRAGMENTS_<NAME>, the shape where fragments
 * have any, and -DXL_COPY_<FACT> of common/async_copy.clh. */
void xl__mma_define(struct xl__step *s, const struct xl__limits *l,
                    const xl_matrix_op *op);

/* The systolic instruction that multiplies this type; NULL: none. */
const xl_matrix_op *xl__dpas_op(const struct xl__limits *l, xl_dtype in);
/* Append -DXL_DPAS_<CODE> and -DDPAS_LANES. */
void xl__dpas_define(struct xl__step *s, const xl_matrix_op *op);
extern const char xl__dpas_refused[]; /* the reason: there is none */

#endif
