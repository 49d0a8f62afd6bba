/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `sync`: the time of a barrier, of an exchange and of a sum over a
 * work-group, by group size; of a shuffle and a sum over a sub-group.
 *
 * A single group runs, and each step needs the result of the one before, so
 * the time per step is a latency. The results are computed on the host as well
 * and compared: an item that did not wait has a wrong number. */

#include "base/alloc.h"
#include "base/numbers.h"
#include "base/str.h"
#include "measure/probe.h"

enum {
    STEPS = 4, /* per iteration, as in probe/barriers.cl */
    FACTOR = 1664525,
    LEAST_WG = 32,
    MOST_WG = 1024,
    SOME_WG = 256,   /* where the size makes no difference */
    LEAST_WIDTH = 4, /* least width of a sub-group for exchanges */
    N_CHECKED = 64   /* items that are compared */
};

enum sync_kind { BARRIER = 1, EXCHANGE, SHUFFLE, SUBGROUP_SUM, GROUP_SUM };

struct sync_case;

struct sync_row {
    const char *name;
    enum sync_kind kind;
    unsigned fence; /* 1 local, 2 global */
    bool by_size;   /* by group size; quick runs: the largest only */
    cl_uint (*expected)(const struct sync_case *w,
                        cl_uint item); /* NULL: the group's sum */
};

/* One launch. */
struct sync_case {
    const struct sync_row *row;
    size_t wg, width, iterations;
    cl_mem out;
};

/* -- expected numbers ----------------------------------------------------- */

static cl_uint after_barriers(const struct sync_case *w, cl_uint item)
{
    cl_uint x = item;
    for (size_t i = 0; i < STEPS * w->iterations; i++)
        x = x * FACTOR + 2 * item + 1;
    return x;
}

static cl_uint after_exchanges(const struct sync_case *w, cl_uint item)
{
    const size_t n = STEPS * w->iterations;
    return (cl_uint)((item + n) % w->wg + n);
}

/* The lane bits of an iteration combine to 1 ^ 2 ^ 1 ^ 1. */
static cl_uint after_shuffles(const struct sync_case *w, cl_uint item)
{
    return (cl_uint)((w->iterations % 2 ? item ^ 3 : item) +
                     STEPS * w->iterations);
}

/* All lanes have the same sum and differ by their lane numbers. */
static cl_uint after_subgroup_sums(const struct sync_case *w, cl_uint item)
{
    const cl_uint width = (cl_uint)w->width;
    const cl_uint lanes = width * (width - 1) / 2;
    cl_uint sum = item / width * width * width + lanes;
    for (size_t i = 1; i < STEPS * w->iterations; i++)
        sum = width * (sum + (sum >> 1)) + lanes;
    return sum + (sum >> 1) + item % width;
}

static const struct sync_row sync_rows[] = {
    {"barrier", BARRIER, 1, true, after_barriers},
    {"barrier_global", BARRIER, 2, true, after_barriers},
    {"exchange", EXCHANGE, 1, true, after_exchanges},
    {"reduction", GROUP_SUM, 1, true, NULL},
    {"sg_shuffle", SHUFFLE, 1, false, after_shuffles},
    {"sg_reduction", SUBGROUP_SUM, 1, false, after_subgroup_sums},
};
enum { N_ROWS = sizeof sync_rows / sizeof *sync_rows };

union number {
    cl_uint bits;
    float value;
};

static bool are_numbers_right(const struct sync_case *w,
                              const union number *seen, size_t n)
{
    const float sum = (float)(w->wg * (w->wg - 1) / 2);
    for (size_t i = 0; i < n; i++) {
        if (w->row->expected ? seen[i].bits != w->row->expected(w, (cl_uint)i)
                             : seen[i].value != sum)
            return false;
    }
    return true;
}

static xl_status check_numbers(struct xl__session *p, struct xl__iterated *t,
                               xl_row *row)
{
    xl_status status = XL_OK;
    struct sync_case *w = t->arg;
    const size_t n = xl__min_size(N_CHECKED, w->wg), width = w->width;
    union number seen[N_CHECKED];
    w->iterations = t->iterations;
    TRY(xl_buffer_read(p->q, w->out, 0, seen, n * sizeof *seen));
    bool right = are_numbers_right(w, seen, n);
    /* Some compilers choose the sub-group width per kernel (IN-02), so every
     * width is tried. */
    if (w->row->kind == SUBGROUP_SUM)
        for (w->width = LEAST_WIDTH; !right && w->width <= w->wg;
             w->width *= 2)
            right = are_numbers_right(w, seen, n);
    w->width = width;
    if (!right)
        xl__probe_reject(row, "wrong result: items did not wait for each "
                              "other, or exchanged wrong numbers");
fail:
    return status;
}

/* -- rows ----------------------------------------------------------------- */

static bool uses_lanes(const struct sync_row *r)
{
    return r->kind == SHUFFLE || r->kind == SUBGROUP_SUM;
}

static void plan_sync(const struct xl__session *p, const struct sync_case *w,
                      struct xl__iterated *t)
{
    struct xl__step *s = xl__probe_step(&t->plan, "probe/barriers.cl", "sync",
                                        w->wg, w->wg, false);
    if (uses_lanes(w->row))
        xl__strcpy(s->options, sizeof s->options,
                   xl__lane_option(p->q->ctx->device));
    xl__define(s, "KIND", w->row->kind);
    xl__define(s, "FENCE", w->row->fence);
    xl__define(s, "WG", (long)w->wg);
    xl__arg_mem(s, 1);
    xl__arg_u32(s, 0);
    t->call.mem[1].buf = w->out;
    t->amount = STEPS;
}

static xl_status measure_step(struct xl__session *p, struct sync_case *w,
                              xl_row *row)
{
    xl_status status = XL_OK;
    struct xl__iterated t = {.check = check_numbers, .arg = w};
    plan_sync(p, w, &t);
    TRY(xl__iterated_measure(p, &t, row));
    row->value = 1 / row->value; /* seconds a step */
fail:
    return status;
}

/* The status that drivers return for a group that is too large. */
static bool is_too_large(xl_status status)
{
    return status == XL_UNSUPPORTED || status == CL_OUT_OF_RESOURCES ||
           status == CL_INVALID_WORK_GROUP_SIZE;
}

/* *fits: the device runs groups of this size. */
static xl_status run_case(struct xl__session *p, struct sync_case *w,
                          bool *fits)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->seen;
    xl_row row = xl__probe_row("probe_sync", w->row->name, "s");
    xl_row_param(&row, "group", (double)w->wg);
    status = measure_step(p, w, &row);
    *fits = !is_too_large(status);
    if (!*fits)
        return xl__probe_unsupported(p, &row,
                                     "the built kernel allows no group of "
                                     "this size");
    if (uses_lanes(w->row) &&
        (status == XL_BUILD_FAILED || status == CL_INVALID_KERNEL_NAME))
        return xl__probe_unsupported(p, &row,
                                     "the compiler supports no exchange "
                                     "between lanes");
    TRY(status);
    xl__probe_emit(p, &row);
    if (row.verdict < XL_ROW_REJECTED && w->row == &sync_rows[0])
        xl__limits_measure(l, XL__F_barrier_ns,
                           row.samples.min_ns / STEPS / (double)w->iterations);
fail:
    return status;
}

/* Quick runs measure the largest group that fits; full runs all sizes,
 * ascending, so that the barrier of the largest group becomes the fact. */
static xl_status run_sizes(struct xl__session *p, struct sync_case *w,
                           size_t most)
{
    xl_status status = XL_OK;
    const bool quick = p->how->quick;
    bool fits = false;
    for (w->wg = most; quick && !fits && w->wg >= LEAST_WG; w->wg /= 2)
        TRY(run_case(p, w, &fits));
    for (w->wg = LEAST_WG; !quick && w->wg <= most; w->wg *= 2)
        TRY(run_case(p, w, &fits));
fail:
    return status;
}

static xl_status run_lanes(struct xl__session *p, struct sync_case *w,
                           size_t most)
{
    const xl_device *dev = p->q->ctx->device;
    bool fits;
    w->wg = xl__min_size(SOME_WG, most);
    if (xl__lane_option(dev) && w->width >= LEAST_WIDTH)
        return run_case(p, w, &fits);
    xl_row row = xl__probe_row("probe_sync", w->row->name, "s");
    return xl__probe_unsupported(p, &row,
                                 "the device has no sub-groups, or no "
                                 "known exchange between their lanes");
}

static xl_status run_sync_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct sync_case w = {.width = xl__size_or(l, XL__F_subgroup_width, 1)};
    const size_t most = xl__max_size(
        LEAST_WG, xl__floor_power_of_two(xl__min_size(
                      xl__size_or(l, XL__F_max_wg_size, 1), MOST_WG)));
    TRY(xl_buffer_create(p->q, MOST_WG * sizeof(cl_uint), &w.out));
    for (w.row = sync_rows; w.row < sync_rows + N_ROWS; w.row++)
        TRY(w.row->by_size ? run_sizes(p, &w, most) : run_lanes(p, &w, most));
fail:
    xl__buffer_release(w.out);
    return status;
}

const struct xl__probe xl__probe_sync = {
    {"sync",
     "The time of one barrier with a fence of local or of global memory, of "
     "passing a word to a neighbour through local memory and a barrier, and "
     "of a sum over the group, by group size; of a shuffle and a sum over a "
     "sub-group. A single group runs and each step needs the one before, so "
     "these are latencies, not rates: with more groups on a unit, others "
     "compute at that time. A step includes one or two multiply-adds and a "
     "quarter of a loop iteration. Fooled by compilers that remove barriers "
     "from a group that is one sub-group, which is correct.",
     false},
    run_sync_probe};
