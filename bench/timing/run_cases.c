/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over cases, devices and variants. The variants of a case are timed
 * interleaved (repetition i runs each of them once), so that the ratio of
 * their times is valid on a machine whose speed drifts. */
#include "timing/run_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cases/shape_file.h"
#include "cli/progress.h"
#include "results/result.h"
#include "timing/trace.h"
#include "timing/attempt.h"
#include "timing/roofs/peaks.h"

/* How long a row may take: quick, default, full. */
static const struct extent extents[] = {
    {{XL_SAMPLING_INIT, .warmup = 1, .min_runs = 5, .max_runs = 40,
      .max_noise = 0.01, .max_s = 1.5, .patience = 3},
     8},
    {{XL_SAMPLING_INIT, .warmup = 2, .min_runs = 10, .max_runs = 100,
      .max_noise = 0.01, .max_s = 4, .patience = 3},
     30},
    {{XL_SAMPLING_INIT, .warmup = 3, .min_runs = 20, .max_runs = 500,
      .max_noise = 0.005, .max_s = 15, .patience = 3},
     0},
};
/* Of a further pass over the rows of a suite. */
static const struct extent pass_extents[] = {
    {{XL_SAMPLING_INIT, .warmup = 1, .min_runs = 3, .max_runs = 10,
      .max_noise = 0.01, .max_s = 0.3, .patience = 1},
     8},
    {{XL_SAMPLING_INIT, .warmup = 2, .min_runs = 10, .max_runs = 40,
      .max_noise = 0.01, .max_s = 2, .patience = 1},
     30},
};

static const struct extent *extent_of(const struct session *s)
{
    if (s->pass > 0)
        return &pass_extents[s->set.full];
    return &extents[s->set.full ? 2 : s->set.quick ? 0 : 1];
}

/* A step that has begun has a first case, also when the measurement of its
 * roofs has taken its time. */
static bool must_stop(struct session *s, unsigned n_done)
{
    return n_done > 0 ? session_stopped(s) : session_ended(s);
}

/* What was built is measured, if only briefly when the step's time is over. */
static void shorten(xl_sampling *how, double left_s)
{
    static const double least_s = 0.3;
    if (left_s >= how->max_s * how->patience)
        return;
    how->patience = 1;
    how->max_s = fmin(how->max_s, fmax(least_s, left_s));
}

/* Time all live attempts, interleaved. */
static xl_status sample_interleaved(struct attempt *const *live, unsigned n)
{
    xl_status status = XL_OK;
    struct bench *b = live[0]->b;
    xl_sampling how = b->extent->sampling;
    xl_piece *pieces = xl__calloc(n, sizeof *pieces);
    xl_samples *samples = xl__calloc(n, sizeof *samples);
    TRY(pieces && samples ? XL_OK : XL_NO_MEMORY);
    shorten(&how, session_step_left_s(b->s));
    how.stop = session_ended;
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

/* Make a few calls for --trace. A failure was reported by earlier runs. */
static void trace_attempt(struct attempt *t)
{
    struct xl__str name = {0};
    if (!t->b->s->trace || t->b->s->pass > 0)
        return;
    xl__str_printf(&name, "%s ", t->row.variant);
    result_add_shape(&name, &t->row);
    (void)trace_runs(t->b->s->trace, t->q, xl__str_text(&name),
                     attempt_enqueue, t);
    xl__str_clear(&name);
}

static void time_attempts(struct attempt *const *live, unsigned n)
{
    xl_row *rows[BENCH_MAX_CHOICES];
    const struct bench_op *op = live[0]->b->op;
    unsigned n_rows = 0;
    const xl_status status = sample_interleaved(live, n);
    if (status == XL_CANCELLED)
        return;
    for (unsigned i = 0; i < n; i++) {
        if (status != XL_OK)
            attempt_fail(live[i], status);
        else if (live[i]->b->s->pass > 0)
            attempt_repeat(live[i]);
        else
            attempt_finish(live[i]);
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

static bool runs_all(const struct bench *b)
{
    const char *requested = b->s->set.variant;
    return requested ? strcmp(requested, "all") == 0 : b->op->runs_all;
}

static bool is_variant(const struct bench_op *op, const xl_device *dev,
                       const char *name)
{
    const char *one;
    for (unsigned i = 0; (one = bench_variant(op, dev, i)) != NULL; i++)
        if (strcmp(one, name) == 0)
            return true;
    return false;
}

/* The i-th variant of this run; false past the last. The second one is that of
 * --same-kernel, unless `first`, which ran, is it. */
static bool variant_of_run(const struct bench *b, const xl_device *dev,
                           unsigned i, const char *first, const char **variant)
{
    const char *same = b->s->set.same_kernel;
    if (runs_all(b)) {
        *variant = bench_variant(b->op, dev, i);
        return *variant != NULL;
    }
    *variant = i == 0 ? b->s->set.variant : same;
    return i == 0 || (i == 1 && same && strcmp(first, same) != 0 &&
                      is_variant(b->op, dev, same));
}

/* The variant that the library chooses; "": unknown. */
static void find_default(const struct bench *b, unsigned i_dev,
                         const struct case_run *work, char *name, size_t cap)
{
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    memset(choices, 0, sizeof choices);
    *name = '\0';
    if (b->op->open || !runs_all(b) ||
        b->op->explain(b->queues[i_dev], work, choices, &n) != XL_OK)
        return;
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen)
            xl__strcpy(name, cap, choices[i].variant);
}

static void attempt_init(struct attempt *t, struct bench *b, unsigned i_dev)
{
    memset(t, 0, sizeof *t);
    t->b = b;
    t->q = b->queues[i_dev];
    t->dev = b->s->devices[i_dev];
}

static void run_variants(struct bench *b, unsigned i_dev,
                         const struct case_run *work)
{
    struct attempt *live[BENCH_MAX_CHOICES];
    struct attempt *list = xl__calloc(BENCH_MAX_CHOICES, sizeof *list);
    unsigned n = 0, n_live = 0;
    char usual[sizeof list->row.variant];
    find_default(b, i_dev, work, usual, sizeof usual);
    if (!list) {
        (void)session_fail(b->s, "starting", XL_NO_MEMORY, "");
        return;
    }
    for (; n < BENCH_MAX_CHOICES && !must_stop(b->s, n); n++) {
        struct attempt *t = &list[n];
        attempt_init(t, b, i_dev);
        t->work = *work;
        if (!variant_of_run(b, t->dev, n, list->row.variant, &t->work.variant))
            break;
        attempt_describe(t);
        if (*usual && strcmp(t->row.variant, usual) == 0)
            xl_row_found(&t->row, "is_default", 1);
        attempt_prepare(t);
        if (t->is_live)
            live[n_live++] = t;
    }
    if (n_live > 0 && !session_ended(b->s))
        time_attempts(live, n_live);
    for (unsigned i = 0; i < n; i++)
        if (list[i].is_open)
            b->op->close(&list[i].work);
    free(list);
}

/* Report the row of a case that does not fit on a device; false: it fits. */
static bool is_too_large(struct bench *b, unsigned i_dev, const void *c)
{
    struct attempt t;
    attempt_init(&t, b, i_dev);
    if (bench_data_fits(b->op, c, t.dev, t.work.why, sizeof t.work.why))
        return false;
    t.work.c = c;
    attempt_describe(&t);
    attempt_fail(&t, XL_UNSUPPORTED);
    return true;
}

static void run_on_device(struct bench *b, unsigned i_dev, const void *c,
                          struct bench_data *data)
{
    const struct case_run work = {.c = c, .data = data};
    if (!b->queues[i_dev] || is_too_large(b, i_dev, c))
        return;
    xl_status status = bench_data_upload(b->queues[i_dev], data);
    if (status == XL_OK) {
        run_variants(b, i_dev, &work);
    } else {
        struct attempt t;
        attempt_init(&t, b, i_dev);
        t.work = work;
        attempt_describe(&t);
        attempt_fail(&t, status);
    }
    bench_data_release(data);
}

static void show_progress(struct bench *b, const void *c)
{
    xl_row row;
    struct xl__str what = {0};
    xl_row_init(&row, b->op->name, "");
    b->op->describe(c, &row);
    xl__str_printf(&what, "%s ", b->op->name);
    result_add_shape(&what, &row);
    progress_step(b->s, xl__str_text(&what));
    xl__str_clear(&what);
}

static bool fits_none(const struct bench *b, const void *c)
{
    char why[160];
    for (unsigned i = 0; i < b->s->n_devices; i++)
        if (bench_data_fits(b->op, c, b->s->devices[i], why, sizeof why))
            return false;
    return true;
}

static int run_case(struct bench *b, const void *c)
{
    struct bench_data data;
    int code = EXIT_FINE;
    show_progress(b, c);
    if (fits_none(b, c)) { /* before its data are made */
        for (unsigned i = 0; i < b->s->n_devices; i++)
            (void)is_too_large(b, i, c);
        return b->origin == CASES_OF_USER ? EXIT_USAGE : EXIT_FINE;
    }
    xl_status status = bench_data_init(&data, b->op, c, b->s->set.seed);
    if (status != XL_OK)
        code = session_fail(b->s, "preparing data", status, "");
    for (unsigned i = 0; status == XL_OK && i < b->s->n_devices; i++) {
        /* Each device has an equal share of the time that is left. */
        const struct time_plan plan = b->s->plan;
        session_step_share(b->s, b->s->n_devices - i);
        run_on_device(b, i, c, &data);
        b->s->plan = plan;
    }
    bench_data_clear(&data);
    return code;
}

/* Create a queue for each device, and measure the peaks for the bounds. */
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
        if (s->pass > 0 || b->is_futile)
            continue;
        progress_step(s, "measuring peaks");
        xl_status status = roofs_begin(s, b->queues[i]);
        if (status != XL_OK && status != XL_UNSUPPORTED)
            session_fail(s, "measuring peaks", status,
                         xl_error_detail(b->queues[i]));
        diagnose_launch_cost(b->queues[i]);
    }
    return EXIT_FINE;
}

/* Does any chosen device have the variant, if one is given? */
static bool has_variant(const struct session *s, const struct bench_op *op,
                        const char *name)
{
    for (unsigned d = 0; name && d < s->n_devices; d++)
        if (is_variant(op, s->devices[d], name))
            return true;
    return !name || strcmp(name, "all") == 0;
}

static int report_no_variant(const struct session *s,
                             const struct bench_op *op, const char *requested)
{
    const char *name;
    fprintf(stderr, "clbench: %s has no variant '%s'; must be all", op->name,
            requested);
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
    /* An error only where the command runs this op and no other. */
    const bool is_own = strcmp(s->command->name, op->name) == 0;
    if (!has_variant(s, op, s->set.variant))
        return is_own ? report_no_variant(s, op, s->set.variant) : EXIT_FINE;
    if (is_own && !has_variant(s, op, s->set.same_kernel))
        return report_no_variant(s, op, s->set.same_kernel);
    struct extent extent = *extent_of(s);
    session_sampling(s, &extent.sampling);
    b.extent = &extent;
    b.is_futile = n > 0;
    for (unsigned i = 0; i < n; i++)
        b.is_futile = b.is_futile && fits_none(&b, cases[i]);
    progress_begin(s, n + s->n_devices);
    int code = open_queues(&b);
    if (code == EXIT_FINE) {
        session_section(s, op->kind, op->title, op->note);
        for (unsigned i = 0; i < n && !must_stop(s, i); i++) {
            int failed = run_case(&b, cases[i]);
            code = failed ? failed : code;
        }
        progress_hide(s);
        session_section_end(s);
        if (code == EXIT_FINE && s->is_late && s->n_rows == 0)
            code = EXIT_USAGE; /* there are no results */
    }
    progress_end(s);
    for (unsigned i = 0; b.queues && i < s->n_devices; i++) {
        if (b.queues[i] && code != EXIT_NO_DEVICE && !b.is_futile)
            roofs_end(s, b.queues[i]);
        xl_queue_destroy(b.queues[i]);
    }
    free(b.queues);
    return code;
}

/* -- ops -------------------------------------------------------------------
 */

const struct bench_op *bench_op_find(const char *name)
{
    static const struct bench_op *const ops[] = {
        &bench_gemm,      &bench_conv,
        &bench_conv_data, &bench_conv_filters,
        &bench_softmax,   &bench_softmax_backward,
        &bench_norm,      &bench_norm_backward,
        &bench_attention, &bench_attention_backward,
        &bench_qgemm,     &bench_qconvert,
        &bench_rotary};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    fprintf(stderr,
            "clbench: unknown op '%s'; must be gemm, conv, conv_data, "
            "conv_filters, softmax, softmax_backward, norm, norm_backward, "
            "attention, attention_backward, qgemm, qconvert or rotary "
            "(expressions: "
            "'clbench expr TEXT --explain')\n",
            name);
    return NULL;
}

/* -- a list of cases ------------------------------------------------------ */

/* Add an empty case; NULL when out of memory. */
static void *add_case(struct bench_cases *list, const struct bench_op *op)
{
    void *c = NULL;
    if (xl__grow(&list->list, &list->cap, list->n + 1, sizeof *list->list))
        c = xl__calloc(1, op->case_bytes);
    if (c)
        list->list[list->n++] = c;
    return c;
}

static const char *name_of_accuracy(xl_accuracy accuracy)
{
    return option_choice(option_find("accuracy"), (int)accuracy);
}

void bench_describe_accuracy(xl_accuracy accuracy, xl_row *row)
{
    if (accuracy != XL_ACCURACY_FULL)
        xl_row_param_text(row, "accuracy", name_of_accuracy(accuracy));
}

bool bench_has_accuracy(const struct settings *set, const char *of,
                        bool has_split, bool has_fast, char *why, size_t cap)
{
    const bool has[XL_N_ACCURACIES] = {true, has_split, has_fast};
    if (has[set->accuracy])
        return true;
    snprintf(why, cap,
             "invalid value '%s' for --accuracy: must be full%s%s for %s",
             name_of_accuracy(set->accuracy), has_split ? "|split" : "",
             has_fast ? "|fast" : "", of);
    return false;
}

static bool report_no_memory(struct session *s)
{
    (void)session_fail(s, "reading shapes", XL_NO_MEMORY, "");
    return false;
}

static bool add_word(struct session *s, const struct bench_op *op,
                     const char *word, struct bench_cases *out)
{
    char why[160];
    void *c = add_case(out, op);
    if (!c)
        return report_no_memory(s);
    if (op->parse(&s->set, word, c, why, sizeof why))
        return true;
    session_message(s, "", why);
    return false;
}

static bool add_line(struct session *s, const struct bench_op *op,
                     const struct shape_file *f, size_t i,
                     struct bench_cases *out)
{
    struct settings set = s->set;
    struct xl__str text = {0};
    char why[160];
    void *c = add_case(out, op);
    if (!c)
        return report_no_memory(s);
    bool is_read = shape_file_settings(f, i, s->command, &set, &text);
    if (is_read &&
        !op->parse(&set, f->line[i].word[0].text, c, why, sizeof why)) {
        is_read = false;
        shape_file_position(f, i, 0, &text);
        xl__str_add(&text, why);
    }
    if (!is_read)
        session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return is_read;
}

static bool add_file(struct session *s, const struct bench_op *op,
                     const char *name, struct bench_cases *out)
{
    struct xl__str why = {0};
    struct shape_file *f = &out->file[out->n_files++];
    bool is_read = shape_file_read(name, f, &why);
    if (!is_read)
        session_message(s, "", xl__str_text(&why));
    for (size_t i = 0; is_read && i < f->n; i++)
        is_read = add_line(s, op, f, i, out);
    xl__str_clear(&why);
    return is_read;
}

int bench_cases_read(struct session *s, const struct bench_op *op,
                     struct bench_cases *out)
{
    const struct option_list *files = &s->set.shape_files;
    *out = (struct bench_cases){.n = 0};
    for (unsigned i = 0; i < s->set.n_words; i++)
        if (!add_word(s, op, s->set.words[i], out))
            return EXIT_USAGE;
    for (unsigned i = 0; i < files->n; i++)
        if (!add_file(s, op, files->value[i], out))
            return EXIT_FILE;
    return EXIT_FINE;
}

void bench_cases_clear(struct bench_cases *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((void *)list->list[i]);
    for (unsigned i = 0; i < list->n_files; i++)
        shape_file_clear(&list->file[i]);
    free((void *)list->list);
    *list = (struct bench_cases){.n = 0};
}

/* -- the table ------------------------------------------------------------ */

/* Read the cases of the table that belong to this run. */
static bool read_table(const struct session *s, const struct bench_op *op,
                       struct bench_cases *out)
{
    bool is_selected = false;
    void *c = xl__calloc(1, op->case_bytes), *kept = c;
    for (unsigned i = 0; kept && op->table(s, i, c, &is_selected); i++) {
        kept = is_selected ? add_case(out, op) : c;
        if (is_selected && kept)
            memcpy(kept, c, op->case_bytes);
    }
    free(c);
    return kept != NULL;
}

int bench_table(struct session *s, const struct bench_op *op)
{
    struct bench_cases cases = {.n = 0};
    int code;
    if (read_table(s, op, &cases))
        code = bench_run(s, op, cases.list, (unsigned)cases.n, CASES_OF_TABLE);
    else
        code = session_fail(s, "reading the table", XL_NO_MEMORY, "");
    bench_cases_clear(&cases);
    return code;
}

int bench_command(struct session *s, const struct bench_op *op)
{
    struct bench_cases cases;
    int code = bench_cases_read(s, op, &cases);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    /* A file counts as a table: not each shape suits each device. */
    const enum bench_origin origin =
        s->set.n_words > 0 ? CASES_OF_USER : CASES_OF_TABLE;
    if (code == EXIT_FINE)
        code = cases.n > 0
                   ? bench_run(s, op, cases.list, (unsigned)cases.n, origin)
                   : bench_table(s, op);
    bench_cases_clear(&cases);
    return code != EXIT_FINE ? code : session_result(s);
}
