/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the rotary embedding and the append to the cache as in
 *               crosslane/rotary.h. An item has VW pairs of columns of RH
 *               heads of one token: cos and sin are computed once for these.
 *               A head is one of q, behind them one of k, behind them one of v.
 *               Angles are turns in units of 2^-64, whose multiples of a turn
 *               vanish in the overflow of a 64-bit product.
 *               With norms a row of q or k is first divided by the root of
 *               the mean of its squares and multiplied by gains.
 * Arguments:    operands in this order, absent ones NULL; their views
 *               (attention/attention.clh); those of scales, gains and factors;
 *               sizes; rates; the lists of sequences.
 * Launch:       groups of WG items along the first dimension, WG a multiple of
 *               LANES, n.rows rows of LANES items.
 * Local memory: 4 WG bytes where rows have scales or norms.
 * -D:           those of attention/attention.clh; KT dtype of caches (5 and 8:
 *               codes); OT of q_out; PAIRS 0 halves, 1 interleaved, 2 none; R
 *               columns that are rotated; VW pairs of an item, divides D / 2
 *               and R / 2, VW2 = 2 VW; COLUMNS 1: contiguous, else VW is 1;
 *               LANES = D / 2 / VW; RH; WG; FACTORS 1: there are some; NORM
 *               1: q and k are normed; WIDE 1: n.rows may exceed 2^31.
 * Needs:        nothing.
 * Cost:         6 flop a pair; all operands once.
 * Source:       Su et al. 2021, RoFormer. */
#ifndef PAIRS
#define PAIRS 0
#endif
#ifndef OT
#define OT 0
#endif
#ifndef R
#define R 64
#endif
#ifndef VW
#define VW 1
#define VW2 2
#endif
#ifndef COLUMNS
#define COLUMNS 1
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef RH
#define RH 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef FACTORS
#define FACTORS 0
#endif
#ifndef NORM
#define NORM 0
#endif
#ifndef WIDE
#define WIDE 0
#endif

#include "attention/attention.clh"
#include "common/subgroup.clh"

#define I8 5
#define E4M3 8
#define NARROW (KT == I8 || KT == E4M3)
#define POWERS 7

/* The number of a row; divisions of 64 bits take several times as long. */
#if WIDE
typedef ulong number;
#else
typedef uint number;
#endif

struct rotary_views {
    struct view q, k, v, q_out, k_cache, v_cache;
};
struct rotary_extras {
    struct view k_scales, v_scales, q_norm, k_norm;
    ulong factors, factors_col;
};
struct rotary_sizes {
    ulong n_heads, n_kv_heads, n_all; /* heads: of q, of k, of q, k and v */
    ulong n_q, n_kv, blocks, rows; /* blocks of RH heads; of all tokens */
};
struct rates {
    ulong first, power[POWERS];
};

/* Turns of pair j from position to position: the highest bits first, so that
 * neighbours share their products. */
static inline ulong rate_of(const struct rates rates, const uint j)
{
    ulong rate = rates.first;
    for (uint i = 0; i < POWERS; i++) {
        const uint bit = POWERS - 1 - i;
        rate = j >> bit & 1 ? mul_hi(rate, rates.power[bit]) : rate;
    }
    return rate;
}

/* rate / factor, whose significand is an integer of 24 bits. The first
 * quotient leaves 23 bits to a second one. */
#define SIGNIFICAND 23
#define BIAS 127
static inline ulong divided(const ulong rate, const float factor)
{
    const uint bits = as_uint(factor);
    const ulong m = (bits & 0x7fffff) | 0x800000;
    const int e = (int)(bits >> SIGNIFICAND) - BIAS;
    const ulong q = rate / m;
    const ulong x = (q << SIGNIFICAND) + ((rate - q * m) << SIGNIFICAND) / m;
    return e >= 0 ? x >> min(e, 63) : x << min(-e, 63);
}

#if NARROW
/* The code of x, which is not NaN. */
static inline int code_of(const float x)
{
#if KT == I8
    return convert_int_rte(clamp(x, -127.0f, 127.0f));
#else
    const float most = 448.0f, least = 0x1p-6f, steps = 512.0f;
    const float a = fmin(fabs(x), most);
    const uint bits = as_uint(a), even = bits >> 20 & 1;
    const int normal = (int)((bits + 0x7ffff + even) >> 20) - (120 << 3);
    const int code = a < least ? convert_int_rte(a * steps) : normal;
    return code | (x < 0.0f ? 0x80 : 0);
#endif
}
#define LARGEST (KT == I8 ? 127.0f : 448.0f)
#define CT I8 /* stored as bytes */
#define CACHE char
#else
#define CT KT
#define CACHE ELEM(KT)
#endif

/* The columns of pair p, of a row from `at` on. */
#if COLUMNS
#define STEP(view) 1
#else
#define STEP(view) (view).col
#endif
#define IS_SPLIT (PAIRS == 0 && p < R / 2)
#define GET(T, from, view)                                                    \
    do {                                                                      \
        if (IS_SPLIT) {                                                       \
            x = LOADV(VW, T, from, p *STEP(view));                            \
            y = LOADV(VW, T, from, (p + R / 2) * STEP(view));                 \
        } else if (COLUMNS) {                                                 \
            const FLOATV(VW2) both = LOADV(VW2, T, from, 2 * p);              \
            x = both.even;                                                    \
            y = both.odd;                                                     \
        } else {                                                              \
            x = LOADV(VW, T, from, 2 * p * STEP(view));                       \
            y = LOADV(VW, T, from, (2 * p + 1) * STEP(view));                 \
        }                                                                     \
    } while (0)
#define PUT(T, to, view, x, y)                                                \
    do {                                                                      \
        if (IS_SPLIT) {                                                       \
            STOREV(VW, T, to, p *STEP(view), x);                              \
            STOREV(VW, T, to, (p + R / 2) * STEP(view), y);                   \
        } else if (COLUMNS) {                                                 \
            VALUEV(VW2, T) both;                                              \
            both.even = x;                                                    \
            both.odd = y;                                                     \
            STOREV(VW2, T, to, 2 * p, both);                                  \
        } else {                                                              \
            STOREV(VW, T, to, 2 * p * STEP(view), x);                         \
            STOREV(VW, T, to, (2 * p + 1) * STEP(view), y);                   \
        }                                                                     \
    } while (0)
#if VW == 1
#define SPREAD(v, out) (out)[0] = v
#define GATHER(in) (in)[0]
#else
#define SPREAD(v, out) XL_CAT(vstore, VW)(v, 0, out)
#define GATHER(in) XL_CAT(vload, VW)(0, in)
#endif

__kernel XL_OF_WIDTH void rotary_rows(
    __global const ELEM(DT) *q, __global const ELEM(DT) *k,
    __global const ELEM(DT) *v, __global ELEM(OT) *q_out,
    __global CACHE *k_cache, __global CACHE *v_cache,
    __global float *k_scales, __global float *v_scales,
    __global const int *q_rows, __global const int *kv_rows,
    __global const int *pages, __global const float *factors,
    __global const float *q_norm, __global const float *k_norm,
    const struct rotary_views at, const struct rotary_extras extra,
    const struct rotary_sizes n, const struct rates rates,
    const struct lists lists, const float magnitude, const float eps)
{
#if NORM
    __local float squares[WG];
#endif
#if K_SCALES || V_SCALES
    __local uint tops[WG];
    uint top;
#endif
#if NARROW
    int code_x[VW], code_y[VW];
#endif
    float one_x[VW], one_y[VW];
    FLOATV(VW) x, y, c, s;
    const uint lid = get_local_id(0), lane = lid % LANES;
    const number row = (number)xl_group_id(0) * (WG / LANES) + lid / LANES;
    const number at_row = min(row, (number)n.rows - 1);
    const number token = at_row / (number)n.blocks;
    const ulong i = token % (number)n.n_q, b = token / (number)n.n_q;
    const uint p = lane * VW;
    struct span new_rows = {0, n.n_q}, keys = {0, n.n_kv};
#if Q_ROWS
    new_rows = span_of(q_rows, lists.q, b, Q_ROWS, n.n_q);
#endif
#if KV_ROWS
    keys = span_of(kv_rows, lists.kv, b, KV_ROWS, n.n_kv);
#endif
    const long key = (long)i + (long)keys.n - (long)new_rows.n;
    const bool is_token = row < n.rows && i < new_rows.n && key >= 0;
    const ulong from_row = new_rows.begin + i;
    const ulong to_row = keys.begin + (ulong)max(key, 0L);

#pragma unroll
    for (uint j = 0; j < VW; j++) {
        one_x[j] = 1.0f;
        one_y[j] = 0.0f;
#if PAIRS < 2
        if (p < R / 2) {
            ulong rate = rate_of(rates, p + j);
#if FACTORS
            rate = divided(
                rate, factors[extra.factors + (p + j) * extra.factors_col]);
#endif
            /* From half a turn before 0 to half a turn behind. */
            const int turn = (int)(uint)(rate * (ulong)key >> 32);
            const float half_turns = (float)turn * 0x1p-31f;
            one_x[j] = magnitude * cospi(half_turns);
            one_y[j] = magnitude * sinpi(half_turns);
        }
#endif
    }
    c = GATHER(one_x);
    s = GATHER(one_y);

    for (uint r = 0; r < RH; r++) {
        const ulong h = at_row % (number)n.blocks * RH + r;
        const bool is_here = is_token && h < n.n_all;
        const bool is_q = h < n.n_heads;
        const bool is_k = !is_q && h < n.n_heads + n.n_kv_heads;
        const ulong g = is_k ? h - n.n_heads : h - n.n_heads - n.n_kv_heads;
        x = 0.0f;
        y = 0.0f;
        if (is_here) {
            if (is_q)
                GET(DT, q + ROW_AT(at.q, b, h, from_row), at.q);
            else if (is_k)
                GET(DT, k + ROW_AT(at.k, b, g, from_row), at.k);
            else
                GET(DT, v + ROW_AT(at.v, b, g, from_row), at.v);
        }
#if NORM
        squares[lid] = dot(x, x) + dot(y, y);
        barrier(CLK_LOCAL_MEM_FENCE);
        float square = 0.0f;
        for (uint l = 0; l < LANES; l++)
            square += squares[lid - lane + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_q || is_k) {
            const float factor = rsqrt(square * (1.0f / D) + eps);
            const FLOATV(VW) row_x = x * factor, row_y = y * factor;
            if (is_q)
                GET(0, q_norm + extra.q_norm.at, extra.q_norm);
            else
                GET(0, k_norm + extra.k_norm.at, extra.k_norm);
            x *= row_x;
            y *= row_y;
        }
#endif
        if (PAIRS < 2 && p < R / 2 && (is_q || is_k)) {
            const FLOATV(VW) turned = x * c - y * s;
            y = x * s + y * c;
            x = turned;
        }
        if (is_here && is_q)
            PUT(OT, q_out + ROW_AT(at.q_out, b, h, from_row), at.q_out, x, y);
#if NARROW
        float inverse = 1.0f;
        SPREAD(x, one_x);
        SPREAD(y, one_y);
#if K_SCALES || V_SCALES
        /* Bits of magnitudes are in the order of these, NaN the last. */
        top = 0;
#pragma unroll
        for (uint j = 0; j < VW; j++)
            top = max(top, max(as_uint(fabs(one_x[j])),
                               as_uint(fabs(one_y[j]))));
        tops[lid] = top;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint l = 0; l < LANES; l++)
            top = max(top, tops[lid - lane + l]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_k ? K_SCALES : V_SCALES) {
            const float most = as_float(top);
            const bool is_zero = most < 0x1p-100f;
            inverse = is_zero || !isfinite(most) ? 0.0f : LARGEST / most;
            if (is_here && !is_q && lane == 0) {
                const float scale = is_zero ? 0.0f : most * (1.0f / LARGEST);
                if (is_k)
                    k_scales[KEYS_AT(extra.k_scales, b, g) +
                             KEY_AT(extra.k_scales, b, to_row)] = scale;
                else
                    v_scales[KEYS_AT(extra.v_scales, b, g) +
                             KEY_AT(extra.v_scales, b, to_row)] = scale;
            }
        }
#endif
#pragma unroll
        for (uint j = 0; j < VW; j++) {
            code_x[j] = code_of(one_x[j] * inverse);
            code_y[j] = code_of(one_y[j] * inverse);
        }
#define CODES_X GATHER(code_x)
#define CODES_Y GATHER(code_y)
#else
#define CODES_X x
#define CODES_Y y
#endif
        if (is_here && is_k)
            PUT(CT,
                k_cache + KEYS_AT(at.k_cache, b, g) +
                    KEY_AT(at.k_cache, b, to_row),
                at.k_cache, CODES_X, CODES_Y);
        if (is_here && !is_q && !is_k)
            PUT(CT,
                v_cache + KEYS_AT(at.v_cache, b, g) +
                    KEY_AT(at.v_cache, b, to_row),
                at.v_cache, CODES_X, CODES_Y);
    }
}
