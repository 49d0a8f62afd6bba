/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = alpha A B + beta C, a TM x TN tile of C per work-group, an
 *               RM x RN part of it in each item's registers. Slices of A and
 *               B, TK deep, pass through local memory as floats:
 *
 *                           TN                 items of a group, 32 at a time
 *                      +---------+             in patches of 4 x 8; an item
 *                  TK  |  B [k]  |             has quads of rows TM/2 apart
 *                 TK   +---------+             and of columns TN/4 apart, so
 *               +-----++---------+             reads of local memory are
 *            TM |A [k]||    C    |             16 bytes wide and neighbours
 *               +-----++---------+             share them
 *
 *               The next slice is loaded into registers while the last one is
 *               multiplied. The odd rest of k comes first, guarded, so the
 *               loop carries no guards; rows and columns past the edge repeat
 *               the last one and are not stored.
 * Arguments     each matrix: base, offset, stride across (m or n), stride
 *               along k, in elements; C: row stride, column stride.
 *               m, n, k; number of tiles along m and n; alpha, beta
 *               (0: C is not read)
 * Launch        local TM TN / (RM RN), global that times the tiles, 1-D
 * Local memory  4 ST TK (TM + PA + TN + PB) bytes, PA = 4 where UA = 0
 * -D            TM TN TK, RM RN (1, 2, 4, 8, 16) dividing TM TN;
 *               ST slices kept (1, 2); GR tile rows walked together;
 *               TA, TC dtypes (types.clh);
 *               UA, UB contiguous along k (0), across (1), neither (2);
 *               VA, VB, VC vector widths (1, 2, 4): dividing the contiguous
 *               size, with aligned lines; VC > 1 needs rows of C contiguous.
 *               TM TK and TN TK are multiples of V times the items.
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read
 * Source        NV-23 (tiles, bands); the lane map lets neighbours' 16-byte
 *               reads of local memory merge for both operands */
#include "types.clh"

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
#ifndef GR
#define GR 8
#endif
#ifndef TA
#define TA 0
#endif
#ifndef TC
#define TC 0
#endif
#ifndef UA
#define UA 0
#define UB 1
#endif
#ifndef VA
#define VA 1
#define VB 1
#define VC 1
#endif

#define WX (TN / RN)
#define WY (TM / RM)
#define NT (WX * WY)

/* Loads an item makes of a slice, and place of the i-th vector in it. */
#define NA (TM * TK / (VA * NT))
#define NB (TN * TK / (VB * NT))
#if UA == 0
#define PA 4
#define A_X(i) ((i) / (TK / VA))
#define A_K(i) ((i) % (TK / VA) * VA)
#define A_LAST(rest) ((rest) - 1)
#define A_PUT(d, v) XL_CAT(SPREAD, VA)(d, LA, v)
#else
#define PA 0
#define A_X(i) ((i) % (TM / VA) * VA)
#define A_K(i) ((i) / (TM / VA))
#define A_LAST(rest) ((rest) - VA)
#define A_PUT(d, v) (*(__local FLOATV(VA) *)(d) = (v))
#endif
#if UB == 0
#define PB 4
#define B_X(i) ((i) / (TK / VB))
#define B_K(i) ((i) % (TK / VB) * VB)
#define B_LAST(rest) ((rest) - 1)
#define B_PUT(d, v) XL_CAT(SPREAD, VB)(d, LB, v)
#else
#define PB 0
#define B_X(i) ((i) % (TN / VB) * VB)
#define B_K(i) ((i) / (TN / VB))
#define B_LAST(rest) ((rest) - VB)
#define B_PUT(d, v) (*(__local FLOATV(VB) *)(d) = (v))
#endif
#define LA (TM + PA)
#define LB (TN + PB)

/* A vector along k goes down a column of the slice. */
#define SPREAD1(d, ld, v) ((d)[0] = (v))
#define SPREAD2(d, ld, v) ((d)[0] = (v).s0, (d)[ld] = (v).s1)
#define SPREAD4(d, ld, v)                                                     \
    ((d)[0] = (v).s0, (d)[ld] = (v).s1, (d)[2 * (ld)] = (v).s2,               \
     (d)[3 * (ld)] = (v).s3)

/* Rows and columns of an item come in groups of at most four. */
#if RM < 4
#define QM RM
#else
#define QM 4
#endif
#if RN < 4
#define QN RN
#else
#define QN 4
#endif
#define ROW(r) ((r) / QM * (TM * QM / RM) + (r) % QM)
#define COL(r) ((r) / QN * (TN * QN / RN) + (r) % QN)
#define UNPACK1(f, v) ((f)[0] = (v))
#define UNPACK2(f, v) ((f)[0] = (v).s0, (f)[1] = (v).s1)
#define UNPACK4(f, v)                                                         \
    ((f)[0] = (v).s0, (f)[1] = (v).s1, (f)[2] = (v).s2, (f)[3] = (v).s3)
#define FETCH(Q, f, p)                                                        \
    do {                                                                      \
        const FLOATV(Q) q_ = *(__local const FLOATV(Q) *)(p);                 \
        XL_CAT(UNPACK, Q)(f, q_);                                             \
    } while (0)

/* Vectors of C, and their parts in the accumulators. */
#if VC > QN
#undef VC
#define VC QN
#endif
#define PACK1(f) ((f)[0])
#define PACK2(f) ((float2)((f)[0], (f)[1]))
#define PACK4(f) ((float4)((f)[0], (f)[1], (f)[2], (f)[3]))

__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) void
gemm_tiled(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
           ulong sk_a, __global const ELEM(TA) *restrict b, ulong off_b,
           ulong sx_b, ulong sk_b, __global ELEM(TC) *restrict c, ulong off_c,
           ulong rs_c, ulong cs_c, ulong m, ulong n, ulong k, uint tiles_m,
           uint tiles_n, float alpha, float beta)
{
    __local float la[ST * TK * LA] __attribute__((aligned(16)));
    __local float lb[ST * TK * LB] __attribute__((aligned(16)));
    const uint lid = (uint)get_local_id(0);

    /* Bands of GR tile rows, walked column by column: groups that run at one
     * time share rows of A and columns of B in the cache. */
    const ulong tile = xl_group_id(0);
    const ulong band = tile / ((ulong)GR * tiles_n);
    const ulong in_band = tile - band * GR * tiles_n;
    const ulong height = min((ulong)GR, tiles_m - band * GR);
    const ulong m0 = (band * GR + in_band % height) * TM;
    const ulong n0 = in_band / height * TN;
    const uint rest_m = (uint)min((ulong)TM, m - m0);
    const uint rest_n = (uint)min((ulong)TN, n - n0);

#if WX % 8 == 0 && WY % 4 == 0
    const uint lane = lid % 32, patch = lid / 32;
    const uint tx = patch % (WX / 8) * 8 + lane / 8 * 2 + lane % 2;
    const uint ty = patch / (WX / 8) * 4 + lane / 2 % 4;
#else
    const uint tx = lid % WX;
    const uint ty = lid / WX;
#endif

    a += off_a + m0 * sx_a;
    b += off_b + n0 * sx_b;
    IDX at_a[NA], at_b[NB];
    FLOATV(VA) next_a[NA];
    FLOATV(VB) next_b[NB];
    const uint rest_k = (uint)((k - 1) % TK) + 1;
    #pragma unroll
    for (uint j = 0; j < NA; j++) {
        const uint i = lid + j * NT;
        at_a[j] = min((uint)A_X(i), (uint)A_LAST(rest_m)) * (IDX)sx_a +
                  A_K(i) * (IDX)sk_a;
        next_a[j] = (FLOATV(VA))(0.0f);
        if (A_K(i) < rest_k)
            next_a[j] = LOADVA(VA, TA, a, at_a[j]);
    }
    #pragma unroll
    for (uint j = 0; j < NB; j++) {
        const uint i = lid + j * NT;
        at_b[j] = min((uint)B_X(i), (uint)B_LAST(rest_n)) * (IDX)sx_b +
                  B_K(i) * (IDX)sk_b;
        next_b[j] = (FLOATV(VB))(0.0f);
        if (B_K(i) < rest_k)
            next_b[j] = LOADVA(VB, TA, b, at_b[j]);
    }
    a += rest_k * sk_a;
    b += rest_k * sk_b;

    float sum[RM][RN];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint s = 0; s < RN; s++)
            sum[r][s] = 0.0f;
    }

    uint slot = 0;
    for (ulong left = (k - rest_k) / TK;; left--) {
        __local float *pa = la + slot * (TK * LA);
        __local float *pb = lb + slot * (TK * LB);
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
                next_a[j] = LOADVA(VA, TA, a, at_a[j]);
            #pragma unroll
            for (uint j = 0; j < NB; j++)
                next_b[j] = LOADVA(VB, TA, b, at_b[j]);
            a += TK * sk_a;
            b += TK * sk_b;
        }
        pa += ty * QM;
        pb += tx * QN;
        #pragma unroll
        for (uint l = 0; l < TK; l++) {
            float fa[RM], fb[RN];
            #pragma unroll
            for (uint r = 0; r < RM; r += QM)
                FETCH(QM, fa + r, pa + l * LA + ROW(r));
            #pragma unroll
            for (uint s = 0; s < RN; s += QN)
                FETCH(QN, fb + s, pb + l * LB + COL(s));
            #pragma unroll
            for (uint r = 0; r < RM; r++) {
                #pragma unroll
                for (uint s = 0; s < RN; s++)
                    sum[r][s] = fma(fa[r], fb[s], sum[r][s]);
            }
        }
        if (left == 0)
            break;
        /* With two slots the barrier above also says that everyone has left
         * the slot that is written next. */
#if ST == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#else
        slot ^= 1;
#endif
    }

    c += off_c + m0 * rs_c + n0 * cs_c;
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        const uint row = ty * QM + ROW(r);
        #pragma unroll
        for (uint s = 0; s < RN; s += VC) {
            const uint col = tx * QN + COL(s);
            if (row < rest_m && col < rest_n) {
                const ulong at = row * rs_c + col * cs_c;
                FLOATV(VC) x = alpha * XL_CAT(PACK, VC)(sum[r] + s);
                if (beta != 0.0f)
                    x = fma((FLOATV(VC))(beta), LOADVA(VC, TC, c, at), x);
                STOREVA(VC, TC, c, at, x);
            }
        }
    }
}
