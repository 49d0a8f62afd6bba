/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of the user as a timed op. Its rows count what --flop and --bytes
 * say; without them a row has its time only. */
#include "kernel/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/check.h"
#include "kernel/program.h"
#include "results/json.h"

/* -- the case as buffers and a row ---------------------------------------- */

/* The argument of buffer `buffer`. */
static unsigned find_argument(const struct kernel_job *job, unsigned buffer)
{
    unsigned i = 0;
    while (!argument_is_buffer(&job->arg[i]) || buffer-- > 0)
        i++;
    return i;
}

/* Integers as bytes: elements that were not written are looked for in floats
 * only. */
static void layout_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct kernel_case *c = arg;
    unsigned n = 0;
    for (unsigned i = 0; i < c->job->n_args; i++) {
        const struct argument *a = &c->job->arg[i];
        const bool is_float =
            argument_is_buffer(a) && a->element->kind == ELEMENT_FLOAT;
        if (!argument_is_buffer(a))
            continue;
        buffers[n++] = (struct bench_buffer){
            .elems = c->elems[i] * (is_float ? 1 : a->element->bytes),
            .dtype = is_float ? a->element->dtype : XL_U8,
            .is_input = a->role != ARG_OUT,
            .is_result = a->role != ARG_IN,
            .has_gaps = argument_stored_width(a) != a->width,
            .is_guarded = true};
    }
}

static void fill_buffer(const void *arg, unsigned buffer, void *host,
                        struct xl__rng *rng)
{
    const struct kernel_case *c = arg;
    const unsigned i = find_argument(c->job, buffer);
    argument_fill(&c->job->arg[i], c->below[i], host, c->elems[i], rng);
}

/* The type of the first result that is of floats. */
static xl_dtype find_dtype(const struct kernel_job *job)
{
    for (unsigned i = 0; i < job->n_args; i++) {
        const struct argument *a = &job->arg[i];
        if (argument_is_buffer(a) && a->role != ARG_IN &&
            a->element->kind == ELEMENT_FLOAT)
            return a->element->dtype;
    }
    return XL_N_DTYPES;
}

static void describe_case(const void *arg, xl_row *row)
{
    const struct kernel_case *c = arg;
    const struct kernel_settings *set = &c->job->s->set.kernel;
    row->dtype = find_dtype(c->job);
    row->unit = set->flop ? "flop/s" : set->bytes ? "B/s" : "s";
    for (unsigned i = 0; i < c->sizes.n; i++)
        xl_row_shape(row, c->sizes.at[i].name, (double)c->sizes.at[i].value);
}

/* The last part of a path. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The kernel's name; the file's where only that differs. */
static const char *name_variant(const struct kernel_job *job, unsigned file)
{
    const struct kernel_source *source = &job->source[file];
    const struct kernel_source *other = &job->source[1 - file];
    const bool is_same =
        other->path && xl__streq(source->kernel, other->kernel);
    return source->kernel && !is_same ? source->kernel
                                      : base_name(source->path);
}

/* A name of a parameter has little room: of a long one its ends are kept. */
static void shorten_name(char *out, size_t cap, const char *name)
{
    const size_t len = strlen(name), half = (cap - 3) / 2;
    if (len < cap)
        memcpy(out, name, len + 1);
    else
        xl__strfmt(out, cap, "%.*s..%s", (int)half, name, name + len - half);
}

static unsigned variant_of(const struct case_run *w)
{
    const struct kernel_case *c = w->c;
    return kernel_job_variant(c->job, w->variant);
}

static void describe_variant(const struct case_run *w, xl_row *row)
{
    const struct kernel_case *c = w->c;
    const struct kernel_job *job = c->job;
    const unsigned i = variant_of(w);
    char name[sizeof row->params[0].name];
    static const struct bindings none = {.n = 0};
    xl__strcpy(row->variant, sizeof row->variant,
               name_variant(job, i % job->n_timed));
    for (unsigned k = 0; k < job->defines.n; k++) {
        const char *value = axes_value(&job->defines, i / job->n_timed, k);
        struct xl__str ignored = {0};
        int64_t number;
        shorten_name(name, sizeof name, job->defines.at[k].name);
        if (formula_value(value, &none, &number, &ignored))
            xl_row_param(row, name, (double)number);
        else
            xl_row_param_text(row, name, value);
        xl__str_clear(&ignored);
    }
}

/* -- running -------------------------------------------------------------- */

/* A variant on a device. */
struct running {
    struct kernel_plan plan, check_plan;
    struct kernel_program program, check;
    bool is_checked;
};

/* Print a build log, the first few, and add it to the result file. */
static void report_log(const struct case_run *w,
                       const struct kernel_program *p)
{
    enum { PRINTED = 3 };
    const struct kernel_case *c = w->c;
    struct kernel_job *job = c->job;
    if (!p->log || !*p->log)
        return;
    json_t *entry = json_object();
    json_put(entry, "variant", json_text(w->variant));
    json_put(entry, "log", json_lines(p->log));
    json_add(json_object_get(json_object_get(job->s->extra, "kernel"),
                             "build_logs"),
             entry);
    struct xl__str before = {0};
    xl__str_printf(&before, "build log of %s:\n", w->variant);
    if (job->n_logs++ < PRINTED)
        session_message(job->s, xl__str_text(&before), p->log);
    xl__str_clear(&before);
}

static xl_status open_source(xl_queue *q, struct case_run *w, unsigned file,
                             struct kernel_plan *plan,
                             struct kernel_program *p, struct xl__str *why)
{
    const struct kernel_case *c = w->c;
    const struct kernel_source *source = &c->job->source[file];
    const unsigned defines = variant_of(w) / c->job->n_timed;
    xl_status status = XL_OK;
    if (!kernel_plan_read(c, defines, source, plan, why))
        return XL_BAD_ARGUMENT;
    status = kernel_program_open(q, c->job, source, defines, p, why);
    if (status == XL_BUILD_FAILED)
        report_log(w, p);
    if (status == XL_OK)
        status = kernel_program_bind(q, p, c->job, plan, w->data->mem, why);
    return status;
}

static xl_status open_kernel(xl_queue *q, struct case_run *w)
{
    const struct kernel_case *c = w->c;
    struct xl__str why = {0};
    struct running *r = xl__calloc(1, sizeof *r);
    w->state = r;
    if (!r)
        return XL_NO_MEMORY;
    xl_status status = open_source(q, w, variant_of(w) % c->job->n_timed,
                                   &r->plan, &r->program, &why);
    r->is_checked = c->job->source[SOURCE_CHECK].path != NULL;
    if (status == XL_OK && r->is_checked)
        status =
            open_source(q, w, SOURCE_CHECK, &r->check_plan, &r->check, &why);
    xl__strcpy(w->why, sizeof w->why, xl__str_text(&why));
    xl__str_clear(&why);
    return status;
}

static void close_kernel(struct case_run *w)
{
    struct running *r = w->state;
    if (r) {
        kernel_program_close(&r->program);
        kernel_program_close(&r->check);
    }
    free(r);
    w->state = NULL;
}

static xl_status run_kernel(xl_queue *q, const struct case_run *w)
{
    const struct running *r = w->state;
    return kernel_program_run(q, &r->program, &r->plan);
}

static xl_status explain_kernel(xl_queue *q, const struct case_run *w,
                                xl_choice *out, unsigned *n)
{
    const struct running *r = w->state;
    const struct kernel_case *c = w->c;
    const unsigned file = variant_of(w) % c->job->n_timed;
    *n = 1;
    out->chosen = true;
    xl__strcpy(out->variant, sizeof out->variant, name_variant(c->job, file));
    out->est_ns = NAN;
    out->flop = r->plan.flop;
    out->bytes = r->plan.moved_bytes;
    out->n_steps = 1;
    for (unsigned i = 0; i < KERNEL_DIMS; i++) {
        const bool is_used = i < r->plan.dims && r->plan.local[0] > 0;
        out->wg[i] = is_used ? r->plan.local[i] : r->plan.local[0] > 0;
        out->global[i] = is_used ? r->plan.global[i] : 1;
    }
    out->on = (xl_flop){.engine = XL_ENGINE_FMA, .dtype = XL_F32};
    kernel_program_use(q, &r->program, out);
    return XL_OK;
}

static void set_counts(const void *c, const xl_device *dev,
                       const xl_choice *choice, xl_row *row)
{
    (void)c;
    (void)dev;
    row->flop = choice->flop;
    row->bytes = choice->bytes;
}

/* Arithmetic that is of no float type counts as that of f32. */
static void set_type(const void *c, const xl_choice *choice, xl_counts *work)
{
    (void)c;
    (void)choice;
    if (work->flop[0].dtype == XL_N_DTYPES)
        work->flop[0].dtype = XL_F32;
}

/* The higher one of the rates of a copy and of reading, since the directions
 * of the bytes are not known; no roof where nothing is counted. */
static struct bench_roof find_roof(const void *c, const xl_device *dev,
                                   const xl_row *row)
{
    static const char read[] = "read_bytes_per_s", copy[] = "copy_bytes_per_s";
    (void)c;
    if (!(row->flop > 0 || row->bytes > 0))
        return (struct bench_roof){NULL, "", false};
    const double copied = kernel_device_fact(dev, copy);
    if (isnan(copied) || kernel_device_fact(dev, read) > copied)
        return (struct bench_roof){read, "read", true};
    return (struct bench_roof){copy, "copy", true};
}

static xl_status check_kernel(xl_queue *q, const struct case_run *w,
                              struct check_result *out)
{
    const struct running *r = w->state;
    const struct kernel_reference reference = {&r->check, &r->check_plan};
    return kernel_check(q, w->c, w->data, r->is_checked ? &reference : NULL,
                        out);
}

/* The time of each row over that of the fastest one of the case. */
static void add_times_of_best(xl_row *const *rows, unsigned n)
{
    double least = INFINITY;
    for (unsigned i = 0; i < n; i++)
        least = fmin(least, rows[i]->samples.median_ns);
    for (unsigned i = 0; n > 1 && i < n; i++)
        xl_row_found(rows[i], "of_best", rows[i]->samples.median_ns / least);
}

static void add_name(struct xl__str *out, const struct kernel_source *source)
{
    xl__str_add(out, base_name(source->path));
    if (source->kernel)
        xl__str_printf(out, ":%s", source->kernel);
}

static void make_title(struct kernel_job *job)
{
    xl__str_reset(&job->title);
    xl__str_add(&job->title, "Kernel ");
    add_name(&job->title, &job->source[SOURCE_TESTED]);
    if (job->source[SOURCE_AGAINST].path) {
        xl__str_add(&job->title, " against ");
        add_name(&job->title, &job->source[SOURCE_AGAINST]);
    }
}

/* The axes of cases, in the order in which rows have them. */
static void add_axes(struct xl__str *out, const struct axes *axes)
{
    for (unsigned k = 0; k < axes->n; k++)
        if (axes->at[k].n > 1)
            xl__str_printf(out, "%s%s", out->len ? ", " : "",
                           axes->at[k].name);
}

static void add_sentence(struct xl__str *out, const char *text)
{
    xl__str_printf(out, "%s%s", out->len ? "; " : "", text);
}

/* What the rows do not have: sizes that are the same in all, the order of the
 * axes, and what was not asked for. */
static void make_note(struct kernel_job *job)
{
    const struct kernel_settings *set = &job->s->set.kernel;
    struct xl__str axes = {0}, *note = &job->note;
    xl__str_reset(note);
    add_axes(&axes, &job->sizes);
    add_axes(&axes, &job->defines);
    for (unsigned k = 0; axes.len > 0 && k < job->sizes.n; k++)
        if (job->sizes.at[k].n == 1)
            xl__str_printf(note, "%s%s=%s", note->len ? ", " : "",
                           job->sizes.at[k].name, job->sizes.at[k].value[0]);
    if (strchr(xl__str_text(&axes), ',')) {
        add_sentence(note, "a case is ");
        xl__str_add(note, xl__str_text(&axes));
    }
    if (!set->flop && !set->bytes)
        add_sentence(note, "no roof, since nothing is counted: give --bytes, "
                           "--flop");
    if (!set->check)
        add_sentence(note, "results are not compared: give --check");
    xl__str_clear(&axes);
}

struct bench_op kernel_op(struct kernel_job *job)
{
    make_title(job);
    make_note(job);
    return (struct bench_op){
        .name = "kernel",
        .title = xl__str_text(&job->title),
        .kind = ROWS_OF_KERNELS,
        .note = job->note.len > 0 ? xl__str_text(&job->note) : NULL,
        .case_bytes = sizeof(struct kernel_case),
        .variants = (const char *const *)job->label,
        .runs_all = true,
        .layout = layout_buffers,
        .fill = fill_buffer,
        .describe = describe_case,
        .describe_variant = describe_variant,
        .open = open_kernel,
        .close = close_kernel,
        .run = run_kernel,
        .explain = explain_kernel,
        .chosen = set_counts,
        .count = set_type,
        .roof = find_roof,
        .check = check_kernel,
        .relate = add_times_of_best,
    };
}
