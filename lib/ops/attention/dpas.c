/* SPDX-License-Identifier: Apache-2.0 */
/* attention_dpas: attention on a sub-group's systolic matrix instruction. A
 * first step packs k and v into tiles of it, so that any layout of them is
 * supported, also packed and paged ones; groups that divide the keys are for
 * few queries and many keys. Estimates and registers: IN-19. */
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"

enum { SV = XL__ATTENTION_TUNABLES, SPLIT, N_TUNABLES };
enum { WHOLE = 1, PARTS };
enum {
    LINE_BYTES = 32, /* of a row of A in it, which is 16 elements */
    DEEP = 16,
    MOST_COLUMNS = 192, /* of a sub-group, in the kernel */
    ALIGN = 64,         /* of what is packed */
    EACH = 8,           /* elements of 16 bytes */
    PACK_ITEMS = 64
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "rows of a group", {8, 16, 32, 64, 128, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a block", {16, 32, 64, 0}},
    [SV] = {"SV", "sub-groups along the columns of v", {1, 2, 0}},
    [SPLIT] = {"SPLIT", "keys: 1 whole, 2 in parts", {WHOLE, PARTS, 0}},
    {NULL, NULL, {0}}};

/* Largest first. */
static const unsigned char sets[][N_TUNABLES] = {
    {128, 64, 1, WHOLE}, {128, 32, 1, WHOLE}, {128, 16, 1, WHOLE},
    {64, 64, 1, WHOLE},  {64, 64, 1, PARTS},  {64, 32, 1, WHOLE},
    {64, 32, 1, PARTS},  {64, 32, 2, WHOLE},  {64, 32, 2, PARTS},
    {32, 32, 1, WHOLE},  {32, 32, 1, PARTS},  {32, 32, 2, WHOLE},
    {32, 32, 2, PARTS},  {16, 32, 1, WHOLE},  {16, 32, 1, PARTS},
    {16, 32, 2, WHOLE},  {16, 32, 2, PARTS},  {8, 32, 1, WHOLE},
    {8, 32, 1, PARTS},   {8, 16, 2, PARTS},
};
enum { N_SETS = sizeof sets / sizeof *sets };

/* The kernel's. */
struct layout {
    size_t bq, bk, sv, items, dp, local_bytes;
    size_t parts, parts_bytes;
    size_t lines; /* of 32 bytes: of k of a head, of v */
    size_t scratch_bytes;
    double registers; /* of an item */
    bool has_all_registers, holds_q, is_split;
};

static double item_registers(const struct xl__limits *l)
{
    return xl__num_or(l, XL__F_registers_per_item,
                      xl__model(l, XL__M_item_registers));
}

/* Sums, scores and the rest, which is more where scores are more than scaled
 * products and where sequences have addresses of their own; q where all
 * registers leave enough: all are twice as many, of half as many sub-groups.
 */
static void set_registers(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          struct layout *s)
{
    enum { OTHER = 56, OPTIONS = 24, LENGTHS = 16, PER_WORD = 2 };
    const double some = item_registers(l), all = 2 * some;
    const double q = (double)(s->dp / PER_WORD);
    const bool is_equal = !c->q_rows.kind && !c->kv_rows.kind;
    s->registers =
        (double)(s->dp / s->sv + s->bk + OTHER +
                 (xl__attention_has_score(c) ? (size_t)OPTIONS : 0) +
                 (is_equal ? 0 : (size_t)LENGTHS));
    s->holds_q = s->registers + q <= all;
    if (s->holds_q)
        s->registers += q;
    s->has_all_registers = s->registers > some;
    s->local_bytes = s->holds_q ? 0 : s->items * s->dp * PER_WORD;
}

static size_t count_groups(const struct xl__attention_canonical *c, size_t bq)
{
    return xl__ceil_div(c->n_q * xl__attention_share(c), bq) * c->n_kv_heads *
           c->n_batch;
}

static size_t sub_groups(const struct xl__attention_canonical *c,
                         const xl_matrix_op *op, const struct layout *s)
{
    return count_groups(c, s->bq) * s->parts * (s->items / op->lanes);
}

/* As many parts as give each unit the threads that hide its latency, of a few
 * blocks each. */
static size_t count_parts(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const xl_matrix_op *op, const struct layout *s)
{
    enum { THREADS = 4, LEAST_BLOCKS = 3 };
    const size_t blocks = xl__ceil_div(c->n_kv, s->bk),
                 wanted = xl__ceil_div(THREADS * xl__n_units(l),
                                       sub_groups(c, op, s));
    return xl__max_size(
        1, xl__min_size(wanted, xl__min_size(blocks / LEAST_BLOCKS,
                                             xl__attention_most_parts(c))));
}

/* Parts of the rows, then k, then v. Returns false where the kernel, which
 * counts bytes in 32 bits, cannot. */
static bool lay_out(const struct xl__limits *l,
                    const struct xl__attention_canonical *c, struct layout *s)
{
    size_t bytes;
    s->parts_bytes =
        s->is_split
            ? xl__round_up(xl__attention_parts_bytes(c, s->parts), ALIGN)
            : 0;
    s->lines = xl__round_up(c->n_kv, s->bk) * (s->dp / DEEP);
    return xl__mul(s->lines, 2 * LINE_BYTES, &bytes) &&
           xl__mul(bytes, c->n_kv_heads * c->n_batch, &bytes) &&
           xl__add(bytes, s->parts_bytes, &s->scratch_bytes) &&
           s->scratch_bytes <= UINT32_MAX &&
           (double)s->scratch_bytes <=
               xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

/* False: the kernel, or the device, has no such set. */
static bool layout_of(const struct xl__limits *l,
                      const struct xl__attention_canonical *c,
                      const xl_matrix_op *op, const int *value,
                      struct layout *s)
{
    *s = (struct layout){.bq = (size_t)value[XL__ATTENTION_BQ],
                         .bk = (size_t)value[XL__ATTENTION_BK],
                         .sv = (size_t)value[SV],
                         .is_split = value[SPLIT] == PARTS,
                         .parts = 1,
                         .dp = xl__round_up(c->d_head, DEEP)};
    s->items = s->bq * s->sv;
    if (!s->items || s->bq % op->lanes || !s->bk || s->bk % DEEP ||
        xl__is_refused(l, s->bq, s->bk) || s->dp / s->sv > MOST_COLUMNS)
        return false;
    set_registers(l, c, s);
    if (s->is_split)
        s->parts = count_parts(l, c, op, s);
    return s->registers <= 2 * item_registers(l) &&
           s->items <= xl__most_items(l, s->items) &&
           s->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           lay_out(l, c, s);
}

bool xl__attention_dpas_listed(const xl_matrix_op *op, size_t i,
                               struct xl__params *out)
{
    *out = (struct xl__params){.source = "model"};
    for (unsigned t = 0; i < N_SETS && t < N_TUNABLES; t++)
        out->value[t] = sets[i][t];
    if (i < N_SETS && sets[i][XL__ATTENTION_BQ] % op->lanes)
        out->value[XL__ATTENTION_BQ] = (int)op->lanes;
    return i < N_SETS;
}

/* -- the model ------------------------------------------------------------ */

/* Keys that a sub-group multiplies, of its part: those that a row sees, and
 * with a limit those that others of the group and of the blocks see. */
static double keys_of(const struct xl__attention_canonical *c,
                      const struct layout *s)
{
    const double rows = (double)(c->n_heads * c->n_batch * c->n_q),
                 seen = xl__attention_pairs(c) / rows,
                 all = (double)xl__round_up(c->n_kv, s->bk),
                 beside = (double)s->bq / (double)xl__attention_share(c) +
                          (double)s->bk;
    return fmin(all, seen < (double)c->n_kv ? seen + beside / 2 : all) /
           (double)s->parts;
}

/* Clocks in which a compute unit computes one sub-group's rows. Instructions
 * of the engine, loads from the caches, and those that make weights of scores
 * overlap, since a unit has several sub-groups. What these share comes from
 * the second cache once, which is slower than the first. */
static double tile_clocks(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const xl_matrix_op *op, const struct layout *s,
                          double flop_per_clock)
{
    static const double plain = 12, options = 60, cap = 160, block = 60,
                        second = 8;
    const struct xl__dpas_model *m = l->model.dpas;
    const double keys = keys_of(c, s),
                 columns = (double)(s->dp + s->dp / s->sv);
    const double multiply =
        2 * keys * columns * (double)op->lanes / flop_per_clock;
    const double load = keys * (double)xl_dtype_bytes(op->a) / m->load_bytes *
                        fmax(columns, 2 * (double)s->dp * second /
                                          (double)(s->items / op->lanes));
    const double scores = keys * ((c->has_cap                   ? cap
                                   : xl__attention_has_score(c) ? options
                                                                : plain) +
                                  block / (double)s->bk);
    const double longest = fmax(fmax(multiply, load), scores);
    return longest + m->shown * (multiply + load + scores - longest) +
           m->begin_clocks +
           (double)(s->dp / s->sv * op->lanes) / m->sums_per_clock;
}

static struct xl__cost cost_of(const struct xl__limits *l,
                               const struct xl__attention_canonical *c,
                               const xl_matrix_op *op, const struct layout *s)
{
    enum { VISITS = 2 };
    static const double ns_per_s = 1e9;
    const double n_units = (double)xl__n_units(l), clock = xl__rate_clock(l),
                 n = (double)sub_groups(c, op, s);
    const double packed = (double)(s->scratch_bytes - s->parts_bytes) * VISITS;
    return (struct xl__cost){
        .fill = fmin(1, n / n_units),
        .busy_ns =
            ceil(n / n_units) * ns_per_s / clock *
            tile_clocks(l, c, op, s, xl__mma_rate(l, op) / (n_units * clock)),
        .bytes = xl__attention_bytes(c),
        .bytes_frac = l->model.dpas->bytes_frac,
        .serial_bytes = packed + VISITS * (double)s->parts_bytes,
        .launches = s->is_split ? 3 : 2};
}

/* The set of the least estimate, of equal ones the first, whose groups are at
 * most half empty; false: none fits. */
static bool find_tunables(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          struct xl__params *out)
{
    const xl_matrix_op *op = xl__dpas_op(l, c->view[XL__ATTENTION_Q].dtype);
    const size_t rows = c->n_q * xl__attention_share(c);
    double least = INFINITY;
    struct xl__params params;
    for (size_t i = 0; xl__attention_dpas_listed(op, i, &params); i++) {
        struct layout s;
        const char *bound;
        if (!layout_of(l, c, op, params.value, &s) ||
            (s.bq > op->lanes && s.bq >= 2 * rows))
            continue;
        const struct xl__cost work = cost_of(l, c, op, &s);
        const double ns = xl__work_ns(l, &work, &bound);
        if (ns >= least)
            continue;
        least = ns;
        *out = params;
    }
    return least < INFINITY;
}

/* -- plan ----------------------------------------------------------------- */

/* VA of the kernels. */
static bool is_aligned(const struct xl__attention_canonical *c)
{
    enum { BYTES = 16 };
    bool is = c->d_head % EACH == 0;
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_O; i++)
        is = is && c->view[i].offset >= BYTES;
    return is;
}

/* What both kernels are built with. */
static void define_all(struct xl__step *step, const xl_matrix_op *op,
                       const struct xl__attention_canonical *c)
{
    xl__dpas_define(step, op);
    xl__define(step, "VA", is_aligned(c));
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
}

static void add_pack(const struct xl__attention_canonical *c,
                     const xl_matrix_op *op, const struct layout *s,
                     struct xl__plan *p)
{
    const size_t heads = c->n_kv_heads * c->n_batch,
                 first = s->parts_bytes / LINE_BYTES;
    struct xl__step *step = xl__plan_add(p, "attention/intel/dpas_pack.cl",
                                         "attention_dpas_pack", 0, 1);
    step->is_aid = true;
    xl__step_set_3d(step, PACK_ITEMS, s->lines, heads, 2);
    step->slice_dim = 1;
    define_all(step, op, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, first);
    xl__arg_u64(step, first + heads * s->lines);
    xl__arg_u64(step, s->lines);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const xl_matrix_op *op = xl__dpas_op(l, c->view[XL__ATTENTION_Q].dtype);
    struct layout s;
    if (!op || !layout_of(l, c, op, params->value, &s))
        return XL_UNSUPPORTED;
    const size_t heads = c->n_kv_heads * c->n_batch,
                 bytes = s.lines * LINE_BYTES;
    const struct xl__defined defines[] = {{"BQ", s.bq},
                                          {"BK", s.bk},
                                          {"SV", s.sv},
                                          {"QREG", s.holds_q},
                                          {"JOIN", s.is_split}};
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    p->scratch_bytes = s.scratch_bytes;
    add_pack(c, op, &s, p);
    struct xl__step *step = xl__plan_add(p, "attention/intel/dpas.cl",
                                         "attention_dpas", s.items, s.items);
    xl__step_set_3d(step, s.items, count_groups(c, s.bq) / heads * s.items,
                    heads, s.parts);
    step->local_mem_bytes = s.local_bytes;
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    if (s.has_all_registers)
        xl__step_add_option(step, l->model.dpas->registers_option);
    define_all(step, op, c);
    xl__attention_parts_args(step, s.parts);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u32(step, s.parts_bytes);
    xl__arg_u32(step, s.parts_bytes + heads * bytes);
    xl__arg_u32(step, bytes);
    if (s.is_split)
        xl__attention_join(l, c, s.parts, p);
    const struct xl__cost work = cost_of(l, c, op, &s);
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* -- choice --------------------------------------------------------------- */

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__attention_canonical *c = desc;
    const xl_dtype dtype = c->view[XL__ATTENTION_Q].dtype;
    struct xl__params params;
    if (dtype != XL_F16 && dtype != XL_BF16)
        return "f32 would be rounded";
    if (!xl__dpas_op(l, dtype))
        return xl__dpas_refused;
    const char *why = xl__attention_needs_type(c);
    if (!why)
        why = xl__attention_needs_rows(c);
    if (why)
        return why;
    if (c->n_q * xl__attention_share(c) > INT32_MAX / 2 ||
        c->n_heads * c->n_batch > INT32_MAX)
        return "rows are counted in 32 bits";
    if (!find_tunables(l, c, &params))
        return "no tile fits the device's registers, or the packed keys and "
               "values its memory and 32 bits";
    return NULL;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    (void)find_tunables(l, desc, out);
}

const struct xl__variant xl__attention_dpas = {
    .name = "attention_dpas",
    .repeats = "bit for bit: each row's sums are in an order of keys",
    .tunables = tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
