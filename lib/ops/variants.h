/* SPDX-License-Identifier: Apache-2.0 */
/* All variants of all ops, for the vendor tables' lists. */
#ifndef XL_OPS_VARIANTS_H
#define XL_OPS_VARIANTS_H

#include "ops/path/op.h"

extern const struct xl__variant xl__gemm_ref, xl__gemm_tiled, xl__gemm_clblast,
    xl__gemm_wgmma, xl__gemm_cpu, xl__gemm_mma, xl__gemm_simt, xl__gemm_skinny,
    xl__gemm_split_f16, xl__gemm_split_bf16, xl__gemm_split_mma_f16,
    xl__gemm_split_mma_bf16;
extern const struct xl__variant xl__softmax_ref, xl__softmax_online;
extern const struct xl__variant xl__conv_ref, xl__conv_tiled,
    xl__conv_cpu;

/* Call slots of softmax's plans. */
enum { XL__SOFTMAX_SRC = 1, XL__SOFTMAX_DST, XL__SOFTMAX_MASK };
enum { XL__SOFTMAX_SCALE, XL__SOFTMAX_OFF_SRC, XL__SOFTMAX_OFF_DST,
       XL__SOFTMAX_OFF_MASK };

#endif
