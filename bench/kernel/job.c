/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of `clbench kernel`, and evaluates its formulas for
 * each combination of sizes and -D before anything runs, so that a mistake in
 * one is a usage error. */
#include "kernel/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"

static bool fail_memory(struct xl__str *why)
{
    return formula_refuse(why, "out of memory");
}

/* -- files ---------------------------------------------------------------- */

static bool read_launch(const char *option, const char *text,
                        struct launch_text *out, struct xl__str *why)
{
    while (text) {
        const size_t len = formula_item(text);
        if (out->n == KERNEL_DIMS)
            return formula_refuse(why, "%s has more than %d dimensions",
                                  option, KERNEL_DIMS);
        out->dim[out->n] = xl__calloc(len + 1, 1);
        if (!out->dim[out->n])
            return fail_memory(why);
        memcpy(out->dim[out->n++], text, len);
        text = text[len] ? text + len + 1 : NULL;
    }
    return true;
}

/* Cut "FILE.cl:KERNEL@GLOBAL@LOCAL". A name follows the last colon, so that a
 * path may have others. */
static bool read_source(const char *option, const char *text,
                        struct kernel_source *out, struct xl__str *why)
{
    out->path = xl__strdup(text);
    if (!out->path)
        return fail_memory(why);
    char *global = strchr(out->path, '@'), *local = NULL;
    if (global)
        *global++ = '\0';
    if (global)
        local = strchr(global, '@');
    if (local)
        *local++ = '\0';
    char *colon = strrchr(out->path, ':');
    if (colon && formula_is_name(colon + 1, strlen(colon + 1))) {
        *colon = '\0';
        out->kernel = xl__strdup(colon + 1);
        if (!out->kernel)
            return fail_memory(why);
    }
    if (!read_launch(option, global, &out->global, why) ||
        !read_launch(option, local, &out->local, why))
        return false;
    if (xl__file_read(out->path, &out->text, &out->len) != XL_OK)
        return formula_refuse(why, "%s '%s': %s; must be a file of OpenCL C",
                              option, out->path, strerror(errno));
    return true;
}

static bool read_sources(const struct settings *set, struct kernel_job *job,
                         struct xl__str *why)
{
    struct kernel_source *tested = &job->source[SOURCE_TESTED];
    const struct kernel_settings *k = &set->kernel;
    if (!read_source("FILE", set->words[0], tested, why) ||
        (k->against && !read_source("--against", k->against,
                                    &job->source[SOURCE_AGAINST], why)) ||
        (k->check &&
         !read_source("--check", k->check, &job->source[SOURCE_CHECK], why)))
        return false;
    if (k->name) {
        free(tested->kernel);
        tested->kernel = xl__strdup(k->name);
        if (!tested->kernel)
            return fail_memory(why);
    }
    if (set->list)
        return true;
    if (tested->global.n == 0 &&
        !read_launch("--global", k->global, &tested->global, why))
        return false;
    if (tested->global.n == 0)
        return formula_refuse(
            why, "missing --global: the work-items of the launch, "
                 "such as --global N");
    return tested->local.n > 0 ||
           read_launch("--local", k->local, &tested->local, why);
}

/* -- arguments ------------------------------------------------------------ */

static bool read_arguments(const struct settings *set, struct kernel_job *job,
                           struct xl__str *why)
{
    const struct option_list *list = &set->kernel.args;
    unsigned n_buffers = 0;
    for (unsigned i = 0; i < list->n; i++) {
        if (i == KERNEL_ARGS_MOST)
            return formula_refuse(why, "more than %d arguments",
                                  KERNEL_ARGS_MOST);
        struct argument *a = &job->arg[job->n_args++];
        if (!argument_read(list->value[i], a, why))
            return false;
        n_buffers += argument_is_buffer(a);
    }
    if (n_buffers > BENCH_BUFFERS)
        return formula_refuse(why, "%u buffers; at most %d", n_buffers,
                              BENCH_BUFFERS);
    return true;
}

/* -- variants ------------------------------------------------------------- */

/* "TILE=16 T=float", and the file where two are timed. */
static bool add_label(struct kernel_job *job, unsigned i)
{
    struct xl__str text = {0};
    for (unsigned k = 0; k < job->defines.n; k++)
        xl__str_printf(&text, "%s%s=%s", k ? " " : "", job->defines.at[k].name,
                       axes_value(&job->defines, i / job->n_timed, k));
    if (job->n_timed > 1 || text.len == 0)
        xl__str_printf(&text, "%s%s", text.len ? ", " : "",
                       i % job->n_timed ? "against" : "tested");
    job->label[i] = xl__str_steal(&text);
    return job->label[i] != NULL;
}

static bool read_variants(const struct settings *set, struct kernel_job *job,
                          struct xl__str *why)
{
    if (!axes_read(&set->kernel.sizes, &job->sizes, why) ||
        !axes_read(&set->kernel.defines, &job->defines, why))
        return false;
    job->n_timed = set->kernel.against ? 2 : 1;
    job->n_cases = axes_combinations(&job->sizes, KERNEL_CASES_MOST);
    if (job->n_cases > KERNEL_CASES_MOST)
        return formula_refuse(why,
                              "more than %d combinations of sizes; give fewer "
                              "values",
                              KERNEL_CASES_MOST);
    const unsigned most = BENCH_MAX_CHOICES / job->n_timed;
    job->n_defines = axes_combinations(&job->defines, most);
    if (job->n_defines > most)
        return formula_refuse(
            why,
            "more than %u combinations of -D; give fewer values, "
            "and the others in a second run",
            most);
    for (unsigned i = 0; i < job->n_defines * job->n_timed; i++)
        if (!add_label(job, i))
            return fail_memory(why);
    return true;
}

unsigned kernel_job_variant(const struct kernel_job *job, const char *label)
{
    unsigned i = 0;
    while (job->label[i] && strcmp(job->label[i], label) != 0)
        i++;
    return i;
}

/* -- formulas ------------------------------------------------------------- */

bool kernel_case_read(struct kernel_job *job, unsigned i,
                      struct kernel_case *out, struct xl__str *why)
{
    memset(out, 0, sizeof *out);
    out->job = job;
    if (!axes_bind_sizes(&job->sizes, i, &out->sizes, why))
        return false;
    struct bindings names = out->sizes;
    if (!axes_bind_constants(&job->defines, &names, why))
        return false;
    for (unsigned k = 0; k < job->n_args; k++)
        if (argument_is_buffer(&job->arg[k]) &&
            (!argument_length(&job->arg[k], &names, &out->elems[k], why) ||
             !argument_limit(&job->arg[k], &names, &out->below[k], why)))
            return false;
    return true;
}

/* A formula of an option, which must be at least `least`. */
static bool read_formula(const char *option, const char *text,
                         const struct bindings *names, int64_t least,
                         int64_t *out, struct xl__str *why)
{
    struct xl__str formula = {0};
    const bool is_read = formula_value(text, names, out, &formula);
    if (!is_read)
        formula_refuse(why, "%s: %s", option, xl__str_text(&formula));
    xl__str_clear(&formula);
    if (is_read && *out < least)
        return formula_refuse(
            why, "%s: '%s' is %" PRId64 "; must be %" PRId64 " or more",
            option, text, *out, least);
    return is_read;
}

static bool read_dims(const char *option, const struct launch_text *text,
                      const struct bindings *names, size_t *out,
                      struct xl__str *why)
{
    for (unsigned i = 0; i < text->n; i++) {
        int64_t value;
        if (!read_formula(option, text->dim[i], names, 1, &value, why))
            return false;
        out[i] = (size_t)value;
    }
    return true;
}

/* A launch whose groups do not divide it needs OpenCL C 2.0 or later. */
static bool may_be_uneven(const struct settings *set)
{
    const char *options = set->kernel.options ? set->kernel.options : "";
    return strstr(options, "-cl-std=CL2") || strstr(options, "-cl-std=CL3");
}

static bool check_launch(const struct kernel_case *c,
                         const struct kernel_source *source,
                         const struct kernel_plan *p, struct xl__str *why)
{
    if (source->local.n > 0 && source->local.n != p->dims)
        return formula_refuse(
            why,
            "%s: --local has %u of the %u dimensions of --global; "
            "give as many",
            source->path, source->local.n, p->dims);
    for (unsigned i = 0; i < source->local.n; i++)
        if (p->global[i] % p->local[i] != 0 && !may_be_uneven(&c->job->s->set))
            return formula_refuse(
                why,
                "%s: the work-group %zu does not divide the "
                "launch %zu in dimension %u; use 'round_up(%s, "
                "%s)' and a bound in the kernel",
                source->path, p->local[i], p->global[i], i,
                source->global.dim[i], source->local.dim[i]);
    return true;
}

static bool read_launch_values(const struct kernel_case *c,
                               const struct kernel_source *source,
                               struct kernel_plan *out, struct xl__str *why)
{
    const struct kernel_source *tested = &c->job->source[SOURCE_TESTED];
    /* Another file has the launch of the tested one, if it gives none. */
    struct kernel_source used = *source;
    if (used.global.n == 0) {
        used.global = tested->global;
        used.local = tested->local;
    }
    out->dims = used.global.n;
    return read_dims("--global", &used.global, &out->names, out->global,
                     why) &&
           read_dims("--local", &used.local, &out->names, out->local, why) &&
           check_launch(c, &used, out, why);
}

static bool read_counts(const struct kernel_case *c, struct kernel_plan *out,
                        struct xl__str *why)
{
    const struct kernel_settings *k = &c->job->s->set.kernel;
    int64_t flop = 0, bytes = 0;
    if ((k->flop &&
         !read_formula("--flop", k->flop, &out->names, 1, &flop, why)) ||
        (k->bytes &&
         !read_formula("--bytes", k->bytes, &out->names, 1, &bytes, why)))
        return false;
    out->flop = (double)flop;
    out->moved_bytes = (double)bytes;
    return true;
}

bool kernel_plan_read(const struct kernel_case *c, unsigned defines,
                      const struct kernel_source *source,
                      struct kernel_plan *out, struct xl__str *why)
{
    const struct kernel_job *job = c->job;
    memset(out, 0, sizeof *out);
    out->names = c->sizes;
    if (!axes_bind_defines(&job->defines, defines, &out->names, why) ||
        !read_launch_values(c, source, out, why) || !read_counts(c, out, why))
        return false;
    for (unsigned i = 0; i < job->n_args; i++) {
        const struct argument *a = &job->arg[i];
        if (a->role == ARG_SCALAR &&
            !argument_scalar(a, &out->names, out->scalar[i], &out->bytes[i],
                             why))
            return false;
        if (a->role != ARG_LOCAL)
            continue;
        if (!argument_length(a, &out->names, &out->bytes[i], why))
            return false;
        out->bytes[i] *= a->element->bytes;
    }
    return true;
}

/* -- the whole ------------------------------------------------------------ */

static bool try_formulas(struct kernel_job *job, struct xl__str *why)
{
    struct kernel_case *c = xl__calloc(1, sizeof *c);
    struct kernel_plan *plan = xl__calloc(1, sizeof *plan);
    bool is_right = c && plan;
    for (unsigned i = 0; is_right && i < job->n_cases; i++) {
        is_right = kernel_case_read(job, i, c, why);
        for (unsigned d = 0; is_right && d < job->n_defines; d++)
            for (unsigned k = 0; is_right && k < N_SOURCES; k++)
                is_right = !job->source[k].path ||
                           kernel_plan_read(c, d, &job->source[k], plan, why);
    }
    if (!c || !plan)
        fail_memory(why);
    free(c);
    free(plan);
    return is_right;
}

bool kernel_job_read(struct session *s, struct kernel_job *out,
                     struct xl__str *why)
{
    memset(out, 0, sizeof *out);
    out->s = s;
    return read_variants(&s->set, out, why) &&
           read_arguments(&s->set, out, why) &&
           read_sources(&s->set, out, why) &&
           (s->set.list || try_formulas(out, why));
}

static void clear_launch(struct launch_text *text)
{
    for (unsigned i = 0; i < text->n; i++)
        free(text->dim[i]);
}

void kernel_job_clear(struct kernel_job *job)
{
    for (unsigned i = 0; i < N_SOURCES; i++) {
        struct kernel_source *source = &job->source[i];
        free(source->path);
        free(source->kernel);
        free(source->text);
        clear_launch(&source->global);
        clear_launch(&source->local);
    }
    for (unsigned i = 0; i < job->n_args; i++)
        argument_clear(&job->arg[i]);
    for (unsigned i = 0; job->label[i]; i++)
        free(job->label[i]);
    xl__str_clear(&job->title);
    xl__str_clear(&job->note);
    axes_clear(&job->sizes);
    axes_clear(&job->defines);
}
