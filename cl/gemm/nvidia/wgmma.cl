/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) in tiles of TM x TN on matrix
 *               instructions of four warps. The last warp's first item is the
 *               producer: it starts copies of boxes of A and B into a ring of
 *               ST stages, TK of k each; NC = TM / 64 groups of four warps, 64
 *               rows each, multiply stages that have arrived:
 *
 *                 producer  | s0 | s1 | s2 | s0 ...      waits for empty[s]
 *                 consumers      | s0 | s1 | s2 ...      wait for full[s]
 *
 *               Groups are persistent: each continues with another tile, whose
 *               stages are copied while the last one's sums are stored to C.
 *               CUT: from tile `whole` on, stages of all tiles in sequence are
 *               divided among groups; parts of tiles go to scratch, which
 *               gemm/nvidia/wgmma_join.cl adds. lib/ops/gemm/tiles.h
 *               PLANES: A and B are planes behind one another, of which those
 *               i and j with i + j < PLANES are multiplied into one sum.
 *               WINDOWS: A is gathered from images (gemm/windows/windows.clh) by all
 *               items of four or eight producing warps, 16 bytes a copy. 3: a
 *               window is a column of A. Else with UB: B is filters, boxes of
 *               one tap each, of which a window's last element meets the first.
 *               4: of the residues of strides, a product each, whose rows of C
 *               are pixels of the result, whole tiles
 * Arguments     head: 16 numbers, named below; their 128 bytes also align the
 *               maps behind them (NV-32). A and B: pointer and map of rank 3,
 *               boxes of 128 bytes by TM (TN) lines along k, or 64 elements
 *               across by TK lines; the third dimension is products times
 *               planes. C: pointer, with FORM 0 a map, boxes of 64 x 64.
 *               scratch (with CUT, SCALES or FLAG): words, see head. The rest:
 *               gemm/gemm.clh. WINDOWS: A has struct windows in place of its
 *               map; 4: struct residues behind C. TURNED: rows of the tile are
 *               columns of C, so that a product of few rows fills it
 * Launch        local 128 NC + PRODUCERS, global that times groups, no more than
 *               compute units. 1-D, not sliced
 * Local memory  ST PLANES (128 TM + 128 TN, TN to the next 64 if across); FORM
 *               0: 2 TM TN, else 8192 NC; 16 ST; KEPT_OPERANDS 4 NC TN
 * -D            TM, TN (common/nvidia/wgmma_ptx.clh), TK 128 bytes of
 *               elements, ST stages, GR tile rows of a band; TI as what
 *               is multiplied (common/nvidia/wgmma_ptx.clh); UA, UB contiguous
 *               along k (0), across (1); FORM of C: 0 16-bit, by boxes, TN a
 *               multiple of 64; 1 16-bit, by rows, TN of 16; n and lines of
 *               both of 8, an epilogue short and of vectors, since it is
 *               applied to sums where they are; 2 anything, with beta; VC
 *               elements of an access to C in FORM 2 and the join (1 2 4 8),
 *               dividing n and lines, else 2; PLANES (1 2 3); PROMOTE 1 where
 *               sums leave the engine after each stage; SCALES, FLAG, TURNED,
 *               CUT, WINDOWS (PLANES 1; UA 0, TURNED 0; 3: UA 1, UB 1, TURNED
 *               1; 4: UB 1, CUT 0, FORM 1 2); XL_COPY_NEAR:
 *               common/async_copy.clh; TA TC TY BATCH (0 1) EPILOGUE: gemm/gemm.clh;
 *               XL_SPIN_LIMIT: common/nvidia/tma.clh
 * Needs         sm_90a
 * Cost          2 m n k flop, times PLANES (PLANES + 1) / 2
 * Source        PTX ISA 9.0; Osama et al. 2023 (CUT); NV-30, NV-31, NV-32, NV-82 */
#include "gemm/nvidia/wgmma_ring.clh"
#include "common/nvidia/wgmma_ptx.clh"

/* -- what is multiplied --------------------------------------------------- */

#define MULTIPLY_AT(a, b, s, more)                                            \
    WG_MULTIPLY(d, (a) + (s) * WG_STEP(UA), (b) + (s) * WG_STEP(UB), more)
/* 128 bytes of k of planes i and j. */
#define TERM(i, j, more)                                                      \
    do {                                                                      \
        const ulong a_ = desc_a + at + (i) * (A_BYTES / 16);                  \
        const ulong b_ = desc_b + at + (j) * (B_BYTES / 16);                  \
        MULTIPLY_AT(a_, b_, 0, more);                                         \
        MULTIPLY_AT(a_, b_, 1, 1);                                            \
        MULTIPLY_AT(a_, b_, 2, 1);                                            \
        MULTIPLY_AT(a_, b_, 3, 1);                                            \
    } while (0)
/* The products of the smallest planes first. */
#if PLANES == 1
#define TERMS(more) TERM(0, 0, more)
#elif PLANES == 2
#define TERMS(more)                                                           \
    TERM(0, 1, more);                                                         \
    TERM(1, 0, 1);                                                            \
    TERM(0, 0, 1)
#else
#define TERMS(more)                                                           \
    TERM(0, 2, more);                                                         \
    TERM(1, 1, 1);                                                            \
    TERM(2, 0, 1);                                                            \
    TERM(0, 1, 1);                                                            \
    TERM(1, 0, 1);                                                            \
    TERM(0, 0, 1)
#endif

/* RESULT: the name of a tile's final sums. */
#if PROMOTE
#define RESULT all
#define ADD_GROUP(d, g)                                                       \
    all##g##_0 += d##g##_0, all##g##_1 += d##g##_1;                           \
    all##g##_2 += d##g##_2, all##g##_3 += d##g##_3;
#else
#define RESULT d
#endif
#define CLEAR_GROUP(d, g) d##g##_0 = d##g##_1 = d##g##_2 = d##g##_3 = 0;

/* Gathered lines are not written by the engine that copies boxes. */
#if WINDOWS
#define WAIT_FULL(bar, phase) (xl_bar_wait(bar, phase), xl_box_fence())
#else
#define WAIT_FULL(bar, phase) xl_bar_wait(bar, phase)
#endif

/* -- a tile's sums to C --------------------------------------------------- */

/* Groups g and h of 8 columns, the pair-th 16, into slices of 64 columns that
 * are `apart` bytes apart. swizzled: the lane's chunk of the first. column: the
 * lane's first one, in the operands of the epilogue that are kept. */
#define PUT_PAIR(d, apart, pair, g, h)                                        \
    xl_put_16x16(to + (pair) / 4 * (apart) + (swizzled ^ (pair) % 4 * 32),    \
                 PAIR_OF(d##g##_0, d##g##_1, here.row, g),                    \
                 PAIR_OF(d##g##_2, d##g##_3, here.below, g),                  \
                 PAIR_OF(d##h##_0, d##h##_1, here.row, h),                    \
                 PAIR_OF(d##h##_2, d##h##_3, here.below, h));
#define PAIR_OF(x, y, row, g)                                                 \
    round_pair(XL_EPILOGUE_OF(2, A, column + (g) * 8, APART_OPERANDS,         \
                              (float2)(TO_FLOAT(x), TO_FLOAT(y)), here.z,     \
                              row, min(here.col + (g) * 8, here.last)))

#if FORM < 2
/* Position of an item's sums in C, for an epilogue: rows and columns are
 * clamped to those of C. */
struct sums_location {
    ulong z, row, below;
    uint col, last;
};

static inline struct sums_location locate_sums(const struct tile *p, uint lid,
                                               uint2 sizes)
{
    const uint row = p->m0 + lid / 32 * 16 + lid % 32 / 4;
    struct sums_location h;
    h.z = p->z;
    h.row = min(row, sizes.x - 1);
    h.below = min(row + 8, sizes.x - 1);
    h.col = p->n0 + lid % 4 * 2;
    h.last = sizes.y - 2;
    return h;
}

static inline uint round_pair(float2 v)
{
    return xl_pair(TC, v.x, v.y);
}

#if KEPT_OPERANDS
#define APART_OPERANDS TN

/* The epilogue's operands of a tile's columns: an item has some of them in
 * registers while sums are computed, so that no store waits for memory, and
 * then gives them to its group of warps. */
static inline void keep_operands(const uint fetched[FETCHES][KEPT_OPERANDS],
                                 uint item, __local uint *kept)
{
    #pragma unroll
    for (uint i = 0; i < FETCHES; i++, item += 128) {
        #pragma unroll
        for (uint k = 0; k < KEPT_OPERANDS; k++) {
            if (item < TN)
                kept[k * TN + item] = fetched[i][k];
        }
    }
}
#else
#define APART_OPERANDS 0
#endif
#endif

#if FORM == 0
#define C_PARAMS __global ELEM(TC) *restrict c, struct xl_map c_map
#else
#define C_PARAMS __global ELEM(TC) *restrict c
#endif

/* Integer sums become floats with alpha; others are used directly, or are
 * multiplied first. */
#if TI == 5
#define TO_FLOAT(x) (alpha * (float)(x))
#define SCALE_GROUP(d, g)
#else
#define TO_FLOAT(x) (x)
#define SCALE_GROUP(d, g)                                                     \
    d##g##_0 *= alpha, d##g##_1 *= alpha;                                     \
    d##g##_2 *= alpha, d##g##_3 *= alpha;
#endif

/* FORM 0, 1: */
#define PUT_SLICES(d, pair, g, h) PUT_PAIR(d, SLAB, pair, g, h)
#define PUT_ONE(d, pair, g, h)                                                \
    if (slice == (pair) / 4)                                                  \
    PUT_PAIR(d, 0, pair, g, h)
/* FORM 2: */
#define KEEP_GROUP(d, g)                                                      \
    if (b.col == (g) / 4 * 32)                                                \
        keep_sums(kept, lane, (g) % 4, d##g##_0, d##g##_1, d##g##_2, d##g##_3);
/* CUT: */
#define PART_GROUP(d, g)                                                      \
    parts[SUMS_AT(w.part, four, g, lid % 128)] =                              \
        (sums4)(d##g##_0, d##g##_1, d##g##_2, d##g##_3);

#if FORM == 1
/* 16 rows of 64 columns, by 8 at a time. */
static inline void store_rows(__local const uchar *kept, uint lane, uint col0,
                              __global ELEM(TC) *c, const struct block *b)
{
    const uint col = col0 + lane % 8 * 8;
    #pragma unroll 2
    for (uint pass = 0; pass < 4; pass++) {
        const uint r = pass * 4 + lane / 8;
        ulong at;
        const uint4 v = *(__local const uint4 *)(kept + r * LINE +
                                                 (lane % 8 ^ (r & 7)) * 16);
        if (place_row(b, b->row + r, &at) && col < b->rest.y)
            *(__global uint4 *)(c + (at + col)) = v;
    }
}
#endif

#if WINDOWS
#define A_PARAMS __global const ushort *a, struct windows images
#else
#define A_PARAMS __global const uchar *a, struct xl_map a_map
#endif
#if WINDOWS == 4
#define RESIDUES_PARAMS , struct residues residues
#else
#define RESIDUES_PARAMS
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_wgmma(const ulong16 head, A_PARAMS,
           __global const uchar *b_, struct xl_map b_map,
           C_PARAMS RESIDUES_PARAMS SCRATCH_PARAMS, GEMM_LAST_PARAMS)
{
    __local uchar mem[LOCAL_BYTES] __attribute__((aligned(1024)));
    const uint lid = (uint)get_local_id(0), lane = lid % 32;
    const uint ring = XL_LOCAL(mem);
    const uint full = ring + BARS_AT, empty = full + ST * 8;
    const uint2 counts = COUNTS;
#if !WINDOWS
    XL_MAP(map_a, gemm_wgmma, 1);
    uint early = 0;
#endif
    XL_MAP(map_b, gemm_wgmma, 3);
    struct share w;
    const uint four = xl_warpgroup(lid);
    first_share(&w, counts FIRST_ARGS);
#if FLAG
    if (scratch[AT_FLAG] != 0)
        return;
#endif

    if (lid == NC * 128) {
#if WINDOWS
        xl_map_fetch(map_b);
        for (uint s = 0; s < ST; s++) {
            xl_bar_init(full + s * 8, 1 + PRODUCERS);
            xl_bar_init(empty + s * 8, NC * 4);
        }
        xl_bar_publish();
#else
        const struct tile p = locate_tile(w.tile, GRID, INVERSE);
        const struct box_corner at = locate_boxes(&p, PLACE_A, PLACE_B, APART);
        xl_map_fetch(map_a);
        xl_map_fetch(map_b);
        xl_bar_init(full, 1);
        xl_bar_publish();
        load_stage(ring, full, map_a, map_b, &at, w.unit);
        xl_bar_init(empty, NC * 4);
        for (uint s = 1; s < ST; s++) {
            xl_bar_init(full + s * 8, 1);
            xl_bar_init(empty + s * 8, NC * 4);
        }
        xl_bar_publish();
        early = min(w.n, (uint)EARLIEST);
        for (uint s = 1; s < early; s++)
            load_stage(ring + s * STAGE, full + s * 8, map_a, map_b, &at,
                       w.unit + s);
#endif
    }
    /* One item that loads all does not wait at the barrier. */
    if (four == NC && !WINDOWS)
        xl_named_arrive(0, ITEMS);
    else
        xl_named_sync(0, ITEMS);

    if (four >= NC) {
#if MORE
        XL_GIVE_REGISTERS(PRODUCER_KEEPS);
#endif
#if WINDOWS
        const uint item = lid - NC * 128;
        uint s = 0, phase = 1;
        do {
            const struct tile p = locate_tile(w.tile, GRID, INVERSE);
            struct box_corner at = locate_boxes(&p, PLACE_A, PLACE_B, APART);
            const uint n = STAGES(w, p);
            WINDOWS_OF(v, p);
            __global const uint4 *in = (__global const uint4 *)(
                a + (OFF_A + (ulong)p.z * APART.x));
            struct gathered g;
            locate_gathered(&g, v, item, p.m0, SIZES.x, w.unit);
            #pragma unroll 1
            for (uint u = 0; u < n; u++) {
                xl_bar_wait(empty + s * 8, phase);
                if (item == 0) {
#if BY_TAP
                    place_tap(v, &g.tap, PLACE_B.y, &at);
#endif
                    load_stage(ring + s * STAGE, full + s * 8, 0, map_b, &at,
                               BY_TAP ? 0 : w.unit + u);
                }
                gather_stage(&g, v, item, in, ring + s * STAGE, full + s * 8);
                if (++s == ST) {
                    s = 0;
                    phase ^= 1;
                }
            }
        } while (NEXT_SHARE(w));
#else
        if (lid == NC * 128) {
            uint s = early == ST ? 0 : early, phase = early < ST;
            do {
                const struct tile p = locate_tile(w.tile, GRID, INVERSE);
                const struct box_corner at =
                    locate_boxes(&p, PLACE_A, PLACE_B, APART);
                #pragma unroll 1
                for (uint u = early; u < w.n; u++) {
                    xl_bar_wait(empty + s * 8, phase);
                    load_stage(ring + s * STAGE, full + s * 8, map_a, map_b,
                               &at, w.unit + u);
                    if (++s == ST) {
                        s = 0;
                        phase ^= 1;
                    }
                }
                early = 0;
            } while (NEXT_SHARE(w));
        }
#endif
    } else {
#if MORE
        XL_TAKE_REGISTERS(CONSUMER_HAS);
#endif
        WG_SUMS(d);
#if PROMOTE
        WG_SUMS(RESULT);
#endif
        const uint is_first = lane == 0;
        const ulong desc_a = WG_DESC(ring + four * SLAB, UA);
        const ulong desc_b = WG_DESC(ring + PLANES * A_BYTES, UB);
        uint s = 0, phase = 0;
#if FORM == 0
        XL_MAP(map_c, gemm_wgmma, 5);
        const bool stores = lid % 128 == 0;
        const uint put_from = ring + KEEP_AT + four * (TN / 64 * SLAB);
        const uint to = put_from + lid / 32 % 4 * (16 * LINE) +
                        lane % 16 * LINE;
        const uint swizzled = (lane / 16 ^ (lane & 7)) * 16;
        if (stores)
            xl_map_fetch(map_c);
#elif FORM == 1
        const uint kept_at = KEEP_AT + lid / 32 * (16 * LINE);
        const uint to = ring + kept_at + lane % 16 * LINE;
        const uint swizzled = (lane / 16 ^ (lane & 7)) * 16;
#else
        __local SUM *kept =
            (__local SUM *)(mem + KEEP_AT) + lid / 32 * KEPT_WORDS;
#endif
#if KEPT_OPERANDS
        __local uint *operands =
            (__local uint *)(mem + OPERANDS_AT) + four * (KEPT_OPERANDS * TN);
        __local const uint *column = operands + lane % 4 * 2;
        uint kept_n0 = UINT_MAX, kept_z = 0;
#elif FORM < 2
        __local const uint *column = 0;
#endif
        do {
            const struct tile p = locate_tile(w.tile, GRID, INVERSE);
            const uint n = STAGES(w, p);
#if KEPT_OPERANDS
            const bool is_kept = p.n0 == kept_n0 && p.z == kept_z;
            uint fetched[FETCHES][KEPT_OPERANDS];
            if (!is_kept) {
                #pragma unroll
                for (uint i = 0; i < FETCHES; i++)
                    XL_EPILOGUE_FETCH(fetched[i], p.z,
                                      min(p.n0 + i * 128 + lid % 128,
                                          SIZES.y - 1));
            }
#endif
#if PROMOTE
            WG_GROUPS(CLEAR_GROUP, RESULT)
            #pragma unroll 1
            for (uint u = 0; u < n; u++) {
                WAIT_FULL(full + s * 8, phase);
                const ulong at = s * (STAGE / 16);
                wg_open();
                TERMS(0);
                wg_close();
                WG_WAIT(d);
                xl_bar_arrive(empty + s * 8, is_first);
                WG_GROUPS(ADD_GROUP, d)
                if (++s == ST) {
                    s = 0;
                    phase ^= 1;
                }
            }
#else
            /* A stage is released when the next one's instructions have been
             * issued, so that the engine does not wait for the loop. */
            uint last = s, more = 0;
            #pragma unroll 1
            for (uint u = 0; u < n; u++) {
                WAIT_FULL(full + s * 8, phase);
                const ulong at = s * (STAGE / 16);
                wg_open();
                TERMS(more);
                wg_close();
                wg_wait_but_one();
                xl_bar_arrive(empty + last * 8, is_first & more);
                more = 1;
                last = s;
                if (++s == ST) {
                    s = 0;
                    phase ^= 1;
                }
            }
            WG_WAIT(d);
#if WINDOWS == 4
            if (!more) {
                WG_GROUPS(CLEAR_GROUP, RESULT)
            }
            xl_bar_arrive(empty + last * 8, is_first & more);
#else
            /* There is a stage. A register less: NV-77. */
            xl_bar_arrive(empty + last * 8, is_first);
#endif
#endif
#if CUT
            if (n < counts.y) {
                __global sums4 *parts = (__global sums4 *)(scratch + AT_SUMS);
                WG_GROUPS(PART_GROUP, RESULT)
                continue;
            }
#endif
#if FORM < 2
            const struct sums_location here = locate_sums(&p, lid, SIZES);
            if (alpha != 1) {
                WG_GROUPS(SCALE_GROUP, RESULT)
            }
#if KEPT_OPERANDS
            if (!is_kept) {
#if FORM == 1 /* there is no barrier behind the tile before */
                xl_named_sync(four + 1, 128);
#endif
                keep_operands(fetched, lid % 128, operands);
                xl_named_sync(four + 1, 128);
                kept_n0 = p.n0;
                kept_z = p.z;
            }
#endif
#endif
#if FORM == 0
            if (stores)
                xl_box_read(); /* of the tile before */
            xl_named_sync(four + 1, 128);
            WG_PAIRS(PUT_SLICES, RESULT)
            xl_box_fence();
            xl_named_sync(four + 1, 128);
            if (stores) {
                const int2 c0 = PLACE_C + (int2)((int)p.n0, (int)p.m0);
                #pragma unroll
                for (int i = 0; i < TN / 64; i++)
                    xl_box_store(map_c, put_from + i * SLAB, c0.x + i * 64,
                                 c0.y + (int)four * 64, (int)p.z);
                xl_box_commit();
            }
#else
            BLOCK_OF(b, p, OFF_C, LINE_C, SIZES, AT_ROWS, AT_COLS);
            b.row = lid / 32 * 16;
#if WINDOWS == 4
            b.images = &images;
            b.residues = &residues;
#endif
#if FORM == 1
            #pragma unroll
            for (uint slice = 0; slice < (TN + 63) / 64; slice++) {
                WG_PAIRS(PUT_ONE, RESULT)
                xl_warp_sync();
                store_rows(mem + kept_at, lane, slice * 64, c, &b);
                xl_warp_sync();
            }
#else
            #pragma unroll 1
            for (b.col = 0; b.col < b.rest.y; b.col += 32) {
                WG_GROUPS(KEEP_GROUP, RESULT)
                xl_warp_sync();
                store_block(kept, lane, c, &b SCALED_ARGS, GEMM_STORE_ARGS);
                xl_warp_sync();
            }
#endif
#endif
        } while (NEXT_SHARE(w));
#if FORM == 0
        if (stores)
            xl_box_read();
#endif
    }
}
