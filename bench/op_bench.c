/* SPDX-License-Identifier: Apache-2.0 */
/* Cases x devices x variants. A result is compared with the host before it is
 * timed and again after, so that no number stands for a wrong answer. The
 * variants of a case are timed in turns, so that their ratio means something
 * on a machine whose speed drifts. */
#include "op_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "progress.h"
#include "report.h"

/* How long a row may take, by extent: quick, default, full. */
struct extent {
    xl_sampling sampling;
    double row_s; /* skip a case of the table beyond this; 0: no bound */
};
static const struct extent extents[] = {
    {{.warmup = 1, .min_runs = 5, .max_runs = 40, .max_noise = 0.01,
      .max_s = 1.5}, 8},
    {{.warmup = 2, .min_runs = 10, .max_runs = 100, .max_noise = 0.01,
      .max_s = 4}, 30},
    {{.warmup = 3, .min_runs = 20, .max_runs = 500, .max_noise = 0.005,
      .max_s = 15}, 0},
};

/* Roofs are measured again at most so often: each time takes seconds. */
enum { MOST_DOUBTS = 2 };

struct bench {
    struct session *s;
    const struct bench_op *op;
    const struct extent *extent;
    enum bench_origin origin;
    xl_queue **queues;
    struct paces paces;
    unsigned n_doubts; /* roofs measured again */
};

/* One variant of one case on one device. */
struct attempt {
    struct bench *b;
    xl_queue *q;
    xl_device *dev;
    struct bench_work work;
    bool is_open; /* close() is due */
    bool is_live; /* to be timed: nothing spoke against it so far */
    xl_row row;
};

/* Seconds that --max-time leaves; infinite without one. */
static double seconds_left(const struct session *s)
{
    double passed = (double)(xl__now_ns() - s->start_ns) * 1e-9;
    return s->set.max_time_s > 0 ? s->set.max_time_s - passed
                                 : (double)INFINITY;
}

/* Would this row take too long? Says so. */
static bool is_too_long(const struct attempt *t, double run_ns)
{
    const struct extent *e = t->b->extent;
    struct session *s = t->b->s;
    double runs = 1.0 + e->sampling.warmup + e->sampling.min_runs;
    double need_s = runs * run_ns * 1e-9;
    bool past_row = t->b->origin == CASES_OF_TABLE && e->row_s > 0 &&
                    need_s > e->row_s;
    bool past_run = need_s > seconds_left(s);
    if (!past_row && !past_run)
        return false;
    char shape[96];
    size_t at = 0;
    for (unsigned i = 0; i < t->row.n_shape && at < sizeof shape; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%.0f",
                               i ? "x" : "", t->row.shape[i].value);
    progress_hide(s);
    if (!s->set.quiet)
        fprintf(stderr, "clbench: %s %s %s %s skipped: about %.0f s; %s\n",
                t->row.op, shape, xl_dtype_name(t->row.dtype), t->row.variant,
                need_s,
                past_run ? "over --max-time"
                         : "--full, or naming it, runs it");
    return true;
}

static void refuse(struct attempt *t, xl_verdict verdict, const char *why)
{
    t->is_live = false;
    t->row.verdict = verdict;
    snprintf(t->row.reason, sizeof t->row.reason, "%s", why);
    session_row(t->b->s, t->dev, &t->row);
}

static void fail_row(struct attempt *t, xl_status status)
{
    const char *detail = xl_error_detail(t->q);
    refuse(t, status == XL_UNSUPPORTED ? XL_ROW_UNSUPPORTED : XL_ROW_ERROR,
           *detail ? detail : xl_status_text(status));
}

static void wrong_row(struct attempt *t, const struct check_result *found)
{
    char why[192];
    snprintf(why, sizeof why, "wrong result: %.170s", found->why);
    t->b->s->n_wrong++;
    refuse(t, XL_ROW_REJECTED, why);
}

/* -- before the timing ---------------------------------------------------- */

/* Which variant will run, and the model's time for it; false: none, and the
 * row says why. */
static bool choose(struct attempt *t, double *est_ns)
{
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    const struct bench_op *op = t->b->op;
    const char *wanted = t->work.variant;
    memset(choices, 0, sizeof choices);
    xl_status status = op->explain(t->q, &t->work, choices, &n);
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++) {
        const xl_choice *c = &choices[i];
        if (status == XL_OK && c->chosen) {
            xl__strcpy(t->row.variant, sizeof t->row.variant, c->variant);
            *est_ns = c->est_ns;
            if (op->chosen)
                op->chosen(c, &t->row);
            return true;
        }
        if (wanted && strcmp(c->variant, wanted) == 0 && *c->why) {
            refuse(t, XL_ROW_UNSUPPORTED, c->why);
            return false;
        }
    }
    fail_row(t, status == XL_OK ? XL_UNSUPPORTED : status);
    return false;
}

static xl_status enqueue(xl_queue *q, void *arg)
{
    struct attempt *t = arg;
    return t->b->op->run(q, &t->work);
}

/* Run once from a fresh start and compare; *ns is what the run took. */
static xl_status checked_run(struct attempt *t, double *ns,
                             struct check_result *out)
{
    xl_status status = XL_OK;
    TRY(bench_data_reset(t->q, t->work.data));
    uint64_t start = xl__now_ns();
    TRY(enqueue(t->q, t));
    TRY(xl_queue_finish(t->q));
    *ns = (double)(xl__now_ns() - start);
    TRY(t->b->op->check(t->q, &t->work, out));
fail:
    return status;
}

/* Choose, foresee, run once and compare: is_live when it may be timed. */
static void line_up(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    struct check_result found;
    double est_ns = NAN, ns = 0;
    xl_status status = op->open ? op->open(t->q, &t->work) : XL_OK;
    t->is_open = op->open != NULL;
    if (status != XL_OK) {
        fail_row(t, status);
        return;
    }
    if (!choose(t, &est_ns))
        return;
    est_ns = pace_foresee(&t->b->paces, t->dev, &t->row, est_ns);
    if (est_ns > 0 && is_too_long(t, est_ns))
        return;
    status = checked_run(t, &ns, &found);
    if (status == XL_WRONG_RESULT)
        wrong_row(t, &found);
    else if (status != XL_OK)
        fail_row(t, status);
    else
        t->is_live = !is_too_long(t, ns);
}

/* -- the timing ----------------------------------------------------------- */

/* The roof that the op names, if it is known. */
static bool roof_by_fact(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    const struct bench_roof *roof = op->roof ? op->roof(t->work.c) : NULL;
    xl_fact fact;
    if (!roof ||
        xl_device_fact(t->dev, roof->fact, XL_UNKNOWN, &fact) != XL_OK ||
        !(fact.value > 0))
        return false;
    t->row.roof = (xl_bound){fact.value, "B/s", roof->name, fact.source};
    return true;
}

static void add_roof(struct attempt *t)
{
    xl_roof roof = {XL_F32, XL_ENGINE_FMA, XL_LEVEL_DRAM};
    bool is_rate = strcmp(t->row.unit, "B/s") == 0;
    xl_bound bound;
    if (!roof_by_fact(t) &&
        xl_roofline_bound(t->dev, &roof, is_rate ? 0 : t->row.flop,
                          t->row.bytes, &bound) == XL_OK)
        t->row.roof = bound;
}

/* Is the row above a roof that a busy machine may have made too low? */
static bool doubts_roof(const struct attempt *t)
{
    static const double tolerated = 1.05; /* as the verdict's noise */
    const xl_bound *roof = &t->row.roof;
    return roof->source == XL_MEASURED &&
           t->row.value > tolerated * roof->value &&
           t->b->n_doubts < MOST_DOUBTS;
}

static void find_roof(struct attempt *t)
{
    add_roof(t);
    if (!doubts_roof(t))
        return;
    t->b->n_doubts++;
    if (xl_peaks_measure_again(t->q, XL_F32) == XL_OK)
        add_roof(t);
}

/* The row's figures, once it is timed and right a second time. */
static void conclude(struct attempt *t)
{
    xl_row *row = &t->row;
    struct check_result found;
    double ns;
    const xl_status status = checked_run(t, &ns, &found);
    if (status == XL_WRONG_RESULT) {
        wrong_row(t, &found);
        return;
    }
    if (status != XL_OK) {
        fail_row(t, status);
        return;
    }
    double amount = strcmp(row->unit, "B/s") == 0 ? row->bytes : row->flop;
    row->value = amount / row->samples.median_ns * 1e9;
    row->warnings = row->samples.warnings;
    pace_note(&t->b->paces, t->dev, row, row->samples.median_ns);
    find_roof(t);
    xl_row_judge(row, t->dev);
}

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
        pieces[i] = (xl_piece){enqueue, live[i]};
    TRY(xl_samples_take_turns(live[0]->q, &how, pieces, n, samples));
    for (unsigned i = 0; i < n; i++)
        live[i]->row.samples = samples[i];
fail:
    free(pieces);
    free(samples);
    return status;
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
            fail_row(live[i], status);
        else
            conclude(live[i]);
        if (live[i]->is_live)
            rows[n_rows++] = &live[i]->row;
    }
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

static void describe(struct attempt *t)
{
    const char *variant = t->work.variant;
    xl_row_init(&t->row, t->b->op->name, variant ? variant : "");
    t->row.seed = t->b->s->set.seed;
    t->b->op->describe(t->work.c, &t->row);
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
        describe(t);
        line_up(t);
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
        describe(&t);
        fail_row(&t, status);
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
        report_part(s->report, op->title, op->note);
        for (unsigned i = 0; i < n && !session_stopped(s); i++) {
            int failed = one_case(&b, cases[i]);
            code = failed ? failed : code;
        }
        progress_hide(s);
        report_part_end(s->report);
    }
    progress_end(s);
    for (unsigned i = 0; b.queues && i < s->n_devices; i++)
        xl_queue_destroy(b.queues[i]);
    free(b.queues);
    return code;
}
