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
 *               CUT: from tile `whole` on, slices of all tiles in sequence are
 *               divided evenly among groups. A group with a part of a tile
 *               writes its sums to scratch, and gemm_tiled_join (STEP 2) adds
 *               the parts in order of k:
 *
 *                 tiles   |   0   |   1   |   2   |   units slices each
 *                 groups  |  0 |  1  |  2 |  3  |   part p of tile t: p + t
 * Arguments     each matrix: base, offset, stride across (m or n), stride
 *               along k, in elements; C: row stride, column stride.
 *               m, n, k; number of tiles along m and n; with CUT: sums (TM TN
 *               to a part), whole, units, and the slices of a group: `each`,
 *               one more in the first `extra`. The rest: gemm/gemm.clh
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
#ifndef GR
#define GR 8
#endif
#ifndef CUT
#define CUT 0
#endif
#ifndef STEP
#define STEP 1
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
#if VC > 1
#define XL_VW VC
#else
#define XL_VW 2
#endif
#include "gemm/gemm.clh"

#define WX (TN / RN)
#define WY (TM / RM)
#define NT (WX * WY)

/* Values in 16 bytes: rows and columns of an item come in such groups, and
 * lines of a slice that is transposed while it is copied are so much longer. */
#if TS == 3
#define QUAD 2
#else
#define QUAD 4
#endif
#if RM < QUAD
#define QM RM
#else
#define QM QUAD
#endif
#if RN < QUAD
#define QN RN
#else
#define QN QUAD
#endif
#define ROW(r) ((r) / QM * (TM * QM / RM) + (r) % QM)
#define COL(r) ((r) / QN * (TN * QN / RN) + (r) % QN)

/* -- where things are ----------------------------------------------------- */

#if CUT
#define CUT_PARAMS                                                            \
    , __global SUM *restrict sums, uint whole, ulong units, ulong each,       \
        uint extra
#else
#define CUT_PARAMS
#endif
#define TILE_PARAMS                                                           \
    __global ELEM(TC) *restrict c, ulong off_c, ulong rs_c, ulong cs_c,       \
        ulong m, ulong n, ulong k, uint tiles_m, uint tiles_n CUT_PARAMS,     \
        GEMM_LAST_PARAMS

/* A tile: whose product, and what is left of the matrix from it on. */
struct tile {
    uint z;
    ulong m0, n0;
    uint rest_m, rest_n;
};

/* Products one after the other; in each, bands of GR tile rows, column by
 * column: groups that run at the same time share rows of A and columns of B in
 * the cache. */
static inline struct tile locate_tile(uint tile, uint tiles_m, uint tiles_n,
                                      ulong m, ulong n)
{
    struct tile p;
#if BATCH
    p.z = tile / (tiles_m * tiles_n);
    tile -= p.z * (tiles_m * tiles_n);
#else
    p.z = 0;
#endif
    const uint band = tile / (GR * tiles_n);
    const uint in_band = tile - band * GR * tiles_n;
    const uint height = min((uint)GR, tiles_m - band * GR);
    const uint col = in_band / height;
    p.m0 = (ulong)(band * GR + in_band - col * height) * TM;
    p.n0 = (ulong)col * TN;
    p.rest_m = (uint)min((ulong)TM, m - p.m0);
    p.rest_n = (uint)min((ulong)TN, n - p.n0);
    return p;
}

/* The item's place in the group. */
static inline uint2 item_position(uint lid)
{
#if WX % 8 == 0 && WY % 4 == 0
    const uint lane = lid % 32, patch = lid / 32;
    return (uint2)(patch % (WX / 8) * 8 + lane / 8 * 2 + lane % 2,
                   patch / (WX / 8) * 4 + lane / 2 % 4);
#else
    return (uint2)(lid % WX, lid / WX);
#endif
}

/* The group's number, the same for all of its items as the compiler sees it:
 * fewer than 2^31 are launched. */
#define GROUP ((uint)xl_group_id(0))

/* -- C -------------------------------------------------------------------- */

/* Vectors of C, and their parts in the accumulators. */
#define PACK1(f) ((f)[0])
#define PACK2(f) ((SUMV(2))((f)[0], (f)[1]))
#define PACK4(f) ((SUMV(4))((f)[0], (f)[1], (f)[2], (f)[3]))

/* An item's sums of one row; c and `at`: where the tile begins. */
static inline void store_row(__global ELEM(TC) *c, ulong at, ulong rs_c,
                             ulong cs_c, const struct tile *p, uint row,
                             uint tx, const SUM *sum, GEMM_STORE_PARAMS)
{
    #pragma unroll
    for (uint s = 0; s < RN; s += VC) {
        const uint col = tx * QN + COL(s);
        if (row < p->rest_m && col < p->rest_n) {
            const ulong to = at + row * rs_c + col * cs_c;
            GEMM_STORE(VC, A, c, to,
                       GEMM_YA(VC, XL_CAT(PACK, VC)(sum + s), c, to), p->z,
                       p->m0 + row, p->n0 + col);
        }
    }
}

#define SUMS_AT(part, r, s)                                                   \
    ((ulong)(part) * (TM * TN) + ((r) * RN + (s)) * NT + get_local_id(0))

/* -- parts of tiles ------------------------------------------------------- */

/* What a group does next: `n` slices of a tile from the `unit`-th on, `left`
 * more of the tiles behind it. */
struct share {
    uint tile, part;
    ulong unit, n, left;
};

#if CUT
#define FIRST_SHARE first_share(GROUP, whole, units, each, extra)
#define NEXT_SHARE(w) next_share(&(w), units)

static inline struct share first_share(uint group, uint whole, ulong units,
                                       ulong each, uint extra)
{
    struct share w = {group, 0, 0, units, 0};
    if (group >= whole) {
        const uint p = group - whole;
        const ulong begin = p * each + min(p, extra);
        const ulong n = each + (p < extra);
        const uint tile = (uint)(begin / units);
        w.tile = whole + tile;
        w.part = p + tile;
        w.unit = begin - tile * units;
        w.n = min(n, units - w.unit);
        w.left = n - w.n;
    }
    return w;
}

static inline bool next_share(struct share *w, ulong units)
{
    const bool more = w->left > 0;
    w->tile++;
    w->part++;
    w->unit = 0;
    w->n = min(w->left, units);
    w->left -= w->n;
    return more;
}
#else
#define FIRST_SHARE {GROUP, 0, 0, (k - 1) / TK + 1, 0}
#define NEXT_SHARE(w) false
#endif

#include "gemm/own_rows.clh"

#if STEP == 1
/* -- slices --------------------------------------------------------------- */

/* Loads an item makes of a slice, and place of the i-th vector in it. What is
 * contiguous along k is loaded eight values of a line at a time: whole sectors
 * of memory, and no two lanes meet in a bank when the vector goes down a
 * column of the slice. */
#define NA (TM * TK / (VA * NT))
#define NB (TN * TK / (VB * NT))
#define RUN (TK < 8 ? TK : 8)
#define X_ALONG(i, T, V) ((i) / (RUN / (V)) % (T))
#define K_ALONG(i, T, V)                                                      \
    ((i) % (RUN / (V)) * (V) + (i) / (RUN / (V) * (T)) * RUN)
#define X_ACROSS(i, T, V) ((i) % ((T) / (V)) * (V))
#define K_ACROSS(i, T, V) ((i) / ((T) / (V)))
#if UA == 0
#define PA QUAD
#define A_X(i) X_ALONG(i, TM, VA)
#define A_K(i) K_ALONG(i, TM, VA)
#define A_LAST(rest) ((rest) - 1)
#define A_PUT(d, v) XL_CAT(SPREAD, VA)(d, LA, v)
#else
#define PA 0
#define A_X(i) X_ACROSS(i, TM, VA)
#define A_K(i) K_ACROSS(i, TM, VA)
#define A_LAST(rest) ((rest) - VA)
#define A_PUT(d, v) (*(__local VALUEV(VA, TS) *)(d) = (v))
#endif
#if UB == 0
#define PB QUAD
#define B_X(i) X_ALONG(i, TN, VB)
#define B_K(i) K_ALONG(i, TN, VB)
#define B_LAST(rest) ((rest) - 1)
#define B_PUT(d, v) XL_CAT(SPREAD, VB)(d, LB, v)
#else
#define PB 0
#define B_X(i) X_ACROSS(i, TN, VB)
#define B_K(i) K_ACROSS(i, TN, VB)
#define B_LAST(rest) ((rest) - VB)
#define B_PUT(d, v) (*(__local VALUEV(VB, TS) *)(d) = (v))
#endif
#define LA (TM + PA)
#define LB (TN + PB)
/* Of the i-th vector of tile p: its row (column) there, and its values. */
#define A_FROM(p, i) min((uint)A_X(i), (uint)A_LAST((p).rest_m))
#define B_FROM(p, i) min((uint)B_X(i), (uint)B_LAST((p).rest_n))
#define A_LOAD(p, i, at, k)                                                   \
    GEMM_SCALED_A(VA, UA == 1, LOADVA(VA, TA, ga, at), (p).m0 + A_FROM(p, i), \
                  (k) + A_K(i))
#define B_LOAD(p, i, at, k)                                                   \
    GEMM_SCALED_B(VB, UB == 1, LOADVA(VB, TB, gb, at), (p).n0 + B_FROM(p, i), \
                  (k) + B_K(i))

/* A vector along k is stored to a column of the slice. */
#define SPREAD1(d, ld, v) ((d)[0] = (v))
#define SPREAD2(d, ld, v) ((d)[0] = (v).s0, (d)[ld] = (v).s1)
#define SPREAD4(d, ld, v)                                                     \
    ((d)[0] = (v).s0, (d)[ld] = (v).s1, (d)[2 * (ld)] = (v).s2,               \
     (d)[3 * (ld)] = (v).s3)

#define UNPACK1(f, v) ((f)[0] = (v))
#define UNPACK2(f, v) ((f)[0] = (v).s0, (f)[1] = (v).s1)
#define UNPACK4(f, v)                                                         \
    ((f)[0] = (v).s0, (f)[1] = (v).s1, (f)[2] = (v).s2, (f)[3] = (v).s3)
#define FETCH(Q, f, p)                                                        \
    do {                                                                      \
        const VALUEV(Q, TS) q_ = *(__local const VALUEV(Q, TS) *)(p);         \
        XL_CAT(UNPACK, Q)(f, q_);                                             \
    } while (0)

typedef VALUEV(1, TS) value;

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
        #pragma unroll
        for (uint r = 0; r < RM; r++) {
            #pragma unroll
            for (uint s = 0; s < RN; s++)
                sum[r][s] = 0;
        }

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
                value fa[RM], fb[RN];
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
                        sum[r][s] = MUL_ADD(fa[r], fb[s], sum[r][s]);
                }
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
            #pragma unroll
            for (uint r = 0; r < RM; r++) {
                #pragma unroll
                for (uint s = 0; s < RN; s++)
                    sums[SUMS_AT(w.part, r, s)] = sum[r][s];
            }
            continue;
        }
#endif
        const ulong to = GEMM_AT_C(p.z) + p.m0 * rs_c + p.n0 * cs_c;
        #pragma unroll
        for (uint r = 0; r < RM; r++)
            store_row(c, to, rs_c, cs_c, &STORED, at.y * QM + ROW(r), at.x,
                      sum[r], GEMM_STORE_ARGS);
    } while (FIND_WORK(w, NEXT_SHARE(w)));
}

#else
/* -- the join ------------------------------------------------------------- */

/* The group that computes a slice, counted over all tiles that are cut. */
static inline uint group_of(ulong unit, ulong each, uint extra)
{
    const ulong longer = extra * (each + 1);
    return (uint)(unit < longer ? unit / (each + 1)
                                : extra + (unit - longer) / each);
}

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
