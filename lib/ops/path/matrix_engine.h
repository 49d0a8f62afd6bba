/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-group's matrix instructions as variants see them: cl/common/matrix.clh's
 * shapes on the host, and the way to them. */
#ifndef XL_OPS_MMA_H
#define XL_OPS_MMA_H

#include "device/facts.h"
#include "runtime/plan.h"

/* Of every type: an instruction's depth is in bytes. */
enum { XL__MMA_LANES = 32, XL__MMA_M = 16, XL__MMA_N = 8, XL__MMA_DEEP = 32 };

/* NULL, or why products of this type cannot be had from them here. */
const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in);
/* Their rate, flop/s. */
double xl__mma_rate(const struct xl__limits *l, xl_dtype in);
/* Say the way: -DXL_MMA_<WAY>, and common/async_copy.clh's, -DXL_COPY_<WAY>. */
void xl__mma_define(struct xl__step *s, const struct xl__limits *l);

#endif
