/* SPDX-License-Identifier: Apache-2.0 */
/* All ops and their variants, for the vendor tables and the tuner. */
#ifndef XL_OPS_VARIANTS_H
#define XL_OPS_VARIANTS_H

#include "ops/attention/attention.h"
#include "ops/conv/conv.h"
#include "ops/gemm/gemm.h"
#include "ops/normalization/norm.h"
#include "ops/normalization/row_backward.h"
#include "ops/normalization/softmax.h"
#include "ops/quantised/qconvert.h"
#include "ops/quantised/qgemm.h"
#include "ops/rotary/rotary.h"

extern const struct xl__op *const xl__ops[XL__N_OPS]; /* by id */

#endif
