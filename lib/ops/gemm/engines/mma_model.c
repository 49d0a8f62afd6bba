/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma's tile sets and the model that chooses one. The time of a product
 * is that of the compute unit with the most tiles:
 *
 *   tile  = slices x slice + filling its slots + storing C
 *   slice = the longer of its instructions and its local memory traffic
 *
 * Products of few rows are limited by how much of B is in flight. */
#include "ops/gemm/engines/mma.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/matrix_engine.h"

const struct xl__tunable xl__gemm_mma_tunables[] = {
    {"TM", "rows of a work-group's tile", {16, 32, 64, 128, 256, 0}},
    {"TN", "columns of it", {16, 32, 64, 128, 256, 0}},
    {"TK", "depth of a slice", {16, 32, 64, 128, 256, 0}},
    {"SM", "sub-groups along the rows", {1, 2, 4, 0}},
    {"SN", "along the columns", {1, 2, 4, 0}},
    {"SK", "along the depth", {1, 2, 4, 0}},
    {"ST", "slices kept in local memory", {2, 3, 4, 6, 0}},
    {"GR", "tile rows of a band", {4, 8, 16, 0}},
    {"PARTS",
     "1 a tile to a group; more: the slices of the last round are divided "
     "among so many groups on each two compute units",
     {1, 2, 4, 8, 0}},
    {"TURN",
     "1 operands are read directly; 2: one whose elements would be copied "
     "one by one is first transposed",
     {XL__MMA_DIRECT, XL__MMA_TRANSPOSED, 0}},
    {NULL, NULL, {0}},
};

enum {
    MOST_SUMS_F32 = 64,   /* of an item: f32 across k is loaded from local
                             memory word by word */
    MORE_REGISTERS = 100, /* fragments, addresses, counters */
    MOST_PARTS = 8,
    CHUNK_BYTES = 16,
    BANK_BYTES = 4,
    GUESS_BANKS = 32
};

struct xl__mma_set xl__mma_set_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__mma_set){{.tm = (size_t)v[XL__GEMM_TM],
                                 .tn = (size_t)v[XL__GEMM_TN],
                                 .tk = (size_t)v[XL__GEMM_TK],
                                 .stages = (size_t)v[XL__MMA_ST],
                                 .band = (size_t)v[XL__MMA_GR],
                                 .parts = (size_t)v[XL__MMA_PARTS]},
                                (size_t)v[XL__MMA_SM],
                                (size_t)v[XL__MMA_SN],
                                (size_t)v[XL__MMA_SK]};
}

static struct xl__params params_of(const struct xl__mma_set *s)
{
    struct xl__params p = {.source = "model"};
    p.value[XL__GEMM_TM] = (int)s->tile.tm;
    p.value[XL__GEMM_TN] = (int)s->tile.tn;
    p.value[XL__GEMM_TK] = (int)s->tile.tk;
    p.value[XL__MMA_SM] = (int)s->sm;
    p.value[XL__MMA_SN] = (int)s->sn;
    p.value[XL__MMA_SK] = (int)s->sk;
    p.value[XL__MMA_ST] = (int)s->tile.stages;
    p.value[XL__MMA_GR] = (int)s->tile.band;
    p.value[XL__MMA_PARTS] = (int)s->tile.parts;
    p.value[XL__MMA_TURN] = XL__MMA_DIRECT;
    return p;
}

struct xl__params xl__mma_listed(const struct xl__limits *l, size_t i,
                                 xl_dtype in)
{
    const struct xl__mma_tile *t = l->model.mma->tiles;
    while (i > 0 && t->tm) {
        t++;
        i--;
    }
    if (!t->tm)
        return (struct xl__params){.source = "model"};
    const struct xl__mma_set s = {{.tm = t->tm,
                                   .tn = t->tn,
                                   .tk = t->bytes / xl_dtype_bytes(in),
                                   .stages = t->stages,
                                   .parts = 1},
                                  t->sm,
                                  t->sn,
                                  t->sk};
    return params_of(&s);
}

size_t xl__mma_items(const xl_matrix_op *op, const struct xl__mma_set *s)
{
    return op->lanes * s->sm * s->sn * s->sk;
}

/* -- does it fit ---------------------------------------------------------- */

size_t xl__mma_local_bytes(const xl_matrix_op *op, const struct xl__mma_set *s)
{
    const struct xl__tile *t = &s->tile;
    const size_t slices =
        t->stages * t->tk * (t->tm + t->tn) * xl_dtype_bytes(op->a);
    const size_t sums =
        s->sk * s->sm * op->m * (t->tn + xl__mma_step(op).pad) * sizeof(float);
    return xl__max_size(slices, sums);
}

/* Is every sub-group's share a whole number of instructions, with two steps of
 * fragments to a slice, and does each item copy the same chunk of lines? */
static bool has_whole_instructions(const xl_matrix_op *op,
                                   const struct xl__mma_set *s)
{
    const struct xl__tile *t = &s->tile;
    const struct xl__mma_step step = xl__mma_step(op);
    const size_t bytes = xl_dtype_bytes(op->a);
    const size_t line =
        xl__max_size(t->tk, xl__max_size(t->tm, t->tn)) * bytes;
    return t->tm && t->tn && t->tk && s->sm && s->sn && s->sk &&
           t->stages >= 2 && t->band && t->parts &&
           t->tm % (s->sm * op->m) == 0 &&
           t->tn % (s->sn * step.side_by_side * op->n) == 0 &&
           t->tk % (s->sk * 2 * step.k) == 0 &&
           line / CHUNK_BYTES <= xl__mma_items(op, s);
}

static size_t sums_of_item(const xl_matrix_op *op, const struct xl__mma_set *s)
{
    return s->tile.tm / s->sm * (s->tile.tn / s->sn) / op->lanes;
}

/* Registers of an item: the list's, which a compiler has kept to, or an
 * estimate. */
struct item_registers {
    size_t n;
    bool is_listed;
};
static struct item_registers registers_of_item(const struct xl__limits *l,
                                               const xl_matrix_op *op,
                                               const struct xl__mma_set *s)
{
    const struct xl__tile *t = &s->tile;
    const size_t bytes = t->tk * xl_dtype_bytes(op->a);
    for (const struct xl__mma_tile *i = l->model.mma->tiles; i->tm; i++) {
        if (i->tm == t->tm && i->tn == t->tn && i->bytes == bytes &&
            i->sm == s->sm && i->sn == s->sn && i->sk == s->sk &&
            i->stages == t->stages && i->registers > 0)
            return (struct item_registers){i->registers, true};
    }
    return (struct item_registers){sums_of_item(op, s) + MORE_REGISTERS,
                                   false};
}

/* Number of groups whose registers a compute unit holds. */
static double groups_in_registers(const struct xl__limits *l,
                                  const xl_matrix_op *op,
                                  const struct xl__mma_set *s)
{
    return xl__num_or(l, XL__F_registers_per_cu, INFINITY) /
           (double)(xl__mma_items(op, s) * registers_of_item(l, op, s).n);
}

bool xl__mma_fits(const struct xl__limits *l, const xl_matrix_op *op,
                  const struct xl__mma_set *s)
{
    const double registers = xl__num_or(l, XL__F_registers_per_item,
                                        xl__model(l, XL__M_item_registers));
    const size_t sums = sums_of_item(op, s);
    const struct item_registers need = registers_of_item(l, op, s);
    return has_whole_instructions(op, s) &&
           !xl__is_refused(l, s->tile.tm, s->tile.tn) &&
           (op->a != XL_F32 || sums <= MOST_SUMS_F32) &&
           (need.is_listed || (double)need.n <= registers) &&
           groups_in_registers(l, op, s) >= 1 &&
           xl__mma_items(op, s) <= xl__size_or(l, XL__F_max_wg_size, 1) &&
           xl__mma_local_bytes(op, s) <=
               xl__size_or(l, XL__F_local_mem_bytes, 0);
}

/* -- the model ------------------------------------------------------------ */

/* Clocks of a slice on a compute unit with nothing else to do. Instructions
 * and local memory traffic overlap except for a fraction of the shorter;
 * elements that are copied one by one overlap with nothing. */
static double slice_clocks(const struct xl__mma_model *model,
                           const struct xl__mma_set *s,
                           const struct xl__mma_job *job,
                           double flop_per_clock, double local_per_clock)
{
    const struct xl__tile *t = &s->tile;
    const double depth = (double)(t->tk * xl_dtype_bytes(job->tiles.in));
    const double slow =
        (double)(t->tk * (job->slow_a * t->tm + job->slow_b * t->tn));
    const double multiply =
        2 * (double)(t->tm * t->tn * t->tk) / flop_per_clock;
    const double moved = depth * (double)(t->tm * (s->sn + 1) +
                                          t->tn * (s->sm + 1)) /
                         local_per_clock;
    return fmax(multiply, moved) + model->shown * fmin(multiply, moved) +
           slow / model->elems_per_clock;
}

/* Fraction of the memory's rate that the bytes in flight allow. */
static double memory_rate_frac(const struct xl__limits *l,
                               const struct xl__mma_set *s,
                               const struct xl__tile_job *job, double n_groups)
{
    static const double ns_per_s = 1e9;
    const double latency_s = xl__model(l, XL__M_latency_ns) / ns_per_s;
    const struct xl__tile *t = &s->tile;
    const size_t lines =
        xl__min_size(t->tm, job->m) + xl__min_size(t->tn, job->n);
    const double bytes_in_flight =
        n_groups *
        (double)((t->stages - 1) * t->tk * lines * xl_dtype_bytes(job->in));
    return fmin(l->model.mma->bytes_frac,
                bytes_in_flight / (xl__rate_memory(l) * latency_s));
}

static double again_bytes(const struct xl__limits *l,
                          const struct xl__mma_set *s,
                          const struct xl__tile_job *job,
                          const struct xl__tile_grid *grid, double bytes)
{
    const struct xl__tile *t = &s->tile;
    const double elem = (double)xl_dtype_bytes(job->in);
    return xl__tile_again_bytes(
        l,
        elem * (double)(grid->tiles * grid->units * t->tk * (t->tm + t->tn)),
        elem * (double)((job->m + job->n) * job->k * job->count), bytes);
}

void xl__mma_model(const struct xl__limits *l, const struct xl__mma_set *s,
                   const struct xl__mma_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w)
{
    const struct xl__mma_model *model = l->model.mma;
    static const double idle = 1; /* sub-groups that wait at a time */
    const struct xl__tile_job *tiles = &job->tiles;
    const struct xl__tile *t = &s->tile;
    const double n_cus = (double)xl__n_units(l);
    const double clock = xl__rate_clock(l);
    const double banks = xl__num_or(l, XL__F_local_banks, GUESS_BANKS);
    const double groups =
        (double)(grid->is_cut ? grid->stream.groups : grid->tiles);
    const struct xl__group_needs needs = {
        (double)xl__mma_items(job->op, s),
        (double)registers_of_item(l, job->op, s).n,
        (double)xl__mma_local_bytes(job->op, s)};
    const double at_once =
        fmin(ceil(groups / n_cus),
             xl__resident_groups(
                 l, xl__num_or(l, XL__F_registers_per_cu, INFINITY), &needs));
    const double busy = at_once * (double)(s->sm * s->sn * s->sk);
    const double rate = xl__mma_rate(l, job->op) / (n_cus * clock);
    const double volume = 2 * (double)(t->tm * t->tn * t->tk);
    const double units = (double)grid->units;
    const double clocks =
        units * slice_clocks(model, s, job, rate, banks * BANK_BYTES) *
            (busy + idle) / busy +
        (model->begin_clocks +
         (double)(t->tm * t->tn) / model->sums_per_clock) / at_once;
    xl__tile_waves(t, tiles, grid, n_cus, w);
    if (grid->is_cut)
        w->bytes += again_bytes(l, s, tiles, grid, w->bytes);
    w->flop_frac = volume * units / clocks * n_cus * clock / xl__rate_fma(l);
    w->bytes_frac =
        memory_rate_frac(l, s, tiles, fmin(groups, at_once * n_cus));
}

/* -- choosing ------------------------------------------------------------- */

/* The best set so far. */
struct mma_search {
    const struct xl__limits *l;
    const struct xl__mma_job *job;
    const struct xl__cost *work;
    struct xl__params *out;
    struct xl__best_cost best;
};

static void consider_set(struct mma_search *b, const struct xl__mma_set *s)
{
    static const double equal = 0.01;
    struct xl__cost w = *b->work;
    struct xl__tile_grid grid;
    if (!xl__mma_fits(b->l, b->job->op, s) ||
        !xl__tile_cut(b->l, &s->tile, &b->job->tiles, &grid))
        return;
    xl__mma_model(b->l, s, b->job, &grid, &w);
    if (xl__improves(b->l, &w, equal, &b->best))
        *b->out = params_of(s);
}

double xl__mma_choose(const struct xl__limits *l,
                      const struct xl__mma_job *job,
                      const struct xl__cost *work, struct xl__params *out)
{
    struct mma_search b = {l, job, work, out, {.ns = INFINITY}};
    struct xl__params p = xl__mma_listed(l, 0, job->tiles.in);
    *out = (struct xl__params){.source = "model"}; /* plan() refuses it */
    for (size_t i = 0; p.value[XL__GEMM_TM];
         p = xl__mma_listed(l, ++i, job->tiles.in)) {
        struct xl__mma_set s = xl__mma_set_of(&p);
        s.tile.band = xl__model_size(l, XL__M_band);
        for (; s.tile.parts <= MOST_PARTS; s.tile.parts *= 2)
            consider_set(&b, &s);
    }
    return b.best.ns;
}
