/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `ladder`: the speedup of each level of parallelism. One product C = A
 * B is computed by one thread of the host, one item, one group, one compute
 * unit, the whole device, the whole device with vectors, and its matrix
 * engine; each row has the gain over the one before.
 *
 * All rungs compute elements by the plain definition (a sum over k), so only
 * the number of workers differs. Slow rungs compute fewer elements; rates stay
 * comparable. Elements of every rung are compared with sums in double
 * precision. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/os/clock.h"
#include "base/rng.h"
#include "measure/probe.h"
#include "sampling/sampler.h"

enum {
    N = 1024,         /* enough elements for the largest devices */
    LD = N + 16,      /* as in probe/parallel_ladder.cl, with the next two */
    ENGINE_TEAMS = 4, /* sub-groups of a group */
    ENGINE_TILE = 64,
    GROUP = 64, /* items of a usual group */
    DEVICE_WG = 256,
    DEVICE_ITEMS = 2048, /* per unit */
    N_CHECKED = 256,     /* elements that are compared */
    HOST_RUNS = 5
};
/* Duration of a launch: far below a watchdog (GE-11). */
static const double quick_ns = 4e6, long_ns = 20e6;

enum rung_kind { HOST, ITEM, ONE_GROUP, UNIT, DEVICE, VECTOR, ENGINE };

static const struct rung {
    const char *name;
    enum rung_kind kind;
} rungs[] = {{"host", HOST},     {"item", ITEM},     {"group", ONE_GROUP},
             {"unit", UNIT},     {"device", DEVICE}, {"vector", VECTOR},
             {"engine", ENGINE}};
enum { N_RUNGS = sizeof rungs / sizeof *rungs };

struct product {
    float *a, *b, *c;       /* on the host, N rows of LD; values that f16
                               can represent */
    cl_mem dev_a, dev_b;    /* f32 */
    cl_mem half_a, half_b;  /* f16, in the engine's order; NULL until needed */
    cl_mem dev_c;           /* N rows of N */
};

/* One rung: it computes `count` tiles of rows x cols elements. */
struct rung_run {
    const struct rung *rung;
    const struct product *m;
    size_t wg, items, rows, cols;
    size_t count;
};

/* -- operands ------------------------------------------------------------- */

/* Where an element of a matrix is in memory: of A by row and k, of B by k and
 * column. */
typedef size_t order(const xl_matrix_op *op, size_t row, size_t col);

static size_t by_rows(const xl_matrix_op *op, size_t row, size_t col)
{
    (void)op;
    return row * LD + col;
}

/* Tiles of the systolic instruction, one behind the other along k, as
 * gemm/intel/dpas_pack.cl makes them: of A by rows, of B by pairs along k. */
static size_t by_tiles_of_a(const xl_matrix_op *op, size_t row, size_t k)
{
    const size_t tile = row / op->m * (N / op->k) + k / op->k;
    return (tile * op->m + row % op->m) * op->k + k % op->k;
}

static size_t by_tiles_of_b(const xl_matrix_op *op, size_t k, size_t col)
{
    enum { PAIR = 2 };
    const size_t tile = col / op->n * (N / op->k) + k / op->k;
    return (tile * op->k + k % op->k / PAIR * PAIR) * op->n +
           col % op->n * PAIR + k % PAIR;
}

static xl_status create_halves(struct xl__session *p, const float *from,
                               const xl_matrix_op *op, order *at, cl_mem *out)
{
    xl_status status = XL_OK;
    uint16_t *half = xl__calloc((size_t)N * LD, sizeof *half);
    TRY(xl__check_alloc(&p->q->error, half, "a matrix of halves"));
    for (size_t i = 0; i < (size_t)N * N; i++)
        half[at(op, i / N, i % N)] = xl__f32_to_f16(from[i / N * LD + i % N]);
    TRY(xl_buffer_create(p->q, (size_t)N * LD * sizeof *half, out));
    TRY(xl_buffer_write(p->q, *out, 0, half, (size_t)N * LD * sizeof *half));
fail:
    free(half);
    return status;
}

/* Creates a matrix of values between -1 and 1 that f16 can represent. */
static float *create_matrix(uint64_t seed)
{
    static const float scale = 1.0f / (1u << 31);
    float *x = xl__calloc((size_t)N * LD, sizeof *x);
    for (size_t i = 0; x && i < (size_t)N * LD; i++) {
        const float value = (float)xl__probe_word(seed, i) * scale - 1;
        x[i] = xl__f16_to_f32(xl__f32_to_f16(value));
    }
    return x;
}

static xl_status create_product(struct xl__session *p, struct product *m)
{
    xl_status status = XL_OK;
    const size_t bytes = (size_t)N * LD * sizeof(float);
    m->a = create_matrix(p->how->seed);
    m->b = create_matrix(p->how->seed + bytes);
    m->c = xl__calloc((size_t)N * N, sizeof *m->c);
    if (!m->a || !m->b || !m->c)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "three matrices"));
    TRY(xl_buffer_create(p->q, bytes, &m->dev_a));
    TRY(xl_buffer_create(p->q, bytes, &m->dev_b));
    TRY(xl_buffer_create(p->q, (size_t)N * N * sizeof(float), &m->dev_c));
    TRY(xl_buffer_write(p->q, m->dev_a, 0, m->a, bytes));
    TRY(xl_buffer_write(p->q, m->dev_b, 0, m->b, bytes));
fail:
    return status;
}

static void clear_product(struct product *m)
{
    const cl_mem mems[] = {m->dev_a, m->dev_b, m->half_a, m->half_b, m->dev_c};
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++)
        xl__buffer_release(mems[i]);
    free(m->a);
    free(m->b);
    free(m->c);
}

/* -- results -------------------------------------------------------------- */

/* Compares random elements among those computed with sums in double, within
 * the error bound of f32 sums. Products of f16 are exact in f32. */
static bool are_elements_right(const struct rung_run *x, uint64_t seed)
{
    static const double unit = 1.0 / (1 << 24);
    const struct product *m = x->m;
    struct xl__rng rng;
    bool right = true;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < N_CHECKED; i++) {
        const size_t tile = xl__rng_below(&rng, (uint32_t)x->count);
        const size_t row = tile / (N / x->cols) * x->rows +
                           xl__rng_below(&rng, (uint32_t)x->rows);
        const size_t col = tile % (N / x->cols) * x->cols +
                           xl__rng_below(&rng, (uint32_t)x->cols);
        double expected = 0, amount = 0;
        for (size_t k = 0; k < N; k++) {
            const double product =
                (double)m->a[row * LD + k] * (double)m->b[k * LD + col];
            expected += product;
            amount += fabs(product);
        }
        right = right && fabs((double)m->c[row * N + col] - expected) <=
                             N * unit * amount;
    }
    return right;
}

static double rung_flop(const struct rung_run *x)
{
    return 2.0 * N * (double)(x->rows * x->cols * x->count);
}

/* -- the host ------------------------------------------------------------- */

/* A plain loop by rows, with unit stride in B and C. */
static void multiply_on_host(const struct rung_run *x)
{
    const struct product *m = x->m;
    for (size_t row = 0; row < x->count; row++) {
        float *c = m->c + row * N;
        for (size_t col = 0; col < N; col++)
            c[col] = 0;
        for (size_t k = 0; k < N; k++) {
            for (size_t col = 0; col < N; col++)
                c[col] += m->a[row * LD + k] * m->b[k * LD + col];
        }
    }
}

static xl_status measure_on_host(struct xl__session *p, struct rung_run *x,
                                 xl_row *row)
{
    xl_status status = XL_OK;
    const double target_ns = p->how->quick ? quick_ns : long_ns;
    row->samples.batch = 1;
    row->samples.wall_clock = true;
    for (x->count = 1; xl__samples_needed(&row->samples, HOST_RUNS);) {
        TRY(xl__probe_check_stop(p));
        const uint64_t start = xl__now_ns();
        multiply_on_host(x);
        const double ns = (double)(xl__now_ns() - start);
        if (ns < target_ns / 2 && x->count < N)
            x->count *= 2;
        else
            row->samples.ns[row->samples.runs++] = ns;
    }
    xl__samples_summarise(&row->samples, NULL);
    row->flop = rung_flop(x);
    row->value = row->flop / (row->samples.median_ns * 1e-9);
fail:
    return status;
}

/* -- the device ----------------------------------------------------------- */

static size_t vector_width(const struct xl__limits *l)
{
    enum { LEAST = 4, WIDEST = 16 };
    const double native = xl__num_or(l, XL__F_native_vector_f32, LEAST);
    size_t vector = LEAST;
    while (vector < WIDEST && 2.0 * (double)vector <= native)
        vector *= 2;
    return vector;
}

/* The instruction of the engine's rung, of which whole ones are in a
 * sub-group's part of a tile; NULL: none. */
static const xl_matrix_op *engine_op(const struct xl__limits *l)
{
    enum { PART = ENGINE_TILE / 2, DEPTH = 64 };
    static const char *const fragments[] = {"mma",        "mfma_32x32",
                                            "wmma_gfx11", "wmma_gfx12",
                                            "dpas",       "cooperative"};
    const xl_matrix_op *op = NULL;
    for (size_t i = 0; !op && i < sizeof fragments / sizeof *fragments; i++)
        op = xl__find_matrix_op(l, fragments[i], XL_F16, XL_F16);
    return op && PART % op->m == 0 && PART % op->n == 0 && DEPTH % op->k == 0
               ? op
               : NULL;
}

static bool is_systolic(const xl_matrix_op *op)
{
    return xl__streq(op->fragments, "dpas");
}

/* Chooses the group, the number of items and the tile of the rung. */
static void choose_layout(const struct xl__session *p, struct rung_run *x)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    x->rows = x->cols = 1;
    switch (x->rung->kind) {
    case HOST:
        x->items = 1;
        x->cols = N;
        return;
    case ITEM:
        x->wg = x->items = 1;
        return;
    case ONE_GROUP:
        x->wg = x->items = xl__min_size(GROUP, p->most_wg);
        return;
    case UNIT:
        x->wg = x->items = p->most_wg;
        return;
    case ENGINE:
        x->wg = ENGINE_TEAMS * engine_op(l)->lanes;
        x->items = N / ENGINE_TILE * (N / ENGINE_TILE) * x->wg;
        x->rows = x->cols = ENGINE_TILE;
        return;
    case VECTOR:
        x->cols = vector_width(l);
        break;
    case DEVICE:
        break;
    }
    x->wg = scalar ? 1 : xl__min_size(DEVICE_WG, p->most_wg);
    x->items = units * (scalar ? XL__CPU_GROUPS
                               : xl__round_up(DEVICE_ITEMS, x->wg));
}

/* The largest number of tiles: all of C, within the loop limit of the device
 * (GE-24). */
static size_t max_tiles(const struct xl__limits *l, const struct rung_run *x)
{
    const size_t all = (size_t)N * N / x->rows / x->cols;
    const size_t iterations = xl__size_or(l, XL__F_max_loop_turns, SIZE_MAX);
    const size_t per_item = xl__max_size(iterations / (N + 1), 1);
    return per_item < all / x->items ? per_item * x->items : all;
}

static void define_engine(struct xl__step *s, const struct xl__limits *l)
{
    const xl_matrix_op *op = engine_op(l);
    xl__define(s, "MODE", is_systolic(op) ? 3 : 2);
    if (is_systolic(op)) {
        xl__define_choice(s, "XL_DPAS", op->code);
        xl__define(s, "DPAS_LANES", op->lanes);
        xl__step_add_option(s, l->model.dpas->registers_option);
    } else {
        xl__define_choice(s, "XL_MMA", op->code);
        xl__define_choice(s, "MMA_FRAGMENTS", op->fragments);
        if (xl__streq(op->fragments, "cooperative"))
            xl__define_cooperative(s, op);
    }
}

static void plan_rung(const struct xl__limits *l, const struct rung_run *x,
                      struct xl__plan *plan)
{
    struct xl__step *s = xl__probe_step(plan, "probe/parallel_ladder.cl",
                                        "ladder", x->items, x->wg, false);
    plan->flop = rung_flop(x);
    xl__define(s, "N", N);
    xl__define(s, "LD", LD);
    if (x->rung->kind == ENGINE) {
        define_engine(s, l);
    } else {
        xl__define(s, "VEC", (long)x->cols);
    }
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_mem(s, 3);
    xl__arg_u32(s, x->count);
}

/* The sample function of a struct xl__iteration_source; an iteration is a
 * tile. */
static xl_status sample_rung(struct xl__session *p, void *arg,
                             size_t iterations, xl_row *row)
{
    struct rung_run *x = arg;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const struct product *m = x->m;
    const bool halves = x->rung->kind == ENGINE;
    const struct xl__call call = {
        .mem = {[1] = {.buf = halves ? m->half_a : m->dev_a},
                [2] = {.buf = halves ? m->half_b : m->dev_b},
                [3] = {.buf = m->dev_c}}};
    struct xl__plan plan;
    x->count = xl__min_size(iterations, max_tiles(l, x));
    plan_rung(l, x, &plan);
    return xl__probe_sample(p, row, &plan, &call, plan.flop);
}

/* Halves the group until the driver accepts it: this kernel may be granted
 * smaller groups than an empty one. */
static xl_status fit_group(struct xl__session *p, struct rung_run *x)
{
    xl_status status;
    for (;; x->wg /= 2) {
        xl_row row;
        xl_row_init(&row, "", NULL);
        status = sample_rung(p, x, 1, &row);
        if (status != XL_UNSUPPORTED || x->wg == 1 || x->rung->kind == ENGINE)
            return status;
        xl__error_reset(&p->q->error);
        x->items = x->items == x->wg ? x->wg / 2 : x->items;
    }
}

static xl_status measure_on_device(struct xl__session *p, struct rung_run *x,
                                   xl_row *row)
{
    xl_status status = XL_OK;
    const size_t n = (size_t)N * N;
    const struct xl__iteration_source source = {sample_rung, x};
    xl_probing how;
    struct xl__session brief = xl__session_quick(p, &how);
    size_t count;
    TRY(fit_group(&brief, x));
    TRY(xl__iterations_find(&brief, &source,
                            p->how->quick ? quick_ns : long_ns, &count));
    TRY(xl_buffer_fill(p->q, x->m->dev_c, 0, 0, n));
    TRY(sample_rung(p, x, count, row));
    TRY(xl_buffer_read(p->q, x->m->dev_c, 0, x->m->c, n * sizeof(float)));
fail:
    return status;
}

/* -- a rung --------------------------------------------------------------- */

static xl_status prepare_engine(struct xl__session *p, struct product *m)
{
    xl_status status = XL_OK;
    const xl_matrix_op *op = engine_op(&p->q->ctx->device->seen);
    const bool tiles = is_systolic(op);
    TRY(create_halves(p, m->a, op, tiles ? by_tiles_of_a : by_rows,
                      &m->half_a));
    TRY(create_halves(p, m->b, op, tiles ? by_tiles_of_b : by_rows,
                      &m->half_b));
fail:
    return status;
}

/* Sets the roof to the device's peak; no peak of the host is known. */
static void set_roof(struct xl__session *p, const struct rung_run *x,
                     xl_row *row)
{
    const bool engine = x->rung->kind == ENGINE;
    const xl_roof roof = {.dtype = row->dtype,
                          .engine = engine ? XL_ENGINE_MATRIX
                                           : XL_ENGINE_FMA};
    xl_bound bound;
    if (x->rung->kind != HOST &&
        xl_roofline_bound(p->q->ctx->device, &roof, row->flop, 0, &bound) ==
            XL_OK)
        row->roof = bound;
}

/* Measures a rung. *below: the rate of the rung before; set to the rate of
 * this one. */
static xl_status measure_rung(struct xl__session *p, struct rung_run *x,
                              double *below)
{
    xl_status status = XL_OK;
    xl_row row = xl__probe_row("probe_ladder", x->rung->name, "flop/s");
    row.dtype = x->rung->kind == ENGINE ? XL_F16 : XL_F32;
    choose_layout(p, x);
    status = x->rung->kind == HOST ? measure_on_host(p, x, &row)
                                   : measure_on_device(p, x, &row);
    if (status == XL_UNSUPPORTED || status == XL_BUILD_FAILED)
        return xl__probe_failed(p, &row);
    TRY(status);
    set_roof(p, x, &row);
    if (*below > 0)
        xl_row_found(&row, "gain", row.value / *below);
    xl_row_found(&row, "items", (double)x->items);
    if (!are_elements_right(x, p->how->seed))
        xl__probe_reject(&row, "wrong result: an element differs from the "
                               "host's sum in double");
    *below = row.value;
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* The reason why there is no matrix engine to use; NULL if there is. */
static const char *find_missing(const struct xl__session *p)
{
    const xl_matrix_op *op = engine_op(&p->q->ctx->device->seen);
    if (!op)
        return "no instructions of a matrix engine that the rung has code for "
               "are known here";
    return p->most_wg < ENGINE_TEAMS * op->lanes
               ? "the device does not allow groups of the required size"
               : NULL;
}

static xl_status measure_rungs(struct xl__session *p, struct product *m)
{
    xl_status status = XL_OK;
    double below = NAN;
    for (unsigned i = 0; i < N_RUNGS; i++) {
        struct rung_run x = {.rung = &rungs[i], .m = m};
        const char *why = rungs[i].kind == ENGINE ? find_missing(p) : NULL;
        if (why) {
            xl_row row =
                xl__probe_row("probe_ladder", rungs[i].name, "flop/s");
            row.dtype = XL_F16;
            xl__probe_unsupported(p, &row, "%s", why);
            continue;
        }
        if (rungs[i].kind == ENGINE)
            TRY(prepare_engine(p, m));
        TRY(measure_rung(p, &x, &below));
    }
fail:
    return status;
}

/* Measures the peaks that are not known yet. */
static xl_status measure_peaks(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    xl_probing how;
    struct xl__session silent = xl__session_quick(p, &how);
    silent.each = NULL;
    if (!(xl__num(l, XL__F_peak_f32_flop_per_s) > 0))
        TRY(xl__probe_flops.run(&silent));
    if (!(xl__num(l, XL__F_peak_matrix_f16_flop_per_s) > 0))
        TRY(xl__matrix_peak(&silent, XL_F16));
fail:
    return status;
}

static xl_status run_ladder_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct product m = {0};
    TRY(measure_peaks(p));
    TRY(create_product(p, &m));
    TRY(measure_rungs(p, &m));
fail:
    clear_product(&m);
    return status;
}

const struct xl__probe xl__probe_ladder = {
    {"ladder",
     "Serial against parallel: elements of one product of 1024 x 1024 "
     "matrices, each a sum along a row and a column, by one thread of the "
     "host in plain C, one work-item, one group of 64, one group as large as "
     "a compute unit allows (it runs on one unit, and may not fill it), the "
     "whole device, the same with vectors, and its matrix engine (f16, "
     "through local memory). gain: over the rung before it. Slow rungs "
     "compute fewer elements. Every rung is compared with sums in double. A "
     "plain loop waits for memory: clbench gemm measures what a tuned product "
     "reaches.",
     false},
    run_ladder_probe};
