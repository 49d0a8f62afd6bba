/* SPDX-License-Identifier: Apache-2.0 */
/* attention_wgmma: attention on matrix instructions of four sub-groups, whose
 * operands are copied to local memory by tensor maps. Its tiles and their
 * times are a list of the vendor's table. */
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/wgmma_plan.h"
#include "ops/path/cost.h"

enum {
    ROWS = 64, /* of a consumer */
    LANES = 128,
    STORED = 16, /* rows of a box of O */
    STAGES = 2,
    F8_STAGES = 4
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "queries of a tile", {128, 192, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a block", {64, 80, 96, 128, 0}},
    {NULL, NULL, {0}},
};

static bool is_f8(const struct xl__attention_canonical *c)
{
    return c->view[XL__ATTENTION_Q].dtype == XL_F8E4M3;
}

/* -- tiles ---------------------------------------------------------------- */

static bool fits(const struct xl__limits *l,
                 const struct xl__attention_canonical *c,
                 const struct xl__attention_tile *t)
{
    if (t->d_head != c->d_head || xl__is_refused(l, t->queries, t->keys))
        return false;
    if (xl__attention_has(c, XL__ATTENTION_MASK))
        return t->scores == XL__MASKED;
    return t->scores == XL__SCORED ||
           (t->scores == XL__SCALED && !xl__attention_has_score(c));
}

static const struct xl__attention_tile *
find_tile(const struct xl__limits *l, const struct xl__attention_canonical *c,
          const struct xl__params *params)
{
    const struct xl__attention_model *m = l->model.attention;
    for (const struct xl__attention_tile *t = !m         ? NULL
                                              : is_f8(c) ? m->f8_tiles
                                                         : m->tiles;
         t && t->d_head; t++) {
        if (fits(l, c, t) &&
            (!params || (params->value[XL__ATTENTION_BQ] == (int)t->queries &&
                         params->value[XL__ATTENTION_BK] == (int)t->keys)))
            return t;
    }
    return NULL;
}

/* Blocks of keys of all tiles of a head, and of its longest tile. */
struct blocks {
    double all, longest;
};

static struct blocks count_blocks(const struct xl__attention_canonical *c,
                                  const struct xl__attention_tile *t)
{
    struct blocks b = {0, 0};
    for (size_t i = 0; i < c->n_q; i += t->queries) {
        size_t first, last;
        xl__attention_keys(c, xl__min_size(i + t->queries, c->n_q) - 1, &first,
                           &last);
        const double n = (double)xl__max_size(1, xl__ceil_div(last, t->keys));
        b.all += n;
        b.longest = fmax(b.longest, n);
    }
    return b;
}

/* Of sequences of unequal lengths. */
static bool is_ragged(const struct xl__attention_canonical *c)
{
    return c->q_rows.kind || c->kv_rows.kind;
}

/* Of a block, those of its scores besides, an instruction of 128 lanes a clock
 * (NV-68). */
static double block_clocks(const struct xl__attention_canonical *c,
                           const struct xl__attention_tile *t)
{
    enum { OF_CAP = 36, OF_ROW = 8, OF_FLOP = 2, OF_OPERAND = 2 };
    const unsigned rows = xl__attention_has(c, XL__ATTENTION_MASK) +
                          xl__attention_has(c, XL__ATTENTION_SLOPES);
    double each = OF_CAP * (double)c->has_cap + OF_ROW * rows;
    if (c->score)
        each += OF_FLOP * c->score->flop + OF_OPERAND * c->score->n_operands;
    return t->block_clocks + each * (double)(t->queries * t->keys) / LANES;
}

/* Tiles have equal lengths without a mask, if sequences have; else the counter
 * balances them. */
static double tiles_clocks(const struct xl__limits *l,
                           const struct xl__attention_canonical *c,
                           const struct xl__attention_tile *t)
{
    const double units = (double)xl__n_units(l);
    const double heads = (double)(c->n_batch * c->n_heads);
    const double tiles = heads * (double)xl__ceil_div(c->n_q, t->queries);
    const struct blocks b = count_blocks(c, t);
    const double of_block = block_clocks(c, t);
    const double longest = b.longest * of_block + t->tile_clocks;
    if (c->after != 0 && !is_ragged(c))
        return ceil(tiles / units) * longest;
    return fmax(longest,
                (heads * b.all * of_block + tiles * t->tile_clocks) / units);
}

static void choose_tile(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    const struct xl__attention_canonical *c = desc;
    double least = INFINITY;
    *out = (struct xl__params){.source = "model"};
    for (const struct xl__attention_tile *t = find_tile(l, c, NULL);
         t && t->d_head; t++) {
        if (!fits(l, c, t))
            continue;
        const double clocks = tiles_clocks(l, c, t);
        if (clocks >= least)
            continue;
        least = clocks;
        out->value[XL__ATTENTION_BQ] = (int)t->queries;
        out->value[XL__ATTENTION_BK] = (int)t->keys;
    }
}

/* -- what is supported ---------------------------------------------------- */

/* Of f8e4m3. */
static const char *find_f8_refusal(const struct xl__attention_canonical *c)
{
    if (!is_f8(c))
        return NULL;
    if (xl__attention_has_score(c))
        return "masks, caps, slopes and prologues are not supported of f8e4m3";
    if (is_ragged(c))
        return "sequences of unequal lengths are not supported of f8e4m3";
    if (c->view[XL__ATTENTION_O].dtype == XL_F32)
        return "o of f32 is not supported";
    for (unsigned i = XL__ATTENTION_K_SCALES; i <= XL__ATTENTION_V_SCALES; i++)
        if (c->view[i].stride[XL__HEADS_ROW] != 0)
            return "scales of single keys are not supported";
    return NULL;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__attention_canonical *c = desc;
    const char *why = xl__wgmma_heads_refused(l, c);
    if (why)
        return why;
    why = find_f8_refusal(c);
    if (why)
        return why;
    if (!find_tile(l, c, NULL))
        return "d_head has no tiles on this device";
    if (xl__attention_has(c, XL__ATTENTION_SINKS))
        return "sinks are not supported";
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_O; i++) {
        why = xl__map_heads_refused(l, c, i);
        if (why)
            return why;
    }
    return NULL;
}

/* -- plan ----------------------------------------------------------------- */

/* Bytes of K and V. */
static double kv_bytes(const struct xl__attention_canonical *c)
{
    enum { OPERANDS = 2 };
    return (double)(c->n_batch * c->n_kv_heads) * (double)c->n_kv *
           (double)c->d_head * OPERANDS *
           (double)xl_dtype_bytes(c->view[XL__ATTENTION_K].dtype);
}

/* The operand as a map. Of packed rows it has one block for all sequences,
 * whose end is a value of the call, returned as its slot. */
static int map_heads(const struct xl__attention_canonical *c, unsigned view,
                     size_t lines, struct xl__heads_map *out)
{
    const bool is_of_q = view == XL__ATTENTION_Q || view == XL__ATTENTION_O;
    const size_t kind = is_of_q ? c->q_rows.kind : c->kv_rows.kind;
    (void)xl__map_heads(c, view, lines, out);
    if (kind != XL_ROWS_PACKED)
        return (int)(XL__ATTENTION_OFF + view);
    out->map.size[1] = 0;
    out->sequence = 0;
    return (int)(XL__ATTENTION_END + view);
}

/* The heads of those that follow each other whose K and V stay in the cache.
 * Of sequences of unequal lengths, those of whole sequences, or fewer than one
 * has. */
static size_t heads_of_section(const struct xl__limits *l,
                               const struct xl__attention_canonical *c)
{
    const double bytes = kv_bytes(c);
    const size_t n = xl__section_heads(l, c->n_batch, bytes);
    if (!is_ragged(c))
        return xl__section_heads(l, c->n_batch * c->n_heads, bytes);
    return n > 1
               ? n * c->n_heads
               : xl__section_heads(l, c->n_heads, bytes / (double)c->n_batch);
}

/* Where scratch memory has the first of values of f8e4m3: after FACTORS_AT
 * bytes, two floats of each head. */
static size_t first_value(const struct xl__attention_canonical *c)
{
    enum { FACTORS_AT = 128, ALIGN = 128 };
    return xl__round_up(
        FACTORS_AT + c->n_batch * c->n_kv_heads * 2 * sizeof(cl_float), ALIGN);
}

/* The 16 numbers of the kernel's head, which names them, and the operands. */
static void add_args(const struct xl__limits *l,
                     const struct xl__attention_canonical *c,
                     const struct xl__attention_tile *t, struct xl__step *s)
{
    enum { NUMBERS = 16, OPERANDS = XL__ATTENTION_O + 1 };
    const size_t lines[OPERANDS] = {ROWS, t->keys, t->keys, STORED};
    const size_t *lse = c->view[XL__ATTENTION_LSE].stride;
    struct xl__heads_map h[OPERANDS];
    int end[OPERANDS];
    for (unsigned i = 0; i < OPERANDS; i++)
        end[i] = map_heads(c, i, lines[i], &h[i]);
    xl__arg_words(s, NUMBERS);
    xl__arg_u64(s, xl__pack_words(c->n_q, c->n_kv));
    xl__arg_u64(s, xl__pack_words(xl__ceil_div(c->n_q, t->queries),
                                  c->n_batch * c->n_heads));
    xl__arg_u64(
        s, xl__pack_words(heads_of_section(l, c), xl__attention_share(c)));
    xl__arg_u64(s, xl__pack_words(c->n_heads, c->n_batch));
    for (unsigned i = 0; i < OPERANDS; i++) {
        if (is_f8(c) && i == XL__ATTENTION_V)
            xl__arg_u64(s, first_value(c));
        else
            xl__arg_map_offset(s, (int)(XL__ATTENTION_OFF + i), 0,
                               h[i].map.stride[1]);
    }
    for (unsigned i = 0; i < OPERANDS; i++)
        xl__arg_u64(s, xl__pack_words(h[i].head_columns, h[i].sequence));
    xl__arg_value_u64(s, XL__ATTENTION_OFF + XL__ATTENTION_LSE);
    for (unsigned d = XL__HEADS_BATCH; d <= XL__HEADS_ROW; d++)
        xl__arg_u64(s, lse[d]);
    for (unsigned i = 0; i < OPERANDS; i++) {
        xl__arg_mem(s, is_f8(c) && i == XL__ATTENTION_V
                           ? XL__MEM_SCRATCH
                           : XL__ATTENTION_MEM + i);
        xl__arg_tensor_map(s, &h[i].map, end[i], 0);
    }
    xl__arg_mem(s, XL__ATTENTION_MEM + XL__ATTENTION_LSE);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_value_f32(s, XL__ATTENTION_SCALE);
    if (is_ragged(c))
        xl__attention_add_rows(s, c);
    if (xl__attention_has_score(c))
        xl__attention_add_score(s, c);
}

/* Set the counter of tiles to 0. */
static void add_counter(struct xl__plan *p)
{
    enum { ITEMS = 32 };
    struct xl__step *s =
        xl__plan_add(p, "common/fill.cl", "fill", ITEMS, ITEMS);
    s->is_aid = true;
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, 0);
    xl__arg_u32(s, 0);
    xl__arg_u64(s, 1);
    p->scratch_bytes = sizeof(cl_uint);
}

/* Values of f8e4m3 to scratch memory, behind the counter, 0, and two factors
 * of each head: attention/nvidia/values.clh. */
static void add_values(const struct xl__attention_canonical *c,
                       const struct xl__attention_tile *t, struct xl__plan *p)
{
    enum { ITEMS = 128, PART_ITEMS = 32, PART = 4096, LOCAL_BYTES = 18432 };
    const size_t bytes = xl__round_up(c->n_kv, t->keys) * c->d_head;
    struct xl__step *s = xl__plan_add(p, "attention/nvidia/values.cl",
                                      "attention_wgmma_values", ITEMS, ITEMS);
    s->is_aid = true;
    xl__step_set_3d(s, ITEMS, bytes / PART * PART_ITEMS, c->n_kv_heads,
                    c->n_batch);
    s->local_mem_bytes = LOCAL_BYTES;
    xl__attention_defines(s, c);
    xl__define(s, "BK", (long)t->keys);
    xl__attention_args(s, c);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, first_value(c));
    xl__arg_u32(s, bytes / PART);
    p->scratch_bytes = first_value(c) + c->n_batch * c->n_kv_heads * bytes;
}

static size_t stages_of(const struct xl__attention_canonical *c)
{
    return is_f8(c) ? F8_STAGES : STAGES;
}

/* LOCAL_BYTES of attention/nvidia/wgmma.cl. */
static size_t local_bytes(const struct xl__attention_canonical *c,
                          const struct xl__attention_tile *t)
{
    enum { BARRIER = 8, SLOTS_BYTES = 304, OF_RING = 4 };
    const size_t row = t->d_head *
                       xl_dtype_bytes(c->view[XL__ATTENTION_Q].dtype),
                 o = t->d_head * xl_dtype_bytes(XL_F16), stages = stages_of(c),
                 n = t->queries / ROWS;
    return t->queries * (row + o) + 2 * stages * t->keys * row +
           BARRIER * (2 * n + OF_RING * stages) + SLOTS_BYTES;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const struct xl__attention_tile *t = find_tile(l, c, params);
    const xl_matrix_op *op = xl__wgmma_heads_op(l, c);
    if (!t || !op)
        return XL_UNSUPPORTED;
    const size_t consumers = t->queries / ROWS;
    const size_t tiles =
        xl__ceil_div(c->n_q, t->queries) * c->n_batch * c->n_heads;
    const bool has_score = xl__attention_has_score(c);
    const struct xl__defined defines[] = {
        {"NC", consumers},         {"BK", t->keys},
        {"ST", stages_of(c)},      {"QREG", consumers == 2 && !has_score},
        {"CAUSAL", c->after == 0},
    };
    const bool is_counted = c->after == 0 || is_ragged(c);
    if (is_f8(c))
        add_values(c, t, p);
    else if (is_counted)
        add_counter(p);
    struct xl__step *s = xl__plan_add(p, "attention/nvidia/wgmma.cl",
                                      "attention_wgmma", 0, 0);
    s->target = op->target;
    s->slice_dim = -1;
    s->local[0] = LANES * (consumers + 1);
    s->global[0] = xl__min_size(tiles, xl__n_units(l)) * s->local[0];
    s->local_mem_bytes = local_bytes(c, t);
    xl__attention_defines(s, c);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    add_args(l, c, t, s);
    xl__wgmma_heads_estimate(l, c, tiles_clocks(l, c, t),
                             is_f8(c) ? kv_bytes(c) : 0,
                             1U + (is_f8(c) || is_counted), p);
    return XL_OK;
}

const struct xl__variant xl__attention_wgmma = {
    .name = "attention_wgmma",
    .repeats = "bit for bit: each row is one sum, from the last key on",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tile,
    .plan = plan_steps,
};
