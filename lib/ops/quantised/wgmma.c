/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_wgmma: some to a few hundred rows of A by matrix instructions of four
 * sub-groups, of which W's codes, expanded in registers, are the left operand
 * (cl/quantised/nvidia/wgmma.cl).
 *
 *   workspace   where columns are divided among groups, the sums of each part;
 *               then A in the order of cl/quantised/nvidia/order.clh */
#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/gemm/engines/tensor_map.h"
#include "ops/gemm/engines/wgmma.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"
#include "ops/quantised/qgemm.h"

enum {
    WR = XL__QGEMM_RN, /* in their place */
    WK = XL__QGEMM_SK,
    PARTS = XL__QGEMM_RT,
    ROWS = 64, /* of W of four sub-groups */
    LANES = 128,
    WARP = 32,
    WORD = 16 /* bytes to which rows are aligned */
};

static const struct xl__tunable tunables[] = {
    [XL__QGEMM_TM] = {"TM", "rows of A of a group", {16, 32, 64, 128, 256, 0}},
    [WR] = {"WR", "fours of sub-groups along W's rows", {1, 2, 3, 4, 0}},
    [WK] = {"WK", "times as many, that share columns", {1, 2, 4, 0}},
    [XL__QGEMM_ST] = {"ST",
                      "stages in local memory",
                      {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0}},
    [PARTS] = {"PARTS",
               "groups that share columns",
               {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0}},
    {NULL, NULL, {0}}};

struct set {
    size_t tm, wr, wk, st, parts;
};

static struct set set_of(const struct xl__params *p)
{
    return (struct set){
        (size_t)p->value[XL__QGEMM_TM], (size_t)p->value[WR],
        (size_t)p->value[WK], (size_t)p->value[XL__QGEMM_ST],
        (size_t)p->value[PARTS]};
}

/* -- sizes ---------------------------------------------------------------- */

/* Columns of a box of W, and bytes of a row of them:
 * quantised/nvidia/order.clh. */
static size_t box_columns(const struct xl__qgemm_canonical *c)
{
    return c->format == XL_Q4_0 ? 256 : 128;
}
static size_t box_bytes(const struct xl__qgemm_canonical *c)
{
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    return box_columns(c) / f->block * f->block_bytes;
}

/* Are weights rounded to f16 ahead of the product? Not those of int4 beside
 * few rows of A, which costs more than their sums (NV-67). */
static bool is_rounded(const struct xl__qgemm_canonical *c)
{
    enum { FEW = 64 };
    return c->is_fast && c->a == XL_F16 &&
           (c->format != XL_INT4 || c->m > FEW);
}

static size_t stages(const struct xl__qgemm_canonical *c, const struct set *s)
{
    return xl__ceil_div(c->k, box_columns(c) * s->wk);
}

size_t xl__qgemm_wgmma_units(const struct xl__qgemm_canonical *c,
                             const struct xl__params *params)
{
    const struct set s = set_of(params);
    return (s.st + 1) * s.parts * s.wk * box_columns(c) / XL__QGEMM_UNIT;
}

static size_t order_bytes(const struct xl__qgemm_canonical *c,
                          const struct set *s)
{
    return xl__round_up(c->m, s->tm) * stages(c, s) * s->wk * box_columns(c) *
           xl_dtype_bytes((xl_dtype)c->a);
}

static size_t sums_bytes(const struct xl__qgemm_canonical *c,
                         const struct set *s)
{
    return s->parts > 1 ? s->parts * c->m * c->n * sizeof(float) : 0;
}

/* ITEMS of quantised/nvidia/wgmma.cl. */
static size_t group_items(const struct set *s)
{
    enum { MANY = 128 };
    const bool has_more = s->wr * s->wk == 2 && s->tm >= MANY;
    return s->wr * s->wk * LANES + (has_more ? LANES : WARP);
}

static size_t stage_bytes(const struct xl__qgemm_canonical *c,
                          const struct set *s)
{
    return s->wk * (s->tm * box_columns(c) * xl_dtype_bytes((xl_dtype)c->a) +
                    s->wr * ROWS * box_bytes(c));
}

/* LOCAL_BYTES. */
static size_t local_bytes(const struct xl__qgemm_canonical *c,
                          const struct set *s)
{
    enum { PAD = 4, BARS = 2 * sizeof(uint64_t) };
    const size_t sums =
        s->wk * s->tm * (s->wr * ROWS + PAD) * sizeof(float);
    return xl__max_size(s->st * stage_bytes(c, s), sums) + s->st * BARS;
}

/* The most fours beside whose sums nothing is spilled. */
static size_t most_fours(const struct xl__qgemm_canonical *c, size_t tm)
{
    enum { FEW = 32, SOME = 64, MANY = 128, FOURS = 4 };
    const size_t held = is_rounded(c) ? tm / 2 : tm;
    return held <= FEW ? FOURS : held <= SOME ? FOURS - 1 : FOURS - 2;
}

/* -- what is supported ---------------------------------------------------- */

static struct xl__tensor_map map_of(const struct xl__qgemm_canonical *c,
                                    size_t rows)
{
    const size_t line = xl__qgemm_row_bytes(c);
    return (struct xl__tensor_map){.dtype = XL_U8,
                                   .is_plain = true,
                                   .size = {line, c->n, 1},
                                   .stride = {1, line, line},
                                   .box = {box_bytes(c), rows, 1}};
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__qgemm_canonical *c = desc;
    if (c->a == XL_F32 || !xl__wgmma_op(l, (xl_dtype)c->a))
        return "the device has no matrix instructions of four sub-groups for "
               "this type";
    if (c->format != XL_INT4 && c->format != XL_Q4_0)
        return "weights must be int4 or q4_0";
    if (c->format == XL_INT4 && c->group % box_columns(c) != 0)
        return "groups of int4 must be multiples of 128 columns";
    if (c->w_aligned < WORD)
        return "rows of W do not begin at multiples of 16 bytes";
    if (c->pair)
        return xl__qgemm_pair_refused(c);
    if (c->w_has_svm)
        return "tensor maps require buffers, not SVM; qgemm_mma supports SVM";
    const struct xl__tensor_map m = map_of(c, ROWS);
    const char *why = xl__tensor_map_refused(
        &m, xl__num_or(l, XL__F_max_alloc_bytes, INFINITY));
    return why ? why : xl__qgemm_pairs_refused(l, c);
}

/* -- plan ----------------------------------------------------------------- */

/* Parts of the columns for each of which one group stays busy until the end.
 * Each costs a store and a load of its sums, and has some stages. */
static size_t choose_parts(const struct xl__limits *l,
                           const struct xl__qgemm_canonical *c,
                           const struct set *s)
{
    enum { MOST = 16, FEWEST_STAGES = 8 };
    static const double part_cost = 0.01;
    const size_t units = (size_t)xl__n_units(l);
    const size_t tiles = xl__ceil_div(c->n, s->wr * ROWS) *
                         xl__ceil_div(c->m, s->tm);
    double least = INFINITY;
    size_t best = 1;
    for (size_t parts = 1;
         parts <= MOST && (parts == 1 || stages(c, s) / parts >= FEWEST_STAGES);
         parts++) {
        const double cost =
            (double)xl__ceil_div(tiles * parts, units) / (double)parts *
            (1 + part_cost * (double)(parts - 1));
        if (cost < least) {
            least = cost;
            best = parts;
        }
    }
    return best;
}

/* The most stages that fit; 1 where two do not. */
static size_t most_stages(const struct xl__limits *l,
                          const struct xl__qgemm_canonical *c, struct set s)
{
    enum { STAGES = 12 };
    const double local = xl__num_or(l, XL__F_local_mem_bytes, 0);
    for (s.st = STAGES; s.st > 1 && (double)local_bytes(c, &s) > local; s.st--)
        ;
    return s.st;
}

/* Fours that share columns make the 64 bytes of a row of int4 that are read
 * together as many times as long (NV-67); beside many rows of A, and of Q4_0,
 * fours share A. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { LEAST = 16, FEW = 64, MOST = 128, FEWEST_STAGES = 4 };
    const struct xl__qgemm_canonical *c = desc;
    struct set s = {.tm = xl__min_size(
                        is_rounded(c) ? 2 * MOST : MOST,
                        xl__max_size(LEAST, xl__ceil_power_of_two(c->m)))};
    for (;; s.tm /= 2) {
        s.wr = most_fours(c, s.tm);
        s.wk = 1;
        if (c->format == XL_INT4 && s.tm <= FEW) {
            s.wk = xl__floor_power_of_two(s.wr);
            s.wr = 1;
        }
        s.st = most_stages(l, c, s);
        if (s.st < FEWEST_STAGES && s.wk > 1) {
            s.wk /= 2;
            s.wr *= 2;
            s.st = most_stages(l, c, s);
        }
        if (s.st > 1 || s.tm == LEAST)
            break;
    }
    s.parts = choose_parts(l, c, &s);
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QGEMM_TM] = (int)s.tm;
    out->value[WR] = (int)s.wr;
    out->value[WK] = (int)s.wk;
    out->value[XL__QGEMM_ST] = (int)s.st;
    out->value[PARTS] = (int)s.parts;
}

static void add_order(const struct xl__qgemm_canonical *c,
                      const struct set *s, size_t at_a, struct xl__plan *p)
{
    enum { GROUP = 64 };
    const size_t blocks = stages(c, s) * s->wk;
    struct xl__step *step =
        xl__plan_add(p, "quantised/nvidia/order.cl", "qgemm_order", 0, 0);
    step->is_aid = true;
    xl__step_set_3d(step, GROUP, blocks * box_columns(c) / XL__QGEMM_UNIT,
                    xl__round_up(c->m, s->tm), 1);
    step->slice_dim = -1;
    xl__define(step, "FORMAT", (long)c->format);
    xl__define(step, "TM", (long)s->tm);
    xl__arg_mem(step, XL__QGEMM_A);
    xl__arg_value_u64(step, XL__QGEMM_OFF_A);
    xl__arg_u64(step, c->row_stride_a);
    xl__arg_u32(step, c->m);
    xl__arg_u32(step, c->k);
    xl__arg_u32(step, blocks);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, at_a);
}

static void add_product(const struct xl__limits *l,
                        const struct xl__qgemm_canonical *c,
                        const struct set *s, size_t at_a,
                        struct xl__plan *p)
{
    enum { NUMBERS = 16, USED = 3 };
    const struct xl__tensor_map map = map_of(c, s->wr * ROWS);
    const size_t items = group_items(s);
    struct xl__step *step =
        xl__plan_add(p, "quantised/nvidia/wgmma.cl", "qgemm_wgmma", 0, 0);
    const struct xl__defined defines[] = {
        {"TM", s->tm}, {"WR", s->wr},         {"WK", s->wk},
        {"ST", s->st}, {"CUT", s->parts > 1}, {"ROUNDED", is_rounded(c)},
        {"GROUP_UNITS", xl__qgemm_group_units(c)}};
    xl__step_set_3d(step, items, xl__ceil_div(c->n, s->wr * ROWS) * items,
                    s->parts, xl__ceil_div(c->m, s->tm));
    step->slice_dim = -1;
    step->local_mem_bytes = local_bytes(c, s);
    step->target = xl__wgmma_op(l, (xl_dtype)c->a)->target;
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    xl__arg_words(step, NUMBERS);
    xl__arg_map_offset(step, XL__QGEMM_OFF_BLOCKS, 0, map.stride[1]);
    xl__arg_u64(step, stages(c, s));
    xl__arg_u64(step, at_a);
    for (unsigned i = USED; i < NUMBERS; i++)
        xl__arg_u64(step, 0);
    xl__arg_mem(step, XL__QGEMM_BLOCKS);
    xl__arg_tensor_map(step, &map, XL__QGEMM_OFF_BLOCKS, 0);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__qgemm_add_args(step, c);
}

/* gemm/skinny_join.cl, of a product whose C is that of the call. */
static void add_join(const struct xl__limits *l,
                     const struct xl__qgemm_canonical *c, const struct set *s,
                     struct xl__plan *p)
{
    enum { GROUP = 64 };
    struct xl__gemm_canonical product = {.g = {0}};
    xl__qgemm_product(c, &product);
    struct xl__step *step =
        xl__plan_add(p, "gemm/skinny_join.cl", "gemm_skinny_join", 0, 0);
    step->is_aid = true;
    xl__step_set_3d(step, xl__most_items(l, GROUP), c->n, c->m, 1);
    step->slice_dim = -1;
    xl__define(step, "SPAN", 1);
    xl__gemm_define(step, &product, false);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, s->parts);
    xl__arg_u64(step, c->m);
    xl__arg_u64(step, c->n);
    xl__arg_mem(step, XL__QGEMM_C);
    xl__arg_value_u64(step, XL__QGEMM_OFF_C);
    xl__arg_u64(step, c->row_stride_c);
    xl__arg_u64(step, c->col_stride_c);
    xl__arg_u64(step, c->m);
    xl__arg_u64(step, c->n);
    xl__gemm_arg_last(step, &product, false);
}

static void estimate(const struct xl__limits *l,
                     const struct xl__qgemm_canonical *c,
                     const struct set *s, struct xl__plan *p)
{
    const xl_matrix_op *op = xl__wgmma_op(l, (xl_dtype)c->a);
    const double blocks = (double)xl__ceil_div(c->m, s->tm);
    const size_t tiles = xl__ceil_div(c->n, s->wr * ROWS);
    const double groups = (double)(tiles * s->parts) * blocks;
    const struct xl__cost work = {
        .flop = 2 * blocks * (double)s->tm * (double)c->k *
                (double)(tiles * s->wr * ROWS),
        .flop_frac = xl__model(l, XL__M_quantised_wgmma_frac) *
                     xl__mma_rate(l, op) / xl__rate_fma(l),
        .bytes = xl__qgemm_weight_bytes(c) * blocks,
        .bytes_frac = xl__model(l, XL__M_quantised_wgmma_bytes_frac),
        .fill = xl__fill(l, groups),
        .serial_bytes = 2 * (double)order_bytes(c, s) +
                        2 * (double)sums_bytes(c, s) +
                        (double)c->m * (double)c->n *
                            (double)xl_dtype_bytes((xl_dtype)c->c),
        .launches = p->n_steps + 1}; /* A's order takes two (NV-67) */
    xl__estimate(l, &work, p);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { ALIGN = 256 };
    const struct xl__qgemm_canonical *c = desc;
    const struct set s = set_of(params);
    const size_t at_a = xl__round_up(sums_bytes(c, &s), ALIGN);
    if (c->norm)
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_wgmma, p);
    if (s.wr * s.wk > most_fours(c, s.tm) ||
        (s.tm > 2 * ROWS && !is_rounded(c)) ||
        (double)local_bytes(c, &s) > xl__num_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    add_order(c, &s, at_a, p);
    add_product(l, c, &s, at_a, p);
    if (s.parts > 1)
        add_join(l, c, &s, p);
    p->scratch_bytes = at_a + order_bytes(c, &s);
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    estimate(l, c, &s, p);
    return XL_OK;
}

const struct xl__variant xl__qgemm_wgmma = {
    .name = "qgemm_wgmma",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
