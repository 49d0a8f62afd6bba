/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM where a work-item is a thread with vector registers and caches of its
 * own: panels of B packed by a first launch, blocks of A by each group, a tile
 * of C in registers. Source: Goto, van de Geijn 2008. */
#include <math.h>

#include "base/mem.h"
#include "ops/cost.h"
#include "ops/gemm_sides.h"
#include "ops/variants.h"

enum {
    LEAST_VECTOR = 4, /* floats: narrower ones are no vectors */
    WIDE_VECTOR = 16,
    SLAB = 64,        /* lines of B that a group packs: gemm_cpu.cl */
    GROUPS_PER_UNIT = 6,
    SCRATCH_ALIGN = 64,
    THIN = 16
};

static const struct xl__tunable tunables[] = {
    {"TM", "rows of C to a group", {8, 16, 32, 64, 96, 128, 192, 256, 0}},
    {"TN",
     "columns of C to a group",
     {24, 32, 96, 128, 384, 512, 1536, 2048, 6144, 8192, 0}},
    {"TK", "depth of a slice", {64, 128, 256, 512, 0}},
    {"RM", "rows in registers", {4, 8, 0}},
    {"RN", "columns there", {8, 24, 32, 0}},
    {"VW", "floats of a vector", {4, 8, 16, 0}},
    {NULL, NULL, {0}},
};
enum { AT_RM = XL__GEMM_TK + 1, AT_RN, AT_VW };

struct job {
    const xl_gemm *g;
    struct xl__gemm_sides s;
    size_t tm, tn, tk, rm, rn, vw;
    size_t tiles_m, tiles_n;
    size_t panel_elems, sums_elems, ld; /* of scratch, floats */
};

/* Floats of a native vector; 0: no vectors to speak of. */
static size_t native_vector(const struct xl__limits *l)
{
    const double native = xl__num_or(l, XL__F_native_vector_f32, 1);
    return !(native >= LEAST_VECTOR)  ? 0
           : native >= WIDE_VECTOR    ? WIDE_VECTOR
           : native >= 2 * LEAST_VECTOR ? 2 * LEAST_VECTOR
                                        : LEAST_VECTOR;
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const char *other = xl__gemm_plain_alone(desc);
    if (other)
        return other;
    if (!xl__is(l, XL__F_is_cpu))
        return "work-items are not threads of a CPU here";
    if (native_vector(l) == 0)
        return "the device has no vectors of floats";
    return xl__turns_refused(l, 2.0 * (double)((const xl_gemm *)desc)->k);
}

/* Tiles of C in registers that leave room for a line of B and an element of
 * A: 16 of 32 wide registers, 12 or 8 of 16 others. */
static void choose_registers(size_t vector, struct xl__params *out)
{
    out->value[AT_VW] = (int)vector;
    out->value[AT_RM] = vector == WIDE_VECTOR ? 8 : 4;
    out->value[AT_RN] = (int)(vector * (vector == 2 * LEAST_VECTOR ? 3 : 2));
}

/* The largest legal value of a tunable that is at most `most`. */
static int legal_below(unsigned at, size_t most)
{
    const int *legal = tunables[at].legal;
    int best = legal[0];
    for (unsigned i = 0; legal[i]; i++) {
        if ((size_t)legal[i] <= most)
            best = legal[i];
    }
    return best;
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    enum { DEPTH = 256, MOST_ROWS = 128, MOST_COLS = 64 };
    const struct xl__gemm_sides s = xl__gemm_sides(desc);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t wanted = units * GROUPS_PER_UNIT;
    *out = (struct xl__params){.source = "model"};
    choose_registers(native_vector(l), out);
    const size_t rn = (size_t)out->value[AT_RN];
    const size_t rows = xl__max_size(
        s.m / wanted, xl__min_size(s.m, 4 * (size_t)out->value[AT_RM]));
    out->value[XL__GEMM_TM] =
        legal_below(XL__GEMM_TM, xl__min_size(rows, MOST_ROWS));
    const size_t tiles_m =
        xl__ceil_div(s.m, (size_t)out->value[XL__GEMM_TM]);
    const size_t cuts = xl__ceil_div(wanted, tiles_m);
    const size_t cols = xl__max_size(xl__ceil_div(s.n, cuts), rn);
    int tn = (int)rn;
    for (size_t times = 1; times <= 4 * MOST_COLS && times * rn < cols;
         times *= 4)
        tn = (int)(times * 4 * rn);
    out->value[XL__GEMM_TN] = tn;
    int tk = DEPTH;
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    while (tk > 64 && (size_t)(tk * out->value[XL__GEMM_TM]) * sizeof(float) >
                          room)
        tk /= 2;
    out->value[XL__GEMM_TK] = tk;
}

/* C takes sums itself when it is made of floats in rows. */
static bool keeps_apart(const struct job *j)
{
    return j->g->c.dtype != XL_F32 || j->s.col_stride != 1;
}

static bool settle(const struct xl__limits *l, const struct xl__params *p,
                   struct job *j)
{
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t cols, tiles;
    j->tm = (size_t)p->value[XL__GEMM_TM];
    j->tn = (size_t)p->value[XL__GEMM_TN];
    j->tk = (size_t)p->value[XL__GEMM_TK];
    j->rm = (size_t)p->value[AT_RM];
    j->rn = (size_t)p->value[AT_RN];
    j->vw = (size_t)p->value[AT_VW];
    if (!j->tm || !j->tn || !j->tk || !j->vw || (j->rm != 4 && j->rm != 8) ||
        j->tm % j->rm || j->rn == 0 || j->tn % j->rn || j->rn % j->vw ||
        j->rn % 8 || j->tm * j->tk * sizeof(float) > local)
        return false;
    j->tiles_m = xl__ceil_div(j->s.m, j->tm);
    j->tiles_n = xl__ceil_div(j->s.n, j->tn);
    cols = xl__ceil_div(j->s.n, j->rn) * j->rn;
    j->ld = cols;
    if (!xl__mul(cols, j->g->k, &j->panel_elems) ||
        !xl__mul(j->tiles_m, j->tiles_n, &tiles) || tiles > UINT32_MAX)
        return false;
    j->panel_elems = xl__round_up(j->panel_elems, SCRATCH_ALIGN);
    if (keeps_apart(j) && j->g->k > j->tk)
        return xl__mul(cols, j->s.m, &j->sums_elems);
    return true;
}

static struct xl__step *add_step(const struct job *j, int which,
                                 struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"STEP", (size_t)which},   {"TM", j->tm},
        {"TN", j->tn},             {"TK", j->tk},
        {"RM", j->rm},             {"RN", j->rn},
        {"VW", j->vw},             {"TA", j->g->a.dtype},
        {"TC", j->g->c.dtype},     {"UA", xl__gemm_side_unit(&j->s.a)},
        {"UB", xl__gemm_side_unit(&j->s.b)}, {"KEEP", keeps_apart(j)},
    };
    s->source = "gemm_cpu.cl";
    s->dims = 1;
    s->local[0] = 1;
    s->slice_dim = 0;
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    return s;
}

static void add_pack(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, 1, p);
    s->kernel = "gemm_cpu_pack";
    s->global[0] = xl__ceil_div(j->g->k, SLAB);
    xl__gemm_arg_side(s, &j->s.b);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
}

static void add_multiply(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, 2, p);
    s->kernel = "gemm_cpu";
    s->global[0] = j->tiles_m * j->tiles_n;
    s->local_mem_bytes = j->tm * j->tk * sizeof(float);
    xl__gemm_arg_side(s, &j->s.a);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
    xl__arg_u32(s, j->tiles_n);
    xl__arg_u64(s, j->panel_elems);
    xl__arg_u64(s, j->ld);
    xl__arg_value_f32(s, XL__GEMM_ALPHA);
    xl__arg_value_f32(s, XL__GEMM_BETA);
}

/* The busiest unit's share of an even one. */
static double fill(const struct xl__limits *l, const struct job *j)
{
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double tiles = (double)j->tiles_m * (double)j->tiles_n;
    const double rounds = ceil(tiles / units);
    return (double)j->s.m * (double)j->s.n /
           (rounds * units * (double)xl__min_size(j->tm, j->s.m) *
            (double)xl__min_size(j->tn, j->s.n));
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    static const double steady = 0.9; /* of the f32 rate, CP-13 */
    /* Packing is most of the work where little is computed: CP-13. */
    static const double thin_frac = 0.3;
    struct job j = {.g = desc, .s = xl__gemm_sides(desc)};
    if (!settle(l, params, &j))
        return XL_UNSUPPORTED;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    p->scratch_bytes = (j.panel_elems + j.sums_elems) * sizeof(float);
    add_pack(&j, p);
    add_multiply(&j, p);
    const bool is_thin = xl__min_size(j.s.m, j.s.n) <= THIN;
    const struct xl__work work = {
        .flop = p->flop, .flop_frac = steady,
        .bytes = p->bytes + 2 * (double)p->scratch_bytes,
        .bytes_frac = is_thin ? thin_frac : 1,
        .fill = fill(l, &j), .launches = 2};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_cpu = {
    .name = "gemm_cpu",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = tunables,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
