/* SPDX-License-Identifier: Apache-2.0 */
/* Cases x devices x variants. The variants of a case are timed in turns, so
 * that their ratio means something on a machine whose speed drifts. */
#include "timing/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/diagnose.h"
#include "cli/progress.h"
#include "results/trace.h"

/* How long a row may take: quick, default, full. */
static const struct extent extents[] = {
    {{.warmup = 1, .min_runs = 5, .max_runs = 40, .max_noise = 0.01,
      .max_s = 1.5, .patience = 3}, 8},
    {{.warmup = 2, .min_runs = 10, .max_runs = 100, .max_noise = 0.01,
      .max_s = 4, .patience = 3}, 30},
    {{.warmup = 3, .min_runs = 20, .max_runs = 500, .max_noise = 0.005,
      .max_s = 15, .patience = 3}, 0},
};

/* All live attempts in turns. */
static xl_status take_samples(struct attempt *const *live, unsigned n)
{
    xl_status status = XL_OK;
    struct bench *b = live[0]->b;
    xl_sampling how = b->extent->sampling;
    xl_piece *pieces = xl__calloc(n, sizeof *pieces);
    xl_samples *samples = xl__calloc(n, sizeof *samples);
    TRY(pieces && samples ? XL_OK : XL_NO_MEMORY);
    how.stop = session_stopped;
    how.stop_arg = b->s;
    for (unsigned i = 0; i < n; i++)
        pieces[i] = (xl_piece){attempt_enqueue, live[i]};
    TRY(xl_samples_take_interleaved(live[0]->q, &how, pieces, n, samples));
    for (unsigned i = 0; i < n; i++)
        live[i]->row.samples = samples[i];
fail:
    free(pieces);
    free(samples);
    return status;
}

/* A few calls for --trace; a failure has been told by the runs before. */
static void trace_attempt(struct attempt *t)
{
    struct xl__str name = {0};
    if (!t->b->s->trace)
        return;
    xl__str_add(&name, t->row.variant);
    for (unsigned i = 0; i < t->row.n_shape; i++)
        xl__str_printf(&name, "%s%.0f", i ? "x" : " ", t->row.shape[i].value);
    (void)trace_runs(t->b->s->trace, t->q, xl__str_text(&name),
                     attempt_enqueue, t);
    xl__str_clear(&name);
}

static void time_live(struct attempt *const *live, unsigned n)
{
    xl_row *rows[BENCH_MAX_CHOICES];
    const struct bench_op *op = live[0]->b->op;
    unsigned n_rows = 0;
    const xl_status status = take_samples(live, n);
    if (status == XL_CANCELLED)
        return;
    for (unsigned i = 0; i < n; i++) {
        if (status != XL_OK)
            attempt_fail(live[i], status);
        else
            attempt_conclude(live[i]);
        if (live[i]->is_live)
            rows[n_rows++] = &live[i]->row;
    }
    for (unsigned i = 0; i < n; i++)
        if (live[i]->is_live)
            trace_attempt(live[i]);
    if (op->relate)
        op->relate(rows, n_rows);
    for (unsigned i = 0; i < n; i++)
        if (live[i]->is_live)
            session_row(live[i]->b->s, live[i]->dev, &live[i]->row);
}

/* -- a case on a device --------------------------------------------------- */

const char *bench_variant(const struct bench_op *op, const xl_device *dev,
                          unsigned i)
{
    if (!op->variants)
        return xl_variant_name(dev, op->name, i);
    for (unsigned j = 0; j < i; j++)
        if (!op->variants[j])
            return NULL;
    return op->variants[i];
}

/* The i-th variant of this run; false past the last. */
static bool wanted_variant(const struct bench *b, const xl_device *dev,
                           unsigned i, const char **variant)
{
    const char *wanted = b->s->set.variant;
    bool is_all = wanted ? strcmp(wanted, "all") == 0 : b->op->runs_all;
    *variant = is_all ? bench_variant(b->op, dev, i) : wanted;
    return is_all ? *variant != NULL : i == 0;
}

static void attempt_init(struct attempt *t, struct bench *b, unsigned i_dev)
{
    memset(t, 0, sizeof *t);
    t->b = b;
    t->q = b->queues[i_dev];
    t->dev = b->s->devices[i_dev];
}

static void every_variant(struct bench *b, unsigned i_dev,
                          const struct bench_work *work)
{
    struct attempt *live[BENCH_MAX_CHOICES];
    struct attempt *list = xl__calloc(BENCH_MAX_CHOICES, sizeof *list);
    unsigned n = 0, n_live = 0;
    if (!list) {
        (void)session_fail(b->s, "starting", XL_NO_MEMORY, "");
        return;
    }
    for (; n < BENCH_MAX_CHOICES && !session_stopped(b->s); n++) {
        struct attempt *t = &list[n];
        attempt_init(t, b, i_dev);
        t->work = *work;
        if (!wanted_variant(b, t->dev, n, &t->work.variant))
            break;
        attempt_describe(t);
        attempt_line_up(t);
        if (t->is_live)
            live[n_live++] = t;
    }
    if (n_live > 0 && !session_stopped(b->s))
        time_live(live, n_live);
    for (unsigned i = 0; i < n; i++)
        if (list[i].is_open)
            b->op->close(&list[i].work);
    free(list);
}

static void on_device(struct bench *b, unsigned i_dev, const void *c,
                      struct bench_data *data)
{
    const struct bench_work work = {.c = c, .data = data};
    if (!b->queues[i_dev])
        return;
    xl_status status = bench_data_upload(b->queues[i_dev], data);
    if (status == XL_OK) {
        every_variant(b, i_dev, &work);
    } else {
        struct attempt t;
        attempt_init(&t, b, i_dev);
        t.work = work;
        attempt_describe(&t);
        attempt_fail(&t, status);
    }
    bench_data_release(data);
}

static void progress_case(struct bench *b, const void *c)
{
    xl_row row;
    char what[64];
    xl_row_init(&row, b->op->name, "");
    b->op->describe(c, &row);
    int at = snprintf(what, sizeof what, "%s", b->op->name);
    for (unsigned i = 0; i < row.n_shape && at < (int)sizeof what; i++)
        at += snprintf(what + at, sizeof what - (size_t)at, "%s%.0f",
                       i ? "x" : " ", row.shape[i].value);
    progress_step(b->s, what);
}

static int one_case(struct bench *b, const void *c)
{
    struct bench_data data;
    int code = EXIT_FINE;
    progress_case(b, c);
    xl_status status = bench_data_init(&data, b->op, c, b->s->set.seed);
    if (status != XL_OK)
        code = session_fail(b->s, "preparing data", status, "");
    for (unsigned i = 0; status == XL_OK && i < b->s->n_devices; i++)
        on_device(b, i, c, &data);
    bench_data_clear(&data);
    return code;
}

/* A queue for every device, and the peaks that bounds are taken from. */
static int open_queues(struct bench *b)
{
    struct session *s = b->s;
    b->queues = xl__calloc(s->n_devices, sizeof *b->queues);
    if (!b->queues)
        return session_fail(s, "starting", XL_NO_MEMORY, "");
    for (unsigned i = 0; i < s->n_devices; i++) {
        b->queues[i] = session_queue(s, s->devices[i]);
        if (!b->queues[i])
            return EXIT_NO_DEVICE;
        progress_step(s, "measuring peaks");
        xl_status status = xl_peaks_measure(b->queues[i], XL_F32);
        if (status != XL_OK && status != XL_UNSUPPORTED)
            session_fail(s, "measuring peaks", status,
                         xl_error_detail(b->queues[i]));
        diagnose_learn(b->queues[i]);
    }
    return EXIT_FINE;
}

/* Has any chosen device the variant that is asked for? */
static bool has_variant(const struct session *s, const struct bench_op *op)
{
    const char *name, *wanted = s->set.variant;
    if (!wanted || strcmp(wanted, "all") == 0)
        return true;
    for (unsigned d = 0; d < s->n_devices; d++)
        for (unsigned i = 0;
             (name = bench_variant(op, s->devices[d], i)) != NULL; i++)
            if (strcmp(name, wanted) == 0)
                return true;
    return false;
}

static int no_variant(const struct session *s, const struct bench_op *op)
{
    const char *name;
    fprintf(stderr, "clbench: %s has no variant '%s'; there are: all",
            op->name, s->set.variant);
    for (unsigned i = 0;
         (name = bench_variant(op, s->devices[0], i)) != NULL; i++)
        fprintf(stderr, ", %s", name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

int bench_run(struct session *s, const struct bench_op *op,
              const void *const *cases, unsigned n, enum bench_origin origin)
{
    struct bench b = {.s = s, .op = op, .origin = origin};
    /* A slip of the pen, where the command runs this op alone. */
    if (!has_variant(s, op))
        return strcmp(s->command->name, op->name) == 0 ? no_variant(s, op)
                                                       : EXIT_FINE;
    b.extent = &extents[s->set.full ? 2 : s->set.quick ? 0 : 1];
    progress_begin(s, n + s->n_devices);
    int code = open_queues(&b);
    if (code == EXIT_FINE) {
        session_section(s, op->title, op->note);
        for (unsigned i = 0; i < n && !session_stopped(s); i++) {
            int failed = one_case(&b, cases[i]);
            code = failed ? failed : code;
        }
        progress_hide(s);
        session_section_end(s);
        if (code == EXIT_FINE && s->is_late && s->n_rows == 0)
            code = EXIT_USAGE; /* 0 would say that there are results */
    }
    progress_end(s);
    for (unsigned i = 0; b.queues && i < s->n_devices; i++)
        xl_queue_destroy(b.queues[i]);
    free(b.queues);
    return code;
}
