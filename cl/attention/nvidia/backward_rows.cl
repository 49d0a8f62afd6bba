/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      around attention/nvidia/backward_wgmma.cl:
 *                 STEP 1  counters of 0, and lse log2(e) and delta = grad_o .
 *                         o of each row; D / 8 items have one
 *                 STEP 2  grad_q from its sums; an item has 8 columns of two
 *                         rows
 * Arguments     BACKWARD_PARAMS (attention/backward.clh), whose columns are
 *               contiguous, rows of o, grad_o and grad_q aligned to 16 bytes;
 *               scratch: attention/nvidia/backward_scratch.clh; blocks: of a
 *               head; rows: of all blocks
 * Launch        1-D, local 256, global rows D / 8 in STEP 1, rows D / 16 in
 *               STEP 2. Not sliced
 * Local memory  none
 * -D            STEP; BM rows of a block (64 128), D (128 64), DT 1 f16, 2 bf16
 * Needs         sm_80
 * Cost          rows of o, grad_o and grad_q, and of sums, once */
#ifndef STEP
#define STEP 1
#endif
#ifndef DT
#define DT 1
#endif
#ifndef D
#define D 128
#define BM 64
#endif
#include "attention/backward.clh"
#include "common/nvidia/warp.clh"
#include "attention/nvidia/backward_scratch.clh"

enum { VECTOR = 8 }; /* columns */

struct place {
    ulong b, h, i; /* sequence, head, query */
};

/* Divisions of 64 bits take several times as long. */
static inline struct place place_of(ulong row, uint blocks,
                                    const struct sizes n)
{
    const uint block = (uint)(row / BM), z = block / blocks;
    const uint heads = (uint)n.n_heads, b = z / heads;
    struct place p;
    p.b = b;
    p.h = z - b * heads;
    p.i = (ulong)(block - z * blocks) * BM + row % BM;
    return p;
}

#if STEP == 1
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
attention_backward_rows(BACKWARD_PARAMS, __global float *scratch,
                        const uint blocks, const ulong rows)
{
    const ulong item = get_global_id(0), row = item / (D / VECTOR);
    const ulong all_blocks = rows / BM;
    if (item < ROWS_AT(all_blocks))
        ((__global uint *)scratch)[item] = 0;
    const struct place p = place_of(row, blocks, n);
    float l = INFINITY, sum = 0;
    if (p.i < n.n_q) {
        const ulong col = item % (D / VECTOR) * VECTOR;
        const uint4 x = *(__global const uint4 *)(o +
                                                  ROW_AT(at.o, p.b, p.h, p.i) +
                                                  col);
        const uint4 y = *(__global const uint4 *)(grad_o + ROW_AT(grad.o, p.b,
                                                                  p.h, p.i) +
                                                  col);
        const float2 s = xl_two(DT, x.x) * xl_two(DT, y.x) +
                         xl_two(DT, x.y) * xl_two(DT, y.y) +
                         xl_two(DT, x.z) * xl_two(DT, y.z) +
                         xl_two(DT, x.w) * xl_two(DT, y.w);
        sum = s.x + s.y;
        l = lse[ROW_AT(at.lse, p.b, p.h, p.i)] * M_LOG2E_F;
    }
    for (uint d = 1; d < D / VECTOR; d *= 2)
        sum += xl_shuffle_xor(sum, d);
    if (item % (D / VECTOR) == 0) {
        __global float *to =
            scratch + ROWS_AT(all_blocks) + row / BM * (2 * BM) + row % BM;
        /* Weights of a row that sees nothing are 0; of one without a number
         * delta is none, so that keys that it does not see get 0. */
        to[0] = l == -INFINITY ? INFINITY : l;
        to[BM] = l == l ? sum : 0;
    }
}
#else
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
attention_backward_sums(BACKWARD_PARAMS, __global const float *scratch,
                        const uint blocks, const ulong rows)
{
    enum { GROUPS = 8, PAIRS = 32 }; /* of 8 columns; of rows */
    const ulong item = get_global_id(0), piece = item / (GROUPS * PAIRS);
    const uint g = item % GROUPS, pair = item / GROUPS % PAIRS;
    __global const float4 *sums =
        (__global const float4 *)(scratch + SUMS_AT(rows / BM) +
                                  piece * PIECE) +
        g * 128 + pair * 4;
    const ulong first = piece / 2 * BM + (D == 64 ? piece % 2 * 64 : 0) +
                        pair / 8 * 16 + pair % 8;
    const uint col = (D == 64 ? 0 : piece % 2 * 64) + g * VECTOR;
    const float4 s0 = sums[0] * scale, s1 = sums[1] * scale;
    const float4 s2 = sums[2] * scale, s3 = sums[3] * scale;
    const uint4 upper = (uint4)(xl_pair(DT, s0.x, s0.y),
                                xl_pair(DT, s1.x, s1.y),
                                xl_pair(DT, s2.x, s2.y),
                                xl_pair(DT, s3.x, s3.y));
    const uint4 lower = (uint4)(xl_pair(DT, s0.z, s0.w),
                                xl_pair(DT, s1.z, s1.w),
                                xl_pair(DT, s2.z, s2.w),
                                xl_pair(DT, s3.z, s3.w));
    for (uint e = 0; e < 2; e++) {
        const struct place p = place_of(first + e * 8, blocks, n);
        /* No tile has a row that sees nothing. */
        if (p.i < n.n_q)
            *(__global uint4 *)(grad_q + ROW_AT(grad.q, p.b, p.h, p.i) + col) =
                keys_of(n, p.i).last == 0 ? (uint4)(0)
                : e == 0                  ? upper
                                          : lower;
    }
}
#endif
