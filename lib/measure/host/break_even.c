/* SPDX-License-Identifier: Apache-2.0 */
/* From which size on is a device worth the trip? The sum of two arrays, which
 * is as little work as there is: by one thread of the host; on the device, with
 * the arrays there already, and with copies there and back. Where the times
 * cross is the answer; "never" is one, too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "measure/host/transfers.h"

enum { ELEM = 4, WG = 256 };

static const size_t sizes[] = {100,     1000,     10000,    100000,
                               1000000, 10000000, 100000000};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_QUICK = N_SIZES - 1 };

enum side { HOST, RESIDENT, COPIED, N_SIDES };
static const char *const side_names[] = {"host", "resident", "copied"};

struct bench {
    struct xl__probing *p;
    float *a, *b, *c;     /* of the program: pageable */
    cl_mem da, db, dc;
    struct xl__cached_plan *ready;
    size_t n;             /* elements of the point at hand */
    bool right;           /* every point so far */
};

/* -- conclusions ----------------------------------------------------------- */

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
    /* Between two points times are a cost and so much an element: lines. */
    const double behind = device_ns[first - 1] - host_ns[first - 1];
    const double ahead = host_ns[first] - device_ns[first];
    return n[first - 1] +
           (n[first] - n[first - 1]) * behind / (behind + ahead);
}

/* -- the three sides ------------------------------------------------------- */

static void host_add(const float *restrict a, const float *restrict b,
                     float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

/* So often that the clock itself does not show; by a pointer that may change
 * at any time, so that no compiler does it once for all. */
static xl_status host_once(struct xl__probing *p, void *arg, double *ns)
{
    enum { LEAST = 4000 };
    static void (*volatile add)(const float *restrict, const float *restrict,
                                float *restrict, size_t) = host_add;
    const struct bench *b = arg;
    const size_t times = xl__max_size(LEAST / b->n, 1);
    (void)p;
    const uint64_t start = xl__now_ns();
    for (size_t i = 0; i < times; i++)
        add(b->a, b->b, b->c, b->n);
    *ns = (double)(xl__now_ns() - start) / (double)times;
    return XL_OK;
}

static xl_status launch(struct bench *b)
{
    const struct xl__call call = {.mem = {[1] = {b->da, NULL},
                                          [2] = {b->db, NULL},
                                          [3] = {b->dc, NULL}}};
    return xl__launch(b->p->q, b->ready, &call, NULL);
}

static xl_status resident_once(struct xl__probing *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct bench *b = arg;
    const uint64_t start = xl__now_ns();
    TRY(launch(b));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

static xl_status copied_once(struct xl__probing *p, void *arg, double *ns)
{
    xl_status status = XL_OK;
    struct bench *b = arg;
    const size_t bytes = b->n * ELEM;
    const uint64_t start = xl__now_ns();
    TRY(xl__upload(p->q, b->da, 0, b->a, bytes, NULL));
    TRY(xl__upload(p->q, b->db, 0, b->b, bytes, NULL));
    TRY(launch(b));
    TRY(xl__download(p->q, b->dc, 0, b->c, bytes, NULL, NULL));
    TRY(xl_queue_finish(p->q));
    *ns = (double)(xl__now_ns() - start);
fail:
    return status;
}

/* -- a point --------------------------------------------------------------- */

static xl_status make_ready(struct bench *b)
{
    const struct xl__limits *l = &b->p->q->ctx->device->limits;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t wg = scalar ? 1 : xl__min_size(WG, b->p->most_wg);
    const size_t most =
        scalar ? XL__CPU_GROUPS * xl__size_or(l, XL__F_compute_units, 1)
               : b->n;
    const size_t count = xl__ceil_div(b->n, most * wg);
    struct xl__step *s = &b->ready->plan.step[0];
    xl__cached_plan_clear(b->ready);
    *b->ready = (struct xl__cached_plan){.plan.n_steps = 1};
    s->source = "probe/break_even.cl";
    s->kernel = "add";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = wg;
    s->global[0] = xl__ceil_div(b->n, count * wg) * wg;
    xl__define(s, "WG", (long)wg);
    for (unsigned slot = 1; slot <= 3; slot++)
        xl__arg_mem(s, slot);
    xl__arg_u32(s, b->n);
    xl__arg_u32(s, count);
    return xl__cached_plan_build(b->p->q, b->ready);
}

static float element(uint64_t seed, size_t i)
{
    enum { DROP = 8 }; /* 24 bits are exact */
    return (float)(xl__probe_word(seed, i) >> DROP);
}

/* One addition is rounded once, by the same rule on both sides. */
static bool sums_right(const struct bench *b)
{
    enum { LOOKS = 64 };
    for (size_t i = 0; i < LOOKS; i++) {
        const size_t at = i * (b->n - 1) / (LOOKS - 1);
        if (b->c[at] != b->a[at] + b->b[at])
            return false;
    }
    return true;
}

/* What the device leaves, with nothing there before. */
static xl_status check(struct bench *b, bool *right)
{
    xl_status status = XL_OK;
    double ns;
    TRY(xl_buffer_fill(b->p->q, b->dc, 0, 0, b->n));
    for (size_t i = 0; i < b->n; i++)
        b->c[i] = 0;
    TRY(copied_once(b->p, b, &ns));
    *right = sums_right(b);
fail:
    return status;
}

/* The three in turns; times[side] gets the medians. */
static xl_status measure(struct bench *b, double *times)
{
    const struct xl__run runs[N_SIDES] = {
        {host_once, b}, {resident_once, b}, {copied_once, b}};
    xl_status status = XL_OK;
    bool right;
    xl_samples *samples = xl__calloc(N_SIDES, sizeof *samples);
    if (!samples)
        TRY(xl__error_set(&b->p->q->error, XL_NO_MEMORY, "samples"));
    TRY(make_ready(b));
    TRY(check(b, &right));
    b->right = b->right && right;
    TRY(xl__sample_runs(b->p, runs, N_SIDES, samples));
    for (unsigned i = 0; i < N_SIDES; i++) {
        xl_row row;
        xl_row_init(&row, "probe_breakeven", side_names[i]);
        xl_row_shape(&row, "n", (double)b->n);
        row.samples = samples[i];
        row.flop = (double)b->n;
        row.bytes = (double)(3 * ELEM * b->n);
        row.unit = "s";
        row.value = row.samples.median_ns * 1e-9;
        if (i != HOST && !right)
            xl__probe_reject(&row, "the device's sums are not the host's");
        xl__probe_emit(b->p, &row);
        times[i] = row.samples.median_ns;
    }
fail:
    free(samples);
    return status;
}

/* -- the probe ------------------------------------------------------------- */

struct curves {
    double n[N_SIZES], ns[N_SIDES][N_SIZES];
    unsigned count;
};

/* Two digits: the points are a power of ten apart. */
static double rounded(double x)
{
    const double step = pow(10, floor(log10(x)) - 1);
    return round(x / step) * step;
}

static void conclude(struct bench *b, const struct curves *c, enum side side)
{
    char name[sizeof(((xl_row *)0)->variant)];
    xl_row row;
    snprintf(name, sizeof name, "%s_wins", side_names[side]);
    xl_row_init(&row, "probe_breakeven", name);
    row.unit = "1";
    if (!b->right) {
        xl__probe_unsupported(b->p, &row, "sums that are wrong win nothing");
        return;
    }
    row.value =
        rounded(xl__break_even(c->n, c->ns[HOST], c->ns[side], c->count));
    if (isnan(row.value))
        snprintf(row.reason, sizeof row.reason,
                 "never: one thread of the host is faster at %.0f elements",
                 c->n[c->count - 1]);
    else if (row.value <= c->n[0])
        snprintf(row.reason, sizeof row.reason,
                 "always: the device is faster from %.0f elements on", c->n[0]);
    xl__probe_emit(b->p, &row);
}

static xl_status create(struct bench *b, size_t *most)
{
    xl_status status = XL_OK;
    xl_queue *q = b->p->q;
    const size_t bytes =
        xl__transfer_bytes(b->p, sizes[N_SIZES - 1] * ELEM);
    const size_t room = xl__size_or(&q->ctx->device->limits,
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
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "arrays of the host"));
    for (size_t j = 0; j < *most; j++) {
        b->a[j] = element(b->p->how->seed, j);
        b->b[j] = element(b->p->how->seed + 1, *most + j);
    }
    TRY(xl_buffer_create(q, *most * ELEM, &b->da));
    TRY(xl_buffer_create(q, *most * ELEM, &b->db));
    TRY(xl_buffer_create(q, *most * ELEM, &b->dc));
fail:
    return status;
}

static void destroy(struct bench *b)
{
    const cl_mem mems[] = {b->da, b->db, b->dc};
    xl__settle(b->p->q);
    for (unsigned i = 0; i < sizeof mems / sizeof *mems; i++) {
        if (mems[i])
            clReleaseMemObject(mems[i]);
    }
    if (b->ready)
        xl__cached_plan_clear(b->ready);
    free(b->ready);
    free(b->a);
    free(b->b);
    free(b->c);
}

/* Is the next point, ten times as large, too long to wait for? */
static bool is_enough(const struct bench *b, const double *times)
{
    static const double quick_ns = 20e6, full_ns = 500e6; /* this one's */
    const double slowest = fmax(times[HOST], fmax(times[RESIDENT],
                                                  times[COPIED]));
    return slowest > (b->p->how->quick ? quick_ns : full_ns);
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    struct bench b = {.p = p, .right = true};
    struct curves c = {.count = 0};
    size_t most;
    bool stop = false;
    TRY(create(&b, &most));
    while (!stop && c.count < N_SIZES && sizes[c.count] <= most) {
        double times[N_SIDES];
        b.n = sizes[c.count];
        TRY(measure(&b, times));
        c.n[c.count] = (double)b.n;
        for (unsigned i = 0; i < N_SIDES; i++)
            c.ns[i][c.count] = times[i];
        c.count++;
        stop = is_enough(&b, times);
    }
    conclude(&b, &c, RESIDENT);
    conclude(&b, &c, COPIED);
fail:
    destroy(&b);
    return status;
}

const struct xl__probe xl__probe_breakeven = {
    {"breakeven",
     "The sum of two arrays of floats, by the wall clock: a plain loop on one "
     "thread of the host; a launch on the device with the arrays there "
     "already (resident); and with copies from and to pageable memory "
     "(copied). The rows ending in wins tell from how many elements on the "
     "device is faster, between the sizes tried, or that it never is. Fooled "
     "by how well this build's compiler did the loop: more threads or wider "
     "instructions move the crossing up.",
     false},
    run};
