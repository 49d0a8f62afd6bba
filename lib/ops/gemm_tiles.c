/* SPDX-License-Identifier: Apache-2.0 */
/* Tile sets and the model that picks one. The time of a set is the work of the
 * busiest compute unit over the rate its tile reaches; that rate grows with
 * the reuse in registers and falls when too few items are there to hide
 * latency. The table's shares were measured on one device (NV-23); elsewhere
 * their order is what matters. */
#include "ops/gemm_tiles.h"

#include <math.h>

#include "base/mem.h"

const struct xl__tunable xl__gemm_tiled_tunables[] = {
    {"TM", "rows of a work-group's tile", {2, 8, 16, 32, 64, 128, 256, 0}},
    {"TN",
     "columns of it",
     {2, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 0}},
    {"TK", "depth of a slice", {2, 4, 8, 16, 32, 64, 128, 256, 0}},
    {"RM", "rows in an item's registers", {1, 2, 4, 8, 16, 0}},
    {"RN", "columns there", {1, 2, 4, 8, 12, 16, 24, 32, 0}},
    {"VW", "widest vector", {1, 2, 4, 8, 16, 0}},
    {"ST", "slices kept in local memory", {1, 2, 0}},
    {"GR", "tile rows walked together", {1, 2, 4, 8, 16, 0}},
    {"FORM", "1 groups with barriers, 2 a thread an item", {1, 2, 0}},
    {NULL, NULL, {0}},
};
enum { AT_RM = XL__GEMM_TK + 1, AT_RN, AT_VW, AT_ST, AT_GR, AT_FORM };

enum {
    BAND = 8,           /* NV-23 */
    FEW_LANES = 16,     /* of a narrow machine, whose register file */
    FEW_REGISTERS = 69, /* leaves an item this many (IN-08) */
    MOST_REGISTERS = 255,
    PLAIN_REGISTERS = 40, /* addresses, counters, temporaries */
    LATENCY_ITEMS = 32,   /* items that hide nothing but themselves */
    GROUP_VECTOR = 4,
    PAD = 4
};

/* clang-format off */
static const struct {
    unsigned short tm, tn, tk, rm, rn, stages;
    double frac;
} groups[] = {
    /* tm  tn  tk  rm  rn st  share of the f32 rate */
    {128, 256,  8,  8, 16, 2, 0.745},
    {128, 128,  8,  8,  8, 1, 0.740},
    { 64, 128,  8,  8,  8, 2, 0.720},
    { 64,  64, 16,  4,  8, 2, 0.670},
    { 64,  64, 16,  4,  4, 2, 0.590},
    { 64,  64,  8,  4,  4, 2, 0.580},
    { 32,  64, 16,  4,  4, 2, 0.570},
    { 32,  32, 16,  4,  4, 2, 0.520},
    { 32,  32, 16,  2,  4, 2, 0.430},
    { 32,  32,  8,  2,  4, 2, 0.420},
    { 16,  16, 16,  2,  2, 2, 0.250},
    {  8,   8,  8,  1,  1, 1, 0.080},
    { 16,  16,  4,  4,  4, 1, 0.060},
    {  8,   8,  4,  2,  2, 1, 0.030},
    {  2,   2,  4,  2,  2, 1, 0.010},
};
/* clang-format on */

/* Items of one thread: rows, and columns in register tiles. Few sets and one
 * depth, since each is a program to build. */
static const struct {
    unsigned short rows, cols;
} threads[] = {
    {256, 8}, {128, 4}, {64, 2}, {32, 1}, {8, 1},
};
static const unsigned short thread_depths[] = {256, 128, 64, 32, 16};
/* FMAs that packing an element costs, of those a thread does per element. */
static const double pack_cost = 8;
static const double item_frac = 0.8;

static double log2_size(double x)
{
    return log(x) / log(2);
}

struct xl__tile xl__tile_of(const struct xl__params *params)
{
    const int *v = params->value;
    return (struct xl__tile){.tm = (size_t)v[XL__GEMM_TM],
                             .tn = (size_t)v[XL__GEMM_TN],
                             .tk = (size_t)v[XL__GEMM_TK],
                             .rm = (size_t)v[AT_RM],
                             .rn = (size_t)v[AT_RN],
                             .vw = (size_t)v[AT_VW],
                             .stages = (size_t)v[AT_ST],
                             .band = (size_t)v[AT_GR],
                             .form = (enum xl__gemm_form)v[AT_FORM]};
}

static struct xl__params params_of(const struct xl__tile *t)
{
    struct xl__params p = {.source = "model"};
    p.value[XL__GEMM_TM] = (int)t->tm;
    p.value[XL__GEMM_TN] = (int)t->tn;
    p.value[XL__GEMM_TK] = (int)t->tk;
    p.value[AT_RM] = (int)t->rm;
    p.value[AT_RN] = (int)t->rn;
    p.value[AT_VW] = (int)t->vw;
    p.value[AT_ST] = (int)t->stages;
    p.value[AT_GR] = (int)t->band;
    p.value[AT_FORM] = (int)t->form;
    return p;
}

size_t xl__tile_items(const struct xl__tile *t)
{
    return t->form == XL__FORM_ITEM ? 1 : t->tm / t->rm * (t->tn / t->rn);
}

size_t xl__tile_local_bytes(const struct xl__tile *t)
{
    const size_t slice = t->tk * (t->tm + t->tn);
    if (t->form == XL__FORM_ITEM)
        return sizeof(float) * (slice + t->tm * t->tn);
    return sizeof(float) * t->stages * (slice + 2 * PAD * t->tk);
}

/* 32-bit registers of an item: sums, one line of each operand, what is on its
 * way from memory. */
static size_t registers(const struct xl__tile *t)
{
    const size_t staged = (t->tm + t->tn) * t->tk / xl__tile_items(t);
    return t->rm * t->rn + t->rm + t->rn + staged + PLAIN_REGISTERS;
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

static bool registers_fit(const struct xl__limits *l, const struct xl__tile *t)
{
    const double lanes = xl__num_or(l, XL__F_subgroup_width, LATENCY_ITEMS);
    const bool few = lanes <= FEW_LANES || !xl__is(l, XL__F_has_local_mem);
    if (t->form == XL__FORM_ITEM)
        return true;
    return registers(t) <= (few ? FEW_REGISTERS : MOST_REGISTERS) &&
           (double)(registers(t) * xl__tile_items(t)) <= group_file(l);
}

/* Multiples of each other, as the kernels' headers ask. */
static bool is_whole(const struct xl__tile *t)
{
    if (!t->tm || !t->tn || !t->tk || !t->rm || !t->rn || !t->vw ||
        !t->stages || !t->band || t->tm % t->rm || t->tn % t->rn)
        return false;
    if (t->form == XL__FORM_ITEM)
        return t->rn % t->vw == 0 && t->tk % t->vw == 0;
    return t->form == XL__FORM_GROUP && t->vw <= GROUP_VECTOR &&
           t->tm * t->tk % xl__tile_items(t) == 0 &&
           t->tn * t->tk % xl__tile_items(t) == 0;
}

bool xl__tile_fits(const struct xl__limits *l, const struct xl__tile *t)
{
    const struct xl__answer *most = &l->used[XL__F_max_wi_sizes];
    if (!is_whole(t))
        return false;
    const size_t items = xl__tile_items(t);
    const size_t local = xl__size_or(l, XL__F_local_mem_bytes, 0);
    return items <= xl__size_or(l, XL__F_max_wg_size, 1) &&
           (most->n_list == 0 || (double)items <= most->list[0]) &&
           xl__tile_local_bytes(t) <= local && registers_fit(l, t);
}

bool xl__tile_grid(const struct xl__tile *t, size_t m, size_t n,
                   size_t *tiles_m, size_t *tiles_n)
{
    size_t tiles, items;
    *tiles_m = m / t->tm + (m % t->tm > 0);
    *tiles_n = n / t->tn + (n % t->tn > 0);
    return *tiles_m <= UINT32_MAX && *tiles_n <= UINT32_MAX &&
           xl__mul(*tiles_m, *tiles_n, &tiles) &&
           xl__mul(tiles, xl__tile_items(t), &items);
}

/* Share of the rate when every compute unit has work without end. */
static double steady(const struct xl__tile *t)
{
    if (t->form == XL__FORM_ITEM)
        return item_frac /
               (1 + pack_cost / (double)t->tm + pack_cost / (double)t->tn);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (t->tm == groups[i].tm && t->tn == groups[i].tn &&
            t->rm == groups[i].rm && t->rn == groups[i].rn)
            return groups[i].frac;
    }
    /* An unlisted set: by the reuse of what is read from local memory. */
    return 0.1 * log2_size((double)(t->rm * t->rn) + 1);
}

void xl__tile_rate(const struct xl__limits *l, const struct xl__tile *t,
                   size_t m, size_t n, double *flop_frac, double *fill)
{
    static const double most_items = 2048; /* resident on a compute unit */
    const double places = n_places(l);
    const double items = (double)xl__tile_items(t);
    const double tm = (double)t->tm, tn = (double)t->tn;
    const double tiles = ceil((double)m / tm) * ceil((double)n / tn);
    const double rounds = ceil(tiles / places);
    *flop_frac = steady(t);
    *fill = (double)m * (double)n / (rounds * places * tm * tn);
    if (t->form == XL__FORM_ITEM)
        return;
    const double room = fmin(most_items / items,
                             group_file(l) / (items * (double)registers(t)));
    const double resident = items * fmax(1, fmin(rounds, floor(room)));
    *flop_frac *= resident / (resident + LATENCY_ITEMS);
}

/* -- choosing ------------------------------------------------------------ */

/* The best so far. */
struct search {
    const struct xl__limits *l;
    size_t m, n;
    struct xl__tile best;
    double rate; /* of `best`; 0: none yet */
};

static void consider(struct search *s, const struct xl__tile *t)
{
    double frac, fill;
    if (!xl__tile_fits(s->l, t))
        return;
    xl__tile_rate(s->l, t, s->m, s->n, &frac, &fill);
    if (frac * fill > s->rate) {
        s->rate = frac * fill;
        s->best = *t;
    }
}

static void search_groups(struct search *s)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct xl__tile t = {.tm = groups[i].tm,
                                   .tn = groups[i].tn,
                                   .tk = groups[i].tk,
                                   .rm = groups[i].rm,
                                   .rn = groups[i].rn,
                                   .vw = GROUP_VECTOR,
                                   .stages = groups[i].stages,
                                   .band = BAND,
                                   .form = XL__FORM_GROUP};
        consider(s, &t);
    }
}

/* The deepest slice of which any tile fits. */
static void search_threads(struct search *s, size_t vector)
{
    /* Sums that leave room for operands: 16 of 32 wide registers, 12 of 16
     * others. */
    const bool wide = vector >= 16;
    struct xl__tile t = {.rm = wide ? 8 : 4,
                         .rn = vector * (wide ? 2 : 3),
                         .vw = vector,
                         .stages = 1,
                         .band = BAND,
                         .form = XL__FORM_ITEM};
    const size_t n_deep = sizeof thread_depths / sizeof *thread_depths;
    for (size_t i = 0; s->rate == 0 && i < n_deep; i++) {
        t.tk = thread_depths[i];
        for (size_t j = 0; j < sizeof threads / sizeof *threads; j++) {
            t.tm = threads[j].rows;
            t.tn = threads[j].cols * t.rn;
            consider(s, &t);
        }
    }
}

/* Vectors to be written out: a thread per item. 0: items are lanes. */
static size_t thread_vector(const struct xl__limits *l)
{
    const double native = xl__num_or(l, XL__F_native_vector_f32, 1);
    if (!xl__is(l, XL__F_is_cpu) || !(native >= 4))
        return 0;
    return native >= 16 ? 16 : native >= 8 ? 8 : 4;
}

void xl__tile_choose(const struct xl__limits *l, size_t m, size_t n,
                     struct xl__params *out)
{
    struct search s = {.l = l, .m = m, .n = n};
    const size_t vector = thread_vector(l);
    if (vector > 0)
        search_threads(&s, vector);
    if (s.rate == 0)
        search_groups(&s);
    *out = params_of(&s.best); /* all 0 when nothing fits: plan() refuses */
}
