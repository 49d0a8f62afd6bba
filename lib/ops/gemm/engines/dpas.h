/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_dpas's tile sets. */
#ifndef XL_OPS_GEMM_DPAS_H
#define XL_OPS_GEMM_DPAS_H

#include "ops/gemm/gemm.h"

enum { XL__DPAS_RM = XL__GEMM_TK + 1, XL__DPAS_RN, XL__DPAS_GRF, XL__DPAS_GR };
enum { XL__DPAS_SOME_REGISTERS = 1, XL__DPAS_ALL_REGISTERS }; /* GRF */

/* rm, rn: instructions below each other and side by side in a sub-group. */
struct xl__dpas_set {
    size_t tm, tn, tk, rm, rn, registers, band;
};

struct xl__dpas_set xl__dpas_set_of(const struct xl__params *params);
/* The i-th set that the model considers; all 0 past the last. */
struct xl__params xl__dpas_listed(size_t i, const xl_matrix_op *op);

#endif
