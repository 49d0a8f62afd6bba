/* SPDX-License-Identifier: Apache-2.0 */
/* The regimes by which rows are computed, for any op: a row in the registers
 * of a group if it fits, else in chunks; on CPUs one work-item a row with
 * explicit vectors. One table of modes states how each is planned. */
#include "ops/normalization/row_op.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"

/* -- choice of the form --------------------------------------------------- */

enum {
    VECTOR_BYTES = 16, /* of one access of a GPU's item */
    MOST_HELD_ELEMS = 64,
    LEAST_WG = 128, /* with smaller groups too few items are resident */
    CHUNK_WG = 256,
    SHARED_PER_UNIT = 2, /* groups of XL__ROWS_SHARED resident at least */
    ROWS_AT_WORK = 2,    /* of them at least: one waits, the other moves */
    LEAST_ITEM_VECTOR = 4,
    MOST_ITEM_VECTOR = 16,
    LEAST_ROWS_PER_UNIT = 4,  /* for a row to be one item's */
    LEAST_GROUPS_PER_UNIT = 8 /* of several rows each */
};

const struct xl__tunable xl__row_tunables[] = {
    {"MODE",
     "1 held, 2 shared, 3 split, 4 rows, 5 long, 6 pieces",
     {1, 2, 3, 4, 5, 6, 0}},
    {"WG",
     "items of a work-group",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0}},
    {"LANES",
     "items of a row",
     {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0}},
    {"HELD",
     "vectors an item holds",
     {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 0}},
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"STREAM",
     "by single items: stores through the caches (1) or past them (2)",
     {1, 2, 0}},
    {NULL, NULL, {0}},
};

/* The state of a choice. */
struct choice {
    const struct xl__limits *l;
    const struct xl__rows *r;
    const struct xl__row_kernels *k;
    size_t mode, wg, lanes, held, vw, stream;
};

/* The least legal number of vectors, or the largest. */
static size_t legal_held(size_t least)
{
    const int *legal = xl__row_tunables[XL__ROWS_N_HELD].legal;
    while (legal[1] != 0 && (size_t)legal[0] < least)
        legal++;
    return (size_t)legal[0];
}

/* Widest access on a GPU, in elements: 1 unless every row is aligned to it. */
static size_t widest_vector(const struct xl__rows *r)
{
    size_t vw = xl__min_size(xl__max_size(r->align_elems, 1),
                             VECTOR_BYTES / r->widest_bytes);
    while (vw > r->cols)
        vw /= 2;
    return vw;
}

/* Whether XL__ROWS_SHARED is possible. Not in place, where a chunk may be
 * overwritten before another group reads it; not on CPUs, where one driver
 * crashes on the kernel (CP-09); not where loops are ended early, since
 * waiting for a late sum takes many iterations (GE-24). */
static bool may_share(const struct xl__limits *l, const struct xl__rows *r,
                      const struct xl__row_kernels *k)
{
    return k->kernel[XL__ROWS_SHARED][0] && !r->is_in_place &&
           !xl__is(l, XL__F_is_cpu) && !(xl__num(l, XL__F_max_loop_turns) > 0);
}

/* Whether sharing a row pays: for 16-bit types waiting takes longer than a
 * second read (NV-25). */
static bool should_share(const struct choice *c)
{
    const size_t chunk = c->wg * c->held * c->vw;
    const size_t n_chunks = xl__ceil_div(c->r->cols, chunk);
    return may_share(c->l, c->r, c->k) && c->r->is_f32 &&
           ROWS_AT_WORK * n_chunks <= SHARED_PER_UNIT * xl__n_units(c->l);
}

/* Whether a core runs one work-group at a time with vector instructions. */
static bool is_by_items(const struct xl__limits *l)
{
    enum { LEAST_ITEMS = 16 };
    return xl__rows_most_items(l) < LEAST_ITEMS ||
           (xl__is(l, XL__F_is_cpu) &&
            xl__num_or(l, XL__F_native_vector_f32, 1) >= LEAST_ITEM_VECTOR);
}

/* Are results stored past the caches? Not if they replace operands, whose
 * lines are there already. */
static bool is_streamed(const struct choice *c)
{
    return !c->r->is_in_place &&
           xl__exceeds_caches(c->l, c->r->read_bytes + c->r->write_bytes);
}

/* Rows whose vectors an item holds side by side, so that operands of columns
 * are read once for all of them: of 16 bits fewer, since not memory but the
 * instructions that convert them limit these (CP-40). */
static size_t rows_side_by_side(const struct choice *c)
{
    const size_t groups = LEAST_GROUPS_PER_UNIT * xl__n_units(c->l);
    const size_t each = xl__max_size(c->r->rows / groups, 1);
    return c->r->has_columns
               ? xl__min_size(xl__floor_power_of_two(each), c->r->src_bytes)
               : 1;
}

static void choose_items(struct choice *c)
{
    const size_t native = xl__size_or(c->l, XL__F_native_vector_f32, 1);
    const size_t many = LEAST_ROWS_PER_UNIT * xl__n_units(c->l);
    /* Two native vectors share the loads of exp's constants (CP-29). */
    size_t widest = LEAST_ITEM_VECTOR;
    while (widest <= native && widest < MOST_ITEM_VECTOR)
        widest *= 2;
    c->vw = xl__min_size(widest, (size_t)xl__ceil_power_of_two(c->r->cols));
    c->mode = c->r->cols <= XL__ROWS_MOST_CACHED ? XL__ROWS_CACHED
              : c->r->rows < many || c->r->cols >= XL__ROWS_MOST_ELEMS
                  ? XL__ROWS_PIECES
                  : XL__ROWS_LONG;
    c->held = c->mode == XL__ROWS_LONG ? rows_side_by_side(c) : 1;
    c->stream = is_streamed(c) ? XL__ROWS_PAST : XL__ROWS_THROUGH;
}

/* Few items a row, since a reduction takes as long for all of them; but more
 * than one where neighbours can read adjacent elements. */
static size_t lanes_for(const struct choice *c)
{
    enum { SIDE_BY_SIDE = 8, LEAST_ELEMS = 4 };
    return xl__max_size(
        xl__min_size(SIDE_BY_SIDE, xl__ceil_div(c->r->cols, LEAST_ELEMS)),
        xl__ceil_div(c->r->cols * c->k->n_read,
                     xl__model_size(c->l, XL__M_held_elems)));
}

/* Largest work-group, its reductions' local memory counted: common/reduce.clh
 * needs at most one word and a half an item in each room. */
static size_t most_items(const struct xl__limits *l,
                         const struct xl__row_kernels *k)
{
    const size_t bytes = xl__ceil_div(3 * k->rooms, 2) * sizeof(float);
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t most = xl__rows_most_items(l);
    while (most > 1 && most * bytes + sizeof(float) > room)
        most /= 2;
    return most;
}

static void choose_work_groups(struct choice *c)
{
    const size_t most = most_items(c->l, c->k);
    c->vw = widest_vector(c->r);
    c->lanes = (size_t)xl__ceil_power_of_two(lanes_for(c));
    c->lanes = xl__min_size(
        c->lanes, xl__min_size(xl__model_size(c->l, XL__M_held_lanes), most));
    const size_t vectors = xl__ceil_div(c->r->cols, c->vw);
    const size_t held = xl__ceil_div(vectors, c->lanes);
    if (legal_held(held) >= held &&
        held * c->vw * c->k->n_read <= MOST_HELD_ELEMS) {
        c->mode = XL__ROWS_HELD;
        c->held = legal_held(held);
        c->wg = xl__max_size(c->lanes, xl__min_size(LEAST_WG, most));
        return;
    }
    c->wg = c->lanes = xl__min_size(CHUNK_WG, most);
    c->held = legal_held(xl__model_size(c->l, XL__M_held_elems) /
                         (c->vw * c->k->n_read));
    c->mode = should_share(c) ? XL__ROWS_SHARED : XL__ROWS_SPLIT;
}

size_t xl__rows_most_items(const struct xl__limits *l)
{
    enum { MOST = 1024 };
    return xl__floor_power_of_two(xl__most_items(l, MOST));
}

void xl__row_regime_choose(const struct xl__limits *l,
                           const struct xl__rows *r,
                           const struct xl__row_kernels *k,
                           struct xl__params *out)
{
    struct choice c = {.l = l,
                       .r = r,
                       .k = k,
                       .wg = 1,
                       .lanes = 1,
                       .held = 1,
                       .stream = XL__ROWS_THROUGH};
    if (is_by_items(l))
        choose_items(&c);
    else
        choose_work_groups(&c);
    out->value[XL__ROWS_MODE] = (int)c.mode;
    out->value[XL__ROWS_WG] = (int)c.wg;
    out->value[XL__ROWS_LANES] = (int)c.lanes;
    out->value[XL__ROWS_N_HELD] = (int)c.held;
    out->value[XL__ROWS_VW] = (int)c.vw;
    out->value[XL__ROWS_STREAM] = (int)c.stream;
    out->source = "model";
}

/* -- plan ----------------------------------------------------------------- */

enum {
    RESIDENT_ITEMS = 2048, /* of a compute unit at most */
    MOST_CHUNKS = 1024,    /* of a row: each group reads a sum of every one */
    ITEM_BYTES = 1 << 19,  /* of rows that one item should take in a go */
    ITEM_RUN = 16,         /* vectors; RUN in the kernel */
    ITEM_CHUNK = 4096,     /* least elements of a chunk */
    GROUPS_PER_UNIT = 8
};

/* The state of a plan. */
struct job {
    const struct xl__limits *l;
    const struct xl__rows *r;
    const struct xl__row_kernels *k;
    const void *canonical;
    size_t mode, wg, lanes, held, vw, stream;
    size_t chunk, n_chunks; /* of a row */
    size_t units;
    bool is_full;
    struct xl__plan *p;
};

/* Work-groups resident on the device, approximately. */
static size_t count_resident_items(const struct xl__limits *l, size_t wg)
{
    return xl__n_units(l) * xl__max_size(1, RESIDENT_ITEMS / wg);
}

/* Bytes of local memory: common/reduce.clh's rooms, and SHARED's one word. */
static size_t local_bytes(const struct job *j)
{
    enum { WIDE = 512, LEAD_OF_WIDE = 32, LEAD = 16 };
    const size_t lead = j->lanes >= WIDE ? LEAD_OF_WIDE : LEAD;
    const size_t leads = j->lanes > lead ? j->wg / j->lanes * lead : 0;
    const size_t room = j->wg + leads;
    return j->k->rooms * room * sizeof(float) + sizeof(uint32_t);
}

/* Kernel i of the mode. */
static struct xl__step *add_step(struct job *j, unsigned i, size_t n_groups)
{
    const bool is_item = j->mode >= XL__ROWS_CACHED;
    struct xl__step *step =
        xl__plan_add(j->p, is_item ? j->k->item_file : j->k->group_file,
                     j->k->kernel[j->mode][i], n_groups * j->wg, j->wg);
    step->local_mem_bytes = is_item ? 0 : local_bytes(j);
    xl__define(step, "MODE", (long)j->mode);
    if (is_item) {
        xl__define(step, "ROW_MAX", XL__ROWS_MOST_CACHED);
        xl__define(step, "STREAM", j->stream == XL__ROWS_PAST);
        if (xl__is(j->l, XL__F_is_cpu))
            xl__define(step, "XL_IS_CPU", 1);
    } else {
        xl__define(step, "WG", (long)j->wg);
        xl__define(step, "LANES", (long)j->lanes);
        xl__define(step, "HELD", (long)j->held);
        if (j->is_full)
            xl__define(step, "FULL", 1);
        if (j->mode == XL__ROWS_HELD &&
            (j->k->most_near == 0 || j->lanes <= j->k->most_near))
            xl__define_choice(step, "XL_LANE",
                              xl__text(j->l, XL__F_lane_exchange));
    }
    j->k->defines(step, j->canonical, j->vw);
    return step;
}

/* Kernel i of the mode, over chunks, with its arguments. */
static void add_chunks(struct job *j, unsigned i)
{
    struct xl__step *step = add_step(j, i, j->r->rows * j->n_chunks);
    j->k->args(step, j->canonical);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u32(step, j->n_chunks);
    xl__arg_u32(step, j->chunk);
}

static void plan_held(struct job *j)
{
    const size_t each = j->wg / j->lanes;
    j->k->args(add_step(j, 0, xl__ceil_div(j->r->rows, each)), j->canonical);
}

static void plan_shared(struct job *j)
{
    const size_t words = j->k->words * j->r->rows * j->n_chunks;
    struct xl__step *step = add_step(j, 0, xl__ceil_div(words, j->wg));
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, words);
    add_chunks(j, 1);
}

static void plan_split(struct job *j)
{
    add_chunks(j, 0);
    add_chunks(j, 1);
}

static void plan_cached(struct job *j)
{
    const size_t bytes = j->r->cols * j->r->src_bytes;
    size_t each = j->r->rows / (GROUPS_PER_UNIT * j->units);
    each = xl__min_size(each, xl__ceil_div(ITEM_BYTES, bytes));
    each = xl__max_size(each, 1);
    struct xl__step *step = add_step(j, 0, xl__ceil_div(j->r->rows, each));
    j->k->args(step, j->canonical);
    xl__arg_u64(step, each);
}

static void plan_long(struct job *j)
{
    const size_t each = j->r->has_columns ? j->held : 1;
    struct xl__step *step = add_step(j, 0, xl__ceil_div(j->r->rows, each));
    if (j->r->has_columns)
        xl__define(step, "HELD", (long)each);
    j->k->args(step, j->canonical);
}

/* Chunks that fill the registers of a group. */
static void chunks_of_registers(struct job *j)
{
    j->chunk = j->wg * j->held * j->vw;
    j->n_chunks = xl__ceil_div(j->r->cols, j->chunk);
}

/* Enough chunks to keep the device busy, at most as many as a group may read.
 */
static void chunks_for_device(struct job *j)
{
    const bool is_item = j->mode == XL__ROWS_PIECES;
    const size_t span = is_item ? ITEM_RUN * j->vw : j->wg * j->held * j->vw;
    const size_t groups =
        GROUPS_PER_UNIT *
        (is_item ? j->units : count_resident_items(j->l, j->wg));
    size_t n = xl__min_size(xl__ceil_div(groups, j->r->rows), MOST_CHUNKS);
    size_t chunk =
        xl__max_size(xl__ceil_div(j->r->cols, n), is_item ? ITEM_CHUNK : 1);
    chunk = xl__min_size(chunk, XL__ROWS_MOST_ELEMS / 2);
    j->chunk = xl__round_up(chunk, span);
    j->n_chunks = xl__ceil_div(j->r->cols, j->chunk);
}

static bool fits_held(const struct job *j)
{
    return j->r->cols <= j->lanes * j->held * j->vw;
}

/* At most one chunk for each item to wait for. */
static bool fits_shared(const struct job *j)
{
    return j->lanes == j->wg && may_share(j->l, j->r, j->k) &&
           j->r->cols <= j->wg * (j->wg * j->held * j->vw);
}

static bool fits_split(const struct job *j)
{
    return j->lanes == j->wg;
}

static bool fits_cached(const struct job *j)
{
    return j->wg == 1 && j->r->cols <= XL__ROWS_MOST_CACHED;
}

static bool fits_long(const struct job *j)
{
    return j->wg == 1 && j->r->cols < XL__ROWS_MOST_ELEMS;
}

static bool fits_pieces(const struct job *j)
{
    return j->wg == 1;
}

/* clang-format off */
static const struct {
    bool (*fits)(const struct job *);
    void (*cut)(struct job *);     /* NULL: rows are not split */
    void (*plan)(struct job *);
    double reads;                  /* from memory, of each element */
    double bytes_frac;             /* of the copy rate that it reaches */
} modes[] = {
    /*                       fits         cut       plan         reads frac */
    [XL__ROWS_HELD]   = { fits_held,   NULL,     plan_held,   1,    0.9  },
    [XL__ROWS_SHARED] = { fits_shared, chunks_of_registers, plan_shared, 1,    0.8  },
    [XL__ROWS_SPLIT]  = { fits_split,  chunks_for_device, plan_split,  2,    0.9  },
    [XL__ROWS_CACHED]   = { fits_cached,   NULL,     plan_cached, 1,    0.75 },
    [XL__ROWS_LONG]   = { fits_long,   NULL,     plan_long,   2,    0.75 },
    [XL__ROWS_PIECES] = { fits_pieces, chunks_for_device, plan_split,  2,    0.75 },
};
/* clang-format on */

/* Tunables may come from a tuned set. */
static bool is_legal(const struct job *j)
{
    const size_t n_modes = sizeof modes / sizeof *modes;
    return j->mode > 0 && j->mode < n_modes && j->k->kernel[j->mode][0] &&
           modes[j->mode].fits(j) && xl__is_power_of_two(j->wg) &&
           xl__is_power_of_two(j->lanes) && j->lanes <= j->wg &&
           xl__is_power_of_two(j->vw) && j->held > 0 &&
           (j->mode >= XL__ROWS_CACHED ||
            (j->vw <= widest_vector(j->r) && j->stream == XL__ROWS_THROUGH)) &&
           j->wg <= xl__rows_most_items(j->l);
}

static void estimate_time(const struct job *j, size_t n_groups)
{
    const struct xl__cost work = {
        .flop = j->r->flop,
        .flop_frac = xl__model(j->l, j->k->frac),
        .bytes = modes[j->mode].reads * j->r->read_bytes + j->r->write_bytes,
        .bytes_frac = modes[j->mode].bytes_frac,
        .fill = xl__fill(j->l, (double)n_groups),
        .launches = j->p->n_steps};
    xl__estimate(j->l, &work, j->p);
}

xl_status
xl__row_regime_plan(const struct xl__limits *l, const struct xl__rows *r,
                    const struct xl__row_kernels *k, const void *canonical,
                    const struct xl__params *params, struct xl__plan *p)
{
    struct job j = {.l = l,
                    .r = r,
                    .k = k,
                    .canonical = canonical,
                    .p = p,
                    .units = xl__n_units(l),
                    .is_full = !r->is_any_length &&
                               xl__row_is_full(r->cols, params, k->most_near),
                    .mode = (size_t)params->value[XL__ROWS_MODE],
                    .wg = (size_t)params->value[XL__ROWS_WG],
                    .lanes = (size_t)params->value[XL__ROWS_LANES],
                    .held = (size_t)params->value[XL__ROWS_N_HELD],
                    .vw = (size_t)params->value[XL__ROWS_VW],
                    .stream = (size_t)params->value[XL__ROWS_STREAM]};
    if (!is_legal(&j))
        return XL_UNSUPPORTED;
    if (j.mode < XL__ROWS_CACHED &&
        local_bytes(&j) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    p->flop = r->flop;
    p->bytes = r->read_bytes + r->write_bytes;
    if (modes[j.mode].cut) {
        modes[j.mode].cut(&j);
        p->scratch_bytes = r->rows * j.n_chunks * k->words * sizeof(uint32_t);
    }
    modes[j.mode].plan(&j);
    estimate_time(&j, p->step[p->n_steps - 1].global[0] / j.wg);
    return XL_OK;
}
