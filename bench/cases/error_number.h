/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a running error bound: x is exact (in double), and the result
 * of f32 arithmetic within OpenCL's bounds is within e of it. Each operation
 * propagates the errors of its arguments and adds its own rounding, so a
 * reference is written as its formula and gets its tolerance from it.
 * Sources: Higham 2002, section 3.3 (running error analysis); OpenCL C 3.0,
 * section 7.4 (errors in ulp; 1 ulp is at most 2 u, u = 2^-24). */
#ifndef CLBENCH_REF_NUM_H
#define CLBENCH_REF_NUM_H

#include <stdbool.h>
#include <stddef.h>

struct num {
    double x, e;
};

struct num n_exact(double x);  /* as it is stored */
struct num n_lit(double x);    /* a constant, rounded to f32: e = u |x| */

struct num n_neg(struct num a);
struct num n_abs(struct num a);
/* e = e_a + e_b + u |x| (1 + ...) */
struct num n_add(struct num a, struct num b);
struct num n_sub(struct num a, struct num b);
/* e = |a| e_b + |b| e_a + e_a e_b + u |x| */
struct num n_mul(struct num a, struct num b);
struct num n_sq(struct num a);
/* e = (e_a + |x| e_b) / (|b| - e_b) + 2.5 ulp */
struct num n_div(struct num a, struct num b);
/* No rounding: e is the larger one. */
struct num n_min(struct num a, struct num b);
struct num n_max(struct num a, struct num b);
struct num n_clamp(struct num a, double lo, double hi);

/* e = max |f(x +- e) - f(x)| + the function's ulp of 7.4. */
struct num n_sqrt(struct num a);
struct num n_rsqrt(struct num a);
struct num n_exp(struct num a);
struct num n_log(struct num a);
struct num n_log1p(struct num a);
struct num n_sin(struct num a);
struct num n_cos(struct num a);
struct num n_tanh(struct num a);
struct num n_erf(struct num a);
struct num n_pow(struct num a, struct num b);
/* 1 / (1 + exp(-x)), log(1 + exp(x)) */
struct num n_sigmoid(struct num a);
struct num n_silu(struct num a);
struct num n_softplus(struct num a);
struct num n_gelu(struct num a);      /* x / 2 (1 + erf(x / sqrt 2)) */
struct num n_gelu_tanh(struct num a);

/* Round to an integer, halves to even; e is 1 where the device may round to
 * the other neighbour. */
struct num n_round(struct num a);

/* Sums with the bound of expr.h: 8 u sum |x| in any order, and the errors of
 * the terms. */
struct sum {
    double x, abs, e;
    size_t n;
};
void sum_add(struct sum *s, struct num a);
struct num sum_total(const struct sum *s);
struct num sum_mean(const struct sum *s);

#endif
