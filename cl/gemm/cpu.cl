/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) on devices whose work-items
 *               are whole threads with vector registers, as BLAS libraries for
 *               CPUs do: operands are packed for each cache, sums stay in
 *               registers.
 *
 *                 gemm_cpu_pack   FORM 1: B -> panels of RN columns
 *                 gemm_cpu        a group per block of C:
 *                   for each slice of k: pack A, panels of RM rows
 *                     for each panel of B: FORM 2: pack WIDE; FORM 3: in place
 *                       for each panel of A:
 *                         RM x RN sums in registers += its steps
 *                         C = alpha sums + beta C, later C += alpha sums
 *
 *               Sums of i8 are whole numbers below 2^24 in f32, as long as TK
 *               is at most 1024, and then join as int.
 * Arguments     memory, then sizes in one struct. A and B: base, offset,
 *               stride along the dimension shared with C (x) and along k; C:
 *               base, offset, strides. scratch: panels of B, ceil(n / RN) k RN
 *               values, those of the next product `panels` further; at `keep`
 *               sums of m x ld, where C itself cannot hold sums between slices
 *               of k (KEEP); NULL where neither is. slice: steps of k that are
 *               taken together, at most TK. groups_m, groups_n: blocks of C
 *               along m and n, as even as panels allow, none of more than TM
 *               rows. The rest: gemm/gemm.clh
 * Launch        local (1, 1); gemm_cpu_pack: `blocks` groups to each SLAB of
 *               k, times products, one if all share B; gemm_cpu: a group per
 *               block of C, those of the same rows in a row, times products
 * Local memory  gemm_cpu: TM TK values unless PLACE, TK RN WIDE more for FORM 2
 * -D            STEP 1 packs, 2 multiplies; FORM; TM, a multiple of RM; TK; RM
 *               4 or 8; RN, a multiple of 8 and of XL_VW; XL_VW 4, 8 or 16: a
 *               vector; UA, UB: contiguous along k (0), across (1), neither
 *               (2); UC: rows of C contiguous (1); PLACE 1: A is not packed
 *               but read in place, FORM 3: B likewise, which has UB 1 and n of
 *               RN or more (f32, f64); KEEP 1: sums are kept in scratch;
 *               WIDE: panels that FORM 2 packs together, row by row; more than
 *               one with UB 1 alone; TA, TC, TY, BATCH, OWN_ROWS, EPILOGUE:
 *               gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 m n k flop; FORM 1: A once for each block along n, B twice
 *               and its panels once for each block along m; FORM 2, 3: B once
 *               for each block along m; PLACE: A once for each RN columns
 * Source        Goto, van de Geijn 2008, section 4 */
#ifndef XL_VW
#define XL_VW 4
#endif
#include "gemm/tile_store.clh"

#ifndef TM
#define TM 32
#define TK 32
#endif
#ifndef STEP
#define STEP 2
#endif
#ifndef FORM
#define FORM 1
#endif
#ifndef UA
#define UA 0
#endif
#ifndef UB
#define UB 1
#endif
#ifndef PLACE
#define PLACE 0
#endif
#ifndef WIDE
#define WIDE 1
#endif

#define SLAB 64
#define FETCH 12
#define WHOLE_THREAD __attribute__((reqd_work_group_size(1, 1, 1)))

#if FORM == 2
#define PANEL __local
#else
#define PANEL __global
#endif

/* First line of the i-th of `blocks` blocks of `size` lines; blocks are as
 * even as whole panels allow. */
static inline ulong block_at(const ulong i, const ulong size,
                             const uint panel, const ulong blocks)
{
    return min(size, i * ((size + panel - 1) / panel) / blocks * panel);
}

#if STEP == 1 || FORM == 2
PACK(pack_b, RN, 8, XL_VW, UB, PANEL)
#endif

#if STEP == 1
struct pack_sizes {
    ulong off_b, sx, sk, n, k, blocks, panels;
};

__kernel WHOLE_THREAD void
gemm_cpu_pack(__global const ELEM(TA) *restrict b, __global real *restrict to,
              const struct pack_sizes t, GEMM_LAST_PARAMS)
{
    const ulong k0 = xl_group_id(0) / t.blocks * SLAB, z = xl_group_id(1);
    const ulong block = xl_group_id(0) % t.blocks;
#if OWN_ROWS
    if (rows[rows_at + z] == 0)
        return;
#endif
    const ulong n1 = block_at(block + 1, t.n, RN, t.blocks);
    const uint depth = (uint)min((ulong)SLAB, t.k - k0);
    b += t.off_b + GEMM_AT_B(z) + k0 * t.sk;
    to += z * t.panels + k0 * RN;
    for (ulong j = block_at(block, t.n, RN, t.blocks); j < n1; j += RN)
        pack_b(b + j * t.sx, t.sx, t.sk, (uint)min((ulong)RN, t.n - j), depth,
               to + j * t.k);
}
#endif

#if STEP == 2
#if RM == 4
PACK(pack_a, 4, 4, 4, UA, __local)
#else
PACK(pack_a, 8, 8, 8, UA, __local)
#endif

#if WIDE > 1
/* Packs whole panels: a row is read on, over all of them (CP-45). */
static inline void pack_wide(__global const ELEM(TA) *restrict b,
                             const ulong sk, const uint panels,
                             const uint depth, __local real *restrict to)
{
    for (uint l = 0; l < depth; l++, b += sk, to += RN) {
        for (uint w = 0; w < panels; w++) {
            #pragma unroll
            for (uint v = 0; v < RN; v += XL_VW)
                XL_CAT(vstore, XL_VW)(PACK_LOAD(XL_VW, b, w * RN + v), 0,
                                      to + w * TK * RN + v);
        }
    }
}
#endif

/* Element r of a panel of A, `u` steps from here; advance by n steps. */
#if PLACE
struct lines {
    __global const ELEM(TA) *line[RM];
    ulong step, at;
};
#define A_AT(a, r, u) a.line[r][a.at + (u) * a.step]
#define A_GO(a, n) a.at += (n) * a.step
#else
struct lines {
    __local const real *at;
};
#define A_AT(a, r, u) a.at[(u) * RM + r]
#define A_GO(a, n) a.at += (n) * RM
#endif

/* Adds one step of k. next: elements from a row of B to the next one. */
static inline void one_step(const struct lines a, const uint u,
                            PANEL const real *b, const ulong next,
                            vec sum[RM][NV])
{
    vec line[NV];
    #pragma unroll
    for (uint v = 0; v < NV; v++)
        line[v] = XL_CAT(vload, XL_VW)(v, b + u * next);
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            sum[r][v] = MUL_ADD((vec)(A_AT(a, r, u)), line[v], sum[r][v]);
    }
}

/* sum += A B over `depth` steps. In the loop it prefetches memory from `soon` on,
 * `ahead` values every four steps; rows of B that are read in place, and are
 * far from each other, a few steps before they are used. */
static inline void multiply(struct lines a, PANEL const real *b,
                            const ulong next, const uint depth,
                            PANEL const real *soon, const uint ahead,
                            vec sum[RM][NV])
{
    uint l = 0;
    for (; l + 4 <= depth; l += 4) {
#if FORM == 1
        XL_AHEAD(soon);
        soon += ahead;
#elif FORM == 3
        #pragma unroll
        for (uint u = FETCH; u < FETCH + 4; u++) {
            XL_AHEAD(b + u * next);
            XL_AHEAD(b + u * next + RN / 2);
        }
#endif
        one_step(a, 0, b, next, sum);
        one_step(a, 1, b, next, sum);
        one_step(a, 2, b, next, sum);
        one_step(a, 3, b, next, sum);
        A_GO(a, 4);
        b += 4 * next;
    }
    for (; l < depth; l++) {
        one_step(a, 0, b, next, sum);
        A_GO(a, 1);
        b += next;
    }
}

struct sizes {
    ulong off_a, sx_a, sk_a, off_b, sx_b, sk_b, off_c, rs_c, cs_c, m, n, k;
    ulong slice, groups_m, groups_n, panels, keep, ld;
};

__kernel WHOLE_THREAD void
gemm_cpu(__global const ELEM(TA) *restrict a,
         __global const ELEM(TA) *restrict b, __global real *restrict scratch,
         __global ELEM(TC) *restrict c, const struct sizes t,
         GEMM_LAST_PARAMS)
{
#if !PLACE
    __local real la[TM * TK] __attribute__((aligned(64)));
#endif
#if FORM == 2
    __local real lb[WIDE * TK * RN] __attribute__((aligned(64)));
#endif
    const ulong g_m = xl_group_id(0) / t.groups_n, z = xl_group_id(1);
    const ulong g_n = xl_group_id(0) % t.groups_n;
    const ulong m0 = block_at(g_m, t.m, RM, t.groups_m);
    const ulong n0 = block_at(g_n, t.n, RN, t.groups_n);
    const ulong block_m = block_at(g_m + 1, t.m, RM, t.groups_m) - m0;
    const ulong block_n = block_at(g_n + 1, t.n, RN, t.groups_n) - n0;
    const uint height = (uint)GEMM_USED_M(z, m0, block_m);
    const ulong n1 = n0 + GEMM_USED_N(z, n0, block_n);
#if OWN_ROWS
    if (height == 0)
        return;
#endif
    a += t.off_a + GEMM_AT_A(z) + m0 * t.sx_a;
    const ulong at_c = t.off_c + GEMM_AT_C(z) + m0 * t.rs_c;

    for (ulong k0 = 0; k0 < t.k; k0 += t.slice, a += t.slice * t.sk_a) {
        const uint depth = (uint)min(t.slice, t.k - k0);
#if !PLACE
        for (uint i = 0; i < height; i += RM)
            pack_a(a + i * t.sx_a, t.sx_a, t.sk_a, min((uint)RM, height - i),
                   depth, la + i * TK);
#endif
        for (ulong j = n0; j < n1; j += RN) {
            const uint cols = (uint)min(t.n - j, (ulong)RN);
            const uint used = (uint)min(n1 - j, (ulong)cols);
            const uint skip = FORM == 3 ? RN - cols : 0;
            const ulong next = FORM == 3 ? t.sk_b : RN;
#if FORM == 2
            const uint w = (uint)((j - n0) / RN) % WIDE;
            __local real *const room = lb + w * TK * RN;
            __local const real *panel = room, *soon = room;
            __global const ELEM(TA) *const from_b =
                b + t.off_b + GEMM_AT_B(z) + j * t.sx_b + k0 * t.sk_b;
#if WIDE > 1
            if (w == 0)
                pack_wide(from_b, t.sk_b,
                          (uint)min((n1 - j) / RN, (ulong)WIDE),
                          depth, lb);
            if (used < RN)
#endif
            pack_b(from_b, t.sx_b, t.sk_b, cols, depth, room);
#elif FORM == 3
            __global const real *panel =
                b + t.off_b + GEMM_AT_B(z) + j - skip + k0 * t.sk_b;
            __global const real *soon = panel;
#else
            __global const real *panel =
                scratch + z * t.panels + j * t.k + k0 * RN;
            __global const real *soon = panel + RN * t.k;
#endif
            const uint ahead = RN * 4 / ((height + RM - 1) / RM);
            for (uint i = 0; i < height; i += RM, soon += ahead * (depth / 4)) {
                const struct tile p = {
                    c, at_c + i * t.rs_c + (j - skip) * t.cs_c, t.rs_c,
                    t.cs_c, z, m0 + i, j - skip,
                    (__global SUM *)(scratch + t.keep) +
                        (z * t.m + m0 + i) * t.ld + j,
                    t.ld, height - i, used + skip, skip, k0 == 0,
                    k0 + t.slice >= t.k};
                struct lines from;
                vec sum[RM][NV];
#if PLACE
                from.at = 0;
                from.step = UA == 0 ? 1 : t.sk_a;
                #pragma unroll
                for (uint r = 0; r < RM; r++)
                    from.line[r] = a + min(i + r, height - 1) * t.sx_a;
#else
                from.at = la + i * TK;
#endif
                clear_sums(&p, sum);
                multiply(from, panel, next, depth, soon, ahead, sum);
                store_sums(&p, sum, GEMM_STORE_ARGS);
            }
        }
    }
}
#endif
