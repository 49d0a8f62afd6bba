/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sets, what they take of a device, how a job is divided into tiles, and
 * the model that chooses a set.
 *
 * The model: the time of a set is that of the compute unit with the most
 * tiles,
 *
 *   time = tiles of the busiest unit x flop of a tile / rate of the tile.
 *
 * The rate of a tile grows with the reuse of values in registers and falls if
 * too few items are resident to hide latency. A tile takes no less than its
 * steps of k one after another. */
#include "ops/gemm/tiles.h"

#include <math.h>

#include "base/alloc.h"

const struct xl__tunable xl__gemm_tiled_tunables[] = {
    XL__TILE_TUNABLES,
    {"PARTS",
     "1 a tile to a group; more: the slices of the last round are divided "
     "among so many groups on each two compute units",
     {1, 2, 4, 8, 16, 0}},
    {NULL, NULL, {0}},
};

enum {
    FEW_LANES = 16, /* of a narrow sub-group */
    MOST_REGISTERS = 255,
    PLAIN_REGISTERS = 40, /* addresses, counters, temporaries */
    LATENCY_ITEMS = 32,   /* items whose latency is not hidden */
    WIDEST = 4,
    TAP_BYTES = 16, /* of a convolution */
    VECTOR_BYTES = 16,
    LEAST_DEPTH = 128, /* least depth of k for which a partial sum is worth
                          storing */
    MOST_PARTS = 8
};

struct xl__tile xl__tile_of(const struct xl__limits *l,
                            enum xl__tile_kernel kernel,
                            const struct xl__params *params)
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
                             .copies = v[XL__TILE_COPY] == XL__TILE_BY_COPIES,
                             .kernel = kernel,
                             .width = xl__tiles(l)->width};
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
    if (t->kernel == XL__TILES_GEMM_BLOCKS)
        return 0;
    const size_t value = xl__tile_value_bytes(in);
    const size_t pad = VECTOR_BYTES / value;
    const size_t taps = t->kernel == XL__TILES_CONV ? 2 * t->tk : 0;
    return value * t->stages * t->tk * (t->tm + t->tn + 2 * pad) +
           TAP_BYTES * taps;
}

/* Steps of k whose values an item holds at a time. */
static size_t n_depths(const struct xl__tile *t)
{
    return t->kernel == XL__TILES_GEMM ? 1 : 2;
}

/* The listed set with these tiles; NULL: none. */
static const struct xl__tile_set *find_set(const struct xl__limits *l,
                                           const struct xl__tile *t)
{
    const struct xl__tile_set *s = xl__tiles(l)->of[t->kernel];
    for (; s->tm; s++) {
        if (t->tm == s->tm && t->tn == s->tn && t->rm == s->rm &&
            t->rn == s->rn)
            return s;
    }
    return NULL;
}

/* Those that a compiler takes for a listed set; 0: unknown. */
static size_t known_registers(const struct xl__limits *l,
                              const struct xl__tile *t, xl_dtype in)
{
    const struct xl__tile_set *s = find_set(l, t);
    return s && s->tk == t->tk && s->stages == t->stages && in != XL_F64
               ? s->registers
               : 0;
}

/* 32-bit registers of an item: sums, values of each operand, and values that
 * are being loaded from memory. */
static size_t item_registers(const struct xl__limits *l,
                             const struct xl__tile *t, xl_dtype in)
{
    const size_t known = known_registers(l, t, in);
    if (known)
        return known;
    const size_t staged =
        t->copies ? 0 : (t->tm + t->tn) * t->tk / xl__tile_items(t);
    const size_t values =
        t->rm * t->rn + n_depths(t) * (t->rm + t->rn) + staged;
    return values * (xl__tile_value_bytes(in) / sizeof(float)) +
           PLAIN_REGISTERS;
}

/* Registers of the unit on which a whole work-group is resident. What a
 * driver counts as a compute unit may be a fraction of it (IN-03): then the
 * largest group that it allows, with the least registers of an item, gives
 * the number. */
static double group_registers(const struct xl__limits *l)
{
    static const double least_each = 64;
    return fmax(xl__num_or(l, XL__F_registers_per_cu, INFINITY),
                least_each * xl__num_or(l, XL__F_max_wg_size, 1));
}

/* Number of units on which a group can be resident. */
static double n_resident_units(const struct xl__limits *l)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    const double file = xl__num(l, XL__F_registers_per_cu);
    const double parts = file > 0 ? group_registers(l) / file : 1;
    return fmax(1, floor(units / parts));
}

/* The most registers of an item that a set may use. Some compilers for narrow
 * sub-groups spill registers that others keep, and an estimate is less
 * certain with values of two steps of k at a time. */
static size_t register_limit(const struct xl__limits *l,
                             const struct xl__tile *t, xl_dtype in)
{
    if (known_registers(l, t, in))
        return MOST_REGISTERS;
    const double lanes = xl__num_or(l, XL__F_subgroup_width, LATENCY_ITEMS);
    const bool is_guess =
        n_depths(t) > 1 && !(xl__num(l, XL__F_registers_per_cu) > 0);
    const bool few = lanes <= FEW_LANES || !xl__is(l, XL__F_has_local_mem);
    return few || is_guess ? xl__model_size(l, XL__M_narrow_registers)
                           : MOST_REGISTERS;
}

static bool registers_fit(const struct xl__limits *l, const struct xl__tile *t,
                          xl_dtype in, size_t most)
{
    const size_t each = item_registers(l, t, in);
    if (xl__tile_items(t) == 1)
        return true; /* a single item: no other set is better */
    return each <= most &&
           (double)(each * xl__tile_items(t)) <= group_registers(l);
}

/* Are the sizes multiples of each other, as the kernel's header requires? */
static bool has_whole_multiples(const struct xl__tile *t)
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
    if (!has_whole_multiples(t) || xl__is_refused(l, t->tm, t->tn))
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
           registers_fit(l, t, in, register_limit(l, t, in));
}

/* -- tiles cut by k ------------------------------------------------------- */

/* The kernel computes the same division: gemm/tile_order.clh, gemm/tiled.cl.
 * Source: Osama, Merrill, Cecka, Garland, Owens 2023, "Stream-K". */

/* Groups beyond one per tile that cut tiles may always have, whatever the
 * depth of their share. */
enum { FEW = 7 };

struct xl__stream_k xl__stream_k_divide(size_t tiles, size_t units,
                                        size_t groups, size_t least)
{
    struct xl__stream_k s = {.units = units};
    s.whole = (tiles - 1) / groups * groups;
    s.tiles = tiles - s.whole;
    const size_t slices = s.tiles * units;
    const size_t target = xl__max_size(slices / least, s.tiles + FEW);
    /* At least one group more than tiles, even if the tiles fill a round: the
     * caller chose to cut, and the few tiles of the self-check's case are
     * always cut. */
    groups = xl__max_size(xl__min_size(groups, target), s.tiles + 1);
    s.groups = xl__min_size(groups, slices);
    s.each = slices / s.groups;
    s.extra = slices % s.groups;
    return s;
}

size_t xl__stream_k_slots(const struct xl__stream_k *s)
{
    return s->groups + s->tiles - 1;
}

size_t xl__stream_k_written(const struct xl__stream_k *s)
{
    /* The first slice of each group as a tile, counted from 1, and a slice of
     * it, by addition: a division for each of some hundred groups is most of
     * the time that a choice of tiles takes. */
    const size_t tiles = s->each / s->units, slices = s->each % s->units;
    size_t n = 0, last = 0, tile = 1, slice = 0;
    for (size_t p = 1; p < s->groups; p++) {
        tile += tiles;
        slice += slices + (p <= s->extra);
        while (slice >= s->units) {
            slice -= s->units;
            tile++;
        }
        if (slice == 0)
            continue;
        n += tile == last ? 1 : 2;
        last = tile;
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

/* Blocks are read whole: where a tile ends outside, it begins earlier. */
static bool holds_whole_blocks(const struct xl__tile *t,
                               const struct xl__tile_job *job)
{
    return t->kernel != XL__TILES_GEMM_BLOCKS ||
           (job->m >= t->rm && job->n >= t->tn && job->k >= t->tk);
}

bool xl__tile_cut(const struct xl__limits *l, const struct xl__tile *t,
                  const struct xl__tile_job *job, struct xl__tile_grid *out)
{
    size_t slices;
    *out = (struct xl__tile_grid){.tiles_m = xl__ceil_div(job->m, t->tm),
                                  .tiles_n = xl__ceil_div(job->n, t->tn),
                                  .units = xl__ceil_div(job->k, t->tk),
                                  .is_cut = t->parts > 1};
    /* Kernels and launches count tiles in 32 bits. */
    if (!xl__mul(out->tiles_m, out->tiles_n, &out->tiles) ||
        !xl__mul(out->tiles, job->count, &out->tiles) ||
        out->tiles > INT32_MAX / t->band || !holds_whole_blocks(t, job))
        return false;
    if (!out->is_cut)
        return true;
    const size_t groups =
        xl__max_size(1, (size_t)n_resident_units(l) * t->parts / 2);
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

/* Fraction of the f32 rate that a tile reaches if every compute unit always
 * has work. */
static double steady_frac(const struct xl__limits *l, const struct xl__tile *t)
{
    const double alike = xl__model(l, XL__M_tile_frac);
    if (alike > 0)
        return alike / (double)n_depths(t);
    const struct xl__tile_set *s = find_set(l, t);
    if (s)
        return s->frac;
    /* A set that is not listed: by the reuse of values read from local
     * memory. */
    return 0.1 * log2_size((double)(t->rm * t->rn) + 1);
}

/* Number of tiles, a fraction if tiles are cut, that the busiest of `n_cus`
 * compute units computes. */
static double busiest_tiles(const struct xl__tile_grid *grid, double n_cus)
{
    const struct xl__stream_k *s = &grid->stream;
    if (!grid->is_cut)
        return ceil((double)grid->tiles / n_cus);
    return (double)s->whole / n_cus + ceil((double)s->groups / n_cus) *
                                          (double)(s->each + (s->extra > 0)) /
                                          (double)grid->units;
}

double xl__tile_again_bytes(const struct xl__limits *l, double loaded,
                            double once, double bytes)
{
    const double cache = xl__num_or(l, XL__F_llc_bytes, INFINITY);
    return xl__model(l, XL__M_again_cost) * fmin(1, bytes / cache) *
           fmax(0, loaded - once);
}

void xl__tile_waves(const struct xl__tile *t, const struct xl__tile_job *job,
                    const struct xl__tile_grid *grid, double n_cus,
                    struct xl__cost *w)
{
    const double volume =
        (double)(t->tm * t->tn * t->tk) * (double)grid->units;
    w->fill = (double)job->m * (double)job->n * (double)job->k *
              (double)job->count /
              (busiest_tiles(grid, n_cus) * n_cus * volume);
    w->launches += grid->is_cut ? 2 : 1;
    if (grid->is_cut)
        w->serial_bytes += 2 * (double)xl__stream_k_written(&grid->stream) *
                           (double)(t->tm * t->tn) *
                           (double)xl__tile_value_bytes(job->in);
}

/* Clocks of a step of k that is not hidden behind other work. */
static double step_clocks(const struct xl__limits *l, const struct xl__tile *t)
{
    static const enum xl__model_id ids[XL__N_TILE_KERNELS] = {
        [XL__TILES_GEMM] = XL__M_tiled_step_clocks,
        [XL__TILES_GEMM_AHEAD] = XL__M_ahead_step_clocks,
        [XL__TILES_GEMM_BLOCKS] = XL__M_blocks_step_clocks,
        [XL__TILES_CONV] = XL__M_conv_step_clocks};
    return xl__model(l, ids[t->kernel]);
}

void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   const struct xl__tile_job *job,
                   const struct xl__tile_grid *grid, struct xl__cost *w)
{
    /* The loads of a product of one slice are all in flight at once; groups
     * that may go on with another tile need more registers and
     * instructions. */
    static const double one_slice = 1.05, cut = 0.95, ns_per_s = 1e9;
    const double n_cus = n_resident_units(l);
    const double items = (double)xl__tile_items(t);
    const double groups =
        (double)(grid->is_cut ? grid->stream.groups : grid->tiles);
    const struct xl__group_needs needs = {
        items, (double)item_registers(l, t, job->in),
        (double)xl__tile_local_bytes(t, job->in)};
    const double at_once =
        fmin(ceil(groups / n_cus),
             xl__resident_groups(l, group_registers(l), &needs));
    xl__tile_waves(t, job, grid, n_cus, w);
    w->flop_frac = steady_frac(l, t) * xl__relative_rate(l, job->in) * items *
                   at_once / (items * at_once + LATENCY_ITEMS);
    w->chain_ns = fmin(1, busiest_tiles(grid, n_cus) / at_once) *
                  (double)(grid->units * t->tk) * step_clocks(l, t) /
                  xl__rate_clock(l) * ns_per_s;
    if (job->gathers_m || job->gathers_n) {
        /* Each element serves that many multiplications. */
        const double serves = (double)(job->gathers_m ? t->tn : t->tm);
        w->flop_frac *= serves / (serves + xl__model(l, XL__M_gather_fmas));
    }
    if (grid->units == 1)
        w->flop_frac *= one_slice;
    if (grid->is_cut)
        w->flop_frac *= cut;
}

/* -- choosing ------------------------------------------------------------- */

/* The best set so far. */
struct tile_search {
    const struct xl__limits *l;
    const struct xl__tile_job *job;
    const struct xl__cost *work;
    struct xl__tile tile; /* of `best` */
    struct xl__best_cost best;
};

static void consider_set(struct tile_search *s, const struct xl__tile *t)
{
    static const double equal = 1e-6;
    struct xl__cost w = *s->work;
    struct xl__tile_grid grid;
    if (!xl__tile_fits(s->l, t, s->job->in) ||
        !xl__tile_cut(s->l, t, s->job, &grid))
        return;
    xl__tile_rate(s->l, t, s->job, &grid, &w);
    if (xl__improves(s->l, &w, equal, &s->best))
        s->tile = *t;
}

void xl__tile_choose(const struct xl__limits *l, enum xl__tile_kernel kernel,
                     const struct xl__tile_job *job, const struct xl__cost *w,
                     struct xl__params *out)
{
    const struct xl__tile_sets *all = xl__tiles(l);
    struct tile_search s = {
        .l = l, .job = job, .work = w, .best = {.ns = INFINITY}};
    const size_t vector = VECTOR_BYTES / xl__tile_value_bytes(job->in);
    for (const struct xl__tile_set *set = all->of[kernel]; set->tm; set++) {
        struct xl__tile t = {.tm = set->tm,
                             .tn = set->tn,
                             .tk = set->tk,
                             .rm = set->rm,
                             .rn = set->rn,
                             .vw = xl__min_size(vector, WIDEST),
                             .stages = set->stages,
                             .band = xl__model_size(l, XL__M_band),
                             .kernel = kernel};
        const bool keeps_whole = job->keeps_whole || all->keeps_whole;
        const size_t most = keeps_whole ? 1 : MOST_PARTS;
        for (t.parts = 1; t.parts <= most; t.parts *= 2)
            consider_set(&s, &t);
    }
    *out = params_of(&s.tile); /* all 0 if nothing fits: plan() refuses it */
}
