/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     CHAINS numbers per item, each STEPS * iterations times x = c
 *               + the dot product of x's four bytes with y's. x changes in
 *               each step and no step can be removed, since bits are cut off;
 *               y and c are mix() of their numbers.
 * Arguments:    out: one word per item, the exclusive-or of its chains.
 *               iterations: of the loop.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           FORM  0 xl_dot4() of common/dot.clh, by the -D it requires
 *                     1 char4 arithmetic
 *                     2 cl_khr_integer_dot_product, unsigned by unsigned
 *                     3 signed by unsigned
 *                     4 signed by signed, the sum saturated; every fourth
 *                       item's c is close enough to the limit
 * Needs:        FORM 2, 3, 4: OpenCL C 3.0 and cl_khr_integer_dot_product;
 *               FORM 0: what its -D needs.
 * Cost:         STEPS * iterations * CHAINS dot products of 8 operations per
 *               item.
 * Source:       cl/common/dot.clh. */
#ifndef FORM
#define FORM 0
#endif

#if FORM == 0
#include "common/dot.clh"
#define DOT(x, y, c) as_uint(xl_dot4(as_int(x), as_int(y), as_int(c)))
#elif FORM == 1
static inline uint plain(const uint x, const uint y, const uint c)
{
    const int4 all = convert_int4(as_char4(x)) * convert_int4(as_char4(y));
    const uint4 sums = as_uint4(all);
    return c + sums.x + sums.y + sums.z + sums.w;
}
#define DOT(x, y, c) plain(x, y, c)
#else
#if FORM == 2
#define DOT(x, y, c) ((c) + dot_4x8packed_uu_uint(x, y))
#elif FORM == 3
#define DOT(x, y, c) ((c) + as_uint(dot_4x8packed_su_int(x, y)))
#else
#define DOT(x, y, c) as_uint(dot_acc_sat_4x8packed_ss_int(x, y, as_int(c)))
#endif
#endif

#define CHAINS 8
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)

static inline uint mix(const uint i)
{
    uint x = i;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

#if FORM == 4
#define NEAR_END(c) (item % 4 ? (c) : (c) >> 17 | 0x7fff8000u)
#else
#define NEAR_END(c) (c)
#endif

#define START(k)                                                              \
    const uint c##k = NEAR_END(mix(2 * (item * CHAINS + k)));                 \
    const uint y##k = mix(2 * (item * CHAINS + k) + 1);                       \
    uint x##k = c##k;
#define STEP(k) x##k = DOT(x##k, y##k, c##k);
#define JOIN(k) all ^= x##k;

__kernel void dots(__global uint *restrict out, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    uint all = 0;
    EACH(START)
    for (uint i = 0; i < iterations; i++) {
        EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
    }
    EACH(JOIN)
    out[item] = all;
}
