/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, A of few rows, on a sub-group's matrix instructions. A group
 *               has RM times MMA_M rows of W; its SK teams share the columns,
 *               SU units of 32 at a time:
 *
 *                          columns
 *                  +----+----+----+----+--
 *               RM |team|team|team|team|      a stage: STAGE_BYTES of each row
 *               MMA_M 0 | 1  | 0  | 1  |      of W, and the columns of A
 *                  +----+----+----+----+--
 *
 *               Each team has ST slots of local memory: while the weights of
 *               one are decoded, those of the next ST - 1 stages are copied.
 *               Weights become exact pairs of 16-bit floats (quantised/pairs.clh), the
 *               left operand; A's rows are the columns of the right one. The
 *               k of a matrix instruction is any column, the same for both:
 *               lane t of a row's four has columns 4 t to 4 t + 3 and 16 + 4 t
 *               to 19 + 4 t of a unit. Sums of a unit are multiplied by its
 *               scale in f32. At the end the teams' sums are added in order.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh). Rows of A at multiples
 *               of 16 bytes.
 * Launch:       2-D, local (32 SK, 1); groups: ceil(n / (MMA_M RM)),
 *               ceil(m / TM).
 * Local memory: LOCAL_BYTES.
 * -D:           TM 1 to 64, a power of two, rows of A; RM 1, 2; SK 1 to 16;
 *               ST 2, 3, 4; GROUP_UNITS: of int4 and int8, 1, 2, 4 or 8 units
 *               that have one scale; quantised/product.clh;
 *               XL_MMA_...: common/matrix.clh; XL_COPY_...:
 *               common/async_copy.clh
 * Needs:        a matrix engine with the fragments of mma.sync, or its
 *               emulation.
 * Cost:         2 m n k flop; W is read once for each TM rows of A, A once for
 *               each MMA_M RM rows of W.
 * Source:       NV-35; Frantar et al. 2024, "MARLIN". */
#ifndef TA
#define TA 1
#endif
#ifndef TM
#define TM 1
#endif
#ifndef RM
#define RM 1
#endif
#ifndef SK
#define SK 4
#endif
#ifndef ST
#define ST 2
#endif
#ifndef GROUP_UNITS
#define GROUP_UNITS 1
#endif
/* Columns of the right operand for a row of A. f32 is three floats of 8 bits,
 * whose sum is exact. */
#if TA == 0
#define MMA_T 2
#define TERMS 3
#else
#define MMA_T TA
#define TERMS 1
#endif

#include "common/matrix.clh"
#include "common/async_copy.clh"
#include "quantised/product.clh"
#include "quantised/pairs.clh"

#if FORMAT < 8
#undef GROUP_UNITS
#define GROUP_UNITS 1
#endif

#define ITEMS (MMA_LANES * SK)
#define ROWS (RM * MMA_M)
#define SU 8                 /* units of a stage */
#define COLS (SU * 32)
#define CHUNK 16             /* bytes of a copy */
#define STAGE_BYTES (SU / UNITS * BLOCK_BYTES)
/* A row begins at any of 16 bytes, or, of whole chunks, at any even one. */
#define CHUNKS ((STAGE_BYTES + 2 * CHUNK - 2) / CHUNK)
/* An odd number of chunks: 8 rows of a fragment are in different banks. */
#define LINE_W ((CHUNKS / 2 * 2 + 1) * CHUNK)
/* 8 rows, 8 bytes of each lane: likewise. */
#define LINE_A (COLS * ELEM_BYTES(TA) + 32)
#define SLOT (ROWS * LINE_W + TM * LINE_A)
#define NT ((TERMS * TM + MMA_N - 1) / MMA_N)
#define SUMS (SK * ROWS * NT * MMA_N * 4)
#define LOCAL_BYTES (SK * ST * SLOT > SUMS ? SK * ST * SLOT : SUMS)

/* What a team copies. */
struct source {
    __global const uchar *rows; /* the first of W */
    __global const ELEM(TA) *a;
    ulong rs_a;
    uint row_bytes, last_row, last_a, stages, k;
};

/* The byte in its chunk at which a row's stage begins. */
#define SHIFT(s, r, stage)                                                    \
    ((uint)((ulong)(s)->rows +                                                \
            (ulong)min(r, (s)->last_row) * (s)->row_bytes +                   \
            (ulong)(stage) * STAGE_BYTES) %                                   \
     CHUNK)

INLINED void copy_stage(const struct source *s, const uint lane,
                        const uint stage, __local uchar *slot)
{
    const bool is_there = stage < s->stages;
    #pragma unroll
    for (uint i = 0; i < 2 * RM; i++) {
        const uint r = lane / 4 + 8 * i, shift = SHIFT(s, r, stage);
        const uint done = stage * STAGE_BYTES;
        __global const uchar *from =
            s->rows + (ulong)min(r, s->last_row) * s->row_bytes + done - shift;
        const uint bytes =
            is_there ? min((uint)STAGE_BYTES, s->row_bytes - done) + shift : 0;
        #pragma unroll
        for (uint c = 0; c < CHUNKS; c += 4) {
            const uint at = (c + lane % 4) * CHUNK;
            if (c + 4 <= CHUNKS || c + lane % 4 < CHUNKS)
                XL_COPY_PART(16, slot + r * LINE_W + at, from + at,
                             min((uint)CHUNK, max(bytes, at) - at));
        }
    }
    #pragma unroll
    for (uint c = 0; c < COLS * ELEM_BYTES(TA); c += MMA_LANES * CHUNK) {
        const uint at = c + lane * CHUNK;
        const uint col = stage * COLS + at / ELEM_BYTES(TA);
        #pragma unroll
        for (uint i = 0; i < TM; i++)
            XL_COPY_PART(16, slot + ROWS * LINE_W + i * LINE_A + at,
                         s->a + min(i, s->last_a) * s->rs_a + col,
                         is_there && col < s->k ? CHUNK : 0);
    }
}

/* Four adjacent elements of A as two pairs of the instruction's type; of f32
 * what the terms before leave, cut to 8 bits. */
INLINED void load_pairs(__local const uchar *at, const uint term, uint w[2])
{
#if TA == 0
    const uint before = term > 0 ? 0xffff0000u : 0,
               second = term > 1 ? 0xffff0000u : 0;
    float4 x = *(__local const float4 *)at;
    x -= as_float4(as_uint4(x) & before);
    x -= as_float4(as_uint4(x) & second);
    const uint4 bits = as_uint4(x);
    w[0] = bits.x >> 16 | (bits.y & 0xffff0000u);
    w[1] = bits.z >> 16 | (bits.w & 0xffff0000u);
#else
    const uint2 x = *(__local const uint2 *)at;
    w[0] = x.x;
    w[1] = x.y;
    (void)term;
#endif
}

/* Scales of int4 and int8, in memory of their own. */
INLINED float own_scale(const struct weights *w, const uint i)
{
    return vload_half(i, w->scale);
}
INLINED uint own_zero(const struct weights *w, const uint i)
{
#if ZEROS
    return w->zero[i / 2] >> 4 * (i % 2) & 15;
#else
    return 8;
#endif
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
qgemm_mma(PRODUCT_PARAMS)
{
    __local uint4 room[LOCAL_BYTES / 16];
    MMA_TEAM(team, ITEMS);
    const uint part = (uint)get_local_id(0) / MMA_LANES, lane = team.lane;
    const uint j0 = (uint)xl_group_id(0) * ROWS, i0 = (uint)xl_group_id(1) * TM;
    __local uchar *slots = (__local uchar *)room + part * ST * SLOT;
    const uint row_bytes = units / UNITS * BLOCK_BYTES;
    const struct source from = {blocks + off_blocks + (ulong)j0 * row_bytes,
                                a + off_a + i0 * rs_a,
                                rs_a,
                                row_bytes,
                                min((uint)ROWS, n - j0) - 1,
                                min((uint)TM, m - i0) - 1,
                                (units + SU - 1) / SU,
                                units * 32};
    mma_c sum[RM][NT];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint i = 0; i < NT; i++)
            mma_zero(&sum[r][i]);
    }
#if FORMAT >= 8
    struct weights own[2 * RM];
    #pragma unroll
    for (uint i = 0; i < 2 * RM; i++) {
        const struct weights row =
            WEIGHTS_ROW(j0 + min(lane / 4 + 8 * i, from.last_row));
        own[i] = row;
    }
#endif
    #pragma unroll
    for (uint s = 0; s + 1 < ST; s++) {
        copy_stage(&from, lane, part + s * SK, slots + s * SLOT);
        XL_COPY_CLOSE();
    }
    uint read = 0, write = ST - 1;
    #pragma unroll 1
    for (uint first = 0; first < from.stages; first += SK) {
        const uint stage = first + part;
        XL_COPY_WAIT(ST - 2);
        mma_sync(&team);
        copy_stage(&from, lane, stage + (ST - 1) * SK, slots + write * SLOT);
        XL_COPY_CLOSE();
        __local const uchar *slot = slots + read * SLOT;
        write = read;
        read = read + 1 == ST ? 0 : read + 1;
        __local const uchar *rows[2 * RM], *parts[2 * RM];
        #pragma unroll
        for (uint i = 0; i < 2 * RM; i++) {
            const uint r = lane / 4 + 8 * i;
            rows[i] = slot + r * LINE_W + SHIFT(&from, r, stage);
            parts[i] = rows[i] + lane % 4 * PART_BYTES;
        }
        mma_c c[RM][NT];
        float scale[RM][2][MMA_ROWS];
        MMA_UNROLL
        for (uint u = 0; u < SU; u++) {
            mma_b b[NT][2];
            #pragma unroll
            for (uint i = 0; i < NT; i++) {
                const uint col = min(i * MMA_N + lane / 4, TM * TERMS - 1u);
                __local const uchar *at =
                    slot + ROWS * LINE_W + col / TERMS * LINE_A +
                    (u * 32 + lane % 4 * 4) * ELEM_BYTES(TA);
                load_pairs(at, col % TERMS, b[i][0].w);
                load_pairs(at + 16 * ELEM_BYTES(TA), col % TERMS, b[i][1].w);
            }
#if FORMAT >= 8
            const uint group_at =
                min(stage * SU + u, units - 1) / group;
#endif
            MMA_UNROLL
            for (uint r = 0; r < RM; r++) {
                mma_a w[2];
                #pragma unroll
                for (uint i = 0; i < 2; i++) {
                    uint pairs[4], zero = 0;
                    __local const uchar *block =
                        rows[2 * r + i] + u / UNITS * BLOCK_BYTES;
#if FORMAT >= 8
                    if (u % GROUP_UNITS == 0)
                        scale[r][0][i] = own_scale(&own[2 * r + i], group_at);
                    if (FORMAT == 8)
                        zero = own_zero(&own[2 * r + i], group_at);
#else
                    scale[r][0][i] = unit_scale(block, u % UNITS, 0);
                    scale[r][1][i] = unit_scale(block, u % UNITS, 1);
#endif
                    unit_pairs(block, parts[2 * r + i] + u / UNITS * BLOCK_BYTES,
                               u % UNITS, lane % 4, zero, pairs);
                    w[0].w[i] = pairs[0];
                    w[0].w[2 + i] = pairs[1];
                    w[1].w[i] = pairs[2];
                    w[1].w[2 + i] = pairs[3];
                }
                MMA_UNROLL
                for (uint i = 0; i < NT; i++) {
                    MMA_UNROLL
                    for (uint h = 0; h < 2; h++) {
                        if (u % GROUP_UNITS == 0 && (h == 0 || !IS_ONE_SCALE))
                            mma_zero(&c[r][i]);
                        mma(&team, &c[r][i], &w[h], &b[i][h]);
                        if ((u + 1) % GROUP_UNITS == 0 &&
                            (h == 1 || !IS_ONE_SCALE)) {
                            const float *by = scale[r][IS_ONE_SCALE ? 0 : h];
                            #pragma unroll
                            for (uint e = 0; e < MMA_C_ELEMS; e++)
                                sum[r][i].e[e] =
                                    MUL_ADD(by[MMA_ROW_OF(e)], c[r][i].e[e],
                                            sum[r][i].e[e]);
                        }
                    }
                }
            }
        }
    }
    XL_COPY_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    __local float *sums = (__local float *)room;
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint i = 0; i < NT; i++) {
            #pragma unroll
            for (uint e = 0; e < MMA_C_ELEMS; e++)
                sums[((part * NT + i) * MMA_N + MMA_C_COL(lane, e)) * ROWS +
                     r * MMA_M + MMA_C_ROW(lane, e)] = sum[r][i].e[e];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (uint v = (uint)get_local_id(0); v < ROWS * TM; v += ITEMS) {
        const uint row = v % ROWS, col = v / ROWS;
        float y = 0;
        #pragma unroll
        for (uint s = 0; s < SK * TERMS; s++)
            y += sums[(s / TERMS * NT * MMA_N + col * TERMS + s % TERMS) *
                          ROWS +
                      row];
        if (j0 + row < n && i0 + col < m)
            STORE_C(i0 + col, j0 + row, y);
    }
}
