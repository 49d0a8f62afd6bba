/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward_wgmma: gradients of attention on matrix instructions of
 * four sub-groups, whose operands are copied to local memory by tensor maps.
 * Sums of grad_q are in scratch memory, to which tiles of keys add one after
 * the other. */
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/wgmma_plan.h"
#include "ops/path/cost.h"

enum {
    KEYS = 128,         /* of a tile */
    BLOCK_ELEMS = 8192, /* queries of a block times d_head */
    STAGES = 2,
    ITEMS = 384,
    SIDE_ITEMS = 256,
    COUNTERS = 16, /* words; backward_scratch.clh */
    LINE_BYTES = 128
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ",
                          "queries of a block: 8192 / d_head",
                          {64, 128, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a tile", {KEYS, 0}},
    {NULL, NULL, {0}},
};

/* Maps of the kernel, in the order of its arguments, and the rows of a box; 0:
 * those of a block. */
static const struct {
    unsigned view;
    size_t lines;
} maps[] = {{XL__ATTENTION_Q, 0},       {XL__ATTENTION_K, 64},
            {XL__ATTENTION_V, 64},      {XL__ATTENTION_GRAD_O, 0},
            {XL__ATTENTION_GRAD_K, 16}, {XL__ATTENTION_GRAD_V, 16}};
enum { N_MAPS = sizeof maps / sizeof *maps };

struct layout {
    size_t rows;              /* of a block */
    size_t blocks, tiles;     /* of a head */
    size_t heads, all_blocks; /* of all sequences */
};

static struct layout layout_of(const struct xl__attention_canonical *c)
{
    struct layout s = {.rows = BLOCK_ELEMS / c->d_head,
                       .tiles = xl__ceil_div(c->n_kv, KEYS),
                       .heads = c->n_batch * c->n_kv_heads};
    s.blocks = xl__ceil_div(c->n_q, s.rows);
    s.all_blocks = c->n_batch * c->n_heads * s.blocks;
    return s;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    enum { D_HEAD = 128, ALIGN = 16 };
    const struct xl__attention_canonical *c = desc;
    static const unsigned of_rows[] = {XL__ATTENTION_O, XL__ATTENTION_GRAD_Q};
    const char *why = xl__wgmma_heads_refused(l, c);
    if (why)
        return why;
    if (xl__attention_has_score(c))
        return "masks, caps, slopes and prologues are not supported";
    if (c->d_head != D_HEAD && c->d_head != D_HEAD / 2)
        return "d_head is neither 64 nor 128";
    if (2 * layout_of(c).all_blocks > INT32_MAX)
        return "blocks are counted in 32 bits";
    for (unsigned i = 0; i < N_MAPS; i++) {
        why = xl__map_heads_refused(l, c, maps[i].view);
        if (why)
            return why;
    }
    for (unsigned i = 0; i < sizeof of_rows / sizeof *of_rows; i++) {
        const xl_heads *x = &c->view[of_rows[i]];
        if (x->stride[XL__HEADS_COL] != 1 || x->offset < ALIGN)
            return "rows of o and grad_q must be contiguous and begin at "
                   "multiples of 16 bytes";
    }
    return NULL;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    (void)l;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__ATTENTION_BQ] = (int)layout_of(desc).rows;
    out->value[XL__ATTENTION_BK] = KEYS;
}

/* -- plan ----------------------------------------------------------------- */

/* Bytes of queries, their gradients and sums. */
static double q_bytes(const struct layout *s)
{
    enum { BYTES = 8 }; /* of q, grad_o and a sum */
    return (double)s->all_blocks * BLOCK_ELEMS * BYTES;
}

/* The 16 numbers of the kernel's head, which names them, and the operands. */
static void add_args(const struct xl__limits *l,
                     const struct xl__attention_canonical *c,
                     const struct layout *s, struct xl__step *step)
{
    enum { NUMBERS = 16 };
    struct xl__heads_map h[N_MAPS];
    for (unsigned i = 0; i < N_MAPS; i++)
        (void)xl__map_heads(c, maps[i].view,
                            maps[i].lines ? maps[i].lines : s->rows, &h[i]);
    xl__arg_words(step, NUMBERS);
    xl__arg_u64(step, xl__pack_words(c->n_q, c->n_kv));
    xl__arg_u64(step, xl__pack_words(s->tiles, s->heads));
    xl__arg_u64(step,
                xl__pack_words(xl__section_heads(l, s->heads, q_bytes(s)),
                               xl__attention_share(c)));
    xl__arg_u64(step, xl__pack_words(c->n_kv_heads, s->blocks));
    for (unsigned i = 0; i < N_MAPS; i++)
        xl__arg_map_offset(step, (int)(XL__ATTENTION_OFF + maps[i].view), 0,
                           h[i].map.stride[1]);
    for (unsigned i = 0; i < N_MAPS; i++)
        xl__arg_u64(step, xl__pack_words(h[i].head_columns, h[i].sequence));
    for (unsigned i = 0; i < N_MAPS; i++) {
        xl__arg_mem(step, XL__ATTENTION_MEM + maps[i].view);
        xl__arg_tensor_map(step, &h[i].map,
                           (int)(XL__ATTENTION_OFF + maps[i].view), 0);
    }
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_value_f32(step, XL__ATTENTION_SCALE);
}

static struct xl__step *add_step(const struct xl__attention_canonical *c,
                                 const struct layout *s, const char *file,
                                 const char *kernel, size_t items,
                                 size_t local, struct xl__plan *p)
{
    struct xl__step *step = xl__plan_add(p, file, kernel, items, local);
    const struct xl__defined defines[] = {
        {"DT", c->view[XL__ATTENTION_Q].dtype},
        {"D", c->d_head},
        {"BM", s->rows},
        {"CAUSAL", c->after == 0}};
    step->slice_dim = -1;
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    return step;
}

/* A kernel around the main one: what it has before, or makes of what it
 * leaves. Items have `elems` of all blocks' columns each. */
static void add_side(const struct xl__attention_canonical *c,
                     const struct layout *s, const char *kernel, int number,
                     size_t elems, struct xl__plan *p)
{
    struct xl__step *step =
        add_step(c, s, "attention/nvidia/backward_rows.cl", kernel,
                 s->all_blocks * (BLOCK_ELEMS / elems), SIDE_ITEMS, p);
    xl__define(step, "STEP", number);
    xl__attention_backward_args(step, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u32(step, (uint32_t)s->blocks);
    xl__arg_u64(step, s->all_blocks * s->rows);
}

/* LOCAL_BYTES of attention/nvidia/backward_wgmma.cl. */
static size_t local_bytes(const struct xl__attention_canonical *c,
                          const struct layout *s)
{
    enum { OPERANDS = 2, PIECES = 2, BARRIER = 8, BARRIERS = 15, TILE = 8 };
    const size_t half = sizeof(uint16_t), sum = sizeof(float);
    return OPERANDS * (KEYS + STAGES * s->rows) * c->d_head * half +
           STAGES * s->rows * KEYS * half +
           PIECES * (BLOCK_ELEMS / PIECES) * sum + STAGES * 2 * s->rows * sum +
           BARRIER * BARRIERS + TILE;
}

/* Clocks of a unit: tiles of one length, or with a mask whose lengths the
 * order of tiles balances. */
static double clocks_of(const struct xl__limits *l,
                        const struct xl__attention_canonical *c,
                        const struct layout *s)
{
    const struct xl__attention_model *m = l->model.attention;
    const double units = (double)xl__n_units(l), heads = (double)s->heads;
    const double share = (double)xl__attention_share(c);
    double all = 0;
    for (size_t i = 0; i < s->tiles; i++) {
        const size_t key = i * KEYS + c->n_q;
        const size_t first =
            c->after == 0 && key > c->n_kv ? (key - c->n_kv) / s->rows : 0;
        all += (double)(s->blocks - xl__min_size(first, s->blocks));
    }
    const double longest =
        (double)s->blocks * share * m->grad_block_clocks + m->grad_tile_clocks;
    if (c->after != 0)
        return ceil(heads * (double)s->tiles / units) * longest;
    return fmax(longest, (heads * all * share * m->grad_block_clocks +
                          heads * (double)s->tiles * m->grad_tile_clocks) /
                             units);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { OF_ROWS = 8, OF_SUMS = 16, STEPS = 3, TOUCHED = 3 };
    const struct xl__attention_canonical *c = desc;
    const struct layout s = layout_of(c);
    const xl_matrix_op *op = xl__wgmma_heads_op(l, c);
    if (!op || params->value[XL__ATTENTION_BQ] != (int)s.rows)
        return XL_UNSUPPORTED;
    const size_t words = COUNTERS + 2 * s.all_blocks;
    const size_t sums = s.all_blocks * BLOCK_ELEMS * sizeof(float);
    p->scratch_bytes = xl__round_up(words, 2 * COUNTERS) * sizeof(float) +
                       s.all_blocks * 2 * s.rows * sizeof(float) + sums;
    add_side(c, &s, "attention_backward_rows", 1, OF_ROWS, p);
    struct xl__step *step = add_step(
        c, &s, "attention/nvidia/backward_wgmma.cl",
        "attention_backward_wgmma", s.tiles * s.heads * ITEMS, ITEMS, p);
    step->target = op->target;
    step->local_mem_bytes = local_bytes(c, &s);
    add_args(l, c, &s, step);
    add_side(c, &s, "attention_backward_sums", 2, OF_SUMS, p);
    xl__wgmma_heads_estimate(l, c, clocks_of(l, c, &s), TOUCHED * (double)sums,
                             STEPS, p);
    return XL_OK;
}

const struct xl__variant xl__attention_backward_wgmma = {
    .name = "attention_backward_wgmma",
    .repeats = "bit for bit: tiles add to a sum in the order of their keys",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
