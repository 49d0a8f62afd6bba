/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) in floats on plain FMA units:
 *               a TM x TN tile of C at a time to a work-group, an RM x RN
 *               block of it in each item's registers, slices of A and B, TK
 *               deep, through local memory. Tiles, lanes and bands are those
 *               of gemm/tiled.cl; in addition loads overlap with FMAs:
 *
 *                 memory       |  load s+1            |  load s+2
 *                 local memory |     values of s      |     values of s+1
 *                 registers    |  0  1  2 .. TK-1     |  0  1  2 .. TK-1
 *                 FMA          |    0  1  2 .. TK-2  TK-1  0  1 ..
 *                 barrier      |                      |
 *
 *               An item's values of one depth are fetched while those of the
 *               depth before are multiplied, and the last ones of a slice are
 *               multiplied behind the barrier before the next slice, so that
 *               items multiply while they wait. The odd rest of k comes first,
 *               guarded, so the loop carries no guards; rows and columns past
 *               the edge repeat the last one and are not stored. CUT: tiles
 *               cut by k; gemm_tiled_join adds up their parts.
 * Arguments     each matrix: base, offset, stride across (m or n), stride
 *               along k, in elements; C: row stride, column stride.
 *               m, n, k: at most 2^32 slices deep; the rest: gemm/tiled.cl
 * Launch        local TM TN / (RM RN); global that times the tiles of all
 *               products, or `whole` and the groups behind. 1-D
 * Local memory  4 ST TK (TM + PA + TN + PB) bytes, P 4 where U = 0, else 0
 * -D            TM TN TK (even), RM RN (2, 4, 8, 16) dividing TM TN;
 *               ST slices kept: 2, more with COPY 2; GR tile rows of a
 *               band; CUT; TA, TB (0, 1, 2), TC, TY, BATCH, OWN_ROWS,
 *               EPILOGUE, GUARD: gemm/gemm.clh; VC is 1 where OWN_ROWS is 2;
 *               COPY 1: slices go through registers; 2 (TA 0): by copies that
 *               are started ST - 1 slices ahead, XL_COPY_...:
 *               common/async_copy.clh;
 *               UA, UB contiguous along k (0), across (1), neither (2);
 *               VA, VB, VC vector widths (1, 2, 4): dividing the contiguous
 *               size, with aligned lines; 1 where COPY 2 meets U = 0; VC > 1
 *               needs rows of C contiguous. TM TK and TN TK are multiples of
 *               V times the items.
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read; CUT: a
 *               part is written and read once
 * Source        NV-39; S. Gray, "SGEMM", Maxas wiki (values fetched a depth
 *               ahead) */
#ifndef ST
#define ST 2
#endif
#ifndef COPY
#define COPY 1
#endif
#include "gemm/tile_slices.clh"
#include "common/async_copy.clh"

/* -- a slice -------------------------------------------------------------- */

/* A's part first, then B's. */
#define A_AT(i) (A_K(i) * LA + A_X(i))
#define B_AT(i) (TK * LA + B_K(i) * LB + B_X(i))
#define SLICE (TK * (LA + LB))
#define AFTER(slot) ((slot) == (ST - 1) * SLICE ? 0 : (slot) + SLICE)
#define AHEAD (ST - 1)

/* -- an item's part ------------------------------------------------------- */

/* The addresses and the values of an item's vectors of a slice. */
struct lines {
    __global const ELEM(TA) *a[NA];
    __global const ELEM(TB) *b[NB];
};
struct vectors {
    FLOATV(VA) a[NA];
    FLOATV(VB) b[NB];
};

/* Loads the first slice, which ends at `depth`, and advances `from` to the
 * second. */
static inline void load_first(struct vectors *v, struct lines *from, uint lid,
                              uint depth, ulong sk_a, ulong sk_b)
{
    #pragma unroll
    for (uint j = 0; j < NA; j++) {
        v->a[j] = (FLOATV(VA))(0);
        if (A_K(lid + j * NT) < depth)
            v->a[j] = LOADVA(VA, TA, from->a[j], 0);
        from->a[j] += depth * A_STEP;
    }
    #pragma unroll
    for (uint j = 0; j < NB; j++) {
        v->b[j] = (FLOATV(VB))(0);
        if (B_K(lid + j * NT) < depth)
            v->b[j] = LOADVA(VB, TB, from->b[j], 0);
        from->b[j] += depth * B_STEP;
    }
}

static inline void store_slice(__local float *slice, uint lid,
                               const struct vectors *v)
{
    #pragma unroll
    for (uint j = 0; j < NA; j++)
        A_PUT(slice + A_AT(lid + j * NT), v->a[j]);
    #pragma unroll
    for (uint j = 0; j < NB; j++)
        B_PUT(slice + B_AT(lid + j * NT), v->b[j]);
}

static inline void advance_lines(struct lines *from, ulong sk_a, ulong sk_b)
{
    #pragma unroll
    for (uint j = 0; j < NA; j++)
        from->a[j] += TK * A_STEP;
    #pragma unroll
    for (uint j = 0; j < NB; j++)
        from->b[j] += TK * B_STEP;
}

#if COPY == 2
#define COPY_BYTES(V) XL_CAT(COPY_BYTES_, V)
#define COPY_BYTES_1 4
#define COPY_BYTES_2 8
#define COPY_BYTES_4 16

static inline void copy_slice(__local float *slice, uint lid,
                              const struct lines *from)
{
    #pragma unroll
    for (uint j = 0; j < NA; j++)
        XL_COPY(COPY_BYTES(VA), slice + A_AT(lid + j * NT), from->a[j]);
    #pragma unroll
    for (uint j = 0; j < NB; j++)
        XL_COPY(COPY_BYTES(VB), slice + B_AT(lid + j * NT), from->b[j]);
}
#else
static inline void load_slice(struct vectors *v, const struct lines *from)
{
    #pragma unroll
    for (uint j = 0; j < NA; j++)
        v->a[j] = LOADVA(VA, TA, from->a[j], 0);
    #pragma unroll
    for (uint j = 0; j < NB; j++)
        v->b[j] = LOADVA(VB, TB, from->b[j], 0);
}
#endif

/* A and B are not restrict, nor is C: compilers move loads of memory that
 * nothing can write as late as possible, behind the barrier that they precede
 * (NV-39). */
__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) XL_OF_WIDTH void
gemm_simt(__global const ELEM(TA) *a, ulong off_a, ulong sx_a, ulong sk_a,
          __global const ELEM(TB) *b, ulong off_b, ulong sx_b, ulong sk_b,
          TILE_PARAMS)
{
    __local float slices[ST * SLICE] __attribute__((aligned(16)));
    GEMM_GUARDED;
    const uint lid = (uint)get_local_id(0);
    const uint2 at = item_position(lid);
    const uint rest_k = (uint)((k - 1) % TK) + 1;
    struct share w = FIRST_SHARE;
    uint slot = 0;
    /* One scalar less to keep for each matrix: those of a batch with two axes
     * and CUT fill the registers of some devices. */
    a += off_a;
    b += off_b;
    c += off_c;

    if (!FIND_WORK(w, true))
        return;
    do {
        const struct tile p = locate_tile(w.tile, tiles_m, tiles_n, m, n);
        CLIP_TILE(p);
        const uint depth = w.unit == 0 ? rest_k : TK;
        const ulong k0 = w.unit == 0 ? 0 : rest_k + (w.unit - 1) * TK;
        const ulong from_a = GEMM_AT_A(p.z) + p.m0 * sx_a + k0 * sk_a;
        const ulong from_b = GEMM_AT_B(p.z) + p.n0 * sx_b + k0 * sk_b;
        struct lines from;
        struct vectors next;
        struct values values[2];
        SUM sum[RM][RN];
        #pragma unroll
        for (uint j = 0; j < NA; j++) {
            const uint i = lid + j * NT;
            from.a[j] = a + from_a + A_K(i) * (IDX)A_STEP +
                        A_FROM(p, i) * (IDX)sx_a;
        }
        #pragma unroll
        for (uint j = 0; j < NB; j++) {
            const uint i = lid + j * NT;
            from.b[j] = b + from_b + B_K(i) * (IDX)B_STEP +
                        B_FROM(p, i) * (IDX)sx_b;
        }
        load_first(&next, &from, lid, depth, sk_a, sk_b);
        store_slice(slices + slot, lid, &next);
#if COPY == 2
        uint filled = slot;
        #pragma unroll
        for (uint s = 1; s < AHEAD; s++) {
            filled = AFTER(filled);
            if (s < w.n) {
                copy_slice(slices + filled, lid, &from);
                advance_lines(&from, sk_a, sk_b);
            }
            XL_COPY_CLOSE();
        }
#else
        if (w.n > 1)
            load_slice(&next, &from);
#endif

        /* Values of a slice before the first, so that the loop multiplies the
         * last step of every slice alike: zeros. */
        clear_sums(sum);
        clear_values(&values[1]);

        for (uint left = (uint)w.n - 1;; left--) {
            __local const float *rows = slices + slot + at.y * QM;
            __local const float *cols = slices + slot + TK * LA + at.x * QN;
            /* The slice has arrived, and all items are done with the one
             * before, whose slot is written next, by the next tile too. */
            barrier(CLK_LOCAL_MEM_FENCE);
            fetch_values(&values[0], rows, cols);
#if COPY == 2
            filled = AFTER(filled);
            if (left >= AHEAD)
                copy_slice(slices + filled, lid, &from);
            XL_COPY_CLOSE();
#endif
            multiply_values(sum, &values[1]);
            #pragma unroll
            for (uint l = 0; l < TK - 1; l++) {
                fetch_values(&values[(l + 1) % 2], rows + (l + 1) * LA,
                             cols + (l + 1) * LB);
                multiply_values(sum, &values[l % 2]);
            }
            slot = AFTER(slot);
            if (left == 0)
                break;
            advance_lines(&from, sk_a, sk_b);
#if COPY == 2
            XL_COPY_WAIT(ST - 2);
#else
            store_slice(slices + slot, lid, &next);
            if (left > 1)
                load_slice(&next, &from);
#endif
        }
        multiply_values(sum, &values[1]);

#if CUT
        if (w.n < units) {
            KEEP_PART(w.part);
            continue;
        }
#endif
        STORE_SUMS;
    } while (FIND_WORK(w, NEXT_SHARE(w)));
}
