/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h for few queries and many
 *               keys, which the work-groups divide.
 *
 *               attention_split: a group takes BQ rows that read one head of k
 *               and v, and one part of the keys that these see
 *
 *                             LX items
 *                 LY lines +-----------+   item (x, y): keys y, y + LY, ... of
 *                 of keys  |           |   a block, columns VW x of each W
 *                          +-----------+
 *
 *                 for each block of BK keys of the part:
 *                   products of q and k, of the columns of an item
 *                   scores  = sums of these, through local memory
 *                   weights = exp(scores - shift), a shift for each line
 *                   sums    = sums + weights v
 *                 sums of the lines, to memory: attention/join.cl
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a key once.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), contiguous columns;
 *               parts, n_parts: attention/join.cl.
 * Launch:       3-D, local (WG, 1, 1); groups: ceil(n_q share / BQ) times heads
 *               of k times n_batch, times n_parts.
 * Local memory: 4 (BQ DP + LY NS (LX + 2) + WG VW + 2 BQ LY) + 80 BQ bytes, DP =
 *               D rounded up to W = VW LX, NS = BQ RK; without LY NS (LX + 2)
 *               where LX is 1.
 * -D:           BQ; RK keys of an item, 4 or 8, BK = RK LY; WG, LX powers of
 *               two, LY = WG / LX; VW 4, 8, 16; VA 1: D is a multiple of VW, 2:
 *               rows of q, k, v are aligned to VW elements as well;
 *               attention/attention.clh.
 * Needs:        nothing.
 * Cost:         4 D flop for each key that a row sees; k and v are read once
 *               for each BQ rows.
 * Source:       Dao, Haziza, Massa, Sizov 2023, "Flash-Decoding for long-context
 *               inference". */
#include "attention/attention.clh"
#include "attention/parts.clh"
#include "common/exp.clh"
#include "common/subgroup.clh"
#if XL_HAS_FMA
#define MUL_ADD(x, y, sum) fma(x, y, sum)
#else
#define MUL_ADD(x, y, sum) mad(x, y, sum)
#endif

#ifndef BQ
#define BQ 4
#endif
#ifndef RK
#define RK 4
#endif
#ifndef WG
#define WG 64
#endif
#ifndef LX
#define LX 8
#endif
#ifndef VW
#define VW 8
#endif
#ifndef VA
#define VA 0
#endif

#define LY (WG / LX)
#define BK (RK * LY)
#define NS (BQ * RK)
#define W (VW * LX)
#define NC ((D + W - 1) / W)
#define DP (NC * W)
typedef FLOATV(VW) vec;
typedef FLOATV(RK) keys;
#define VLOAD XL_CAT(vload, VW)
#define VSTORE XL_CAT(vstore, VW)

/* An item is a thread with vector registers, or one of a line, whose sums of
 * products are chains. */
#if LX == 1
#define EXP(x) XL_CAT(xl_small_exp_, RK)(x)
typedef vec products;
#define ADD_PRODUCTS(a, b, sum) MUL_ADD(a, b, sum)
#define SUM_OF_PRODUCTS(x) XL_CAT(sum_, VW)(x)
#else
#define EXP(x) exp(x)
typedef float products;
#define ADD_PRODUCTS(a, b, sum) XL_CAT(dot_, VW)(a, b, sum)
#define SUM_OF_PRODUCTS(x) (x)
#endif

static inline float dot_4(const float4 a, const float4 b, const float sum)
{
    return mad(a.w, b.w, mad(a.z, b.z, mad(a.y, b.y, mad(a.x, b.x, sum))));
}
static inline float dot_8(const float8 a, const float8 b, const float sum)
{
    return dot_4(a.hi, b.hi, dot_4(a.lo, b.lo, sum));
}
static inline float dot_16(const float16 a, const float16 b, const float sum)
{
    return dot_8(a.hi, b.hi, dot_8(a.lo, b.lo, sum));
}

#define TO_VEC XL_CAT(convert_float, VW)

/* VW elements of a row from column c on; 0 past its end. */
#if VA == 2
#define LOAD_OF(T, name)                                                      \
    static inline vec name(__global const ELEM(T) *x, const uint c)           \
    {                                                                         \
        return DP == D || c < D ? TO_VEC(LOADVA(VW, T, x, c)) : (vec)(0.0f);  \
    }
#elif VA == 1
#define LOAD_OF(T, name)                                                      \
    static inline vec name(__global const ELEM(T) *x, const uint c)           \
    {                                                                         \
        return DP == D || c < D ? TO_VEC(LOADV(VW, T, x, c)) : (vec)(0.0f);   \
    }
#else
#define LOAD_OF(T, name)                                                      \
    static inline vec name(__global const ELEM(T) *x, const uint c)           \
    {                                                                         \
        float y[VW];                                                          \
        _Pragma("unroll") for (uint i = 0; i < VW; i++)                       \
            y[i] = c + i < D ? LOAD(T, x, c + i) : 0.0f;                      \
        return VLOAD(0, y);                                                   \
    }
#endif
LOAD_OF(DT, load)
LOAD_OF(KT, load_key)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void attention_split(ATTENTION_PARAMS, __global float *parts,
                     const ulong n_parts)
{
    __local float ql[BQ * DP] __attribute__((aligned(64)));
    __local struct row seen[BQ]; /* in registers they would be too many */
#if LX > 1
    __local float partial[LY * NS * (LX + 1)], scores[LY * NS];
#endif
    __local float lines[WG * VW] __attribute__((aligned(64)));
    __local float tops[BQ * LY], totals[BQ * LY];
    COPY_SIZES
    const uint item = get_local_id(0), lx = item % LX, ly = item / LX;
    const ulong n_kv_heads = n.n_heads / n.share;
    const ulong b = xl_group_id(1) / n_kv_heads, g = xl_group_id(1) % n_kv_heads;
    const ulong longest = n.n_q;
    SEQUENCE(b);
    const ulong rows = n.n_q * n.share, row0 = xl_group_id(0) * BQ;
    if ((Q_ROWS) && row0 >= rows)
        return; /* the whole group */
    vec sums[BQ][NC];
    float top[BQ], total[BQ];

    for (uint r = item; r < BQ; r += WG) {
        const ulong row = min(row0 + r, rows - 1);
        seen[r] = ROW(b, g * n.share + row % n.share, row / n.share);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BQ * NC * LX; i += WG) {
        const uint r = i / (NC * LX), c = i % (NC * LX) * VW;
        const ulong h = seen[r].z - b * n.n_heads;
        VSTORE(load(q + ROW_AT(at.q, b, h, seen[r].i), c), 0, ql + r * DP + c);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < BQ; r++) {
        top[r] = -INFINITY;
        total[r] = 0.0f;
#pragma unroll
        for (uint c = 0; c < NC; c++)
            sums[r][c] = (vec)(0.0f);
    }
    k += KEYS_AT(at.k, b, g);
    v += KEYS_AT(at.v, b, g);
    /* The part: whole blocks from the first key that a row sees on. */
    const ulong first = seen[0].first;
    const ulong last = max(first, seen[BQ - 1].last);
    const ulong each =
        ((last - first + BK - 1) / BK + n_parts - 1) / n_parts * BK;
    const ulong begin = min(first + xl_group_id(2) * each, last);
    const ulong end = min(begin + each, last);
    for (ulong j = begin + ly; j < end + ly; j += BK) {
        const uint n_keys = j < end ? (uint)min((ulong)BK, end - j) : 0;
        float x[BQ][RK];
        {
            products sum[BQ][RK];
#pragma unroll
            for (uint r = 0; r < BQ; r++) {
#pragma unroll
                for (uint i = 0; i < RK; i++)
                    sum[r][i] = (products)(0.0f);
            }
#pragma unroll
            for (uint c = 0; c < NC; c++) {
                vec key[RK];
#pragma unroll
                for (uint i = 0; i < RK; i++)
                    key[i] = i * LY < n_keys
                                 ? load_key(k + KEY_AT(at.k, b, j + i * LY),
                                            c * W + lx * VW)
                                 : (vec)(0.0f);
#pragma unroll
                for (uint r = 0; r < BQ; r++) {
                    const vec y = VLOAD(c * LX + lx, ql + r * DP);
#pragma unroll
                    for (uint i = 0; i < RK; i++)
                        sum[r][i] = ADD_PRODUCTS(y, key[i], sum[r][i]);
                }
            }
#pragma unroll
            for (uint r = 0; r < BQ; r++) {
#pragma unroll
                for (uint i = 0; i < RK; i++)
                    x[r][i] = SUM_OF_PRODUCTS(sum[r][i]);
            }
        }
/* Score s of a line; those of keys past the part are -inf. */
#define SCORE(s, x)                                                           \
    (s % RK * LY < n_keys                                                     \
         ? seen_score(seen[s / RK], K_SCALED(x, b, g, j + s % RK * LY),       \
                      j + s % RK * LY XL_PROLOGUE_ARGS)                       \
         : -INFINITY)
#if LX > 1
#pragma unroll
        for (uint s = 0; s < NS; s++)
            partial[(ly * NS + s) * (LX + 1) + lx] = x[s / RK][s % RK];
        barrier(CLK_LOCAL_MEM_FENCE); /* also: scores have been read */
        for (uint s = lx; s < NS; s += LX) {
            float sum = 0.0f;
#pragma unroll
            for (uint i = 0; i < LX; i++)
                sum += partial[(ly * NS + s) * (LX + 1) + i];
            scores[ly * NS + s] = SCORE(s, sum);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint s = 0; s < NS; s++)
            x[s / RK][s % RK] = scores[ly * NS + s];
#else
#pragma unroll
        for (uint s = 0; s < NS; s++)
            x[s / RK][s % RK] = SCORE(s, x[s / RK][s % RK]);
#endif
#pragma unroll
        for (uint r = 0; r < BQ; r++) {
            const keys y = XL_CAT(vload, RK)(0, x[r]);
            const float now = fmax(top[r], XL_CAT(max_, RK)(y));
            const float shift = shift_of(now);
            if (now > top[r]) {
                const float factor = exp(top[r] - shift);
                top[r] = now;
                total[r] *= factor;
#pragma unroll
                for (uint c = 0; c < NC; c++)
                    sums[r][c] *= factor;
            }
            const keys weights = EXP(y - shift);
            total[r] += XL_CAT(sum_, RK)(weights);
            XL_CAT(vstore, RK)(weights, 0, x[r]);
#if V_SCALES
#pragma unroll
            for (uint i = 0; i < RK; i++)
                x[r][i] =
                    i * LY < n_keys ? V_SCALED(x[r][i], b, g, j + i * LY) : 0;
#endif
        }
#pragma unroll
        for (uint c = 0; c < NC; c++) {
            vec value[RK];
#pragma unroll
            for (uint i = 0; i < RK; i++)
                value[i] = i * LY < n_keys
                               ? load_key(v + KEY_AT(at.v, b, j + i * LY),
                                          c * W + lx * VW)
                               : (vec)(0.0f);
#pragma unroll
            for (uint r = 0; r < BQ; r++) {
#pragma unroll
                for (uint i = 0; i < RK; i++)
                    sums[r][c] = MUL_ADD((vec)(x[r][i]), value[i], sums[r][c]);
            }
        }
    }

#pragma unroll
    for (uint r = 0; r < BQ; r++) {
        if (lx == 0) {
            tops[r * LY + ly] = top[r];
            totals[r * LY + ly] = total[r];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < BQ; r++) {
        float most = -INFINITY, sum = 0.0f;
        for (uint i = 0; i < LY; i++)
            most = fmax(most, tops[r * LY + i]);
        const float shift = shift_of(most);
        for (uint i = 0; i < LY; i++)
            sum += totals[r * LY + i] * exp(tops[r * LY + i] - shift);
        const float factor = exp(top[r] - shift);
        const ulong row = seen[r].z * longest + seen[r].i;
        __global float *to =
            parts + PART_AT(row, xl_group_id(2), n_parts);
        const bool is_row = row0 + r < rows;
        if (is_row && item == 0) {
            to[PART_TOP] = most;
            to[PART_WEIGHT] = sum;
        }
#pragma unroll
        for (uint c = 0; c < NC; c++) {
            VSTORE(sums[r][c] * factor, item, lines);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint col = item; col < W; col += WG) {
                float y = 0.0f;
                for (uint i = 0; i < LY; i++)
                    y += lines[i * W + col];
                if (is_row && c * W + col < D)
                    to[c * W + col] = y;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
