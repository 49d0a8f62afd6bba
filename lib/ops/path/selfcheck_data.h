/* SPDX-License-Identifier: Apache-2.0 */
/* What the small cases of products share (GEMM, convolution): elements on the
 * host as doubles, which hold every type's values exactly, the rounding of
 * types, and an epilogue's operands. */
#ifndef XL_OPS_SMALL_H
#define XL_OPS_SMALL_H

#include "base/rng.h"
#include "ops/path/op.h"
#include "runtime/epilogue.h"

double xl__small_load(const void *base, size_t i, xl_dtype dtype);
void xl__small_store(void *base, size_t i, xl_dtype dtype, double x);
/* Floats in [-1, 1), integers of all a byte's values, truths; of 8-bit floats
 * the multiples of 1/4 below 2, so that short sums of products fit into the
 * few bits that some engines keep. */
double xl__small_draw(struct xl__rng *rng, xl_dtype dtype);

/* Unit roundoff and half the least subnormal of a type; integers are exact. */
double xl__small_roundoff(xl_dtype dtype);
double xl__small_underflow(xl_dtype dtype);
/* Is a device's value one that it may give? Infinities agree with their like,
 * NaN with NaN, and anything with a bound that is infinite. */
bool xl__small_agrees(double got, double want, double error);

/* The epilogue of a case: the real one's text, with strides of the case's. */
struct xl__small_epilogue {
    struct xl__epilogue_text snippet;
    double scalar[XL_EPILOGUE_MAX_BINDINGS];
    unsigned mem; /* call slot of operand 0 */
};

/* Make the operands over a result of such sizes, in t->host[mem + k] and
 * t->call.value[value + k], and point *snippet to the case's. NULL *snippet:
 * nothing. XL_NO_MEMORY. */
xl_status xl__small_epilogue_init(struct xl__small_epilogue *ep,
                                  const struct xl__epilogue_text **snippet,
                                  const size_t size[XL__N_ALONG], unsigned mem,
                                  unsigned value, struct xl__trial *t);
/* The value stored for y, known to within y_error, at a place along batch,
 * rows and columns; *error: how far off a device may be. */
double xl__small_epilogue_want(const struct xl__small_epilogue *ep,
                               const struct xl__trial *t,
                               const size_t at[XL__N_ALONG], xl_dtype dtype,
                               double y, double y_error, double *error);

#endif
