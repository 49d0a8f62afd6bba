/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `breakeven`: the problem size from which a device is faster than one
 * host thread, for the sum of two arrays, which is very little arithmetic: on
 * the host; on the device with resident arrays; and on the device with copies
 * there and back. The crossing of the curves is the result, or "never". */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "measure/host/transfers.h"

enum { ELEM = 4, WG = 256 };

static const size_t sizes[] = {100,     1000,     10000,    100000,
                               1000000, 10000000, 100000000};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_QUICK = N_SIZES - 1 };

enum variant { HOST, RESIDENT, COPIED, N_VARIANTS };
static const char *const variant_names[] = {"host", "resident", "copied"};

struct addition {
    struct xl__session *p;
    float *a, *b, *c;     /* of the program: pageable */
    cl_mem da, db, dc;
    struct xl__cached_plan *ready;
    size_t n;      /* elements of the current point */
    bool is_right; /* every point so far */
};

/* -- analysis ------------------------------------------------------------- */

double xl__break_even(const double *n, const double *host_ns,
                      const double *device_ns, unsigned count)
{
    unsigned first = count; /* from here on the device stays faster */
    while (first > 0 && device_ns[first - 1] < host_ns[first - 1])
        first--;
    if (first == count)
        return NAN;
    if (first == 0)
        return n[0];
    /* Between two points times are linear in n: a cost plus a time per
     * element. */
    const double behind = device_ns[first - 1] - host_ns[first - 1];
    const double ahead = host_ns[first] - device_ns[first];
    return n[first - 1] +
           (n[first] - n[first - 1]) * behind / (behind + ahead);
}

/* -- the three variants --------------------------------------------------- */

static void add_on_host(const float *restrict a, const float *restrict b,
                        float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

/* Repeats small sums, so that the clock's own cost does not show; through a
 * volatile pointer, so that no compiler merges the repetitions. */
static xl_status time_host(struct xl__session *p, void *arg, double *ns)
{
    enum { LEAST = 4000 };
    static void (*volatile add)(const float *restrict, const float *restrict,
                                float *restrict, size_t) = add_on_host;
    const struct addition *b = arg;
    const size_t times = xl__max_size(LEAST / b->n, 1);
    (void)p;
    const uint64_t start = xl__now_ns();
    for (size_t i = 0; i < times; i++)
        add(b->a, b->b, b->c, b->n);
    *ns = (double)(xl__now_ns() - start) / (double)times;
    return XL_OK;
}

static xl_status launch_add(struct addition *b)
{
    const struct xl__call call = {
        .mem = {
            [1] = {.buf = b->da}, [2] = {.buf = b->db}, [3] = {.buf = b->dc}}};
    return xl__launch(b->p->q, b->ready, &call, NULL);
}

static xl_status time_resident(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct addition *b = arg;
    const uint64_t start = xl__now_ns();
    TRY(launch_add(b));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status time_copied(struct xl__session *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct addition *b = arg;
    const size_t bytes = b->n * ELEM;
    const uint64_t start = xl__now_ns();
    TRY(xl__upload(p->q, b->da, 0, b->a, bytes, NULL));
    TRY(xl__upload(p->q, b->db, 0, b->b, bytes, NULL));
    TRY(launch_add(b));
    TRY(xl__download(p->q, b->dc, 0, b->c, bytes, NULL, NULL));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* -- a point -------------------------------------------------------------- */

static xl_status build_plan(struct addition *b)
{
    const struct xl__limits *l = &b->p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t wg = scalar ? 1 : xl__min_size(WG, b->p->most_wg);
    const size_t most =
        scalar ? XL__CPU_GROUPS * xl__size_or(l, XL__F_compute_units, 1)
               : b->n;
    const size_t count = xl__ceil_div(b->n, most * wg);
    xl__cached_plan_clear(b->ready);
    *b->ready = (struct xl__cached_plan){0};
    struct xl__step *s =
        xl__probe_step(&b->ready->plan, "probe/break_even.cl", "add",
                       xl__ceil_div(b->n, count * wg) * wg, wg, false);
    xl__define(s, "WG", (long)wg);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    xl__arg_u32(s, b->n);
    xl__arg_u32(s, count);
    return xl__cached_plan_build(b->p->q, b->ready);
}

static float element_value(uint64_t seed, size_t i)
{
    enum { DROP = 8 }; /* 24 bits are exact */
    return (float)(xl__probe_word(seed, i) >> DROP);
}

/* One addition is rounded once, by the same rule on host and device. */
static bool sums_match(const struct addition *b)
{
    enum { N_CHECKED = 64 };
    for (size_t i = 0; i < N_CHECKED; i++) {
        const size_t at = i * (b->n - 1) / (N_CHECKED - 1);
        if (b->c[at] != b->a[at] + b->b[at])
            return false;
    }
    return true;
}

/* Checks the sums that the device writes into cleared memory. */
static xl_status check_sums(struct addition *b, bool *is_right)
{
    xl_status status = XL_OK;
    double ns;
    TRY(xl_buffer_fill(b->p->q, b->dc, 0, 0, b->n));
    for (size_t i = 0; i < b->n; i++)
        b->c[i] = 0;
    TRY(time_copied(b->p, b, &ns));
    *is_right = sums_match(b);
fail:
    return status;
}

/* Measures the three variants, interleaved; times[variant] gets the
 * medians. */
static xl_status measure_size(struct addition *b, double *times)
{
    const struct xl__timed_run runs[N_VARIANTS] = {
        {time_host, b}, {time_resident, b}, {time_copied, b}};
    xl_status status = XL_OK;
    bool is_right;
    xl_samples *samples = xl__calloc(N_VARIANTS, sizeof *samples);
    TRY(xl__check_alloc(&b->p->q->error, samples, "samples"));
    TRY(build_plan(b));
    TRY(check_sums(b, &is_right));
    b->is_right = b->is_right && is_right;
    TRY(xl__sample_runs(b->p, runs, N_VARIANTS, samples));
    for (unsigned i = 0; i < N_VARIANTS; i++) {
        xl_row row;
        xl_row_init(&row, "probe_breakeven", variant_names[i]);
        xl_row_shape(&row, "n", (double)b->n);
        row.samples = samples[i];
        row.flop = (double)b->n;
        row.bytes = (double)(3 * ELEM * b->n);
        row.unit = "s";
        row.value = row.samples.median_ns * 1e-9;
        if (i != HOST && !is_right)
            xl__probe_reject(&row, "wrong result: the device's sums differ "
                                   "from the host's");
        xl__probe_emit(b->p, &row);
        times[i] = row.samples.median_ns;
    }
fail:
    free(samples);
    return status;
}

/* -- the probe ------------------------------------------------------------ */

struct curves {
    double n[N_SIZES], ns[N_VARIANTS][N_SIZES];
    unsigned count;
};

/* To two digits: the points are a factor of ten apart. */
static double round_to_two_digits(double x)
{
    const double step = pow(10, floor(log10(x)) - 1);
    return round(x / step) * step;
}

static void report_break_even(struct addition *b, const struct curves *c,
                              enum variant variant)
{
    char name[sizeof(((xl_row *)0)->variant)];
    xl__strfmt(name, sizeof name, "%s_wins", variant_names[variant]);
    xl_row row = xl__probe_row("probe_breakeven", name, "1");
    if (!b->is_right) {
        xl__probe_unsupported(b->p, &row,
                              "not determined: the device's sums are wrong");
        return;
    }
    row.value = round_to_two_digits(
        xl__break_even(c->n, c->ns[HOST], c->ns[variant], c->count));
    if (isnan(row.value))
        xl__strfmt(row.reason, sizeof row.reason,
                   "never: one thread of the host is faster at %.0f elements",
                   c->n[c->count - 1]);
    else if (row.value <= c->n[0])
        xl__strfmt(row.reason, sizeof row.reason,
                   "always: the device is faster from %.0f elements on",
                   c->n[0]);
    xl__probe_emit(b->p, &row);
}

static xl_status create_arrays(struct addition *b, size_t *most)
{
    xl_status status = XL_OK;
    xl_queue *q = b->p->q;
    const size_t bytes =
        xl__transfer_bytes(b->p, sizes[N_SIZES - 1] * ELEM);
    const size_t room = xl__size_or(&q->ctx->device->seen,
                                    XL__F_max_alloc_bytes, bytes);
    const unsigned last = b->p->how->quick ? N_QUICK - 1 : N_SIZES - 1;
    unsigned i = 0;
    while (i < last && sizes[i + 1] * ELEM <= xl__min_size(bytes, room))
        i++;
    *most = sizes[i];
    b->a = xl__calloc(*most, ELEM);
    b->b = xl__calloc(*most, ELEM);
    b->c = xl__calloc(*most, ELEM);
    b->ready = xl__calloc(1, sizeof *b->ready);
    if (!b->a || !b->b || !b->c || !b->ready)
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "host arrays"));
    for (size_t j = 0; j < *most; j++) {
        b->a[j] = element_value(b->p->how->seed, j);
        b->b[j] = element_value(b->p->how->seed + 1, *most + j);
    }
    TRY(xl_buffer_create(q, *most * ELEM, &b->da));
    TRY(xl_buffer_create(q, *most * ELEM, &b->db));
    TRY(xl_buffer_create(q, *most * ELEM, &b->dc));
fail:
    return status;
}

static void destroy_arrays(struct addition *b)
{
    const cl_mem mems[] = {b->da, b->db, b->dc};
    xl__queue_drain(b->p->q);
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++)
        xl__buffer_release(mems[i]);
    xl__cached_plan_destroy(b->ready);
    free(b->a);
    free(b->b);
    free(b->c);
}

/* Would the next point, ten times as large, take too long? */
static bool is_last_size(const struct addition *b, const double *times)
{
    static const double quick_ns = 20e6, full_ns = 500e6; /* of this point */
    const double slowest = fmax(times[HOST], fmax(times[RESIDENT],
                                                  times[COPIED]));
    return slowest > (b->p->how->quick ? quick_ns : full_ns);
}

static xl_status run_breakeven_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct addition b = {.p = p, .is_right = true};
    struct curves c = {.count = 0};
    size_t most;
    bool stop = false;
    TRY(create_arrays(&b, &most));
    while (!stop && c.count < N_SIZES && sizes[c.count] <= most) {
        double times[N_VARIANTS];
        b.n = sizes[c.count];
        TRY(measure_size(&b, times));
        c.n[c.count] = (double)b.n;
        for (unsigned i = 0; i < N_VARIANTS; i++)
            c.ns[i][c.count] = times[i];
        c.count++;
        stop = is_last_size(&b, times);
    }
    report_break_even(&b, &c, RESIDENT);
    report_break_even(&b, &c, COPIED);
fail:
    destroy_arrays(&b);
    return status;
}

const struct xl__probe xl__probe_breakeven = {
    {"breakeven",
     "The sum of two arrays of floats, by the wall clock: a plain loop on one "
     "thread of the host; a launch on the device with the arrays there "
     "already (resident); and with copies from and to pageable memory "
     "(copied). The rows ending in wins give the number of elements from "
     "which the device is faster, between the sizes tried, or that it never "
     "is. Fooled by how well this build's compiler optimized the loop: more "
     "threads or wider instructions move the crossing up.",
     false},
    run_breakeven_probe};
