/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward_mma: gradients of attention on a sub-group's matrix
 * instructions. Weights are computed again, once for grad_q and once for
 * grad_k and grad_v, so that each result is the sum of one sub-group. */
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"

enum { RQ = XL__ATTENTION_TUNABLES, RK, BM, ST, N_TUNABLES };
enum {
    ALIGN = 16,      /* bytes of a copy */
    EACH = 8,        /* elements of one */
    ROW_BYTES = 80,  /* of struct row, attention/attention.clh */
    QUERY_BYTES = 8, /* of struct query besides, attention/backward_mma.cl */
    KEYS_BYTES = 8,  /* of a range of keys */
    VALUES = 2       /* floats of a query in scratch memory */
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "queries of a group", {16, 32, 64, 128, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a group", {16, 32, 64, 128, 0}},
    [RQ] = {"RQ", "fragments along a sub-group's queries", {1, 2, 0}},
    [RK] = {"RK", "fragments along a sub-group's keys", {1, 2, 0}},
    [BM] = {"BM", "rows of a block", {16, 32, 64, 0}},
    [ST] = {"ST", "blocks in local memory", {2, 3, 4, 0}},
    {NULL, NULL, {0}}};

/* Largest first. */
static const int sets[][N_TUNABLES] = {
    {128, 128, 2, 2, 32, 2}, {128, 64, 2, 1, 32, 2}, {128, 64, 2, 1, 16, 2},
    {64, 64, 2, 1, 32, 2},   {64, 64, 1, 1, 32, 2},  {64, 64, 1, 1, 16, 2},
    {32, 32, 1, 1, 32, 2},   {32, 32, 1, 1, 16, 2},  {16, 16, 1, 1, 16, 2},
};
enum { N_SETS = sizeof sets / sizeof *sets };

bool xl__attention_backward_mma_listed(size_t i, struct xl__params *out)
{
    *out = (struct xl__params){.source = "model"};
    for (unsigned t = 0; i < N_SETS && t < N_TUNABLES; t++)
        out->value[t] = sets[i][t];
    return i < N_SETS;
}

/* -- the two kernels ------------------------------------------------------ */

/* STEP of the kernel; its products of a block, sums in registers. */
static const struct part {
    const char *kernel;
    size_t step;
    unsigned lines, fragments; /* tunables */
    size_t products, sums;
} parts[] = {
    {"attention_backward_mma_q", 1, XL__ATTENTION_BQ, RQ, 3, 1},
    {"attention_backward_mma_kv", 2, XL__ATTENTION_BK, RK, 4, 2},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

struct layout {
    size_t lines, rm, sm, items, local_bytes;
    size_t heads, groups; /* of all sequences */
    double registers;
};

static size_t padded(const struct xl__attention_canonical *c,
                     const xl_matrix_op *op)
{
    return xl__round_up(c->d_head, op->k);
}

static struct layout layout_of(const struct xl__attention_canonical *c,
                               const xl_matrix_op *op, const int *value,
                               const struct part *part)
{
    enum {
        BANKS = 128,
        OPERANDS = 2,
        BLOCKS = 2,
        SUMS = 2,
        OTHER = 60,
        OPTIONS = 32
    };
    const bool is_of_keys = part->lines == XL__ATTENTION_BK;
    const size_t rows = (size_t)value[BM],
                 bytes = padded(c, op) * xl_dtype_bytes(op->a);
    struct layout s = {.lines = (size_t)value[part->lines],
                       .rm = (size_t)value[part->fragments],
                       .heads = c->n_batch *
                                (is_of_keys ? c->n_kv_heads : c->n_heads)};
    size_t line = 2 * op->k;
    while (line < bytes)
        line += line < BANKS ? line : BANKS;
    s.sm = s.lines / (s.rm * op->m);
    s.items = op->lanes * s.sm;
    s.groups = s.heads * xl__ceil_div(is_of_keys ? c->n_kv : c->n_q, s.lines);
    const bool is_plain = !c->has_cap &&
                          !xl__attention_has(c, XL__ATTENTION_MASK) &&
                          !xl__attention_has(c, XL__ATTENTION_SLOPES);
    s.local_bytes =
        OPERANDS * line * (s.lines + (size_t)value[ST] * rows) +
        (size_t)(QUERY_BYTES + (is_plain ? KEYS_BYTES : ROW_BYTES)) *
            (is_of_keys ? BLOCKS * rows : s.lines);
    s.registers = (double)(s.rm * (part->sums * padded(c, op) / SUMS + rows) +
                           OTHER + (is_plain ? 0 : OPTIONS));
    return s;
}

static const xl_matrix_op *find_op(const struct xl__limits *l,
                                   const struct xl__attention_canonical *c)
{
    return xl__mma_op(l, c->view[XL__ATTENTION_Q].dtype);
}

static bool fits(const struct xl__limits *l,
                 const struct xl__attention_canonical *c,
                 const xl_matrix_op *op, const int *value)
{
    const double registers = xl__num_or(l, XL__F_registers_per_item,
                                        xl__model(l, XL__M_item_registers));
    if (xl__is_refused(l, (size_t)value[XL__ATTENTION_BQ],
                       (size_t)value[XL__ATTENTION_BK]))
        return false;
    for (unsigned i = 0; i < N_PARTS; i++) {
        const struct layout s = layout_of(c, op, value, &parts[i]);
        if (s.sm == 0 || s.sm * s.rm * op->m != s.lines ||
            s.local_bytes > xl__size_or(l, XL__F_local_mem_bytes, 0) ||
            s.items > xl__most_items(l, s.items) || s.registers > registers)
            return false;
    }
    return true;
}

/* -- cost ----------------------------------------------------------------- */

/* Of the engine, by the share of its rate that attention reaches; lines that
 * fill no tile are multiplied too. */
static struct xl__cost cost_of(const struct xl__limits *l,
                               const struct xl__attention_canonical *c,
                               const xl_matrix_op *op, const int *value)
{
    static const double ns_per_s = 1e9, flop = 2;
    const struct xl__mma_model *m = l->model.mma;
    double busy_s = 0;
    for (unsigned i = 0; i < N_PARTS; i++) {
        const struct layout s = layout_of(c, op, value, &parts[i]);
        const size_t lines =
            parts[i].lines == XL__ATTENTION_BK ? c->n_kv : c->n_q;
        const double full = (double)(s.groups / s.heads * s.lines);
        busy_s += xl__attention_pairs(c) * full / (double)lines * flop *
                  (double)(parts[i].products * padded(c, op)) /
                  (xl__mma_rate(l, op) * m->attention_frac[s.rm > 1] *
                   xl__fill(l, (double)s.groups));
    }
    return (struct xl__cost){.busy_ns = busy_s * ns_per_s,
                             .bytes = xl__attention_bytes(c),
                             .bytes_frac = m->attention_bytes_frac,
                             .launches = N_PARTS};
}

/* The set of the least estimate; false: none fits. */
static bool find_tunables(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          struct xl__params *out)
{
    const xl_matrix_op *op = find_op(l, c);
    double least = INFINITY;
    struct xl__params params;
    for (size_t i = 0; op && xl__attention_backward_mma_listed(i, &params);
         i++) {
        const char *bound;
        if (!fits(l, c, op, params.value))
            continue;
        const struct xl__cost work = cost_of(l, c, op, params.value);
        const double ns = xl__work_ns(l, &work, &bound);
        if (ns >= least)
            continue;
        least = ns;
        *out = params;
    }
    return least < INFINITY;
}

/* -- plan ----------------------------------------------------------------- */

static void add_step(const struct xl__limits *l,
                     const struct xl__attention_canonical *c,
                     const xl_matrix_op *op, const int *value,
                     const struct part *part, struct xl__plan *p)
{
    const struct layout s = layout_of(c, op, value, part);
    const struct xl__defined defines[] = {{"STEP", part->step},
                                          {"SM", s.sm},
                                          {"RM", s.rm},
                                          {"BM", (size_t)value[BM]},
                                          {"ST", (size_t)value[ST]}};
    struct xl__step *step = xl__plan_add(p, "attention/backward_mma.cl",
                                         part->kernel, s.items, s.items);
    xl__step_set_3d(step, s.items, s.groups / s.heads * s.items, s.heads, 1);
    step->local_mem_bytes = s.local_bytes;
    xl__mma_define(step, l, op);
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    xl__attention_defines(step, c);
    xl__attention_backward_args(step, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const xl_matrix_op *op = find_op(l, c);
    if (!op || !fits(l, c, op, params->value))
        return XL_UNSUPPORTED;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    p->scratch_bytes =
        c->n_batch * c->n_heads * c->n_q * VALUES * sizeof(float);
    for (unsigned i = 0; i < N_PARTS; i++)
        add_step(l, c, op, params->value, &parts[i], p);
    const struct xl__cost work = cost_of(l, c, op, params->value);
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* -- choice --------------------------------------------------------------- */

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    static const unsigned loaded[] = {XL__ATTENTION_Q, XL__ATTENTION_K,
                                      XL__ATTENTION_V, XL__ATTENTION_O,
                                      XL__ATTENTION_GRAD_O};
    const struct xl__attention_canonical *c = desc;
    const xl_dtype dtype = c->view[XL__ATTENTION_Q].dtype;
    struct xl__params params;
    if (dtype != XL_F16 && dtype != XL_BF16)
        return "f32 would be rounded";
    const char *why = xl__mma_rows_refused(l, dtype);
    if (why)
        return why;
    if (c->d_head % EACH != 0)
        return "d_head must be a multiple of 8";
    for (unsigned i = 0; i < sizeof loaded / sizeof *loaded; i++) {
        if (c->view[loaded[i]].offset < ALIGN)
            return "rows of q, k, v, o and grad_o must begin at multiples of "
                   "16 bytes";
    }
    if (c->n_q > INT32_MAX / 2 || c->n_kv > INT32_MAX / 2 ||
        c->n_heads * c->n_batch > INT32_MAX ||
        xl__ceil_div(c->n_q, ALIGN) * xl__attention_share(c) > INT32_MAX)
        return "rows are counted in 32 bits";
    why = xl__attention_needs_rows(c);
    if (why)
        return why;
    if (!find_tunables(l, desc, &params))
        return "no tile fits the device's registers, local memory and "
               "work-groups";
    return NULL;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    (void)find_tunables(l, desc, out);
}

const struct xl__variant xl__attention_backward_mma = {
    .name = "attention_backward_mma",
    .repeats = "bit for bit: sums are in an order of heads and rows",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
