/* SPDX-License-Identifier: Apache-2.0 */
/* Cases x devices x variants. A result is compared with the host before it is
 * timed and again after, so that no number stands for a wrong answer. */
#include "op_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "progress.h"
#include "ref.h"
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

static const uint32_t NAN_WORD = 0x7fc57fc5; /* NaN in f32, f16 and bf16 */

/* What an earlier row showed of a variant's speed, to foresee the next. */
struct pace {
    const xl_device *dev;
    char variant[32];
    xl_dtype dtype;
    double ns_per_work;
};
/* Roofs are measured again at most so often: each time takes seconds. */
enum { MAX_PACES = 32, MOST_DOUBTS = 2 };

struct bench {
    struct session *s;
    const struct bench_op *op;
    const struct extent *extent;
    enum bench_origin origin;
    xl_queue **queues;
    struct pace paces[MAX_PACES];
    unsigned n_paces;
    unsigned n_doubts; /* roofs measured again */
};

/* One variant of one case on one device. */
struct attempt {
    struct bench *b;
    xl_queue *q;
    xl_device *dev;
    const void *c;
    struct bench_data *data;
    const char *variant; /* NULL: the library's choice */
    xl_row row;
};

static double work_of(const xl_row *row)
{
    return row->flop > row->bytes ? row->flop : row->bytes;
}

static struct pace *pace_find(struct bench *b, const struct attempt *t)
{
    for (unsigned i = 0; i < b->n_paces; i++) {
        struct pace *p = &b->paces[i];
        if (p->dev == t->dev && p->dtype == t->row.dtype &&
            strcmp(p->variant, t->row.variant) == 0)
            return p;
    }
    return NULL;
}

static void pace_note(struct bench *b, const struct attempt *t, double ns)
{
    struct pace *p = pace_find(b, t);
    if (!p) {
        p = &b->paces[b->n_paces < MAX_PACES ? b->n_paces++ : 0];
        p->dev = t->dev;
        p->dtype = t->row.dtype;
        memcpy(p->variant, t->row.variant, sizeof p->variant);
    }
    p->ns_per_work = ns / work_of(&t->row);
}

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

/* Which variant will run, and the model's time for it; false: none, and the
 * row says why. */
static bool choose(struct attempt *t, double *est_ns)
{
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    const struct bench_op *op = t->b->op;
    memset(choices, 0, sizeof choices);
    xl_status status = op->explain(t->q, t->c, t->data->mem, t->variant,
                                   choices, &n);
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++) {
        const xl_choice *c = &choices[i];
        if (status == XL_OK && c->chosen) {
            snprintf(t->row.variant, sizeof t->row.variant, "%s", c->variant);
            *est_ns = c->est_ns;
            return true;
        }
        if (t->variant && strcmp(c->variant, t->variant) == 0 && *c->why) {
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
    return t->b->op->run(q, t->c, t->data->mem, t->variant);
}

/* Run once over a result full of NaN and compare; *ns is what the run took. */
static xl_status checked_run(struct attempt *t, double *ns,
                             struct check_result *out)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &t->data->buffer[i];
        size_t words = x->elems * xl_dtype_bytes(x->dtype) / sizeof NAN_WORD;
        if (x->is_result && words)
            TRY(xl_buffer_fill(t->q, t->data->mem[i], 0, NAN_WORD, words));
    }
    TRY(xl_queue_finish(t->q));
    uint64_t start = xl__now_ns();
    TRY(enqueue(t->q, t));
    TRY(xl_queue_finish(t->q));
    *ns = (double)(xl__now_ns() - start);
    TRY(t->b->op->check(t->q, t->c, t->data, out));
fail:
    return status;
}

static void wrong_row(struct attempt *t, const struct check_result *found)
{
    char why[192];
    snprintf(why, sizeof why, "wrong result: %.170s", found->why);
    t->b->s->n_wrong++;
    refuse(t, XL_ROW_REJECTED, why);
}

static void add_roof(struct attempt *t)
{
    xl_roof roof = {XL_F32, XL_ENGINE_FMA, XL_LEVEL_DRAM};
    bool is_rate = strcmp(t->row.unit, "B/s") == 0;
    xl_bound bound;
    if (xl_roofline_bound(t->dev, &roof, is_rate ? 0 : t->row.flop,
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

static void sample_row(struct attempt *t)
{
    xl_sampling how = t->b->extent->sampling;
    xl_row *row = &t->row;
    struct check_result found;
    double ns;
    how.stop = session_stopped;
    how.stop_arg = t->b->s;
    xl_status status = xl_samples_take(t->q, &how, enqueue, t, &row->samples);
    if (status == XL_CANCELLED)
        return;
    if (status == XL_OK)
        status = checked_run(t, &ns, &found);
    if (status != XL_OK && status != XL_WRONG_RESULT) {
        fail_row(t, status);
        return;
    }
    if (status == XL_WRONG_RESULT) {
        wrong_row(t, &found);
        return;
    }
    double amount = strcmp(row->unit, "B/s") == 0 ? row->bytes : row->flop;
    row->value = amount / row->samples.median_ns * 1e9;
    row->warnings = row->samples.warnings;
    pace_note(t->b, t, row->samples.median_ns);
    find_roof(t);
    xl_row_judge(row, t->dev);
    session_row(t->b->s, t->dev, row);
}

static void try_variant(struct attempt *t)
{
    struct check_result found;
    double est_ns = NAN, ns = 0;
    xl_row_init(&t->row, t->b->op->name, t->variant ? t->variant : "");
    t->row.seed = t->b->s->set.seed;
    t->b->op->describe(t->c, &t->row);
    if (!choose(t, &est_ns))
        return;
    const struct pace *pace = pace_find(t->b, t);
    if (pace)
        est_ns = pace->ns_per_work * work_of(&t->row);
    if (est_ns > 0 && is_too_long(t, est_ns))
        return;
    xl_status status = checked_run(t, &ns, &found);
    if (status == XL_WRONG_RESULT)
        wrong_row(t, &found);
    else if (status != XL_OK)
        fail_row(t, status);
    else if (!is_too_long(t, ns))
        sample_row(t);
}

static void buffers_release(struct bench_data *data)
{
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        if (data->mem[i])
            clReleaseMemObject(data->mem[i]);
        data->mem[i] = NULL;
    }
}

static xl_status buffers_create(xl_queue *q, struct bench_data *data)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        size_t bytes = x->elems * xl_dtype_bytes(x->dtype);
        if (!bytes)
            continue;
        /* Whole words, so that the result can be filled with NaN. */
        TRY(xl_buffer_create(q, xl__round_up(bytes, sizeof NAN_WORD),
                             &data->mem[i]));
        if (data->host[i])
            TRY(xl_buffer_write(q, data->mem[i], 0, data->host[i], bytes));
    }
fail:
    return status;
}

static void on_device(struct bench *b, unsigned i_dev, const void *c,
                      struct bench_data *data)
{
    struct attempt t = {.b = b, .q = b->queues[i_dev],
                        .dev = b->s->devices[i_dev], .c = c, .data = data};
    const char *wanted = b->s->set.variant;
    bool is_all = wanted && strcmp(wanted, "all") == 0;
    if (!t.q)
        return;
    xl_status status = buffers_create(t.q, data);
    if (status != XL_OK) {
        xl_row_init(&t.row, b->op->name, "");
        b->op->describe(c, &t.row);
        fail_row(&t, status);
    }
    for (unsigned i = 0; status == XL_OK && !session_stopped(b->s); i++) {
        t.variant = is_all ? xl_variant_name(t.dev, b->op->name, i) : wanted;
        if ((is_all && !t.variant) || (!is_all && i > 0))
            break;
        try_variant(&t);
    }
    buffers_release(data);
}

/* Random data for every input, the same on every device. */
static xl_status host_data(struct bench *b, const void *c,
                           struct bench_data *data)
{
    struct xl__rng rng;
    memset(data, 0, sizeof *data);
    data->seed = b->s->set.seed;
    xl__rng_seed(&rng, data->seed);
    b->op->layout(c, data->buffer);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        if (!x->elems || x->is_result)
            continue;
        data->host[i] = xl__calloc(x->elems, xl_dtype_bytes(x->dtype));
        if (!data->host[i])
            return XL_NO_MEMORY;
        ref_fill(data->host[i], x->elems, x->dtype, &rng);
    }
    return XL_OK;
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
    xl_status status = host_data(b, c, &data);
    if (status != XL_OK)
        code = session_fail(b->s, "preparing data", status, "");
    for (unsigned i = 0; status == XL_OK && i < b->s->n_devices; i++)
        on_device(b, i, c, &data);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++)
        free(data.host[i]);
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

/* A name that no chosen device's list has is a slip of the pen, where the
 * command runs this op alone. */
static bool has_variant(const struct session *s, const struct bench_op *op)
{
    const char *name, *wanted = s->set.variant;
    if (!wanted || strcmp(wanted, "all") == 0 ||
        strcmp(s->command->name, op->name) != 0)
        return true;
    for (unsigned d = 0; d < s->n_devices; d++)
        for (unsigned i = 0;
             (name = xl_variant_name(s->devices[d], op->name, i)) != NULL; i++)
            if (strcmp(name, wanted) == 0)
                return true;
    fprintf(stderr, "clbench: %s has no variant '%s'; there are: all",
            op->name, wanted);
    for (unsigned i = 0;
         (name = xl_variant_name(s->devices[0], op->name, i)) != NULL; i++)
        fprintf(stderr, ", %s", name);
    fprintf(stderr, "\n");
    return false;
}

int bench_run(struct session *s, const struct bench_op *op,
              const void *const *cases, unsigned n, enum bench_origin origin)
{
    struct bench b = {.s = s, .op = op, .origin = origin};
    if (!has_variant(s, op))
        return EXIT_USAGE;
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
