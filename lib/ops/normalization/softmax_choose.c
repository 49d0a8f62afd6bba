/* SPDX-License-Identifier: Apache-2.0 */
/* Which form of softmax_online suits a shape and a device: as few items to a
 * row as its values fit in the registers of, then several groups to a row,
 * then two sweeps; on CPUs one item a row. */
#include "base/alloc.h"
#include "ops/normalization/softmax.h"

enum {
    VECTOR_BYTES = 16, /* of one access of a GPU's item */
    HELD_ELEMS = 32,   /* an item should hold (NV-25) */
    MOST_HELD_ELEMS = 64,
    LEAST_WG = 128,   /* smaller groups leave too few resident */
    MOST_LANES = 512, /* larger groups have too little else to do while
                         they wait for memory (NV-25) */
    CHUNK_WG = 256,
    SHARED_PER_UNIT = 2, /* groups of XL__SOFTMAX_SHARED resident at least */
    ROWS_AT_WORK = 2,    /* of them at least: one waits, the other moves */
    LEAST_ITEM_VECTOR = 4,
    MOST_ITEM_VECTOR = 16,
    LEAST_ROWS_PER_UNIT = 4 /* for a row to be one item's */
};

const struct xl__tunable xl__softmax_tunables[] = {
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
    {NULL, NULL, {0}},
};

/* A choice in the making. */
struct choice {
    const struct xl__limits *l;
    const xl_softmax *s;
    size_t mode, wg, lanes, held, vw;
};

static size_t power_up(size_t x)
{
    size_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

/* The least legal number of vectors, or the largest. */
static size_t legal_held(size_t least)
{
    const int *legal = xl__softmax_tunables[XL__SOFTMAX_N_HELD].legal;
    while (legal[1] != 0 && (size_t)legal[0] < least)
        legal++;
    return (size_t)legal[0];
}

size_t xl__softmax_units(const struct xl__limits *l)
{
    return xl__max_size(1, xl__size_or(l, XL__F_compute_units, 1));
}

size_t xl__softmax_vector(const xl_softmax *s)
{
    const size_t elem = xl_dtype_bytes(s->src.dtype);
    size_t vw = xl__min_size(s->src.offset, s->dst.offset) / elem;
    vw = xl__min_size(xl__max_size(vw, 1), VECTOR_BYTES / elem);
    while (vw > s->cols)
        vw /= 2;
    return vw;
}

bool xl__softmax_may_share(const struct xl__limits *l, const xl_softmax *s)
{
    return s->dst.mem.svm == NULL && !xl__is(l, XL__F_is_cpu) &&
           !(xl__num(l, XL__F_max_loop_turns) > 0);
}

/* Is it worth it? Short of arithmetic, as 16-bit types are, waiting costs more
 * than a second read (NV-25). */
static bool should_share(const struct choice *c)
{
    const size_t chunk = c->wg * c->held * c->vw;
    const size_t n_chunks = xl__ceil_div(c->s->cols, chunk);
    return xl__softmax_may_share(c->l, c->s) && c->s->src.dtype == XL_F32 &&
           ROWS_AT_WORK * n_chunks <=
               SHARED_PER_UNIT * xl__softmax_units(c->l);
}

/* Do cores run one work-group at a time, with vectors of their own? */
static bool by_items(const struct xl__limits *l)
{
    enum { LEAST_ITEMS = 16 };
    return xl__softmax_most_items(l) < LEAST_ITEMS ||
           (xl__is(l, XL__F_is_cpu) &&
            xl__num_or(l, XL__F_native_vector_f32, 1) >= LEAST_ITEM_VECTOR);
}

static void choose_items(struct choice *c)
{
    const size_t native = xl__size_or(c->l, XL__F_native_vector_f32, 1);
    const size_t many = LEAST_ROWS_PER_UNIT * xl__softmax_units(c->l);
    size_t widest = LEAST_ITEM_VECTOR;
    while (2 * widest <= native && widest < MOST_ITEM_VECTOR)
        widest *= 2;
    c->vw = xl__min_size(widest, power_up(c->s->cols));
    c->mode = c->s->cols <= XL__SOFTMAX_ROW_MAX ? XL__SOFTMAX_ROWS
              : c->s->rows < many || c->s->cols >= XL__SOFTMAX_MOST_ELEMS
                  ? XL__SOFTMAX_PIECES
                  : XL__SOFTMAX_LONG;
}

/* Few items a row, since each reduction costs all of them the same; but not
 * one item a row when neighbours can read side by side. */
static size_t lanes_for(size_t cols)
{
    enum { SIDE_BY_SIDE = 8, LEAST_ELEMS = 4 };
    return xl__max_size(
        xl__min_size(SIDE_BY_SIDE, xl__ceil_div(cols, LEAST_ELEMS)),
        xl__ceil_div(cols, HELD_ELEMS));
}

/* Largest work-group, its reductions' local memory counted: common/reduce.clh needs
 * at most three words an item. */
static size_t most_items(const struct xl__limits *l)
{
    enum { BYTES = 3 * sizeof(float) };
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    size_t most = xl__softmax_most_items(l);
    while (most > 1 && most * BYTES + sizeof(float) > room)
        most /= 2;
    return most;
}

static void choose_groups(struct choice *c)
{
    const size_t most = most_items(c->l);
    c->vw = xl__softmax_vector(c->s);
    c->lanes = power_up(lanes_for(c->s->cols));
    c->lanes = xl__min_size(c->lanes, xl__min_size(MOST_LANES, most));
    const size_t vectors = xl__ceil_div(c->s->cols, c->vw);
    const size_t held = xl__ceil_div(vectors, c->lanes);
    if (legal_held(held) >= held && held * c->vw <= MOST_HELD_ELEMS) {
        c->mode = XL__SOFTMAX_HELD;
        c->held = legal_held(held);
        c->wg = xl__max_size(c->lanes, xl__min_size(LEAST_WG, most));
        return;
    }
    c->wg = c->lanes = xl__min_size(CHUNK_WG, most);
    c->held = legal_held(HELD_ELEMS / c->vw);
    c->mode = should_share(c) ? XL__SOFTMAX_SHARED : XL__SOFTMAX_SPLIT;
}

void xl__softmax_choose(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    struct choice c = {.l = l, .s = desc, .wg = 1, .lanes = 1, .held = 1};
    if (by_items(l))
        choose_items(&c);
    else
        choose_groups(&c);
    out->value[XL__SOFTMAX_MODE] = (int)c.mode;
    out->value[XL__SOFTMAX_WG] = (int)c.wg;
    out->value[XL__SOFTMAX_LANES] = (int)c.lanes;
    out->value[XL__SOFTMAX_N_HELD] = (int)c.held;
    out->value[XL__SOFTMAX_VW] = (int)c.vw;
    out->source = "model";
}
