/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C), a TM x TN tile of C at a
 *               time to a work-group, an RM x RN block of it in each item's
 *               registers. Slices of A and B, TK deep, pass through local
 *               memory as the values that are multiplied:
 *
 *                           TN                 items of a group, 32 at a time
 *                      +---------+             in patches of 4 x 8; an item
 *                  TK  |  B [k]  |             has 16 bytes of rows, TM 16 /
 *                 TK   +---------+             bytes of RM apart, and so of
 *               +-----++---------+             columns: reads of local memory
 *            TM |A [k]||    C    |             are 16 bytes wide, neighbours
 *               +-----++---------+             share them
 *
 *               The next slice is loaded into registers while the last one is
 *               multiplied. The odd rest of k comes first, guarded, so the
 *               loop carries no guards; rows and columns past the edge repeat
 *               the last one and are not stored.
 *
 *               CUT: gemm/tile_order.clh; a group with a part of a tile
 *               writes its sums to scratch, and gemm_tiled_join (STEP 2) adds
 *               the parts in order of k.
 * Arguments     A, B: base, offset, stride across (m or n), stride along k, in
 *               elements. The rest: TILE_PARAMS of gemm/tile_order.clh
 * Launch        local TM TN / (RM RN); global that times the tiles of all
 *               products, or `whole` and the groups behind; the join: that
 *               times RM and the tiles behind `whole`. 1-D
 * Local memory  ST TK (TM + PA + TN + PB) values, PA 16 bytes where UA = 0
 * -D            TM TN TK, RM RN (1, 2, 4, 8, 16) dividing TM TN;
 *               ST slices kept (1, 2); GR tile rows of a band; CUT, STEP
 *               (with CUT: 1, 2); TA, TB, TC, TY, BATCH, OWN_ROWS, EPILOGUE,
 *               GUARD: gemm/gemm.clh; VC is 1 where OWN_ROWS is 2;
 *               UA, UB contiguous along k (0), across (1), neither (2);
 *               VA, VB, VC vector widths (1, 2, 4): dividing the contiguous
 *               size, with aligned lines; VC > 1 needs rows of C contiguous.
 *               TM TK and TN TK are multiples of V times the items. Scales:
 *               gemm/scales.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read; CUT: a
 *               part is written and read once
 * Source        NV-23 (tiles, bands); Osama et al. 2023, section 4 (CUT), with
 *               a second launch for the sums (GE-25); the lane map lets
 *               adjacent items' 16-byte reads of local memory merge for both
 *               operands */
#ifndef TM
#define TM 32
#define TN 32
#define TK 8
#define RM 4
#define RN 4
#endif
#ifndef ST
#define ST 1
#endif
#ifndef STEP
#define STEP 1
#endif
#define C_ALONE restrict
#include "gemm/tile_slices.clh"

#if STEP == 1
#define A_LOAD(p, i, at, k)                                                   \
    GEMM_SCALED_A(VA, UA == 1, LOADVA(VA, TA, ga, at), (p).m0 + A_FROM(p, i), \
                  (k) + A_K(i))
#define B_LOAD(p, i, at, k)                                                   \
    GEMM_SCALED_B(VB, UB == 1, LOADVA(VB, TB, gb, at), (p).n0 + B_FROM(p, i), \
                  (k) + B_K(i))

__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) XL_OF_WIDTH void
gemm_tiled(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
           ulong sk_a, __global const ELEM(TB) *restrict b, ulong off_b,
           ulong sx_b, ulong sk_b, TILE_PARAMS)
{
    __local value la[ST * TK * LA] __attribute__((aligned(16)));
    __local value lb[ST * TK * LB] __attribute__((aligned(16)));
    GEMM_GUARDED;
    const uint lid = (uint)get_local_id(0);
    const uint2 at = item_position(lid);
    const uint rest_k = (uint)((k - 1) % TK) + 1;
    struct share w = FIRST_SHARE;
    uint slot = 0;
    /* One scalar less to keep for each: those of scales, a batch and CUT fill
     * the registers of some devices. */
    a += off_a;
    b += off_b;
    c += off_c;
    GEMM_SCALES_BASE;

    if (!FIND_WORK(w, true))
        return;
    do {
        const struct tile p = locate_tile(w.tile, tiles_m, tiles_n, m, n);
        CLIP_TILE(p);
        const uint depth = w.unit == 0 ? rest_k : TK;
        ulong k0 = w.unit == 0 ? 0 : rest_k + (w.unit - 1) * TK;
        __global const ELEM(TA) *ga =
            a + (GEMM_AT_A(p.z) + p.m0 * sx_a + k0 * sk_a);
        __global const ELEM(TB) *gb =
            b + (GEMM_AT_B(p.z) + p.n0 * sx_b + k0 * sk_b);
        GEMM_SCALES(p.z);
        IDX at_a[NA], at_b[NB];
        VALUEV(VA, TS) next_a[NA];
        VALUEV(VB, TS) next_b[NB];
        #pragma unroll
        for (uint j = 0; j < NA; j++) {
            const uint i = lid + j * NT;
            at_a[j] = A_FROM(p, i) * (IDX)sx_a + A_K(i) * (IDX)sk_a;
            next_a[j] = (VALUEV(VA, TS))(0);
            if (A_K(i) < depth)
                next_a[j] = A_LOAD(p, i, at_a[j], k0);
        }
        #pragma unroll
        for (uint j = 0; j < NB; j++) {
            const uint i = lid + j * NT;
            at_b[j] = B_FROM(p, i) * (IDX)sx_b + B_K(i) * (IDX)sk_b;
            next_b[j] = (VALUEV(VB, TS))(0);
            if (B_K(i) < depth)
                next_b[j] = B_LOAD(p, i, at_b[j], k0);
        }
        ga += depth * sk_a;
        gb += depth * sk_b;
        k0 += depth;

        SUM sum[RM][RN];
        clear_sums(sum);

        for (ulong left = w.n - 1;; left--) {
            __local value *pa = la + slot * (TK * LA);
            __local value *pb = lb + slot * (TK * LB);
            #pragma unroll
            for (uint j = 0; j < NA; j++) {
                const uint i = lid + j * NT;
                A_PUT(pa + A_K(i) * LA + A_X(i), next_a[j]);
            }
            #pragma unroll
            for (uint j = 0; j < NB; j++) {
                const uint i = lid + j * NT;
                B_PUT(pb + B_K(i) * LB + B_X(i), next_b[j]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (left > 0) {
                #pragma unroll
                for (uint j = 0; j < NA; j++)
                    next_a[j] = A_LOAD(p, lid + j * NT, at_a[j], k0);
                #pragma unroll
                for (uint j = 0; j < NB; j++)
                    next_b[j] = B_LOAD(p, lid + j * NT, at_b[j], k0);
                ga += TK * sk_a;
                gb += TK * sk_b;
                k0 += TK;
            }
            pa += at.y * QM;
            pb += at.x * QN;
            #pragma unroll
            for (uint l = 0; l < TK; l++) {
                struct values v;
                fetch_values(&v, pa + l * LA, pb + l * LB);
                multiply_values(sum, &v);
            }
            /* With two slots the barrier above also guarantees that all items
             * are done with the slot that is written next; with one slot
             * another barrier does, for a group's next tile too. */
#if !CUT
            if (left == 0)
                break;
#endif
#if ST == 1
            barrier(CLK_LOCAL_MEM_FENCE);
#else
            slot ^= 1;
#endif
#if CUT
            if (left == 0)
                break;
#endif
        }

#if CUT
        if (w.n < units) {
            KEEP_PART(w.part);
            continue;
        }
#endif
        STORE_SUMS;
    } while (FIND_WORK(w, NEXT_SHARE(w)));
}

#else
/* -- the join ------------------------------------------------------------- */

/* A group adds up one row of each item's sums. */
__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) void
gemm_tiled_join(TILE_PARAMS)
{
    GEMM_GUARDED;
    const uint2 at = item_position((uint)get_local_id(0));
    const uint tile = GROUP / RM, r = GROUP % RM;
    const uint first = group_of(tile * units, each, extra);
    const uint last = group_of((tile + 1) * units - 1, each, extra);
    const struct tile p = locate_tile(whole + tile, tiles_m, tiles_n, m, n);
    SUM sum[RN];
    CLIP_TILE(p);
    if (first == last || IS_EMPTY(STORED))
        return; /* one group computed the whole tile, or nothing is used */
    #pragma unroll
    for (uint s = 0; s < RN; s++)
        sum[s] = sums[SUMS_AT(first + tile, r, s)];
    for (uint part = first + 1; part <= last; part++) {
        #pragma unroll
        for (uint s = 0; s < RN; s++)
            sum[s] += sums[SUMS_AT(part + tile, r, s)];
    }
    store_row(c, off_c + GEMM_AT_C(p.z) + p.m0 * rs_c + p.n0 * cs_c, rs_c,
              cs_c, &STORED, at.y * QM + ROW(r), at.x, sum, GEMM_STORE_ARGS);
}
#endif
