/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `matrix`: the peak rate of a matrix engine per input type, by the
 * kinds of instructions that the device has: of one sub-group with operands in
 * registers (mma; mfma, wmma; dpas), and of four sub-groups with operands in
 * local memory (wgmma). The highest rate becomes the fact. Rows are rejected
 * if the rate exceeds units x clock, if a product differs from the host's, or
 * if the time is not proportional to the work. */

#include "measure/compute/matrix_engine.h"

#include <math.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/str.h"
#include "device/peak_rates.h"

/* -- expected products ---------------------------------------------------- */

/* The products of probe/matrix_engine.cl, computed on the host. Counted in
 * bytes, all types have the same layout: a word of four bytes holds elements
 * along k, and eight words are the k of one instruction. Source: PTX ISA 9.0,
 * 9.7.14.5 (the words that lanes hold) and 9.7.15.5.1 (rows in local memory,
 * 128-byte swizzle). */
/* `cut` of f8: sums stay in the engine, and each of the 256 instructions of an
 * iteration truncates up to 2^-12 (NV-34) of a sum that grows to its final
 * value: half of 256 * 2^-12 of it, plus a margin. */
/* clang-format off */
const struct xl__matrix_type xl__matrix_types[XL__N_MATRIX_TYPES] = {
    /* in        keep        set         tolerance cut */
    {XL_F16,    0x87ff87ff, 0x38003800, 1e-3,     0},
    {XL_BF16,   0x80ff80ff, 0x3f003f00, 1e-3,     0},
    {XL_F32,    0x80ffe000, 0x3f000000, 1e-3,     0},
    {XL_I8,     0xffffffff, 0,          0,        0},
    {XL_F8E4M3, 0x8f8f8f8f, 0x30303030, 1e-2,     4e-2},
};
/* clang-format on */

/* Fragments of common/amd/fragments.clh: rows and columns, groups of lanes
 * that have parts of k, words of a lane, and rows of sums that such a group
 * has first. */
static const struct lines {
    const char *fragments;
    unsigned lanes, side, parts, words, first_rows;
} lines[] = {
    {"mfma_32x32", 64, 32, 2, 4, 4},
    {"mfma_16x16", 64, 16, 4, 4, 4},
    {"wmma_gfx11", 32, 16, 1, 8, 1},
    {"wmma_gfx12", 32, 16, 2, 4, 8},
};

enum {
    LANES = 32,
    WORDS_A = 4,
    WORDS_B = 2,   /* per lane: fragments of an instruction */
    ROWS = 64,     /* of four sub-groups */
    LINE = 32,     /* words per row in local memory */
    CHUNK = 4,     /* words that the swizzle moves as a unit */
    FIRST_B = 1024 /* number of the first word of B of a sub-group */
};

struct product_sum {
    const struct xl__matrix_type *type;
    double value, amount;
};

static double element_value(xl_dtype in, uint32_t word, unsigned i)
{
    const uint16_t half = (uint16_t)(word >> 16 * (i % 2));
    const uint8_t byte = (uint8_t)(word >> 8 * (i % 4));
    union {
        uint32_t bits;
        float value;
    } whole = {word};
    switch (in) {
    case XL_F16:
        return (double)xl__f16_to_f32(half);
    case XL_BF16:
        return (double)xl__bf16_to_f32(half);
    case XL_I8:
        return byte < 128 ? byte : byte - 256;
    case XL_F8E4M3:
        return (double)xl__e4m3_to_f32(byte);
    default:
        return (double)whole.value;
    }
}

static uint32_t operand_word(const struct xl__matrix_type *type, unsigned i)
{
    return (xl__probe_word(0, i) & type->keep) | type->set;
}

/* Adds the products of the elements of words a and b. */
static void add_products(struct product_sum *s, unsigned a, unsigned b)
{
    const xl_dtype in = s->type->in;
    const uint32_t x = operand_word(s->type, a), y = operand_word(s->type, b);
    for (unsigned i = 0; i < 4 / xl_dtype_bytes(in); i++) {
        const double product =
            element_value(in, x, i) * element_value(in, y, i);
        s->value += product;
        s->amount += fabs(product);
    }
}

/* Row l / 4 and column 2 (l % 4) of every chain: k is distributed over four
 * lanes, whose words are 16 bytes apart. */
static void sum_subgroup(struct product_sum *s, unsigned lane)
{
    const unsigned row = lane / 4, col = 2 * (lane % 4);
    for (unsigned c = 0; c < XL__MATRIX_CHAINS_A * XL__MATRIX_CHAINS_B; c++) {
        const unsigned a = c / XL__MATRIX_CHAINS_B * WORDS_A;
        const unsigned b = c % XL__MATRIX_CHAINS_B * WORDS_B;
        for (unsigned k = 0; k < 2 * 4; k++) {
            const unsigned far = k / 4, from = k % 4;
            add_products(s, (a + 2 * far) * LANES + 4 * row + from,
                         FIRST_B + (b + far) * LANES + 4 * col + from);
        }
    }
}

static unsigned swizzled_word(unsigned line, unsigned k)
{
    return line * LINE + (k / CHUNK ^ line % 8) * CHUNK + k % CHUNK;
}

/* Sub-group w of four has the rows from 16 w on; four sub-groups cover a slab
 * of A. */
static void sum_four_subgroups(struct product_sum *s, unsigned item)
{
    enum { SLABS = 2 };
    const unsigned lane = item % LANES, warp = item / LANES;
    const unsigned row = 16 * warp + lane / 4, col = 2 * (lane % 4);
    for (unsigned k = 0; k < LINE; k++)
        add_products(s, swizzled_word(row, k),
                     SLABS * ROWS * LINE + swizzled_word(col, k));
}

/* Number of the word of k that lane group g has as its w-th, in line x. */
static unsigned line_word(const struct lines *f, unsigned w, unsigned g,
                          unsigned x)
{
    return (w * f->parts + g) * f->side + x;
}

static void sum_lines(struct product_sum *s, const struct lines *f,
                      unsigned lane)
{
    const unsigned row = lane / f->side * f->first_rows, col = lane % f->side;
    for (unsigned c = 0; c < XL__MATRIX_LINES_A * XL__MATRIX_LINES_B; c++) {
        const unsigned a = c / XL__MATRIX_LINES_B * f->words;
        const unsigned b = c % XL__MATRIX_LINES_B * f->words;
        for (unsigned k = 0; k < f->words * f->parts; k++)
            add_products(
                s, line_word(f, a + k / f->parts, k % f->parts, row),
                FIRST_B + line_word(f, b + k / f->parts, k % f->parts, col));
    }
}

/* The first row of 8, the column of the lane: words of A's row are adjacent,
 * those of B's column one of each lane apart. */
static void sum_systolic(struct product_sum *s, unsigned lanes, unsigned lane)
{
    enum { ROWS_OF_8 = 8, WORDS_OF_K = 8 };
    for (unsigned c = 0; c < XL__MATRIX_LINES_A * XL__MATRIX_LINES_B; c++) {
        const unsigned a = c / XL__MATRIX_LINES_B * ROWS_OF_8 * WORDS_OF_K;
        const unsigned b = c % XL__MATRIX_LINES_B * WORDS_OF_K;
        for (unsigned w = 0; w < WORDS_OF_K; w++)
            add_products(s, a + w, FIRST_B + (b + w) * lanes + lane);
    }
}

/* The item's element of every chain; words of a row of A and of a column of B
 * are adjacent. */
static void sum_cooperative(struct product_sum *s, const xl_matrix_op *op,
                            unsigned lane)
{
    const unsigned words = op->k * (unsigned)xl_dtype_bytes(op->a) / 4;
    const unsigned row = lane % (op->m * op->n) / op->n, col = lane % op->n;
    for (unsigned c = 0; c < XL__MATRIX_LINES_A * XL__MATRIX_LINES_B; c++) {
        const unsigned a = c / XL__MATRIX_LINES_B * op->m + row;
        const unsigned b = c % XL__MATRIX_LINES_B * op->n + col;
        for (unsigned w = 0; w < words; w++)
            add_products(s, a * words + w, FIRST_B + b * words + w);
    }
}

static const struct lines *find_lines(const char *fragments)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (xl__streq(lines[i].fragments, fragments))
            return &lines[i];
    }
    return NULL;
}

double xl__matrix_expected(const xl_matrix_op *op,
                           const struct xl__matrix_type *type, unsigned item,
                           double *off)
{
    struct product_sum s = {type, 0, 0};
    const unsigned lanes = (unsigned)op->lanes;
    const struct lines *f = find_lines(op->fragments);
    if (f)
        sum_lines(&s, f, item % lanes);
    else if (xl__streq(op->fragments, "dpas"))
        sum_systolic(&s, lanes, item % lanes);
    else if (xl__streq(op->fragments, "cooperative"))
        sum_cooperative(&s, op, item % lanes);
    else if (xl__streq(op->fragments, "mma"))
        sum_subgroup(&s, item % lanes);
    else
        sum_four_subgroups(&s, item);
    *off = type->tolerance * s.amount + type->cut * fabs(s.value);
    return s.value;
}

/* -- what is launched ----------------------------------------------------- */

/* Duration of a launch: far below a watchdog (GE-11). */
static const double quick_ns = 4e6, long_ns = 20e6;
static const double over_bound = 1.05;

/* clang-format off */
static const struct engine_route {
    enum xl__matrix_way way;
    const char *name;
    const char *fragments; /* of its instructions */
    unsigned wg, groups_a_unit;
    unsigned steps;        /* per iteration: exact in i32, close in f32 */
    double macs;           /* multiply-adds per step of a group, in bytes
                              along k; 0: four instructions of each of its
                              sub-groups */
    size_t local_bytes;
} routes[] = {
    /* way, name, fragments, wg, groups a unit, steps, macs, local bytes */
    {XL__MATRIX_SUBGROUP, "mma", "mma", 128, 8, 32,
     4 * 8 * 16 * 8 * 32.0, 0},
    {XL__MATRIX_FOUR_SUBGROUPS, "wgmma", "wgmma", 256, 1, 64,
     2 * 4 * 64 * 256 * 32.0, 48 << 10},
    {XL__MATRIX_LINES, "mfma_32x32", "mfma_32x32", 256, 4, 32,
     4 * 4 * 32 * 32 * 32.0, 0},
    {XL__MATRIX_LINES, "mfma_16x16", "mfma_16x16", 256, 4, 32,
     4 * 4 * 16 * 16 * 64.0, 0},
    {XL__MATRIX_LINES, "wmma", "wmma_gfx11", 128, 4, 32,
     4 * 4 * 16 * 16 * 32.0, 0},
    {XL__MATRIX_LINES, "wmma", "wmma_gfx12", 128, 4, 32,
     4 * 4 * 16 * 16 * 32.0, 0},
    {XL__MATRIX_SYSTOLIC, "dpas", "dpas", 64, 2, 32, 64 * 4 * 8 * 32.0, 0},
    {XL__MATRIX_COOPERATIVE, "coop_mat", "cooperative", 128, 4, 32, 0,
     8 << 10},
};
/* clang-format on */
enum { N_ROUTES = sizeof routes / sizeof *routes };

/* A launch. */
struct mma_launch {
    const struct xl__matrix_type *type;
    const struct engine_route *way;
    const xl_matrix_op *op;
    cl_mem out;
    size_t items, iterations;
};

static double macs_of(const struct mma_launch *b)
{
    const xl_matrix_op *op = b->op;
    return b->way->macs > 0
               ? b->way->macs / (double)xl_dtype_bytes(b->type->in)
               : 4.0 * b->way->wg / op->lanes * op->m * op->n * op->k;
}

static double flop_of(const struct mma_launch *b)
{
    return 2 * macs_of(b) * b->way->steps * (double)b->iterations *
           (double)(b->items / b->way->wg);
}

static void plan_matrix(const struct mma_launch *b, struct xl__plan *plan)
{
    enum { WIDEST = 256 };
    struct xl__step *s = xl__probe_step(plan, "probe/matrix_engine.cl",
                                        "matrix", b->items, b->way->wg, true);
    plan->flop = flop_of(b);
    s->local_mem_bytes = b->way->local_bytes;
    s->target = b->op->target;
    if (b->way->way == XL__MATRIX_FOUR_SUBGROUPS) {
        xl__define(s, "TN", WIDEST);
        xl__define(s, "UA", 0);
        xl__define(s, "UB", 0);
    }
    if (b->way->way == XL__MATRIX_SYSTOLIC) {
        xl__define_choice(s, "XL_DPAS", b->op->code);
        xl__define(s, "DPAS_LANES", b->op->lanes);
    } else {
        xl__define_choice(s, "XL_MMA", b->op->code);
    }
    if (b->way->way == XL__MATRIX_COOPERATIVE)
        xl__define_cooperative(s, b->op);
    if (b->way->way == XL__MATRIX_LINES ||
        b->way->way == XL__MATRIX_COOPERATIVE)
        xl__define_choice(s, "MMA_FRAGMENTS", b->op->fragments);
    xl__define(s, "WAY", b->way->way);
    xl__define(s, "WG", b->way->wg);
    xl__define(s, "TI", b->type->in);
    xl__define(s, "KEEP", b->type->keep);
    xl__define(s, "SET", b->type->set);
    xl__define(s, "STEPS", b->way->steps);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, b->iterations);
}

/* The sample function of a struct xl__iteration_source. */
static xl_status sample_matrix(struct xl__session *p, void *arg,
                               size_t iterations, xl_row *row)
{
    struct mma_launch *b = arg;
    struct xl__plan plan;
    const struct xl__call call = {.mem = {[1] = {.buf = b->out}}};
    b->iterations = iterations;
    plan_matrix(b, &plan);
    return xl__probe_sample(p, row, &plan, &call, plan.flop);
}

/* Compares every item with the host's value. Values of i8 are integers. */
static xl_status check_products(struct xl__session *p,
                                const struct mma_launch *b, bool *right)
{
    xl_status status = XL_OK;
    union {
        float f;
        int32_t i;
    } seen[XL__MATRIX_CHECKED];
    const size_t n = xl__min_size(b->items, XL__MATRIX_CHECKED);
    TRY(xl_buffer_read(p->q, b->out, 0, seen, n * sizeof *seen));
    *right = true;
    for (unsigned i = 0; i < n; i++) {
        double off;
        const double steps = b->way->steps;
        const double expected =
            steps * xl__matrix_expected(b->op, b->type, i, &off);
        const double got =
            b->type->in == XL_I8 ? seen[i].i : (double)seen[i].f;
        if (!(fabs(got - expected) <= steps * off))
            *right = false;
    }
fail:
    return status;
}

/* -- a type by one kind of instructions ----------------------------------- */

static void init_row(const struct xl__limits *l,
                     const struct xl__matrix_type *type,
                     const struct engine_route *way, xl_row *row)
{
    xl_row_init(row, "probe_matrix", way->name);
    row->dtype = type->in;
    row->unit = "flop/s";
    const double bound = xl__bound_matrix(l, type->in);
    if (bound > 0)
        row->roof = (xl_bound){bound, "flop/s", "units x clock", XL_KNOWN};
}

static xl_status measure_rate(struct xl__session *p, struct mma_launch *b,
                              xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {sample_matrix, b};
    bool right;
    TRY(xl__iterations_find(p, &w, p->how->quick ? quick_ns : long_ns,
                            &b->iterations));
    const size_t iterations = b->iterations;
    TRY(xl_buffer_fill(p->q, b->out, 0, 0, b->items));
    TRY(sample_matrix(p, b, iterations, row));
    TRY(check_products(p, b, &right));
    TRY(xl__iterations_check_scaling(p, &w, iterations, row));
    if (!right)
        xl__probe_reject(row, "wrong result: a product differs from the "
                              "host's, or steps were skipped");
    else if (row->value > over_bound * row->roof.value)
        xl__probe_reject(row, "above units x clock: the clock is wrong, or "
                              "steps were skipped");
fail:
    return status;
}

static xl_status run_route(struct xl__session *p,
                           const struct xl__matrix_type *type,
                           const struct engine_route *way,
                           const xl_matrix_op *op)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct mma_launch b = {.type = type,
                           .way = way,
                           .op = op,
                           .items = units * way->groups_a_unit * way->wg};
    xl_row row;
    init_row(l, type, way, &row);
    if (p->most_wg < way->wg)
        return xl__probe_unsupported(p, &row,
                                     "the device does not allow groups of "
                                     "the required size");
    TRY(xl_buffer_create(p->q, sizeof(float) * b.items, &b.out));
    status = measure_rate(p, &b, &row);
    if (status == XL_BUILD_FAILED) {
        status = xl__probe_failed(p, &row);
        goto fail;
    }
    TRY(status);
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED && row.value > 0)
        xl__probe_raise_fact(l, xl__peak_matrix(type->in),
                             xl__probe_peak(&row));
fail:
    xl__buffer_release(b.out);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

/* The reason why there is nothing to measure; NULL if there is. */
static const char *find_missing(const struct xl__limits *l)
{
    if (!l->matrix_ops)
        return "no instructions of a matrix engine are known here";
    for (unsigned w = 0; w < N_ROUTES; w++) {
        const xl_matrix_op *op =
            xl__find_matrix_op(l, routes[w].fragments, XL_F16, XL_F16);
        if (op)
            return xl__streq(op->code, "emulated")
                       ? "matrix instructions are emulated here"
                       : NULL;
    }
    return "the probe does not know the fragments of this device's matrix "
           "instructions";
}

/* Measures by each kind of instructions that the device has. */
xl_status xl__matrix_peak(struct xl__session *p, xl_dtype in)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const enum xl__fact_id peak = xl__peak_matrix(in);
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++) {
        const struct xl__matrix_type *type = &xl__matrix_types[t];
        for (unsigned w = 0; w < N_ROUTES; w++) {
            const xl_matrix_op *op =
                xl__find_matrix_op(l, routes[w].fragments, type->in, type->in);
            if (xl__peak_matrix(type->in) == peak && !find_missing(l) && op)
                TRY(run_route(p, type, &routes[w], op));
        }
    }
fail:
    return status;
}

static xl_status run_matrix_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const char *why = find_missing(&p->q->ctx->device->seen);
    if (why) {
        xl_row row = xl__probe_row("probe_matrix", "any", "flop/s");
        xl__probe_unsupported(p, &row, "%s", why);
        return XL_OK;
    }
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++)
        TRY(xl__matrix_peak(p, xl__matrix_types[t].in));
fail:
    return status;
}

const struct xl__probe xl__probe_matrix = {
    {"matrix",
     "The rate of the matrix engine (2 flop per multiply-add) in f16, bf16, "
     "f32 rounded to 11 bits (tf32), i8 and 8-bit floats, by instructions of "
     "one sub-group with operands in registers and, where there are some, of "
     "four sub-groups with operands in local memory; products are compared "
     "with the host's, and "
     "half the work must take half the time. The loop loads nothing, so no "
     "real kernel reaches this rate. Operands are random, since constant ones "
     "draw less power and run at a higher clock; but a launch is short, so "
     "the clock may still be above that of minutes of real work.",
     false},
    run_matrix_probe};
