/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench expr`: time an expression, fused and unfused, interleaved; or
 * explain its kernels (--explain, --source); or list the built-in expressions
 * (--list).
 *
 * The expression is that of the command line, whose names get their shapes and
 * types from --shape, --scalar and --range; or each one of the case table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/str.h"
#include "cases/expr_cases.h"
#include "cases/expr_names.h"
#include "cli/console.h"
#include "cli/units.h"
#include "report/report.h"
#include "results/json.h"
#include "results/listings.h"
#include "results/result.h"
#include "timing/expr.h"

/* -- list ------------------------------------------------------------------
 */

static json_t *case_json(const struct expr_case *c)
{
    json_t *out = json_object();
    json_put(out, "name", json_text(c->name));
    json_put(out, "text", json_text(c->text));
    json_put(out, "small", json_text(c->small));
    json_put(out, "timed", json_text(c->timed));
    json_put(out, "scalars", json_text(c->scalars));
    json_put(out, "ranges", json_text(c->ranges));
    return out;
}

static int list_cases(struct session *s)
{
    enum { INDENT = 4 };
    json_t *cases = json_array();
    for (const struct expr_case *c = expr_cases; c->name; c++) {
        json_add(cases, case_json(c));
        if (!session_tables(s))
            continue;
        printf("%s%s\n", c->name, c->timed ? "" : "  (verify only)");
        text_wrap(stdout, c->text, INDENT, text_terminal_columns());
    }
    s->extra = json_object();
    json_put(s->extra, "cases", cases);
    return EXIT_FINE;
}

/* -- explain ---------------------------------------------------------------
 *
 * The variants in order, then each kernel: what it computes, why its
 * operations are in one kernel, what it moves and how it is launched; with
 * --source its OpenCL C. */

enum { INDENT = 4 };

/* The output of the explanation. */
struct explanation {
    const struct session *s;
    json_t *kernels; /* in the result file; NULL: out of memory */
    unsigned n;
};

static void print_wrapped(const char *title, const char *text)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s %s", title, text);
    text_wrap(stdout, xl__str_text(&line), INDENT, text_terminal_columns());
    xl__str_clear(&line);
}

static void print_size(const char *name, const size_t size[3])
{
    if (size[0] == 0)
        printf("%s chosen by the driver", name);
    else
        printf("%s %zu", name, size[0]);
    for (unsigned d = 1; d < 3 && size[0] && (size[1] > 1 || size[2] > 1); d++)
        printf(" x %zu", size[d]);
}

/* The source without escapes: it is the library's text, not the user's. */
static void print_source(const char *source)
{
    fputc('\n', stdout);
    while (*source) {
        const size_t len = strcspn(source, "\n");
        printf("      %.*s\n", (int)len, source);
        source += len + (source[len] == '\n');
    }
}

static json_t *sizes_json(const size_t size[3])
{
    json_t *out = json_array();
    for (unsigned d = 0; d < 3; d++)
        json_add(out, json_number((double)size[d]));
    return out;
}

static void add_kernel(const struct explanation *p, const xl_expr_kernel *k)
{
    json_t *out = json_object();
    json_put(out, "name", json_text(k->name));
    json_put(out, "computes", json_text(k->computes));
    json_put(out, "why", json_text(k->why));
    json_put(out, "source", json_string(k->source));
    json_put(out, "flop", json_number(k->flop));
    json_put(out, "bytes", json_number(k->bytes));
    json_put(out, "global", sizes_json(k->global));
    json_put(out, "wg", sizes_json(k->wg));
    json_add(p->kernels, out);
}

static void print_kernel(const xl_expr_kernel *k, void *arg)
{
    struct explanation *p = arg;
    add_kernel(p, k);
    if (!session_tables(p->s))
        return;
    char bytes[UNITS_CAP], flop[UNITS_CAP];
    units_bytes(bytes, sizeof bytes, k->bytes);
    units_format(flop, sizeof flop, k->flop, "flop/s");
    flop[strcspn(flop, "/")] = '\0';
    printf("  %u. %s\n", ++p->n, k->name);
    print_wrapped("computes", k->computes);
    print_wrapped("why", k->why);
    printf("    moves %s, %s\n    ", bytes, flop);
    print_size("work-group", k->wg);
    print_size(", global size", k->global);
    fputc('\n', stdout);
    if (p->s->set.source)
        print_source(k->source);
}

static void print_choice(const xl_choice *c)
{
    char bytes[UNITS_CAP], time[UNITS_CAP];
    units_bytes(bytes, sizeof bytes, c->bytes);
    units_time(time, sizeof time, c->est_ns);
    printf("  %s%s\n", c->variant, c->chosen ? "  <- chosen" : "");
    if (!isnan(c->est_ns))
        printf("    %u kernel%s, %s, expected %s, limited by %s\n", c->n_steps,
               c->n_steps == 1 ? "" : "s", bytes, time, c->bound);
    if (*c->why)
        text_wrap(stdout, c->why, INDENT, text_terminal_columns());
}

static void print_choices(const xl_choice *choices, unsigned n)
{
    printf("\nVariants, best first\n");
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        print_choice(&choices[i]);
    printf("\nKernels\n");
}

static void print_names(const struct expr_spec *s)
{
    struct xl__str line = {0};
    for (unsigned k = 0; k < s->n; k++) {
        const struct expr_name *n = &s->name[k];
        xl__str_printf(&line, "%s%s", k ? ", " : "", n->name);
        if (n->is_scalar) {
            xl__str_printf(&line, " = %g", n->scalar);
            continue;
        }
        xl__str_add(&line, " ");
        expr_shape_text(&line, n);
        xl__str_printf(&line, " %s%s", xl_dtype_name(n->dtype),
                       !n->is_result ? ""
                       : n->is_input ? " (in place)"
                                     : " (result)");
    }
    text_wrap(stdout, xl__str_text(&line), 2, text_terminal_columns());
    xl__str_clear(&line);
}

/* The text as it was written, line by line. */
static void print_text(const char *text)
{
    while (*text) {
        const size_t len = strcspn(text, "\n");
        struct xl__str line = {0}, clean = {0};
        xl__str_add_n(&line, text, len);
        text_escape(&clean, xl__str_text(&line));
        text_wrap(stdout, xl__str_text(&clean), 2, text_terminal_columns());
        xl__str_clear(&line);
        xl__str_clear(&clean);
        text += len + (text[len] == '\n');
    }
}

static xl_status print_explanation(struct session *s, xl_queue *q,
                                   const xl_expr *e,
                                   const struct expr_job *job)
{
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    const xl_expr_args args = {
        XL_EXPR_ARGS_INIT, .bindings = bindings, .n_bindings = job->spec.n,
        .fast_math = job->fast_math, .variant = s->set.variant};
    struct explanation p = {
        s, json_object_get(json_object_get(s->extra, "expression"), "kernels"),
        0};
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = 0;
    memset(choices, 0, sizeof choices);
    expr_bindings(&job->spec, NULL, NULL, bindings);
    const xl_status status =
        xl_expr_explain(q, e, &args, choices, BENCH_MAX_CHOICES, &n);
    if (session_tables(s))
        print_choices(choices, n);
    if (status != XL_OK)
        return status;
    return xl_expr_kernels(q, e, &args, print_kernel, &p);
}

static void print_heading(const xl_device *dev, const struct expr_job *job)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "expr on device %u, %s", xl_device_index(dev),
                   device_fact_text(dev, "name", "?"));
    text_line(stdout, xl__str_text(&line));
    xl__str_clear(&line);
    print_text(job->spec.text);
    print_names(&job->spec);
}

static int explain_on_device(struct session *s, xl_device *dev,
                             const struct expr_job *job)
{
    xl_expr *e = NULL;
    int code = EXIT_FINE;
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    if (session_tables(s))
        print_heading(dev, job);
    xl_status status = expr_job_compile(q, job, s->set.variant, &e);
    if (status == XL_OK)
        status = print_explanation(s, q, e, job);
    fflush(stdout);
    if (status != XL_OK)
        code = session_fail(s, "explaining", status, xl_error_detail(q));
    else if (s->listing && session_tables(s))
        printf("Nothing was built or run: the device is not here.\n");
    xl_expr_destroy(e);
    xl_queue_destroy(q);
    return code;
}

static int explain_on_devices(struct session *s, const struct expr_job *job)
{
    int code = EXIT_FINE;
    for (unsigned i = 0; code == EXIT_FINE && i < s->n_devices; i++)
        code = explain_on_device(s, s->devices[i], job);
    return code;
}

/* -- the text ------------------------------------------------------------- */

/* The argument, or the contents of the file after an @; free() it. */
static char *read_text(const char *word)
{
    struct xl__str text = {0};
    if (*word != '@')
        return xl__strdup(word);
    FILE *f = strcmp(word, "@-") == 0 ? stdin : fopen(word + 1, "rb");
    if (!f) {
        fprintf(stderr,
                "clbench: '%s' cannot be read; must be a file with the "
                "text of an expression\n",
                word + 1);
        return NULL;
    }
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 &&
           text.len <= XL_EXPR_MAX_TEXT)
        xl__str_add_n(&text, chunk, n);
    if (f != stdin)
        fclose(f);
    return text.len > 0 ? xl__str_steal(&text) : xl__strdup("");
}

/* -- its names -------------------------------------------------------------
 */

static bool report_error(const char *fmt, ...) XL__PRINTF(1, 2);

static bool report_error(const char *fmt, ...)
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

static bool read_option(const struct option_list *list, const char *option,
                        bool (*read)(struct expr_spec *s, const char *text,
                                     char *why),
                        struct expr_spec *s)
{
    char why[EXPR_WHY_CAP];
    for (unsigned i = 0; i < list->n; i++)
        if (!read(s, list->value[i], why))
            return report_error("--%s: %s", option, why);
    return true;
}

static struct expr_name *add_name(struct expr_spec *s, const char *name)
{
    struct expr_name *n = expr_need(s, name, strlen(name));
    if (!n)
        report_error("more than %d names", XL_EXPR_MAX_BINDINGS);
    return n;
}

/* Classify the names. A name that is read first is an input. A name that is
 * assigned is an output if it has a shape, was read before, or is not read
 * afterwards; else it is a temporary. */
static bool classify_names(struct expr_spec *s)
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
        n = add_name(s, name->name);
        if (!n)
            return false;
        n->is_input = name->is_read_first;
        n->is_result = name->is_assigned;
        if (name->is_assigned && !name->is_whole && !n->has_shape)
            return report_error(
                "only slices of '%s' are assigned, so its size is "
                "not known; give --shape %s=4096x4096",
                n->name, n->name);
    }
    for (unsigned k = 0; k < s->n; k++)
        if (!s->name[k].is_input && !s->name[k].is_result)
            return report_error(
                "unexpected name '%s': the expression does not use it",
                s->name[k].name);
    return true;
}

/* Inputs without a shape get the first shape that was given. */
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
            return report_error("the size of '%s' is not known; give --shape "
                                "%s=4096x4096, or --scalar %s=2",
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
    if (!read_option(&set->shapes, "shape", expr_read_shapes, s) ||
        !read_option(&set->scalars, "scalar", expr_read_scalars, s) ||
        !read_option(&set->ranges, "range", expr_read_ranges, s) ||
        !classify_names(s) || !complete_inputs(s, dtype))
        return false;
    return expr_spec_settle(s, why) || report_error("%s", why);
}

/* -- shapes of outputs ---------------------------------------------------- */

/* Print the library's message about the text, with line, column and caret. */
static int report_text_error(struct session *s, const struct expr_spec *spec,
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
    session_message(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return EXIT_USAGE;
}

/* Get the shape and type of a result from the library. */
static xl_status find_result_shape(xl_queue *q, const struct expr_job *job,
                                   struct expr_name *n)
{
    xl_status status;
    struct expr_spec known = {.n = 0};
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bindings,
                         .fast_math = job->fast_math};
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
        const xl_status status = find_result_shape(q, job, n);
        if (status != XL_OK)
            code =
                report_text_error(s, &job->spec, status, xl_error_detail(q));
        else if (!expr_spec_settle(&job->spec, why)) {
            report_error("%s", why);
            code = EXIT_USAGE;
        }
    }
    xl_queue_destroy(q);
    return code;
}

/* -- the command ---------------------------------------------------------- */

/* Compile once first, so that an error in the text is reported once and not as
 * a row of each variant. */
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
        code = report_text_error(s, &job->spec, status, xl_error_detail(q));
    xl_expr_destroy(e);
    xl_queue_destroy(q);
    return code;
}

/* Add the whole text to the result file; a row has only its beginning. */
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

static int time_text(struct session *s, struct expr_job *job)
{
    const void *c = job;
    int code;
    job->fast_math = s->set.fast_math;
    if (!read_names(&s->set, &job->spec))
        return EXIT_USAGE;
    code = listing_choose(s);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    if (code == EXIT_FINE)
        code = complete_results(s, job);
    if (code == EXIT_FINE)
        code = try_compile(s, job);
    if (code != EXIT_FINE)
        return code;
    add_extra(s, job);
    if (s->set.explain || s->set.source)
        return explain_on_devices(s, job);
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
        code = time_text(s, job);
    }
    free(text);
    free(job);
    return code;
}

static int run_expr(struct session *s)
{
    const struct settings *set = &s->set;
    const bool is_own = set->n_words > 0;
    int code;
    if (set->list)
        return list_cases(s);
    s->set.explain |= set->as != NULL;
    if (!is_own && (set->explain || set->source || set->shapes.n > 0 ||
                    set->scalars.n > 0 || set->ranges.n > 0)) {
        report_error("missing expression; usage: clbench expr 'x + 1' --shape "
                     "x=1e6");
        return EXIT_USAGE;
    }
    if (is_own)
        code = run_text(s);
    else
        code = bench_command(s, &bench_expr);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "shape",   "scalar",  "range",    "dtype",        "fast-math",
    "variant", "explain", "source",   "device",       "all-devices",
    "as",      "trace",   "json",     REPORT_OPTIONS, "seed",
    "quick",   "full",    "max-time", RUN_OPTIONS,    "roofs",
    "strict",  "list",    NULL};

const struct command cmd_expr = {
    .name = "expr",
    .summary = "time an expression, fused and unfused",
    .words = "[TEXT]",
    .about =
        "Compiles TEXT, a line of arithmetic on named tensors, into as few "
        "kernels as possible, and times it, interleaved, against one kernel "
        "for each operation. The rate of a row counts the bytes that the "
        "kernels of this variant read and write; n is the number of kernels, "
        "gain the unfused time over the fused one. A result is checked before "
        "and after it is timed: the two variants against each other, the "
        "built-in cases (without TEXT; --list prints them) against a "
        "reference in double precision on the host.\n\n"
        "  clbench expr 'sin(x)^2 + cos(x)^2' --shape x=1e8\n"
        "  clbench expr 'h = x + r; out = layer_norm(h, g, b, eps)'\n"
        "      --shape x=4096x1024:f16,g=1024,b=1024 --scalar eps=1e-5\n"
        "  clbench expr 'softmax(q * s)' --shape q=4096x4096 --scalar s=0.1\n"
        "      --explain\n\n"
        "Operators: ^ - ! * / + < <= > >= == != & |; functions of elements, "
        "reductions (axis=-1, axis=(0, 2)), rows (softmax, layer_norm, "
        "rms_norm), views (x[::-1, None], transpose, permute, reshape), "
        "pieces (x[i:i + 4], gather, concat, pad, cumsum): "
        "<crosslane/expr.h> defines "
        "the language. A name that is assigned and read again is a temporary "
        "unless --shape makes it an output. --as implies --explain.",
    .options = options,
    .min_words = 0,
    .max_words = 1,
    .run = run_expr,
};
