/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sets and the model that picks one. The time of a set is the work of the
 * busiest compute unit over the rate its tile reaches; that rate grows with
 * the reuse in registers and falls when too few items are there to hide
 * latency. The table's shares were measured on one device (NV-23); elsewhere
 * their order is what matters. */
#include "ops/gemm/tiles.h"

#include <math.h>

#include "base/alloc.h"

const struct xl__tunable xl__gemm_tiled_tunables[] = {
    {"TM", "rows of a work-group's tile", {2, 8, 16, 32, 64, 128, 256, 0}},
    {"TN", "columns of it", {2, 8, 16, 32, 64, 128, 256, 0}},
    {"TK", "depth of a slice", {2, 4, 8, 16, 32, 0}},
    {"RM", "rows in an item's registers", {1, 2, 4, 8, 16, 0}},
    {"RN", "columns there", {1, 2, 4, 8, 16, 0}},
    {"VW", "widest vector", {1, 2, 4, 0}},
    {"ST", "slices kept in local memory", {1, 2, 0}},
    {"GR", "tile rows walked together", {1, 2, 4, 8, 16, 0}},
    {"PARTS",
     "1 a tile to a group; more: the last round's slices are dealt out to so "
     "many groups on each two compute units",
     {1, 2, 4, 8, 16, 0}},
    {NULL, NULL, {0}},
};

enum {
    BAND = 8,           /* NV-23 */
    FEW_LANES = 16,     /* of a narrow machine, whose register file */
    FEW_REGISTERS = 69, /* leaves an item this many (IN-08) */
    MOST_REGISTERS = 255,
    PLAIN_REGISTERS = 40, /* addresses, counters, temporaries */
    LATENCY_ITEMS = 32,   /* items that hide nothing but themselves */
    MOST_ITEMS = 2048,    /* resident on a compute unit */
    WIDEST = 4,
    VECTOR_BYTES = 16,
    LEAST_DEPTH = 128, /* of k, for a part to be worth its sums */
    MOST_PARTS = 8
};

/* clang-format off */
static const struct xl__tile_set tiled_sets[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate */
    {128, 256,  8,  8, 16, 2, 0.745},
    {128, 128,  8,  8,  8, 1, 0.560},
    { 64, 128,  8,  8,  8, 2, 0.720},
    { 64,  64, 16,  4,  8, 2, 0.670},
    { 64,  64, 16,  4,  4, 2, 0.590},
    { 64,  64,  8,  4,  4, 2, 0.580},
    { 32,  64, 16,  4,  4, 2, 0.570},
    { 32,  32, 16,  4,  4, 2, 0.520},
    { 32,  32, 32,  4,  4, 1, 0.520},
    { 32,  32, 16,  2,  4, 2, 0.430},
    { 32,  32,  8,  2,  4, 2, 0.420},
    { 16,  16, 16,  2,  4, 1, 0.300},
    { 16,  16, 16,  2,  2, 2, 0.250},
    { 16,  16,  8,  2,  2, 2, 0.240},
    {  8,   8,  8,  1,  1, 1, 0.080},
    { 16,  16,  4,  4,  4, 1, 0.060},
    {  8,   8,  4,  2,  2, 1, 0.030},
    {  2,   2,  4,  2,  2, 1, 0.010},
};
/* clang-format on */
static const struct xl__tile_kind tiled = {
    .depths = 1,
    .n_sets = sizeof tiled_sets / sizeof *tiled_sets,
    .sets = tiled_sets,
};

struct xl__tile xl__tile_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__tile){.tm = (size_t)v[XL__GEMM_TM],
                             .tn = (size_t)v[XL__GEMM_TN],
                             .tk = (size_t)v[XL__GEMM_TK],
                             .rm = (size_t)v[XL__TILE_RM],
                             .rn = (size_t)v[XL__TILE_RN],
                             .vw = (size_t)v[XL__TILE_VW],
                             .stages = (size_t)v[XL__TILE_ST],
                             .band = (size_t)v[XL__TILE_GR],
                             .parts = (size_t)v[XL__TILE_PARTS],
                             .copies =
                                 v[XL__TILE_COPY] == XL__TILE_BY_COPIES,
                             .kind = &tiled};
}

static struct xl__params params_of(const struct xl__tile *t)
{
    struct xl__params p = {.source = "model"};
    p.value[XL__GEMM_TM] = (int)t->tm;
    p.value[XL__GEMM_TN] = (int)t->tn;
    p.value[XL__GEMM_TK] = (int)t->tk;
    p.value[XL__TILE_RM] = (int)t->rm;
    p.value[XL__TILE_RN] = (int)t->rn;
    p.value[XL__TILE_VW] = (int)t->vw;
    p.value[XL__TILE_ST] = (int)t->stages;
    p.value[XL__TILE_GR] = (int)t->band;
    p.value[XL__TILE_PARTS] = (int)t->parts;
    return p;
}

size_t xl__tile_items(const struct xl__tile *t)
{
    return t->tm / t->rm * (t->tn / t->rn);
}

size_t xl__tile_value_bytes(xl_dtype in)
{
    return in == XL_F64 ? sizeof(double) : sizeof(float);
}

/* -- does it fit ---------------------------------------------------------- */

size_t xl__tile_local_bytes(const struct xl__tile *t, xl_dtype in)
{
    const size_t value = xl__tile_value_bytes(in);
    const size_t pad = VECTOR_BYTES / value;
    return value * t->stages * t->tk * (t->tm + t->tn + 2 * pad);
}

/* 32-bit registers of an item: sums, lines of each operand, what is on its way
 * from memory. */
static size_t registers(const struct xl__tile *t, xl_dtype in)
{
    const size_t staged =
        t->copies ? 0 : (t->tm + t->tn) * t->tk / xl__tile_items(t);
    const size_t values =
        t->rm * t->rn + t->kind->depths * (t->rm + t->rn) + staged;
    return values * (xl__tile_value_bytes(in) / sizeof(float)) +
           PLAIN_REGISTERS;
}

/* Registers of where a whole work-group is resident. What a driver counts as a
 * compute unit may be a part of that (IN-03): then the largest group it allows
 * tells, with the registers that each item has at least. */
static double group_file(const struct xl__limits *l)
{
    static const double least_each = 64;
    return fmax(xl__num_or(l, XL__F_registers_per_cu, INFINITY),
                least_each * xl__num_or(l, XL__F_max_wg_size, 1));
}

/* Places where a group can be resident. */
static double n_places(const struct xl__limits *l)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    const double file = xl__num(l, XL__F_registers_per_cu);
    const double parts = file > 0 ? group_file(l) / file : 1;
    return fmax(1, floor(units / parts));
}

/* Some compilers for narrow machines spill what others hold, and with two
 * depths at a time more is at stake than a guess. */
static size_t most_registers(const struct xl__limits *l,
                             const struct xl__tile *t)
{
    const double lanes = xl__num_or(l, XL__F_subgroup_width, LATENCY_ITEMS);
    const bool is_guess =
        t->kind->depths > 1 && !(xl__num(l, XL__F_registers_per_cu) > 0);
    const bool few = lanes <= FEW_LANES || !xl__is(l, XL__F_has_local_mem);
    return few || is_guess ? FEW_REGISTERS : MOST_REGISTERS;
}

static bool registers_fit(const struct xl__limits *l, const struct xl__tile *t,
                          xl_dtype in, size_t most)
{
    const size_t each = registers(t, in);
    if (xl__tile_items(t) == 1)
        return true; /* where nothing else runs there is nothing better */
    return each <= most &&
           (double)(each * xl__tile_items(t)) <= group_file(l);
}

/* Multiples of each other, as the kernel's header asks. */
static bool is_whole(const struct xl__tile *t)
{
    return t->tm && t->tn && t->tk && t->rm && t->rn && t->vw && t->stages &&
           t->band && t->parts && t->tm % t->rm == 0 && t->tn % t->rn == 0 &&
           t->tm * t->tk % xl__tile_items(t) == 0 &&
           t->tn * t->tk % xl__tile_items(t) == 0;
}

bool xl__tile_runs(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in)
{
    const struct xl__answer *most = &l->used[XL__F_max_wi_sizes];
    if (!is_whole(t))
        return false;
    const size_t items = xl__tile_items(t);
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    return items <= xl__size_or(l, XL__F_max_wg_size, 1) &&
           (most->n_list == 0 || (double)items <= most->list[0]) &&
           xl__tile_local_bytes(t, in) <= local &&
           registers_fit(l, t, in, MOST_REGISTERS);
}

bool xl__tile_fits(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in)
{
    return xl__tile_runs(l, t, in) &&
           registers_fit(l, t, in, most_registers(l, t));
}

/* -- tiles cut by k ------------------------------------------------------ */

/* Dealing out tiles and slices. The kernel's arithmetic is in gemm/tiled.cl.
 * Source: Osama, Merrill, Cecka, Garland, Owens 2023, "Stream-K". */

/* Groups beyond one a tile that parts may always have, however thin. */
enum { FEW = 7 };

struct xl__stream_k xl__stream_k_divide(size_t tiles, size_t units,
                                        size_t groups, size_t least)
{
    struct xl__stream_k s = {.units = units};
    s.whole = (tiles - 1) / groups * groups;
    s.tiles = tiles - s.whole;
    const size_t slices = s.tiles * units;
    const size_t wanted = xl__max_size(slices / least, s.tiles + FEW);
    /* More than tiles even where these fill a round: nothing is lost by what
     * nobody asks for, and the self-check's few tiles are always cut. */
    groups = xl__max_size(xl__min_size(groups, wanted), s.tiles + 1);
    s.groups = xl__min_size(groups, slices);
    s.each = slices / s.groups;
    s.extra = slices % s.groups;
    return s;
}

size_t xl__stream_k_slots(const struct xl__stream_k *s)
{
    return s->groups + s->tiles - 1;
}

/* Where group p begins, in slices. */
static size_t begin_of(const struct xl__stream_k *s, size_t p)
{
    return p * s->each + xl__min_size(p, s->extra);
}

size_t xl__stream_k_written(const struct xl__stream_k *s)
{
    size_t n = 0, last = 0; /* the tile last cut, from 1 on */
    for (size_t p = 1; p < s->groups; p++) {
        const size_t begin = begin_of(s, p);
        if (begin % s->units == 0)
            continue;
        n += begin / s->units + 1 == last ? 1 : 2;
        last = begin / s->units + 1;
    }
    return n;
}

/* -- how a job falls into tiles ------------------------------------------- */

size_t xl__tile_scratch_bytes(const struct xl__tile *t, xl_dtype in,
                              const struct xl__tile_grid *grid)
{
    return grid->is_cut ? xl__stream_k_slots(&grid->stream) * t->tm * t->tn *
                              xl__tile_value_bytes(in)
                        : 0;
}

bool xl__tile_cut(const struct xl__limits *l, const struct xl__tile *t,
                  const struct xl__tile_job *job, struct xl__tile_grid *out)
{
    size_t slices;
    *out = (struct xl__tile_grid){.tiles_m = xl__ceil_div(job->m, t->tm),
                                  .tiles_n = xl__ceil_div(job->n, t->tn),
                                  .units = xl__ceil_div(job->k, t->tk),
                                  .is_cut = t->parts > 1};
    /* The kernel counts in 32 bits, and so do launches. */
    if (!xl__mul(out->tiles_m, out->tiles_n, &out->tiles) ||
        !xl__mul(out->tiles, job->count, &out->tiles) ||
        out->tiles > INT32_MAX / t->band)
        return false;
    if (!out->is_cut)
        return true;
    const size_t groups = xl__max_size(1, (size_t)n_places(l) * t->parts / 2);
    if (!xl__mul(out->tiles, out->units, &slices))
        return false;
    out->stream = xl__stream_k_divide(out->tiles, out->units, groups,
                                      xl__ceil_div(LEAST_DEPTH, t->tk));
    return (double)xl__tile_scratch_bytes(t, job->in, out) <=
           xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

/* -- the model ------------------------------------------------------------ */

static double log2_size(double x)
{
    return log(x) / log(2);
}

/* Items that are threads make loops of a group, which barriers end: CP-14. */
static bool by_threads(const struct xl__limits *l)
{
    enum { LEAST_VECTOR = 4 };
    return xl__is(l, XL__F_is_cpu) &&
           xl__num_or(l, XL__F_native_vector_f32, 1) >= LEAST_VECTOR;
}

/* Share of the rate when every compute unit has work without end. */
static double steady(const struct xl__limits *l, const struct xl__tile *t)
{
    static const double thread_frac = 0.007; /* CP-14 */
    if (by_threads(l))
        return thread_frac / (double)t->kind->depths;
    for (size_t i = 0; i < t->kind->n_sets; i++) {
        const struct xl__tile_set *s = &t->kind->sets[i];
        if (t->tm == s->tm && t->tn == s->tn && t->rm == s->rm &&
            t->rn == s->rn)
            return s->frac;
    }
    /* An unlisted set: by the reuse of what is read from local memory. */
    return 0.1 * log2_size((double)(t->rm * t->rn) + 1);
}

/* What the type's multiply-adds reach of the f32 rate. */
static double type_rate(const struct xl__limits *l, xl_dtype in)
{
    static const double guess = 0.5;
    const double f32 = xl__num(l, XL__F_peak_f32_flop_per_s);
    const double f64 = xl__num(l, XL__F_peak_f64_flop_per_s);
    if (in == XL_F64 && f64 > 0 && f32 > 0)
        return f64 / f32;
    return in == XL_F64 || in == XL_I8 ? guess : 1;
}

/* Groups that are resident in a place at a time. */
static double room(const struct xl__limits *l, const struct xl__tile *t,
                   xl_dtype in)
{
    const double items = (double)xl__tile_items(t);
    const double file = group_file(l) / (items * (double)registers(t, in));
    return fmax(1, floor(fmin(MOST_ITEMS / items, file)));
}

/* Tiles that the busiest place works off. */
static double busiest(const struct xl__tile_grid *g, double places)
{
    const struct xl__stream_k *s = &g->stream;
    if (!g->is_cut)
        return ceil((double)g->tiles / places);
    return (double)s->whole / places + ceil((double)s->groups / places) *
                                           (double)(s->each + (s->extra > 0)) /
                                           (double)g->units;
}

void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   const struct xl__tile_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w)
{
    /* A product of one slice has all of its loads under way at once; a group
     * that may go on with another tile carries more along. */
    static const double one_slice = 1.05, cut = 0.95;
    const double places = n_places(l);
    const double items = (double)xl__tile_items(t);
    const double volume =
        (double)(t->tm * t->tn * t->tk) * (double)grid->units;
    const double groups =
        (double)(grid->is_cut ? grid->stream.groups : grid->tiles);
    const double at_once =
        fmax(1, fmin(ceil(groups / places), room(l, t, job->in)));
    w->fill = (double)job->m * (double)job->n * (double)job->k *
              (double)job->count / (busiest(grid, places) * places * volume);
    w->flop_frac = steady(l, t) * type_rate(l, job->in) * items * at_once /
                   (items * at_once + LATENCY_ITEMS);
    if (grid->units == 1)
        w->flop_frac *= one_slice;
    w->launches = 1;
    if (grid->is_cut) {
        w->flop_frac *= cut;
        w->launches = 2;
        w->serial_bytes = 2 * (double)xl__stream_k_written(&grid->stream) *
                         (double)(t->tm * t->tn) *
                         (double)xl__tile_value_bytes(job->in);
    }
}

/* -- choosing ------------------------------------------------------------- */

/* The best so far. */
struct search {
    const struct xl__limits *l;
    const struct xl__tile_job *job;
    const struct xl__cost *work;
    struct xl__tile best;
    double ns, rate; /* of `best`; rate 0: none yet */
};

/* Sets that memory makes equal differ by the rate they could reach. */
static void consider(struct search *s, const struct xl__tile *t)
{
    static const double equal = 1e-6;
    struct xl__cost w = *s->work;
    struct xl__tile_grid grid;
    const char *bound;
    if (!xl__tile_fits(s->l, t, s->job->in) ||
        !xl__tile_cut(s->l, t, s->job, &grid))
        return;
    xl__tile_rate(s->l, t, s->job, &grid, &w);
    const double ns = xl__work_ns(s->l, &w, &bound);
    const double rate = w.flop_frac * w.fill;
    if (s->rate > 0 && (ns > s->ns * (1 + equal) ||
                        (ns > s->ns * (1 - equal) && rate <= s->rate)))
        return;
    s->ns = ns;
    s->rate = rate;
    s->best = *t;
}

void xl__tile_choose_of(const struct xl__limits *l,
                        const struct xl__tile_kind *kind,
                        const struct xl__tile_job *job,
                        const struct xl__cost *w, struct xl__params *out)
{
    struct search s = {.l = l, .job = job, .work = w};
    const size_t vector = VECTOR_BYTES / xl__tile_value_bytes(job->in);
    for (size_t i = 0; i < kind->n_sets; i++) {
        const struct xl__tile_set *set = &kind->sets[i];
        struct xl__tile t = {.tm = set->tm,
                             .tn = set->tn,
                             .tk = set->tk,
                             .rm = set->rm,
                             .rn = set->rn,
                             .vw = xl__min_size(vector, WIDEST),
                             .stages = set->stages,
                             .band = BAND,
                             .kind = kind};
        const size_t most = job->keeps_whole ? 1 : MOST_PARTS; /* conv */
        for (t.parts = 1; t.parts <= most; t.parts *= 2)
            consider(&s, &t);
    }
    *out = params_of(&s.best); /* all 0 when nothing fits: plan() refuses */
}

void xl__tile_choose(const struct xl__limits *l,
                     const struct xl__tile_job *job, const struct xl__cost *w,
                     struct xl__params *out)
{
    xl__tile_choose_of(l, &tiled, job, w, out);
}
