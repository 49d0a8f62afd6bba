/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune`: classes of shapes, and the search of one class.
 *
 * Shapes of the command line become descriptors without memory; they are
 * parsed like those of the benchmarks. For a class xl_tune() of the library
 * chooses the candidates; each runs in a child process (worker.c), the
 * progress line shows the state, a journal lets a killed search continue, and
 * the result is saved as a tuned set. */
#include "tuning/search.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "cases/norm_cases.h"
#include "cli/units.h"
#include "results/result.h"
#include "tuning/worker.h"

/* The default shapes: squares of the sizes at which tiles change, and a layer
 * of a language model when it decodes (one and a few rows) and prefills. */
static const char *gemm_shapes[] = {
    "512",          "1024",         "2048", "1x4096x4096",
    "16x4096x4096", "64x4096x4096", NULL};
static const char *row_shapes[] = {"4096x4096", "16384x1024", "64x100000",
                                   NULL};

static const char *attention_shapes[] = {"1x16x1024x64", "1x16x1024x128",
                                         NULL};

static const char *qgemm_shapes[] = {"1x4096x4096", "1x4096x14336",
                                     "8x4096x4096", NULL};

static const char *qconvert_shapes[] = {"4096x14336", NULL};

static const char *rotary_shapes[] = {"1x32x1x4096x128", "1x32x4096x128",
                                      NULL};

static xl_mat operand_view(size_t rows, size_t cols, xl_dtype dtype,
                           bool transposed)
{
    return transposed ? xl_mat_cols(NULL, rows, dtype)
                      : xl_mat_rows(NULL, cols, dtype);
}

static void class_of_gemm(const void *arg, struct tune_class *out)
{
    const struct gemm_case *c = arg;
    xl_gemm *g = &out->desc.gemm;
    snprintf(out->shape, sizeof out->shape, "%zux%zux%zu", c->m, c->n, c->k);
    out->dtype = c->in;
    out->trans = c->trans;
    out->accuracy = c->accuracy;
    out->batch = c->batch.count;
    *g = (xl_gemm){XL_GEMM_INIT,
                   .m = c->m,
                   .n = c->n,
                   .k = c->k,
                   .alpha = c->alpha,
                   .beta = c->beta,
                   .variant = out->variant,
                   .accuracy = c->accuracy};
    if (c->batch.count)
        g->batch = (xl_batch){.count = c->batch.count,
                              .a_step = c->m * c->k,
                              .b_step = c->k * c->n,
                              .c_step = c->m * c->n};
    g->a = operand_view(c->m, c->k, c->in, c->trans & 1);
    g->b = operand_view(c->k, c->n, gemm_case_b(c), c->trans & 2);
    g->c = operand_view(c->m, c->n, c->out, false);
}

static void class_of_softmax(const void *arg, struct tune_class *out)
{
    const struct softmax_case *c = arg;
    const xl_mat rows = operand_view(c->rows, c->cols, c->dtype, false);
    snprintf(out->shape, sizeof out->shape, "%zux%zu", c->rows, c->cols);
    out->dtype = c->dtype;
    out->is_log = c->is_log;
    out->desc.softmax = (xl_softmax){
        XL_SOFTMAX_INIT,    .rows = c->rows, .cols = c->cols,
        .src = rows,        .dst = rows,     .variant = out->variant,
        .is_log = c->is_log};
}

static void class_of_norm(const void *arg, struct tune_class *out)
{
    const struct norm_case *c = arg;
    xl_mat view[NORM_OPERANDS];
    for (unsigned x = 0; x < NORM_OPERANDS; x++)
        view[x] = operand_view(c->rows, c->cols, norm_dtype(c, x), false);
    snprintf(out->shape, sizeof out->shape, "%zux%zu", c->rows, c->cols);
    out->dtype = c->dtype;
    out->is_rms = c->kind == XL_NORM_RMS;
    out->has_residual = norm_has(c, NORM_RESIDUAL);
    out->desc.norm = norm_call(c, view, out->variant);
}

static void class_of_gradient(const void *arg, struct tune_class *out)
{
    const struct gradient_case *c = arg;
    xl_mat view[GRADIENT_OPERANDS];
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++)
        view[x] = operand_view(c->rows, c->cols, gradient_dtype(c, x), false);
    snprintf(out->shape, sizeof out->shape, "%zux%zu", c->rows, c->cols);
    out->dtype = c->dtype;
    out->is_log = c->kind == GRADIENT_LOG;
    out->is_rms = c->kind == GRADIENT_RMS;
    if (gradient_is_norm(c))
        out->desc.norm = gradient_norm(c, view, out->variant);
    else
        out->desc.softmax = gradient_softmax(c, view, out->variant);
}

static void class_of_attention(const void *arg, struct tune_class *out)
{
    const struct attention_case *c = arg;
    struct attention_memory dense = {.ld = {0}};
    struct attention_call *call = &out->desc.attention;
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        dense.ld[x] = attention_lines(c, x).cols;
    snprintf(out->shape, sizeof out->shape, "%zux%zux%zux%zux%zu", c->n_batch,
             c->n_heads, c->n_q, c->n_kv, c->d);
    out->dtype = c->dtype;
    out->accuracy = c->accuracy;
    attention_call_init(call, c, &dense, out->variant);
}

static void class_of_qgemm(const void *arg, struct tune_class *out)
{
    const struct qgemm_case *c = arg;
    snprintf(out->shape, sizeof out->shape, "%zux%zux%zu", c->m, c->n, c->k);
    out->dtype = c->in;
    out->accuracy = c->accuracy;
    out->activations = c->activations;
    out->is_rms = c->gain > 0;
    out->format = xl_qformat_layout(c->format)->name;
    out->group = c->group;
    out->desc.qgemm = (xl_qgemm){
        XL_QGEMM_INIT,
        .m = c->m,
        .a = operand_view(c->m, c->k, c->in, false),
        .c = operand_view(c->m, c->n, c->out, false),
        .w.shape = qgemm_case_shape(c),
        .accuracy = c->accuracy,
        .activations = c->activations,
        .norm = {c->gain ? XL_QGEMM_NORM_RMS : XL_QGEMM_NORM_NONE,
                 operand_view(1, c->k, qgemm_gain_type(c), false), 0},
        .w.has_zeros = c->has_zeros,
        .variant = out->variant};
}

static void class_of_qconvert(const void *arg, struct tune_class *out)
{
    static const cl_mem none[QCONVERT_OPERANDS] = {NULL};
    static const size_t first[QCONVERT_OPERANDS] = {0};
    const struct qconvert_case *c = arg;
    snprintf(out->shape, sizeof out->shape, "%zux%zu", c->of.n, c->of.k);
    out->dtype = c->of.in;
    out->format = xl_qformat_layout(c->of.format)->name;
    out->group = c->of.group;
    out->is_dequantise = c->is_dequantise;
    out->desc.qconvert = qconvert_call(c, none, first, c->of.k, out->variant);
}

static void class_of_rotary(const void *arg, struct tune_class *out)
{
    const struct rotary_case *c = arg;
    struct rotary_memory dense = {.ld = {0}};
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++)
        dense.ld[x] = rotary_lines(c, x).cols;
    snprintf(out->shape, sizeof out->shape, "%zux%zux%zux%zux%zu",
             c->a.n_batch, c->a.n_heads, c->a.n_q, c->a.n_kv, c->a.d);
    out->dtype = c->a.dtype;
    rotary_call_init(&out->desc.rotary, c, &dense, out->variant);
}

static const struct op {
    const struct bench_op *bench;
    const char **shapes; /* by default */
    void (*class_of)(const void *c, struct tune_class *out);
} ops[] = {
    {&bench_gemm, gemm_shapes, class_of_gemm},
    {&bench_softmax, row_shapes, class_of_softmax},
    {&bench_norm, row_shapes, class_of_norm},
    {&bench_softmax_backward, row_shapes, class_of_gradient},
    {&bench_norm_backward, row_shapes, class_of_gradient},
    {&bench_attention, attention_shapes, class_of_attention},
    {&bench_attention_backward, attention_shapes, class_of_attention},
    {&bench_qgemm, qgemm_shapes, class_of_qgemm},
    {&bench_qconvert, qconvert_shapes, class_of_qconvert},
    {&bench_rotary, rotary_shapes, class_of_rotary},
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

static const struct op *find_op(const char *name)
{
    struct xl__str names = {0};
    for (unsigned i = 0; i < N_OPS; i++)
        if (strcmp(ops[i].bench->name, name) == 0)
            return &ops[i];
    for (unsigned i = 0; i < N_OPS; i++)
        xl__str_printf(&names, "%s%s", i ? ", " : "", ops[i].bench->name);
    fprintf(stderr,
            "clbench: unknown op '%s' to tune; there "
            "are: %s; give 'clbench tune OP [SHAPE...]'\n",
            name, xl__str_text(&names));
    xl__str_clear(&names);
    return NULL;
}

xl_problem tune_class_problem(const struct tune_class *c)
{
    const struct bench_op *op = c->op;
    return op == &bench_gemm ? xl_problem_gemm(&c->desc.gemm)
           : op == &bench_softmax || op == &bench_softmax_backward
               ? xl_problem_softmax(&c->desc.softmax)
           : op == &bench_norm || op == &bench_norm_backward
               ? xl_problem_norm(&c->desc.norm)
           : op == &bench_qgemm    ? xl_problem_qgemm(&c->desc.qgemm)
           : op == &bench_qconvert ? xl_problem_qconvert(&c->desc.qconvert)
           : op == &bench_rotary   ? xl_problem_rotary(&c->desc.rotary.r)
                                 : xl_problem_attention(&c->desc.attention.a);
}

static void add_class(const struct op *op, const char *variant, const void *c,
                      struct tune_class *out)
{
    *out = (struct tune_class){
        .op = op->bench, .c = c, .group = 1, .trans = -1, .variant = variant};
    op->class_of(c, out);
}

/* Read the shapes after the op's name, or the default ones. */
static int read_cases(struct session *s, const struct op *op,
                      struct bench_cases *out)
{
    const struct settings kept = s->set;
    s->set.words++;
    s->set.n_words--;
    if (s->set.n_words == 0 && s->set.shape_files.n == 0) {
        s->set.words = op->shapes;
        while (op->shapes[s->set.n_words])
            s->set.n_words++;
    }
    int code = bench_cases_read(s, op->bench, out);
    s->set = kept;
    return code;
}

int tune_classes_read(struct session *s, struct tune_classes *out)
{
    const struct op *op = find_op(s->set.words[0]);
    out->n = 0;
    if (!op)
        return EXIT_USAGE;
    int code = read_cases(s, op, &out->cases);
    if (code != EXIT_FINE)
        return code;
    if (out->cases.n > TUNE_MAX_CLASSES) {
        fprintf(stderr,
                "clbench: %zu shapes are too many for one search; "
                "give at most %d\n",
                out->cases.n, TUNE_MAX_CLASSES);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < out->cases.n; i++)
        add_class(op, s->set.variant, out->cases.list[i],
                  &out->list[out->n++]);
    return EXIT_FINE;
}

void tune_classes_clear(struct tune_classes *classes)
{
    bench_cases_clear(&classes->cases);
    classes->n = 0;
}

void tune_class_text(const struct tune_class *c, bool is_typed, char *out,
                     size_t cap)
{
    struct xl__str text = {0};
    const char *trans = option_choice(option_find("trans"), c->trans);
    const char *accuracy =
        option_choice(option_find("accuracy"), (int)c->accuracy);
    xl__str_add(&text, c->shape);
    if (is_typed)
        xl__str_printf(&text, " %s", xl_dtype_name(c->dtype));
    if (c->trans > 0)
        xl__str_printf(&text, " %s", trans);
    if (c->format)
        xl__str_printf(&text, " %s", c->format);
    if (c->is_dequantise)
        xl__str_add(&text, " dequantise");
    if (c->activations)
        xl__str_printf(
            &text, " activations=%s",
            option_choice(option_find("activations"), (int)c->activations));
    if (c->is_log)
        xl__str_add(&text, " log");
    if (c->is_rms)
        xl__str_add(&text, " rms");
    if (c->has_residual)
        xl__str_add(&text, " residual");
    if (c->accuracy != XL_ACCURACY_FULL)
        xl__str_printf(&text, " %s", accuracy);
    if (c->batch)
        xl__str_printf(&text, " batch=%zu", c->batch);
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- one class -------------------------------------------------------------
 */

static const double ns_per_s = 1e9;
/* The part of a class's time that is reserved for building and timing the best
 * candidate again: the smaller one of these two. */
static const double final_s = 20, final_frac = 0.25;
/* The interval of progress messages where there is no progress line. */
static const double say_every_s = 10;

struct search {
    struct session *s;
    unsigned i, n; /* of the classes */
    double others_s; /* time of the classes after it */
    char name[96];
    struct tune_worker worker;
    struct tune_result *out;
    uint64_t reported_ns;
};

static double seconds_since(uint64_t start_ns)
{
    return (double)(xl__now_ns() - start_ns) / ns_per_s;
}

/* -- progress --------------------------------------------------------------
 */

static void report_progress(struct search *r, const char *text)
{
    char before[32];
    snprintf(before, sizeof before, "[%u/%u] ", r->i + 1, r->n);
    if (!r->s->set.quiet)
        session_message(r->s, before, text);
    r->reported_ns = xl__now_ns();
}

static void on_progress(void *arg, const xl_tune_progress *p)
{
    struct search *r = arg;
    struct session *s = r->s;
    char best[UNITS_CAP];
    struct xl__str text = {0};
    xl__str_printf(&text, "%s: ", r->name);
    if (p->now)
        xl__str_printf(&text, "%u of %u", p->n_tried, p->n_candidates);
    else
        xl__str_add(&text, session_interrupted()
                               ? "timing the best again; Ctrl-C ends at once"
                               : "timing the best again");
    if (p->n_lost > 0)
        xl__str_printf(&text, ", %u lost", p->n_lost);
    if (p->best) {
        units_time(best, sizeof best, p->best_ns);
        xl__str_printf(&text, ", best %s", best);
    }
    s->progress.left_s = p->left_s + r->others_s;
    progress_update(s, r->i, xl__str_text(&text));
    bool is_asked_to_end = !p->now && session_interrupted();
    if (is_asked_to_end ||
        (!s->progress.enabled && seconds_since(r->reported_ns) >= say_every_s))
        report_progress(r, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- candidates ------------------------------------------------------------
 */

static void record_attempt(struct search *r, const xl_candidate *c,
                           const xl_candidate_result *t)
{
    struct tune_result *out = r->out;
    struct xl__str text = {0};
    if (xl__grow(&out->attempts, &out->cap, out->n_attempts + 1,
                 sizeof *out->attempts))
        out->attempts[out->n_attempts++] = (struct tune_attempt){*c, *t};
    if (t->end == XL_CANDIDATE_RIGHT || t->end == XL_CANDIDATE_SLOW ||
        t->end == XL_CANDIDATE_REFUSED)
        return;
    xl__str_printf(&text, "%s: lost, %s: %s %s: %s", r->name,
                   xl_candidate_end_name(t->end), c->variant, c->tunables, t->why);
    report_progress(r, xl__str_text(&text));
    xl__str_clear(&text);
}

static xl_status try_candidate(void *arg, const xl_candidate *c,
                               double limit_ns, xl_candidate_result *out)
{
    struct search *r = arg;
    xl_status status = tune_worker_run(&r->worker, c, limit_ns, out);
    if (status == XL_OK)
        record_attempt(r, c, out);
    return status;
}

static bool must_stop(void *arg)
{
    const struct search *r = arg;
    const size_t most = r->s->set.tries;
    return session_stopped(r->s) || (most > 0 && r->out->n_attempts >= most);
}

/* -- the journal ----------------------------------------------------------- */

/* Append a text with other characters than letters and digits replaced. */
static void add_file_name(struct xl__str *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (; *text; text++)
        xl__str_add_n(out, strchr(plain, *text) ? text : "_", 1);
}

/* The name of the journal. Its parts are shortened and simplified; a hash of
 * the full texts makes it unique. */
static void journal_name(const struct search *r, xl_device *dev,
                         struct xl__str *out)
{
    enum { MOST_DEVICE = 32 };
    const struct tune_class *c = r->worker.of;
    struct xl__str all = {0}, device = {0};
    static const char *const facts[] = {"name", "platform", "uuid", "pci"};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        xl__str_printf(&all, "%s\n", device_fact_text(dev, facts[i], ""));
    xl__str_printf(&all, "%s\n%s\n", r->name, c->variant ? c->variant : "");
    xl__str_add_n(&device, device_fact_text(dev, "name", "device"),
                  xl__min_size(MOST_DEVICE,
                               strlen(device_fact_text(dev, "name",
                                                       "device"))));
    add_file_name(out, xl__str_text(&device));
    xl__str_printf(out, "-%s-", c->op->name);
    add_file_name(out, r->name);
    xl__str_printf(out, "-%08x.journal",
                   (unsigned)xl__hash64(xl__str_text(&all), all.len));
    xl__str_clear(&all);
    xl__str_clear(&device);
}

/* The path of the journal, in a folder that exists; free() it. NULL, after a
 * warning: a killed search starts again from the beginning. */
static char *journal_path(const struct search *r, xl_device *dev)
{
    struct xl__str name = {0}, text = {0};
    const char *cache = xl_cache_dir(r->s->lib), *why = "out of memory";
    char *own = cache ? NULL : xl__user_cache_dir("crosslane");
    char *folder = cache || own ? xl__path_join(cache ? cache : own, "tune")
                                : NULL;
    char *path = NULL;
    journal_name(r, dev, &name);
    if (folder && !name.broken && xl__dir_create(folder, &why) == XL_OK)
        path = xl__path_join(folder, xl__str_text(&name));
    if (!path && !r->s->set.quiet) {
        xl__str_printf(&text, "%s: %s; a search that is killed will begin "
                              "anew", folder ? folder : "no folder for a "
                              "journal", why);
        session_message(r->s, "warning: ", xl__str_text(&text));
    }
    xl__str_clear(&name);
    xl__str_clear(&text);
    free(own);
    free(folder);
    return path;
}

/* -- saving ---------------------------------------------------------------- */

/* The search for the file of an entry. */
struct entry_file {
    const struct tune_result *r;
    char *file;
};

/* Find the file of the entry that was just saved. */
static void find_entry(const xl_tuned_entry *e, void *arg)
{
    struct entry_file *at = arg;
    bool is_it = strcmp(e->op, at->r->of->op->name) == 0 &&
                 strcmp(e->shape_class, at->r->found.shape_class) == 0 &&
                 strcmp(e->variant, at->r->found.best.variant) == 0 &&
                 strcmp(e->tunables, at->r->found.best.tunables) == 0;
    if (is_it && !at->file)
        at->file = xl__strdup(e->origin);
}

static int save_result(struct session *s, xl_queue *q, struct tune_result *r)
{
    struct entry_file at = {r, NULL};
    const char *path = s->set.output;
    xl_status status = xl_tuned_save(q, tune_class_problem(r->of),
                                     &r->found, path);
    if (status != XL_OK)
        return session_fail(s, path ? path : "saving what was found", status,
                            xl_error_detail(q));
    r->is_saved = true;
    if (path)
        at.file = xl__strdup(path);
    else
        (void)xl_tuned_list(q, find_entry, &at);
    r->file = at.file;
    return EXIT_FINE;
}

/* -- one class ------------------------------------------------------------- */

static void describe_found(const struct search *r, struct xl__str *text)
{
    const xl_tuned *f = &r->out->found;
    char time[UNITS_CAP];
    units_time(time, sizeof time, f->best_ns);
    xl__str_printf(text, "%s: %s, %s", r->name, f->best.variant, time);
    if (f->gain > 0)
        xl__str_printf(text, ", %.2fx the model's choice", f->gain);
}

/* Save and report the result of a search, by its status. */
static int finish_search(struct search *r, xl_queue *q)
{
    struct tune_result *out = r->out;
    struct xl__str text = {0};
    int code = EXIT_FINE;
    switch (out->status) {
    case XL_OK:
        code = save_result(r->s, q, out);
        describe_found(r, &text);
        break;
    case XL_CANCELLED:
        xl__str_printf(&text, "%s: the time was over before a candidate was "
                              "right%s", r->name,
                       session_interrupted() ? "" : "; give a larger "
                       "--budget: what was tried is not tried again");
        break;
    case XL_UNSUPPORTED:
        xl__str_printf(&text, "%s: no candidate is right on this device",
                       r->name);
        if (*xl_error_detail(q))
            xl__str_printf(&text, ": %s", xl_error_detail(q));
        r->s->n_errors++;
        break;
    default:
        code = session_fail(r->s, r->name, out->status, xl_error_detail(q));
    }
    if (text.len > 0)
        report_progress(r, xl__str_text(&text));
    xl__str_clear(&text);
    return code;
}

int tune_search(struct session *s, xl_queue *q, const struct tune_classes *all,
                unsigned i, const struct tune_share *share,
                struct tune_result *out)
{
    const struct tune_class *c = &all->list[i];
    struct search r = {.s = s, .i = i, .n = all->n, .out = out,
                       .others_s = share->others_s,
                       .worker = {.s = s, .of = c, .q = q}};
    *out = (struct tune_result){.of = c};
    tune_class_text(c, true, r.name, sizeof r.name);
    char *journal = journal_path(&r, xl_queue_device(q));
    const double search_s = fmax(share->own_s - final_s,
                                 share->own_s * (1 - final_frac));
    const xl_tuning how = {XL_TUNING_INIT,
                           .budget_s = search_s,
                           .run_candidate = try_candidate,
                           .progress = on_progress,
                           .stop = must_stop,
                           .arg = &r,
                           .journal = journal};
    uint64_t start_ns = xl__now_ns();
    out->status = xl_tune(q, tune_class_problem(c), &how, &out->found);
    out->took_s = seconds_since(start_ns);
    tune_worker_clear(&r.worker);
    int code = finish_search(&r, q);
    if (out->is_saved && out->found.is_complete && journal)
        (void)xl__file_remove(journal);
    free(journal);
    return code;
}

static xl_status record_only(void *arg, const xl_candidate *c, double limit_ns,
                             xl_candidate_result *out)
{
    struct search *r = arg;
    (void)limit_ns;
    *out = (xl_candidate_result){.end = XL_CANDIDATE_REFUSED,
                      .median_ns = NAN,
                      .mad_ns = NAN,
                      .why = "not tried"};
    record_attempt(r, c, out);
    return XL_OK;
}

int tune_dry_run(struct session *s, xl_queue *q, const struct tune_class *c,
                 struct tune_result *out)
{
    struct search r = {.s = s, .out = out};
    const xl_tuning how = {XL_TUNING_INIT, .run_candidate = record_only,
                           .arg = &r};
    *out = (struct tune_result){.of = c};
    tune_class_text(c, true, r.name, sizeof r.name);
    out->status = xl_tune(q, tune_class_problem(c), &how, &out->found);
    if (out->status == XL_OK || out->n_attempts > 0)
        return EXIT_FINE;
    return session_fail(s, r.name, out->status, xl_error_detail(q));
}

void tune_result_clear(struct tune_result *r)
{
    free(r->attempts);
    free(r->file);
    *r = (struct tune_result){.of = NULL};
}
