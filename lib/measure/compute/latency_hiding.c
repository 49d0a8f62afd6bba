/* SPDX-License-Identifier: Apache-2.0 */
/* How much must be under way at once before a device is busy: the rate of
 * multiply-adds, and of words read at random, by the number of independent
 * chains an item has and of groups a unit has. More chains or more groups, it
 * is all the same: the rate grows with their product up to a knee. By Little's
 * law that is at latency x throughput; both are measured here, so the two can
 * be held against each other.
 * Source: Little, Operations Research 9(3), 1961; Volkov, UCB/EECS-2016-143. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS_PER_ITERATION = 16, /* as in probe/fma.cl */
    WG = 128,
    MOST_GROUPS = 16, /* of a unit */
    MOST_ITERATIONS =
        65535,  /* of loops that the host goes round too (GE-24) */
    LOOKS = 16, /* items compared */
    POINTS = 64 /* of a grid, at most */
};
/* Of a launch: above its own cost, and far below a watchdog (GE-11). */
static const double least_ns = 2e5, most_launches = 8;
static const double near_peak = 0.9;

/* -- the knee ------------------------------------------------------------- */

double xl__rate_knee(const struct xl__concurrency_point *at, unsigned n)
{
    static const double still = 1.4; /* twice as much gives more than this */
    double most = 0, top = 0, half = 0, knee = INFINITY;
    for (unsigned i = 0; i < n; i++) {
        most = fmax(most, at[i].under_way);
        top = fmax(top, at[i].rate);
    }
    for (unsigned i = 0; i < n; i++) {
        if (at[i].rate >= near_peak * top)
            knee = fmin(knee, at[i].under_way);
        if (at[i].under_way <= most / 2)
            half = fmax(half, at[i].rate);
    }
    /* A curve that still climbs at its end has its knee beyond. */
    return n > 0 && top > 0 && !(top > still * half) ? knee : NAN;
}

/* -- what is launched ----------------------------------------------------- */

/* A kind of work; -D and arguments differ. */
struct work {
    const char *name, *one, *knee; /* of rows: a point, the latency, the end */
    const char *unit;
    const char *source, *kernel;
    double per_step; /* of a chain: in `unit` */
    unsigned steps_a_turn;
};

/* clang-format off */
static const struct work works[] = {
    /* name  one          knee         unit      source             kernel    per_step steps_a_turn */
    {"fma",  "fma_solo",  "fma_knee",  "flop/s", "probe/fma.cl",  "flops",  2,       STEPS_PER_ITERATION},
    {"load", "load_solo", "load_knee", "B/s",    "probe/latency_hiding.cl", "hiding", 4,       1},
};
/* clang-format on */

struct load {
    const struct work *work;
    unsigned chains, groups; /* groups: of a unit */
    bool in_turn;            /* a unit has one group at a time (CP-04) */
    size_t units, wg, turns;
    cl_mem words, out;
    size_t n_words;
};

static bool is_walk(const struct load *w)
{
    return w->words != NULL;
}

static size_t items_of(const struct load *w)
{
    return w->groups * w->units * w->wg;
}

static double amount_of(const struct load *w)
{
    return w->work->per_step * w->work->steps_a_turn * (double)w->turns *
           w->chains * (double)items_of(w);
}

static void make_plan(const struct load *w, struct xl__plan *plan)
{
    struct xl__step *s = &plan->step[0];
    *plan = (struct xl__plan){.n_steps = 1};
    s->source = w->work->source;
    s->kernel = w->work->kernel;
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = w->wg;
    s->global[0] = items_of(w);
    xl__define(s, "CHAINS", w->chains);
    if (is_walk(w))
        xl__arg_mem(s, 2);
    xl__arg_mem(s, 1);
    if (is_walk(w))
        xl__arg_u32(s, w->n_words - 1);
    xl__arg_u32(s, w->turns);
}

/* struct xl__iteration_source; a grid has many points, so each is sampled as
 * briefly as in the quick way. */
static xl_status sample(struct xl__session *p, void *arg, size_t turns,
                        xl_row *row)
{
    struct load *w = arg;
    xl_probing how;
    struct xl__session brief = xl__session_quick(p, &how);
    struct xl__plan plan;
    const struct xl__call call = {
        .mem = {[1] = {w->out, NULL}, [2] = {w->words, NULL}}};
    w->turns = xl__min_size(turns, MOST_ITERATIONS);
    make_plan(w, &plan);
    return xl__probe_sample(&brief, row, &plan, &call, 0);
}

/* -- results -------------------------------------------------------------- */

/* The walks of an item, on the host. */
static cl_uint walked(const struct load *w, uint64_t seed, size_t item)
{
    static const cl_uint apart = 0x9e3779b1u; /* as in probe/latency_hiding.cl */
    cl_uint sum = 0;
    for (unsigned k = 0; k < w->chains; k++) {
        cl_uint place = (cl_uint)(item * w->chains + k) * apart;
        for (cl_uint i = 0; i < w->turns; i++)
            place = xl__probe_word(seed, place & (w->n_words - 1)) + i;
        sum += place;
    }
    return sum;
}

/* The map's fixed point, as in probe_flops.c. */
static bool is_settled(cl_uint bits, size_t item)
{
    static const double tolerance = 1e-6;
    const double c = (64.0 + (double)(item % 64)) / 1024;
    const double x = (1 - sqrt(1 - 4 * c)) / 2;
    float got;
    memcpy(&got, &bits, sizeof got);
    return fabs((double)got - x) <= tolerance * x;
}

static xl_status look(struct xl__session *p, const struct load *w, bool *right)
{
    xl_status status = XL_OK;
    cl_uint seen[LOOKS];
    const size_t n = xl__min_size(LOOKS, items_of(w));
    TRY(xl_buffer_read(p->q, w->out, 0, seen, n * sizeof *seen));
    *right = true;
    for (size_t i = 0; i < n; i++) {
        const bool same = is_walk(w)
                              ? seen[i] == walked(w, p->how->seed, i)
                              : is_settled(seen[i], i);
        *right = *right && same;
    }
fail:
    return status;
}

/* A launch whose result is compared; row->value is the rate. */
static xl_status measure(struct xl__session *p, struct load *w, xl_row *row)
{
    xl_status status = XL_OK;
    bool right;
    TRY(xl__probe_check_stop(p));
    TRY(xl_buffer_fill(p->q, w->out, 0, 0, items_of(w)));
    TRY(sample(p, w, w->turns, row));
    TRY(look(p, w, &right));
    row->value = amount_of(w) / (row->samples.median_ns * 1e-9);
    if (!right)
        xl__probe_reject(row, "not the result that the host has");
fail:
    return status;
}

/* -- a grid --------------------------------------------------------------- */

struct grid {
    struct xl__concurrency_point at[POINTS];
    unsigned n;
    double latency_s; /* of a step that nothing else is beside */
    double most_ns;   /* of a launch */
};

/* One chain of one item: nothing hides it. */
static xl_status measure_latency(struct xl__session *p, struct load w,
                                 struct grid *g)
{
    static const double alone_launches = 16;
    xl_status status = XL_OK;
    const struct xl__iteration_source turning = {sample, &w};
    size_t turns;
    xl_row row;
    w.chains = w.groups = 1;
    w.units = w.wg = 1;
    TRY(xl__iterations_find_above(p, &turning, least_ns, alone_launches,
                                  &turns));
    xl_row_init(&row, "probe_hiding", w.work->one);
    TRY(measure(p, &w, &row));
    g->latency_s = w.work->per_step / row.value;
    row.unit = "s";
    row.value = g->latency_s;
    TRY(xl__iterations_check_scaling(p, &turning, w.turns, &row));
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Where items are threads a unit does one group after the other: their number
 * is what keeps all threads at work (CP-08), and hides nothing. */
static double under_way(const struct load *w)
{
    const double beside = w->in_turn ? 1 : w->groups;
    return beside * w->chains * (double)w->wg;
}

/* Once busy, a device takes longer the more there is: fewer turns then. */
static void shorten(struct load *w, const struct grid *g, size_t turns)
{
    double top = 0;
    for (unsigned i = 0; i < g->n; i++)
        top = fmax(top, g->at[i].rate);
    w->turns = turns;
    const double est_ns = top > 0 ? amount_of(w) / top * 1e9 : 0;
    if (est_ns > g->most_ns)
        w->turns = (size_t)fmax(1, (double)turns * g->most_ns / est_ns);
}

static xl_status add_point(struct xl__session *p, struct load *w,
                           struct grid *g)
{
    xl_status status = XL_OK;
    xl_row row;
    xl_row_init(&row, "probe_hiding", w->work->name);
    row.unit = w->work->unit;
    xl_row_param(&row, "chains", w->chains);
    xl_row_param(&row, "groups", w->groups);
    TRY(measure(p, w, &row));
    xl__probe_emit(p, &row);
    if (row.verdict != XL_ROW_REJECTED)
        g->at[g->n++] =
            (struct xl__concurrency_point){under_way(w), xl__probe_peak(&row)};
fail:
    return status;
}

/* The one item's walk is the same in each run, and short: a cache may have all
 * of it by then. Where probe cache found memory's own latency, that stands. */
static double latency_s(const struct xl__limits *l, const struct load *w,
                        const struct grid *g)
{
    const double memory_ns = is_walk(w) ? xl__num_or(l, XL__F_dram_ns, 0) : 0;
    return fmax(g->latency_s, memory_ns / 1e9);
}

static void conclude(struct xl__session *p, const struct load *w,
                     const struct grid *g)
{
    const struct xl__limits *l = &p->q->ctx->device->limits;
    double top = 0;
    xl_row row;
    for (unsigned i = 0; i < g->n; i++)
        top = fmax(top, g->at[i].rate);
    xl_row_init(&row, "probe_hiding", w->work->knee);
    row.unit = "1";
    row.value = xl__rate_knee(g->at, g->n);
    xl_row_found(&row, "little",
                 top / w->work->per_step * latency_s(l, w, g) /
                     (double)w->units);
    if (row.value > 0)
        xl__probe_emit(p, &row);
    else
        xl__probe_unsupported(p, &row, "no knee: at the end more chains and "
                                       "groups still bring more");
}

static xl_status measure_grid(struct xl__session *p, struct load *w)
{
    static const unsigned chains[] = {1, 2, 4, 8};
    static const unsigned few[] = {1, 4, MOST_GROUPS, 0};
    static const unsigned many[] = {1, 2, 4, 8, MOST_GROUPS, 0};
    static const unsigned in_turn[] = {XL__CPU_GROUPS, 0};
    static const double first_launches = 4;
    const unsigned *groups =
        w->in_turn ? in_turn : p->how->quick ? few : many;
    xl_status status = XL_OK;
    const struct xl__iteration_source turning = {sample, w};
    size_t turns;
    struct grid g = {.n = 0};
    TRY(measure_latency(p, *w, &g));
    w->chains = chains[0];
    w->groups = groups[0];
    TRY(xl__iterations_find_above(p, &turning, least_ns, first_launches,
                                  &turns));
    turns = w->turns;
    const double first_ns = g.latency_s * 1e9 * w->work->steps_a_turn *
                            (double)turns;
    g.most_ns = most_launches * fmax(least_ns, first_ns);
    for (; *groups; groups++) {
        for (unsigned i = 0; i < sizeof chains / sizeof *chains; i++) {
            w->groups = *groups;
            w->chains = chains[i];
            shorten(w, &g, turns);
            TRY(add_point(p, w, &g));
        }
    }
    conclude(p, w, &g);
fail:
    return status;
}

static xl_status run(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const bool in_turn = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct load w = {.in_turn = in_turn,
                     .units = units,
                     .wg = in_turn ? 1 : xl__min_size(WG, p->most_wg)};
    cl_mem words = NULL;
    size_t bytes;
    const size_t most =
        in_turn ? XL__CPU_GROUPS * units : MOST_GROUPS * units * w.wg;
    TRY(xl_buffer_create(p->q, most * sizeof(cl_uint), &w.out));
    w.work = &works[0];
    TRY(measure_grid(p, &w));
    TRY(xl__probe_buffer(p, xl__probe_far_bytes(l, p->how->quick), &words,
                         &bytes));
    w.work = &works[1];
    w.words = words;
    w.n_words = bytes / sizeof(cl_uint);
    TRY(measure_grid(p, &w));
fail:
    if (words)
        clReleaseMemObject(words);
    if (w.out)
        clReleaseMemObject(w.out);
    return status;
}

const struct xl__probe xl__probe_hiding = {
    {"hiding",
     "How much must be under way for a unit to be busy: the rate of f32 "
     "multiply-adds (2 flop), and of words read at random beyond the "
     "last-level cache, by the independent chains of an item and the groups "
     "of 128 items a unit has (of one item where items are threads, one after "
     "the other). knee: the least number of chains under way in a unit that "
     "reaches 90 % of the best rate; little: latency x best rate, what it "
     "should be by Little's law; the grid goes by factors of 2. Fooled by "
     "groups that are spread unevenly over the units, by pages that are not "
     "in the TLB, and by other users of memory.",
     false},
    run};
