/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_skinny: up to 8 rows of A by a sub-group's matrix instructions. A
 * compute unit has as many groups as its sub-groups of W's columns fill, each
 * of which goes through its tiles of W without a pause, and holds A in
 * registers, normed where the call asks for it: for all of its rows of W.
 * Weights are copied by lines of bytes (NV-64, NV-65). */

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"
#include "ops/quantised/qgemm.h"

enum {
    TILES = XL__QGEMM_RN, /* in its place */
    LINE = 16,            /* bytes to which copies are aligned */
    PAD = 16,             /* columns of A behind a stage's, in local memory */
    MOST_ROWS = 8,
    TEAMS = 16 /* sub-groups that keep a compute unit busy */
};

static const struct xl__tunable tunables[] = {
    [XL__QGEMM_TM] = {"TM", "rows of A of a group", {1, 2, 4, 8, 0}},
    [TILES] = {"TILES",
               "tiles of W of which a group keeps sums",
               {1, 2, 4, 8, 0}},
    [XL__QGEMM_SK] = {"SK",
                      "sub-groups that share columns",
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                       0}},
    [XL__QGEMM_ST] = {"ST", "slots of local memory", {2, 3, 4, 0}},
    {NULL, NULL, {0}}};

struct set {
    size_t tm, tiles, sk, st;
};

static size_t fragments(const struct xl__qgemm_canonical *c,
                        const xl_matrix_op *op, const struct set *s)
{
    return xl__ceil_div(xl__qgemm_terms(c) * s->tm, op->n);
}

/* Groups that a compute unit holds. */
static size_t per_unit(const struct set *s)
{
    return TEAMS / s->sk;
}

/* Sub-groups that copy for those that multiply, where a group has the compute
 * unit for itself and registers have room for these: not beside Q6_K's two
 * parts of a code nor, with several rows of A, eight scales of a stage. */
static size_t copiers(const struct xl__limits *l,
                      const struct xl__qgemm_canonical *c,
                      const xl_matrix_op *op, const struct set *s)
{
    const bool is_async = !xl__streq(xl__text(l, XL__F_line_copy), "emulated"),
               has_room = fragments(c, op, s) == 1 && c->format != XL_Q6_K &&
                          (s->tm == 1 || xl__qgemm_group_units(c) > 1);
    return is_async && per_unit(s) == 1 && has_room ? 4 : 0;
}

static struct set set_of(const struct xl__params *p)
{
    return (struct set){
        (size_t)p->value[XL__QGEMM_TM], (size_t)p->value[TILES],
        (size_t)p->value[XL__QGEMM_SK], (size_t)p->value[XL__QGEMM_ST]};
}

static size_t stages(const struct xl__qgemm_canonical *c)
{
    return xl__ceil_div(c->k, XL__QGEMM_STAGE);
}

static size_t step_bytes(const struct xl__qgemm_canonical *c, size_t sk)
{
    const xl_qlayout *f = xl_qformat_layout((xl_qformat)c->format);
    return sk * (XL__QGEMM_STAGE / f->block * f->block_bytes);
}

/* LOCAL_BYTES of quantised/skinny.cl. */
static size_t local_bytes(const struct xl__qgemm_canonical *c,
                          const xl_matrix_op *op, const struct set *s)
{
    const size_t line = (step_bytes(c, s->sk) / (2 * LINE) * 2 + 1) * LINE,
                 scales = XL__QGEMM_STAGE / XL__QGEMM_UNIT /
                          xl__qgemm_group_units(c) * (s->sk + 1),
                 own = xl_qformat_layout((xl_qformat)c->format)->has_scales
                           ? scales * sizeof(cl_uint)
                           : 0,
                 normed = c->norm ? s->sk * s->tm * (XL__QGEMM_STAGE + PAD) *
                                        xl_dtype_bytes((xl_dtype)c->a)
                                  : 0;
    return s->st * op->m * (line + own) +
           s->tiles * s->sk * op->m * s->tm * xl__qgemm_terms(c) *
               sizeof(float) +
           normed;
}

/* The most sub-groups that leave few of a row's last step without columns, and
 * whose steps are lines of whole copies; the fewest of as many steps. */
static size_t choose_teams(const struct xl__qgemm_canonical *c)
{
    static const double most_idle = 1.2;
    const size_t n = stages(c);
    size_t sk = xl__min_size(TEAMS, n);
    while (sk > 1 && (step_bytes(c, sk) % LINE != 0 ||
                      (double)xl__round_up(n, sk) > most_idle * (double)n))
        sk--;
    const size_t fewest = xl__ceil_div(n, xl__ceil_div(n, sk));
    return step_bytes(c, fewest) % LINE == 0 ? fewest : sk;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__qgemm_canonical *c = desc;
    if (!*xl__text(l, XL__F_line_copy))
        return "the device does not copy a line of bytes by one instruction";
    if (c->w_aligned < LINE)
        return "rows of W do not begin at multiples of 16 bytes";
    if (c->m > MOST_ROWS)
        return "A has more than 8 rows";
    return xl__qgemm_pairs_refused(l, c);
}

/* The first step is multiplied the sooner the fewer are copied with it: many
 * slots are for long runs of steps. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { FEW_STEPS = 12, SUMS = 32, FEWEST_TILES = 2, MOST_TILES = 8 };
    const struct xl__qgemm_canonical *c = desc;
    const xl_matrix_op *op = xl__mma_op(l, xl__qgemm_engine_type(c));
    const double units = xl__num_or(l, XL__F_compute_units, 1),
                 local = xl__num_or(l, XL__F_local_mem_bytes, 0);
    struct set s = {
        .tm = xl__ceil_power_of_two(c->m), .sk = choose_teams(c), .st = 3};
    s.tiles = SUMS / xl__ceil_power_of_two(xl__qgemm_terms(c) * s.tm);
    s.tiles = xl__min_size(xl__max_size(s.tiles, FEWEST_TILES), MOST_TILES);
    const double share = 1 / (double)per_unit(&s), /* of a unit, of a group */
        steps = (double)xl__ceil_div(stages(c), s.sk) *
                (double)xl__ceil_div(c->n, op->m) * share / units;
    if (steps < FEW_STEPS || (double)local_bytes(c, op, &s) > local * share)
        s.st = 2;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QGEMM_TM] = (int)s.tm;
    out->value[TILES] = (int)s.tiles;
    out->value[XL__QGEMM_SK] = (int)s.sk;
    out->value[XL__QGEMM_ST] = (int)s.st;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__qgemm_canonical *c = desc;
    const xl_matrix_op *op = xl__mma_op(l, xl__qgemm_engine_type(c));
    const struct set s = set_of(params);
    const size_t n_copiers = copiers(l, c, op, &s),
                 items = (s.sk + n_copiers) * op->lanes;
    const size_t local = local_bytes(c, op, &s);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t tiles = xl__ceil_div(c->n, op->m),
                 blocks = xl__ceil_div(c->m, s.tm),
                 groups = xl__min_size(tiles, units * per_unit(&s));
    if (s.sk > stages(c) || step_bytes(c, s.sk) % LINE != 0 ||
        items > xl__size_or(l, XL__F_max_wg_size, 1) ||
        local > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    if (c->norm && c->gain_aligned < LINE)
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_skinny, p);
    struct xl__step *step =
        xl__plan_add(p, "quantised/skinny.cl", "qgemm_skinny", 0, 0);
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    xl__step_set_3d(step, items, groups * items, blocks, 1);
    step->slice_dim = 1;
    step->local_mem_bytes = local;
    xl__mma_define(step, l, op);
    for (unsigned i = 0; tunables[i].name; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    xl__define(step, "COPIERS", (long)n_copiers);
    xl__define(step, "GROUP_UNITS", (long)xl__qgemm_group_units(c));
    xl__define(step, "WHOLE", c->k % XL__QGEMM_STAGE == 0);
    xl__define_choice(step, "XL_LINES", xl__text(l, XL__F_line_copy));
    xl__qgemm_add_args(step, c);
    const double busiest = (double)(xl__ceil_div(tiles, groups) * groups *
                                    xl__round_up(stages(c), s.sk)),
                 all = (double)tiles * (double)stages(c);
    const size_t columns = fragments(c, op, &s) * op->n;
    const struct xl__cost work = {
        .flop = 2 * (double)(columns * blocks) * (double)c->k *
                (double)(tiles * op->m),
        .flop_frac = xl__model(l, XL__M_quantised_mma_frac) *
                     xl__mma_rate(l, op) / xl__rate_fma(l),
        .bytes = xl__qgemm_weight_bytes(c) * (double)blocks * busiest / all +
                 xl__qgemm_other_bytes(c),
        .bytes_frac = xl__model(l, XL__M_quantised_skinny_frac),
        .fill = xl__fill(l, (double)groups * (double)blocks /
                                (double)per_unit(&s)),
        .launches = 1};
    xl__estimate(l, &work, p);
    if (c->norm)
        p->note = "the kernel norms A, once in each of its groups";
    return XL_OK;
}

const struct xl__variant xl__qgemm_skinny = {
    .name = "qgemm_skinny",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
