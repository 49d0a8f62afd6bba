/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `clbench gemm --cliff`: times random shapes one by one with the same
 * attempts as the cases of the table, so that each result is checked. Shapes
 * slower than allowed are timed again at the end, and the best time counts,
 * since another program may have disturbed the first.
 *
 *     allowed = 2 (max(flop / peak, bytes / bandwidth) + launch)
 *
 * Calls are timed in bursts without a wait between them, as programs make
 * them, and the launch cost is that of one of many empty kernels: the queue is
 * never empty. A single call ends with two threads of the driver waking each
 * other, tens of microseconds that depend on the operating system and would
 * hide every cliff of a small product. Each call is allowed one launch,
 * however many its variant makes. The factor 2 applies to bound and launch,
 * since a launch with arguments takes longer than one without. */
#include "tiling/cliffs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/stats.h"
#include "results/json.h"
#include "timing/attempt.h"

enum { WORST = 10, REPEATS = 3, MOST_CALLS = 64 };
static const double burst_ns = 200e3; /* of calls, at the allowed time each */

/* -- the arithmetic ------------------------------------------------------- */

/* A size from 1 to CLIFF_MAX_SIZE with uniform logarithm. */
static size_t random_size(struct xl__rng *rng)
{
    const double x = exp(xl__rng_uniform(rng) * log(CLIFF_MAX_SIZE + 1.0));
    return xl__min_size((size_t)x, CLIFF_MAX_SIZE);
}

void cliff_shape(struct xl__rng *rng, size_t mnk[3])
{
    size_t least, most;
    do {
        for (unsigned i = 0; i < 3; i++)
            mnk[i] = random_size(rng);
        least = xl__min_size(xl__min_size(mnk[0], mnk[1]), mnk[2]);
        most = xl__max_size(xl__max_size(mnk[0], mnk[1]), mnk[2]);
    } while (most > CLIFF_RATIO * least);
}

struct cliff_bound cliff_bound(const struct cliff_device *dev, double flop,
                               double bytes)
{
    const bool in_cache = bytes <= dev->llc_bytes &&
                          dev->llc_bytes_per_s > dev->mem_bytes_per_s;
    const double rate =
        in_cache ? dev->llc_bytes_per_s : dev->mem_bytes_per_s;
    const double by_flop = flop / dev->flop_per_s * 1e9;
    const double by_bytes = bytes / rate * 1e9;
    struct cliff_bound out = {.bound_ns = fmax(by_flop, by_bytes)};
    out.allowed_ns = 2 * (out.bound_ns + dev->launch_ns);
    out.limit = dev->launch_ns > out.bound_ns ? "launch"
                : by_flop >= by_bytes         ? "fma"
                : in_cache                    ? "cache"
                                              : "memory";
    return out;
}

/* -- one shape ------------------------------------------------------------ */

struct cliff_case {
    struct gemm_case c;
    xl_row row; /* the fastest of its repeats */
    struct cliff_bound bound;
    double times; /* relative to the allowed time; NaN: not run */
};

struct cliff_search {
    struct session *s;
    struct bench bench;
    struct bench_op op;
    struct cliff_device dev;
    struct cliff_case *shape;
    size_t n, n_slower;
    json_t *json;
};

/* Keeps a measurement if it is the fastest of its case. */
static void keep_best(struct cliff_search *c, struct cliff_case *shape,
                      const xl_row *row)
{
    const double median = row->samples.median_ns;
    if (shape->times > 0 && median >= shape->row.samples.median_ns)
        return;
    shape->row = *row;
    shape->bound = cliff_bound(&c->dev, row->flop, row->bytes);
    shape->times = median / shape->bound.allowed_ns;
}

/* Consecutive calls without a wait. */
struct burst {
    struct attempt *t;
    unsigned n;
};

static xl_status enqueue_burst(xl_queue *q, void *arg)
{
    const struct burst *b = arg;
    xl_status status = XL_OK;
    for (unsigned i = 0; i < b->n && status == XL_OK; i++)
        status = attempt_enqueue(q, b->t);
    return status;
}

/* Times bursts of calls, and divides all samples by the number of calls. */
static xl_status sample_bursts(struct cliff_search *c, struct attempt *t,
                               const xl_sampling *how)
{
    xl_samples *out = &t->row.samples;
    const double allowed_ns =
        cliff_bound(&c->dev, t->row.flop, t->row.bytes).allowed_ns;
    const struct burst burst = {
        t, (unsigned)fmin(fmax(burst_ns / allowed_ns, 1), MOST_CALLS)};
    const xl_status status =
        xl_samples_take(t->q, how, enqueue_burst, (void *)&burst, out);
    double *const all[] = {&out->median_ns, &out->mad_ns, &out->min_ns,
                           &out->p95_ns,    &out->lo_ns,  &out->hi_ns,
                           &out->overhead_ns};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] /= burst.n;
    for (unsigned i = 0; i < out->runs; i++)
        out->ns[i] /= burst.n;
    out->batch *= burst.n;
    return status;
}

/* Times a shape like a case of the table; a failure is reported as a row. */
static xl_status time_shape(struct cliff_search *c, struct cliff_case *shape,
                            const struct bench_data *data)
{
    xl_status status = XL_OK;
    xl_sampling how = c->bench.extent->sampling;
    xl_queue *q = c->bench.queues[0];
    struct attempt *t = xl__calloc(1, sizeof *t);
    TRY(t ? XL_OK : XL_NO_MEMORY);
    *t = (struct attempt){.b = &c->bench,
                          .q = q,
                          .dev = xl_queue_device(q),
                          .work = {.c = &shape->c,
                                   .data = data,
                                   .variant = c->s->set.variant}};
    how.stop = session_stopped;
    how.stop_arg = c->s;
    attempt_describe(t);
    attempt_prepare(t);
    if (t->is_live)
        TRY(sample_bursts(c, t, &how));
    if (t->is_live)
        attempt_finish(t);
    if (t->is_live)
        keep_best(c, shape, &t->row);
fail:
    free(t);
    return status == XL_CANCELLED ? XL_OK : status;
}

static xl_status measure_shape(struct cliff_search *c,
                               struct cliff_case *shape)
{
    struct bench_data data;
    char what[64];
    xl_status status = XL_OK;
    snprintf(what, sizeof what, "gemm %zux%zux%zu", shape->c.m, shape->c.n,
             shape->c.k);
    progress_step(c->s, what);
    TRY(bench_data_init(&data, &c->op, &shape->c, c->s->set.seed));
    TRY(bench_data_upload(c->bench.queues[0], &data));
    TRY(time_shape(c, shape, &data));
fail:
    bench_data_release(&data);
    bench_data_clear(&data);
    return status;
}

/* -- all of them ---------------------------------------------------------- */

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

static double fact_of(const xl_device *dev, const char *name)
{
    xl_fact fact;
    return xl_device_fact(dev, name, XL_UNKNOWN, &fact) == XL_OK
               ? fact.value
               : (double)NAN;
}

/* Measures the rates of the device. */
static xl_status measure_device(struct cliff_search *c)
{
    xl_status status = XL_OK;
    const xl_probing how = {.quick = true};
    xl_queue *q = c->bench.queues[0];
    const xl_device *dev = xl_queue_device(q);
    progress_step(c->s, "measuring peaks");
    TRY(xl_peaks_measure(q, XL_F32));
    TRY(xl_probe_run(q, "launch", &how, drop_row, NULL));
    c->dev = (struct cliff_device){
        .flop_per_s = fact_of(dev, "peak_f32_flop_per_s"),
        .mem_bytes_per_s = fact_of(dev, "copy_bytes_per_s"),
        .llc_bytes = fact_of(dev, "llc_bytes"),
        .llc_bytes_per_s = fact_of(dev, "llc_bytes_per_s"),
        .launch_ns = fact_of(dev, "launch_ns")};
fail:
    return status;
}

/* Times all random shapes, then repeats those that exceed the allowed time. */
static xl_status measure_shapes(struct cliff_search *c)
{
    xl_status status = XL_OK;
    const struct settings *set = &c->s->set;
    struct xl__rng rng;
    xl__rng_seed(&rng, set->seed);
    for (; c->n < set->cliff && !session_stopped(c->s); c->n++) {
        struct cliff_case *shape = &c->shape[c->n];
        size_t mnk[3];
        char text[64], why[160];
        shape->times = (double)NAN;
        cliff_shape(&rng, mnk);
        snprintf(text, sizeof text, "%zux%zux%zu", mnk[0], mnk[1], mnk[2]);
        if (!c->op.parse(set, text, &shape->c, why, sizeof why))
            return XL_BAD_SHAPE;
        TRY(measure_shape(c, shape));
    }
    for (size_t i = 0; i < c->n; i++)
        for (int repeats = 1; repeats < REPEATS && c->shape[i].times > 1 &&
                              !session_stopped(c->s);
             repeats++)
            TRY(measure_shape(c, &c->shape[i]));
fail:
    return status;
}

/* -- results -------------------------------------------------------------- */

/* Sorts by relative time, the slowest first, failures last. */
static int order_cases(const void *a, const void *b)
{
    const double x = ((const struct cliff_case *)a)->times;
    const double y = ((const struct cliff_case *)b)->times;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static json_t *shape_json(const struct cliff_case *shape)
{
    json_t *out = json_object();
    json_put(out, "m", json_uint(shape->c.m));
    json_put(out, "n", json_uint(shape->c.n));
    json_put(out, "k", json_uint(shape->c.k));
    json_put(out, "variant", json_text(shape->row.variant));
    json_put(out, "median_ns", json_number(shape->row.samples.median_ns));
    json_put(out, "bound_ns", json_number(shape->bound.bound_ns));
    json_put(out, "allowed_ns", json_number(shape->bound.allowed_ns));
    json_put(out, "times", json_number(shape->times));
    json_put(out, "limit", json_text(shape->bound.limit));
    return out;
}

/* Reports the slowest shapes as rows, all as JSON, and a summary. */
static void report_cliffs(struct cliff_search *c)
{
    size_t n = 0;
    double *times = xl__calloc(c->n + 1, sizeof *times);
    qsort(c->shape, c->n, sizeof *c->shape, order_cases);
    for (size_t i = 0; times && i < c->n && c->shape[i].times > 0; i++) {
        struct cliff_case *shape = &c->shape[i];
        times[n++] = shape->times;
        c->n_slower += shape->times > 1;
        json_add(c->json, shape_json(shape));
        if (i >= WORST)
            continue;
        xl_row_found(&shape->row, "bound_ns", shape->bound.allowed_ns);
        xl_row_found(&shape->row, "times", shape->times);
        shape->row.roof.name = shape->bound.limit;
        session_row(c->s, c->s->devices[0], &shape->row);
    }
    session_section_end(c->s);
    if (session_tables(c->s) && n > 0)
        printf("Timed: %zu of %zu shapes. Slower than allowed: %zu. "
               "Median: %.2f of the allowed time.\n",
               n, c->s->set.cliff, c->n_slower, xl__median(times, n));
    free(times);
}

static int run_device(struct cliff_search *c)
{
    struct extent extent = {{XL_SAMPLING_INIT, .warmup = 1, .min_runs = 5,
                             .max_runs = 30, .max_noise = 0.02, .max_s = 0.3},
                            0};
    struct session *s = c->s;
    session_sampling(s, &extent.sampling);
    xl_queue *queue = session_queue(s, s->devices[0]);
    if (!queue)
        return EXIT_NO_DEVICE;
    c->bench = (struct bench){.s = s, .op = &c->op, .extent = &extent,
                              .origin = CASES_OF_USER, .queues = &queue};
    progress_begin(s, (unsigned)s->set.cliff + 1);
    session_section(
        s, ROWS_WITH_BOUNDS, "GEMM, the slowest of random shapes",
        "sizes from 1 to 4096, consecutive calls; allowed: "
        "twice the time of max(flop / peak, bytes / bandwidth), by "
        "measured peaks, and of a launch; times: relative to the "
        "allowed time, above 1 is a cliff");
    xl_status status = measure_device(c);
    if (status == XL_OK)
        status = measure_shapes(c);
    progress_end(s);
    report_cliffs(c);
    const int code =
        status == XL_OK ? EXIT_FINE
                        : session_fail(s, "random shapes", status,
                                       xl_error_detail(queue));
    xl_queue_destroy(queue);
    return code;
}

int cliff_run(struct session *s)
{
    struct cliff_search c = {.s = s, .op = bench_gemm};
    if (s->set.n_words > 0 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --cliff generates its shapes; give none\n");
        return EXIT_USAGE;
    }
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    c.shape = xl__calloc(s->set.cliff, sizeof *c.shape);
    s->extra = json_object();
    c.json = json_array();
    json_put(s->extra, "cliff", c.json);
    code = c.shape ? run_device(&c)
                   : session_fail(s, "starting", XL_NO_MEMORY, "");
    free(c.shape);
    if (code == EXIT_FINE)
        code = session_result(s);
    return code == EXIT_FINE && c.n_slower > 0 ? EXIT_GATE : code;
}
