/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench expr`: a text of the user's or the case table, fused and unfused,
 * timed in turns; or what would run, explained. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "commands/expr_explain.h"
#include "commands/expr_list.h"
#include "cases/expr_scan.h"
#include "results/json.h"
#include "cli/console.h"

/* -- the text ------------------------------------------------------------- */

/* The word itself, or what is in the file that @ names; free() it. */
static char *read_text(const char *word)
{
    struct xl__str text = {0};
    if (*word != '@')
        return xl__strdup(word);
    FILE *f = strcmp(word, "@-") == 0 ? stdin : fopen(word + 1, "rb");
    if (!f) {
        fprintf(stderr, "clbench: '%s' cannot be read; give a file with the "
                        "expression's text\n", word + 1);
        return NULL;
    }
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0 &&
           text.len <= XL_EXPR_MAX_TEXT)
        xl__str_add_n(&text, part, n);
    if (f != stdin)
        fclose(f);
    return text.len > 0 ? xl__str_steal(&text) : xl__strdup("");
}

/* -- what its names are --------------------------------------------------- */

static bool refuse(const char *fmt, ...) XL__PRINTF(1, 2);

static bool refuse(const char *fmt, ...)
{
    struct xl__str raw = {0}, clean = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&raw, fmt, args);
    va_end(args);
    text_escape(&clean, xl__str_text(&raw));
    fprintf(stderr, "clbench: %s (see 'clbench expr --help')\n",
            xl__str_text(&clean));
    xl__str_clear(&raw);
    xl__str_clear(&clean);
    return false;
}

static bool read_list(const struct option_list *list, const char *option,
                      bool (*read)(struct expr_spec *s, const char *text,
                                   char *why),
                      struct expr_spec *s)
{
    char why[EXPR_WHY_CAP];
    for (unsigned i = 0; i < list->n; i++)
        if (!read(s, list->value[i], why))
            return refuse("--%s: %s", option, why);
    return true;
}

static struct expr_name *need(struct expr_spec *s, const char *name)
{
    struct expr_name *n = expr_need(s, name, strlen(name));
    if (!n)
        refuse("more than %d names", XL_EXPR_MAX_BINDINGS);
    return n;
}

/* Names that are read are inputs; names that are assigned are outputs if they
 * have a shape, were read before, or nobody reads them afterwards. The rest
 * are temporaries. */
static bool see_names(struct expr_spec *s)
{
    struct expr_scan seen;
    expr_scan(s->text, &seen);
    for (unsigned i = 0; i < seen.n; i++) {
        const struct expr_seen *name = &seen.name[i];
        struct expr_name *n =
            expr_find(s, name->name, strlen(name->name));
        const bool is_bound = n || name->is_read_first;
        if (!is_bound && name->is_read_later)
            continue;
        n = need(s, name->name);
        if (!n)
            return false;
        n->is_input = name->is_read_first;
        n->is_result = name->is_assigned;
        if (name->is_assigned && !name->is_whole && !n->has_shape)
            return refuse("only parts of '%s' are assigned, so its size is "
                          "not known; give --shape %s=4096x4096",
                          n->name, n->name);
    }
    for (unsigned k = 0; k < s->n; k++)
        if (!s->name[k].is_input && !s->name[k].is_result)
            return refuse("'%s' is given, and the expression does not use it",
                          s->name[k].name);
    return true;
}

/* The first shape that was given stands for those that were not. */
static bool complete_inputs(struct expr_spec *s, xl_dtype dtype)
{
    const struct expr_name *first = NULL;
    for (unsigned k = 0; k < s->n; k++) {
        struct expr_name *n = &s->name[k];
        if (!first && n->has_shape)
            first = n;
        if (!n->is_scalar && !n->has_dtype)
            n->dtype = dtype;
    }
    for (unsigned k = 0; k < s->n; k++) {
        struct expr_name *n = &s->name[k];
        if (n->is_scalar || n->has_shape || !n->is_input)
            continue;
        if (!first)
            return refuse("what size is '%s'? give --shape %s=4096x4096, or "
                          "--scalar %s=2",
                          n->name, n->name, n->name);
        n->n_dims = first->n_dims;
        memcpy(n->size, first->size, sizeof n->size);
        n->has_shape = true;
    }
    return true;
}

static bool read_names(const struct settings *set, struct expr_spec *s)
{
    const xl_dtype dtype = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype;
    char why[EXPR_WHY_CAP];
    if (!read_list(&set->shapes, "shape", expr_read_shapes, s) ||
        !read_list(&set->scalars, "scalar", expr_read_scalars, s) ||
        !read_list(&set->ranges, "range", expr_read_ranges, s) ||
        !see_names(s) || !complete_inputs(s, dtype))
        return false;
    return expr_spec_settle(s, why) || refuse("%s", why);
}

/* -- shapes of outputs ---------------------------------------------------- */

/* A mistake in the text: the library's own words, place and caret. */
static int text_is_wrong(struct session *s, const struct expr_spec *spec,
                         xl_status status, const char *detail)
{
    struct xl__str text = {0};
    xl__str_add(&text, *detail ? detail : xl_status_text(status));
    for (unsigned k = 0; status == XL_BAD_SHAPE && k < spec->n; k++) {
        const struct expr_name *n = &spec->name[k];
        if (n->is_result && !n->is_input && n->has_shape && !n->is_found)
            xl__str_printf(&text, "\nwithout its --shape, '%s' has the shape "
                                  "of its value",
                           n->name);
    }
    session_say(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return EXIT_USAGE;
}

/* Ask the library what a result's shape and type are. */
static xl_status ask_result(xl_queue *q, const struct expr_job *job,
                            struct expr_name *n)
{
    xl_status status;
    struct expr_spec known = {.n = 0};
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    xl_expr_args args = {.bindings = bindings, .fast_math = job->fast_math};
    xl_tensor t;
    for (unsigned k = 0; k < job->spec.n; k++)
        if (job->spec.name[k].is_scalar || job->spec.name[k].has_shape)
            known.name[known.n++] = job->spec.name[k];
    expr_bindings(&known, NULL, NULL, bindings);
    args.n_bindings = known.n;
    status = xl_expr_result(q, job->spec.text, &args, n->name, &t);
    if (status != XL_OK)
        return status;
    n->has_shape = n->is_found = true;
    n->n_dims = t.n_dims;
    memcpy(n->size, t.size, sizeof n->size);
    if (!n->has_dtype && t.dtype != XL_F32)
        n->dtype = t.dtype;
    return XL_OK;
}

static int complete_results(struct session *s, struct expr_job *job)
{
    char why[EXPR_WHY_CAP];
    int code = EXIT_FINE;
    xl_queue *q = session_queue(s, s->devices[0]);
    if (!q)
        return EXIT_NO_DEVICE;
    for (unsigned k = 0; k < job->spec.n && code == EXIT_FINE; k++) {
        struct expr_name *n = &job->spec.name[k];
        if (n->is_scalar || n->has_shape)
            continue;
        const xl_status status = ask_result(q, job, n);
        if (status != XL_OK)
            code = text_is_wrong(s, &job->spec, status, xl_error_detail(q));
        else if (!expr_spec_settle(&job->spec, why)) {
            refuse("%s", why);
            code = EXIT_USAGE;
        }
    }
    xl_queue_destroy(q);
    return code;
}

/* -- the command ---------------------------------------------------------- */

/* A mistake is told once, and as one: not as a row of each variant. */
static int try_compile(struct session *s, const struct expr_job *job)
{
    int code = EXIT_FINE;
    xl_expr *e = NULL;
    xl_queue *q = session_queue(s, s->devices[0]);
    if (!q)
        return EXIT_NO_DEVICE;
    const xl_status status = expr_job_compile(q, job, NULL, &e);
    if (status == XL_BAD_ARGUMENT || status == XL_BAD_SHAPE ||
        status == XL_OVERFLOW || status == XL_OVERLAP ||
        status == XL_BAD_SCALAR)
        code = text_is_wrong(s, &job->spec, status, xl_error_detail(q));
    xl_expr_destroy(e);
    xl_queue_destroy(q);
    return code;
}

/* A row has room for a beginning of the text alone: the file has all of it. */
static void add_extra(struct session *s, const struct expr_job *job)
{
    struct xl__str names = {0};
    json_t *out = json_object();
    expr_names_text(&job->spec, &names);
    json_put(out, "text", json_text(job->spec.text));
    json_put(out, "names", json_text(xl__str_text(&names)));
    if (s->set.explain || s->set.source)
        json_put(out, "kernels", json_array());
    xl__str_clear(&names);
    s->extra = json_object();
    json_put(s->extra, "expression", out);
}

static int own_text(struct session *s, struct expr_job *job)
{
    const void *c = job;
    int code;
    job->fast_math = s->set.fast_math;
    if (!read_names(&s->set, &job->spec))
        return EXIT_USAGE;
    code = session_open_devices(s);
    if (code == EXIT_FINE)
        code = complete_results(s, job);
    if (code == EXIT_FINE)
        code = try_compile(s, job);
    if (code != EXIT_FINE)
        return code;
    add_extra(s, job);
    if (s->set.explain || s->set.source)
        return expr_explain(s, job);
    return bench_run(s, &bench_expr, &c, 1, CASES_OF_USER);
}

static int run_text(struct session *s)
{
    struct expr_job *job = xl__calloc(1, sizeof *job);
    char *text = read_text(s->set.words[0]);
    int code = EXIT_FILE;
    if (!job)
        code = session_fail(s, "reading the text", XL_NO_MEMORY, "");
    else if (text) {
        job->spec.text = text;
        code = own_text(s, job);
    }
    free(text);
    free(job);
    return code;
}

static int run(struct session *s)
{
    const struct settings *set = &s->set;
    const bool is_own = set->n_words > 0;
    int code;
    if (set->list)
        return expr_list(s);
    if (!is_own && (set->explain || set->source || set->shapes.n > 0 ||
                    set->scalars.n > 0 || set->ranges.n > 0)) {
        refuse("what is the expression? it comes first: clbench expr "
               "'x + 1' --shape x=1e6");
        return EXIT_USAGE;
    }
    if (is_own)
        code = run_text(s);
    else
        code = bench_command(s, &bench_expr);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "shape", "scalar", "range", "dtype", "fast-math", "variant", "explain",
    "source", "device", "all-devices", "trace", "json", REPORT_OPTIONS, "seed",
    "quick", "full", "max-time", "strict", "list", NULL};

const struct command cmd_expr = {
    .name = "expr",
    .summary = "time an expression, fused and unfused",
    .words = "[TEXT]",
    .about =
        "Compiles TEXT, a line of arithmetic over named tensors, into as few "
        "kernels as it can be, and times it against one kernel per operation, "
        "in turns. Each row's rate is of the bytes that this variant's "
        "kernels move, as counted; n is how many kernels that are, gain the "
        "unfused time over the fused one. A result is checked before and "
        "after it is timed: the two variants with each other, the built-in "
        "cases (without TEXT; --list names them) with a reference in double "
        "on the host.\n\n"
        "  clbench expr 'sin(x)^2 + cos(x)^2' --shape x=1e8\n"
        "  clbench expr 'h = x + r; out = layer_norm(h, g, b, eps)'\n"
        "      --shape x=4096x1024:f16,g=1024,b=1024 --scalar eps=1e-5\n"
        "  clbench expr 'softmax(q * s)' --shape q=4096x4096 --scalar s=0.1\n"
        "      --explain\n\n"
        "Operators: ^ - ! * / + < <= > >= == != & |; functions of elements, "
        "reductions (axis=-1, axis=(0, 2)), rows (softmax, layer_norm, "
        "rms_norm), views (x[:, ::2], transpose): <crosslane/expr.h> has the "
        "language. Names that are assigned and read again are temporaries "
        "unless --shape makes them outputs.",
    .options = options,
    .min_words = 0,
    .max_words = 1,
    .run = run,
};
