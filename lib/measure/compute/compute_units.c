/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `staircase`: the number of compute units, and how many small groups
 * one of them holds, from the time of 1, 2, 3 ... equal work-groups. They take
 * as long as one until every unit has a group, and twice as long with one
 * more:
 *
 *       time |              +-----   A group that fills a unit has the largest
 *            |        +-----+        size, all local memory of the unit, and
 *            |  +-----+              arithmetic that occupies all issue slots.
 *            |--+                    Small groups wait for memory only, so a
 * unit
 *            +--------------------   runs as many at once as it can hold.
 *              CU   2 CU  3 CU  groups
 *
 * Independently of times, groups count themselves in a counter: the maximum is
 * the number that ran at once. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "measure/probe.h"

enum {
    STEPS_PER_ITERATION =
        16, /* as in probe/compute_units.cl, with the next three */
    CHAINS = 4,
    SLOTS = 16,
    SPACING = 8,
    SMALL_WG = 32,           /* a sub-group of most devices */
    MOST_GROUPS = 4096,      /* groups that fill a unit each */
    MOST_COUNTS = 1300,      /* points of a full curve */
    MOST_SMALL = 256,        /* small groups per unit: more than any holds */
    ROWS = 24,               /* rows of a full curve, besides corners */
    MOST_ITERATIONS = 65535, /* of loops that the host repeats (GE-24) */
    N_CHECKED = 16           /* items or groups that are compared */
};
/* Time of one group: the time of three or four is far below a watchdog (GE-11)
 * and far above the cost of a launch. */
static const double group_ns = 2e5, launches = 4;
static const double warm_ns = 1e8; /* until clock frequencies have risen */

/* -- steps of a curve ----------------------------------------------------- */

static const double rise = 1.5; /* threshold over the first time: between 1
                                   and 2 */

/* Fits t = a + b * ceil(groups / width) by relative least squares and returns
 * the mean relative deviation. *steep: b is a considerable part of the time of
 * the first step. */
static double fit_steps(const struct xl__group_time *at, unsigned n,
                        unsigned width, bool *steep)
{
    static const double least_step = 0.3;
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, off = 0;
    for (unsigned i = 0; i < n; i++) {
        const double u = 1 / at[i].ns;
        const double v = u * (double)xl__ceil_div(at[i].groups, width);
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    const double det = uu * vv - uv * uv;
    const double a = (u1 * vv - v1 * uv) / det;
    const double b = (v1 * uu - u1 * uv) / det;
    for (unsigned i = 0; i < n; i++) {
        const double s = (double)xl__ceil_div(at[i].groups, width);
        off += fabs((a + b * s) / at[i].ns - 1) / n;
    }
    *steep = b >= least_step * (a + b);
    return off;
}

double xl__steps_width(const struct xl__group_time *at, unsigned n)
{
    static const double good = 0.08;
    size_t most = 0;
    double best = INFINITY;
    unsigned width = 0;
    bool line_steep;
    for (unsigned i = 0; i < n; i++)
        most = xl__max_size(most, at[i].groups);
    if (most < 2)
        return NAN;
    const double line = fit_steps(at, n, 1, &line_steep);
    for (unsigned w = 1; w < most; w++) {
        bool steep;
        const double off = fit_steps(at, n, w, &steep);
        if (steep && off < best) {
            best = off;
            width = w;
        }
    }
    /* Groups assigned in batches, or a straight slope, fit no width well, or
     * all equally. */
    if (!(best <= good) || (width > 1 && best > line / 2))
        return NAN;
    return width;
}

size_t xl__steps_edge(const struct xl__group_time *at, unsigned n)
{
    size_t high = SIZE_MAX, low = 0;
    for (unsigned i = 0; i < n; i++) {
        if (at[i].ns >= rise * at[0].ns)
            high = xl__min_size(high, at[i].groups);
    }
    for (unsigned i = 0; i < n; i++) {
        if (at[i].groups < high)
            low = xl__max_size(low, at[i].groups);
    }
    return high == SIZE_MAX ? 0 : low;
}

size_t xl__steps_next_count(const struct xl__group_time *at, unsigned n,
                            size_t least, size_t most)
{
    const size_t edge = xl__steps_edge(at, n);
    size_t far = 0, above = SIZE_MAX;
    for (unsigned i = 0; i < n; i++) {
        far = xl__max_size(far, at[i].groups);
        if (at[i].groups > edge)
            above = xl__min_size(above, at[i].groups);
    }
    if ((!edge || far < least) && far <= most / 2)
        return 2 * far;
    return edge && above > edge + 1 ? edge + (above - edge) / 2 : 0;
}

/* -- what is launched ----------------------------------------------------- */

struct group_curve {
    bool is_cpu;
    const char *variant; /* of the rows */
    unsigned mode;       /* of probe/compute_units.cl */
    size_t wg, words;    /* of a group: its items, its local memory */
    size_t group_words;  /* of `out` */
    size_t groups, iterations; /* of the next launch */
    cl_mem out, census;
    double live, most_live; /* groups at once: of the last launch, of all */
    bool is_thin;           /* only some points become rows */
    size_t every, corner; /* which: multiples of `every`, and next to steps */
    struct xl__group_time *at; /* MOST_COUNTS */
    unsigned n;
};

static void plan_groups(const struct group_curve *s, struct xl__plan *plan)
{
    struct xl__step *step =
        xl__probe_step(plan, "probe/compute_units.cl", "staircase",
                       s->wg * s->groups, s->wg, false);
    step->local_mem_bytes = s->words * sizeof(cl_uint);
    xl__define(step, "MODE", s->mode);
    xl__define(step, "WG", (long)s->wg);
    xl__define(step, "WORDS", (long)s->words);
    xl__arg_mem(step, 1);
    xl__arg_mem(step, 2);
    xl__arg_u32(step, s->iterations);
}

static struct xl__call make_call(const struct group_curve *s)
{
    return (struct xl__call){
        .mem = {[1] = {.buf = s->out}, [2] = {.buf = s->census}}};
}

/* The sample function of a struct xl__iteration_source. Curves have many
 * points, so sampling is quick. */
static xl_status sample_groups(struct xl__session *p, void *arg,
                               size_t iterations, xl_row *row)
{
    struct group_curve *s = arg;
    xl_status status = XL_OK;
    xl_probing how;
    struct xl__session brief = xl__session_quick(p, &how);
    struct xl__plan plan;
    const struct xl__call call = make_call(s);
    cl_uint census[2];
    s->iterations = xl__min_size(iterations, MOST_ITERATIONS);
    plan_groups(s, &plan);
    TRY(xl_buffer_fill(p->q, s->census, 0, 0, 2));
    TRY(xl__probe_sample(&brief, row, &plan, &call, 0));
    TRY(xl_buffer_read(p->q, s->census, 0, census, sizeof census));
    s->live = census[1];
    s->most_live = fmax(s->most_live, s->live);
fail:
    return status;
}

static bool is_corner(const struct group_curve *s, size_t groups)
{
    const size_t beyond = groups % xl__max_size(s->corner, 1);
    return beyond <= 1 || groups % xl__max_size(s->every, 1) == 0;
}

/* Measures the time of a number of groups: a point of the curve and usually a
 * row. */
static xl_status time_groups(struct xl__session *p, struct group_curve *s,
                             size_t groups, double *ns)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < s->n; i++) {
        *ns = s->at[i].ns;
        if (s->at[i].groups == groups)
            return XL_OK;
    }
    s->groups = groups;
    xl_row row = xl__probe_row("probe_staircase", s->variant, "1");
    xl_row_param(&row, "groups", (double)groups);
    TRY(sample_groups(p, s, s->iterations, &row));
    *ns = row.samples.min_ns;
    if (s->n < MOST_COUNTS)
        s->at[s->n++] = (struct xl__group_time){groups, *ns};
    row.value = (double)groups * s->at[0].ns / *ns;
    xl_row_found(&row, "at_once", s->live);
    if (!s->is_thin || is_corner(s, groups))
        xl__probe_emit(p, &row);
fail:
    return status;
}

/* Searches the edge from `first` on; *edge: the largest number of groups that
 * takes no longer than the first, 0 if even `most` do not. */
static xl_status search_edge(struct xl__session *p, struct group_curve *s,
                             size_t first, size_t least, size_t most,
                             size_t *edge)
{
    xl_status status = XL_OK;
    double ns;
    s->n = 0;
    for (size_t n = first; n;
         n = xl__steps_next_count(s->at, s->n, least, most))
        TRY(time_groups(p, s, n, &ns));
    *edge = xl__steps_edge(s->at, s->n);
fail:
    return status;
}

/* -- expected results ----------------------------------------------------- */

static cl_uint expected_item(const struct group_curve *s, size_t i)
{
    const size_t at = i % s->wg, partner = i - at + (s->wg - 1 - at);
    const cl_uint c = (cl_uint)(2 * partner + 1);
    cl_uint all = 0;
    for (unsigned k = 0; k < CHAINS; k++) {
        cl_uint x = (cl_uint)(CHAINS * i + k);
        for (size_t t = 0; t < STEPS_PER_ITERATION * s->iterations; t++)
            x = x * x + c;
        all ^= x;
    }
    return all;
}

/* The final content of the slots, the same for each group. */
static void compute_expected_slots(const struct group_curve *s, cl_uint *slot)
{
    cl_uint x = 0;
    for (cl_uint t = 0; t < s->iterations; t++) {
        cl_uint *at = &slot[(x + t) % SLOTS];
        x = (*at += x % SLOTS + 1 + t) - (x % SLOTS + 1 + t);
    }
}

static bool matches_host(const struct group_curve *s, const cl_uint *seen,
                         size_t n_words)
{
    cl_uint slot[SLOTS] = {0};
    bool same = true;
    if (s->mode == 2)
        compute_expected_slots(s, slot);
    for (size_t i = 0; i < n_words; i += s->mode == 1 ? 1 : SPACING) {
        const cl_uint expected =
            s->mode == 1 ? expected_item(s, i) : slot[i / SPACING % SLOTS];
        same = same && seen[i] == expected;
    }
    return same;
}

/* Runs one launch and compares its first items or groups with the host's
 * results. */
static xl_status check_groups(struct xl__session *p,
                              const struct group_curve *s, bool *right)
{
    enum { MOST = N_CHECKED * SLOTS * SPACING };
    xl_status status = XL_OK;
    cl_uint seen[MOST];
    struct xl__plan plan;
    const struct xl__call call = make_call(s);
    const size_t n = s->mode == 1
                         ? xl__min_size(N_CHECKED, s->wg)
                         : xl__min_size(N_CHECKED, s->groups) * s->group_words;
    plan_groups(s, &plan);
    TRY(xl_buffer_fill(p->q, s->out, 0, 0, s->groups * s->group_words));
    TRY(xl_buffer_fill(p->q, s->census, 0, 0, 2));
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_buffer_read(p->q, s->out, 0, seen, n * sizeof *seen));
    *right = matches_host(s, seen, n);
fail:
    return status;
}

/* -- groups that fill a unit ---------------------------------------------- */

/* Adds the share of the units' capacity that a number of groups used, if that
 * number was timed. */
static void add_share(const struct group_curve *s, xl_row *row,
                      const char *name, size_t groups, double units)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (s->at[i].groups == groups)
            xl_row_found(row, name,
                         (double)groups * s->at[0].ns / s->at[i].ns / units);
    }
}

/* On a CPU groups are assigned in batches (CP-08) and other programs use
 * cores too: times have no equal steps, so the units are those that groups
 * counted. */
static xl_status report_units(struct xl__session *p, struct group_curve *s,
                              double *units)
{
    xl_status status = XL_OK;
    bool right;
    TRY(check_groups(p, s, &right));
    *units = s->is_cpu ? s->most_live : xl__steps_width(s->at, s->n);
    xl_row row = xl__probe_row("probe_staircase", "units", "1");
    row.value = *units;
    xl_row_found(&row, "at_once", s->most_live);
    if (!right) {
        xl__probe_reject(&row, "wrong result: the numbers differ from the "
                               "host's");
        xl__probe_emit(p, &row);
        return XL_OK;
    }
    if (!(*units > 0)) {
        xl__probe_unsupported(p, &row,
                              "no equal steps: groups are not assigned to "
                              "units one by one; %g ran at once",
                              s->most_live);
        return XL_OK;
    }
    if (!s->is_cpu) {
        add_share(s, &row, "full", (size_t)*units, *units);
        add_share(s, &row, "one_more", (size_t)*units + 1, *units);
    }
    xl__probe_set_fact(p, &row, XL__F_compute_units, false);
    xl__probe_emit(p, &row);
fail:
    return status;
}

static xl_status try_group_size(struct xl__session *p, struct group_curve *s)
{
    xl_status status = XL_OK;
    struct xl__plan plan;
    const struct xl__call call = make_call(s);
    plan_groups(s, &plan);
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_queue_finish(p->q)); /* some drivers fail only here */
fail:
    return status;
}

/* Finds the largest group that the driver grants this kernel, which may be
 * less than an empty kernel gets, with all local memory of a unit, or as much
 * as the driver reports (NV-01). */
static xl_status fit_group(struct xl__session *p, struct group_curve *s,
                           size_t most_wg)
{
    static const enum xl__fact_id rooms[] = {XL__F_local_mem_bytes,
                                             XL__F_local_mem_dynamic_bytes};
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool own = xl__is(l, XL__F_has_local_mem);
    for (s->wg = most_wg; s->wg > 0; s->wg /= 2) {
        for (unsigned i = 0; i < (own ? 2 : 1); i++) {
            const size_t room = own ? xl__size_or(l, rooms[i], 0) : 0;
            const size_t every = room / sizeof(cl_uint) / s->wg;
            s->words = xl__max_size(every, 1) * s->wg;
            s->group_words = s->wg;
            status = try_group_size(p, s);
            if (status == XL_OK)
                return status;
            if (s->wg > 1)
                xl__error_reset(&p->q->error);
        }
    }
    return status;
}

/* Runs many groups until the clocks of the whole device have risen. */
static xl_status warm_up_device(struct xl__session *p, struct group_curve *s)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    xl_row row;
    s->groups = XL__CPU_GROUPS;
    while ((double)(xl__now_ns() - start) < warm_ns) {
        xl_row_init(&row, "", NULL);
        TRY(sample_groups(p, s, s->iterations, &row));
    }
fail:
    return status;
}

/* Measures the counts next to steps; in full runs every count up to the third
 * step. */
static xl_status measure_curve(struct xl__session *p, struct group_curve *s)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {sample_groups, s};
    size_t edge, iterations;
    double ns;
    s->groups = 1;
    TRY(xl__iterations_find_above(p, &w, group_ns, launches, &iterations));
    TRY(warm_up_device(p, s));
    /* Where groups are assigned in batches, a few of them look like one unit
     * (CP-08). */
    TRY(search_edge(p, s, 1, XL__CPU_GROUPS, MOST_GROUPS, &edge));
    for (unsigned i = 2; i <= 3 && edge; i++) {
        TRY(time_groups(p, s, xl__min_size(i * edge, MOST_GROUPS), &ns));
        TRY(time_groups(p, s, xl__min_size(i * edge + 1, MOST_GROUPS), &ns));
    }
    s->is_thin = true;
    s->corner = edge;
    s->every = xl__ceil_div(3 * edge, ROWS);
    for (size_t n = 1; !p->how->quick && n <= 3 * edge && s->n < MOST_COUNTS;
         n++)
        TRY(time_groups(p, s, n, &ns));
fail:
    return status;
}

static xl_status find_units(struct xl__session *p, struct group_curve *s,
                            double *units)
{
    xl_status status = XL_OK;
    const size_t most_wg = s->is_cpu ? 1 : p->most_wg;
    s->variant = "filled";
    s->mode = 1;
    s->iterations = s->groups = 1;
    TRY(xl_buffer_create(p->q, MOST_GROUPS * most_wg * sizeof(cl_uint),
                         &s->out));
    TRY(fit_group(p, s, most_wg));
    TRY(measure_curve(p, s));
    TRY(report_units(p, s, units));
fail:
    xl__buffer_release(s->out);
    s->out = NULL;
    return status;
}

/* -- small groups --------------------------------------------------------- */

static xl_status report_resident(struct xl__session *p, struct group_curve *s,
                                 double units, size_t edge)
{
    static const double near = 0.02;
    xl_status status = XL_OK;
    bool right;
    TRY(check_groups(p, s, &right));
    xl_row row = xl__probe_row("probe_staircase", "resident", "1");
    xl_row_param(&row, "group", (double)s->wg);
    if (!edge && right)
        return xl__probe_unsupported(p, &row,
                                     "no step: more groups take no "
                                     "longer, or times are too noisy");
    /* A few groups beyond a full round add little time: the step is
     * approximate, the count exact. */
    const bool agree =
        fabs((double)edge - s->most_live) <= near * s->most_live;
    row.value = (agree ? s->most_live : (double)edge) / units;
    xl_row_found(&row, "at_once", s->most_live / units);
    if (!agree)
        xl__row_mark(&row, XL_ROW_SUSPICIOUS,
                     "the step and the number of groups that ran at once "
                     "disagree");
    if (!right)
        xl__probe_reject(&row, "wrong result: the numbers differ from the "
                               "host's");
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Measures from one group per unit on: what a unit holds, and twice that, so
 * that every unit is full at some time. */
static xl_status find_resident(struct xl__session *p, struct group_curve *s,
                               double units)
{
    xl_status status = XL_OK;
    const size_t first = (size_t)units, most = MOST_SMALL * first;
    const struct xl__iteration_source w = {sample_groups, s};
    size_t edge, iterations;
    double ns;
    s->variant = "small";
    s->mode = 2;
    s->most_live = 0;
    s->wg = xl__min_size(SMALL_WG, p->most_wg);
    s->words = 0;
    s->group_words = SLOTS * SPACING;
    s->groups = first;
    s->is_thin = false;
    TRY(xl_buffer_create(p->q, most * s->group_words * sizeof(cl_uint),
                         &s->out));
    TRY(xl_buffer_fill(p->q, s->out, 0, 0, most * s->group_words));
    TRY(xl__iterations_find_above(p, &w, group_ns, launches, &iterations));
    TRY(search_edge(p, s, first, 0, most, &edge));
    TRY(time_groups(p, s, xl__max_size(2 * edge, first), &ns));
    TRY(report_resident(p, s, units, edge));
fail:
    xl__buffer_release(s->out);
    s->out = NULL;
    return status;
}

static xl_status run_staircase_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct group_curve s = {.is_cpu = xl__is(l, XL__F_is_cpu),
                            .at = xl__calloc(MOST_COUNTS, sizeof *s.at)};
    double units = NAN;
    TRY(xl__check_alloc(&p->q->error, s.at, "a curve"));
    TRY(xl_buffer_create(p->q, 2 * sizeof(cl_uint), &s.census));
    TRY(find_units(p, &s, &units));
    if (!(units > 0))
        units = xl__num_or(l, XL__F_compute_units, 1);
    if (!s.is_cpu) /* whose units run groups one after the other */
        TRY(find_resident(p, &s, units));
fail:
    xl__buffer_release(s.census);
    free(s.at);
    return status;
}

const struct xl__probe xl__probe_staircase = {
    {"staircase",
     "Compute units and resident groups, by the time that 1, 2, 3 ... equal "
     "groups take. Groups that fill a unit take as long as one up to the "
     "number of units (full: the share of the units' capacity in use, 1), and "
     "one more takes twice as long (one_more: about half). Small groups that "
     "only wait take as long as one until no unit holds another. value of a "
     "count: the groups' work done in the time of the first; at_once: groups "
     "that counted themselves as running together, which is the result on a "
     "CPU, where groups are assigned in batches. Fooled by drivers that split "
     "a launch, by groups that leave room for a second one on a unit, and by "
     "a clock that drops under load.",
     false},
    run_staircase_probe};
