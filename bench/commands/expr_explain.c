/* SPDX-License-Identifier: Apache-2.0 */
/* What an expression becomes on a device: the variants in order, then each
 * kernel with what it computes, why it holds what it holds, what it moves and
 * how it is launched; with --source its OpenCL C. */
#include "commands/expr_explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "results/json.h"
#include "report/report.h"
#include "cli/console.h"
#include "cli/units.h"
#include "results/result.h"

enum { INDENT = 4 };

struct printing {
    const struct session *s;
    json_t *kernels; /* of the file; NULL: out of memory */
    unsigned n;
};

static void wrap(const char *title, const char *text)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s %s", title, text);
    text_wrap(stdout, xl__str_text(&line), INDENT, text_terminal_columns());
    xl__str_clear(&line);
}

static void print_size(const char *name, const size_t size[3])
{
    if (size[0] == 0)
        printf("%s the driver's choice", name);
    else
        printf("%s %zu", name, size[0]);
    for (unsigned d = 1; d < 3 && size[0] && (size[1] > 1 || size[2] > 1);
         d++)
        printf(" x %zu", size[d]);
}

/* Source as it is: its lines are the library's, not the user's. */
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

static void add_kernel(const struct printing *p, const xl_expr_kernel *k)
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
    struct printing *p = arg;
    add_kernel(p, k);
    if (!session_tables(p->s))
        return;
    char bytes[UNITS_CAP], flop[UNITS_CAP];
    units_bytes(bytes, sizeof bytes, k->bytes);
    units_format(flop, sizeof flop, k->flop, "flop/s");
    flop[strcspn(flop, "/")] = '\0';
    printf("  %u. %s\n", ++p->n, k->name);
    wrap("computes", k->computes);
    wrap("why", k->why);
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
        printf("    %u kernel%s, %s, expected %s, limited by %s\n",
               c->n_steps, c->n_steps == 1 ? "" : "s", bytes, time, c->bound);
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
                       !n->is_result  ? ""
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

static xl_status print_all(struct session *s, xl_queue *q, const xl_expr *e,
                           const struct expr_job *job)
{
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    const xl_expr_args args = {.bindings = bindings,
                               .n_bindings = job->spec.n,
                               .fast_math = job->fast_math,
                               .variant = s->set.variant};
    struct printing p = {
        s, json_object_get(json_object_get(s->extra, "expression"),
                           "kernels"), 0};
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

static void print_head(const xl_device *dev, const struct expr_job *job)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "expr on device %u, %s", xl_device_index(dev),
                   device_fact_text(dev, "name", "?"));
    text_line(stdout, xl__str_text(&line));
    xl__str_clear(&line);
    print_text(job->spec.text);
    print_names(&job->spec);
}

static int on_device(struct session *s, xl_device *dev,
                     const struct expr_job *job)
{
    xl_expr *e = NULL;
    int code = EXIT_FINE;
    xl_queue *q = session_queue(s, dev);
    if (!q)
        return EXIT_NO_DEVICE;
    if (session_tables(s))
        print_head(dev, job);
    xl_status status = expr_job_compile(q, job, s->set.variant, &e);
    if (status == XL_OK)
        status = print_all(s, q, e, job);
    fflush(stdout);
    if (status != XL_OK)
        code = session_fail(s, "explaining", status, xl_error_detail(q));
    xl_expr_destroy(e);
    xl_queue_destroy(q);
    return code;
}

int expr_explain(struct session *s, const struct expr_job *job)
{
    int code = EXIT_FINE;
    for (unsigned i = 0; code == EXIT_FINE && i < s->n_devices; i++)
        code = on_device(s, s->devices[i], job);
    return code;
}
