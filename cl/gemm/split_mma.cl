/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) of operands as planes
 *               (gemm/split.cl): planes i of A and j of B with i + j < PLANES
 *               are multiplied by matrix instructions (common/matrix.clh) and
 *               added to one sum. Every DEEP of k the sum leaves these
 *               instructions for one that is rounded to nearest, since they
 *               cut what they add; the smallest products come first, so that
 *               little is added to what is large. Last, the factors of row and
 *               column.
 *
 *               A group has a TM x TN tile of C, each team a block of it; its
 *               slices of all planes, TK deep, are in ST slots of local
 *               memory, copied ahead of the slice that is multiplied.
 * Arguments     planes of both operands: base, place, elements from one to the
 *               next, from line to line, each multiples of 16 bytes; factors:
 *               base, those of rows, of columns; the rest:
 *               gemm/tile_order.clh. The planes' k is filled up with zeros to
 *               a multiple of DEEP
 * Launch        local TEAMS_M TEAMS_N MMA_LANES; global that times the tiles.
 *               1-D
 * Local memory  2 ST PLANES TK (TM + TN) bytes
 * -D            TM TN TK (32, 64), TEAMS_M TEAMS_N: a team's part is a
 *               multiple of MMA_M x 2 MMA_N; ST 2, 3, 4; PLANES; MMA_T dtype
 *               of the planes; UA, UB their lines along k (0), across (1); VC
 *               1, 2: elements of C stored together, in aligned rows then;
 *               GR: gemm/tile_order.clh; TC, GUARD: gemm/gemm.clh;
 *               XL_MMA_...: common/matrix.clh;
 *               XL_COPY_...: common/async_copy.clh
 * Needs         a matrix engine, or its emulation, which any device runs
 * Cost          m n k flop of the caller's, times PLANES (PLANES + 1) of the
 *               matrix instructions
 * Source        Ootomo and Yokota 2022; NV-41 */
#ifndef TM
#define TM 32
#define TN 32
#define TK 32
#define TEAMS_M 2
#define TEAMS_N 1
#endif
#ifndef ST
#define ST 2
#endif
#ifndef PLANES
#define PLANES 2
#define MMA_T 1
#endif
#ifndef UA
#define UA 0
#define UB 1
#endif
#ifndef VC
#define VC 1
#endif
#define XL_VW 2
#define DEEP 64

#include "common/async_copy.clh"
#include "gemm/gemm.clh"
#include "gemm/tile_order.clh"
#include "common/matrix.clh"

#define ITEMS (TEAMS_M * TEAMS_N * MMA_LANES)
#define PART_M (TM / TEAMS_M)
#define PART_N (TN / TEAMS_N)
#define FM (PART_M / MMA_M) /* fragments of a team */
#define FN (PART_N / MMA_N)

/* -- slices --------------------------------------------------------------- */

/* Slices are copied in chunks of 16 bytes, EACH elements: an item copies the
 * i-th, i + ITEMS-th, ... of a slice. Rows and columns past the edge repeat
 * the last ones. */
#define EACH 8
#define SLICE_A (2 * TM * TK)
#define SLICE_B (2 * TN * TK)
#define SLOT (PLANES * (SLICE_A + SLICE_B))
#define CHUNKS_A (TM * TK / EACH / ITEMS)
#define CHUNKS_B (TN * TK / EACH / ITEMS)

/* Offset of a chunk in memory, from x0 on, and in the slice. */
#define FROM_ALONG(i, T, rest, ld)                                            \
    (min((i) / (TK / EACH), (rest) - 1) * (ld) + (i) % (TK / EACH) * EACH)
#define FROM_ACROSS(i, T, rest, ld)                                           \
    ((i) / ((T) / EACH) * (ld) +                                              \
     min((i) % ((T) / EACH) * EACH, ((rest) - 1) / EACH * EACH))
#define TO_ALONG(i, T)                                                        \
    MMA_AT_ALONG(2 * TK, (i) / (TK / EACH), (i) % (TK / EACH))
#define TO_ACROSS(i, T)                                                       \
    MMA_AT_ACROSS(2 * (T), (i) / ((T) / EACH), (i) % ((T) / EACH))

#if UA == 0
#define FROM_A FROM_ALONG
#define TO_A TO_ALONG
#define START_A(x, ld) ((x) * (ld))
#define STEP_A(ld) TK
#define LOAD_A(t, to, slice, x, kk)                                           \
    mma_load_a_along(t, to, FM, slice, 2 * TK, x, kk)
#else
#define FROM_A FROM_ACROSS
#define TO_A TO_ACROSS
#define START_A(x, ld) (x)
#define STEP_A(ld) (TK * (ld))
#define LOAD_A(t, to, slice, x, kk)                                           \
    mma_load_a_across(t, to, FM, slice, 2 * TM, x, kk)
#endif
#if UB == 0
#define FROM_B FROM_ALONG
#define TO_B TO_ALONG
#define START_B(x, ld) ((x) * (ld))
#define STEP_B(ld) TK
#define LOAD_B(t, to, slice, x, kk)                                           \
    mma_load_b_along(t, to, FN, slice, 2 * TK, x, kk)
#else
#define FROM_B FROM_ACROSS
#define TO_B TO_ACROSS
#define START_B(x, ld) (x)
#define STEP_B(ld) (TK * (ld))
#define LOAD_B(t, to, slice, x, kk)                                           \
    mma_load_b_across(t, to, FN, slice, 2 * TN, x, kk)
#endif

/* The copies of an operand: the address of its next slice. */
struct stream {
    __global const ushort *next;
    ulong plane, step;
    uint at[CHUNKS_A > CHUNKS_B ? CHUNKS_A : CHUNKS_B];
};

/* The next slice of all planes of both operands, into a slot. */
static inline void copy_slices(__local uchar *slot, struct stream *a,
                               struct stream *b)
{
    const uint lid = (uint)get_local_id(0);
    #pragma unroll
    for (uint p = 0; p < PLANES; p++) {
        #pragma unroll
        for (uint j = 0; j < CHUNKS_A; j++)
            XL_COPY(16, slot + p * SLICE_A + TO_A(lid + j * ITEMS, TM),
                    a->next + p * a->plane + a->at[j]);
        #pragma unroll
        for (uint j = 0; j < CHUNKS_B; j++)
            XL_COPY(16,
                    slot + PLANES * SLICE_A + p * SLICE_B +
                        TO_B(lid + j * ITEMS, TN),
                    b->next + p * b->plane + b->at[j]);
    }
    a->next += a->step;
    b->next += b->step;
}

/* -- products ------------------------------------------------------------- */

/* Multiplies the planes in a slot, those with the largest i + j first. */
MMA_INLINED void multiply_slot(const struct mma_team *t, mma_c sum[FM][FN],
                               __local const uchar *slot, uint x_a, uint x_b)
{
    MMA_UNROLL
    for (uint d = 0; d < PLANES; d++) {
        MMA_UNROLL
        for (uint i = 0; i < PLANES - d; i++) {
            const uint j = PLANES - 1 - d - i;
            MMA_UNROLL
            for (uint kk = 0; kk < TK / MMA_K; kk++) {
                mma_a fa[FM];
                mma_b fb[FN];
                LOAD_A(t, fa, slot + i * SLICE_A, x_a, kk);
                LOAD_B(t, fb, slot + PLANES * SLICE_A + j * SLICE_B, x_b, kk);
                MMA_UNROLL
                for (uint r = 0; r < FM; r++) {
                    MMA_UNROLL
                    for (uint s = 0; s < FN; s++)
                        mma(t, &sum[r][s], &fa[r], &fb[s]);
                }
            }
        }
    }
}

/* Adds the sums to those that are rounded to nearest, and clears them. */
MMA_INLINED void promote(mma_c all[FM][FN], mma_c sum[FM][FN])
{
    #pragma unroll
    for (uint r = 0; r < FM; r++) {
        #pragma unroll
        for (uint s = 0; s < FN; s++) {
            #pragma unroll
            for (uint e = 0; e < MMA_C_ELEMS; e++)
                all[r][s].e[e] += sum[r][s].e[e];
            mma_zero(&sum[r][s]);
        }
    }
}

/* The smaller factor first: the product is infinite only if the result is. */
static inline float apply_factors(float sum, float x, float y)
{
    return sum * min(x, y) * max(x, y);
}

#if VC == 1
#define PACKED(e, x, y) apply_factors((e)[0], x, (y)[0])
#else
#define PACKED(e, x, y)                                                       \
    (float2)(apply_factors((e)[0], x, (y)[0]),                                \
             apply_factors((e)[1], x, (y)[1]))
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_split_mma(__global const ushort *a, ulong at_a, ulong plane_a, ulong ld_a,
               __global const ushort *b, ulong at_b, ulong plane_b, ulong ld_b,
               __global const float *factors, ulong at_rows, ulong at_cols,
               TILE_PARAMS)
{
    __local uchar slots[ST * SLOT] __attribute__((aligned(128)));
    MMA_TEAM(team, ITEMS);
    GEMM_GUARDED;
    const uint lid = (uint)get_local_id(0);
    const struct tile p = locate_tile(GROUP, tiles_m, tiles_n, m, n);
    struct stream sa = {a + at_a + START_A(p.m0, ld_a), plane_a, STEP_A(ld_a),
                        {0}};
    struct stream sb = {b + at_b + START_B(p.n0, ld_b), plane_b, STEP_B(ld_b),
                        {0}};
    #pragma unroll
    for (uint j = 0; j < CHUNKS_A; j++)
        sa.at[j] = FROM_A(lid + j * ITEMS, TM, p.rest_m, (uint)ld_a);
    #pragma unroll
    for (uint j = 0; j < CHUNKS_B; j++)
        sb.at[j] = FROM_B(lid + j * ITEMS, TN, p.rest_n, (uint)ld_b);

    const uint slices = (uint)((k - 1) / DEEP + 1) * (DEEP / TK);
    const uint x_a = lid / MMA_LANES / TEAMS_N * PART_M;
    const uint x_b = lid / MMA_LANES % TEAMS_N * PART_N;
    mma_c sum[FM][FN], all[FM][FN];
    #pragma unroll
    for (uint r = 0; r < FM; r++) {
        #pragma unroll
        for (uint s = 0; s < FN; s++) {
            mma_zero(&sum[r][s]);
            mma_zero(&all[r][s]);
        }
    }
    for (uint i = 0; i < ST - 1; i++) {
        if (i < slices)
            copy_slices(slots + i * SLOT, &sa, &sb);
        XL_COPY_CLOSE();
    }
    for (uint i = 0; i < slices; i++) {
        XL_COPY_WAIT(ST - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        /* All items are done with the slot before this one's. */
        if (i + ST - 1 < slices)
            copy_slices(slots + (i + ST - 1) % ST * SLOT, &sa, &sb);
        XL_COPY_CLOSE();
        multiply_slot(&team, sum, slots + i % ST * SLOT, x_a, x_b);
        if ((i + 1) * TK % DEEP == 0)
            promote(all, sum);
    }

    const ulong to = off_c + p.m0 * rs_c + p.n0 * cs_c;
    #pragma unroll
    for (uint r = 0; r < FM; r++) {
        #pragma unroll
        for (uint s = 0; s < FN; s++) {
            #pragma unroll
            for (uint e = 0; e < MMA_C_ELEMS; e += VC) {
                const uint row = x_a + r * MMA_M + MMA_C_ROW(team.lane, e);
                const uint col = x_b + s * MMA_N + MMA_C_COL(team.lane, e);
                const ulong at = to + row * rs_c + col * cs_c;
                if (row >= p.rest_m || col >= p.rest_n)
                    continue;
                const FLOATV(VC) y =
                    PACKED(all[r][s].e + e, factors[at_rows + p.m0 + row],
                           factors + at_cols + p.n0 + col);
                GEMM_STORE(VC, A, c, at, GEMM_YA(VC, y, c, at), 0,
                           p.m0 + row, p.n0 + col);
            }
        }
    }
}
