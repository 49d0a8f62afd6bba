/* SPDX-License-Identifier: Apache-2.0 */
/* Serial against parallel: one product C = A B by one thread of the host, one
 * item, one group, one compute unit, the whole device, the whole device with
 * vectors and its matrix engine; and what each step gains. All make the same
 * elements the same way, as the definition says, so that only the number of
 * hands differs; a slow rung makes fewer of them, and rates stay comparable.
 * Every rung's elements are compared with sums in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/half.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "measure/probe.h"
#include "sampling/sampler.h"

enum {
    N = 1024,    /* enough elements for the largest devices */
    LD = N + 16, /* as in probe/parallel_ladder.cl, and the next two */
    ENGINE_WG = 128,
    ENGINE_TILE = 64,
    GROUP = 64,  /* items of a group as programs have them */
    DEVICE_WG = 256,
    DEVICE_ITEMS = 2048, /* of a unit */
    LOOKS = 256, /* elements compared */
    HOST_RUNS = 5
};
/* Of a launch: far below a watchdog (GE-11). */
static const double quick_ns = 4e6, long_ns = 20e6;

enum hands { HOST, ITEM, ONE_GROUP, UNIT, DEVICE, VECTOR, ENGINE };

static const struct rung {
    const char *name;
    enum hands hands;
} rungs[] = {{"host", HOST},     {"item", ITEM},     {"group", ONE_GROUP},
             {"unit", UNIT},     {"device", DEVICE}, {"vector", VECTOR},
             {"engine", ENGINE}};
enum { N_RUNGS = sizeof rungs / sizeof *rungs };

struct product {
    float *a, *b, *c;       /* on the host, N rows of LD; values of 16 bits */
    cl_mem dev_a, dev_b;    /* f32 */
    cl_mem half_a, half_b;  /* f16; NULL until wanted */
    cl_mem dev_c;           /* N rows of N */
};

/* One rung at work: tiles of `rows` x `cols` elements, `count` of them. */
struct climb {
    const struct rung *rung;
    const struct product *m;
    size_t wg, items, rows, cols;
    size_t count;
};

/* -- operands ------------------------------------------------------------- */

static xl_status make_halves(struct xl__probing *p, const float *from,
                             cl_mem *out)
{
    xl_status status = XL_OK;
    uint16_t *half = xl__calloc((size_t)N * LD, sizeof *half);
    if (!half)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a matrix of halves"));
    for (size_t i = 0; i < (size_t)N * LD; i++)
        half[i] = xl__f32_to_f16(from[i]);
    TRY(xl_buffer_create(p->q, (size_t)N * LD * sizeof *half, out));
    TRY(xl_buffer_write(p->q, *out, 0, half, (size_t)N * LD * sizeof *half));
fail:
    free(half);
    return status;
}

/* Between -1 and 1, such that halves hold them. */
static float *draw(uint64_t seed)
{
    static const float scale = 1.0f / (1u << 31);
    float *x = xl__calloc((size_t)N * LD, sizeof *x);
    for (size_t i = 0; x && i < (size_t)N * LD; i++) {
        const float value = (float)xl__probe_word(seed, i) * scale - 1;
        x[i] = xl__f16_to_f32(xl__f32_to_f16(value));
    }
    return x;
}

static xl_status make_product(struct xl__probing *p, struct product *m)
{
    xl_status status = XL_OK;
    const size_t bytes = (size_t)N * LD * sizeof(float);
    m->a = draw(p->how->seed);
    m->b = draw(p->how->seed + bytes);
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
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++) {
        if (mems[i])
            clReleaseMemObject(mems[i]);
    }
    free(m->a);
    free(m->b);
    free(m->c);
}

/* -- results -------------------------------------------------------------- */

/* Elements of C all over those made: is each within what f32 sums may be off?
 * Products of halves are exact in f32. */
static bool is_right(const struct climb *x, uint64_t seed)
{
    static const double unit = 1.0 / (1 << 24);
    const struct product *m = x->m;
    struct xl__rng rng;
    bool right = true;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < LOOKS; i++) {
        const size_t tile = xl__rng_below(&rng, (uint32_t)x->count);
        const size_t row = tile / (N / x->cols) * x->rows +
                           xl__rng_below(&rng, (uint32_t)x->rows);
        const size_t col = tile % (N / x->cols) * x->cols +
                           xl__rng_below(&rng, (uint32_t)x->cols);
        double want = 0, amount = 0;
        for (size_t k = 0; k < N; k++) {
            const double product =
                (double)m->a[row * LD + k] * (double)m->b[k * LD + col];
            want += product;
            amount += fabs(product);
        }
        right = right && fabs((double)m->c[row * N + col] - want) <=
                             N * unit * amount;
    }
    return right;
}

static double flop_of(const struct climb *x)
{
    return 2.0 * N * (double)(x->rows * x->cols * x->count);
}

/* -- the host ------------------------------------------------------------- */

/* Row by row, as anybody writes it who knows how C lies. */
static void multiply(const struct climb *x)
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

static xl_status on_host(struct xl__probing *p, struct climb *x, xl_row *row)
{
    xl_status status = XL_OK;
    const double want_ns = p->how->quick ? quick_ns : long_ns;
    row->samples.batch = 1;
    row->samples.wall_clock = true;
    for (x->count = 1; xl__samples_wanted(&row->samples, HOST_RUNS);) {
        TRY(xl__probe_alive(p));
        const uint64_t start = xl__now_ns();
        multiply(x);
        const double ns = (double)(xl__now_ns() - start);
        if (ns < want_ns / 2 && x->count < N)
            x->count *= 2;
        else
            row->samples.ns[row->samples.runs++] = ns;
    }
    xl__samples_summarise(&row->samples, NULL);
    row->flop = flop_of(x);
    row->value = row->flop / (row->samples.median_ns * 1e-9);
fail:
    return status;
}

/* -- the device ----------------------------------------------------------- */

static size_t vector_of(const struct xl__limits *l)
{
    enum { LEAST = 4, WIDEST = 16 };
    const double native = xl__num_or(l, XL__F_native_vector_f32, LEAST);
    size_t vector = LEAST;
    while (vector < WIDEST && 2.0 * (double)vector <= native)
        vector *= 2;
    return vector;
}

/* Who is at work, and on tiles of which size. */
static void lay_out(const struct xl__probing *p, struct climb *x)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    x->rows = x->cols = 1;
    switch (x->rung->hands) {
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
        x->wg = ENGINE_WG;
        x->items = N / ENGINE_TILE * (N / ENGINE_TILE) * ENGINE_WG;
        x->rows = x->cols = ENGINE_TILE;
        return;
    case VECTOR:
        x->cols = vector_of(l);
        break;
    case DEVICE:
        break;
    }
    x->wg = scalar ? 1 : xl__min_size(DEVICE_WG, p->most_wg);
    x->items = units * (scalar ? XL__CPU_GROUPS
                               : xl__round_up(DEVICE_ITEMS, x->wg));
}

/* All of C at most, and no more than loops may do (GE-24). */
static size_t most_tiles(const struct xl__limits *l, const struct climb *x)
{
    const size_t all = (size_t)N * N / x->rows / x->cols;
    const size_t turns = xl__size_or(l, XL__F_max_loop_turns, SIZE_MAX);
    const size_t per_item = xl__max_size(turns / (N + 1), 1);
    return per_item < all / x->items ? per_item * x->items : all;
}

static void make_plan(const struct xl__limits *l, const struct climb *x,
                      struct xl__plan *plan)
{
    struct xl__step *s = &plan->step[0];
    *plan = (struct xl__plan){.n_steps = 1, .flop = flop_of(x)};
    s->source = "probe/parallel_ladder.cl";
    s->kernel = "ladder";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = x->wg;
    s->global[0] = x->items;
    xl__define(s, "N", N);
    xl__define(s, "LD", LD);
    if (x->rung->hands == ENGINE) {
        xl__define(s, "MODE", 2);
        xl__define_choice(s, "XL_MMA", xl__text(l, XL__F_mma));
    } else {
        xl__define(s, "VEC", (long)x->cols);
    }
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_mem(s, 3);
    xl__arg_u32(s, x->count);
}

/* struct xl__turning: a turn is a tile. */
static xl_status sample(struct xl__probing *p, void *arg, size_t turns,
                        xl_row *row)
{
    struct climb *x = arg;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const struct product *m = x->m;
    const bool halves = x->rung->hands == ENGINE;
    const struct xl__call call = {
        .mem = {[1] = {halves ? m->half_a : m->dev_a, NULL},
                [2] = {halves ? m->half_b : m->dev_b, NULL},
                [3] = {m->dev_c, NULL}}};
    struct xl__plan plan;
    x->count = xl__min_size(turns, most_tiles(l, x));
    make_plan(l, x, &plan);
    return xl__probe_sample(p, row, &plan, &call, plan.flop);
}

/* A driver may grant this kernel smaller groups than one that does nothing. */
static xl_status fit_group(struct xl__probing *p, struct climb *x)
{
    xl_status status;
    for (;; x->wg /= 2) {
        xl_row row;
        xl_row_init(&row, "", NULL);
        status = sample(p, x, 1, &row);
        if (status != XL_UNSUPPORTED || x->wg == 1 ||
            x->rung->hands == ENGINE)
            return status;
        xl__error_reset(&p->q->error);
        x->items = x->items == x->wg ? x->wg / 2 : x->items;
    }
}

static xl_status on_device(struct xl__probing *p, struct climb *x, xl_row *row)
{
    xl_status status = XL_OK;
    const size_t n = (size_t)N * N;
    const struct xl__turning turning = {sample, x};
    xl_probing how;
    struct xl__probing brief = xl__probe_in_brief(p, &how);
    size_t count;
    TRY(xl__probe_alive(p));
    TRY(fit_group(&brief, x));
    TRY(xl__turns_find(&brief, &turning, p->how->quick ? quick_ns : long_ns,
                       &count));
    TRY(xl_buffer_fill(p->q, x->m->dev_c, 0, 0, n));
    TRY(sample(p, x, count, row));
    TRY(xl_buffer_read(p->q, x->m->dev_c, 0, x->m->c, n * sizeof(float)));
fail:
    return status;
}

/* -- a rung --------------------------------------------------------------- */

static xl_status prepare_engine(struct xl__probing *p, struct product *m)
{
    xl_status status = XL_OK;
    TRY(make_halves(p, m->a, &m->half_a));
    TRY(make_halves(p, m->b, &m->half_b));
fail:
    return status;
}

/* The share of the device's peak; of the host's nobody knows one. */
static void set_roof(struct xl__probing *p, const struct climb *x, xl_row *row)
{
    const bool engine = x->rung->hands == ENGINE;
    const xl_roof roof = {.dtype = row->dtype,
                          .engine = engine ? XL_ENGINE_MATRIX
                                           : XL_ENGINE_FMA};
    xl_bound bound;
    if (x->rung->hands != HOST &&
        xl_roofline_bound(p->q->ctx->device, &roof, row->flop, 0, &bound) ==
            XL_OK)
        row->roof = bound;
}

/* The first line of the story tells. */
static void not_taken(struct xl__probing *p, xl_row *row)
{
    char why[sizeof row->reason];
    const char *story = xl_error_detail(p->q);
    snprintf(why, sizeof why, "%.*s", (int)strcspn(story, "\r\n"), story);
    xl__probe_unsupported(p, row, why);
}

/* *below: the rate of the rung below; of this one, on return. */
static xl_status climb_one(struct xl__probing *p, struct climb *x,
                           double *below)
{
    xl_status status = XL_OK;
    xl_row row;
    xl_row_init(&row, "probe_ladder", x->rung->name);
    row.unit = "flop/s";
    row.dtype = x->rung->hands == ENGINE ? XL_F16 : XL_F32;
    lay_out(p, x);
    status = x->rung->hands == HOST ? on_host(p, x, &row)
                                    : on_device(p, x, &row);
    if (status == XL_UNSUPPORTED || status == XL_BUILD_FAILED) {
        not_taken(p, &row);
        return XL_OK;
    }
    TRY(status);
    set_roof(p, x, &row);
    if (*below > 0)
        xl_row_found(&row, "gain", row.value / *below);
    xl_row_found(&row, "items", (double)x->items);
    if (!is_right(x, p->how->seed))
        xl__probe_reject(&row, "an element is not what the host has in double");
    *below = row.value;
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Why there is no matrix engine to take; NULL: there is. */
static const char *missing(const struct xl__probing *p)
{
    if (!*xl__text(&p->q->ctx->device->limits, XL__F_mma))
        return "no way to a matrix engine is known here";
    return p->most_wg < ENGINE_WG ? "the device's groups are too small" : NULL;
}

static xl_status climb(struct xl__probing *p, struct product *m)
{
    xl_status status = XL_OK;
    double below = NAN;
    for (unsigned i = 0; i < N_RUNGS; i++) {
        struct climb x = {.rung = &rungs[i], .m = m};
        const char *why = rungs[i].hands == ENGINE ? missing(p) : NULL;
        if (why) {
            xl_row row;
            xl_row_init(&row, "probe_ladder", rungs[i].name);
            row.unit = "flop/s";
            row.dtype = XL_F16;
            xl__probe_unsupported(p, &row, why);
            continue;
        }
        if (rungs[i].hands == ENGINE)
            TRY(prepare_engine(p, m));
        TRY(climb_one(p, &x, &below));
    }
fail:
    return status;
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* Peaks that nobody has measured yet. */
static xl_status learn_peaks(struct xl__probing *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    xl_probing how;
    struct xl__probing silent = xl__probe_in_brief(p, &how);
    silent.each = drop_row;
    if (!(xl__num(l, XL__F_peak_f32_flop_per_s) > 0))
        TRY(xl__probe_flops.run(&silent));
    if (!(xl__num(l, XL__F_peak_matrix_f16_flop_per_s) > 0))
        TRY(xl__matrix_peak(&silent, XL_F16));
fail:
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    struct product m = {0};
    TRY(learn_peaks(p));
    TRY(make_product(p, &m));
    TRY(climb(p, &m));
fail:
    clear_product(&m);
    return status;
}

const struct xl__probe xl__probe_ladder = {
    {"ladder",
     "Serial against parallel: elements of one product of 1024 x 1024 "
     "matrices, each a sum along a row and a column, by one thread of the "
     "host in plain C, one work-item, one group of 64, one group as large as "
     "a compute unit may get (it is on one unit, and may not fill it), the "
     "whole device, the same with vectors, and its matrix engine (f16, through "
     "local memory). gain: over the rung above it. Slow rungs make fewer "
     "elements. Every rung is compared with sums in double. A plain loop "
     "waits for memory: what a tuned product reaches is clbench gemm's to "
     "say.",
     false},
    run};
