/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      the gradients of O = softmax(scale Q K^T) V, on matrix
 *               instructions of four warps. A tile is 128 keys of one head of
 *               K and V; it takes blocks of BM queries of the heads that read
 *               them, one after the other. A work-group has two consumers,
 *               four warps and 64 keys each, and four warps of which items of
 *               three start copies:
 *
 *                 producer   K, V; Q, dO and rows of each block
 *                 consumer   R = E K of the block before, its half
 *                            S^T = K Q^T; R to local memory; T = V dO^T
 *                            P^T = exp2(c S^T - lse log2(e)), c scale log2(e)
 *                            E^T = P^T (T - delta), also to local memory
 *                            dV += P^T dO, dK += E^T Q
 *                 two others add R of a consumer each to sums of dQ / scale in
 *                            memory
 *
 *               Scores are transposed, so that P^T and E^T are operands as
 *               they are in registers. R needs E of both consumers; taken one
 *               block later, it lets one multiply while the other takes
 *               exponentials. Tiles add to a block in an order: each waits
 *               for the block's counter, and the first one stores. Tiles begin
 *               in this order too (a counter), so that the one waited for has
 *               begun. It is the order of their numbers, with CAUSAL the
 *               reverse: a tile then comes first at the block that it begins
 *               with, and later tiles have passed each further one.
 * Arguments     head: 16 numbers, named below. Q, K, V, dO, dK, dV: pointer
 *               and map of rank 3, as of attention/nvidia/wgmma.cl, with boxes
 *               of 64 columns by BM (Q, dO), 64 (K, V), 16 (dK, dV) rows.
 *               scratch: backward_scratch.clh, whose counters are 0 and rows
 *               are there
 * Launch        local 384, global that times tiles of all heads of K. 1-D,
 *               not sliced
 * Local memory  LOCAL_BYTES below
 * -D            DT 1 f16, 2 bf16; D columns: 128 with BM 64, 64 with BM 128;
 *               CAUSAL 1: query i sees keys up to i + n_kv - n_q;
 *               XL_SPIN_LIMIT: common/nvidia/tma.clh
 * Needs         sm_90a; scale > 0
 * Cost          10 D flop a pair of a query and a key that it sees
 * Source        Dao et al. 2022 (gradients by tiles), Shah et al. 2024; PTX ISA
 *               9.0; NV-29 to NV-32 */
#ifndef DT
#define DT 1
#endif
#ifndef D
#define D 128
#define BM 64
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

#define TN BM /* of S: common/nvidia/wgmma_ptx.clh */
#define TI DT
#define UA 0
#define UB 0
#include "common/types.clh"
#include "common/nvidia/tma.clh"
#include "common/nvidia/warp.clh"
#include "common/nvidia/wgmma_ptx.clh"
#include "attention/nvidia/backward_scratch.clh"
#define ST 2
#include "attention/nvidia/ring.clh"

/* -- head ----------------------------------------------------------------- */

#define N_Q ((int)as_uint2(head.s0).x)
#define N_KV ((int)as_uint2(head.s0).y)
#define TILES as_uint2(head.s1).x /* of keys of a head */
#define HEADS as_uint2(head.s1).y /* of K, of all sequences */
#define SECTION as_uint2(head.s2).x /* heads of K whose queries stay cached */
#define SHARE as_uint2(head.s2).y   /* heads of Q that read one of K and V */
#define N_HEADS as_uint2(head.s3).x /* of K, of a sequence */
#define BLOCKS as_uint2(head.s3).y  /* of queries of a head */
#define AT_Q head.s4 /* element in its line, line */
#define AT_K head.s5
#define AT_V head.s6
#define AT_G head.s7
#define AT_DK head.s8
#define AT_DV head.s9
/* Columns from head to head, 0: heads are the third coordinate; and this
 * coordinate from sequence to sequence. */
#define STEP_Q as_uint2(head.sa)
#define STEP_K as_uint2(head.sb)
#define STEP_V as_uint2(head.sc)
#define STEP_G as_uint2(head.sd)
#define STEP_DK as_uint2(head.se)
#define STEP_DV as_uint2(head.sf)
#define ALL_BLOCKS ((ulong)HEADS * SHARE * BLOCKS)
#define OFFSET (N_KV - N_Q) /* CAUSAL: query i sees keys up to i + OFFSET */

/* -- local memory --------------------------------------------------------- */

#define LINE 128 /* bytes: the span of a swizzle */
#define SLABS (D / 64)
#define KEYS 128
#define K_BYTES (64 * LINE * SLABS) /* K or V of a consumer */
#define Q_BYTES (BM * LINE * SLABS) /* Q or dO of a stage */
#define E_BYTES (2 * BM * LINE)
#define ROW_BYTES (2 * BM * 4)
#define PIECE_BYTES (PIECE * 4)
#define V_AT (2 * K_BYTES)
#define Q_AT (4 * K_BYTES)
#define G_AT (Q_AT + ST * Q_BYTES)
#define E_AT (G_AT + ST * Q_BYTES)
#define SUM_AT (E_AT + 2 * E_BYTES)
#define ROW_AT (SUM_AT + 2 * PIECE_BYTES)
#define BARS_AT (ROW_AT + ST * ROW_BYTES)
#define TILE_AT (BARS_AT + 8 * (1 + 3 * ST + 8))
#define LOCAL_BYTES (TILE_AT + 8)
#define ITEMS 384

/* Of a causal mask with D 128 the driver (580.159.04) spills 4 bytes with 24 and
 * 240 registers. */
#if CAUSAL && D == 128
#define PRODUCER_KEEPS 40
#define CONSUMER_HAS 232
#else
#define PRODUCER_KEEPS 24
#define CONSUMER_HAS 240
#endif

enum { PRODUCER = 2 }; /* after consumers 0 and 1 */

#define KV_FULL(at) ((at) + BARS_AT)
#define Q_FULL(at, s) ((at) + BARS_AT + 8 + 8 * (s))
#define G_FULL(at, s) ((at) + BARS_AT + 8 + 8 * (ST + (s)))
#define EMPTY(at, s) ((at) + BARS_AT + 8 + 8 * (2 * ST + (s)))
#define E_FULL(at, b) ((at) + BARS_AT + 8 + 8 * (3 * ST + (b)))
#define E_EMPTY(at, b) ((at) + BARS_AT + 8 + 8 * (3 * ST + 2 + (b)))
#define SUM_FULL(at, w) ((at) + BARS_AT + 8 + 8 * (3 * ST + 4 + (w)))
#define SUM_EMPTY(at, w) ((at) + BARS_AT + 8 + 8 * (3 * ST + 6 + (w)))

static inline void init_barriers(uint at)
{
    xl_bar_init(KV_FULL(at), 1);
    for (uint i = 0; i < ST; i++) {
        xl_bar_init(Q_FULL(at, i), 1);
        xl_bar_init(G_FULL(at, i), 1);
        xl_bar_init(EMPTY(at, i), 8);
    }
    for (uint i = 0; i < 2; i++) {
        xl_bar_init(E_FULL(at, i), 8);
        xl_bar_init(E_EMPTY(at, i), 8);
        xl_bar_init(SUM_FULL(at, i), 4);
        xl_bar_init(SUM_EMPTY(at, i), 1);
    }
    xl_bar_publish();
}

/* -- tiles ---------------------------------------------------------------- */

struct tile {
    int n; /* of the keys of a head */
    uint head;
};

/* Of the heads of a section the tiles of the first keys first, with CAUSAL of
 * the last. */
static inline struct tile locate_tile(uint t, const ulong16 head)
{
    struct tile r;
    const uint each = TILES * SECTION, section = t / each;
    const uint in = t - section * each;
    const uint heads = min(SECTION, HEADS - section * SECTION);
    r.n = (int)(CAUSAL ? TILES - 1 - in / heads : in / heads);
    r.head = section * SECTION + in % heads;
    return r;
}

/* It is read again where it is used, so that it holds no registers between. */
static inline struct tile read_tile(uint at)
{
    struct tile r;
    __asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(r.n), "=r"(r.head)
                   : "r"(at + TILE_AT)
                   : "memory");
    return r;
}

/* The first block of queries that sees a key of the tile; at most BLOCKS. */
static inline uint first_block(int n, const ulong16 head)
{
#if CAUSAL
    return min((uint)max(n * KEYS - OFFSET, 0) / BM, BLOCKS);
#else
    return 0;
#endif
}

/* How many tiles add to a block before tile n, which sees it. */
static inline uint tiles_before(int n, uint block, const ulong16 head)
{
#if CAUSAL
    const uint last = ((block + 1) * BM + OFFSET - 1) / KEYS;
    return min(last, TILES - 1) - n;
#else
    return n;
#endif
}

static inline void load_rows(uint to, ulong map, uint bar, struct corner c,
                             int row, int lines)
{
    #pragma unroll
    for (int i = 0; i < SLABS; i++)
        xl_box_load(to + (uint)(i * lines * LINE), map, bar, c.x + i * 64,
                    c.y + row, c.z);
}

/* -- sums, in lists of variables ------------------------------------------ */

#define S_LIST(X, d) XL_CAT(WG_LIST_, BM)(X, WG_COMMA, d)
#define S_GROUPS(X, d) XL_CAT(WG_LIST_, BM)(X, WG_NOTHING, d)
#define S_PAIRS(X, d) XL_CAT(WG_PAIRS_, BM)(X, WG_NOTHING, d)
#define P_LIST(X, d) XL_CAT(WG_PAIRS_, BM)(X, WG_COMMA, d)
#define D_LIST(X, d) XL_CAT(WG_LIST_, D)(X, WG_COMMA, d)
#define D_PAIRS(X, d) XL_CAT(WG_PAIRS_, D)(X, WG_NOTHING, d)
#define DQ_LIST(X) WG_LIST_64(X, WG_COMMA, dq)
#define WORDS_0(d, i, g, h)                                                   \
    d##i##_0 = 0, d##i##_1 = 0, d##i##_2 = 0, d##i##_3 = 0
#define WORDS_INOUT(d, i, g, h)                                               \
    "+r"(d##i##_0), "+r"(d##i##_1), "+r"(d##i##_2), "+r"(d##i##_3)

/* Around instructions; what they read and write is an operand, so that the
 * assembler moves nothing of it across. */
#define WG_FENCE "wgmma.fence.sync.aligned;"
#define WG_WAIT_FOR(n) "wgmma.wait_group.sync.aligned " #n ";"
#define AROUND_S(text, d) \
    __asm volatile(text : S_LIST(WG_INOUT, d) : : "memory")
#define AROUND_DQ(text) __asm volatile(text : DQ_LIST(WG_INOUT) : : "memory")
#define AROUND_GRADS(text)                                                    \
    do {                                                                      \
        __asm volatile(text                                                   \
                       : D_LIST(WG_INOUT, dv), D_LIST(WG_INOUT, dk)           \
                       :                                                      \
                       : "memory");                                           \
        __asm volatile(""                                                     \
                       : P_LIST(WORDS_INOUT, p), P_LIST(WORDS_INOUT, e)       \
                       :                                                      \
                       : "memory");                                           \
    } while (0)

/* 16 columns of D, 16 queries or 16 keys at a time. */
#define ALONG_K(i) ((i) / 4 * (64 * LINE / 16) + (i) % 4 * 2)
#define ALONG_Q(i) ((i) / 4 * (BM * LINE / 16) + (i) % 4 * 2)
#define ACROSS_K(i) ((i) / 4 * (K_BYTES / 16) + (i) % 4 * (16 * LINE / 16))
#define SCORES(d, i, k_at, q_at)                                              \
    WG_MULTIPLY_LOW(BM, d, low_k, (k_at) / 16 + ALONG_K(i), low_q,            \
                    (q_at) / 16 + ALONG_Q(i), 0, (i) > 0)
#define SCORES_4(d, i, k_at, q_at)                                            \
    SCORES(d, i, k_at, q_at); SCORES(d, i + 1, k_at, q_at);                   \
    SCORES(d, i + 2, k_at, q_at); SCORES(d, i + 3, k_at, q_at)
#define SUM_OF_KEYS(i, e)                                                  \
    WG_MULTIPLY_LOW(64, dq, e, ALONG_Q(i), across_k, ACROSS_K(i), 1, (i) > 0)
#if D == 64
#define SCORES_ALL(d, k_at, q_at) SCORES_4(d, 0, k_at, q_at)
#else
#define SCORES_ALL(d, k_at, q_at)                                             \
    SCORES_4(d, 0, k_at, q_at); SCORES_4(d, 4, k_at, q_at)
#endif
#define SUM_ALL(e)                                                            \
    do {                                                                      \
        const uint from = e;                                                  \
        SUM_OF_KEYS(0, from); SUM_OF_KEYS(1, from);                           \
        SUM_OF_KEYS(2, from); SUM_OF_KEYS(3, from);                           \
        SUM_OF_KEYS(4, from); SUM_OF_KEYS(5, from);                           \
        SUM_OF_KEYS(6, from); SUM_OF_KEYS(7, from);                           \
    } while (0)
/* From the lower word of lines along k to that of lines across it. */
#define TO_ACROSS ((BM * LINE / 16 - 1) << 16)
#define ADD_DV(d, i, g, h)                                                    \
    WG_MULTIPLY_WORDS(D, dv, d##i, low_q,                                     \
                      TO_ACROSS + G_AT / 16 + (i) * (16 * LINE / 16), 1, 1);
#define ADD_DK(d, i, g, h)                                                    \
    WG_MULTIPLY_WORDS(D, dk, d##i, low_q,                                     \
                      TO_ACROSS + Q_AT / 16 + (i) * (16 * LINE / 16), 1, 1);

/* -- weights of a block --------------------------------------------------- */

static inline float2 load_two(uint at)
{
    float2 x;
    __asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                   : "=f"(x.x), "=f"(x.y)
                   : "r"(at)
                   : "memory");
    return x;
}

static inline void store_four(uint at, float a, float b, float c, float d)
{
    __asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                   :
                   : "r"(at), "f"(a), "f"(b), "f"(c), "f"(d)
                   : "memory");
}

#define EXP_GROUP(d, g)                                                       \
    {                                                                         \
        const float2 l = load_two(row_at + (g) * 32);                         \
        d##g##_0 = xl_exp2(fma(d##g##_0, c, -l.x));                           \
        d##g##_1 = xl_exp2(fma(d##g##_1, c, -l.y));                           \
        d##g##_2 = xl_exp2(fma(d##g##_2, c, -l.x));                           \
        d##g##_3 = xl_exp2(fma(d##g##_3, c, -l.y));                           \
    }
/* Weights of queries before limit0 and limit1, which do not see the item's
 * two keys. */
#define MASK_GROUP(d, g)                                                      \
    d##g##_0 = (g) * 8 >= limit0 ? d##g##_0 : 0;                              \
    d##g##_1 = (g) * 8 + 1 >= limit0 ? d##g##_1 : 0;                          \
    d##g##_2 = (g) * 8 >= limit1 ? d##g##_2 : 0;                              \
    d##g##_3 = (g) * 8 + 1 >= limit1 ? d##g##_3 : 0;
#define GRAD_GROUP(d, g)                                                      \
    {                                                                         \
        const float2 l = load_two(row_at + BM * 4 + (g) * 32);                \
        d##g##_0 = s##g##_0 * (d##g##_0 - l.x);                               \
        d##g##_1 = s##g##_1 * (d##g##_1 - l.y);                               \
        d##g##_2 = s##g##_2 * (d##g##_2 - l.x);                               \
        d##g##_3 = s##g##_3 * (d##g##_3 - l.y);                               \
    }
#define TO_WORDS(p, d, i, g, h)                                               \
    p##i##_0 = xl_pair(DT, d##g##_0, d##g##_1);                               \
    p##i##_1 = xl_pair(DT, d##g##_2, d##g##_3);                               \
    p##i##_2 = xl_pair(DT, d##h##_0, d##h##_1);                               \
    p##i##_3 = xl_pair(DT, d##h##_2, d##h##_3);
#define TO_P(d, i, g, h) TO_WORDS(p, d, i, g, h)
#define GRAD_PAIR(d, i, g, h)                                                 \
    GRAD_GROUP(d, g)                                                          \
    GRAD_GROUP(d, h)                                                          \
    TO_WORDS(e, d, i, g, h)
#define GRAD_LOWER(d, i, g, h)                                                \
    if ((i) < BM / 32) {                                                      \
        GRAD_PAIR(d, i, g, h)                                                 \
    }
#define GRAD_UPPER(d, i, g, h)                                                \
    if ((i) >= BM / 32) {                                                     \
        GRAD_PAIR(d, i, g, h)                                                 \
    }
#define PUT_E(d, i, g, h)                                                     \
    xl_put_16x16_turned(e_at + (i) * (16 * LINE), d##i##_0, d##i##_1,         \
                        d##i##_2, d##i##_3);

/* Where the item's line of the first 16 x 16 of E begins: queries, and 16 keys
 * of its warp's. */
static inline uint line_of_e(uint at)
{
    const uint lid = xl_local_id(), lane = lid % 32;
    const uint line = lane / 16 * 8 + lane % 8;
    return at + E_AT + lid / 128 * (BM * LINE) + line * LINE +
           ((lid / 32 % 4 * 2 + lane / 8 % 2) ^ lane % 8) * 16;
}

/* The first query of a block that sees a key, less the item's first. */
static inline int limit_of(int key, int query, const ulong16 head)
{
    if (key >= N_KV)
        return INT_MAX;
    return CAUSAL ? key - OFFSET - query : INT_MIN;
}

/* -- the order of sums in memory ------------------------------------------ */

static inline void wait_for_tiles(__global const uint *counter, uint n)
{
    uint now;
#ifdef XL_SPIN_LIMIT
    uint left = XL_SPIN_LIMIT;
#endif
    do {
#ifdef XL_SPIN_LIMIT
        if (left-- == 0)
            __asm volatile("trap;");
#endif
        __asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                       : "=r"(now)
                       : "l"(counter)
                       : "memory");
    } while (now != n);
    __asm volatile("fence.proxy.async;" : : : "memory");
}

static inline void set_tiles(__global uint *counter, uint n)
{
    __asm volatile("fence.proxy.async;\n\t"
                   "st.release.gpu.global.u32 [%0], %1;"
                   :
                   : "l"(counter), "r"(n)
                   : "memory");
}

/* -- results -------------------------------------------------------------- */

#define PUT_PAIR(d, i, g, h)                                                  \
    xl_put_16x16(to + (i) / 4 * (64 * LINE) + (col_at ^ (i) % 4 * 32),        \
                 xl_pair(DT, d##g##_0 * factor, d##g##_1 * factor),           \
                 xl_pair(DT, d##g##_2 * factor, d##g##_3 * factor),           \
                 xl_pair(DT, d##h##_0 * factor, d##h##_1 * factor),           \
                 xl_pair(DT, d##h##_2 * factor, d##h##_3 * factor));
#define PUT_SUMS(d, g)                                                        \
    store_four(to + (g) * (128 * 16), d##g##_0, d##g##_1, d##g##_2, d##g##_3);

/* Sums of the tile's i-th block, to local memory. */
#define PUT_BLOCK(i)                                                          \
    do {                                                                      \
        const uint to =                                                       \
            at + SUM_AT + w * PIECE_BYTES + xl_local_id() % 128 * 16;         \
        xl_bar_wait(SUM_EMPTY(at, w), (i) & 1 ^ 1);                           \
        WG_LIST_64(PUT_SUMS, WG_NOTHING, dq)                                  \
        xl_box_fence();                                                       \
        xl_warp_sync();                                                       \
        xl_bar_arrive(SUM_FULL(at, w), is_first);                             \
    } while (0)

/* Adds a consumer's pieces, block by block, to the sums in memory, after the
 * tiles before; the first tile of a block stores. */
static inline void add_pieces(__global float *scratch, uint at, uint w,
                              struct tile tile, const ulong16 head)
{
    const uint staged = at + SUM_AT + w * PIECE_BYTES;
    const uint first = first_block(tile.n, head);
    const ulong piece = ((ulong)tile.head * SHARE * BLOCKS + first) * 2 + w;
    __global float *sums = scratch + SUMS_AT(ALL_BLOCKS) + piece * PIECE;
    __global uint *counter = (__global uint *)scratch + 16 + piece;
    uint phase = 0, block = first; /* of a head of Q */
    #pragma unroll 1
    for (uint i = (BLOCKS - first) * SHARE; i > 0; i--) {
        const uint before = tiles_before(tile.n, block, head);
        xl_bar_wait(SUM_FULL(at, w), phase);
        if (before == 0) {
            xl_line_store(sums, staged, PIECE_BYTES);
        } else {
            wait_for_tiles(counter, before);
            xl_line_add(sums, staged, PIECE_BYTES);
        }
        xl_box_commit();
        xl_box_read();
        xl_bar_arrive(SUM_EMPTY(at, w), 1);
        xl_box_done();
        set_tiles(counter, before + 1);
        phase ^= 1;
        uint step = 1;
        if (++block == BLOCKS) {
            block = first_block(tile.n, head);
            step = 1 + block;
        }
        sums += step * (2 * PIECE);
        counter += step * 2;
    }
}

static inline void store_rows(ulong map, uint from, struct corner c, int row)
{
    #pragma unroll
    for (int i = 0; i < SLABS; i++)
        xl_box_store(map, from + (uint)(i * 64 * LINE), c.x + i * 64,
                     c.y + row, c.z);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attention_backward_wgmma(
    const ulong16 head, __global const uchar *qs, struct xl_map q_map,
    __global const uchar *ks, struct xl_map k_map, __global const uchar *vs,
    struct xl_map v_map, __global const uchar *gs, struct xl_map g_map,
    __global uchar *dks, struct xl_map dk_map, __global uchar *dvs,
    struct xl_map dv_map, __global float *scratch, const float scale)
{
    __local uchar mem[LOCAL_BYTES] __attribute__((aligned(1024)));
    const uint lid = (uint)get_local_id(0), lane = lid % 32;
    const uint at = XL_LOCAL(mem), w = xl_warpgroup(lid);
    XL_MAP(map_q, attention_backward_wgmma, 1);
    XL_MAP(map_k, attention_backward_wgmma, 3);
    XL_MAP(map_v, attention_backward_wgmma, 5);
    XL_MAP(map_g, attention_backward_wgmma, 7);
    XL_MAP(map_dk, attention_backward_wgmma, 9);
    XL_MAP(map_dv, attention_backward_wgmma, 11);

    if (lid == PRODUCER * 128) {
        init_barriers(at);
        const struct tile t =
            locate_tile(atomic_inc((__global uint *)scratch), head);
        __local volatile struct tile *to =
            (__local volatile struct tile *)(mem + TILE_AT);
        to->n = t.n;
        to->head = t.head;
    }
    xl_named_sync(0, ITEMS);

    if (w == PRODUCER) {
        XL_GIVE_REGISTERS(PRODUCER_KEEPS);
        if (lid == PRODUCER * 128 + 32 || lid == PRODUCER * 128 + 64)
            add_pieces(scratch, at, lid % 128 / 32 - 1, read_tile(at), head);
        if (lid == PRODUCER * 128) {
            const struct tile tile = read_tile(at);
            const uint batch = tile.head / N_HEADS;
            const uint h = tile.head - batch * N_HEADS;
            __global const float *rows =
                scratch + ROWS_AT(ALL_BLOCKS) +
                ((ulong)tile.head * SHARE * BLOCKS) * (2 * BM);
            const struct corner k = corner_of(AT_K, STEP_K, batch, h);
            const struct corner v = corner_of(AT_V, STEP_V, batch, h);
            struct stage r = {0, 1};
            xl_bar_expect(KV_FULL(at), 4 * K_BYTES);
            for (int i = 0; i < 2; i++) {
                const int row = tile.n * KEYS + i * 64;
                load_rows(at + i * K_BYTES, map_k, KV_FULL(at), k, row, 64);
                load_rows(at + V_AT + i * K_BYTES, map_v, KV_FULL(at), v, row,
                          64);
            }
            #pragma unroll 1
            for (uint i = 0; i < SHARE; i++) {
                const struct tile same = read_tile(at);
                const uint b = same.head / N_HEADS;
                const uint hq = (same.head - b * N_HEADS) * SHARE + i;
                const struct corner q = corner_of(AT_Q, STEP_Q, b, hq);
                const struct corner g = corner_of(AT_G, STEP_G, b, hq);
                const uint begin = first_block(same.n, head);
                rows += begin * (2 * BM);
                #pragma unroll 1
                for (uint m = begin; m < BLOCKS; m++) {
                    xl_bar_wait(EMPTY(at, r.s), r.phase);
                    xl_bar_expect(Q_FULL(at, r.s), Q_BYTES + ROW_BYTES);
                    load_rows(at + Q_AT + r.s * Q_BYTES, map_q,
                              Q_FULL(at, r.s), q, (int)(m * BM), BM);
                    xl_line_load(at + ROW_AT + r.s * ROW_BYTES, rows,
                                 ROW_BYTES, Q_FULL(at, r.s));
                    xl_bar_expect(G_FULL(at, r.s), Q_BYTES);
                    load_rows(at + G_AT + r.s * Q_BYTES, map_g,
                              G_FULL(at, r.s), g, (int)(m * BM), BM);
                    rows += 2 * BM;
                    next_stage(&r);
                }
            }
        }
    } else {
        XL_TAKE_REGISTERS(CONSUMER_HAS);
        float S_LIST(WG_ZERO, s), S_LIST(WG_ZERO, t);
        float D_LIST(WG_ZERO, dv), D_LIST(WG_ZERO, dk);
        float DQ_LIST(WG_ZERO);
        uint P_LIST(WORDS_0, p), P_LIST(WORDS_0, e);
        const float c = scale * M_LOG2E_F;
        const uint is_first = lane == 0;
        const uint low_k = WG_LOW(at, 16) + w * (K_BYTES / 16);
        /* Of dQ a consumer has 64 of D's columns, or with 64 columns 64 rows
         * of a block. */
        const uint low_e =
            WG_LOW(at + E_AT, 16) + (D == 64 ? w * (64 * LINE / 16) : 0);
        const uint across_k =
            WG_LOW(at, 64 * LINE) + (D == 64 ? 0 : w * (64 * LINE / 16));
        const int n = read_tile(at).n;
        const int begin = (int)first_block(n, head) * BM;
        const uint n_blocks = (BLOCKS - first_block(n, head)) * SHARE;
        /* Before it queries do not see all keys. */
        const int masked = (n + 1) * KEYS > N_KV ? INT_MAX
                           : CAUSAL ? (n + 1) * KEYS - 1 - OFFSET
                                    : INT_MIN;
        int row = begin;
        AROUND_GRADS(WG_FENCE);
        xl_bar_wait(KV_FULL(at), 0);
        #pragma unroll 1
        for (uint i = 0; i < n_blocks; i++) {
            const uint b = i & 1, phase = i / 2 & 1;
            const uint low_q = WG_LOW(at, 16) + b * (Q_BYTES / 16);
            /* The block before; before the first, of what is there. */
            if (i > 0)
                xl_bar_wait(E_FULL(at, b ^ 1), (i - 1) / 2 & 1);
            AROUND_DQ(WG_FENCE);
            SUM_ALL(low_e + (b ^ 1) * (E_BYTES / 16));
            wg_close();
            AROUND_GRADS(WG_WAIT_FOR(1));
            if (i > 0)
                xl_bar_arrive(EMPTY(at, b ^ 1), is_first);
            xl_bar_wait(Q_FULL(at, b), phase);
            AROUND_S(WG_FENCE, s);
            SCORES_ALL(s, 0, Q_AT);
            wg_close();
            AROUND_DQ(WG_WAIT_FOR(1));
            if (i > 0) {
                xl_bar_arrive(E_EMPTY(at, b ^ 1), is_first);
                PUT_BLOCK(i - 1);
            }
            xl_bar_wait(G_FULL(at, b), phase);
            AROUND_S(WG_FENCE, t);
            SCORES_ALL(t, V_AT, G_AT);
            wg_close();
            AROUND_S(WG_WAIT_FOR(1), s);
            const uint row_at =
                at + ROW_AT + b * ROW_BYTES + xl_local_id() % 4 * 8;
            S_GROUPS(EXP_GROUP, s)
            if (row < masked) {
                const uint item = xl_local_id();
                const int key = read_tile(at).n * KEYS +
                                (int)(item / 32 * 16 + item % 32 / 4);
                const int query = row + (int)(item % 4 * 2);
                const int limit0 = limit_of(key, query, head);
                const int limit1 = limit_of(key + 8, query, head);
                S_GROUPS(MASK_GROUP, s)
            }
            AROUND_S(WG_WAIT_FOR(0), t);
            S_PAIRS(GRAD_LOWER, t)
            /* This wait, and its branch, between the halves of the block keep
             * the assembler from loading all of delta at once. */
            xl_bar_wait(E_EMPTY(at, b), phase ^ 1);
            S_PAIRS(GRAD_UPPER, t)
            S_PAIRS(TO_P, s)
            {
                const uint e_at = line_of_e(at + b * E_BYTES);
                S_PAIRS(PUT_E, e)
            }
            xl_box_fence();
            xl_warp_sync();
            xl_bar_arrive(E_FULL(at, b), is_first);
            AROUND_GRADS(WG_FENCE);
            S_PAIRS(ADD_DV, p)
            S_PAIRS(ADD_DK, e)
            wg_close();
            row += BM;
            if (row == (int)BLOCKS * BM)
                row = begin;
        }
        if (n_blocks > 0) {
            const uint b = (n_blocks - 1) & 1;
            xl_bar_wait(E_FULL(at, b), (n_blocks - 1) / 2 & 1);
            AROUND_DQ(WG_FENCE);
            SUM_ALL(low_e + b * (E_BYTES / 16));
            wg_close();
            AROUND_DQ(WG_WAIT_FOR(0));
            PUT_BLOCK(n_blocks - 1);
        }
        AROUND_GRADS(WG_WAIT_FOR(0));
        /* By the places of V, which only this consumer reads, and of K, which
         * both read. */
        xl_named_sync(3, 256);
        const struct tile tile = read_tile(at);
        const uint batch = tile.head / N_HEADS;
        const uint h = tile.head - batch * N_HEADS;
        const uint warp = xl_local_id() / 32 % 4;
        const uint place = at + w * K_BYTES + warp * (16 * LINE);
        const uint col_at = (lane / 16 ^ lane % 8) * 16;
        const int key = tile.n * KEYS + (int)(w * 64 + warp * 16);
        {
            const uint to = place + V_AT + lane % 16 * LINE;
            const float factor = 1;
            D_PAIRS(PUT_PAIR, dv)
        }
        {
            const uint to = place + lane % 16 * LINE;
            const float factor = scale;
            D_PAIRS(PUT_PAIR, dk)
        }
        xl_box_fence();
        xl_warp_sync();
        if (is_first) {
            store_rows(map_dv, place + V_AT,
                       corner_of(AT_DV, STEP_DV, batch, h), key);
            store_rows(map_dk, place, corner_of(AT_DK, STEP_DK, batch, h),
                       key);
            xl_box_commit();
            xl_box_read();
        }
    }
}
