/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `subgroup`: the width of a sub-group (warp, wavefront), from lane
 * numbers where a kernel can read them, otherwise from the cost of divergence,
 * since a sub-group whose items take different branches executes both. A
 * driver that reports another width makes the row suspicious. */
#include <math.h>

#include "base/alloc.h"
#include "base/str.h"
#include "measure/probe.h"

enum {
    WG = 256, /* holds two sub-groups or more */
    LEAST_WG = 64,
    GROUPS_PER_UNIT = 8,
    FIRST_STEPS = 64,
    MOST_STEPS = 1 << 20,
    MOST_PERIODS = 8, /* 1, 2, 4 ... 128 */
    PASSES = 3        /* over all periods; the shortest time of each is used */
};

static const double launch_ns = 0.5e6;
/* Shares of the time at period 1: both branches executed, and one. */
static const double both_ways = 0.85, one_way = 0.7;

static struct xl__plan plan_kernel(const char *kernel, const char *option,
                                   size_t groups, size_t wg)
{
    struct xl__plan plan;
    struct xl__step *s = xl__probe_step(&plan, "probe/subgroup.cl", kernel,
                                        groups * wg, wg, false);
    xl__strcpy(s->options, sizeof s->options, option ? option : "");
    xl__arg_mem(s, 1);
    return plan;
}

/* -- by lane number ------------------------------------------------------- */

const char *xl__lane_option(const xl_device *dev)
{
    if (dev->vendor->lane_option)
        return dev->vendor->lane_option;
    return xl__is(&dev->seen, XL__F_has_subgroups) ? "-DXL_LANE_SUBGROUP"
                                                     : NULL;
}

/* The width from the lane numbers of a group; 0 if they do not repeat 0, 1 ...
 * width - 1. */
static unsigned find_width(const cl_uint *lane, size_t n)
{
    cl_uint width = 0;
    for (size_t i = 0; i < n; i++)
        width = lane[i] >= width ? lane[i] + 1 : width;
    for (size_t i = 0; i < n; i++) {
        if (lane[i] != i % width)
            return 0;
    }
    return width;
}

static xl_status read_lanes(struct xl__session *p, cl_mem out,
                            const char *option, size_t wg, unsigned *width)
{
    xl_status status = XL_OK;
    cl_uint lane[WG];
    const struct xl__call call = {.mem = {[1] = {.buf = out}}};
    const struct xl__plan plan = plan_kernel("lanes", option, 1, wg);
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_buffer_read(p->q, out, 0, lane, wg * sizeof *lane));
    *width = find_width(lane, wg);
fail:
    return status;
}

/* Reads lanes in groups of two sizes: a "sub-group" that is always the whole
 * group has nothing to do with the hardware; *width is NaN then. */
static xl_status measure_by_lane(struct xl__session *p, cl_mem out,
                                 double *width)
{
    xl_status status = XL_OK;
    const xl_device *dev = p->q->ctx->device;
    const size_t wg = xl__min_size(WG, p->most_wg);
    const char *option = xl__lane_option(dev);
    unsigned large = 0, small = 0;
    *width = NAN;
    if (!option || wg < LEAST_WG)
        return XL_OK;
    TRY(read_lanes(p, out, option, wg, &large));
    TRY(read_lanes(p, out, option, wg / 2, &small));
    if (large > 0 && large == small && large < wg / 2)
        *width = large;
fail:
    if (status == XL_BUILD_FAILED || status == XL_UNSUPPORTED) {
        xl__error_reset(&p->q->error);
        status = XL_OK; /* divergence is tried next */
    }
    return status;
}

static void emit_width(struct xl__session *p, const char *variant,
                       double width, bool is_exact)
{
    xl_row row = xl__probe_row("probe_subgroup", variant, "1");
    row.value = width;
    if (width > 0)
        xl__probe_set_fact(p, &row, XL__F_subgroup_width, is_exact);
    else
        xl__row_mark(&row, XL_ROW_UNSUPPORTED,
                     "no width is found: work-items here do not run in "
                     "lock-step");
    xl__probe_emit(p, &row);
}

/* -- by divergence -------------------------------------------------------- */

/* The times have two levels: both branches up to the width, one from there
 * on. */
double xl__divergence_width(const double *ns, unsigned n)
{
    unsigned at = 0;
    while (at < n && ns[at] >= both_ways * ns[0])
        at++;
    if (at == 0 || at == n)
        return NAN;
    for (unsigned i = at; i < n; i++) {
        if (ns[i] > one_way * ns[0])
            return NAN;
    }
    return ldexp(1, (int)at);
}

struct divergence_launch {
    cl_mem out;
    size_t groups, wg, steps;
};

static xl_status time_period(struct xl__session *p,
                             const struct divergence_launch *f, size_t period,
                             xl_row *row)
{
    struct xl__plan plan = plan_kernel("diverge", NULL, f->groups, f->wg);
    const struct xl__call call = {.mem = {[1] = {.buf = f->out}}};
    xl__arg_u32(&plan.step[0], period);
    xl__arg_u32(&plan.step[0], f->steps);
    *row = xl__probe_row("probe_subgroup", "divergence", "s");
    xl_row_param(row, "period", (double)period);
    return xl__probe_sample(p, row, &plan, &call, 0);
}

static xl_status calibrate_steps(struct xl__session *p,
                                 struct divergence_launch *f)
{
    xl_status status = XL_OK;
    xl_row row;
    for (f->steps = FIRST_STEPS;; f->steps *= 4) {
        TRY(time_period(p, f, 1, &row));
        if (row.samples.median_ns >= launch_ns || f->steps >= MOST_STEPS)
            break;
    }
fail:
    return status;
}

static xl_status measure_pass(struct xl__session *p,
                              const struct divergence_launch *f, double *ns,
                              unsigned n, bool last)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < n; i++) {
        xl_row row;
        TRY(time_period(p, f, (size_t)1 << i, &row));
        ns[i] = fmin(ns[i], row.samples.min_ns);
        if (last)
            xl__probe_emit(p, &row);
    }
fail:
    return status;
}

static xl_status measure_by_divergence(struct xl__session *p,
                                       struct divergence_launch *f,
                                       double *width)
{
    xl_status status = XL_OK;
    double ns[MOST_PERIODS];
    unsigned n = 0;
    for (size_t period = 1; 2 * period <= f->wg && n < MOST_PERIODS;
         period *= 2)
        ns[n++] = INFINITY;
    TRY(calibrate_steps(p, f));
    for (unsigned i = 1; i <= PASSES; i++)
        TRY(measure_pass(p, f, ns, n, i == PASSES));
    *width = xl__divergence_width(ns, n);
fail:
    return status;
}

/* Quick runs measure divergence only where lanes gave no width. */
static xl_status run_subgroup_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const size_t wg = xl__min_size(WG, p->most_wg);
    struct divergence_launch f = {
        NULL, GROUPS_PER_UNIT * xl__size_or(l, XL__F_compute_units, 1), wg, 0};
    double width = NAN, forked = NAN;
    if (xl__probe_is_scalar(l)) { /* a step in the times would be noise */
        emit_width(p, "divergence_width", NAN, false);
        return XL_OK;
    }
    TRY(xl_buffer_create(p->q, f.groups * wg * sizeof(cl_uint), &f.out));
    TRY(measure_by_lane(p, f.out, &width));
    if (width > 0)
        emit_width(p, "lane", width, true);
    if (!(width > 0) || !p->how->quick) {
        TRY(measure_by_divergence(p, &f, &forked));
        emit_width(p, "divergence_width", forked, false);
    }
fail:
    xl__buffer_release(f.out);
    return status;
}

const struct xl__probe xl__probe_subgroup = {
    {"subgroup",
     "The width of a sub-group, by lane number where a kernel can read it, "
     "else by the time of a branch whose outcome alternates every 1, 2, 4 ... "
     "items: it falls where a sub-group first takes one branch only. Fooled "
     "by a compiler that always executes both branches, as CPU drivers do; "
     "then no width is found.",
     true},
    run_subgroup_probe};
