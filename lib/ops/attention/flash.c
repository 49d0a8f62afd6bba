/* SPDX-License-Identifier: Apache-2.0 */
/* attention_flash: tiles in local memory, sums in registers of a work-group;
 * for any device with groups of 64 items and 16 KiB of local memory. */
#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { LX = XL__ATTENTION_TUNABLES, LY, N_TUNABLES };
enum {
    VECTOR = 4,
    LEAST_BYTES = 2 /* local_bytes_per_fma() of the set that reads least */
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "rows of a tile", {8, 16, 32, 64, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a tile", {16, 32, 64, 0}},
    [LX] = {"LX", "items along the keys", {4, 8, 16, 0}},
    [LY] = {"LY", "items along the rows", {8, 16, 0}},
    {NULL, NULL, {0}}};

/* Largest tiles of an item first: the more rows and keys it has, the fewer
 * bytes it reads from local memory for an FMA. */
static const int sets[][N_TUNABLES] = {
    {64, 32, 8, 8},  {64, 64, 8, 16}, {64, 64, 16, 16},
    {32, 64, 16, 8}, {32, 32, 16, 8}, {32, 32, 8, 8},
    {16, 32, 8, 8},  {8, 32, 8, 8},   {8, 16, 8, 8}};
enum { N_SETS = sizeof sets / sizeof *sets };

/* The kernel's. */
struct layout {
    size_t bq, bk, lx, wg, w, dp, local_bytes;
    double rows, keys; /* of an item */
};

static struct layout layout_of(const struct xl__attention_canonical *c,
                               const int *value)
{
    struct layout s = {.bq = (size_t)value[XL__ATTENTION_BQ],
                       .bk = (size_t)value[XL__ATTENTION_BK],
                       .lx = (size_t)value[LX]};
    s.wg = s.lx * (size_t)value[LY];
    s.w = VECTOR * s.lx;
    s.dp = xl__round_up(c->d_head, s.w);
    s.rows = (double)(s.bq * s.lx / s.wg);
    s.keys = (double)(s.bk / s.lx);
    s.local_bytes = sizeof(float) *
                    (s.bq * (s.dp + VECTOR) + s.bk * (s.w + VECTOR) +
                     s.bq * (s.bk + VECTOR) + s.bq * s.lx);
    return s;
}

static size_t count_groups(const struct xl__attention_canonical *c, size_t bq)
{
    return xl__ceil_div(c->n_q * xl__attention_share(c), bq) * c->n_kv_heads *
           c->n_batch;
}

/* Iterations of an item: columns of k, keys of v, and copies, for each tile of
 * keys and W columns. */
static double iterations_of(const struct xl__attention_canonical *c,
                            const struct layout *s)
{
    const size_t copies = xl__ceil_div(s->bk * s->lx, s->wg);
    return (double)xl__ceil_div(c->n_kv, s->bk) * (double)(s->dp / s->w) *
           (double)(s->w / VECTOR + s->bk / VECTOR + 2 * copies);
}

static bool fits(const struct xl__limits *l,
                 const struct xl__attention_canonical *c,
                 const struct layout *s)
{
    return s->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           s->wg <= xl__most_items(l, s->wg) &&
           !xl__is_refused(l, s->bq, s->bk) &&
           !xl__iterations_refused(l, iterations_of(c, s));
}

/* Items have more than 4 rows and keys: whether their registers hold sums,
 * scores, a vector of each key and of a row, and what is kept of each row, and
 * a unit has enough of them at a time. */
static bool is_too_large(const struct xl__limits *l, const struct layout *s)
{
    enum { SMALL = 16, OF_ROW = 5, SOME = 20, ENOUGH_ITEMS = 256 };
    if (s->rows * s->keys <= SMALL)
        return false;
    if (!xl__is(l, XL__F_has_local_mem))
        return true;
    const double registers = s->rows * (double)(s->dp / s->lx) +
                             s->rows * s->keys + VECTOR * (s->keys + 1) +
                             OF_ROW * s->rows + SOME;
    return registers > xl__num_or(l, XL__F_registers_per_item,
                                  xl__model(l, XL__M_item_registers)) ||
           xl__size_or(l, XL__F_local_mem_bytes, 0) / s->local_bytes * s->wg <
               ENOUGH_ITEMS;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    for (unsigned i = 0; i < N_SETS; i++) {
        const struct layout s = layout_of(desc, sets[i]);
        if (fits(l, desc, &s))
            return xl__attention_needs_rows(desc);
    }
    return "no tile fits the device's local memory, work-groups and loops";
}

/* The largest set that leaves no unit idle and half of a unit's local memory to
 * another group; of those that fit, the last one does not. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { RESIDENT = 2 };
    const struct xl__attention_canonical *c = desc;
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    unsigned best = N_SETS - 1;
    for (unsigned i = 0; i < N_SETS; i++) {
        const struct layout s = layout_of(c, sets[i]);
        if (!fits(l, c, &s) || is_too_large(l, &s))
            continue;
        best = i;
        if (s.local_bytes * RESIDENT <= room &&
            s.bq / 2 < c->n_q * xl__attention_share(c) &&
            count_groups(c, s.bq) >= xl__n_units(l))
            break;
    }
    for (unsigned i = 0; i < N_TUNABLES; i++)
        out->value[i] = sets[best][i];
    out->source = "model";
}

/* Whether rows of q, k and v may be read by aligned vectors. */
static bool is_aligned(const struct xl__attention_canonical *c)
{
    bool aligned = c->d_head % VECTOR == 0;
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_V; i++)
        aligned = aligned && c->view[i].offset >=
                                 VECTOR * xl_dtype_bytes(c->view[i].dtype);
    return aligned;
}

/* Bytes that an item reads from local memory for an FMA: values of q and k for
 * the scores of its rows and keys, weights and values of v for its sums
 * (NV-71). */
static double local_bytes_per_fma(const struct layout *s)
{
    return (double)sizeof(float) *
           (1 / s->rows + 1 / s->keys + 1 / s->rows + 1 / (double)VECTOR) / 2;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const struct layout s = layout_of(c, params->value);
    const size_t heads = c->n_kv_heads * c->n_batch,
                 groups = count_groups(c, s.bq);
    if (s.bq % (size_t)params->value[LY] != 0 || s.bk % s.lx != 0 ||
        !fits(l, c, &s))
        return XL_UNSUPPORTED;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    struct xl__step *step =
        xl__plan_add(p, "attention/flash.cl", "attention_flash", s.wg, s.wg);
    xl__step_set_3d(step, s.wg, groups / heads * s.wg, heads, 1);
    step->local_mem_bytes = s.local_bytes;
    for (unsigned i = 0; i < N_TUNABLES; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    xl__define(step, "VA", is_aligned(c));
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    const size_t rows = c->n_q * xl__attention_share(c);
    const struct xl__cost work = {
        .flop = p->flop * (double)s.dp / (double)c->d_head *
                (double)xl__round_up(rows, s.bq) / (double)rows,
        .flop_frac = xl__model(l, XL__M_attention_flash_frac) * LEAST_BYTES /
                     local_bytes_per_fma(&s),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)groups),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_flash = {
    .name = "attention_flash",
    .repeats = "bit for bit: each row's sums are in an order of keys",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
