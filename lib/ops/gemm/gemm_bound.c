/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's error bound, ((1 + o)^2 (1 + k u) - 1) |A| |B|: o is lost of each
 * operand, u of each term of a sum.
 *
 * Sums rounded to nearest have their type's u, in any order. Source:
 * Jeannerod, Rump 2013, "Improved error bounds for inner products in
 * floating-point arithmetic".
 *
 * A matrix engine takes r products and the sum so far at a step: all but the
 * largest are cut F bits below its leading one, then their sum is cut to its
 * type (GE-28). Of |A| |B|, which none of them exceeds, a step with sums of
 * f32 loses r 2^-F + 2^-23 at most. F is 24 or more, and steps of 4 products
 * or more are no more than k / 2: together k 2^-24 + k / 2 2^-23 = k 2^-23;
 * one product alone is exact. Of 8-bit floats F is 13 and the sum is cut to 13
 * bits: r 2^-13 + 2^-13 a step, together no more than k 2^-12; of no more than
 * 128 of k where sums leave the engine that often. What is cut never grows, so
 * nothing is compounded. */
#include "ops/gemm/gemm.h"

/* f32 in parts (gemm_split.h): parts and what is left out of their product
 * miss less than 2^-20 of it. Sums stay in the engine for 64 of k: 4 steps of
 * 16 for each of six products, each of which loses 21 2^-25 (16 terms and the
 * sum cut at 25 bits, the sum once more at 24: GE-28), so 2^-22 a term covers
 * them. Then they are added as in f32, which may do it all. What is missing of
 * elements far below the largest of their line is not counted: it is far less
 * where elements are drawn alike. */
enum { STAY = 64, STAY_F8 = 128 };

static const struct lost {
    double operand, term, block; /* block: of each of the first `stay` terms */
    size_t stay;
} lost[XL_N_DTYPES][XL_N_ACCURACIES] = {
    [XL_F32] = {{0, 0x1p-24, 0},
                {0x1p-21, 0x1p-24, 0x1p-22, STAY},
                {0x1p-10, 0x1p-23, 0}},
    [XL_F64] = {{0, 0x1p-53, 0}},
    [XL_F16] = {{0, 0x1p-23, 0}},
    [XL_BF16] = {{0, 0x1p-23, 0}},
    [XL_F8E4M3] = {{0, 0x1p-23, 0x1p-12, STAY_F8}, {0, 0, 0}, {0, 0x1p-12, 0}},
    [XL_F8E5M2] = {{0, 0x1p-23, 0x1p-12, STAY_F8}, {0, 0, 0}, {0, 0x1p-12, 0}},
};

double xl__gemm_bound(const void *canonical, double size)
{
    const xl_gemm *g = canonical;
    const struct lost *x = &lost[g->a.dtype][g->accuracy];
    const double products = x->operand * (2 + x->operand);
    const double sums = (double)g->k * x->term +
                        (double)(g->k < x->stay ? g->k : x->stay) * x->block;
    return (products + (1 + products) * sums) * size;
}
