/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward_flash: weights are computed again by tiles in local
 * memory, once for grad_q and once for grad_k and grad_v; for any device with
 * groups of 64 items and 16 KiB of local memory. */
#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { LX = XL__ATTENTION_TUNABLES, LY, N_TUNABLES };
enum {
    VECTOR = 4,
    MOST_SUMS = 64 /* floats of grad_k and grad_v that an item keeps */
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "queries of a tile", {8, 16, 32, 64, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a tile", {8, 16, 32, 64, 0}},
    [LX] = {"LX", "items along the rows of a tile", {4, 8, 16, 0}},
    [LY] = {"LY", "items along the lines", {8, 16, 0}},
    {NULL, NULL, {0}}};

/* Largest first; each has at most 4 lines and 4 rows an item. */
static const int sets[][N_TUNABLES] = {{64, 64, 16, 16}, {32, 32, 16, 16},
                                       {32, 32, 8, 8},   {16, 16, 16, 16},
                                       {16, 16, 8, 8},   {8, 8, 8, 8}};
enum { N_SETS = sizeof sets / sizeof *sets };

/* The kernels'. */
struct layout {
    size_t bq, bk, lx, ly, wg, w, dp, local_bytes;
};

static struct layout layout_of(const struct xl__attention_canonical *c,
                               const int *value)
{
    struct layout s = {.bq = (size_t)value[XL__ATTENTION_BQ],
                       .bk = (size_t)value[XL__ATTENTION_BK],
                       .lx = (size_t)value[LX],
                       .ly = (size_t)value[LY]};
    const size_t most = xl__max_size(s.bq, s.bk);
    s.wg = s.lx * s.ly;
    s.w = VECTOR * s.lx;
    s.dp = xl__round_up(c->d_head, s.w);
    s.local_bytes = sizeof(float) * ((s.bq + s.bk) * (s.w + VECTOR) +
                                     s.bq * s.bk + VECTOR * most);
    return s;
}

/* Groups of the step for grad_q, or of the one for grad_k and grad_v. */
static size_t count_groups(const struct xl__attention_canonical *c,
                           const struct layout *s, bool is_of_keys)
{
    return c->n_batch * (is_of_keys
                             ? c->n_kv_heads * xl__ceil_div(c->n_kv, s->bk)
                             : c->n_heads * xl__ceil_div(c->n_q, s->bq));
}

/* Iterations of an item: for each tile, columns of two products and rows of
 * two others, with the copies of their tiles. */
static double iterations_of(const struct xl__attention_canonical *c,
                            const struct layout *s)
{
    enum { PRODUCTS = 2 };
    const size_t tiles =
        xl__max_size(xl__ceil_div(c->n_kv, s->bk),
                     xl__ceil_div(c->n_q, s->bq) * xl__attention_share(c));
    const size_t most = xl__max_size(s->bq, s->bk),
                 copies = xl__ceil_div(most * s->lx, s->wg);
    return PRODUCTS * (double)tiles * (double)(s->dp / s->w) *
           (double)(s->w / VECTOR + most / VECTOR + (PRODUCTS + 1) * copies);
}

static bool fits(const struct xl__limits *l,
                 const struct xl__attention_canonical *c,
                 const struct layout *s)
{
    return s->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           s->wg <= xl__most_items(l, s->wg) &&
           !xl__is_refused(l, s->bq, s->bk) &&
           2 * s->bk * s->dp <= MOST_SUMS * s->wg &&
           !xl__iterations_refused(l, iterations_of(c, s));
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

/* As of attention_flash: the largest set that leaves no unit idle and half of
 * a unit's local memory to another group; of those that fit, the last one does
 * not. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { RESIDENT = 2 };
    const struct xl__attention_canonical *c = desc;
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    unsigned best = N_SETS - 1;
    for (unsigned i = 0; i < N_SETS; i++) {
        const struct layout s = layout_of(c, sets[i]);
        if (!fits(l, c, &s))
            continue;
        best = i;
        if (s.local_bytes * RESIDENT <= room && s.bq / 2 < c->n_q &&
            s.bk / 2 < c->n_kv && count_groups(c, &s, true) >= xl__n_units(l))
            break;
    }
    for (unsigned i = 0; i < N_TUNABLES; i++)
        out->value[i] = sets[best][i];
    out->source = "model";
}

/* Whether rows that are read may be read by aligned vectors. */
static bool is_aligned(const struct xl__attention_canonical *c)
{
    static const unsigned read[] = {XL__ATTENTION_Q, XL__ATTENTION_K,
                                    XL__ATTENTION_V, XL__ATTENTION_GRAD_O};
    bool aligned = c->d_head % VECTOR == 0;
    for (unsigned i = 0; i < sizeof read / sizeof *read; i++) {
        const xl_heads *x = &c->view[read[i]];
        aligned = aligned && x->offset >= VECTOR * xl_dtype_bytes(x->dtype);
    }
    return aligned;
}

static void add_delta(const struct xl__limits *l,
                      const struct xl__attention_canonical *c,
                      struct xl__plan *p)
{
    enum { ITEMS = 64, VALUES = 2 };
    const size_t wg = xl__most_items(l, ITEMS),
                 rows = c->n_batch * c->n_heads * c->n_q;
    struct xl__step *step =
        xl__plan_add(p, "attention/backward_flash.cl",
                     "attention_backward_delta", xl__round_up(rows, wg), wg);
    step->is_aid = true;
    p->scratch_bytes = rows * VALUES * sizeof(float);
    xl__define(step, "STEP", 1);
    xl__attention_defines(step, c);
    xl__attention_backward_args(step, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, rows);
}

static void add_gradients(const struct xl__attention_canonical *c,
                          const struct layout *s, const int *value,
                          bool is_of_keys, struct xl__plan *p)
{
    const size_t heads =
        c->n_batch * (is_of_keys ? c->n_kv_heads : c->n_heads);
    struct xl__step *step = xl__plan_add(p, "attention/backward_flash.cl",
                                         is_of_keys ? "attention_backward_kv"
                                                    : "attention_backward_q",
                                         s->wg, s->wg);
    xl__step_set_3d(step, s->wg,
                    count_groups(c, s, is_of_keys) / heads * s->wg, heads, 1);
    step->local_mem_bytes = s->local_bytes;
    xl__define(step, "STEP", is_of_keys ? 3 : 2);
    for (unsigned i = 0; i < N_TUNABLES; i++)
        xl__define(step, tunables[i].name, value[i]);
    xl__define(step, "VA", is_aligned(c));
    xl__attention_defines(step, c);
    xl__attention_backward_args(step, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    /* Of a pair: three and four products of a column. */
    static const double flop = 2, products = 7;
    const struct xl__attention_canonical *c = desc;
    const struct layout s = layout_of(c, params->value);
    if (s.bq % s.ly != 0 || s.bk % s.ly != 0 || s.bq % s.lx != 0 ||
        s.bk % s.lx != 0 || !fits(l, c, &s))
        return XL_UNSUPPORTED;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    add_delta(l, c, p);
    add_gradients(c, &s, params->value, false, p);
    add_gradients(c, &s, params->value, true, p);
    const struct xl__cost work = {
        .flop = xl__attention_pairs(c) * flop * products * (double)s.dp,
        .flop_frac = xl__model(l, XL__M_attention_flash_frac),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)count_groups(c, &s, true)),
        .launches = 3};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_backward_flash = {
    .name = "attention_backward_flash",
    .repeats = "bit for bit: sums are in an order of heads and rows",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
