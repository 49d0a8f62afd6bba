/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix instructions of a sub-group: the shapes of cl/common/matrix.clh
 * on the host, and the options that select them. */
#ifndef XL_OPS_MMA_H
#define XL_OPS_MMA_H

#include "device/facts.h"
#include "runtime/plan.h"

/* Of every type: an instruction's depth is in bytes. */
enum { XL__MMA_LANES = 32, XL__MMA_M = 16, XL__MMA_N = 8, XL__MMA_DEEP = 32 };

/* NULL, or the reason why they do not multiply this type here. */
const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in);
/* Their rate, flop/s. */
double xl__mma_rate(const struct xl__limits *l, xl_dtype in);
/* Append -DXL_MMA_<FACT>, and -DXL_COPY_<FACT> of common/async_copy.clh. */
void xl__mma_define(struct xl__step *s, const struct xl__limits *l);

#endif
