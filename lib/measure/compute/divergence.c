/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `divergence`: the cost of branches that diverge within a sub-group.
 * Items take one of 1, 2, 4 ... paths of the same length, assigned item by
 * item:
 *
 *     time = one path * ways^p,   p = 1 in lock step, 0 for independent
 * threads
 *
 * The same paths assigned to whole sub-groups must cost nothing extra. */
#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "base/stats.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* per iteration, as in probe/divergence.cl */
    WG = 256,
    GROUPS_A_UNIT = 8,
    MOST_WAYS = 64,  /* the number of paths of the kernel */
    SOME_WAYS = 8,   /* where items are threads or the width is unknown */
    MOST_CURVE = 7,  /* 1, 2, 4 ... 64 */
    N_CHECKED = 128, /* items that are compared */
    PASSES = 3,      /* over a curve; the shortest time of each point is
                        used */
    ONE_OF = 4 /* on GPUs a launch with one path lasts a quarter of the usual
                  time, since others take up to MOST_WAYS times as long */
};
/* Exponents that count as lock step and as free. */
static const double lock_step = 0.85, is_free = 0.15;
static const double shared_cost = 1.25; /* a larger ratio is not free */

/* A curve of times by ways. */
struct branch_curve {
    struct xl__iterated t;
    cl_mem out;
    size_t items, wg, width; /* width 1: no lock step, or unknown */
    unsigned most;           /* ways */
};

/* A point of it: the number of ways, which change every `span` items. */
struct branch_point {
    const char *variant;
    size_t span;
    unsigned ways;
};

/* -- the paths ------------------------------------------------------------ */

/* The same computation as in the kernel. */
static cl_uint expected_number(cl_uint x, unsigned way, size_t steps)
{
    const cl_uint c = way * 0x9e3779b9u | 1;
    const unsigned s = 5 + way % 11;
    for (size_t i = 0; i < steps; i++) {
        if (way % 2)
            x ^= x >> s;
        x = x * x + c;
        if (way % 2 == 0)
            x ^= x >> s;
    }
    return x;
}

static xl_status check_numbers(struct xl__session *p, struct xl__iterated *t,
                               xl_row *row)
{
    xl_status status = XL_OK;
    const struct branch_curve *f = t->arg;
    const struct xl__step *s = &t->plan.step[0];
    const size_t span = s->args[1].as.u, ways = s->args[2].as.u;
    const size_t n = xl__min_size(N_CHECKED, f->items);
    cl_uint seen[N_CHECKED];
    bool right = true;
    TRY(xl_buffer_read(p->q, f->out, 0, seen, n * sizeof *seen));
    for (size_t i = 0; i < n; i++)
        right =
            right &&
            seen[i] == expected_number((cl_uint)i, (unsigned)(i / span % ways),
                                       STEPS * t->iterations);
    if (!right)
        xl__probe_reject(row, "wrong result: an item took another path, or "
                              "not all of it");
fail:
    return status;
}

/* -- points --------------------------------------------------------------- */

static void plan_branches(struct branch_curve *f)
{
    struct xl__step *s = xl__probe_step(&f->t.plan, "probe/divergence.cl",
                                        "diverge", f->items, f->wg, false);
    xl__define(s, "MOST", (long)f->most);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 1);
    xl__arg_u32(s, 1);
    xl__arg_u32(s, 0);
    f->t.call.mem[1].buf = f->out;
    f->t.amount = STEPS * (double)f->items;
    f->t.check = check_numbers;
    f->t.arg = f;
}

static xl_status measure_point(struct xl__session *p, struct branch_curve *f,
                               const struct branch_point *a, xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__step *s = &f->t.plan.step[0];
    s->args[1].as.u = a->span;
    s->args[2].as.u = a->ways;
    *row = xl__probe_row("probe_divergence", a->variant, "op/s");
    xl_row_param(row, "ways", a->ways);
    TRY(xl__iterated_sample(p, &f->t, f->t.iterations, row));
    TRY(check_numbers(p, &f->t, row));
fail:
    return status;
}

/* Measures the points of a curve from `first` ways on, each as the shortest
 * time of all passes. If first > 1, ns[0] holds the time of one way. Rows are
 * emitted in the last pass. */
static xl_status measure_curve(struct xl__session *p, struct branch_curve *f,
                               struct branch_point a, unsigned first,
                               double *ns, unsigned *n)
{
    xl_status status = XL_OK;
    const bool follows = a.span == 1 && f->width > 1;
    for (unsigned pass = 1; pass <= PASSES; pass++) {
        *n = first > 1;
        for (a.ways = first; a.ways <= f->most; a.ways *= 2) {
            xl_row row;
            TRY(measure_point(p, f, &a, &row));
            ns[*n] = pass == 1 ? row.samples.min_ns
                               : fmin(ns[*n], row.samples.min_ns);
            if (pass == PASSES) {
                xl_row_found(&row, "slower", ns[*n] / ns[0]);
                xl_row_found(&row, "want", follows ? a.ways : 1);
                xl__probe_emit(p, &row);
            }
            ++*n;
        }
    }
fail:
    return status;
}

/* -- analysis of the curve ------------------------------------------------ */

double xl__divergence_power(const double *ns, unsigned n)
{
    double power[MOST_CURVE];
    if (n < 2 || n > MOST_CURVE || !(ns[0] > 0))
        return NAN;
    for (unsigned i = 1; i < n; i++)
        power[i - 1] = log2(ns[i] / ns[0]) / i;
    return xl__median(power, n - 1);
}

const char *xl__divergence_fault(double power, bool in_lock_step)
{
    if (!(power > is_free) && in_lock_step)
        return "all ways cost as much as one, though items run in lock step "
               "here: the compiler merged them";
    if (power >= lock_step && !in_lock_step)
        return "ways cost as in lock step, though items are reported to be "
               "independent threads";
    if (power > is_free && power < lock_step)
        return "neither free nor lock step: some ways run at the same time, "
               "or the machine was busy";
    return NULL;
}

static void report_conclusion(struct xl__session *p, const char *variant,
                              double value, double expected, const char *doubt)
{
    xl_row row = xl__probe_row("probe_divergence", variant, "1");
    row.value = value;
    if (!isnan(expected))
        xl_row_found(&row, "want", expected);
    if (doubt)
        xl__row_mark(&row, XL_ROW_SUSPICIOUS, "%s", doubt);
    xl__probe_emit(p, &row);
}

static xl_status run_curves(struct xl__session *p, struct branch_curve *f)
{
    static const char dear[] =
        "a branch that whole sub-groups share is not free here";
    xl_status status = XL_OK;
    const bool in_lock_step = f->width > 1;
    const bool scalar = xl__probe_is_scalar(&p->q->ctx->device->seen);
    const struct branch_point split = {"split", 1, 1};
    const struct branch_point shared = {"shared",
                                        in_lock_step ? f->width : f->wg, 1};
    double ns[MOST_CURVE];
    unsigned n = 0;
    TRY(measure_curve(p, f, split, 1, ns, &n));
    const double power = xl__divergence_power(ns, n);
    const bool known = in_lock_step || scalar;
    report_conclusion(p, "power", power, known ? in_lock_step : NAN,
                      known ? xl__divergence_fault(power, in_lock_step)
                            : NULL);
    if (scalar)
        return XL_OK; /* an item is a sub-group by itself */
    TRY(measure_curve(p, f, shared, p->how->quick ? f->most : 2, ns, &n));
    const double cost = ns[n - 1] / ns[0];
    report_conclusion(p, "cost", cost, 1, cost > shared_cost ? dear : NULL);
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static void choose_layout(const struct xl__session *p, struct branch_curve *f)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const bool scalar = xl__probe_is_scalar(l);
    f->wg = scalar ? 1 : xl__min_size(WG, p->most_wg);
    f->items = f->wg * units * (scalar ? XL__CPU_GROUPS : GROUPS_A_UNIT);
    f->width = xl__size_or(l, XL__F_subgroup_width, 1);
    const size_t ways = f->width > 1 ? xl__min_size(f->width, MOST_WAYS)
                                     : SOME_WAYS;
    f->most = (unsigned)xl__floor_power_of_two(ways);
    f->items = xl__round_up(f->items, f->width * f->most);
    f->items = xl__round_up(f->items, f->wg);
}

static xl_status run_divergence_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const bool cpu = xl__is(&p->q->ctx->device->seen, XL__F_is_cpu);
    struct branch_curve f = {.wg = 1};
    choose_layout(p, &f);
    TRY(xl_buffer_create(p->q, f.items * sizeof(cl_uint), &f.out));
    plan_branches(&f);
    TRY(xl__iterated_calibrate(
        p, &f.t, xl__iterated_target_ns(p) / (cpu ? 1 : ONE_OF)));
    TRY(run_curves(p, &f));
fail:
    xl__buffer_release(f.out);
    return status;
}

const struct xl__probe xl__probe_divergence = {
    {"divergence",
     "Steps per second when the items of a sub-group take 1, 2, 4 ... paths "
     "of the same length (split); with the slowdown over one path and the "
     "expected one: the number of ways in lock step, 1 where items are "
     "threads, 1 when whole sub-groups take a path (shared). \"power\" is the "
     "exponent of the ways in the time: 1 in lock step, 0 where they are "
     "free; \"cost\" the slowdown of the largest number of ways, shared. "
     "Fooled by hardware that runs several ways of a sub-group at the same "
     "time, and by instruction caches too small for all paths.",
     false},
    run_divergence_probe};
