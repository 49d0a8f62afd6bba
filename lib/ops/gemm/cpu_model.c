/* SPDX-License-Identifier: Apache-2.0 */
/* How gemm_cpu divides a product among groups, and its time by a model that
 * counts all work as the flop that take as long:
 *
 *   flop = 2 m n k / fraction of the tile       multiply-adds
 *        + elements packed or read in place x cost of an element
 *        + elements of C x slices of k x cost of a store
 *        + groups x cost of a group
 *
 * Each form and each tile is sized for the caches, and the one with the least
 * time is chosen. */
#include "ops/gemm/cpu.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/path/batch.h"
#include "ops/path/cost.h"

enum {
    LEAST_VECTOR = 4, /* floats; devices of narrower vectors are not
                         supported */
    SCRATCH_ALIGN = 64,
    STEPS = 8,              /* steps of k that packing transposes together */
    WIDE = 4,               /* panels that a group packs together */
    LEAST_DEPTH = 64,       /* of a slice of k */
    TYPICAL_CACHE = 1 << 18 /* bytes of a core's own cache, at least */
};

/* Tiles of C in registers that leave room for a row of B and an element of A,
 * and the fraction of the multiply-add rate that they reach. */
struct register_tile {
    size_t vector; /* floats; vectors of 16 come with 32 registers */
    size_t rm, vectors;
    double frac;
};
static const struct register_tile register_tiles[] = {
    {16, 8, 2, 0.96}, {16, 8, 3, 0.92}, {16, 8, 1, 0.8}, {16, 4, 3, 0.85},
    {16, 4, 2, 0.75}, {8, 4, 3, 0.95},  {8, 4, 2, 0.8},  {8, 8, 1, 0.7},
    {8, 4, 1, 0.4},   {4, 4, 2, 0.9},   {0, 0, 0, 0},
};

/* -- the device ----------------------------------------------------------- */

size_t xl__cpu_vector(const struct xl__limits *l, xl_dtype in)
{
    const double native = xl__num_or(l, XL__F_native_vector_f32, 1);
    size_t vector = LEAST_VECTOR;
    if (!(native >= LEAST_VECTOR))
        return 0;
    while (2 * vector <= native && 2 * vector <= XL__GEMM_WIDEST)
        vector *= 2;
    return in == XL_F64 ? xl__max_size(vector / 2, LEAST_VECTOR) : vector;
}

/* Bytes of a core's own cache that a block may fill. Local memory is this
 * cache here (CP-02); drivers that state a small size state less than there
 * is. */
static size_t cache_share(const struct xl__limits *l)
{
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    return local >= TYPICAL_CACHE ? local / 4 : local;
}

/* -- dividing ------------------------------------------------------------- */

/* Blocks along m of at most `most` panels each, a multiple of the compute
 * units if there are enough. */
static size_t blocks_m(const struct xl__limits *l, const struct xl__cpu_job *j,
                       size_t most)
{
    const size_t least = xl__ceil_div(j->lines_m, most);
    return least <= xl__n_units(l)
               ? least
               : xl__min_size(j->lines_m, xl__round_up(least, xl__n_units(l)));
}

static void divide_into_groups(const struct xl__limits *l,
                               struct xl__cpu_job *j)
{
    enum { LEAST_ROWS = 64 };
    const size_t target =
        xl__ceil_div(xl__n_units(l) * j->per_unit, j->g->batch.count);
    const size_t rows =
        j->in_place ? cache_share(l) / (j->tk * j->value_bytes) : j->tm;
    const size_t least = blocks_m(l, j, xl__max_size(1, rows / j->rm));
    const size_t slabs = xl__ceil_div(j->g->k, XL__CPU_SLAB);
    if (j->form == XL__CPU_AHEAD) {
        j->groups_m = xl__max_size(
            least, xl__min_size(target, xl__ceil_div(j->s.m, LEAST_ROWS)));
        j->groups_n =
            xl__min_size(j->lines_n, xl__ceil_div(target, j->groups_m));
        j->pack_blocks = xl__min_size(j->lines_n, xl__ceil_div(target, slabs));
    } else {
        j->groups_n = xl__min_size(j->lines_n, xl__ceil_div(target, least));
        j->groups_m = xl__max_size(
            least,
            xl__min_size(j->lines_m, xl__ceil_div(target, j->groups_n)));
    }
}

/* Are partial sums kept in scratch between slices of k? C itself holds them if
 * its rows have the type of sums. */
static bool keeps_sums(const void *canonical, const struct xl__cpu_job *j)
{
    const xl_dtype sums = j->g->a.dtype == XL_I8    ? XL_I32
                          : j->g->a.dtype == XL_F64 ? XL_F64
                                                    : XL_F32;
    return j->g->c.dtype != sums || j->s.col_stride != 1 ||
           xl__gemm_epilogue_text(canonical);
}

static bool is_b_shared(const struct xl__cpu_job *j)
{
    const struct xl__places b = j->s.is_swapped ? xl__batch_a(&j->g->batch)
                                                : xl__batch_b(&j->g->batch);
    return xl__places_matrices(&b) == 1;
}

/* Set what the call and the tunables state directly. */
static void read_params(const struct xl__limits *l, const void *canonical,
                        const struct xl__params *p, struct xl__cpu_job *j)
{
    const xl_gemm *g = canonical;
    *j = (struct xl__cpu_job){.g = g, .s = xl__gemm_orient(g)};
    j->tm = (size_t)p->value[XL__CPU_AT_TM];
    j->tk = (size_t)p->value[XL__CPU_AT_TK];
    j->rm = (size_t)p->value[XL__CPU_AT_RM];
    j->rn = (size_t)p->value[XL__CPU_AT_RN];
    j->vw = (size_t)p->value[XL__CPU_AT_VW];
    j->per_unit = (size_t)p->value[XL__CPU_AT_GROUPS];
    j->form = (unsigned)p->value[XL__CPU_AT_FORM];
    j->in_place = p->value[XL__CPU_AT_PLACE] == XL__CPU_IN_PLACE;
    j->value_bytes = g->a.dtype == XL_F64 ? sizeof(double) : sizeof(float);
    j->keeps = keeps_sums(canonical, j);
    j->shares_b = is_b_shared(j);
    /* A row of B is read on where it can be, and half the cache has room. */
    const size_t wide_bytes = WIDE * LEAST_DEPTH * j->rn * j->value_bytes;
    j->wide = j->form == XL__CPU_BY_GROUP &&
                      xl__gemm_operand_unit(&j->s.b) == XL__UNIT_ACROSS &&
                      wide_bytes <= cache_share(l) / 2
                  ? WIDE
                  : 1;
}

/* A can be read in place if it has the type of the computation and is
 * contiguous along k; other layouts are as slow to read as to pack. */
static bool can_read_a(const struct xl__cpu_job *j)
{
    const xl_dtype in = j->g->a.dtype;
    return (in == XL_F32 || in == XL_F64) && j->tm == XL__CPU_LEAST_TM &&
           xl__gemm_operand_unit(&j->s.a) == XL__UNIT_ALONG_K;
}

/* B can be read in place in whole panels if it is contiguous along n; the last
 * panel overlaps its neighbour. */
static bool can_read_b(const struct xl__cpu_job *j)
{
    const xl_dtype in = j->g->a.dtype;
    return (in == XL_F32 || in == XL_F64) && j->s.n >= j->rn &&
           xl__gemm_operand_unit(&j->s.b) == XL__UNIT_ACROSS &&
           j->s.b.stride_x == 1;
}

static bool fits_device(const struct xl__limits *l, struct xl__cpu_job *j)
{
    const xl_dtype in = j->g->a.dtype;
    if (!j->tm || !j->tk || !j->vw || !j->rn || !j->per_unit ||
        (j->rm != 4 && j->rm != 8) || j->tm % j->rm || j->rn % j->vw ||
        j->rn % 8 || (in == XL_I8 && j->tk > XL__CPU_EXACT) ||
        (j->in_place && !can_read_a(j)) || j->form < XL__CPU_AHEAD ||
        j->form > XL__CPU_UNPACKED ||
        (j->form == XL__CPU_UNPACKED && !can_read_b(j)))
        return false;
    j->local_bytes =
        ((j->in_place ? 0 : j->tm * j->tk) +
         (j->form == XL__CPU_BY_GROUP ? j->tk * j->rn * j->wide : 0)) *
        j->value_bytes;
    return j->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0);
}

bool xl__cpu_job_init(const struct xl__limits *l, const void *canonical,
                      const struct xl__params *p, struct xl__cpu_job *j)
{
    size_t cols, groups, all;
    read_params(l, canonical, p, j);
    if (!fits_device(l, j))
        return false;
    const size_t count = j->g->batch.count;
    j->lines_m = xl__ceil_div(j->s.m, j->rm);
    j->lines_n = xl__ceil_div(j->s.n, j->rn);
    j->slice = xl__round_up(
        xl__ceil_div(j->g->k, xl__ceil_div(j->g->k, j->tk)), STEPS);
    divide_into_groups(l, j);
    cols = j->lines_n * j->rn;
    j->ld = cols;
    if (!xl__mul(j->groups_m, j->groups_n, &groups) || groups > UINT32_MAX)
        return false;
    if (j->form == XL__CPU_AHEAD) {
        if (!xl__mul(cols, j->g->k, &j->panel_values))
            return false;
        j->panel_values = xl__round_up(j->panel_values, SCRATCH_ALIGN);
    }
    if (j->keeps && j->g->k > j->tk &&
        (!xl__mul(cols, j->s.m, &j->sum_values) ||
         !xl__mul(j->sum_values, count, &j->sum_values)))
        return false;
    return xl__mul(j->panel_values + j->sum_values, count * j->value_bytes,
                   &all);
}

/* -- time ----------------------------------------------------------------- */

static double tile_frac(const struct xl__cpu_job *j)
{
    static const double scattered = 0.85; /* rows of B far from each other */
    double frac = register_tiles[0].frac / 2;
    for (const struct register_tile *t = register_tiles; t->vector; t++) {
        if (t->rm == j->rm && t->vectors * j->vw == j->rn)
            frac = t->frac;
    }
    return j->form == XL__CPU_UNPACKED ? scattered * frac : frac;
}

/* Cost in flop of packing an element of B (far) or of A (near); more if it is
 * transposed or converted. */
static const double pack_near = 48, pack_far = 85, pack_transposed = 45,
                    pack_narrow = 1.5;
/* Cost of reading an element in place, with rows in one page, or in
 * several; of the first element of a row in a page of its own. */
static const double direct_near = 8, direct_far = 90, row_start = 10e3;
/* Cost of storing an element of C. */
static const double store_c = 24;
static const double group_flop = 50e3; /* starting a group */

static double pack_flop(const struct xl__cpu_job *j, bool is_far,
                        enum xl__gemm_unit unit)
{
    const double flop = (is_far ? pack_far : pack_near) +
                        (unit == XL__UNIT_ACROSS ? 0 : pack_transposed);
    return xl_dtype_bytes(j->g->a.dtype) < sizeof(float) ? pack_narrow * flop
                                                         : flop;
}

/* Cost of packing or reading B, of one product. */
static double b_flop(const struct xl__cpu_job *j)
{
    enum { PAGE = 4096 };
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(&j->s.b);
    const double elems = (double)(j->lines_n * j->rn) * (double)j->g->k;
    const bool is_far = j->s.b.stride_k * j->value_bytes >= PAGE;
    const double starts =
        (double)j->g->k * (double)j->groups_m * (double)j->groups_n;
    switch (j->form) {
    case XL__CPU_AHEAD:
        return pack_flop(j, true, unit) * elems /
               (j->shares_b ? (double)j->g->batch.count : 1);
    case XL__CPU_BY_GROUP:
        return pack_flop(j, false, unit) * elems * (double)j->groups_m +
               (j->wide > 1 && is_far ? row_start * starts : 0);
    default:
        return (is_far ? direct_far : direct_near) * elems *
               (double)j->groups_m;
    }
}

void xl__cpu_estimate(const struct xl__limits *l, const struct xl__cpu_job *j,
                      struct xl__plan *p)
{
    const double k = (double)j->g->k, count = (double)j->g->batch.count;
    const double m = (double)(j->lines_m * j->rm);
    const double n = (double)(j->lines_n * j->rn);
    const double slices = ceil(k / (double)j->tk);
    const double groups = (double)j->groups_m * (double)j->groups_n * count;
    const double a_flop =
        j->in_place ? 0
                    : pack_flop(j, false, xl__gemm_operand_unit(&j->s.a)) * m *
                          k * (double)j->groups_n;
    const double units = (double)xl__n_units(l);
    const double flop =
        count * (2 * m * n * k / tile_frac(j) + slices * store_c * m * n +
                 a_flop + b_flop(j)) +
        groups * group_flop;
    /* Bytes are multiplied as floats. */
    const xl_dtype in = j->value_bytes > sizeof(float) ? XL_F64 : XL_F32;
    const struct xl__cost work = {.flop = flop,
                                  .flop_frac = xl__relative_rate(l, in),
                                  .bytes = p->bytes,
                                  .bytes_frac = 0.8,
                                  .fill =
                                      groups / (units * ceil(groups / units)),
                                  .launches = p->n_steps};
    xl__estimate(l, &work, p);
}

/* -- choosing ------------------------------------------------------------- */

/* Bytes of a panel of B. One that was packed by a step before is read by all
 * cores from the shared cache. */
static size_t panel_bytes(const struct xl__limits *l,
                          const struct xl__cpu_job *j)
{
    enum { NEAR = 1 << 16, SHARE = 4 };
    const size_t room = cache_share(l);
    return j->form == XL__CPU_AHEAD ? xl__max_size(NEAR, room / SHARE)
                                    : xl__min_size(NEAR, room / 2);
}

/* The largest slice of k with which a panel of B fits into the cache that it
 * is read from, and a block of A into the core's own. */
static size_t choose_depth(const struct xl__limits *l,
                           const struct xl__cpu_job *j)
{
    size_t tk = LEAST_DEPTH;
    while (2 * tk <= XL__CPU_EXACT &&
           2 * tk * j->rn * j->value_bytes <= panel_bytes(l, j) &&
           (j->wide == 1 ||
            2 * tk * j->rn * j->wide * j->value_bytes <= cache_share(l)) &&
           2 * tk * XL__CPU_LEAST_TM * j->value_bytes <= cache_share(l))
        tk *= 2;
    return tk;
}

/* The largest number of rows of A with which a block of A fits into the
 * cache. */
static size_t choose_height(const struct xl__limits *l,
                            const struct xl__cpu_job *j, size_t tk)
{
    enum { LEAST = 8, MOST = 256 };
    const size_t beside =
        j->form == XL__CPU_AHEAD ? 0 : tk * j->rn * j->wide * j->value_bytes;
    size_t tm = MOST;
    if (j->in_place)
        return XL__CPU_LEAST_TM;
    while (tm > LEAST && tm * tk * j->value_bytes + beside > cache_share(l))
        tm /= 2;
    return tm;
}

/* A search for the best set of tunables. */
struct cpu_search {
    const struct xl__limits *l;
    const void *canonical;
    struct xl__plan plan; /* only its time is used */
    double best_ns;
    struct xl__params *best;
};

static void consider_tile(struct cpu_search *s, const struct register_tile *t,
                          unsigned form, int a_form, int groups)
{
    /* One group a core: cores that other programs share end later. */
    static const double uneven = 1.05;
    const xl_gemm *g = s->canonical;
    const size_t vw = xl__cpu_vector(s->l, g->a.dtype);
    struct xl__params p = {.source = "model"};
    struct xl__cpu_job j;
    p.value[XL__CPU_AT_RM] = (int)t->rm;
    p.value[XL__CPU_AT_RN] = (int)(t->vectors * vw);
    p.value[XL__CPU_AT_VW] = (int)vw;
    p.value[XL__CPU_AT_FORM] = (int)form;
    p.value[XL__CPU_AT_PLACE] = a_form;
    p.value[XL__CPU_AT_GROUPS] = groups;
    read_params(s->l, s->canonical, &p, &j);
    const size_t tk = choose_depth(s->l, &j);
    p.value[XL__CPU_AT_TK] = (int)tk;
    p.value[XL__CPU_AT_TM] = (int)choose_height(s->l, &j, tk);
    if (!xl__cpu_job_init(s->l, s->canonical, &p, &j))
        return;
    s->plan.n_steps = form == XL__CPU_AHEAD ? 2 : 1;
    xl__cpu_estimate(s->l, &j, &s->plan);
    const double ns = s->plan.est_ns * (groups == 1 ? uneven : 1);
    if (ns < s->best_ns) {
        s->best_ns = ns;
        *s->best = p;
    }
}

void xl__cpu_choose(const struct xl__limits *l, const void *canonical,
                    struct xl__params *out)
{
    static const int groups[] = {4, 1};
    struct cpu_search s = {
        .l = l, .canonical = canonical, .best_ns = INFINITY, .best = out};
    *out = (struct xl__params){.source = "model"};
    s.plan.bytes = xl__gemm_bytes(canonical);
    for (const struct register_tile *t = register_tiles; t->vector; t++) {
        if (t->vector != xl__cpu_vector(l, XL_F32))
            continue;
        for (unsigned f = XL__CPU_AHEAD; f <= XL__CPU_UNPACKED; f++) {
            for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
                consider_tile(&s, t, f, XL__CPU_IN_PLACE, groups[i]);
                consider_tile(&s, t, f, XL__CPU_PACKED, groups[i]);
            }
        }
    }
}
