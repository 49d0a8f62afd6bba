/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `hiding`: how many independent operations must be in flight before a
 * device is busy. The rate of multiply-adds, and of words read at random
 * addresses, is measured on a grid of chains per item and groups per unit.
 * Only their product counts: the rate grows with it up to a knee. By Little's
 * law
 *
 *     in flight = latency * throughput
 *
 * Both are measured here, so the knee can be compared with the product. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS_PER_ITERATION = 16, /* as in probe/fma.cl */
    WG = 128,
    MOST_GROUPS = 16,        /* of a unit */
    MOST_ITERATIONS = 65535, /* of loops that the host repeats (GE-24) */
    N_CHECKED = 16,          /* items that are compared */
    POINTS = 64              /* of a grid, at most */
};
/* Duration of a launch: above its overhead and far below a watchdog
 * (GE-11). */
static const double least_ns = 2e5, most_launches = 8;
static const double near_peak = 0.9;

/* -- the knee ------------------------------------------------------------- */

double xl__rate_knee(const struct xl__concurrency_point *at, unsigned n)
{
    static const double still = 1.4; /* gain by doubling above which the
                                        curve still grows */
    double most = 0, top = 0, half = 0, knee = INFINITY;
    for (unsigned i = 0; i < n; i++) {
        most = fmax(most, at[i].in_flight);
        top = fmax(top, at[i].rate);
    }
    for (unsigned i = 0; i < n; i++) {
        if (at[i].rate >= near_peak * top)
            knee = fmin(knee, at[i].in_flight);
        if (at[i].in_flight <= most / 2)
            half = fmax(half, at[i].rate);
    }
    /* If the curve still grows at its end, the knee is beyond it. */
    return n > 0 && top > 0 && !(top > still * half) ? knee : NAN;
}

/* -- what is launched ----------------------------------------------------- */

/* A kind of operation: its kernel and row names. */
struct operation {
    /* row names: a point, the latency, the knee */
    const char *name, *one, *knee;
    const char *unit;
    const char *source, *kernel;
    double per_step; /* of one chain, in `unit` */
    unsigned steps_per_iteration;
};

/* clang-format off */
static const struct operation operations[] = {
    /* name, one, knee, unit, source, kernel, per_step, steps_per_iteration */
    {"fma", "fma_solo", "fma_knee", "flop/s",
     "probe/fma.cl", "flops", 2, STEPS_PER_ITERATION},
    {"load", "load_solo", "load_knee", "B/s",
     "probe/latency_hiding.cl", "hiding", 4, 1},
};
/* clang-format on */

struct grid_launch {
    const struct operation *op;
    unsigned chains, groups; /* groups: per unit */
    bool is_serial;          /* a unit runs one group at a time (CP-04) */
    size_t units, wg, iterations;
    cl_mem words, out;
    size_t n_words;
};

static bool reads_memory(const struct grid_launch *w)
{
    return w->words != NULL;
}

static size_t launch_items(const struct grid_launch *w)
{
    return w->groups * w->units * w->wg;
}

static double launch_amount(const struct grid_launch *w)
{
    return w->op->per_step * w->op->steps_per_iteration *
           (double)w->iterations * w->chains * (double)launch_items(w);
}

static void plan_launch(const struct grid_launch *w, struct xl__plan *plan)
{
    struct xl__step *s = xl__probe_step(plan, w->op->source, w->op->kernel,
                                        launch_items(w), w->wg, false);
    xl__define(s, "CHAINS", w->chains);
    if (reads_memory(w))
        xl__arg_mem(s, 2);
    xl__arg_mem(s, 1);
    if (reads_memory(w))
        xl__arg_u32(s, w->n_words - 1);
    xl__arg_u32(s, w->iterations);
}

/* The sample function of a struct xl__iteration_source. A grid has many
 * points, so sampling is quick. */
static xl_status sample_launch(struct xl__session *p, void *arg,
                               size_t iterations, xl_row *row)
{
    struct grid_launch *w = arg;
    xl_probing how;
    struct xl__session brief = xl__session_quick(p, &how);
    struct xl__plan plan;
    const struct xl__call call = {
        .mem = {[1] = {.buf = w->out}, [2] = {.buf = w->words}}};
    w->iterations = xl__min_size(iterations, MOST_ITERATIONS);
    plan_launch(w, &plan);
    return xl__probe_sample(&brief, row, &plan, &call, 0);
}

/* -- expected results ----------------------------------------------------- */

/* The sum of an item's pointer chases, computed on the host. */
static cl_uint expected_sum(const struct grid_launch *w, uint64_t seed,
                            size_t item)
{
    static const cl_uint spacing = 0x9e3779b1u; /* as in the kernel */
    cl_uint sum = 0;
    for (unsigned k = 0; k < w->chains; k++) {
        cl_uint address = (cl_uint)(item * w->chains + k) * spacing;
        for (cl_uint i = 0; i < w->iterations; i++)
            address = xl__probe_word(seed, address & (w->n_words - 1)) + i;
        sum += address;
    }
    return sum;
}

/* Has the chain reached the map's fixed point, as in fma.c? */
static bool is_fixed_point(cl_uint bits, size_t item)
{
    static const double tolerance = 1e-6;
    const double c = (64.0 + (double)(item % 64)) / 1024;
    const double x = (1 - sqrt(1 - 4 * c)) / 2;
    float got;
    memcpy(&got, &bits, sizeof got);
    return fabs((double)got - x) <= tolerance * x;
}

static xl_status check_items(struct xl__session *p,
                             const struct grid_launch *w, bool *right)
{
    xl_status status = XL_OK;
    cl_uint seen[N_CHECKED];
    const size_t n = xl__min_size(N_CHECKED, launch_items(w));
    TRY(xl_buffer_read(p->q, w->out, 0, seen, n * sizeof *seen));
    *right = true;
    for (size_t i = 0; i < n; i++) {
        const bool same = reads_memory(w)
                              ? seen[i] == expected_sum(w, p->how->seed, i)
                              : is_fixed_point(seen[i], i);
        *right = *right && same;
    }
fail:
    return status;
}

/* Measures a launch and checks its result; row->value is the rate. */
static xl_status measure_point(struct xl__session *p, struct grid_launch *w,
                               xl_row *row)
{
    xl_status status = XL_OK;
    bool right;
    TRY(xl_buffer_fill(p->q, w->out, 0, 0, launch_items(w)));
    TRY(sample_launch(p, w, w->iterations, row));
    TRY(check_items(p, w, &right));
    row->value = launch_amount(w) / (row->samples.median_ns * 1e-9);
    if (!right)
        xl__probe_reject(row, "wrong result: an item's value differs from "
                              "the host's");
fail:
    return status;
}

/* -- a grid --------------------------------------------------------------- */

struct grid {
    struct xl__concurrency_point at[POINTS];
    unsigned n;
    double latency_s; /* of a step of a single chain */
    double most_ns;   /* longest launch */
};

/* Measures the latency: one chain of one item, which nothing hides. */
static xl_status measure_latency(struct xl__session *p, struct grid_launch w,
                                 struct grid *g)
{
    static const double alone_launches = 16;
    xl_status status = XL_OK;
    const struct xl__iteration_source source = {sample_launch, &w};
    size_t iterations;
    xl_row row;
    w.chains = w.groups = 1;
    w.units = w.wg = 1;
    TRY(xl__iterations_find_above(p, &source, least_ns, alone_launches,
                                  &iterations));
    xl_row_init(&row, "probe_hiding", w.op->one);
    TRY(measure_point(p, &w, &row));
    g->latency_s = w.op->per_step / row.value;
    row.unit = "s";
    row.value = g->latency_s;
    TRY(xl__iterations_check_scaling(p, &source, w.iterations, &row));
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Where items are threads, a unit runs one group after the other: groups keep
 * all threads busy (CP-08) but are not in flight at the same time. */
static double count_in_flight(const struct grid_launch *w)
{
    const double beside = w->is_serial ? 1 : w->groups;
    return beside * w->chains * (double)w->wg;
}

/* Reduces the iterations once the device is busy, so that larger points of the
 * grid do not take longer. */
static void limit_iterations(struct grid_launch *w, const struct grid *g,
                             size_t iterations)
{
    double top = 0;
    for (unsigned i = 0; i < g->n; i++)
        top = fmax(top, g->at[i].rate);
    w->iterations = iterations;
    const double est_ns = top > 0 ? launch_amount(w) / top * 1e9 : 0;
    if (est_ns > g->most_ns)
        w->iterations =
            (size_t)fmax(1, (double)iterations * g->most_ns / est_ns);
}

static xl_status add_point(struct xl__session *p, struct grid_launch *w,
                           struct grid *g)
{
    xl_status status = XL_OK;
    xl_row row = xl__probe_row("probe_hiding", w->op->name, w->op->unit);
    xl_row_param(&row, "chains", w->chains);
    xl_row_param(&row, "groups", w->groups);
    TRY(measure_point(p, w, &row));
    xl__probe_emit(p, &row);
    if (row.verdict != XL_ROW_REJECTED)
        g->at[g->n++] = (struct xl__concurrency_point){count_in_flight(w),
                                                       xl__probe_peak(&row)};
fail:
    return status;
}

/* The latency of a step. The chase of one item repeats in each run and is
 * short, so a cache may hold all of it; if probe cache has measured the
 * latency of memory, that value is the least. */
static double step_latency_s(const struct xl__limits *l,
                             const struct grid_launch *w, const struct grid *g)
{
    const double memory_ns =
        reads_memory(w) ? xl__num_or(l, XL__F_dram_ns, 0) : 0;
    return fmax(g->latency_s, memory_ns / 1e9);
}

static void report_knee(struct xl__session *p, const struct grid_launch *w,
                        const struct grid *g)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    double top = 0;
    for (unsigned i = 0; i < g->n; i++)
        top = fmax(top, g->at[i].rate);
    xl_row row = xl__probe_row("probe_hiding", w->op->knee, "1");
    row.value = xl__rate_knee(g->at, g->n);
    xl_row_found(&row, "little",
                 top / w->op->per_step * step_latency_s(l, w, g) /
                     (double)w->units);
    if (row.value > 0)
        xl__probe_emit(p, &row);
    else
        xl__probe_unsupported(p, &row,
                              "no knee: at the end of the grid more chains "
                              "and groups still raise the rate");
}

static xl_status measure_grid(struct xl__session *p, struct grid_launch *w)
{
    static const unsigned chains[] = {1, 2, 4, 8};
    static const unsigned few[] = {1, 4, MOST_GROUPS, 0};
    static const unsigned many[] = {1, 2, 4, 8, MOST_GROUPS, 0};
    static const unsigned is_serial[] = {XL__CPU_GROUPS, 0};
    static const double first_launches = 4;
    const unsigned *groups = w->is_serial    ? is_serial
                             : p->how->quick ? few
                                             : many;
    xl_status status = XL_OK;
    const struct xl__iteration_source source = {sample_launch, w};
    size_t iterations;
    struct grid g = {.n = 0};
    TRY(measure_latency(p, *w, &g));
    w->chains = chains[0];
    w->groups = groups[0];
    TRY(xl__iterations_find_above(p, &source, least_ns, first_launches,
                                  &iterations));
    iterations = w->iterations;
    const double first_ns =
        g.latency_s * 1e9 * w->op->steps_per_iteration * (double)iterations;
    g.most_ns = most_launches * fmax(least_ns, first_ns);
    for (; *groups; groups++) {
        for (unsigned i = 0; i < sizeof chains / sizeof *chains; i++) {
            w->groups = *groups;
            w->chains = chains[i];
            limit_iterations(w, &g, iterations);
            TRY(add_point(p, w, &g));
        }
    }
    report_knee(p, w, &g);
fail:
    return status;
}

static xl_status run_hiding_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool is_serial = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct grid_launch w = {.is_serial = is_serial,
                            .units = units,
                            .wg =
                                is_serial ? 1 : xl__min_size(WG, p->most_wg)};
    cl_mem words = NULL;
    size_t bytes;
    const size_t most =
        is_serial ? XL__CPU_GROUPS * units : MOST_GROUPS * units * w.wg;
    TRY(xl_buffer_create(p->q, most * sizeof(cl_uint), &w.out));
    w.op = &operations[0];
    TRY(measure_grid(p, &w));
    TRY(xl__probe_buffer(p, xl__probe_far_bytes(l, p->how->quick), &words,
                         &bytes));
    w.op = &operations[1];
    w.words = words;
    w.n_words = bytes / sizeof(cl_uint);
    TRY(measure_grid(p, &w));
fail:
    xl__buffer_release(words);
    xl__buffer_release(w.out);
    return status;
}

const struct xl__probe xl__probe_hiding = {
    {"hiding",
     "How much must be in flight for a unit to be busy: the rate of f32 "
     "multiply-adds (2 flop), and of words read at random beyond the "
     "last-level cache, by the independent chains of an item and the groups "
     "of 128 items per unit (of one item where items are threads, one after "
     "the other). knee: the least number of chains in flight per unit that "
     "reaches 90 % of the best rate; little: latency x best rate, the "
     "expected value by Little's law; the grid goes by factors of 2. Fooled "
     "by groups that are distributed unevenly over the units, by pages that "
     "are not in the TLB, and by other users of memory.",
     false},
    run_hiding_probe};
