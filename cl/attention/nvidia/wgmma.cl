/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      O = softmax(scale Q K^T) V, and the logarithm of each row's
 *               sum, on matrix instructions of four warps. A work-group has NC
 *               consumers, four warps and 64 queries each, and four warps
 *               of which an item of one describes the next tiles, and an item
 *               of another, the producer, starts copies of boxes. A tile
 *               is 64 NC queries of one head; its keys are read from the last
 *               block of BK to the first, so that masks come first. K and V
 *               have a ring of ST stages each:
 *
 *                 producer   K n-1, Q, K n-2, V n-1, K n-3, V n-2 ...
 *                 consumer   S = Q K[n-1]
 *                            P = exp2(c (S - m))           c = scale log2(e)
 *                            one at a time { S = Q K[j], O += P V[j+1] }
 *                            maxima of S; wait for O; P = exp2(c (S - m))
 *
 *               Consumers issue instructions one after the other (named
 *               barriers), so that one multiplies while the others take
 *               exponentials. The maximum m of a row moves only where a score
 *               exceeds it by 2^GROWTH: a vote of the warp, without exchange;
 *               P stays below 2^GROWTH, and the division by its sum takes the
 *               same m. Masked rows begin with a finite m, so that no
 *               difference of infinities occurs.
 *
 *               Of sequences of unequal lengths tiles are those that there
 *               are, one sequence after the other. Boxes may go on into the
 *               rows of the next: their scores are masked, rows of V, which a
 *               weight of 0 would not hide if they are no numbers, are
 *               overwritten with 0 in local memory, and where fewer than 16
 *               rows of O are left, items store them one by one.
 *               Scores that are more than scaled products (PLAIN 0) are made of
 *               S in registers before the maxima; c is log2(e) then.
 *               Of f8e4m3 q, k and v are multiplied as bytes. V then is
 *               read as values.clh has it, keys along lines, in an order in
 *               which P is an operand as it is in registers. P is 2^BIAS times
 *               a weight, rounded to E4M3, of which l is the unrounded sum.
 * Arguments     head: 16 numbers, named below; their 128 bytes also align the
 *               maps behind them (NV-32). Q, K, V, O: pointer and map of rank
 *               3: columns, rows, heads of all sequences; or columns of all
 *               heads, rows, sequences. Boxes of 64 columns by 64 (Q), BK (K,
 *               V), 16 (O) rows; of bytes 128 columns. Of f8e4m3 vs is scratch
 *               memory, in which AT_V bytes are before the values, and its map
 *               and scale are not read. lse: floats, if LSE. counter: a word of 0 if
 *               IS_COUNTED, which counts tiles; else not read. ROWS_PARAMS;
 *               SCORE_PARAMS below
 * Launch        local 128 (NC + 1), global that times groups, no more than
 *               compute units. 1-D, not sliced
 * Local memory  LOCAL_BYTES below
 * -D            DT 1 f16, 2 bf16, 8 f8e4m3; OT that of o, 1 or 2; D columns
 *               (64 128; of f8e4m3 128); NC consumers (2 3); BK keys of a
 *               block, a multiple of 16, of f8e4m3 of 32; ST stages; QREG 1: Q in
 *               registers; CAUSAL 1: query i sees keys up to i + n_kv - n_q;
 *               LSE 1; Q_ROWS, KV_ROWS 0 to 2: attention/sequences.clh;
 *               CAP, MT, MU, SLOPES: attention/attention.clh; XL_SPIN_LIMIT:
 *               common/nvidia/tma.clh
 * Needs         sm_90a; scale > 0; of f8e4m3 no Q_ROWS, KV_ROWS, and PLAIN
 * Cost          4 D flop a pair of a query and a key that it sees
 * Source        Dao et al. 2022 (tiles with online softmax), Shah et al. 2024
 *               (consumers that take turns); PTX ISA 9.0; NV-29 to NV-32 */
#ifndef DT
#define DT 1
#endif
#ifndef D
#define D 128
#endif
#ifndef NC
#define NC 3
#define BK 80
#define ST 2
#endif
#ifndef QREG
#define QREG 0
#endif
#ifndef OT
#define OT DT
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef LSE
#define LSE 0
#endif

#define TN BK /* of S: common/nvidia/wgmma_ptx.clh */
#define TI DT
#define UA 0
#define UB 0
#define PLACE int
#define XL_EP_PRODUCT uint
#include "common/types.clh"
#include "common/nvidia/tma.clh"
#include "common/nvidia/warp.clh"
#include "common/nvidia/wgmma_ptx.clh"
#include "attention/nvidia/ring.clh"
#include "attention/attention.clh"

#define IS_RAGGED (Q_ROWS || KV_ROWS)
#define IS_COUNTED (CAUSAL || IS_RAGGED)
#define IS_F8 (DT == 8)
#if PLAIN
#define SCORE_PARAMS
#define SCORE_OPERANDS
#else
#define SCORE_PARAMS                                                          \
    , __global const MASK_ELEM *mask, __global const float *slopes,           \
        const float cap, const struct view mask_at,                           \
        const struct head_values slopes_at XL_PROLOGUE_PARAMS
/* For ROW(), which reads no more of these. */
#define SCORE_OPERANDS                                                        \
    struct views at;                                                          \
    struct sizes n;                                                           \
    at.mask = mask_at;                                                        \
    n.slopes = slopes_at;                                                     \
    n.n_heads = N_HEADS;                                                      \
    n.before = n.after = 0;                                                   \
    n.n_q = (ulong)MOST_Q;                                                    \
    n.n_kv = (ulong)MOST_KV;
#endif

#if IS_F8
#include "attention/nvidia/values.clh"
#endif

/* -- head ----------------------------------------------------------------- */

#define MOST_Q ((int)as_uint2(head.s0).x) /* of a sequence */
#define MOST_KV ((int)as_uint2(head.s0).y)
#define TILES_Q as_uint2(head.s1).x /* of a head, where lengths are equal */
#define HEADS as_uint2(head.s1).y   /* of all sequences */
#define SECTION as_uint2(head.s2).x /* heads whose K and V stay in the cache */
#define SHARE as_uint2(head.s2).y   /* heads of Q that read one of K and V */
#define N_HEADS as_uint2(head.s3).x /* of a sequence */
#define N_BATCH as_uint2(head.s3).y /* sequences */
#define AT_Q head.s4 /* element in its line, line */
#define AT_K head.s5
#define AT_V head.s6
#define AT_O head.s7
/* Columns from head to head, 0: heads are the third coordinate; and this
 * coordinate from sequence to sequence. */
#define STEP_Q as_uint2(head.s8)
#define STEP_K as_uint2(head.s9)
#define STEP_V as_uint2(head.sa)
#define STEP_O as_uint2(head.sb)
#define LSE_AT head.sc
#define LSE_BATCH head.sd
#define LSE_HEAD head.se
#define LSE_ROW head.sf
/* Of the sequence of a consumer's slot. CAUSAL: query i sees keys up to i +
 * OFFSET. */
#if IS_RAGGED
#define N_Q slot->n_q
#define N_KV slot->n_kv
#define OFFSET slot->offset
#else
#define N_Q MOST_Q
#define N_KV MOST_KV
#define OFFSET (N_KV - N_Q)
#endif

/* -- local memory --------------------------------------------------------- */

#define LINE 128 /* bytes: the span of a swizzle */
#define SLAB (LINE / ELEM_BYTES(DT)) /* columns of a line */
#define SLABS (D / SLAB)
#define Q_BYTES (64 * LINE * SLABS) /* of a consumer */
#define O_BYTES (64 * D * 2)        /* likewise */
#define KV_BYTES (BK * LINE * SLABS)
#define KV_BLOCKS ((uint)(N_KV + BK - 1) / BK)
#define O_AT (NC * Q_BYTES)
#define K_AT (O_AT + NC * O_BYTES)
#define V_AT (K_AT + ST * KV_BYTES)
#define BARS_AT (V_AT + ST * KV_BYTES)
#define SLOTS_AT (BARS_AT + 8 * (2 * NC + 4 * ST))
#define SEQUENCE_AT (SLOTS_AT + 3 * 96)
#define LOCAL_BYTES (SEQUENCE_AT + 16)
#define ITEMS (NC * 128 + 128)

#if NC == 3
#define PRODUCER_KEEPS 32
#define CONSUMER_HAS 160
#else
#define PRODUCER_KEEPS 40
#define CONSUMER_HAS 232
#endif

/* Barriers of each consumer's Q and of each stage. */
struct barriers {
    uint q_full, q_empty, k_full, k_empty, v_full, v_empty;
};

/* What a tile is, with its barriers; there are two, and a third one without, for
 * what is described before either is free. It is read again and again instead
 * of being kept in registers, of which there are few. */
struct slot {
    int row, blocks; /* first query; blocks of keys, 0: there is no tile */
    uint lse_low, lse_high;     /* elements from lse to the head's first row */
#if IS_F8
    float c, factor; /* of scores, as base 2; of results */
    uint values;     /* number of the head's */
    uint z;          /* head of all sequences */
#else
    int n_q, n_kv, offset; /* of its sequence, if IS_RAGGED */
    uint z;                /* head of all sequences */
#endif
    struct corner q, k, v, o;
    ulong full, empty;
};
#define SLOT_FULL(slot) XL_LOCAL(&(slot)->full)
#define SLOT_EMPTY(slot) XL_LOCAL(&(slot)->empty)

static inline struct barriers locate_barriers(uint mem)
{
    struct barriers b;
    b.q_full = mem + BARS_AT;
    b.q_empty = b.q_full + 8 * NC;
    b.k_full = b.q_empty + 8 * NC;
    b.k_empty = b.k_full + 8 * ST;
    b.v_full = b.k_empty + 8 * ST;
    b.v_empty = b.v_full + 8 * ST;
    return b;
}

static inline void init_barriers(const struct barriers *b,
                                 __local volatile struct slot *slots)
{
    for (uint i = 0; i < NC; i++) {
        xl_bar_init(b->q_full + 8 * i, 1);
        xl_bar_init(b->q_empty + 8 * i, 4);
    }
    for (uint i = 0; i < ST; i++) {
        xl_bar_init(b->k_full + 8 * i, 1);
        xl_bar_init(b->k_empty + 8 * i, NC * 4);
        xl_bar_init(b->v_full + 8 * i, 1);
        xl_bar_init(b->v_empty + 8 * i, NC * 4);
    }
    for (uint i = 0; i < 2; i++) {
        xl_bar_init(SLOT_FULL(slots + i), 1);
        xl_bar_init(SLOT_EMPTY(slots + i), NC * 4 + 1);
    }
    xl_bar_publish();
}

/* -- tiles ---------------------------------------------------------------- */

struct tile {
    uint rows, head, blocks; /* number along queries; of keys */
};

#define TILES_OF(n_q) ((uint)((n_q) + NC * 64 - 1) / (NC * 64))

/* Of `heads` with so many tiles, queries and keys. CAUSAL: of the heads of a
 * section the longest tiles first. */
static inline struct tile locate_tile(uint t, uint tiles, uint heads, int n_q,
                                      int n_kv, const ulong16 head)
{
    struct tile r;
#if CAUSAL
    const uint each = tiles * SECTION, section = t / each;
    const uint in = t - section * each;
    const uint together = min(SECTION, heads - section * SECTION);
    r.rows = tiles - 1 - in / together;
    r.head = section * SECTION + in % together;
    n_kv = min(n_kv, (int)((r.rows + 1) * NC * 64) + n_kv - n_q);
#else
    r.rows = t % tiles;
    r.head = t / tiles;
#endif
    r.blocks = ((uint)max(n_kv, 1) + BK - 1) / BK;
    return r;
}

/* A sequence, and the tiles before its own. It is in local memory, and its rows
 * in the slot, since the item that finds it has few registers. CAUSAL, where a
 * section has more than one sequence, from `first` on: of each sequence only
 * the tiles of number `level` along queries, the longest first. */
struct sequence {
    uint number, before, first, level;
};
#define HAS_LEVELS (CAUSAL && SECTION > N_HEADS)

static inline void begin_section(__local volatile struct sequence *s,
                                 uint first, const ulong16 head)
{
    s->number = s->first = first;
    s->level = TILES_Q - 1;
}

static inline void pass_sequence(__local volatile struct sequence *s,
                                 const ulong16 head)
{
    const uint end = s->first + (HAS_LEVELS ? SECTION / N_HEADS : 1);
    if (++s->number < min(end, N_BATCH))
        return;
    if (HAS_LEVELS && s->level > 0) {
        s->number = s->first;
        s->level--;
    } else {
        begin_section(s, end, head);
    }
}

/* The sequence that has tile t, which is not before s; false: none has. */
static inline bool find_sequence(__local volatile struct sequence *s,
                                 __local volatile struct slot *slot, uint t,
                                 const ulong16 head ROWS_PARAMS)
{
#if IS_RAGGED
    #pragma unroll 1
    for (; s->number < N_BATCH; pass_sequence(s, head)) {
        struct span q = {0, (ulong)MOST_Q}, kv = {0, (ulong)MOST_KV};
#if Q_ROWS
        q = span_of(q_rows, lists.q, s->number, Q_ROWS, q.n);
#endif
        const uint tiles = TILES_OF((int)q.n);
        const uint n = (HAS_LEVELS ? s->level < tiles : tiles) * N_HEADS;
        if (t - s->before < n) {
            slot->n_q = (int)q.n;
            slot->q.y = slot->o.y = (int)q.begin;
#if KV_ROWS
            kv = span_of(kv_rows, lists.kv, s->number, KV_ROWS, kv.n);
#endif
            slot->n_kv = (int)kv.n;
            slot->offset = (int)kv.n - (int)q.n;
            slot->k.y = slot->v.y = (int)kv.begin;
            return true;
        }
        s->before += n;
    }
    return false;
#else
    slot->q.y = slot->k.y = slot->v.y = slot->o.y = 0;
    return t < TILES_Q * HEADS;
#endif
}

/* From the sequence's first row, in y. */
static inline void set_corner(__local volatile struct corner *to, ulong at,
                              uint2 step, uint batch, uint h)
{
    const struct corner c = corner_of(at, step, batch, h);
    to->x = c.x;
    to->y += c.y;
    to->z = c.z;
}

static inline void describe_tile(__local volatile struct slot *slot, uint t,
                                 __local volatile const struct sequence *s,
                                 __global const uchar *vs,
                                 const ulong16 head)
{
#if IS_RAGGED
    const uint tiles = TILES_OF(slot->n_q);
    const uint in = t - s->before +
                    (HAS_LEVELS ? (tiles - 1 - s->level) * N_HEADS : 0);
    const struct tile a = locate_tile(in, tiles, N_HEADS, slot->n_q,
                                      slot->n_kv, head);
    const uint batch = s->number, h = a.head;
#else
    const struct tile a = locate_tile(t, TILES_Q, HEADS, MOST_Q, MOST_KV, head);
    const uint batch = a.head / N_HEADS, h = a.head - batch * N_HEADS;
#endif
    slot->z = batch * N_HEADS + h;
    slot->row = (int)(a.rows * NC * 64);
    slot->blocks = (int)a.blocks;
#if LSE
    const ulong lse_at = LSE_AT + batch * LSE_BATCH + h * LSE_HEAD +
                         (ulong)slot->q.y * LSE_ROW;
    slot->lse_low = (uint)lse_at;
    slot->lse_high = (uint)(lse_at >> 32);
#endif
    set_corner(&slot->q, AT_Q, STEP_Q, batch, h);
    set_corner(&slot->k, AT_K, STEP_K, batch, h / SHARE);
#if IS_F8
    const uint g = h / SHARE;
    slot->values = batch * (N_HEADS / SHARE) + g;
    const float2 factors =
        ((__global const float2 *)(vs + FACTORS_AT))[slot->values];
    slot->c = factors.x;
    slot->factor = factors.y;
#else
    set_corner(&slot->v, AT_V, STEP_V, batch, h / SHARE);
#endif
    set_corner(&slot->o, AT_O, STEP_O, batch, h);
}

/* What slots have before their barriers: 5 of 16 bytes. */
static inline void copy_slot(__local volatile struct slot *to,
                             __local volatile const struct slot *from)
{
    __local volatile const uint4 *x = (__local volatile const uint4 *)from;
    __local volatile uint4 *y = (__local volatile uint4 *)to;
    #pragma unroll
    for (uint i = 0; i < 5; i++)
        y[i] = x[i];
}

/* Boxes of `lines` rows from `row` on, to local memory. */
static inline void load_rows(uint to, ulong map, uint bar,
                             __local volatile const struct corner *c, int row,
                             int lines)
{
    const int x = c->x, y = c->y + row, z = c->z;
    #pragma unroll
    for (int i = 0; i < SLABS; i++)
        xl_box_load(to + (uint)(i * lines * LINE), map, bar, x + i * SLAB, y,
                    z);
}

/* -- sums, in lists of variables ------------------------------------------ */

#define O_GROUPS(X, d) XL_CAT(WG_LIST_, D)(X, WG_NOTHING, d)
#define O_LIST(X) XL_CAT(WG_LIST_, D)(X, WG_COMMA, o)
#define O_PAIRS(X, d) XL_CAT(WG_PAIRS_, D)(X, WG_NOTHING, d)
#define P_LIST(X) XL_CAT(WG_PAIRS_, BK)(X, WG_COMMA, p)
#if IS_F8
/* Two words of 16 keys, of rows 8 apart. */
#define P_0(d, i, g, h) d##i##_0 = 0, d##i##_1 = 0
#define P_INOUT(d, i, g, h) "+r"(d##i##_0), "+r"(d##i##_1)
#else
#define P_0 WORDS_0
#define P_INOUT WORDS_INOUT
#endif
#define WORDS_0(d, i, g, h)                                                   \
    d##i##_0 = 0, d##i##_1 = 0, d##i##_2 = 0, d##i##_3 = 0
#define WORDS_INOUT(d, i, g, h)                                               \
    "+r"(d##i##_0), "+r"(d##i##_1), "+r"(d##i##_2), "+r"(d##i##_3)

/* Around instructions; what they read and write is an operand, so that the
 * assembler moves nothing of it across. */
#define OPEN_S()                                                              \
    __asm volatile("wgmma.fence.sync.aligned;"                                \
                   : WG_LIST(WG_INOUT, WG_COMMA, s) Q_INOUT                   \
                   :                                                          \
                   : "memory")
#define OPEN_O()                                                              \
    __asm volatile("wgmma.fence.sync.aligned;"                                \
                   : O_LIST(WG_INOUT), P_LIST(P_INOUT)                        \
                   :                                                          \
                   : "memory")
#define WAIT_S(n)                                                             \
    __asm volatile("wgmma.wait_group.sync.aligned " #n ";"                    \
                   : WG_LIST(WG_INOUT, WG_COMMA, s)                           \
                   :                                                          \
                   : "memory")
#define WAIT_O()                                                              \
    __asm volatile("wgmma.wait_group.sync.aligned 0;"                         \
                   : O_LIST(WG_INOUT), P_LIST(P_INOUT)                        \
                   :                                                          \
                   : "memory")

/* S = Q K^T, 32 bytes of a row at a time; O += P V, 16 keys at a time, or 32
 * along which lines of V are. */
#define QK_AT(i) ((i) / 4 * (64 * LINE / 16) + (i) % 4 * 2)
#define KQ_AT(i) ((i) / 4 * (BK * LINE / 16) + (i) % 4 * 2)
#if QREG
#if IS_F8
#define Q_PAIRS WG_PAIRS_64 /* of 128 columns */
#else
#define Q_PAIRS XL_CAT(WG_PAIRS_, D)
#endif
#define Q_LIST(X) Q_PAIRS(X, WG_COMMA, q_)
#define Q_INOUT , Q_LIST(WORDS_INOUT)
#define GET_Q(d, i, g, h)                                                     \
    xl_get_16x16(f.row_at + (i) / 4 * (64 * LINE) +                           \
                     (f.col_at ^ (i) % 4 * 32),                               \
                 &d##i##_0, &d##i##_1, &d##i##_2, &d##i##_3);
#define QK(i, k, more)                                                        \
    WG_MULTIPLY_WORDS(BK, s, q_##i, k, KQ_AT(i), 0, more)
#else
#define Q_INOUT
#define QK(i, k, more)                                                        \
    WG_MULTIPLY_LOW(BK, s, low_q, QK_AT(i), k, KQ_AT(i), 0, more)
#endif
#if D * ELEM_BYTES(DT) == LINE
#define QK_ALL(k) QK(0, k, 0); QK(1, k, 1); QK(2, k, 1); QK(3, k, 1)
#else
#define QK_ALL(k)                                                             \
    QK(0, k, 0); QK(1, k, 1); QK(2, k, 1); QK(3, k, 1);                       \
    QK(4, k, 1); QK(5, k, 1); QK(6, k, 1); QK(7, k, 1)
#endif
#if IS_F8
#define V_STEP(i)                                                             \
    ((i) / (V_LINE / 32) * (D * V_LINE / 16) + (i) % (V_LINE / 32) * 2)
#define PV(d, i, g, h)                                                        \
    WG_MULTIPLY_FOUR(V_LINE, D, o, d##g##_0, d##g##_1, d##h##_0, d##h##_1,    \
                     from, V_STEP(i), 0, (i) == 0 ? more : 1);
#define PV_STEPS XL_CAT(WG_PAIRS_, V_STEPS)
#else
#define PV(d, i, g, h)                                                        \
    WG_MULTIPLY_WORDS(D, o, d##i, from, (i) * (16 * LINE / 16), 1,            \
                      (i) == 0 ? more : 1);
#define PV_STEPS XL_CAT(WG_PAIRS_, BK)
#endif
#define PV_ALL(v)                                                             \
    do {                                                                      \
        const uint from = v;                                                  \
        PV_STEPS(PV, WG_NOTHING, p)                                           \
    } while (0)

/* -- softmax of a block --------------------------------------------------- */

#define LEAST (-1e30f) /* the maximum of a row that has seen no score */
/* Weights are 2^BIAS times what they are relative to the maximum: E4M3 ends at
 * 448, and below 2^-9 with 0. */
#if IS_F8
#define GROWTH 2.0f
#define BIAS 6.0f
#define SHIFT_OF(m) (BIAS - (m) * c)
#else
#define GROWTH 8.0f
#define BIAS 0
#define SHIFT_OF(m) (-(m) * c)
#endif

static inline float max_of_row(float x)
{
    x = fmax(x, xl_shuffle_xor(x, 1));
    return fmax(x, xl_shuffle_xor(x, 2));
}

static inline float sum_of_row(float x)
{
    x += xl_shuffle_xor(x, 1);
    return x + xl_shuffle_xor(x, 2);
}

#define MAX_PAIR(d, i, g, h)                                                  \
    x0 = fmax(x0, d##g##_0), x1 = fmax(x1, d##g##_2);                         \
    x2 = fmax(x2, d##g##_1), x3 = fmax(x3, d##g##_3);                         \
    x4 = fmax(x4, d##h##_0), x5 = fmax(x5, d##h##_2);                         \
    x6 = fmax(x6, d##h##_1), x7 = fmax(x7, d##h##_3);
/* The largest scores of an item's two rows, as x0 and x1. */
#define ROW_MAXIMA()                                                          \
    float x0 = s0_0, x1 = s0_2, x2 = s0_1, x3 = s0_3;                         \
    float x4 = s1_0, x5 = s1_2, x6 = s1_1, x7 = s1_3;                         \
    WG_PAIRS(MAX_PAIR, s)                                                     \
    x0 = fmax(fmax(x0, x2), fmax(x4, x6));                                    \
    x1 = fmax(fmax(x1, x3), fmax(x5, x7))
#define EXP_GROUP(d, g)                                                       \
    d##g##_0 = xl_exp2(fma(d##g##_0, c, n0));                                 \
    d##g##_1 = xl_exp2(fma(d##g##_1, c, n0));                                 \
    d##g##_2 = xl_exp2(fma(d##g##_2, c, n1));                                 \
    d##g##_3 = xl_exp2(fma(d##g##_3, c, n1));                                 \
    l0 += d##g##_0, l2 += d##g##_1, l1 += d##g##_2, l3 += d##g##_3;
#define EXP_ALL()                                                             \
    do {                                                                      \
        const float n0 = SHIFT_OF(m0), n1 = SHIFT_OF(m1);                     \
        WG_GROUPS(EXP_GROUP, s)                                               \
    } while (0)
#if IS_F8
#define TO_P(d, i, g, h)                                                      \
    p##i##_0 = xl_four_e4m3(d##g##_0, d##g##_1, d##h##_0, d##h##_1);          \
    p##i##_1 = xl_four_e4m3(d##g##_2, d##g##_3, d##h##_2, d##h##_3);
#else
#define TO_P(d, i, g, h)                                                      \
    p##i##_0 = xl_pair(DT, d##g##_0, d##g##_1);                               \
    p##i##_1 = xl_pair(DT, d##g##_2, d##g##_3);                               \
    p##i##_2 = xl_pair(DT, d##h##_0, d##h##_1);                               \
    p##i##_3 = xl_pair(DT, d##h##_2, d##h##_3);
#endif
#define SCALE_GROUP(d, g)                                                     \
    d##g##_0 *= f0, d##g##_1 *= f0, d##g##_2 *= f1, d##g##_3 *= f1;

/* Ties limits to a score by a comparison that never holds, so that the
 * assembler does not compare before the scores are there and keep the results
 * in registers. */
#define AFTER_S(limit0, limit1)                                               \
    __asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 t;\n\t"                   \
                   "setp.eq.b32 p, %2, 0x7f812345;\n\t"                       \
                   "selp.b32 t, 1, 0, p;\n\t"                                 \
                   "sub.s32 %0, %0, t;\n\tsub.s32 %1, %1, t;\n\t}"            \
                   : "+r"(limit0), "+r"(limit1)                               \
                   : "r"(as_int(s0_0)))
#define MASK_GROUP(d, g)                                                      \
    d##g##_0 = (g) * 8 < limit0 ? d##g##_0 : -INFINITY;                       \
    d##g##_1 = (g) * 8 + 1 < limit0 ? d##g##_1 : -INFINITY;                   \
    d##g##_2 = (g) * 8 < limit1 ? d##g##_2 : -INFINITY;                       \
    d##g##_3 = (g) * 8 + 1 < limit1 ? d##g##_3 : -INFINITY;
/* The first of an item's two rows among the 64 of its consumer; the other is 8
 * below. The item's number is read again wherever it is used, so that nothing
 * made of it holds registers between. */
static inline int item_row(int lid)
{
    return lid / 32 % 4 * 16 + lid % 32 / 4;
}
#if CAUSAL
#define LIMIT(row) min(N_KV, (row) + 1 + OFFSET)
#else
#define LIMIT(row) ((void)(row), N_KV)
#endif
/* Scores of keys from key0 on that the item's two rows do not see. */
#define MASK(key0)                                                            \
    do {                                                                      \
        const int lid_ = (int)xl_local_id();                                  \
        const int row_ = row0 + item_row(lid_);                               \
        const int first = (key0) + lid_ % 4 * 2;                              \
        int limit0 = LIMIT(row_) - first, limit1 = LIMIT(row_ + 8) - first;   \
        AFTER_S(limit0, limit1);                                              \
        WG_GROUPS(MASK_GROUP, s)                                              \
    } while (0);
#define NO_MASK(key0)

/* Products become scores. Rows behind the last are taken as it, and so are keys
 * where LIMITED is _END. An item's two rows share what depends on the key, but
 * of a mask, where each has an address, one follows the other. */
#if PLAIN
#define SCORE(key0, LIMITED)
#else
#define KEY(j) (ulong)(j)
#define KEY_END(j) (ulong)min(j, max(N_KV, 1) - 1)
#define SCORE_PAIR(d, g, e, f, r, KEY_OF)                                     \
    d##g##_##e = score(r, d##g##_##e,                                         \
                       KEY_OF(first + (g) * 8) XL_PROLOGUE_ARGS);             \
    d##g##_##f = score(r, d##g##_##f,                                         \
                       KEY_OF(first + (g) * 8 + 1) XL_PROLOGUE_ARGS);
#define SCORE_ABOVE(d, g) SCORE_PAIR(d, g, 0, 1, above, KEY)
#define SCORE_BELOW(d, g) SCORE_PAIR(d, g, 2, 3, below, KEY)
#define SCORE_ABOVE_END(d, g) SCORE_PAIR(d, g, 0, 1, above, KEY_END)
#define SCORE_BELOW_END(d, g) SCORE_PAIR(d, g, 2, 3, below, KEY_END)
#define SCORE_BOTH(d, g) SCORE_ABOVE(d, g) SCORE_BELOW(d, g)
#define SCORE_BOTH_END(d, g) SCORE_ABOVE_END(d, g) SCORE_BELOW_END(d, g)
#define SCORED_ROW(name, i)                                                   \
    const struct row name =                                                   \
        ROW(b_, h_, (ulong)min(row0 + item_row(lid_) + (i), N_Q - 1))
#if MT >= 0
#define SCORE_ROWS(LIMITED)                                                   \
    {                                                                         \
        SCORED_ROW(above, 0);                                                 \
        WG_GROUPS(SCORE_ABOVE##LIMITED, s)                                    \
    }                                                                         \
    SCORED_ROW(below, 8);                                                     \
    WG_GROUPS(SCORE_BELOW##LIMITED, s)
#else
#define SCORE_ROWS(LIMITED)                                                   \
    SCORED_ROW(above, 0);                                                     \
    SCORED_ROW(below, 8);                                                     \
    WG_GROUPS(SCORE_BOTH##LIMITED, s)
#endif
#define SCORE(key0, LIMITED)                                                  \
    do {                                                                      \
        const int lid_ = (int)xl_local_id();                                  \
        const int first = (key0) + lid_ % 4 * 2;                              \
        const uint b_ = slot->z / N_HEADS, h_ = slot->z - b_ * N_HEADS;       \
        SCORE_ROWS(LIMITED)                                                   \
    } while (0);
#endif

/* -- a consumer's blocks -------------------------------------------------- */

#define WAIT_TURN() xl_named_sync(1 + w, 256)
#define PASS_TURN() xl_named_arrive(w + 1 == NC ? 1 : w + 2, 256)
#define FREE_K()                                                              \
    xl_bar_arrive(b.k_empty + 8 * k.s, is_first);                             \
    next_stage(&k)
#define FREE_V()                                                              \
    xl_bar_arrive(b.v_empty + 8 * v.s, is_first);                             \
    next_stage(&v)

/* The lines of V from `line` on become 0, by the items of a consumer. Each
 * consumer does it, so that none waits for another; what it gives back is not
 * written before all have. */
static inline void clear_lines(uint at, int line)
{
    const int lid = (int)xl_local_id() % 128;
    for (int i = line + lid / 8; i < BK; i += 16) {
        #pragma unroll
        for (int slab = 0; slab < SLABS; slab++)
            __asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};"
                           :
                           : "r"(at + (uint)((slab * BK + i) * LINE +
                                             lid % 8 * 16)),
                             "r"(0)
                           : "memory");
    }
    xl_box_fence();
}

/* Of a tile's first values, of the keys from key0 on, those behind the last
 * key. */
#if KV_ROWS
#define CLEAR_BEHIND(key0)                                                    \
    if (!more && (key0) + BK > N_KV) {                                        \
        clear_lines(room + V_AT + v.s * KV_BYTES, max(N_KV - (key0), 0));     \
        xl_named_sync(NC + 1 + w, 128);                                       \
    }
#else
#define CLEAR_BEHIND(key0)
#endif

/* Scores of the keys from key0 on, and the sums of the block before. */
#define BLOCK(LIMITED, MASK_OF)                                               \
    do {                                                                      \
        xl_bar_wait(b.k_full + 8 * k.s, k.phase);                             \
        WAIT_TURN();                                                          \
        OPEN_O();                                                             \
        QK_ALL(low_k + k.s * (KV_BYTES / 16));                               \
        wg_close();                                                           \
        xl_bar_wait(b.v_full + 8 * v.s, v.phase);                             \
        CLEAR_BEHIND(key0 + BK);                                              \
        wg_open();                                                            \
        PV_ALL(low_v + v.s * (KV_BYTES / 16));                               \
        wg_close();                                                           \
        more = 1;                                                             \
        PASS_TURN();                                                          \
        WAIT_S(1);                                                            \
        FREE_K();                                                             \
        SCORE(key0, LIMITED)                                                  \
        MASK_OF(key0)                                                         \
        float f0 = 1, f1 = 1;                                                 \
        ROW_MAXIMA();                                                         \
        const int grew =                                                      \
            xl_any((x0 - m0) * c > GROWTH || (x1 - m1) * c > GROWTH);         \
        if (grew) {                                                           \
            x0 = fmax(m0, max_of_row(x0));                                    \
            x1 = fmax(m1, max_of_row(x1));                                    \
            f0 = xl_exp2((m0 - x0) * c);                                      \
            f1 = xl_exp2((m1 - x1) * c);                                      \
            m0 = x0, m1 = x1;                                                 \
            l0 *= f0, l2 *= f0, l1 *= f1, l3 *= f1;                           \
        }                                                                     \
        EXP_ALL();                                                            \
        WAIT_O();                                                             \
        FREE_V();                                                             \
        WG_PAIRS(TO_P, s)                                                     \
        if (grew) {                                                           \
            O_GROUPS(SCALE_GROUP, o)                                          \
        }                                                                     \
    } while (0)

/* A block of which this consumer's rows see nothing. */
static inline void skip_block(const struct barriers *b, struct stage *k,
                              struct stage *v, uint w, uint is_first,
                              bool has_turn)
{
    xl_bar_wait(b->k_full + 8 * k->s, k->phase);
    if (has_turn) {
        WAIT_TURN();
        PASS_TURN();
    }
    xl_bar_arrive(b->k_empty + 8 * k->s, is_first);
    next_stage(k);
    xl_bar_wait(b->v_full + 8 * v->s, v->phase);
    xl_bar_arrive(b->v_empty + 8 * v->s, is_first);
    next_stage(v);
}

/* Where a warp's 16 rows of Q or O are in local memory, and a lane's part of
 * each 16 x 16 elements. The item's number is read again, so that it holds no
 * registers between. */
struct fragment {
    uint warp_at, row_at, col_at;
};

static inline struct fragment locate_fragment(uint at, uint bytes)
{
    struct fragment f;
    const uint lid = xl_local_id(), lane = lid % 32;
    f.warp_at = at + lid / 128 * bytes + lid / 32 % 4 * (16 * LINE);
    f.row_at = f.warp_at + lane % 16 * LINE;
    f.col_at = (lane / 16 ^ (lane & 7)) * 16;
    return f;
}

#define PUT_O(d, i, g, h)                                                     \
    xl_put_16x16(f.row_at + (i) / 4 * (64 * LINE) +                           \
                     (f.col_at ^ (i) % 4 * 32),                               \
                 xl_pair(OT, d##g##_0, d##g##_1),                             \
                 xl_pair(OT, d##g##_2, d##g##_3),                             \
                 xl_pair(OT, d##h##_0, d##h##_1),                             \
                 xl_pair(OT, d##h##_2, d##h##_3));
#define STORE_ABOVE(d, g) to[(g) * 4] = xl_pair(OT, d##g##_0, d##g##_1);
#define STORE_BELOW(d, g) to[(g) * 4] = xl_pair(OT, d##g##_2, d##g##_3);

/* The words of O of an item's first row, `row` of the sequence: two columns,
 * then those 8 columns on. */
static inline __global uint *words_of(__global uchar *os,
                                      const struct xl_map map,
                                      __local volatile const struct corner *c,
                                      int row)
{
    const ulong line = map.word[0] >> 32, third = (uint)map.word[1];
    const ulong at = (ulong)(c->y + row) * line + (ulong)c->z * third;
    return (__global uint *)(os + at * 16 + (uint)c->x * 2 +
                             xl_local_id() % 4 * 4);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attention_wgmma(const ulong16 head, __global const uchar *qs,
                struct xl_map q_map, __global const uchar *ks,
                struct xl_map k_map, __global const uchar *vs,
                struct xl_map v_map, __global uchar *os, struct xl_map o_map,
                __global float *lse, __global uint *counter,
                const float scale ROWS_PARAMS SCORE_PARAMS)
{
    __local uchar mem[LOCAL_BYTES] __attribute__((aligned(1024)));
    __local volatile struct slot *const slots =
        (__local volatile struct slot *)(mem + SLOTS_AT);
    const uint lid = (uint)get_local_id(0), lane = lid % 32;
    const uint room = XL_LOCAL(mem), w = xl_warpgroup(lid);
    const struct barriers b = locate_barriers(room);
    XL_MAP(map_q, attention_wgmma, 1);
    XL_MAP(map_k, attention_wgmma, 3);
    XL_MAP(map_v, attention_wgmma, 5);
    XL_MAP(map_o, attention_wgmma, 7);
    uint n_done = 0;
    SCORE_OPERANDS

    if (lid == NC * 128)
        init_barriers(&b, slots);
    xl_named_sync(0, ITEMS);

    if (w == NC) {
        XL_GIVE_REGISTERS(PRODUCER_KEEPS);
        if (lid == NC * 128 + 32) {
            __local volatile struct sequence *const of =
                (__local volatile struct sequence *)(mem + SEQUENCE_AT);
            of->before = 0;
            begin_section(of, 0, head);
            uint t = (uint)get_group_id(0);
            for (;; n_done++) {
                __local volatile struct slot *slot = slots + (n_done & 1);
                __local volatile struct slot *next = slots + 2;
                const bool is_tile =
                    find_sequence(of, next, t, head ROWS_ARGS);
                next->blocks = 0;
                if (is_tile)
                    describe_tile(next, t, of, vs, head);
                xl_bar_wait(SLOT_EMPTY(slot), n_done / 2 % 2 ^ 1);
                copy_slot(slot, next);
                xl_bar_arrive(SLOT_FULL(slot), 1);
                if (!is_tile)
                    break;
#if IS_COUNTED
                t = (uint)get_num_groups(0) + atomic_inc(counter);
#else
                t += (uint)get_num_groups(0);
#endif
            }
        }
        if (lid == NC * 128) {
            struct stage k = {0, 1}, v = {0, 1};
            for (;; n_done++) {
                __local volatile struct slot *slot = slots + (n_done & 1);
                xl_bar_wait(SLOT_FULL(slot), n_done / 2 % 2);
                int j = slot->blocks - 1;
                if (j < 0)
                    break;
#define LOAD_ROWS(x, X, j)                                                    \
    load_rows(room + X##_AT + x.s * KV_BYTES, map_##x, b.x##_full + 8 * x.s,    \
              &slot->x, (j) * BK, BK)
#if IS_F8
#define LOAD_V(v, V, j)                                                       \
    xl_line_load(room + V_AT + v.s * KV_BYTES,                                  \
                 vs + AT_V +                                                  \
                     ((ulong)slot->values * KV_BLOCKS + (uint)(j)) *          \
                         KV_BYTES,                                            \
                 KV_BYTES, b.v_full + 8 * v.s)
#else
#define LOAD_V LOAD_ROWS
#endif
#define LOAD_KV(x, X, j, LOAD)                                                \
    xl_bar_wait(b.x##_empty + 8 * x.s, x.phase);                              \
    xl_bar_expect(b.x##_full + 8 * x.s, KV_BYTES);                            \
    LOAD(x, X, j);                                                            \
    next_stage(&x)
                LOAD_KV(k, K, j, LOAD_ROWS);
                #pragma unroll 1
                for (uint i = 0; i < NC; i++) {
                    xl_bar_wait(b.q_empty + 8 * i, n_done % 2 ^ 1);
                    xl_bar_expect(b.q_full + 8 * i, Q_BYTES);
                    load_rows(room + i * Q_BYTES, map_q, b.q_full + 8 * i,
                              &slot->q, slot->row + (int)(i * 64), 64);
                }
                #pragma unroll 1
                for (; j > 0; j--) {
                    LOAD_KV(k, K, j - 1, LOAD_ROWS);
                    LOAD_KV(v, V, j, LOAD_V);
                }
                LOAD_KV(v, V, 0, LOAD_V);
                xl_bar_arrive(SLOT_EMPTY(slot), 1);
            }
        }
    } else {
        XL_TAKE_REGISTERS(CONSUMER_HAS);
        WG_SUMS(s);
        float O_LIST(WG_ZERO);
        uint P_LIST(P_0);
        float m0 = 0, m1 = 0, l0 = 0, l1 = 0, l2 = 0, l3 = 0;
        float c = PLAIN ? scale * M_LOG2E_F : M_LOG2E_F;
        const uint is_first = lane == 0;
#if !QREG
        const uint low_q = WG_LOW(room + w * Q_BYTES, 16);
#endif
        const uint low_k = WG_LOW(room + K_AT, 16);
        const uint low_v = WG_LOW(room + V_AT, IS_F8 ? 16 : BK * LINE);
#if QREG
        uint Q_LIST(WORDS_0);
#endif
        struct stage k = {0, 0}, v = {0, 0};
        if (w == NC - 1)
            xl_named_arrive(1, 256);
        for (;; n_done++) {
            __local volatile struct slot *slot = slots + (n_done & 1);
            xl_bar_wait(SLOT_FULL(slot), n_done / 2 % 2);
            const int blocks = slot->blocks;
            int key0 = (blocks - 1) * BK;
            int end = blocks * BK; /* of the keys that its rows see */
            if (blocks == 0)
                break;
            const int row0 = slot->row + (int)(w * 64);
#if !PLAIN && IS_RAGGED
            n.n_q = (ulong)N_Q;
            n.n_kv = (ulong)N_KV;
#endif
#if IS_F8
            c = slot->c;
#endif
            xl_warp_sync(); /* before its first lane can release the slot */
            uint more = 0;
#if CAUSAL
            end = min(end, max(1, row0 + 64 + OFFSET));
#endif
            if (row0 >= N_Q)
                end = 0;
            xl_bar_wait(b.q_full + 8 * w, n_done & 1);
#if QREG
            {
                const struct fragment f = locate_fragment(room, Q_BYTES);
                Q_PAIRS(GET_Q, WG_NOTHING, q_)
            }
#endif
            #pragma unroll 1
            for (; key0 >= end; key0 -= BK)
                skip_block(&b, &k, &v, w, is_first, key0 > 0);
            if (end > 0) {
                xl_bar_wait(b.k_full + 8 * k.s, k.phase);
                OPEN_S();
                QK_ALL(low_k + k.s * (KV_BYTES / 16));
                wg_close();
                WAIT_S(0);
                FREE_K();
#if QREG
                /* Not before the registers were used: an arrival does not
                 * wait for loads by ldmatrix, and the next Q could be
                 * written first. */
                xl_bar_arrive(b.q_empty + 8 * w, is_first);
#endif
                SCORE(key0, _END)
                if (CAUSAL || key0 + BK > N_KV)
                    MASK(key0)
                ROW_MAXIMA();
                m0 = fmax(max_of_row(x0), LEAST);
                m1 = fmax(max_of_row(x1), LEAST);
                l0 = l1 = l2 = l3 = 0;
                EXP_ALL();
                WG_PAIRS(TO_P, s)
                key0 -= BK;
#if CAUSAL
                /* All of its rows see all keys of the blocks behind. */
                #pragma unroll 1
                for (; key0 >= 0 && key0 + BK > row0 + 1 + OFFSET; key0 -= BK)
                    BLOCK(_END, MASK);
#endif
                #pragma unroll 1
                for (; key0 >= 0; key0 -= BK)
                    BLOCK(, NO_MASK);
            }
            if (!QREG || end == 0)
                xl_bar_arrive(b.q_empty + 8 * w, is_first);
            if (end > 0) {
                xl_bar_wait(b.v_full + 8 * v.s, v.phase);
                CLEAR_BEHIND(key0 + BK);
                OPEN_O();
                PV_ALL(low_v + v.s * (KV_BYTES / 16));
                wg_close();
                l0 = sum_of_row(l0 + l2), l1 = sum_of_row(l1 + l3);
#if IS_F8
                const float factor = slot->factor;
#else
                const float factor = 1;
#endif
                const float f0 = l0 == 0 ? 0 : factor / l0;
                const float f1 = l1 == 0 ? 0 : factor / l1;
#if LSE
                /* Of four items, which have the same two rows, two. */
                const int is_below = (int)(xl_local_id() % 2);
                const int row =
                    row0 + item_row((int)xl_local_id()) + is_below * 8;
                const float l = is_below ? l1 : l0;
                if (xl_local_id() % 4 < 2 && row < N_Q)
                    lse[(slot->lse_low | (ulong)slot->lse_high << 32) +
                        (ulong)row * LSE_ROW] =
                        l == 0 ? -INFINITY
                               : ((is_below ? m1 : m0) * c - BIAS) * M_LN2_F +
                                     log(l);
#endif
                WAIT_O();
                FREE_V();
                O_GROUPS(SCALE_GROUP, o)
                /* Numbers are read again, since registers are few. */
                const int row0_of_warp =
                    slot->row + (int)(xl_local_id() / 32 * 16);
#if Q_ROWS
                /* A box would store rows of the next sequence. */
                if (row0_of_warp + 16 > N_Q) {
                    const int row_of_item = row0_of_warp + (int)(lane / 4);
                    __global uint *to =
                        words_of(os, o_map, &slot->o, row_of_item);
                    if (row_of_item < N_Q) {
                        O_GROUPS(STORE_ABOVE, o)
                    }
                    to += (o_map.word[0] >> 32) * (8 * 16 / 4);
                    if (row_of_item + 8 < N_Q) {
                        O_GROUPS(STORE_BELOW, o)
                    }
                    xl_warp_sync(); /* as above, of the slot */
                } else
#endif
                {
                    if (is_first)
                        xl_box_read(); /* of the tile before */
                    xl_warp_sync();
                    const struct fragment f = locate_fragment(room + O_AT, O_BYTES);
                    O_PAIRS(PUT_O, o)
                    xl_box_fence();
                    xl_warp_sync();
                    if (is_first) {
                        #pragma unroll
                        for (int i = 0; i < D / 64; i++)
                            xl_box_store(map_o, f.warp_at + i * (64 * LINE),
                                         slot->o.x + i * 64,
                                         slot->o.y + row0_of_warp, slot->o.z);
                        xl_box_commit();
                    }
                }
            }
            xl_bar_arrive(SLOT_EMPTY(slot), is_first);
        }
        if (is_first)
            xl_box_read();
    }
}
