/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes are timed one by one through the same attempts as cases of the table,
 * so each result is checked. Those beyond what is allowed are timed again at
 * the end, and the best counts: another program may have been at work.
 *
 * A call is timed among others that follow one another without a wait, as
 * programs make them, and a launch is allowed what one of many that do nothing
 * takes: there the queue is never empty. A call by itself ends with two
 * threads of the driver waking each other, tens of microseconds that the
 * system decides on, under which every cliff of a small product would hide.
 * A call is allowed one launch, however many its variant makes. Twice is for
 * bound and launch together, since a launch with arguments, whoever makes it,
 * takes longer than one without. */
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

enum { WORST = 10, TRIES = 3, MOST_CALLS = 64 };
static const double burst_ns = 200e3; /* of calls, by what they may take */

/* -- the arithmetic ------------------------------------------------------- */

static size_t side(struct xl__rng *rng)
{
    const double x = exp(xl__rng_uniform(rng) * log(CLIFF_SIDE + 1.0));
    return xl__min_size((size_t)x, CLIFF_SIDE);
}

void cliff_shape(struct xl__rng *rng, size_t mnk[3])
{
    size_t least, most;
    do {
        for (unsigned i = 0; i < 3; i++)
            mnk[i] = side(rng);
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

struct shape {
    struct gemm_case c;
    xl_row row; /* the best of its tries */
    struct cliff_bound bound;
    double times; /* of what is allowed; NaN: it did not run */
};

struct cliff {
    struct session *s;
    struct bench bench;
    struct bench_op op;
    struct cliff_device dev;
    struct shape *shape;
    size_t n, n_slower;
    json_t *json;
};

static void keep(struct cliff *c, struct shape *shape, const xl_row *row)
{
    const double median = row->samples.median_ns;
    if (shape->times > 0 && median >= shape->row.samples.median_ns)
        return;
    shape->row = *row;
    shape->bound = cliff_bound(&c->dev, row->flop, row->bytes);
    shape->times = median / shape->bound.allowed_ns;
}

/* Calls that follow one another. */
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

static xl_status take_samples(struct cliff *c, struct attempt *t,
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

/* Try it as a case of the table is; a failure is a row of its own. */
static xl_status time_shape(struct cliff *c, struct shape *shape,
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
        TRY(take_samples(c, t, &how));
    if (t->is_live)
        attempt_finish(t);
    if (t->is_live)
        keep(c, shape, &t->row);
fail:
    free(t);
    return status == XL_CANCELLED ? XL_OK : status;
}

static xl_status try_shape(struct cliff *c, struct shape *shape)
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

static xl_status measure_device(struct cliff *c)
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

static xl_status take_shapes(struct cliff *c)
{
    xl_status status = XL_OK;
    const struct settings *set = &c->s->set;
    struct xl__rng rng;
    xl__rng_seed(&rng, set->seed);
    for (; c->n < set->cliff && !session_stopped(c->s); c->n++) {
        struct shape *shape = &c->shape[c->n];
        size_t mnk[3];
        char word[64], why[160];
        shape->times = (double)NAN;
        cliff_shape(&rng, mnk);
        snprintf(word, sizeof word, "%zux%zux%zu", mnk[0], mnk[1], mnk[2]);
        if (!c->op.parse(set, word, &shape->c, why, sizeof why))
            return XL_BAD_SHAPE;
        TRY(try_shape(c, shape));
    }
    for (size_t i = 0; i < c->n; i++)
        for (int tries = 1; tries < TRIES && c->shape[i].times > 1 &&
                            !session_stopped(c->s);
             tries++)
            TRY(try_shape(c, &c->shape[i]));
fail:
    return status;
}

/* -- what came of it ------------------------------------------------------ */

/* The slowest first, those that did not run last. */
static int by_times(const void *a, const void *b)
{
    const double x = ((const struct shape *)a)->times;
    const double y = ((const struct shape *)b)->times;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static json_t *shape_json(const struct shape *shape)
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

static void report(struct cliff *c)
{
    size_t n = 0;
    double *times = xl__calloc(c->n + 1, sizeof *times);
    qsort(c->shape, c->n, sizeof *c->shape, by_times);
    for (size_t i = 0; times && i < c->n && c->shape[i].times > 0; i++) {
        struct shape *shape = &c->shape[i];
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
        printf("Timed: %zu of %zu shapes. Slower than allowed: %zu. The "
               "median takes %.2f of it.\n",
               n, c->s->set.cliff, c->n_slower, xl__median(times, n));
    free(times);
}

static int run_device(struct cliff *c)
{
    static const struct extent extent = {
        {.warmup = 1, .min_runs = 5, .max_runs = 30, .max_noise = 0.02,
         .max_s = 0.3}, 0};
    struct session *s = c->s;
    xl_queue *queue = session_queue(s, s->devices[0]);
    if (!queue)
        return EXIT_NO_DEVICE;
    c->bench = (struct bench){.s = s, .op = &c->op, .extent = &extent,
                              .origin = CASES_OF_USER, .queues = &queue};
    progress_begin(s, (unsigned)s->set.cliff + 1);
    session_section(s, "GEMM, the slowest of random shapes",
                "sides from 1 to 4096, calls that follow one another; allowed: "
                "twice the time of max(flop / peak, bytes / bandwidth), by "
                "measured peaks, and of a launch; times: of what is allowed, "
                "above 1 is a cliff");
    xl_status status = measure_device(c);
    if (status == XL_OK)
        status = take_shapes(c);
    progress_end(s);
    report(c);
    const int code =
        status == XL_OK ? EXIT_FINE
                        : session_fail(s, "random shapes", status,
                                       xl_error_detail(queue));
    xl_queue_destroy(queue);
    return code;
}

int cliff_run(struct session *s)
{
    struct cliff c = {.s = s, .op = bench_gemm};
    if (s->set.n_words > 0 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --cliff makes its own shapes; give none\n");
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
