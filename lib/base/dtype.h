/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of every type on the host, as doubles. A double holds each value of
 * each type exactly, of i64 up to 2^53, so host references and self-checks
 * compute in double and convert at the ends. The table of sizes and names is
 * public: crosslane/dtype.h. */
#ifndef XL_BASE_DTYPE_H
#define XL_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/dtype.h>

/* Up to 2^53 a double represents every whole number. */
#define XL__EXACT_INTEGERS 9007199254740992.0

/* Element i of an array of `dtype` at `base`, which need not be aligned. An
 * XL_BOOL is returned as its byte, so that a kernel that writes 2 for true can
 * be detected. NaN for a value that is not a dtype. */
double xl__dtype_load(const void *base, size_t i, xl_dtype dtype);
/* Writes xl__dtype_round(x, dtype) as element i. */
void xl__dtype_store(void *base, size_t i, xl_dtype dtype, double x);
/* The value of `dtype` that a conversion of x gives: to floats to the nearest,
 * ties to even, by way of f32 where the type is narrower (8-bit floats
 * saturate); to integers toward zero, saturated, NaN as 0; to XL_BOOL 0 or
 * 1. */
double xl__dtype_round(double x, xl_dtype dtype);
/* As xl__dtype_round(x, XL_I64), also above 2^53. */
int64_t xl__to_i64(double x);
/* A scalar in its type f32, f64, i32 or i64, of which the last two are whole.
 */
static inline double xl__scalar_round(double x, xl_dtype dtype)
{
    return dtype == XL_F32 ? (double)(float)x : x;
}
/* Whether a scalar of type f32, f64, i32 or i64 can have this value: i32 a
 * whole number in range, i64 one that a double has exactly; f32 what does not
 * overflow when rounded. Infinities and NaN are values of the floats. */
bool xl__scalar_fits(double x, xl_dtype dtype);

/* Unit roundoff u: rounding x to the type gives x (1 + d), |d| <= u, for
 * results in the normal range. 2^-p for p significant bits; 0 for integers,
 * which are exact. */
double xl__dtype_unit_roundoff(xl_dtype dtype);
/* Absolute error near zero, which u does not cover. Half of the smallest
 * subnormal for 16-bit and 8-bit floats; the smallest normal number of f32,
 * bf16 and f64, whose subnormals a device may flush to zero; 0 for integers.
 */
double xl__dtype_underflow(xl_dtype dtype);

#endif
