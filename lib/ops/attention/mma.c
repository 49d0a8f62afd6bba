/* SPDX-License-Identifier: Apache-2.0 */
/* attention_mma: attention on a sub-group's matrix instructions. Tiles of many
 * rows for prompts; for few queries and many keys, tiles of one instruction's
 * rows, whose groups divide the keys. Where the instructions' sums are reduced
 * by rows, attention/mma.cl computes scores; where by columns,
 * attention/mma_transposed.cl computes the transposed ones. f32 is rounded to
 * 11 bits; of attention_mma_split, it is a sum of two such terms, whose three
 * largest products are added; of attention_mma_terms, terms are f16, for which
 * the engine has twice the rate, and those of k and v are computed first. */
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"
#include "ops/path/matrix_engine.h"

enum { RM = XL__ATTENTION_TUNABLES, SK, ST, SPLIT, N_TUNABLES };
enum { WHOLE = 1, PARTS };
enum {
    ALIGN = 16,           /* bytes of a copy */
    EACH = 8,             /* elements of one */
    STATE = 2,            /* floats of a row's part besides its sums */
    ROW_BYTES = 80,       /* of struct row, attention/attention.clh */
    MOST_STRIDE = 1 << 24 /* so that 128 rows of 2 bytes fit in 32 bits */
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "rows of a group", {16, 32, 64, 128, 256, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a block", {32, 48, 64, 128, 0}},
    [RM] = {"RM", "fragments along the rows of a sub-group", {1, 2, 0}},
    [SK] = {"SK", "sub-groups along the keys", {1, 2, 4, 8, 0}},
    [ST] = {"ST", "blocks in local memory", {1, 2, 3, 4, 6, 0}},
    [SPLIT] = {"SPLIT", "keys: 1 whole, 2 in parts", {WHOLE, PARTS, 0}},
    {NULL, NULL, {0}}};

/* Largest first. */
static const int sets[][N_TUNABLES] = {
    {128, 64, 2, 1, 2, WHOLE}, {128, 48, 2, 1, 2, WHOLE},
    {128, 32, 2, 1, 2, WHOLE}, {128, 64, 1, 1, 2, WHOLE},
    {64, 64, 1, 1, 2, WHOLE},  {64, 64, 1, 1, 2, PARTS},
    {64, 32, 1, 1, 2, WHOLE},  {64, 32, 1, 1, 2, PARTS},
    {32, 64, 1, 2, 3, WHOLE},  {32, 64, 1, 2, 3, PARTS},
    {32, 32, 1, 1, 2, WHOLE},  {32, 32, 1, 1, 2, PARTS},
    {16, 128, 1, 8, 2, WHOLE}, {16, 128, 1, 8, 2, PARTS},
    {16, 64, 1, 4, 4, PARTS},  {16, 64, 1, 4, 2, WHOLE},
    {16, 64, 1, 4, 2, PARTS},
    {16, 32, 1, 2, 2, WHOLE},  {16, 32, 1, 2, 2, PARTS},
};
enum { N_SETS = sizeof sets / sizeof *sets };

/* By columns: a fragment and a block in registers, another in local memory. */
static const int transposed_sets[][N_TUNABLES] = {
    {256, 64, 1, 1, 1, WHOLE}, {128, 64, 1, 1, 1, WHOLE},
    {128, 64, 1, 1, 1, PARTS}, {128, 32, 1, 1, 1, WHOLE},
    {64, 64, 1, 1, 1, WHOLE},  {64, 64, 1, 1, 1, PARTS},
    {64, 32, 1, 1, 1, WHOLE},  {64, 32, 1, 1, 1, PARTS},
    {32, 64, 1, 1, 1, WHOLE},  {32, 64, 1, 1, 1, PARTS},
    {32, 32, 1, 1, 1, WHOLE},  {32, 32, 1, 1, 1, PARTS},
    {16, 32, 1, 1, 1, WHOLE},  {16, 32, 1, 1, 1, PARTS},
};
enum { N_TRANSPOSED = sizeof transposed_sets / sizeof *transposed_sets };

/* The kernel's. */
struct layout {
    size_t bq, bk, rm, sm, sk, stages, items, dp, room_bytes, local_bytes;
    double registers; /* of an item */
    bool holds_q, is_split, is_transposed;
    bool has_terms; /* terms of k and v are in memory */
};

static double item_registers(const struct xl__limits *l)
{
    return xl__num_or(l, XL__F_registers_per_item,
                      xl__model(l, XL__M_item_registers));
}

/* Of a group of so many items, by columns. */
static double most_registers(const struct xl__limits *l, size_t items)
{
    return fmin(l->model.mma->attention_registers,
                xl__num_or(l, XL__F_registers_per_cu, INFINITY) /
                    (double)items);
}

/* Of terms: products of the instructions for each of the caller's. */
enum { SPLIT_PRODUCTS = 3 };

/* Is f32 multiplied as two terms? */
static bool has_two_terms(const struct xl__attention_canonical *c)
{
    return c->accuracy == XL_ACCURACY_SPLIT;
}

/* Bytes of a line of local memory that has so many, from `least` on: as
 * common/matrix.clh requires. */
static size_t line_of(size_t bytes, size_t least)
{
    enum { BANKS = 128 };
    size_t line = least;
    while (line < bytes)
        line += line < BANKS ? line : BANKS;
    return line;
}

/* Registers: sums, scores, the next block, q where it leaves enough, and the
 * rest, as in the binaries of the offline compiler. */
static void add_transposed(const struct xl__limits *l,
                           const struct xl__attention_canonical *c,
                           const xl_matrix_op *op, struct layout *s)
{
    enum { OTHER = 108, CHUNK = 4, PER_ADDRESS = 8 };
    const struct xl__mma_step step = xl__mma_step(op);
    s->sm = s->bq / op->n;
    s->items = op->lanes * s->sm;
    if (s->items == 0)
        return;
    s->dp = xl__round_up(c->d_head, step.stack);
    const size_t bytes = s->dp * xl_dtype_bytes(op->a),
                 line = line_of(bytes, step.stack * xl_dtype_bytes(op->a)),
                 keys = s->bk * xl_dtype_bytes(op->a);
    const size_t block =
        s->bk * s->dp / EACH; /* copies of 16 bytes, of each */
    const size_t held = CHUNK * xl__ceil_div(block, s->items) +
                        EACH * xl__ceil_div(block / 2, s->items);
    const size_t q_words = s->dp / step.k * step.b_words;
    s->room_bytes = s->bk * line + s->dp * keys;
    s->registers = (double)((s->dp + s->bk) * op->n / op->lanes + held +
                            held / PER_ADDRESS + OTHER +
                            (xl__attention_has_score(c) ? s->bk : 0));
    s->holds_q = s->registers + (double)q_words <= most_registers(l, s->items);
    if (s->holds_q)
        s->registers += (double)q_words;
    s->local_bytes = s->room_bytes + (s->holds_q ? 0 : s->bq * line);
}

/* Those that an item needs: sums, of f32 also those of a block, scores, of f32
 * also as weights, the held part of q, and the rest, which is more where
 * scores are more than scaled products, and where sequences have addresses of
 * their own, twice as many beside a held q. */
static double registers_of(const struct xl__attention_canonical *c,
                           const xl_matrix_op *op, const struct layout *s)
{
    enum {
        OTHER = 64,
        OPTIONS = 48,
        LENGTHS = 16,
        SUMS = 2,
        HELD = 4,
        OF_BLOCK = 32
    };
    const bool is_equal = !c->q_rows.kind && !c->kv_rows.kind;
    const bool is_f32 = c->view[XL__ATTENTION_K].dtype == XL_F32;
    const size_t terms = s->has_terms ? 2 : 1;
    const size_t scores = s->bk / s->sk / SUMS * (is_f32 ? 2 : 1);
    return (double)(s->rm * (s->dp / SUMS + scores) +
                    (is_f32 ? (size_t)OF_BLOCK : 0) +
                    (s->holds_q ? terms * HELD * s->rm * s->dp / op->k : 0) +
                    OTHER +
                    (xl__attention_has_score(c) ? (size_t)OPTIONS : 0) +
                    (is_equal ? 0 : (size_t)LENGTHS << s->holds_q));
}

static struct layout layout_of(const struct xl__limits *l,
                               const struct xl__attention_canonical *c,
                               const xl_matrix_op *op, const int *value)
{
    enum { PAD = 8, HELD_FRAGMENTS = 8, DEEP = 32 };
    struct layout s = {.bq = (size_t)value[XL__ATTENTION_BQ],
                       .bk = (size_t)value[XL__ATTENTION_BK],
                       .rm = (size_t)value[RM],
                       .sk = (size_t)value[SK],
                       .stages = (size_t)value[ST],
                       .is_split = value[SPLIT] == PARTS,
                       .has_terms = op->a != c->view[XL__ATTENTION_K].dtype,
                       .is_transposed = xl__mma_step(op).stack > 0};
    if (s.is_transposed) {
        add_transposed(l, c, op, &s);
        return s;
    }
    s.sm = s.bq / (s.rm * op->m);
    s.items = op->lanes * s.sm * s.sk;
    s.dp = xl__round_up(c->d_head, xl__max_size(op->k, 2 * op->n));
    const size_t columns = s.has_terms ? 2 * s.dp : s.dp;
    s.holds_q = s.rm * columns <= HELD_FRAGMENTS * op->k;
    const size_t line = line_of(columns * xl_dtype_bytes(op->a), DEEP);
    s.room_bytes = xl__max_size(2 * s.stages * s.bk * line,
                                sizeof(float) * s.sk * s.bq * (s.dp + PAD));
    s.local_bytes = s.room_bytes +
                    s.bq * (line + ROW_BYTES + STATE * sizeof(float) * s.sk);
    s.registers = registers_of(c, op, &s);
    return s;
}

/* Bytes of the terms, and of two factors of each block:
 * attention/split_terms.clh. */
static size_t terms_bytes(const struct xl__attention_canonical *c,
                          const struct layout *s)
{
    enum { OPERANDS = 2, FACTORS = 16, FACTORS_BYTES = 128 };
    const size_t bk = s->bk / s->sk, blocks = xl__ceil_div(c->n_kv, bk);
    return c->n_kv_heads * c->n_batch *
           (OPERANDS * blocks * bk * s->dp * sizeof(float) +
            xl__ceil_div(blocks, FACTORS) * FACTORS_BYTES);
}

static bool fits(const struct xl__limits *l, const xl_matrix_op *op,
                 const struct layout *s)
{
    const struct xl__mma_step step = xl__mma_step(op);
    const size_t side = s->is_transposed ? op->n : op->m,
                 deep = s->is_transposed ? step.stack : op->k;
    return s->is_transposed == (s->stages == 1) && s->sm > 0 &&
           !(s->has_terms && s->is_split) && s->sm * s->rm * side == s->bq &&
           s->bk % (s->sk * deep) == 0 && !xl__is_refused(l, s->bq, s->bk) &&
           s->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           s->items <= xl__most_items(l, s->items) &&
           s->registers <= (s->is_transposed ? most_registers(l, s->items)
                                             : item_registers(l));
}

/* -- parts of the keys ---------------------------------------------------- */

static size_t count_groups(const struct xl__attention_canonical *c, size_t bq)
{
    return xl__ceil_div(c->n_q * xl__attention_share(c), bq) * c->n_kv_heads *
           c->n_batch;
}

/* Groups that the device has at a time. */
static size_t resident_groups(const struct xl__limits *l,
                              const struct layout *s)
{
    const struct xl__group_needs needs = {
        .items = (double)s->items,
        .item_registers = s->is_transposed ? s->registers : item_registers(l),
        .local_bytes = (double)s->local_bytes};
    const double each = xl__resident_groups(
        l, xl__num_or(l, XL__F_registers_per_cu, INFINITY), &needs);
    return (size_t)(each * (double)xl__n_units(l));
}

/* The share of the engines that have sub-groups enough to be busy. */
static double busy_engines(const struct xl__limits *l, const xl_matrix_op *op,
                           const struct layout *s)
{
    const double teams = (double)(resident_groups(l, s) * s->items) /
                         (double)(op->lanes * xl__n_units(l));
    const double enough = l->model.mma->attention_teams;
    return enough > 0 ? fmin(1, teams / enough) : 1;
}

/* JOIN of the kernel: the last group of a row joins its parts where groups see
 * what others have stored before a fence. */
enum { NO_PARTS, BY_LAUNCH, IN_GROUPS };
static size_t join_of(const struct xl__limits *l, const struct layout *s)
{
    if (!s->is_split)
        return NO_PARTS;
    return !s->is_transposed && *xl__text(l, XL__F_device_fence) ? IN_GROUPS
                                                                 : BY_LAUNCH;
}

/* The fewest parts that leave the device busy until the end, or nearly. */
static size_t count_parts(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const struct layout *s)
{
    enum { LEAST_BLOCKS = 2 };
    static const double enough = 0.94;
    const size_t groups = count_groups(c, s->bq),
                 at_a_time = resident_groups(l, s),
                 blocks = xl__ceil_div(c->n_kv, s->bk);
    const size_t most = xl__max_size(
        1, xl__min_size(xl__min_size(xl__attention_most_parts(c),
                                     blocks / LEAST_BLOCKS),
                        s->room_bytes / (STATE * sizeof(float) * s->bq)));
    size_t best = 1;
    double best_busy = 0;
    if (!s->is_split)
        return 1;
    for (size_t parts = 1; parts <= most; parts++) {
        const size_t n = groups * parts;
        const double busy = (double)n / (double)xl__round_up(n, at_a_time);
        if (busy > best_busy) {
            best = parts;
            best_busy = busy;
        }
        if (busy >= enough)
            break;
    }
    return best;
}

bool xl__attention_mma_listed(const xl_matrix_op *op, size_t i,
                              struct xl__params *out)
{
    const bool is_transposed = xl__mma_step(op).stack > 0;
    const size_t n = is_transposed ? N_TRANSPOSED : N_SETS;
    *out = (struct xl__params){.source = "model"};
    for (unsigned t = 0; i < n && t < N_TUNABLES; t++)
        out->value[t] = (is_transposed ? transposed_sets : sets)[i][t];
    return i < n;
}

/* -- cost ----------------------------------------------------------------- */

/* k and v from memory, or from the cache for each group, beside products, then
 * scores, where they are more than scaled (NV-68); a tile's start; the parts,
 * which are written and read once more. */
static struct xl__cost cost_of(const struct xl__limits *l,
                               const struct xl__attention_canonical *c,
                               const xl_matrix_op *op, const struct layout *s,
                               size_t parts)
{
    enum { VISITS = 2, FLOP_OF_SCORE = 100 };
    static const double ns_per_s = 1e9;
    const struct xl__mma_model *m = l->model.mma;
    const size_t rows = c->n_q * xl__attention_share(c),
                 groups = count_groups(c, s->bq);
    const double busy = (double)(groups * parts),
                 slots = (double)resident_groups(l, s);
    const double padded_rows =
        (double)xl__round_up(rows, s->bq) / (double)rows;
    const double padded = padded_rows * (double)s->dp / (double)c->d_head;
    const double joined =
        s->is_split    ? VISITS * (double)xl__attention_parts_bytes(c, parts)
        : s->has_terms ? VISITS * (double)terms_bytes(c, s)
                       : 0;
    const double waves = ceil(busy / slots);
    const double fill = busy / (waves * slots), flop = xl__attention_flop(c),
                 rate = xl__mma_rate(l, op),
                 bytes_rate = xl__rate_memory(l) * m->attention_bytes_frac;
    /* k and v once for each group: an element of both for 4 flop of a row. */
    const double elem = (double)xl_dtype_bytes(c->view[XL__ATTENTION_K].dtype),
                 loaded = flop * padded_rows / (double)s->bq * elem / 2;
    const double *frac = s->has_terms       ? m->attention_terms_frac
                         : has_two_terms(c) ? m->attention_split_frac
                                            : m->attention_frac;
    const double multiply = flop * padded *
                            (has_two_terms(c) ? SPLIT_PRODUCTS : 1) /
                            (rate * frac[s->rm > 1] * busy_engines(l, op, s));
    const double clock = (double)xl__n_units(l) * op->flop_per_clock / rate;
    const double load =
        loaded * clock / ((double)xl__n_units(l) * m->attention_load_bytes);
    const double score = xl__attention_has_score(c)
                             ? FLOP_OF_SCORE * padded_rows *
                                   xl__attention_pairs(c) / xl__rate_fma(l)
                             : 0;
    const double both =
        fmax(multiply, load) + m->shown * fmin(multiply, load) + score;
    const double compute = both / fill + waves * m->begin_clocks * clock,
                 copy = xl__attention_bytes(c) / (bytes_rate * fill);
    return (struct xl__cost){
        .busy_ns = compute * ns_per_s,
        .bytes = xl__attention_bytes(c),
        .bytes_frac = m->attention_bytes_frac * fill,
        .serial_bytes = joined,
        .serial_ns = m->shown * fmin(compute, copy) * ns_per_s,
        .launches = join_of(l, s) == BY_LAUNCH || s->has_terms ? 2 : 1};
}

/* Has half of the tile, and of its work, no rows? */
static bool is_too_high(const struct xl__attention_canonical *c,
                        const struct layout *s)
{
    return s->sm > 1 && s->bq / 2 >= c->n_q * xl__attention_share(c);
}

/* The set of the least estimate; false: none fits. */
static bool find_tunables(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const xl_matrix_op *op, struct xl__params *out)
{
    double least = INFINITY;
    struct xl__params params;
    for (size_t i = 0; op && xl__attention_mma_listed(op, i, &params); i++) {
        const struct layout s = layout_of(l, c, op, params.value);
        const char *bound;
        if (!fits(l, op, &s) || is_too_high(c, &s))
            continue;
        const struct xl__cost work =
            cost_of(l, c, op, &s, count_parts(l, c, &s));
        const double ns = xl__work_ns(l, &work, &bound);
        if (ns >= least)
            continue;
        least = ns;
        *out = params;
    }
    return least < INFINITY;
}

/* -- plan ----------------------------------------------------------------- */

/* The terms of k and v to scratch memory. */
static void add_terms(const struct xl__attention_canonical *c,
                      const struct layout *s, struct xl__plan *p)
{
    enum { ITEMS = 256, OPERANDS = 2 };
    const size_t bk = s->bk / s->sk;
    struct xl__step *step = xl__plan_add(p, "attention/split_terms.cl",
                                         "attention_terms", ITEMS, ITEMS);
    step->is_aid = true;
    xl__step_set_3d(step, ITEMS, xl__ceil_div(c->n_kv, bk) * ITEMS, OPERANDS,
                    c->n_kv_heads * c->n_batch);
    step->local_mem_bytes = sizeof(cl_uint);
    xl__define(step, "BK", (long)bk);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    p->scratch_bytes = terms_bytes(c, s);
}

static xl_status plan_steps(const struct xl__limits *l,
                            const struct xl__attention_canonical *c,
                            const xl_matrix_op *op,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    if (!op)
        return XL_UNSUPPORTED;
    const struct layout s = layout_of(l, c, op, params->value);
    if (!fits(l, op, &s))
        return XL_UNSUPPORTED;
    const size_t heads = c->n_kv_heads * c->n_batch,
                 groups = count_groups(c, s.bq), parts = count_parts(l, c, &s);
    const size_t join = join_of(l, &s);
    const struct xl__defined defines[] = {
        {"SM", s.sm},   {"BK", s.bk / s.sk}, {"QREG", s.holds_q},
        {"JOIN", join}, /* of mma.cl alone: */
        {"SK", s.sk},   {"RM", s.rm},        {"ST", s.stages}};
    enum { ALL = sizeof defines / sizeof *defines, COMMON = 4 };
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    if (s.has_terms)
        add_terms(c, &s, p);
    struct xl__step *step =
        s.is_transposed
            ? xl__plan_add(p, "attention/mma_transposed.cl",
                           "attention_mma_transposed", s.items, s.items)
            : xl__plan_add(p, "attention/mma.cl", "attention_mma", s.items,
                           s.items);
    xl__step_set_3d(step, s.items, groups / heads * s.items, heads, parts);
    step->local_mem_bytes = s.local_bytes;
    xl__mma_define(step, l, op);
    if (has_two_terms(c))
        xl__define(step, s.has_terms ? "TERMS" : "MMA_SPLIT", 1);
    xl__define_all(step, defines, s.is_transposed ? COMMON : ALL);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    xl__attention_parts_args(step, parts);
    if (!s.is_transposed) {
        xl__define_choice(step, "XL_FENCE", xl__text(l, XL__F_device_fence));
        xl__arg_mem(step, XL__MEM_ZEROS);
    }
    if (s.is_split)
        p->scratch_bytes = xl__attention_parts_bytes(c, parts);
    if (join == IN_GROUPS)
        p->zeros_bytes = groups * sizeof(cl_uint);
    if (join == BY_LAUNCH)
        xl__attention_join(l, c, parts, p);
    const struct xl__cost work = cost_of(l, c, op, &s, parts);
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* -- choice --------------------------------------------------------------- */

/* Of products in `in`, the type of the instructions' operands. */
static const char *find_refusal(const struct xl__limits *l,
                                const struct xl__attention_canonical *c,
                                xl_dtype in)
{
    const xl_dtype dtype = c->view[XL__ATTENTION_Q].dtype;
    struct xl__params params;
    if (dtype != XL_F32 && dtype != XL_F16 && dtype != XL_BF16)
        return "q of f8e4m3 is not supported";
    if (xl__mma_sums_refused(l, in))
        return xl__mma_sums_refused(l, in);
    const xl_matrix_op *op = xl__mma_op(l, in);
    const bool is_transposed = xl__mma_step(op).stack > 0;
    const char *why = is_transposed ? xl__attention_needs_type(c)
                                    : xl__attention_needs_lines(c);
    if (why)
        return why;
    if (c->d_head % EACH != 0)
        return "d_head must be a multiple of 8";
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_O; i++) {
        if (c->view[i].stride[XL__HEADS_COL] != 1 || c->view[i].offset < ALIGN)
            return "rows of q, k, v and o must be contiguous and begin at "
                   "multiples of 16 bytes";
    }
    if (c->n_q * xl__attention_share(c) > INT32_MAX / 2 ||
        c->n_heads * c->n_batch > INT32_MAX)
        return "rows are counted in 32 bits";
    if (is_transposed &&
        (c->view[XL__ATTENTION_K].stride[XL__HEADS_ROW] > MOST_STRIDE ||
         c->view[XL__ATTENTION_V].stride[XL__HEADS_ROW] > MOST_STRIDE))
        return "the bytes of a block of k or v do not fit in 32 bits";
    if (!find_tunables(l, c, op, &params))
        return "no tile fits the device's local memory and work-groups";
    return NULL;
}

/* -- the variants --------------------------------------------------------- */

static const char *refuse_mma(const struct xl__attention_canonical *c)
{
    return c->view[XL__ATTENTION_K].dtype == XL_F32 &&
                   c->accuracy != XL_ACCURACY_FAST
               ? "f32 would be rounded to 11 bits: XL_ACCURACY_FAST allows it"
               : NULL;
}

static const char *refuse_mma_split(const struct xl__attention_canonical *c)
{
    if (c->view[XL__ATTENTION_K].dtype != XL_F32)
        return "only f32 is split into terms";
    if (!has_two_terms(c))
        return "the caller did not allow split products (XL_ACCURACY_SPLIT)";
    return NULL;
}

static const char *refuse_mma_terms(const struct xl__attention_canonical *c)
{
    const char *why = refuse_mma_split(c);
    if (why)
        return why;
    if (c->q_rows.kind || c->kv_rows.kind)
        return "sequences of unequal lengths are not supported";
    if (c->before != XL__ATTENTION_ANY)
        return "windows are not supported";
    return NULL;
}

/* in: the type of the instructions' operands, of a call c. */
#define VARIANT(to, in, ...)                                                  \
    static const char *find_refusal_of_##to(const struct xl__limits *l,       \
                                            const void *desc)                 \
    {                                                                         \
        const struct xl__attention_canonical *c = desc;                       \
        const char *why = refuse_##to(c);                                     \
        return why ? why : find_refusal(l, c, in);                            \
    }                                                                         \
    static void choose_##to(const struct xl__limits *l, const void *desc,     \
                            struct xl__params *out)                           \
    {                                                                         \
        const struct xl__attention_canonical *c = desc;                       \
        (void)find_tunables(l, c, xl__mma_op(l, in), out);                    \
    }                                                                         \
    static xl_status plan_##to(const struct xl__limits *l, const void *desc,  \
                               const struct xl__params *params,               \
                               struct xl__plan *p)                            \
    {                                                                         \
        const struct xl__attention_canonical *c = desc;                       \
        return plan_steps(l, c, xl__mma_op(l, in), params, p);                \
    }                                                                         \
    const struct xl__variant xl__attention_##to = {                           \
        .name = "attention_" #to,                                             \
        .repeats = "bit for bit: each row's sums are in an order of keys",    \
        .tunables = tunables,                                                 \
        .on = {.engine = XL_ENGINE_MATRIX, __VA_ARGS__},                      \
        .refuses = find_refusal_of_##to,                                      \
        .choose = choose_##to,                                                \
        .plan = plan_##to}
VARIANT(mma, c->view[XL__ATTENTION_Q].dtype, .terms = 1);
VARIANT(mma_split, XL_F32, .dtype = XL_F32, .terms = SPLIT_PRODUCTS);
VARIANT(mma_terms, XL_F16, .dtype = XL_F16, .terms = SPLIT_PRODUCTS);
