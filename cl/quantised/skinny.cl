/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, A of a few rows, on a
 *               sub-group's matrix instructions. W has tiles of MMA_M rows, of
 *               which a group takes every get_num_groups(0)-th, TILES at a time
 *               ("a batch"). Team p of its SK has stages p, p + SK, ... of 256
 *               columns, and holds these columns of A in registers for all
 *               tiles of a batch:
 *
 *                           team 0   team 1   team 0   team 1   columns
 *                         +--------+--------+--------+--------+
 *                   tile  |     step 0      |     step 2      |
 *               next tile |     step 1      |     step 3      |
 *                         +--------+--------+--------+--------+
 *
 *               Steps have ST slots of local memory: while one is multiplied,
 *               the next ST - 1 are copied, by lines (quantised/line_copy.clh),
 *               which COPIERS teams more do, or, if 0, all. Scales and zeros
 *               that have memory of their own are put into the slot through
 *               registers, loaded a step before. A team waits for the bytes of
 *               a step, and those that copy for others before they overwrite
 *               what these read; the SK wait for each other at the end of a
 *               batch alone, where the sums of teams are added in order.
 *               Weights become exact pairs of 16-bit floats, the left operand
 *               (quantised/pairs.clh), and A's rows are columns of the right
 *               one (quantised/right.clh). With a norm A's rows are read for
 *               their sums of squares while the first steps are copied, and a
 *               team norms its columns into local memory before it takes them
 *               into registers. Sums of a unit are multiplied by its scale in
 *               f32.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh). Rows of A and of W,
 *               and the gain, at multiples of 16 bytes, of which a step has a
 *               whole number.
 * Launch:       2-D, local (MMA_LANES (SK + COPIERS), 1); groups: any number;
 *               ceil(m / TM).
 * Local memory: LOCAL_BYTES.
 * -D:           SK 1 to 16, at most stages; ST 2 to 4; TILES 1 to 16;
 *               TM 1 to 8; COPIERS 0 or, with XL_LINES_PTX, 1, 2, 4;
 *               WHOLE: 1 where all stages are whole; GROUP_UNITS: of int4,
 *               int8 and FP8, 1, 2, 4 or 8 units that have one scale;
 *               quantised/product.clh; XL_MMA_...: common/matrix.clh;
 *               XL_LINES_...: quantised/line_copy.clh
 * Needs:        a matrix engine with the fragments of mma.sync, or its
 *               emulation.
 * Cost:         2 m n k flop; W is read once for each TM rows of A, A once for
 *               each batch.
 * Source:       NV-35, NV-64, NV-80; Frantar et al. 2024, "MARLIN". */
#ifndef SK
#define SK 4
#endif
#ifndef ST
#define ST 2
#endif
#ifndef TILES
#define TILES 2
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef COPIERS
#define COPIERS 0
#endif
#define WORDS 1

#include "common/divide.clh"
#include "quantised/line_copy.clh"
#include "quantised/right.clh"

#define ITEMS (MMA_LANES * SK) /* that multiply */
#define SU 8 /* units of a stage */
#define STAGE_BYTES (SU / UNITS * BLOCK_BYTES)
#define STEP_BYTES (SK * STAGE_BYTES) /* of a row */
/* An odd number of 16 bytes: 8 rows of a fragment are in different banks. */
#define LINE ((STEP_BYTES / 32 * 2 + 1) * 16)
#define SLOT (MMA_M * LINE)
#define PART (RIGHT_COLS * MMA_M) /* sums of a team */
#define COLS (MMA_M / TOGETHER) /* of C, of a tile */
#if FORMAT >= 8
#define OWN (SU / GROUP_UNITS) /* scales of a stage's row */
#define OWN_STEP (OWN * SK)
#define OWN_LINE (OWN_STEP + OWN) /* 8 rows are in different banks */
#else
#define OWN_LINE 0
#endif
#if COPIERS
#include "common/nvidia/warp.clh"
#define CALLERS COPIERS /* teams that copy */
#define CALLER(part) ((part) - SK)
#define TEAMS_SYNC() xl_named_sync(1, ITEMS)
#else
#define CALLERS SK
#define CALLER(part) (part)
#define TEAMS_SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define TEAM_ROWS ((MMA_M + CALLERS - 1) / CALLERS) /* that a team copies */

#if GT >= 0
/* Four elements of A as floats, and as they are multiplied. */
INLINED float4 floats_of(const A_WORDS w)
{
#if TA == 0
    return as_float4(w);
#elif TA == 1
    return vload_half4(0, (const half *)&w);
#else
    return as_float4((uint4)(w.x << 16, w.x & 0xffff0000u, w.y << 16,
                             w.y & 0xffff0000u));
#endif
}
INLINED A_WORDS words_of(const float4 x)
{
#if TA == 0
    return as_uint4(x);
#elif TA == 1
    A_WORDS w;
    vstore_half4_rte(x, 0, (half *)&w);
    return w;
#else
    return as_uint2(xl_to_bf16_4(x));
#endif
}
INLINED float squares_of(const A_WORDS w)
{
    const float4 x = floats_of(w);
    return SUM_4(x * x);
}

/* What an item loads of its team's columns of a stage: 8 of each row of A, and
 * 0 behind the last one. */
struct columns {
    A_WORDS of[TM][2];
    float4 gain[2];
};
#define LOAD_COLUMNS(to, first)                                               \
    {                                                                         \
        const uint l_ = (first)*32 + lane * 8;                                \
        _Pragma("unroll")                                                     \
        for (uint h = 0; h < 2; h++) {                                        \
            _Pragma("unroll")                                                 \
            for (uint r = 0; r < TM; r++)                                     \
                to.of[r][h] = l_ < units * 32 ? A_ROW(r, l_)[h] : (A_WORDS)0; \
            to.gain[h] = l_ < units * 32                                      \
                             ? LOADVA(4, GT, gain + off_gain, l_ + h * 4)     \
                             : (float4)0;                                     \
        }                                                                     \
    }
#define ROW_WORDS (SU * 8 + 4) /* of 8 rows, 8 bytes are in different banks */
#define NORMED_BYTES (SK * TM * ROW_WORDS * 4 * ELEM_BYTES(TA))
#else
#define NORMED_BYTES 0
#endif
/* From column l of the group's row r on. */
#define A_ROW(r, l)                                                           \
    ((__global const A_WORDS *)(a + off_a + min(i0 + (r), m - 1) * rs_a + (l)))

#define LOCAL_BYTES                                                           \
    (ST * (SLOT + MMA_M * OWN_LINE * 4) + TILES * SK * PART * 4 + NORMED_BYTES)

struct product {
    __global const uchar *rows; /* of W */
    __local uchar *room;
    uint row_bytes, n, tiles, rounds, caller, lane;
    uint filled, freed; /* barriers of slots */
#if FORMAT >= 8
    /* Scales and zeros; of_row: bytes of a row's. Inverses: common/divide.clh. */
    __global const uchar *scale, *zero;
    __local uint *own_room;
    uint units, of_row, zeros_of_row, group, inverse, share, share_inverse;
#endif
};

/* A step: how many were before it; the first tile of its batch, its tile in
 * the batch, and its number in the tile. */
struct place {
    uint turn, batch, tile, round;
};

INLINED uint tile_of(const uint batch, const uint tile)
{
    return batch + tile * (uint)get_num_groups(0);
}

INLINED void advance(const struct product *s, struct place *p)
{
    p->turn++;
    p->tile++;
    if (p->tile < TILES && tile_of(p->batch, p->tile) < s->tiles)
        return;
    p->tile = 0;
    p->round++;
    if (p->round < s->rounds)
        return;
    p->round = 0;
    p->batch = tile_of(p->batch, TILES);
}

/* The row of W in row `row` of a step. */
INLINED uint row_of(const struct product *s, const struct place p,
                    const uint row)
{
    return W_ROW(min(tile_of(p.batch, p.tile) * MMA_M + row, s->n - 1), s->n);
}

#if FORMAT >= 8
#define OWN_PARTS ((OWN_STEP + MMA_LANES - 1) / MMA_LANES)

/* Of the rows that a team copies the item's scales, as stored, and of int4
 * their zeros in bits 16 to 19. */
struct own {
    uint word[TEAM_ROWS][OWN_PARTS];
};

INLINED void load_own(const struct product *s, const struct place p,
                      struct own *own)
{
    #pragma unroll
    for (uint r = 0; r < TEAM_ROWS; r++) {
        const uint j = row_of(s, p, s->caller * TEAM_ROWS + r);
        const uint row =
            FORMAT == 10 ? divide_by_inverse(j, s->share, s->share_inverse) : j;
        __global const uchar *scale = s->scale + (ulong)row * s->of_row,
                             *zero = s->zero + (ulong)row * s->zeros_of_row;
        #pragma unroll
        for (uint i = 0; i < OWN_PARTS; i++) {
            const uint g = i * MMA_LANES + s->lane;
            const uint at = divide_by_inverse(
                min(p.round * (SK * SU) + g * GROUP_UNITS, s->units - 1),
                s->group, s->inverse);
            own->word[r][i] = *(__global const SCALE_BITS *)(
                scale + at * (uint)sizeof(SCALE_BITS));
            if (ZEROS)
                own->word[r][i] |= (zero[at / 2] >> at % 2 * 4 & 15u) << 16;
        }
    }
}

INLINED void put_own(const struct product *s, const uint slot,
                     const struct own *own)
{
    #pragma unroll
    for (uint r = 0; r < TEAM_ROWS; r++) {
        const uint row = s->caller * TEAM_ROWS + r;
        #pragma unroll
        for (uint i = 0; i < OWN_PARTS; i++) {
            const uint g = i * MMA_LANES + s->lane;
            if (g < OWN_STEP && row < MMA_M)
                s->own_room[(slot * MMA_M + row) * OWN_LINE + g] =
                    own->word[r][i];
        }
    }
    XL_LINES_SYNC();
    if (s->lane == 0)
        xl_lines_arrive(s->filled, slot);
}

/* Scales of a stage's row that are read at once. */
#if OWN == 1
typedef uint own_words;
#elif OWN == 2
typedef uint2 own_words;
#else
typedef uint4 own_words;
#endif
#define OWN_WORDS (sizeof(own_words) / sizeof(uint))
#define OWN_OF(slot, row, part)                                               \
    (s.own_room + ((slot)*MMA_M + (row)) * OWN_LINE + (part)*OWN)
#else
struct own {
    uint none;
};
#define load_own(s, p, own)
#define put_own(s, slot, own)
#define OWN_OF(slot, row, part) 0
#endif

/* What is copied next, with its scales on the way. */
struct ahead {
    struct place at;
    struct own own;
};

/* Begin to copy the team's rows of a step, if there is one, and go to the next
 * one. All items wait, although few copy: the compiler knows then that they
 * are together. */
INLINED void copy_step(const struct product *s, struct ahead *to)
{
    const struct place p = to->at;
    if (p.batch >= s->tiles)
        return;
    const uint slot = p.turn % ST, row = s->caller * TEAM_ROWS + s->lane;
    xl_lines_wait_free(s->freed, slot, p.turn / ST);
    if (s->lane < TEAM_ROWS && row < MMA_M) {
        const uint first = p.round * STEP_BYTES;
        const uint bytes = min((uint)STEP_BYTES, s->row_bytes - first);
        xl_lines_expect(s->filled, slot, bytes);
        xl_line_copy(s->filled, slot, s->room + slot * SLOT + row * LINE,
                     s->rows + (ulong)row_of(s, p, row) * s->row_bytes + first,
                     bytes);
    }
    put_own(s, slot, &to->own);
    advance(s, &to->at);
    load_own(s, to->at, &to->own);
}

/* Adds the products of a step to the sums; rows: the first of the lane's two,
 * 8 lines apart, in local memory; own: its scales, where they are apart;
 * n_units: those of the stage. */
INLINED void multiply_step(const struct mma_team team,
                           __local const uchar *rows, __local const uint *own,
                           const uint n_units, const mma_b b[SU][NT][2],
                           mma_c sum[NT])
{
    const uint t = team.lane % 4;
    mma_c c[NT];
#if FORMAT >= 8
    union {
        own_words all;
        uint of[OWN_WORDS];
    } word[2];
#endif
    MMA_UNROLL
    for (uint u = 0; u < SU; u++) {
        float scale[2][2];
        mma_a w[2];
        #pragma unroll
        for (uint i = 0; i < 2; i++) {
            __local const uchar *block =
                rows + 8 * i * LINE + u / UNITS * BLOCK_BYTES;
            uint pairs[4], zero = 0;
#if FORMAT >= 8
            const uint g = u / GROUP_UNITS;
            if (u % (OWN_WORDS * GROUP_UNITS) == 0)
                word[i].all = *(__local const own_words *)(
                    own + 8 * i * OWN_LINE + g);
            const uint bits = word[i].of[g % OWN_WORDS];
            scale[0][i] = SCALE_OF(bits);
            zero = ZEROS ? bits >> 16 : 8;
#else
            /* What is behind the last unit may be no number. */
            #pragma unroll
            for (uint h = 0; h < 2; h++)
                scale[h][i] = WHOLE || u < n_units
                                  ? unit_scale(block, u % UNITS, h)
                                  : 0;
#endif
            unit_pairs(block, block + t * PART_BYTES, u, t, zero, pairs);
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
                    mma_zero(&c[i]);
                mma(&team, &c[i], &w[h], &b[u][i][h]);
                if ((u + 1) % GROUP_UNITS > 0 || (h == 0 && IS_ONE_SCALE))
                    continue;
                #pragma unroll
                for (uint e = 0; e < MMA_C_ELEMS; e++)
                    if (HAS_SUM(i, e))
                        sum[i].e[e] =
                            MUL_ADD(scale[IS_ONE_SCALE ? 0 : h][MMA_ROW_OF(e)],
                                    OF_CODES(c[i].e[e]), sum[i].e[e]);
            }
        }
    }
}

__kernel
__attribute__((reqd_work_group_size(ITEMS + MMA_LANES * COPIERS, 1, 1))) void
qgemm_skinny(PRODUCT_PARAMS)
{
    __local uint4 room[ST * SLOT / 16];
    __local float sums[TILES][SK][PART];
#if GT >= 0
    __local A_WORDS normed[SK][TM][ROW_WORDS];
#endif
    XL_LINE_BARS(filled, ST);
    XL_LINE_BARS(freed, ST);
    MMA_TEAM(team, ITEMS);
    const uint part = (uint)get_local_id(0) / MMA_LANES, lane = team.lane;
    const uint i0 = (uint)get_group_id(1) * TM;
#if FORMAT >= 8
    __local uint4 own_room[ST * MMA_M * OWN_LINE / 4];
#if FORMAT != 10
    const uint share = 1;
#endif
#endif
    const struct product s = {
        .rows = blocks + off_blocks,
        .room = (__local uchar *)room,
        .row_bytes = units / UNITS * BLOCK_BYTES,
        .n = n,
        .tiles = (n + MMA_M - 1) / MMA_M,
        .rounds = (units + SU * SK - 1) / (SU * SK),
        .caller = CALLER(part),
        .lane = lane,
        .filled = filled,
        .freed = freed,
#if FORMAT >= 8
        .scale = (__global const uchar *)(scales + off_scales),
        .zero = zeros + off_zeros,
        .own_room = (__local uint *)own_room,
        .units = units,
        .of_row = units / group * (uint)sizeof(SCALE_BITS),
        .zeros_of_row = (units / group + 1) / 2,
        .group = group,
        .inverse = 0xffffffffu / group,
        .share = share,
        .share_inverse = 0xffffffffu / share,
#endif
    };
    struct place at = {0, (uint)get_group_id(0), 0, 0};
    struct ahead ahead = {.at = at};
    mma_b b[SU][NT][2];
    if (get_local_id(0) == 0) {
        xl_lines_init(filled, ST, MMA_M + (FORMAT >= 8 ? CALLERS : 0));
        xl_lines_init(freed, ST, SK);
    }
    if (!COPIERS || part >= SK)
        load_own(&s, at, &ahead.own);
    barrier(CLK_LOCAL_MEM_FENCE);
#if COPIERS
    if (part >= SK) {
        #pragma unroll 1
        while (ahead.at.batch < s.tiles)
            copy_step(&s, &ahead);
        return;
    }
#else
    #pragma unroll
    for (uint i = 0; i + 1 < ST; i++)
        copy_step(&s, &ahead);
#endif
#if GT >= 0
    struct columns x;
    float factor[TM];
    if (TM == 1) /* registers have room, so that these are on the way */
        LOAD_COLUMNS(x, part * SU)
    {
        __local float *squares = (__local float *)normed;
        __local float *of_teams = &sums[0][0][0];
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            float part_of = 0;
            #pragma unroll 1
            for (uint u = part * SU; u < units; u += SK * SU) {
                const uint l = u * 32 + lane * 8;
                if (l < units * 32)
                    part_of += squares_of(A_ROW(r, l)[0]) +
                               squares_of(A_ROW(r, l)[1]);
            }
            squares[(part * TM + r) * MMA_LANES + lane] = part_of;
        }
        TEAMS_SYNC();
        if (lane < TM) {
            float all = 0;
            #pragma unroll
            for (uint i = 0; i < MMA_LANES / 4; i++)
                all += SUM_4(vload4((part * TM + lane) * MMA_LANES / 4 + i,
                                    squares));
            of_teams[lane * SK + part] = all;
        }
        TEAMS_SYNC();
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            float all = 0;
            #pragma unroll
            for (uint t = 0; t < SK; t++)
                all += of_teams[r * SK + t];
            factor[r] = norm_factor(all, units, eps);
        }
    }
#endif
    #pragma unroll 1
    while (at.batch < s.tiles) {
        const uint first = (at.round * SK + part) * SU, slot = at.turn % ST;
        const uint n_units = max(units, first) - first;
        if (at.tile == 0 && (s.rounds > 1 || at.turn == 0)) {
#if GT >= 0
            if (TM > 1 || at.turn > 0)
                LOAD_COLUMNS(x, first)
            #pragma unroll
            for (uint r = 0; r < TM; r++) {
                #pragma unroll
                for (uint h = 0; h < 2; h++)
                    normed[part][r][lane * 2 + h] = words_of(
                        floats_of(x.of[r][h]) * factor[r] * x.gain[h]);
            }
            TEAMS_SYNC();
#endif
            #pragma unroll
            for (uint i = 0; i < NT; i++) {
                const uint col = min(i * MMA_N + lane / 4, RIGHT_COLS - 1u);
                #pragma unroll
                for (uint u = 0; u < SU; u++) {
                    const uint l = u * 32 + A_FIRST(lane % 4);
#if GT >= 0
                    __local const A_WORDS *w =
                        &normed[part][col / TERMS][l / 4];
                    const A_WORDS v[2] = {w[0], w[A_SECOND / 4]};
#else
                    A_WORDS v[2] = {0, 0};
                    if (u < n_units) {
                        v[0] = *A_ROW(col / TERMS, first * 32 + l);
                        v[1] = *A_ROW(col / TERMS, first * 32 + l + A_SECOND);
                    }
#endif
                    load_pairs(v[0], v[1], col % TERMS, b[u][i]);
                }
            }
        }
#if !COPIERS
        XL_LINES_TURN();
        copy_step(&s, &ahead);
#endif
        struct place next = at;
        advance(&s, &next);
        xl_lines_wait(filled, slot, at.turn / ST);
        mma_c sum[NT];
        #pragma unroll
        for (uint i = 0; i < NT; i++)
            mma_zero(&sum[i]);
        multiply_step(team,
                      s.room + slot * SLOT + lane / 4 * LINE +
                          part * STAGE_BYTES,
                      OWN_OF(slot, lane / 4, part), n_units, b, sum);
        XL_LINES_SYNC();
        if (lane == 0)
            xl_lines_arrive(freed, slot);
        __local float *to = sums[at.tile][part];
        #pragma unroll
        for (uint i = 0; i < NT; i++) {
            #pragma unroll
            for (uint e = 0; e < MMA_C_ELEMS; e++) {
                const uint col = i * MMA_N + MMA_C_COL(lane, e);
                __local float *x = &to[col * MMA_M + MMA_C_ROW(lane, e)];
                if (HAS_SUM(i, e) && col < RIGHT_COLS && n_units > 0)
                    *x = at.round > 0 ? *x + sum[i].e[e] : sum[i].e[e];
            }
        }
        const uint batch = at.batch;
        at = next;
        if (at.batch == batch)
            continue;
        TEAMS_SYNC();
        #pragma unroll 1
        for (uint v = (uint)get_local_id(0); v < TILES * COLS * TM;
             v += ITEMS) {
            const uint row = v % COLS * TOGETHER, col = v / COLS % TM;
            const uint tile = v / (COLS * TM);
            const uint j = tile_of(batch, tile) * MMA_M + row;
            float y[TOGETHER];
            #pragma unroll
            for (uint r = 0; r < TOGETHER; r++) {
                y[r] = 0;
                #pragma unroll
                for (uint t = 0; t < SK * TERMS; t++)
                    y[r] += sums[tile][t / TERMS]
                                [(col * TERMS + t % TERMS) * MMA_M + row + r];
            }
            if (j < n && i0 + col < m)
                STORE_C(i0 + col, j / TOGETHER, y[0], y[1]);
        }
        TEAMS_SYNC();
    }
}
