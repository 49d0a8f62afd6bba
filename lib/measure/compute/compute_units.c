/* SPDX-License-Identifier: Apache-2.0 */
/* How many compute units there are, and how many small groups one of them
 * holds: equal groups, one more at a time, take as long as one until every
 * unit has its own, and twice as long from the next one on.
 *
 *       time |              +-----      Groups fill a unit: as many items as a
 *            |        +-----+           group may have, all of a unit's local
 *            |  +-----+                 memory as ballast, and arithmetic that
 *            |--+                       leaves no slot free. Small ones only
 *            +--------------------      wait, so that a unit does as many at
 *              CU   2 CU  3 CU  groups  once as it can hold.
 *
 * Beside the times, groups count themselves: how many were at work at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "measure/probe.h"

enum {
    STEPS_A_TURN = 16, /* as in probe/compute_units.cl, and the next three */
    CHAINS = 4,
    SLOTS = 16,
    SPACING = 8,
    SMALL_WG = 32,     /* a sub-group of most devices */
    MOST_GROUPS = 4096, /* that fill a unit */
    MOST_COUNTS = 1300, /* points of the whole curve */
    MOST_SMALL = 256,  /* small groups a unit holds; more than any */
    ROWS = 24,         /* of the whole curve, besides its corners */
    MOST_TURNS = 65535, /* of loops that the host goes round too (GE-24) */
    LOOKS = 16         /* items or groups compared */
};
/* Of one group: far below a watchdog (GE-11) when three or four go by, and far
 * above what a launch costs. */
static const double group_ns = 2e5, launches = 4;
static const double warm_ns = 1e8; /* until clocks have risen */

/* -- what is launched ----------------------------------------------------- */

struct stairs {
    bool is_cpu;
    const char *variant; /* of the rows */
    unsigned mode;       /* of probe/compute_units.cl */
    size_t wg, words;    /* of a group: its items, its local memory */
    size_t group_words;  /* of `out` */
    size_t groups, turns; /* of the next launch */
    cl_mem out, census;
    double live, most_live; /* groups at once: of the last count, of all */
    bool is_thin;        /* rows: only some are handed out */
    size_t every, corner; /* which: each so-manieth, and beside steps */
    struct xl__stair *at; /* MOST_COUNTS */
    unsigned n;
};

static void make_plan(const struct stairs *s, struct xl__plan *plan)
{
    struct xl__step *step = &plan->step[0];
    *plan = (struct xl__plan){.n_steps = 1};
    step->source = "probe/compute_units.cl";
    step->kernel = "staircase";
    step->dims = 1;
    step->slice_dim = -1;
    step->local[0] = s->wg;
    step->global[0] = s->wg * s->groups;
    step->local_mem_bytes = s->words * sizeof(cl_uint);
    xl__define(step, "MODE", s->mode);
    xl__define(step, "WG", (long)s->wg);
    xl__define(step, "WORDS", (long)s->words);
    xl__arg_mem(step, 1);
    xl__arg_mem(step, 2);
    xl__arg_u32(step, s->turns);
}

static struct xl__call call_of(const struct stairs *s)
{
    return (struct xl__call){
        .mem = {[1] = {s->out, NULL}, [2] = {s->census, NULL}}};
}

/* struct xl__turning; curves have many points, so each is sampled as briefly
 * as in the quick way. */
static xl_status sample(struct xl__probing *p, void *arg, size_t turns,
                        xl_row *row)
{
    struct stairs *s = arg;
    xl_status status = XL_OK;
    xl_probing how;
    struct xl__probing brief = xl__probe_in_brief(p, &how);
    struct xl__plan plan;
    const struct xl__call call = call_of(s);
    cl_uint census[2];
    s->turns = xl__min_size(turns, MOST_TURNS);
    make_plan(s, &plan);
    TRY(xl__probe_alive(p));
    TRY(xl_buffer_fill(p->q, s->census, 0, 0, 2));
    TRY(xl__probe_sample(&brief, row, &plan, &call, 0));
    TRY(xl_buffer_read(p->q, s->census, 0, census, sizeof census));
    s->live = census[1];
    s->most_live = fmax(s->most_live, s->live);
fail:
    return status;
}

static bool is_corner(const struct stairs *s, size_t groups)
{
    const size_t beyond = groups % xl__max_size(s->corner, 1);
    return beyond <= 1 || groups % xl__max_size(s->every, 1) == 0;
}

/* The time of so many groups; a point of the curve and, as a rule, a row. */
static xl_status time_groups(struct xl__probing *p, struct stairs *s,
                             size_t groups, double *ns)
{
    xl_status status = XL_OK;
    xl_row row;
    for (unsigned i = 0; i < s->n; i++) {
        *ns = s->at[i].ns;
        if (s->at[i].groups == groups)
            return XL_OK;
    }
    s->groups = groups;
    xl_row_init(&row, "probe_staircase", s->variant);
    row.unit = "1";
    xl_row_param(&row, "groups", (double)groups);
    TRY(sample(p, s, s->turns, &row));
    *ns = row.samples.min_ns;
    if (s->n < MOST_COUNTS)
        s->at[s->n++] = (struct xl__stair){groups, *ns};
    row.value = (double)groups * s->at[0].ns / *ns;
    xl_row_found(&row, "at_once", s->live);
    if (!s->is_thin || is_corner(s, groups))
        xl__probe_emit(p, &row);
fail:
    return status;
}

/* From `first` on; *edge: the most groups that take no longer, 0 where even
 * `most` do not. */
static xl_status search(struct xl__probing *p, struct stairs *s, size_t first,
                        size_t least, size_t most, size_t *edge)
{
    xl_status status = XL_OK;
    double ns;
    s->n = 0;
    for (size_t n = first; n; n = xl__stairs_next(s->at, s->n, least, most))
        TRY(time_groups(p, s, n, &ns));
    *edge = xl__stairs_edge(s->at, s->n);
fail:
    return status;
}

/* -- results -------------------------------------------------------------- */

static cl_uint item_of_filled(const struct stairs *s, size_t i)
{
    const size_t at = i % s->wg, partner = i - at + (s->wg - 1 - at);
    const cl_uint c = (cl_uint)(2 * partner + 1);
    cl_uint all = 0;
    for (unsigned k = 0; k < CHAINS; k++) {
        cl_uint x = (cl_uint)(CHAINS * i + k);
        for (size_t t = 0; t < STEPS_A_TURN * s->turns; t++)
            x = x * x + c;
        all ^= x;
    }
    return all;
}

/* The same in each group: which slot holds what in the end. */
static void slots_of_small(const struct stairs *s, cl_uint *slot)
{
    cl_uint x = 0;
    for (cl_uint t = 0; t < s->turns; t++) {
        cl_uint *at = &slot[(x + t) % SLOTS];
        x = (*at += x % SLOTS + 1 + t) - (x % SLOTS + 1 + t);
    }
}

static bool same_as_host(const struct stairs *s, const cl_uint *seen,
                         size_t n_words)
{
    cl_uint slot[SLOTS] = {0};
    bool same = true;
    if (s->mode == 2)
        slots_of_small(s, slot);
    for (size_t i = 0; i < n_words; i += s->mode == 1 ? 1 : SPACING) {
        const cl_uint want = s->mode == 1 ? item_of_filled(s, i)
                                          : slot[i / SPACING % SLOTS];
        same = same && seen[i] == want;
    }
    return same;
}

/* One launch by itself, its first items or groups against the host. */
static xl_status look(struct xl__probing *p, const struct stairs *s,
                      bool *right)
{
    enum { MOST = LOOKS * SLOTS * SPACING };
    xl_status status = XL_OK;
    cl_uint seen[MOST];
    struct xl__plan plan;
    const struct xl__call call = call_of(s);
    const size_t n = s->mode == 1
                         ? xl__min_size(LOOKS, s->wg)
                         : xl__min_size(LOOKS, s->groups) * s->group_words;
    make_plan(s, &plan);
    TRY(xl_buffer_fill(p->q, s->out, 0, 0, s->groups * s->group_words));
    TRY(xl_buffer_fill(p->q, s->census, 0, 0, 2));
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_buffer_read(p->q, s->out, 0, seen, n * sizeof *seen));
    *right = same_as_host(s, seen, n);
fail:
    return status;
}

/* -- groups that fill a unit ---------------------------------------------- */

/* How much of what the units could do in the time gets done; unless nobody
 * timed so many. */
static void add_share(const struct stairs *s, xl_row *row, const char *name,
                      size_t groups, double units)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (s->at[i].groups == groups)
            xl_row_found(row, name,
                         (double)groups * s->at[0].ns / s->at[i].ns / units);
    }
}

/* On a CPU groups go by the dozen (CP-08), and other programs have their share
 * of the cores: times have no even steps, but a group that counts itself has a
 * unit of its own. */
static xl_status conclude_units(struct xl__probing *p, struct stairs *s,
                                double *units)
{
    xl_status status = XL_OK;
    xl_row row;
    bool right;
    char why[sizeof row.reason];
    TRY(look(p, s, &right));
    *units = s->is_cpu ? s->most_live : xl__stairs_width(s->at, s->n);
    xl_row_init(&row, "probe_staircase", "units");
    row.unit = "1";
    row.value = *units;
    xl_row_found(&row, "at_once", s->most_live);
    if (!right) {
        xl__probe_reject(&row, "not the numbers that the host has");
        xl__probe_emit(p, &row);
        return XL_OK;
    }
    if (!(*units > 0)) {
        snprintf(why, sizeof why,
                 "no even steps: groups are not handed to units one by one "
                 "here; %g were at work at once",
                 s->most_live);
        xl__probe_unsupported(p, &row, why);
        return XL_OK;
    }
    if (!s->is_cpu) {
        add_share(s, &row, "full", (size_t)*units, *units);
        add_share(s, &row, "one_more", (size_t)*units + 1, *units);
    }
    xl__probe_settle(p, &row, XL__F_compute_units, false);
    xl__probe_emit(p, &row);
fail:
    return status;
}

static xl_status try_group(struct xl__probing *p, struct stairs *s)
{
    xl_status status = XL_OK;
    struct xl__plan plan;
    const struct xl__call call = call_of(s);
    make_plan(s, &plan);
    TRY(xl__plan_launch(p->q, &plan, &call, NULL));
    TRY(xl_queue_finish(p->q)); /* some drivers refuse this late */
fail:
    return status;
}

/* As large as the driver grants this kernel, which may be less than it grants
 * one that does nothing; and with all of a unit's local memory, or as much as
 * the driver owns to (NV-01). */
static xl_status fit_group(struct xl__probing *p, struct stairs *s,
                           size_t most_wg)
{
    static const enum xl__fact_id rooms[] = {XL__F_local_mem_bytes,
                                             XL__F_local_mem_dynamic_bytes};
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    const bool own = xl__is(l, XL__F_has_local_mem);
    for (s->wg = most_wg; s->wg > 0; s->wg /= 2) {
        for (unsigned i = 0; i < (own ? 2 : 1); i++) {
            const size_t room = own ? xl__size_or(l, rooms[i], 0) : 0;
            const size_t every = room / sizeof(cl_uint) / s->wg;
            s->words = xl__max_size(every, 1) * s->wg;
            s->group_words = s->wg;
            status = try_group(p, s);
            if (status == XL_OK)
                return status;
            if (s->wg > 1)
                xl__error_reset(&p->q->error);
        }
    }
    return status;
}

/* Many groups, so that the whole device is awake. */
static xl_status warm_up(struct xl__probing *p, struct stairs *s)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    xl_row row;
    s->groups = XL__CPU_GROUPS;
    while ((double)(xl__now_ns() - start) < warm_ns) {
        xl_row_init(&row, "", NULL);
        TRY(sample(p, s, s->turns, &row));
    }
fail:
    return status;
}

/* Around the steps, or every count up to the third. */
static xl_status climb(struct xl__probing *p, struct stairs *s)
{
    xl_status status = XL_OK;
    const struct xl__turning w = {sample, s};
    size_t edge, turns;
    double ns;
    s->groups = 1;
    TRY(xl__turns_above(p, &w, group_ns, launches, &turns));
    TRY(warm_up(p, s));
    /* Where groups go by the dozen, few of them look like one unit (CP-08). */
    TRY(search(p, s, 1, XL__CPU_GROUPS, MOST_GROUPS, &edge));
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

static xl_status find_units(struct xl__probing *p, struct stairs *s,
                            double *units)
{
    xl_status status = XL_OK;
    const size_t most_wg = s->is_cpu ? 1 : p->most_wg;
    s->variant = "filled";
    s->mode = 1;
    s->turns = s->groups = 1;
    TRY(xl_buffer_create(p->q, MOST_GROUPS * most_wg * sizeof(cl_uint),
                         &s->out));
    TRY(fit_group(p, s, most_wg));
    TRY(climb(p, s));
    TRY(conclude_units(p, s, units));
fail:
    if (s->out)
        clReleaseMemObject(s->out);
    s->out = NULL;
    return status;
}

/* -- small groups --------------------------------------------------------- */

static xl_status conclude_resident(struct xl__probing *p, struct stairs *s,
                                   double units, size_t edge)
{
    static const double near = 0.02;
    xl_status status = XL_OK;
    xl_row row;
    bool right;
    TRY(look(p, s, &right));
    xl_row_init(&row, "probe_staircase", "resident");
    row.unit = "1";
    xl_row_param(&row, "group", (double)s->wg);
    if (!edge && right) {
        xl__probe_unsupported(p, &row, "no step: more groups take no longer, "
                                       "or times are too noisy");
        return XL_OK;
    }
    /* A group or two beyond a full round take little time of their own: the
     * step tells about where, the count exactly. */
    const bool agree =
        fabs((double)edge - s->most_live) <= near * s->most_live;
    row.value = (agree ? s->most_live : (double)edge) / units;
    xl_row_found(&row, "at_once", s->most_live / units);
    if (!agree) {
        row.verdict = XL_ROW_SUSPICIOUS;
        xl__strcpy(row.reason, sizeof row.reason,
                   "the step and the groups that were at work at once do not "
                   "agree");
    }
    if (!right)
        xl__probe_reject(&row, "not the numbers that the host has");
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* From one group a unit on: what a unit holds, and then twice that, so that
 * every unit is full at some time. */
static xl_status find_resident(struct xl__probing *p, struct stairs *s,
                               double units)
{
    xl_status status = XL_OK;
    const size_t first = (size_t)units, most = MOST_SMALL * first;
    const struct xl__turning w = {sample, s};
    size_t edge, turns;
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
    TRY(xl__turns_above(p, &w, group_ns, launches, &turns));
    TRY(search(p, s, first, 0, most, &edge));
    TRY(time_groups(p, s, xl__max_size(2 * edge, first), &ns));
    TRY(conclude_resident(p, s, units, edge));
fail:
    if (s->out)
        clReleaseMemObject(s->out);
    s->out = NULL;
    return status;
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->limits;
    struct stairs s = {.is_cpu = xl__is(l, XL__F_is_cpu),
                       .at = xl__calloc(MOST_COUNTS, sizeof *s.at)};
    double units = NAN;
    if (!s.at)
        TRY(xl__error_set(&p->q->error, XL_NO_MEMORY, "a curve"));
    TRY(xl_buffer_create(p->q, 2 * sizeof(cl_uint), &s.census));
    TRY(find_units(p, &s, &units));
    if (!(units > 0))
        units = xl__num_or(l, XL__F_compute_units, 1);
    if (!s.is_cpu) /* whose units do one after the other */
        TRY(find_resident(p, &s, units));
fail:
    if (s.census)
        clReleaseMemObject(s.census);
    free(s.at);
    return status;
}

const struct xl__probe xl__probe_staircase = {
    {"staircase",
     "Compute units and resident groups, by the time that 1, 2, 3 ... equal "
     "groups take. Groups that fill a unit take as long as one up to the "
     "number of units (full: the share of the units' work that gets done, 1), "
     "and one more takes twice as long (one_more: about half). Small groups "
     "that only wait take as long as one until no unit holds another. value "
     "of a count: the groups' work done in the time of the first; at_once: "
     "groups that counted themselves at work together, which is the answer on "
     "a CPU, where groups go by the dozen. Fooled by drivers that cut a "
     "launch into parts, by groups that leave room for a second, and by a "
     "clock that drops under load.",
     false},
    run};
