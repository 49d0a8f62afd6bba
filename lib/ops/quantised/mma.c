/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_mma: up to a few dozen rows of A by a sub-group's matrix
 * instructions. Weights pass through local memory as they are stored and
 * become exact floats of A's type in registers. Where a line of bytes is one
 * copy and W's rows are aligned to it, teams share what is copied (NV-64). */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"
#include "ops/quantised/qgemm.h"

enum { CHUNK = 16 }; /* bytes to which copies are aligned */

static const struct xl__tunable tunables[] = {
    [XL__QGEMM_TM] = {"TM", "rows of A of a group", {1, 2, 4, 8, 16, 32, 0}},
    [XL__QGEMM_RN] = {"RM", "tiles of W of a group", {1, 2, 0}},
    [XL__QGEMM_SK] = {"SK",
                      "sub-groups that share columns",
                      {1, 2, 4, 8, 16, 0}},
    [XL__QGEMM_ST] = {"ST", "slots of local memory", {2, 3, 4, 0}},
    [XL__QGEMM_RT] = {"RT",
                      "times as many sub-groups, for rows of W: by lines",
                      {1, 2, 0}},
    {NULL, NULL, {0}}};

struct set {
    size_t tm, rm, sk, st, rt;
};

static struct set set_of(const struct xl__params *p)
{
    return (struct set){
        (size_t)p->value[XL__QGEMM_TM], (size_t)p->value[XL__QGEMM_RN],
        (size_t)p->value[XL__QGEMM_SK], (size_t)p->value[XL__QGEMM_ST],
        (size_t)p->value[XL__QGEMM_RT]};
}

static size_t stages(const struct xl__qgemm_canonical *c)
{
    return xl__ceil_div(c->k, XL__QGEMM_STAGE);
}

static size_t stage_bytes(const struct xl__qgemm_canonical *c)
{
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    return XL__QGEMM_STAGE / f->block * f->block_bytes;
}

/* Are W and A copied by lines: quantised/copy_lines.clh? */
static bool is_by_lines(const struct xl__limits *l,
                        const struct xl__qgemm_canonical *c,
                        const struct set *s)
{
    return *xl__text(l, XL__F_line_copy) && c->w_aligned == CHUNK &&
           s->sk * stage_bytes(c) % CHUNK == 0;
}

static size_t rows_of(const struct set *s, const xl_matrix_op *op)
{
    return s->rt * s->rm * op->m;
}

/* LOCAL_BYTES of quantised/mma.cl. */
static size_t local_bytes(const struct xl__limits *l,
                          const struct xl__qgemm_canonical *c,
                          const xl_matrix_op *op, const struct set *s)
{
    enum { PAD = 32 };
    const bool by_lines = is_by_lines(l, c, s);
    const size_t together = by_lines ? s->sk : 1; /* stages of a slot */
    const size_t stage = together * stage_bytes(c);
    const size_t chunks =
        by_lines ? stage / CHUNK : (stage + 2 * CHUNK - 2) / CHUNK;
    const size_t line = (chunks / 2 * 2 + 1) * CHUNK;
    const size_t line_a =
        together * XL__QGEMM_STAGE * xl_dtype_bytes((xl_dtype)c->a) + PAD;
    const size_t slots =
        s->sk / together * s->st * (rows_of(s, op) * line + s->tm * line_a);
    const size_t sums = s->sk * rows_of(s, op) *
                        xl__round_up(xl__qgemm_terms(c) * s->tm, op->n) *
                        sizeof(float);
    return xl__max_size(slots, sums);
}

/* f32 is a sum of three bf16, each a column of the instruction's. */
xl_dtype xl__qgemm_engine_type(const struct xl__qgemm_canonical *c)
{
    return c->a == XL_F32 ? XL_BF16 : (xl_dtype)c->a;
}

size_t xl__qgemm_terms(const struct xl__qgemm_canonical *c)
{
    enum { TERMS = 3 };
    return c->a == XL_F32 ? TERMS : 1;
}

/* Their codes have at most 8 bits, and no minimum is added. */
static bool has_pairs(size_t format)
{
    return format != XL_Q4_1 && format != XL_Q4_K && format != XL_IQ4_NL;
}

const char *xl__qgemm_pairs_refused(const struct xl__limits *l,
                                    const struct xl__qgemm_canonical *c)
{
    if (c->activations)
        return "it multiplies floats, not activations as bytes";
    if (!has_pairs(c->format))
        return "weights of this format are no exact f16 times a scale";
    if (c->a_aligned < CHUNK)
        return "rows of A do not begin at multiples of 16 bytes";
    if (xl__qgemm_row_bytes(c) > INT32_MAX)
        return "bytes of a row are counted in 32 bits";
    return xl__mma_rows_refused(l, xl__qgemm_engine_type(c));
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    return xl__qgemm_pairs_refused(l, desc);
}

/* Two groups of a compute unit hide each other's beginning and end; a group
 * that is alone there takes what local memory there is. With many rows of A
 * two rows of teams share them, if that leaves units busy. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { MOST_ROWS = 32, MANY_ROWS = 8, TEAMS = 8, GROUPS = 2 };
    const struct xl__qgemm_canonical *c = desc;
    const xl_matrix_op *op = xl__mma_op(l, xl__qgemm_engine_type(c));
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    double local = xl__num_or(l, XL__F_local_mem_bytes, 0);
    struct set s = {.tm = xl__min_size(MOST_ROWS, xl__ceil_power_of_two(c->m)),
                    .rm = (double)xl__ceil_div(c->n, op->m) > units ? 2 : 1,
                    .sk =
                        xl__min_size(TEAMS, xl__floor_power_of_two(stages(c))),
                    .st = 2,
                    .rt = 1};
    /* Where teams copy for themselves, registers are spilled beside these. */
    if (s.tm == MOST_ROWS && !is_by_lines(l, c, &s))
        s.rm = 1;
    const double groups = (double)xl__ceil_div(c->n, rows_of(&s, op));
    if (s.tm >= MANY_ROWS && is_by_lines(l, c, &s) && groups > units)
        s.rt = 2;
    if (s.rt == 1 && groups > units)
        local /= GROUPS;
    while (s.sk > 1 && (double)local_bytes(l, c, op, &s) > local)
        s.sk /= 2;
    if (!is_by_lines(l, c, &s))
        s.rt = 1;
    else if (groups <= units) {
        s.st = 3;
        if ((double)local_bytes(l, c, op, &s) > local)
            s.st = 2;
    }
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QGEMM_TM] = (int)s.tm;
    out->value[XL__QGEMM_RN] = (int)s.rm;
    out->value[XL__QGEMM_SK] = (int)s.sk;
    out->value[XL__QGEMM_ST] = (int)s.st;
    out->value[XL__QGEMM_RT] = (int)s.rt;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__qgemm_canonical *c = desc;
    const xl_matrix_op *op = xl__mma_op(l, xl__qgemm_engine_type(c));
    const struct set s = set_of(params);
    const bool by_lines = is_by_lines(l, c, &s);
    if (c->norm)
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_mma, p);
    const size_t rows = rows_of(&s, op), items = s.sk * s.rt * op->lanes;
    const size_t groups = xl__ceil_div(c->n, rows),
                 blocks = xl__ceil_div(c->m, s.tm);
    const size_t local = local_bytes(l, c, op, &s);
    if ((s.rt > 1 && !by_lines) ||
        items > xl__size_or(l, XL__F_max_wg_size, 1) ||
        local > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    struct xl__step *step =
        xl__plan_add(p, "quantised/mma.cl", "qgemm_mma", 0, 0);
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    xl__step_set_3d(step, items, groups * items, blocks, 1);
    step->slice_dim = 0;
    step->local_mem_bytes = local;
    xl__mma_define(step, l, op);
    for (unsigned i = 0; tunables[i].name; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    xl__define(step, "GROUP_UNITS", (long)xl__qgemm_group_units(c));
    xl__define(step, "BY_LINES", by_lines);
    if (by_lines)
        xl__define_choice(step, "XL_LINES", xl__text(l, XL__F_line_copy));
    xl__qgemm_add_args(step, c);
    const double tiles =
        (double)(blocks * xl__round_up(xl__qgemm_terms(c) * s.tm, op->n)) *
        (double)(groups * rows);
    const struct xl__cost work = {
        .flop = 2 * tiles * (double)c->k,
        .flop_frac = xl__model(l, XL__M_quantised_mma_frac) *
                     xl__mma_rate(l, op) / xl__rate_fma(l),
        .bytes = xl__qgemm_weight_bytes(c) * (double)blocks +
                 xl__qgemm_other_bytes(c) +
                 xl__model(l, XL__M_quantised_again_frac) *
                     (double)(groups * s.tm * blocks) *
                     (double)(c->k * xl_dtype_bytes((xl_dtype)c->a)),
        .bytes_frac = xl__model(l, by_lines ? XL__M_quantised_lines_frac
                                            : XL__M_quantised_mma_bytes_frac),
        .fill = xl__fill(l, (double)groups * (double)blocks),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__qgemm_mma = {
    .name = "qgemm_mma",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
