/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_dpas: GEMM on a sub-group's systolic matrix instruction. Both operands
 * are packed into tiles of the instruction first, so that any layout and any
 * alignment is supported, and block reads load them without local memory.
 *
 * The time of a product is that of the compute unit with the most tiles of
 * sub-groups, whose instructions and loads from the cache overlap. */
#include "ops/gemm/engines/dpas.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "device/peak_rates.h"
#include "device/time_model.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/cost.h"

enum {
    ROWS = 8,        /* of an instruction: common/intel/dpas.clh */
    LINE_BYTES = 32, /* of a row of A and a column of B in it */
    WORD = 4,
    PACK_ITEMS = 64
};

const struct xl__tunable xl__gemm_dpas_tunables[] = {
    {"TM", "rows of a work-group's tile", {8, 16, 32, 64, 128, 0}},
    {"TN", "columns of it", {8, 16, 32, 64, 128, 256, 0}},
    {"TK", "depth to which operands are packed", {16, 32, 0}},
    {"RM", "rows of a sub-group, in instructions", {1, 2, 4, 0}},
    {"RN", "columns of it, in instructions", {1, 2, 4, 0}},
    {"GRF",
     "registers of a sub-group: 1 the driver's choice; 2: all that it can "
     "have",
     {XL__DPAS_SOME_REGISTERS, XL__DPAS_ALL_REGISTERS, 0}},
    {"GR", "tile rows of a band", {4, 8, 16, 0}},
    {NULL, NULL, {0}},
};

/* Sub-groups along m and n, instructions of each, its registers. */
static const struct {
    unsigned char sm, sn, rm, rn, registers;
} dpas_sets[] = {
    {4, 4, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 4, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 2, 4, 4, XL__DPAS_ALL_REGISTERS},
    {1, 2, 4, 4, XL__DPAS_ALL_REGISTERS},
    {2, 4, 4, 2, XL__DPAS_SOME_REGISTERS},
    {2, 4, 2, 2, XL__DPAS_SOME_REGISTERS},
    {1, 4, 2, 2, XL__DPAS_SOME_REGISTERS},
    {1, 4, 1, 2, XL__DPAS_SOME_REGISTERS},
    {4, 1, 2, 1, XL__DPAS_SOME_REGISTERS},
    {1, 1, 1, 1, XL__DPAS_SOME_REGISTERS},
};

/* A and B in the order of xl__gemm_orient(), packed. */
struct packed {
    size_t lines;       /* tiles along x, those of whole work-groups */
    size_t line_bytes;  /* of all tiles along k */
    size_t first, step; /* of the first product; 0: all products share it */
    double moved_bytes;
};
enum { OPERANDS = 2 };

struct dpas_plan {
    const struct xl__limits *l;
    const xl_matrix_op *op;
    const struct xl__gemm_canonical *c;
    struct xl__dpas_set set;
    struct xl__gemm_oriented s;
    struct xl__tile_grid grid;
    struct packed packed[OPERANDS];
    size_t scratch_bytes;
};

struct xl__dpas_set xl__dpas_set_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__dpas_set){.tm = (size_t)v[XL__GEMM_TM],
                                 .tn = (size_t)v[XL__GEMM_TN],
                                 .tk = (size_t)v[XL__GEMM_TK],
                                 .rm = (size_t)v[XL__DPAS_RM],
                                 .rn = (size_t)v[XL__DPAS_RN],
                                 .registers = (size_t)v[XL__DPAS_GRF],
                                 .band = (size_t)v[XL__DPAS_GR]};
}

struct xl__params xl__dpas_listed(size_t i, const xl_matrix_op *op)
{
    struct xl__params p = {.source = "model"};
    if (i >= sizeof dpas_sets / sizeof *dpas_sets)
        return p;
    p.value[XL__GEMM_TM] = dpas_sets[i].sm * dpas_sets[i].rm * ROWS;
    p.value[XL__GEMM_TN] = dpas_sets[i].sn * dpas_sets[i].rn * (int)op->n;
    p.value[XL__GEMM_TK] = (int)op->k;
    p.value[XL__DPAS_RM] = dpas_sets[i].rm;
    p.value[XL__DPAS_RN] = dpas_sets[i].rn;
    p.value[XL__DPAS_GRF] = dpas_sets[i].registers;
    p.value[XL__DPAS_GR] = 8;
    return p;
}

static const xl_matrix_op *dpas_op(const struct xl__limits *l, xl_dtype in)
{
    return l->model.dpas ? xl__find_matrix_op(l, "dpas", in, in) : NULL;
}

static size_t sub_groups(const struct xl__dpas_set *s, const xl_matrix_op *op)
{
    return s->tm / (s->rm * ROWS) * (s->tn / (s->rn * op->n));
}

static bool fits(const struct xl__limits *l, const xl_matrix_op *op,
                 const struct xl__dpas_set *s)
{
    return s->tm && s->tn && s->tk && s->rm && s->rn && s->band &&
           s->tm % (s->rm * ROWS) == 0 && s->tn % (s->rn * op->n) == 0 &&
           s->tk % op->k == 0 &&
           sub_groups(s, op) * op->lanes <=
               xl__size_or(l, XL__F_max_wg_size, 1);
}

static struct xl__tile tile_of(const struct xl__dpas_set *s)
{
    return (struct xl__tile){
        .tm = s->tm, .tn = s->tn, .tk = s->tk, .band = s->band, .parts = 1};
}

/* -- packed operands ------------------------------------------------------ */

static size_t batch_step(const struct dpas_plan *j,
                         const struct xl__gemm_operand *operand)
{
    const xl_batch *b = &j->c->g.batch;
    return operand->mem == XL__GEMM_A ? b->a_step : b->b_step;
}

/* Lay out an operand behind what is laid out. The kernel counts bytes in 32
 * bits. Returns false if there are more. */
static bool lay_out(struct dpas_plan *j,
                    const struct xl__gemm_operand *operand, size_t extent,
                    size_t tile, struct packed *out)
{
    const xl_gemm *g = &j->c->g;
    const size_t count = batch_step(j, operand) > 0 ? g->batch.count : 1;
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    const size_t k = xl__round_up(g->k, j->set.tk);
    size_t bytes;
    out->lines = xl__round_up(operand->extent, tile) / extent;
    out->line_bytes = k * elem * extent;
    out->first = j->scratch_bytes;
    out->step = count > 1 ? out->lines * out->line_bytes : 0;
    out->moved_bytes =
        (double)count * ((double)operand->extent * (double)(g->k * elem) +
                         (double)(out->lines * out->line_bytes));
    return xl__mul(out->lines, out->line_bytes, &bytes) &&
           xl__mul(bytes, count, &bytes) &&
           xl__add(bytes, j->scratch_bytes, &j->scratch_bytes) &&
           j->scratch_bytes <= UINT32_MAX;
}

static bool lay_out_both(struct dpas_plan *j)
{
    j->scratch_bytes = 0;
    return lay_out(j, &j->s.a, ROWS, j->set.tm, &j->packed[0]) &&
           lay_out(j, &j->s.b, j->op->n, j->set.tn, &j->packed[1]) &&
           (double)j->scratch_bytes <=
               xl__num_or(j->l, XL__F_max_alloc_bytes, INFINITY);
}

static void define_engine(struct xl__step *s, const struct dpas_plan *j)
{
    xl__define_choice(s, "XL_DPAS", j->op->code);
    xl__define(s, "DPAS_LANES", (long)j->op->lanes);
}

static void add_pack(const struct dpas_plan *j,
                     const struct xl__gemm_operand *operand, unsigned side,
                     struct xl__plan *p)
{
    const struct packed *to = &j->packed[side];
    struct xl__step *s =
        xl__plan_add(p, "gemm/intel/dpas_pack.cl", "gemm_dpas_pack", 0, 1);
    define_engine(s, j);
    xl__define(s, "DPAS_T", (long)j->c->g.a.dtype);
    xl__define(s, "SIDE", (long)side);
    xl__step_set_3d(s, PACK_ITEMS, to->line_bytes / WORD, to->lines,
                    to->step ? j->c->g.batch.count : 1);
    s->slice_dim = 1;
    xl__gemm_arg_operand(s, operand);
    xl__arg_u64(s, batch_step(j, operand));
    xl__arg_u64(s, operand->extent);
    xl__arg_u64(s, j->c->g.k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, to->first / WORD);
    xl__arg_u64(s, to->step / WORD);
    xl__arg_u64(s, to->line_bytes / WORD);
}

/* -- the product ---------------------------------------------------------- */

static void add_product(const struct dpas_plan *j, struct xl__plan *p)
{
    const struct xl__dpas_set *set = &j->set;
    const size_t items = sub_groups(set, j->op) * j->op->lanes;
    struct xl__step *s =
        xl__plan_add(p, "gemm/intel/dpas.cl", "gemm_dpas", 0, items);
    const struct xl__defined defines[] = {
        {"TM", set->tm},
        {"TN", set->tn},
        {"TK", set->tk},
        {"RM", set->rm},
        {"RN", set->rn},
        {"SM", set->tm / (set->rm * ROWS)},
        {"SN", set->tn / (set->rn * j->op->n)},
        {"GR", set->band},
    };
    define_engine(s, j);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (set->registers == XL__DPAS_ALL_REGISTERS)
        xl__step_add_option(s, j->l->model.dpas->registers_option);
    xl__gemm_define(s, j->c, j->s.is_swapped);
    s->global[0] = xl__tile_groups(&j->grid) * items;
    for (unsigned i = 0; i < OPERANDS; i++) {
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u32(s, j->packed[i].first);
        xl__arg_u32(s, j->packed[i].step);
    }
    xl__tile_args(s, j->c, &j->s, &j->grid);
    p->tiling = xl__tile_describe(s, &j->grid,
                                  (xl_tiling){.rows = set->tm,
                                              .cols = set->tn,
                                              .m = j->s.m,
                                              .n = j->s.n,
                                              .band = set->band,
                                              .is_swapped = j->s.is_swapped});
}

/* -- the model ------------------------------------------------------------ */

/* Clocks in which a compute unit computes one sub-group's tile. */
static double tile_clocks(const struct dpas_plan *j, double flop_per_clock)
{
    const struct xl__dpas_model *m = j->l->model.dpas;
    const double rows = (double)(j->set.rm * ROWS);
    const double cols = (double)(j->set.rn * j->op->n);
    const double depth = (double)xl__round_up(j->c->g.k, j->set.tk);
    const double bytes =
        depth * (rows + cols) * (double)xl_dtype_bytes(j->c->g.a.dtype);
    const double multiply = 2 * rows * cols * depth / flop_per_clock;
    const double load = bytes / m->load_bytes;
    return fmax(multiply, load) + m->shown * fmin(multiply, load) +
           m->begin_clocks + rows * cols / m->sums_per_clock;
}

/* Set what depends on the tiles in *w. */
static void model(const struct dpas_plan *j, struct xl__cost *w)
{
    static const double ns_per_s = 1e9;
    const double n_units = (double)xl__n_units(j->l);
    const double clock = xl__rate_clock(j->l);
    const double rate =
        fmax(xl__rate_matrix_op(j->l, j->op), xl__rate_fma(j->l));
    const double tiles =
        (double)j->grid.tiles * (double)sub_groups(&j->set, j->op);
    w->fill = fmin(1, tiles / n_units);
    w->flop_frac = 1;
    w->busy_ns = ceil(tiles / n_units) *
                 tile_clocks(j, rate / (n_units * clock)) / clock * ns_per_s;
    w->bytes_frac = j->l->model.dpas->bytes_frac;
    w->serial_bytes = j->packed[0].moved_bytes + j->packed[1].moved_bytes;
    w->launches = 1 + OPERANDS;
}

/* -- the plan ------------------------------------------------------------- */

static bool lay_out_plan(struct dpas_plan *j)
{
    const struct xl__tile tile = tile_of(&j->set);
    const struct xl__tile_job job = {.m = j->s.m,
                                     .n = j->s.n,
                                     .k = j->c->g.k,
                                     .count = j->c->g.batch.count,
                                     .in = j->c->g.a.dtype};
    return fits(j->l, j->op, &j->set) &&
           xl__tile_cut(j->l, &tile, &job, &j->grid) && lay_out_both(j);
}

static struct dpas_plan plan_for(const struct xl__limits *l, const void *desc,
                                 const struct xl__params *params)
{
    const struct xl__gemm_canonical *c = desc;
    return (struct dpas_plan){.l = l,
                              .op = dpas_op(l, c->g.a.dtype),
                              .c = c,
                              .set = xl__dpas_set_of(params),
                              .s = xl__gemm_orient(desc)};
}

static struct xl__cost product_cost(const xl_gemm *g)
{
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g)};
}

static void choose_dpas(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    static const double equal = 0.01;
    const xl_matrix_op *op = dpas_op(l, ((const xl_gemm *)desc)->a.dtype);
    struct xl__best_cost best = {.ns = INFINITY};
    struct xl__params p = xl__dpas_listed(0, op);
    *out = (struct xl__params){.source = "model"}; /* plan() refuses it */
    for (size_t i = 0; p.value[XL__GEMM_TM]; p = xl__dpas_listed(++i, op)) {
        struct dpas_plan j = plan_for(l, desc, &p);
        struct xl__cost w = product_cost(desc);
        if (!lay_out_plan(&j))
            continue;
        model(&j, &w);
        if (xl__improves(l, &w, equal, &best))
            *out = p;
    }
}

static xl_status plan_dpas(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    struct dpas_plan j = plan_for(l, desc, params);
    struct xl__cost work = product_cost(desc);
    p->flop = work.flop;
    p->bytes = work.bytes;
    if (!lay_out_plan(&j))
        return XL_UNSUPPORTED;
    p->scratch_bytes = j.scratch_bytes;
    add_pack(&j, &j.s.a, 0, p);
    add_pack(&j, &j.s.b, 1, p);
    add_product(&j, p);
    model(&j, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuse_dpas(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (!l->matrix_ops || !l->model.dpas)
        return "no systolic matrix instruction is known for this device";
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    if (!dpas_op(l, g->a.dtype))
        return "the systolic matrix instruction multiplies f16, bf16 and i8";
    if (g->k > INT32_MAX)
        return "tiles along k are counted in 32 bits";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (g->batch.a_at || g->batch.inner > 0)
        return "operands at listed offsets, or along two axes of a batch, "
               "cannot be packed";
    return NULL;
}

const struct xl__variant xl__gemm_dpas = {
    .name = "gemm_dpas",
    .repeats = "bit for bit: each element's sum in a fixed order",
    .tunables = xl__gemm_dpas_tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = refuse_dpas,
    .choose = choose_dpas,
    .plan = plan_dpas,
};
