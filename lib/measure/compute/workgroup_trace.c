/* SPDX-License-Identifier: Apache-2.0 */
/* Traces which compute unit runs which work-group, and when: groups record
 * their unit and their start and end (probe/workgroup_trace.cl). The step of
 * the device clock is found by comparison with the host's clock. Results that
 * are impossible are errors: more units than the device has, a thread that ran
 * two chunks at a time, chunks that end before they start, wrong values. */
#include "measure/compute/workgroup_trace.h"

#include <crosslane/measure/workgroup_trace.h>

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "measure/probe.h"

enum {
    FIRST_ITERATIONS = 16,
    MOST_ITERATIONS = 1 << 26,
    MOST_FACTOR = 8, /* between two launches */
    RUNS = 3,
    MOST_CHECKED = 4 /* chunks: the host computes them serially */
};
enum { AT_ITERATIONS, AT_REST }; /* value slots of a call */
static const double most_ns = 20e6, near_frac = 0.8;
static const double least_clock_ns = 10e6; /* over which the clock's step is
                                              measured */

struct trace_run {
    xl_queue *q;
    const xl_watch *what;
    struct xl__cached_plan *ready;
    cl_mem mem;
    struct xl__trace_record *raw, *best;
    struct xl__call call;
    size_t iterations;
    double host_ns;           /* duration of the last launch by the host's
                                 clock */
    double first_ns, last_ns; /* midpoints of the first and the last launch
                                 by the host's clock; first_ns 0: none yet */
    cl_ulong first, last;     /* the same by the device's clock */
};

/* -- evaluation of records ------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    const cl_ulong x = *(const cl_ulong *)a, y = *(const cl_ulong *)b;
    return (x > y) - (x < y);
}

static unsigned index_of_id(const cl_ulong *ids, unsigned n, cl_ulong id)
{
    const cl_ulong *at = bsearch(&id, ids, n, sizeof *ids, compare_ids);
    return at ? (unsigned)(at - ids) : 0;
}

/* Collects the ids of the units, sorted, without duplicates. */
static unsigned unique_ids(const struct xl__trace_record *raw, size_t n,
                           cl_ulong *ids)
{
    unsigned n_ids = 0;
    for (size_t i = 0; i < n; i++)
        ids[i] = raw[i].unit;
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++)
        if (n_ids == 0 || ids[n_ids - 1] != ids[i])
            ids[n_ids++] = ids[i];
    return n_ids;
}

/* The first start and the last end; false if no clock ran. They stay integers:
 * nanoseconds since 1970 exceed the precision of a double. */
static bool find_span(const struct xl__trace_record *raw, size_t n,
                      cl_ulong *first, cl_ulong *last)
{
    *first = raw[0].start;
    *last = raw[0].end;
    for (size_t i = 0; i < n; i++) {
        if (raw[i].end < raw[i].start)
            return false;
        *first = raw[i].start < *first ? raw[i].start : *first;
        *last = raw[i].end > *last ? raw[i].end : *last;
    }
    return *last > *first;
}

bool xl__trace_read(const struct xl__trace_record *raw, size_t n,
                    double step_ns, xl_piece_record *out, xl_watched *about)
{
    cl_ulong first, last;
    cl_ulong *ids = xl__calloc(n, sizeof *ids);
    if (!ids)
        return false;
    about->n_units = unique_ids(raw, n, ids);
    about->has_clock = find_span(raw, n, &first, &last) && step_ns > 0;
    for (size_t i = 0; i < n; i++) {
        out[i].unit = index_of_id(ids, about->n_units, raw[i].unit);
        out[i].start_ns = out[i].end_ns = (double)NAN;
        if (!about->has_clock)
            continue;
        out[i].start_ns = (double)(raw[i].start - first) * step_ns;
        out[i].end_ns = (double)(raw[i].end - first) * step_ns;
    }
    if (about->has_clock)
        about->total_ns = (double)(last - first) * step_ns;
    free(ids);
    return true;
}

static int compare_unit_and_start(const void *a, const void *b)
{
    const xl_piece_record *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

bool xl__trace_is_serial(const xl_piece_record *piece, size_t n)
{
    bool is_serial = true;
    xl_piece_record *sorted = xl__calloc(n, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = piece[i];
    qsort(sorted, n, sizeof *sorted, compare_unit_and_start);
    for (size_t i = 1; i < n; i++)
        if (sorted[i].unit == sorted[i - 1].unit &&
            sorted[i].start_ns < sorted[i - 1].end_ns)
            is_serial = false;
    free(sorted);
    return is_serial;
}

/* -- a launch ------------------------------------------------------------- */

static cl_uint expected_chain(size_t item, size_t iterations)
{
    cl_uint x = (cl_uint)item;
    const cl_uint c = 2 * x + 1;
    for (size_t i = 0; i < iterations; i++)
        x = x * x + c;
    return x;
}

/* Checks the values of some chunks, evenly distributed, the last one
 * included. */
static xl_status check_pieces(struct trace_run *w)
{
    const xl_watch *what = w->what;
    const size_t n = what->n_pieces;
    const size_t checked = xl__min_size(n, MOST_CHECKED);
    for (size_t i = 0; i < checked; i++) {
        const size_t p = n - 1 - i * (n / checked);
        const size_t iterations =
            (size_t)(p < what->whole ? w->call.value[AT_ITERATIONS].u
                                     : w->call.value[AT_REST].u);
        const size_t item = p * what->wg_items;
        const cl_ulong expected =
            expected_chain(item, iterations) |
            (cl_ulong)expected_chain(item + what->wg_items - 1, iterations)
                << 32;
        if (w->raw[p].work != expected)
            return xl__error_set(&w->q->error, XL_WRONG_RESULT,
                                 "wrong value in chunk %zu: %llx, expected "
                                 "%llx",
                                 p, (unsigned long long)w->raw[p].work,
                                 (unsigned long long)expected);
    }
    return XL_OK;
}

static void record_clock(struct trace_run *w, double host_ns)
{
    cl_ulong first, last;
    if (!find_span(w->raw, w->what->n_pieces, &first, &last))
        return;
    w->last_ns = host_ns;
    w->last = first + (last - first) / 2;
    if (w->first_ns > 0)
        return;
    w->first_ns = w->last_ns;
    w->first = w->last;
}

/* The step of the clock from the midpoints of the first and the last
 * launch. */
static double clock_step_ns(const struct trace_run *w)
{
    return w->last > w->first ? (w->last_ns - w->first_ns) /
                                    (double)(w->last - w->first)
                              : (double)NAN;
}

static xl_status launch_groups(struct trace_run *w, size_t iterations)
{
    xl_status status = XL_OK;
    const size_t rest = (size_t)((double)iterations * w->what->rest_frac);
    w->call.value[AT_ITERATIONS].u = iterations;
    w->call.value[AT_REST].u = xl__max_size(rest, 1);
    const uint64_t start = xl__now_ns();
    TRY(xl__launch(w->q, w->ready, &w->call, NULL));
    TRY(xl_queue_finish(w->q));
    const uint64_t end = xl__now_ns();
    w->host_ns = (double)(end - start);
    TRY(xl_buffer_read(w->q, w->mem, 0, w->raw,
                       w->what->n_pieces * sizeof *w->raw));
    TRY(check_pieces(w));
    record_clock(w, ((double)start + (double)end) / 2);
fail:
    return status;
}

/* The duration of the last launch: by the device's clock, which excludes the
 * launch cost, or else by the host's. */
static double last_duration_ns(const struct trace_run *w)
{
    cl_ulong first, last;
    const double step = clock_step_ns(w);
    return step > 0 && find_span(w->raw, w->what->n_pieces, &first, &last)
               ? (double)(last - first) * step
               : w->host_ns;
}

/* -- the trace ------------------------------------------------------------ */

static void plan_groups(const struct trace_run *w, struct xl__plan *plan)
{
    const xl_watch *what = w->what;
    const xl_device *dev = w->q->ctx->device;
    const size_t words = xl__max_size(
        what->wg_items, what->local_mem_bytes / sizeof(cl_uint));
    struct xl__step *s =
        xl__probe_step(plan, "probe/workgroup_trace.cl", "groups",
                       what->n_groups * what->wg_items, what->wg_items, false);
    s->local_mem_bytes = words * sizeof(cl_uint);
    xl__define(s, "WG", (long)what->wg_items);
    xl__define(s, "WORDS", (long)words);
    xl__define_choice(s, "XL_UNIT", xl__text(&dev->seen, XL__F_unit_id));
    xl__arg_mem(s, 1);
    xl__arg_u32(s, what->n_pieces);
    xl__arg_u32(s, what->whole);
    xl__arg_value_u32(s, AT_ITERATIONS);
    xl__arg_value_u32(s, AT_REST);
}

/* Finds the iterations for the required duration, growing by small factors so
 * that no launch runs long on an unknown device. */
static xl_status find_iterations(struct trace_run *w)
{
    xl_status status = XL_OK;
    const double expected = fmin(w->what->want_ns, most_ns);
    const uint64_t begin = xl__now_ns();
    TRY(launch_groups(w, FIRST_ITERATIONS)); /* the first launch is slower */
    w->first_ns = 0;
    for (w->iterations = FIRST_ITERATIONS;;) {
        double ns = INFINITY;
        for (unsigned i = 0; i < RUNS; i++) {
            TRY(launch_groups(w, w->iterations));
            ns = fmin(ns, last_duration_ns(w));
        }
        if (ns >= near_frac * expected || w->iterations >= MOST_ITERATIONS)
            break;
        const double more =
            fmin(fmax(expected / fmax(ns, 1), 1.1), MOST_FACTOR);
        w->iterations = (size_t)ceil((double)w->iterations * more);
    }
    while (w->first_ns > 0 &&
           (double)(xl__now_ns() - begin) < least_clock_ns)
        TRY(launch_groups(w, w->iterations));
fail:
    return status;
}

static xl_status measure_runs(struct trace_run *w, xl_watched *about)
{
    xl_status status = XL_OK;
    double full = INFINITY, half = INFINITY;
    for (unsigned i = 0; i < RUNS; i++) {
        TRY(launch_groups(w, w->iterations / 2));
        half = fmin(half, last_duration_ns(w));
        TRY(launch_groups(w, w->iterations));
        if (last_duration_ns(w) >= full)
            continue;
        full = last_duration_ns(w);
        struct xl__trace_record *kept = w->best;
        w->best = w->raw;
        w->raw = kept;
    }
    about->total_ns = full;
    about->scaling =
        full / half * (double)(w->iterations / 2) / (double)w->iterations;
fail:
    return status;
}

/* Checks that the records are possible on this device. */
static xl_status check_plausible(struct trace_run *w,
                                 const xl_piece_record *out,
                                 const xl_watched *about)
{
    const struct xl__limits *l = &w->q->ctx->device->seen;
    const double units = xl__num(l, XL__F_compute_units);
    if (about->n_units > units)
        return xl__error_set(&w->q->error, XL_UNSUPPORTED,
                             "%u compute units were recorded, but the device "
                             "has %g",
                             about->n_units, units);
    if (about->is_thread && about->has_clock &&
        !xl__trace_is_serial(out, w->what->n_pieces))
        return xl__error_set(&w->q->error, XL_UNSUPPORTED,
                             "local memory does not identify threads: two "
                             "groups used the same address at a time");
    return XL_OK;
}

static xl_status run_trace(struct trace_run *w, xl_piece_record *out,
                           xl_watched *about)
{
    xl_status status = XL_OK;
    const size_t n = w->what->n_pieces;
    TRY(xl_buffer_create(w->q, n * sizeof *w->raw, &w->mem));
    w->call.mem[1] = (xl_mem){.buf = w->mem};
    plan_groups(w, &w->ready->plan);
    TRY(xl__cached_plan_build(w->q, w->ready));
    TRY(find_iterations(w));
    TRY(measure_runs(w, about));
    if (!xl__trace_read(w->best, n, clock_step_ns(w), out, about))
        TRY(xl__error_set(&w->q->error, XL_NO_MEMORY, "group records"));
    TRY(check_plausible(w, out, about));
fail:
    return status;
}

static bool is_valid_request(const xl_watch *what)
{
    return what->n_pieces > 0 && what->n_pieces <= XL_MAX_WATCHED &&
           what->n_groups > 0 && what->n_groups <= what->n_pieces &&
           what->wg_items > 0 && what->whole <= what->n_pieces &&
           what->rest_frac >= 0 && what->rest_frac <= 1 && what->want_ns > 0;
}

xl_status xl_groups_watch(xl_queue *q, const xl_watch *what,
                          xl_piece_record *out, xl_watched *about)
{
    xl_status status = XL_OK;
    struct trace_run w = {.q = q, .what = what};
    if (!q || !what || !out || !about || !is_valid_request(what))
        return XL_BAD_ARGUMENT;
    const char *way = xl__text(&q->ctx->device->seen, XL__F_unit_id);
    xl__error_reset(&q->error);
    *about = (xl_watched){.is_thread = xl__streq(way, "local_address")};
    if (!*way)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "kernels cannot read their compute unit on "
                             "this device");
    w.ready = xl__calloc(1, sizeof *w.ready);
    w.raw = xl__calloc(what->n_pieces, sizeof *w.raw);
    w.best = xl__calloc(what->n_pieces, sizeof *w.best);
    if (!w.ready || !w.raw || !w.best)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "group records"));
    TRY(run_trace(&w, out, about));
fail:
    xl__buffer_release(w.mem);
    xl__cached_plan_destroy(w.ready);
    free(w.raw);
    free(w.best);
    return status;
}
