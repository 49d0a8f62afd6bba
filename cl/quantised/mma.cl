/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, A of few rows, on a
 *               sub-group's matrix instructions. A group has RT tiles of RM
 *               times MMA_M rows of W; the SK teams of a tile share the
 *               columns, SU units of 32 at a time, a stage:
 *
 *                          columns
 *                  +----+----+----+----+--
 *               RM |team|team|team|team|      a step: SK stages of each row of
 *               MMA_M 0 | 1  | 0  | 1  |      W, and these columns of A
 *                  +----+----+----+----+--
 *
 *               Steps have ST slots of local memory: while the weights of one
 *               are decoded, those of the next ST - 1 are copied, by each team
 *               for itself (quantised/copy_parts.clh) or by lines
 *               (quantised/copy_lines.clh). Weights become exact pairs of
 *               16-bit floats (quantised/pairs.clh), the left operand; A's rows
 *               are columns of the right one (quantised/right.clh). Sums of a
 *               unit are multiplied by its scale in f32. At the end the teams'
 *               sums are added in order.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh). Rows of A at multiples
 *               of 16 bytes, with BY_LINES those of W too.
 * Launch:       2-D, local (MMA_LANES SK RT, 1); groups:
 *               ceil(n / (MMA_M RM RT)), ceil(m / TM).
 * Local memory: LOCAL_BYTES.
 * -D:           TM 1 to 64, a power of two, rows of A; RM 1, 2; SK 1 to 16;
 *               ST 2, 3, 4; RT 1, of BY_LINES also 2; BY_LINES 0, 1;
 *               GROUP_UNITS: of int4, int8 and FP8, 1, 2, 4 or 8 units that have
 *               one scale; quantised/product.clh; XL_MMA_...: common/matrix.clh;
 *               XL_COPY_...: common/async_copy.clh; XL_LINES_...:
 *               quantised/line_copy.clh
 * Needs:        a matrix engine with the fragments of mma.sync, or its
 *               emulation.
 * Cost:         2 m n k flop; W is read once for each TM rows of A, A once for
 *               each MMA_M RM RT rows of W.
 * Source:       NV-35, NV-64; Frantar et al. 2024, "MARLIN". */
#include "quantised/steps.clh"

#if BY_LINES
#include "quantised/copy_lines.clh"
#else
#include "quantised/copy_parts.clh"
#endif
#define LOCAL_BYTES (LOCAL_SLOTS > SUMS ? LOCAL_SLOTS : SUMS)
#define COLS_C (RT * ROWS / TOGETHER) /* of a group */

/* Adds to the sums the products of a stage, whose first unit is `first`;
 * rows[]: the lane's rows of W, a_slot: A's row 0. */
INLINED void multiply_stage(const struct mma_team team,
                            __local const uchar *rows[2 * RM],
                            __local const uchar *a_slot,
                            const struct weights own[2 * RM], const uint first,
                            const uint from_units, const uint group,
                            mma_c sum[RM][NT])
{
    const uint lane = team.lane;
    __local const uchar *parts[2 * RM];
    #pragma unroll
    for (uint i = 0; i < 2 * RM; i++)
        parts[i] = rows[i] + lane % 4 * PART_BYTES;
#if FORMAT >= 8
    /* From global memory: all of the stage, before the first is used. */
    float own_scales[2 * RM][SU / GROUP_UNITS];
    uint own_zeros[2 * RM][SU / GROUP_UNITS];
    MMA_UNROLL
    for (uint g = 0; g < SU / GROUP_UNITS; g++) {
        const uint at =
            group_of(min(first + g * GROUP_UNITS, from_units - 1), group);
        MMA_UNROLL
        for (uint i = 0; i < 2 * RM; i++) {
            own_scales[i][g] = own_scale(&own[i], at);
            own_zeros[i][g] = FORMAT == 8 ? own_zero(&own[i], at) : 0;
        }
    }
#endif
    mma_c c[RM][NT];
    float scale[RM][2][MMA_ROWS];
    MMA_UNROLL
    for (uint u = 0; u < SU; u++) {
        mma_b b[NT][2];
        #pragma unroll
        for (uint i = 0; i < NT; i++) {
            const uint col = min(i * MMA_N + lane / 4, RIGHT_COLS - 1u);
            __local const uchar *at =
                a_slot + col / TERMS * LINE_A +
                (u * 32 + A_FIRST(lane % 4)) * ELEM_BYTES(TA);
            load_pairs(
                *(__local const A_WORDS *)at,
                *(__local const A_WORDS *)(at + A_SECOND * ELEM_BYTES(TA)),
                col % TERMS, b[i]);
        }
        MMA_UNROLL
        for (uint r = 0; r < RM; r++) {
            mma_a w[2];
            #pragma unroll
            for (uint i = 0; i < 2; i++) {
                uint pairs[4], zero = 0;
                __local const uchar *block =
                    rows[2 * r + i] + u / UNITS * BLOCK_BYTES;
#if FORMAT >= 8
                scale[r][0][i] = own_scales[2 * r + i][u / GROUP_UNITS];
                zero = own_zeros[2 * r + i][u / GROUP_UNITS];
#else
                scale[r][0][i] = unit_scale(block, u % UNITS, 0);
                scale[r][1][i] = unit_scale(block, u % UNITS, 1);
#endif
                unit_pairs(block, parts[2 * r + i] + u / UNITS * BLOCK_BYTES,
                           u, lane % 4, zero, pairs);
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
                                MUL_ADD(by[MMA_ROW_OF(e)],
                                        OF_CODES(c[r][i].e[e]),
                                        sum[r][i].e[e]);
                    }
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
qgemm_mma(PRODUCT_PARAMS)
{
    __local uint4 room[LOCAL_BYTES / 16];
    MMA_TEAM(team, ITEMS);
    const uint part = (uint)get_local_id(0) / MMA_LANES % SK,
               tile = (uint)get_local_id(0) / (MMA_LANES * SK),
               lane = team.lane;
    const uint j0 = (uint)xl_group_id(0) * (RT * ROWS),
               i0 = (uint)xl_group_id(1) * TM;
    const uint row_bytes = units / UNITS * BLOCK_BYTES;
    struct source from = {blocks + off_blocks +
                              (ulong)(j0 / TOGETHER) * row_bytes,
                          a + off_a + i0 * rs_a,
                          (__local uchar *)room,
                          rs_a,
                          row_bytes,
                          n,
                          min((uint)(RT * ROWS), n - j0) - 1,
                          min((uint)TM, m - i0) - 1,
                          (units + SU - 1) / SU,
                          units * 32,
                          lane,
                          part,
                          tile,
                          0};
    COPY_DECLARE;
    mma_c sum[RM][NT];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint i = 0; i < NT; i++)
            mma_zero(&sum[r][i]);
    }
    struct weights own[2 * RM];
#if FORMAT >= 8
    #pragma unroll
    for (uint i = 0; i < 2 * RM; i++) {
        const struct weights row = WEIGHTS_ROW(
            W_ROW(j0 + min(tile * ROWS + lane / 4 + 8 * i, from.last_row), n));
        own[i] = row;
    }
#endif
    #pragma unroll
    for (uint s = 0; s + 1 < ST; s++)
        copy_step(&team, &from, s);
    #pragma unroll 1
    for (uint step = 0; step * SK < from.stages; step++) {
        copy_wait(&team, &from, step);
        copy_step(&team, &from, step + ST - 1);
        __local const uchar *rows[2 * RM];
        #pragma unroll
        for (uint i = 0; i < 2 * RM; i++)
            rows[i] = row_at(&from, step, lane / 4 + 8 * i);
        multiply_stage(team, rows, a_at(&from, step), own,
                       (step * SK + part) * SU, units, group, sum);
    }
    COPY_END;
    barrier(CLK_LOCAL_MEM_FENCE);
    __local float *sums = (__local float *)room;
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint i = 0; i < NT; i++) {
            #pragma unroll
            for (uint e = 0; e < MMA_C_ELEMS; e++)
                sums[((part * NT + i) * MMA_N + MMA_C_COL(lane, e)) *
                         (RT * ROWS) +
                     tile * ROWS + r * MMA_M + MMA_C_ROW(lane, e)] =
                    sum[r][i].e[e];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (uint v = (uint)get_local_id(0); v < COLS_C * TM; v += ITEMS) {
        const uint row = v % COLS_C * TOGETHER, col = v / COLS_C;
        float y[TOGETHER];
        #pragma unroll
        for (uint r = 0; r < TOGETHER; r++) {
            y[r] = 0;
            #pragma unroll
            for (uint s = 0; s < SK * TERMS; s++)
                y[r] += sums[(s / TERMS * NT * MMA_N + col * TERMS +
                              s % TERMS) *
                                 (RT * ROWS) +
                             row + r];
        }
        if (j0 + row < n && i0 + col < m)
            STORE_C(i0 + col, (j0 + row) / TOGETHER, y[0], y[1]);
    }
}
