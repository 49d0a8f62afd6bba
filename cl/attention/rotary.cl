/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the rotary embedding and the append to the cache as in
 *               crosslane/rotary.h. An item has VW pairs of columns of RH
 *               heads of one token; a group computes cos and sin once for each
 *               pair of its tokens. A head is one of q, behind them one of k,
 *               behind them one of v.
 *               Angles are turns in units of 2^-64, whose multiples of a turn
 *               vanish in the overflow of a 64-bit product.
 *               With norms a row of q or k is first divided by the root of
 *               the mean of its squares and multiplied by gains.
 * Arguments:    operands in this order, absent ones NULL; their views
 *               (attention/attention.clh); those of scales, gains and factors;
 *               sizes; rates; the lists of sequences.
 * Launch:       groups of WG items along the first dimension: WG / LANES rows
 *               of LANES items, HEADS of them for each of TOKENS tokens. A row
 *               has every HEADS-th head from its own on; n.blocks groups, which
 *               are neighbours, share the heads of the same tokens.
 * Local memory: cos and sin: 4 TOKENS R bytes; 4 RH WG bytes where rows have
 *               norms, and where they have scales.
 * -D:           those of attention/attention.clh; KT dtype of caches (5 and 8:
 *               codes); OT of q_out; PAIRS 0 halves, 1 interleaved, 2 none; R
 *               columns that are rotated; VW pairs of an item, divides D / 2
 *               and R / 2, VW2 = 2 VW; COLUMNS 1: contiguous, else VW is 1;
 *               VA 1: their rows are aligned to 2 VW elements;
 *               LANES = D / 2 / VW; RH; HEADS;
 *               TOKENS; WG; FACTORS 1: there are some; NORM
 *               1: q and k are normed; WIDE 1: tokens times heads may exceed
 *               2^31.
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
#ifndef VA
#define VA 0
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef RH
#define RH 1
#endif
#ifndef HEADS
#define HEADS 1
#define TOKENS 2
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
    ulong n_q, n_kv, blocks, tokens;
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

/* The columns of pair p, of a row whose columns are `col` apart. */
#if COLUMNS
#define STEP(col) 1
#else
#define STEP(col) (col)
#endif
#if VA
#define LOAD_ROW LOADVA
#define STORE_ROW STOREVA
#else
#define LOAD_ROW LOADV
#define STORE_ROW STOREV
#endif
#define IS_SPLIT (PAIRS == 0 && p < R / 2)
#define GET(T, from, col, x, y)                                               \
    do {                                                                      \
        if (IS_SPLIT) {                                                       \
            x = LOAD_ROW(VW, T, from, p *STEP(col));                          \
            y = LOAD_ROW(VW, T, from, (p + R / 2) * STEP(col));               \
        } else if (COLUMNS) {                                                 \
            const FLOATV(VW2) both = LOAD_ROW(VW2, T, from, 2 * p);           \
            x = both.even;                                                    \
            y = both.odd;                                                     \
        } else {                                                              \
            x = LOAD_ROW(VW, T, from, 2 * p * STEP(col));                     \
            y = LOAD_ROW(VW, T, from, (2 * p + 1) * STEP(col));               \
        }                                                                     \
    } while (0)
#define PUT(T, to, col, x, y)                                                 \
    do {                                                                      \
        if (IS_SPLIT) {                                                       \
            STORE_ROW(VW, T, to, p *STEP(col), x);                            \
            STORE_ROW(VW, T, to, (p + R / 2) * STEP(col), y);                 \
        } else if (COLUMNS) {                                                 \
            VALUEV(VW2, T) both;                                              \
            both.even = x;                                                    \
            both.odd = y;                                                     \
            STORE_ROW(VW2, T, to, 2 * p, both);                               \
        } else {                                                              \
            STORE_ROW(VW, T, to, 2 * p * STEP(col), x);                       \
            STORE_ROW(VW, T, to, (2 * p + 1) * STEP(col), y);                 \
        }                                                                     \
    } while (0)
#if VW == 1
#define SPREAD(v, out) (out)[0] = v
#define GATHER(in) (in)[0]
#define LOAD_OWN(in) (*(in))
#else
#define SPREAD(v, out) XL_CAT(vstore, VW)(v, 0, out)
#define GATHER(in) XL_CAT(vload, VW)(0, in)
#define LOAD_OWN(in) XL_CAT(vload, VW)(0, in)
#endif

#if VW == 8
#define SUM_SQUARES(v) (dot(v.lo, v.lo) + dot(v.hi, v.hi))
#else
#define SUM_SQUARES(v) dot(v, v)
#endif

/* What the items of the own row have in `mem`, of head r. */
#define OWN_ROW(mem, r) (mem + (r) * WG + lid - lane)

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
#if PAIRS < 2
    __local float cosines[TOKENS * R / 2], sines[TOKENS * R / 2];
#endif
#if NORM
    __local float squares[RH * WG];
#endif
#if K_SCALES || V_SCALES
    __local uint tops[RH * WG];
#endif
    FLOATV(VW) x[RH], y[RH];
    const uint lid = get_local_id(0), lane = lid % LANES, p = lane * VW;
    const uint place = lid / LANES / HEADS; /* of the token in the group */
    const number group = (number)xl_group_id(0);
    const number token = group / (number)n.blocks * TOKENS + place;
    const number at_token = min(token, (number)n.tokens - 1);
    const ulong i = at_token % (number)n.n_q, b = at_token / (number)n.n_q;
    const number first =
        group % (number)n.blocks * (RH * HEADS) + lid / LANES % HEADS;
    struct span new_rows = {0, n.n_q}, keys = {0, n.n_kv};
#if Q_ROWS
    new_rows = span_of(q_rows, lists.q, b, Q_ROWS, n.n_q);
#endif
#if KV_ROWS
    keys = span_of(kv_rows, lists.kv, b, KV_ROWS, n.n_kv);
#endif
    const long key = (long)i + (long)keys.n - (long)new_rows.n;
    const bool is_token = place < TOKENS && token < n.tokens &&
                          i < new_rows.n && key >= 0;
    const ulong from_row = new_rows.begin + i;
    const ulong to_row = keys.begin + (ulong)max(key, 0L);

#pragma unroll
    for (uint r = 0; r < RH; r++) {
        const ulong h = first + r * HEADS;
        const bool is_q = h < n.n_heads;
        const bool is_k = !is_q && h < n.n_heads + n.n_kv_heads;
        const ulong g = is_k ? h - n.n_heads : h - n.n_heads - n.n_kv_heads;
        const ulong from = is_q   ? ROW_AT(at.q, b, h, from_row)
                           : is_k ? ROW_AT(at.k, b, g, from_row)
                                  : ROW_AT(at.v, b, g, from_row);
        x[r] = 0.0f;
        y[r] = 0.0f;
        if (is_token && h < n.n_all)
            GET(DT, (is_q ? q : is_k ? k : v) + from,
                is_q   ? at.q.col
                : is_k ? at.k.col
                       : at.v.col,
                x[r], y[r]);
#if NORM
        squares[r * WG + lid] = SUM_SQUARES(x[r]) + SUM_SQUARES(y[r]);
#endif
    }
#if PAIRS < 2
    for (uint j = lid - place * (HEADS * LANES); place < TOKENS && j < R / 2;
         j += HEADS * LANES) {
        ulong rate = rate_of(rates, j);
#if FACTORS
        rate = divided(rate, factors[extra.factors + j * extra.factors_col]);
#endif
        /* From half a turn before 0 to half a turn behind. */
        const int turn = (int)(uint)(rate * (ulong)key >> 32);
        const float half_turns = (float)turn * 0x1p-31f;
        cosines[place * (R / 2) + j] = magnitude * cospi(half_turns);
        sines[place * (R / 2) + j] = magnitude * sinpi(half_turns);
    }
#endif
#if PAIRS < 2 || NORM
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

#if PAIRS < 2
    const uint angle = min(place, (uint)TOKENS - 1) * (R / 2) +
                       min(p, (uint)(R / 2 - VW));
    const FLOATV(VW) c = LOAD_OWN(cosines + angle);
    const FLOATV(VW) s = LOAD_OWN(sines + angle);
#endif
#pragma unroll
    for (uint r = 0; r < RH; r++) {
        const ulong h = first + r * HEADS;
        const bool is_q = h < n.n_heads;
#if PAIRS < 2 || NORM
        const bool is_turned = h < n.n_heads + n.n_kv_heads;
#endif
#if NORM
        if (is_turned) {
            float square = 0.0f;
            for (uint l = 0; l < LANES; l++)
                square += OWN_ROW(squares, r)[l];
            const float factor = rsqrt(square * (1.0f / D) + eps);
            FLOATV(VW) gain_x, gain_y;
            GET(0, (is_q ? q_norm + extra.q_norm.at : k_norm + extra.k_norm.at),
                is_q ? extra.q_norm.col : extra.k_norm.col, gain_x, gain_y);
            x[r] *= gain_x * factor;
            y[r] *= gain_y * factor;
        }
#endif
#if PAIRS < 2
        if (is_turned && p < R / 2) {
            const FLOATV(VW) turned = x[r] * c - y[r] * s;
            y[r] = x[r] * s + y[r] * c;
            x[r] = turned;
        }
#endif
        if (is_token && is_q)
            PUT(OT, q_out + ROW_AT(at.q_out, b, h, from_row), at.q_out.col,
                x[r], y[r]);
#if K_SCALES || V_SCALES
        /* Bits of magnitudes are in the order of these, NaN the last. */
        float one_x[VW], one_y[VW];
        uint top = 0;
        SPREAD(x[r], one_x);
        SPREAD(y[r], one_y);
#pragma unroll
        for (uint j = 0; j < VW; j++)
            top = max(top, max(as_uint(fabs(one_x[j])),
                               as_uint(fabs(one_y[j]))));
        tops[r * WG + lid] = top;
#endif
    }
#if K_SCALES || V_SCALES
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    if (!is_token)
        return;
    const ulong key_at = KEY_AT(at.k_cache, b, to_row);
    const ulong value_at = KEY_AT(at.v_cache, b, to_row);
#pragma unroll
    for (uint r = 0; r < RH; r++) {
        const ulong h = first + r * HEADS;
        const bool is_k = h < n.n_heads + n.n_kv_heads;
        const ulong g = is_k ? h - n.n_heads : h - n.n_heads - n.n_kv_heads;
        if (h < n.n_heads || h >= n.n_all)
            continue;
#if NARROW
        int code_x[VW], code_y[VW];
        float inverse = 1.0f, one_x[VW], one_y[VW];
        SPREAD(x[r], one_x);
        SPREAD(y[r], one_y);
#if K_SCALES || V_SCALES
        if (is_k ? K_SCALES : V_SCALES) {
            uint top = 0;
            for (uint l = 0; l < LANES; l++)
                top = max(top, OWN_ROW(tops, r)[l]);
            const float most = as_float(top);
            const bool is_zero = most < 0x1p-100f;
            inverse = is_zero || !isfinite(most) ? 0.0f : LARGEST / most;
            const float scale = is_zero ? 0.0f : most * (1.0f / LARGEST);
            if (lane == 0 && is_k)
                k_scales[KEYS_AT(extra.k_scales, b, g) +
                         KEY_AT(extra.k_scales, b, to_row)] = scale;
            else if (lane == 0)
                v_scales[KEYS_AT(extra.v_scales, b, g) +
                         KEY_AT(extra.v_scales, b, to_row)] = scale;
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
#define CODES_X x[r]
#define CODES_Y y[r]
#endif
        PUT(CT,
            (is_k ? k_cache + KEYS_AT(at.k_cache, b, g) + key_at
                  : v_cache + KEYS_AT(at.v_cache, b, g) + value_at),
            is_k ? at.k_cache.col : at.v_cache.col, CODES_X, CODES_Y);
    }
}
