/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by self-check cases: elements on the host
 * as doubles, which represent the values of every type exactly; the rounding
 * of types; the operands of an epilogue. */
#ifndef XL_OPS_SELFCHECK_DATA_H
#define XL_OPS_SELFCHECK_DATA_H

#include "base/rng.h"
#include "ops/path/selfcheck.h"
#include "runtime/epilogue.h"

/* Of how many elements of a result one is compared, so that the comparison of
 * a case of so many flop takes at most XL__CASE_TERMS multiply-adds. */
size_t xl__case_sample_step(double flop);

/* A random element: a float in [-1, 1), any value of a byte, a bool; of 8-bit
 * floats a multiple of 1/4 below 2, so that short sums of products are exact
 * in the few bits that some engines keep. */
double xl__case_draw(struct xl__rng *rng, xl_dtype dtype);

/* The alpha of a product's case, by the type of its operands and that of y.
 * Sums of products of bytes stay within the range of an f16. */
double xl__case_alpha(xl_dtype in, xl_dtype y);

/* Whether |got - expected| <= error. Equal infinities agree, NaN agrees with
 * NaN, an infinity with what may be rounded to it in a result of this type,
 * and any value agrees where the error is infinite. */
bool xl__case_agrees(double got, double want, double error, xl_dtype dtype);

/* The epilogue of a case: the text of the real one; strides in place of their
 * classes. */
struct xl__case_epilogue {
    struct xl__epilogue_text snippet;
    /* An op sets those of a scalar that its kernel computes. */
    double scalar[XL__EPILOGUE_OPERANDS], scalar_error[XL__EPILOGUE_OPERANDS];
    unsigned mem; /* call slot of operand 0 */
};

/* Makes the operands for a result of these sizes in t->before[mem + k] and
 * t->call.value from value on, and sets *snippet to the case's. Does nothing
 * where *snippet is NULL. XL_NO_MEMORY. */
xl_status xl__case_epilogue_init(struct xl__case_epilogue *ep,
                                 const struct xl__epilogue_text **snippet,
                                 const size_t size[XL__N_ALONG], unsigned mem,
                                 unsigned value, struct xl__selfcheck_case *t);
/* The value stored for y, which has the error bound y_error, at an index along
 * batch, rows and columns; *error bounds the error of a device. */
double xl__case_epilogue_expected(const struct xl__case_epilogue *ep,
                                  const struct xl__selfcheck_case *t,
                                  const size_t at[XL__N_ALONG], xl_dtype dtype,
                                  double y, double y_error, double *error);

#endif
