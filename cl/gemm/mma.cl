/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) on a sub-group's matrix
 *               instructions, a TM x TN tile of C at a time to a work-group
 *               of SM x SN x SK sub-groups. Each has TM / SM x TN / SN sums
 *               in its items' registers, over its part of the depth TK of
 *               every slice of A and B:
 *
 *                           TN
 *                      +----+----+       SM = SN = 2: four sub-groups; with
 *                  TK  |  B [k]  |       SK = 2 four more have the same sums
 *                 TK   +----+----+       over the other half of TK
 *               +-----++----+----+
 *            TM |A [k]||    |    |
 *               |     |+----+----+
 *               |     ||    |    |
 *               +-----++----+----+
 *
 *               ST slots of local memory hold slices: while one is
 *               multiplied the next ST - 1 are being copied from memory, and
 *               a step's fragments are loaded while the last step's are
 *               multiplied. A slice has the operand's layout, so that both
 *               are read and written 16 bytes at a time; operands that the
 *               instructions cannot transpose (i8 across, those with two
 *               strides) are stored along k. Elements past an edge of a
 *               matrix are zeros in local memory, and no memory outside the
 *               matrix is read. Devices without asynchronous copies:
 *               gemm/slice_registers.clh.
 *
 *               At the end the sums pass through local memory too, MMA_M rows
 *               of each sub-group at a time, and rows of C are written in
 *               vectors. CUT: gemm/tile_order.clh; parts of a tile go
 *               to scratch as TM x TN sums, and gemm_mma_join (STEP 2) adds
 *               them in order.
 *               WINDOWS: A (1) or B (2) is gathered from images
 *               (gemm/windows/slices.clh); 3: B^T is, so that a window is a place
 *               along k, and the columns are its elements.
 * Arguments     as gemm/tiled.cl; WINDOWS: A, or B, has struct windows in
 *               place of its strides
 * Launch        local MMA_LANES SM SN SK; global that times the tiles of all
 *               products, or `whole` and the groups behind; the join: that
 *               times TM / (MMA_M SM) and the tiles behind `whole`. 1-D
 * Local memory  the larger of ST TK (TM + TN) elements and SK SM MMA_M
 *               (TN + MMA_C_PAD) sums
 * -D            TM TN TK powers of 2, SM SN SK dividing them into parts of at
 *               least MMA_M, 2 MMA_N, 2 MMA_K; ST 2 and more; GR, CUT:
 *               gemm/tile_order.clh; STEP; TA, TC, TY, BATCH, EPILOGUE:
 *               gemm/gemm.clh;
 *               WINDOWS (of that operand contiguous along k, or across for
 *               3, copies of 16);
 *               UA, UB contiguous along k (0), across (1), neither (2);
 *               VA, VB bytes of a copy (4, 8, 16): lines aligned to them; 0:
 *               elements, of any strides; VC vector width of C (1, 2, 4),
 *               dividing n, with aligned rows; XL_MMA_...: common/matrix.clh;
 *               XL_COPY_...: common/async_copy.clh
 * Needs         a matrix engine, or its emulation, which any device runs
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read; CUT: a
 *               part is written and read once
 * Source        NV-35, NV-36; Osama et al. 2023 (CUT) */
#ifndef TM
#define TM 32
#define TN 32
#define TK 32
#endif
#ifndef SM
#define SM 1
#define SN 2
#define SK 1
#endif
#ifndef ST
#define ST 2
#endif
#ifndef STEP
#define STEP 1
#endif
#ifndef TA
#define TA 1
#endif
#ifndef UA
#define UA 0
#define UB 1
#endif
#ifndef VA
#define VA 16
#define VB 16
#endif
#ifndef VC
#define VC 1
#endif
#ifndef WINDOWS
#define WINDOWS 0
#endif
#if VC > 1
#define XL_VW VC
#else
#define XL_VW 2
#endif
#define MMA_T TA
#include "gemm/gemm.clh"
#include "gemm/tile_order.clh"
#include "common/matrix.clh"
#include "common/async_copy.clh"

#define ITEMS (MMA_LANES * SM * SN * SK)
#define INLINED static inline __attribute__((always_inline))

/* -- C -------------------------------------------------------------------- */

/* A stripe: MMA_M rows of every sub-group along m, the tile's rows that pass
 * through local memory together. */
#define STRIPE (SM * MMA_M)
#define STRIPES (TM / STRIPE)
#define LINE_C (TN + MMA_C_PAD)

/* Row of the tile of row r of the i-th stripe. */
#define ROW(i, r) ((r) / MMA_M * (TM / SM) + (i) * MMA_M + (r) % MMA_M)
#define PART_AT(part, row, col)                                               \
    ((ulong)(part) * (TM * TN) + (row) * TN + (col))

/* c, at: the tile's first element. */
INLINED void store_vector(__global ELEM(TC) *c, const ulong at,
                          const ulong rs_c, const ulong cs_c,
                          const struct tile *p, const uint row, const uint col,
                          const SUMV(VC) x, GEMM_STORE_PARAMS)
{
    if (row < p->rest_m && col < p->rest_n) {
        const ulong to = at + row * rs_c + col * cs_c;
        GEMM_STORE(VC, A, c, to, GEMM_YA(VC, x, c, to), p->z, p->m0 + row,
                   p->n0 + col);
    }
}
#define TILE_AT(p) (off_c + GEMM_AT_C((p).z) + (p).m0 * rs_c + (p).n0 * cs_c)

#if STEP == 1
/* -- slices --------------------------------------------------------------- */

/* Elements as they are copied. */
#define BITS_1 uchar
#define BITS_2 ushort
#define BITS_4 uint
#define BITS XL_CAT(BITS_, ELEM_BYTES(TA))

/* A sub-group's fragments, and its steps through a slice. */
#define MI (TM / SM / MMA_M)
#define NI (TN / SN / MMA_N)
#define KI (TK / SK / MMA_K)

#ifdef MMA_VIA_REGISTERS
#define ACROSS_A 0
#define ACROSS_B 0
#else
#define ACROSS_A (UA == 1 && ELEM_BYTES(TA) > 1)
#define ACROSS_B (UB == 1 && ELEM_BYTES(TA) > 1)
#endif
#if ACROSS_A
#define LINE_A (TM * ELEM_BYTES(TA))
#define LINES_A TK
#define LOAD_A mma_load_a_across
#else
#define LINE_A (TK * ELEM_BYTES(TA))
#define LINES_A TM
#define LOAD_A mma_load_a_along
#endif
#if ACROSS_B
#define LINE_B (TN * ELEM_BYTES(TA))
#define LINES_B TK
#define LOAD_B mma_load_b_across
#else
#define LINE_B (TK * ELEM_BYTES(TA))
#define LINES_B TN
#define LOAD_B mma_load_b_along
#endif
#define SLICE_A (LINE_A * LINES_A)
#define SLICE_B (LINE_B * LINES_B)
#define SLICES (ST * (SLICE_A + SLICE_B))
#define ROOM_C (SK * STRIPE * LINE_C * 4)
#define ROOM (SLICES > ROOM_C ? SLICES : ROOM_C)

#define EACH (16 / ELEM_BYTES(TA))
/* Chunks of 16 bytes are assigned to items cyclically, so that an item has the
 * same position in lines a fixed number apart. */
#define CHUNKS(LINE) ((LINE) / 16)
#define LINE_OF(LINE) ((uint)get_local_id(0) / CHUNKS(LINE))
#define ELEM_OF(LINE) ((uint)get_local_id(0) % CHUNKS(LINE) * EACH)
#ifdef MMA_VIA_REGISTERS
#include "gemm/slice_registers.clh"
#else
#define TURN_A 0
#define TURN_B 0
/* Copies 16 bytes to `to`: the first n elements of a line, `step` apart, and
 * zeros. V: bytes of a copy, 0: by elements. */
INLINED void copy_chunk(const uint V, __local uchar *to,
                        __global const BITS *from, const ulong step,
                        const uint n)
{
    __local BITS *const at = (__local BITS *)to;
    const uint bytes = n * ELEM_BYTES(TA);
    if (V == 16) {
        XL_COPY_PART(16, to, from, bytes);
    } else if (V == 8) {
        #pragma unroll
        for (uint i = 0; i < 16; i += 8)
            XL_COPY_PART(8, to + i, from + i / ELEM_BYTES(TA),
                         min(8u, max(bytes, i) - i));
    } else if (V == 4) {
        #pragma unroll
        for (uint i = 0; i < 16; i += 4)
            XL_COPY_PART(4, to + i, from + i / ELEM_BYTES(TA),
                         min(4u, max(bytes, i) - i));
    } else {
        BITS bits[EACH];
        #pragma unroll
        for (uint i = 0; i < EACH; i++) {
            bits[i] = 0;
            if (i < n)
                bits[i] = from[i * step];
        }
        #pragma unroll
        for (uint i = 0; i < EACH; i++)
            at[i] = bits[i];
    }
}

/* Copies a slice. apart: stride of lines in
 * memory; step: of elements; lines, elems: lines of the matrix, elements of a
 * line, from the slice on. from: the item's first chunk. */
#define COPY_SLICE(name, V, AT, LINE, LINES)                                  \
    INLINED void name(__local uchar *slice, __global const BITS *from,        \
                      const ulong apart, const ulong step, const uint lines,  \
                      const uint elems)                                       \
    {                                                                         \
        const uint i0 = LINE_OF(LINE), chunk = ELEM_OF(LINE) / EACH;          \
        const uint rest = max(elems, ELEM_OF(LINE)) - ELEM_OF(LINE);          \
        const uint n = min((uint)EACH, rest);                                 \
        const uint every = ITEMS / CHUNKS(LINE);                              \
        _Pragma("unroll") for (uint j = 0; j * every < LINES; j++)            \
        {                                                                     \
            const uint i = i0 + j * every;                                    \
            if (LINES % every == 0 || i < LINES)                              \
                copy_chunk(V,                                                 \
                           slice + (every % 8 == 0 ? AT(LINE, i0, chunk) +    \
                                                         j * every * LINE     \
                                                   : AT(LINE, i, chunk)),     \
                           from, step, i < lines ? n : 0);                    \
            from += every * apart;                                            \
        }                                                                     \
    }
#endif

#if WINDOWS
#include "gemm/windows/slices.clh"
#endif

/* Copies an operand's next slice; its first element in the tile p. */
#if WINDOWS == 1
#define COPY_A(depth, to)                                                     \
    gather_slice(&gathered, &images, ga, to, (uint)k - rest_k, (uint)k)
#define A_PARAMS                                                              \
    __global const BITS *restrict a, ulong off_a, struct windows images
#define AT_A(k0) (off_a + GEMM_AT_A(p.z))
#else
#define COPY_A(depth, to)                                                     \
    do {                                                                      \
        copy_slice_a(to, ga, APART_A, STEP_A, LEFT_A(depth));                 \
        ga += TK * sk_a;                                                      \
    } while (0)
#define A_PARAMS                                                              \
    __global const BITS *restrict a, ulong off_a, ulong sx_a, ulong sk_a
#define AT_A(k0)                                                              \
    (off_a + GEMM_AT_A(p.z) + p.m0 * sx_a + (k0) * sk_a + FIRST_A)
#endif
#if WINDOWS > 1
#define COPY_B(depth, to)                                                     \
    gather_slice(&gathered, &images, gb, to, (uint)k - rest_k, (uint)k)
#define B_PARAMS                                                              \
    __global const BITS *restrict b, ulong off_b, struct windows images
#define AT_B(k0) (off_b + GEMM_AT_B(p.z))
#else
#define COPY_B(depth, to)                                                     \
    do {                                                                      \
        copy_slice_b(to, gb, APART_B, STEP_B, LEFT_B(depth));                 \
        gb += TK * sk_b;                                                      \
    } while (0)
#define B_PARAMS                                                              \
    __global const BITS *restrict b, ulong off_b, ulong sx_b, ulong sk_b
#define AT_B(k0)                                                              \
    (off_b + GEMM_AT_B(p.z) + p.n0 * sx_b + (k0) * sk_b + FIRST_B)
#endif

/* Strides of lines and elements, and the rest of both from a slice on. */
#if WINDOWS == 1
#elif TURN_A
TURN_SLICE(copy_slice_a, VA, LINE_A, LINES_A)
#define APART_A sk_a
#define STEP_A 1
#define LEFT_A(depth) depth, p.rest_m
#elif ACROSS_A
COPY_SLICE(copy_slice_a, VA, MMA_AT_ACROSS, LINE_A, LINES_A)
#define APART_A sk_a
#define STEP_A (VA ? 1 : sx_a)
#define LEFT_A(depth) depth, p.rest_m
#else
COPY_SLICE(copy_slice_a, VA, MMA_AT_ALONG, LINE_A, LINES_A)
#define APART_A sx_a
#define STEP_A (VA ? 1 : sk_a)
#define LEFT_A(depth) p.rest_m, depth
#endif
#if WINDOWS > 1
#elif TURN_B
TURN_SLICE(copy_slice_b, VB, LINE_B, LINES_B)
#define APART_B sk_b
#define STEP_B 1
#define LEFT_B(depth) depth, p.rest_n
#elif ACROSS_B
COPY_SLICE(copy_slice_b, VB, MMA_AT_ACROSS, LINE_B, LINES_B)
#define APART_B sk_b
#define STEP_B (VB ? 1 : sx_b)
#define LEFT_B(depth) depth, p.rest_n
#else
COPY_SLICE(copy_slice_b, VB, MMA_AT_ALONG, LINE_B, LINES_B)
#define APART_B sx_b
#define STEP_B (VB ? 1 : sk_b)
#define LEFT_B(depth) p.rest_n, depth
#endif

/* The item's first chunk in a slice. */
#define FIRST_A                                                               \
    (TURN_A ? 0 : LINE_OF(LINE_A) * APART_A + ELEM_OF(LINE_A) * STEP_A)
#define FIRST_B                                                               \
    (TURN_B ? 0 : LINE_OF(LINE_B) * APART_B + ELEM_OF(LINE_B) * STEP_B)

#ifdef MMA_VIA_REGISTERS
/* Stores the slice that was fetched, and fetches the share's next. */
#define COPY_NEXT()                                                           \
    do {                                                                      \
        if (to_copy > 0) {                                                    \
            place_copy_slice_a(slices + write * SLICE_A, held_a);                  \
            place_copy_slice_b(slices + ST * SLICE_A + write * SLICE_B, held_b);   \
            write = write + 1 == ST ? 0 : write + 1;                          \
            to_copy--;                                                        \
            FETCH_NEXT();                                                     \
        }                                                                     \
    } while (0)
#define FETCH_NEXT()                                                          \
    do {                                                                      \
        if (to_copy > 0) {                                                    \
            const uint depth = min((uint)TK, rest_k);                         \
            COPY_A(depth, held_a);                                            \
            COPY_B(depth, held_b);                                            \
            rest_k -= depth;                                                  \
        }                                                                     \
    } while (0)
#define BEGIN_COPIES()                                                        \
    uint4 held_a[TURN_A ? TURNED(LINE_A, LINES_A) : HELD(LINE_A, LINES_A)];   \
    uint4 held_b[TURN_B ? TURNED(LINE_B, LINES_B) : HELD(LINE_B, LINES_B)];   \
    FETCH_NEXT()
#else
/* Copies the share's next slice, if there is one. */
#define COPY_NEXT()                                                           \
    do {                                                                      \
        if (to_copy > 0) {                                                    \
            const uint depth = min((uint)TK, rest_k);                         \
            COPY_A(depth, slices + write * SLICE_A);                          \
            COPY_B(depth, slices + ST * SLICE_A + write * SLICE_B);           \
            rest_k -= depth;                                                  \
            to_copy--;                                                        \
            write = write + 1 == ST ? 0 : write + 1;                          \
        }                                                                     \
        XL_COPY_CLOSE();                                                      \
    } while (0)
#define BEGIN_COPIES()
#endif

/* Sum over the sub-groups along k. */
INLINED SUMV(VC) sums_of_all(__local const SUM *at)
{
    SUMV(VC) x = *(__local const SUMV(VC) *)at;
    #pragma unroll
    for (uint q = 1; q < SK; q++)
        x += *(__local const SUMV(VC) *)(at + q * STRIPE * LINE_C);
    return x;
}

#define LOAD_STEP(at, slot, l)                                                \
    do {                                                                      \
        LOAD_A(&team, fa[at], MI, slices + (slot) * SLICE_A, LINE_A, at_m,    \
               at_k + (l));                                                   \
        LOAD_B(&team, fb[at], NI, slices + ST * SLICE_A + (slot) * SLICE_B,   \
               LINE_B, at_n, at_k + (l));                                     \
    } while (0)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_mma(A_PARAMS, B_PARAMS, TILE_PARAMS)
{
    __local uchar slices[ROOM] __attribute__((aligned(128)));
    __local SUM *const room = (__local SUM *)slices;
    MMA_TEAM(team, ITEMS);
    const uint lid = (uint)get_local_id(0), sg = lid / MMA_LANES;
    const uint sm = sg % SM, sn = sg / SM % SN, sk = sg / (SM * SN);
    const uint at_m = sm * (TM / SM), at_n = sn * (TN / SN), at_k = sk * KI;
    struct share w = FIRST_SHARE;

    do {
        const struct tile p = locate_tile(w.tile, tiles_m, tiles_n, m, n);
        const ulong k0 = w.unit * TK;
        __global const BITS *ga = a + AT_A(k0);
        __global const BITS *gb = b + AT_B(k0);
        mma_a fa[2][MI];
        mma_b fb[2][NI];
        mma_c sum[MI][NI];
        uint read = 0, write = 0;
        uint to_copy = (uint)w.n, rest_k = (uint)(k - k0);
#if WINDOWS
        struct gathered gathered;
        LOCATE_GATHERED(&gathered, &images, p, m, n, k0);
#endif
        MMA_UNROLL
        for (uint i = 0; i < MI; i++) {
            MMA_UNROLL
            for (uint j = 0; j < NI; j++)
                MMA_ZERO(sum[i][j]);
        }
        BEGIN_COPIES();
        #pragma unroll
        for (uint s = 0; s < ST - 1; s++)
            COPY_NEXT();
        XL_COPY_WAIT(ST - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        LOAD_STEP(0, 0, 0);

        /* In the last step the barrier guarantees that the next slice has
         * arrived and that all items have loaded the last fragments of this
         * one: its slot is the next to be written. Fragments loaded behind the
         * last slice are not used. */
        for (uint s = 0; s < (uint)w.n; s++) {
            MMA_UNROLL
            for (uint l = 0; l < KI; l++) {
                if (l == KI - 1) {
                    XL_COPY_WAIT(ST - 2);
                    barrier(CLK_LOCAL_MEM_FENCE);
                    read = read + 1 == ST ? 0 : read + 1;
                }
                LOAD_STEP((l + 1) % 2, read, (l + 1) % KI);
                if (l == 0)
                    COPY_NEXT();
                MMA_UNROLL
                for (uint i = 0; i < MI; i++) {
                    MMA_UNROLL
                    for (uint j = 0; j < NI; j++)
                        MMA_MUL_ADD(&team, sum[i][j], fa[l % 2][i], fb[l % 2][j]);
                }
            }
        }

        const ulong to = TILE_AT(p);
        MMA_UNROLL
        for (uint i = 0; i < STRIPES; i++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            MMA_UNROLL
            for (uint j = 0; j < NI; j++) {
#ifdef MMA_OPAQUE
                MMA_STORE_C(&team,
                            room + (sk * SM + sm) * MMA_M * LINE_C + at_n +
                                j * MMA_N,
                            LINE_C, sum[i][j]);
#else
                MMA_UNROLL
                for (uint e = 0; e < MMA_C_ELEMS; e++)
                    room[((sk * SM + sm) * MMA_M + MMA_C_ROW(team.lane, e)) *
                             LINE_C +
                         at_n + j * MMA_N + MMA_C_COL(team.lane, e)] =
                        sum[i][j].e[e];
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll 1
            for (uint v = lid; v < STRIPE * TN / VC; v += ITEMS) {
                const uint r = v / (TN / VC), col = v % (TN / VC) * VC;
                const SUMV(VC) x = sums_of_all(room + r * LINE_C + col);
#if CUT
                if (w.n < units) {
                    *(__global SUMV(VC) *)(sums + PART_AT(w.part, ROW(i, r),
                                                          col)) = x;
                    continue;
                }
#endif
                store_vector(c, to, rs_c, cs_c, &p, ROW(i, r), col, x,
                             GEMM_STORE_ARGS);
            }
        }
#if CUT
        barrier(CLK_LOCAL_MEM_FENCE); /* slices are overwritten next */
#endif
    } while (NEXT_SHARE(w));
}

#else
/* -- the join ------------------------------------------------------------- */

/* A group adds up one stripe of a tile. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_mma_join(TILE_PARAMS)
{
    const uint tile = GROUP / STRIPES, i = GROUP % STRIPES;
    const uint first = group_of(tile * units, each, extra);
    const uint last = group_of((tile + 1) * units - 1, each, extra);
    const struct tile p = locate_tile(whole + tile, tiles_m, tiles_n, m, n);
    const ulong to = TILE_AT(p);
    if (first == last)
        return; /* one group did it all */
    for (uint v = (uint)get_local_id(0); v < STRIPE * TN / VC; v += ITEMS) {
        const uint r = v / (TN / VC), col = v % (TN / VC) * VC;
        SUMV(VC) x = 0;
        for (uint part = first; part <= last; part++)
            x += *(__global SUMV(VC) *)(sums + PART_AT(part + tile, ROW(i, r),
                                                       col));
        store_vector(c, to, rs_c, cs_c, &p, ROW(i, r), col, x,
                     GEMM_STORE_ARGS);
    }
}
#endif
