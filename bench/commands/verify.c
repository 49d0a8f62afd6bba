/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench verify`: run all variants over the verify cases on this device, and
 * compare the results with the host in double precision. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cases/gemm_cases.h"
#include "cases/conv_cases.h"
#include "cli/progress.h"
#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "verify/verify.h"

/* The counts of one variant. */
struct verify_counts {
    const char *variant;
    unsigned n_right, n_wrong, n_refused, n_failed;
    double worst;
    const char *worst_case;
    char first[320]; /* the first failure */
};

/* A case of one op; the pointers of the other ops are NULL. */
struct verify_case_ref {
    const struct gemm_case *gemm;
    const struct conv_case *conv; /* &own */
    struct conv_case own;
    const struct softmax_case *softmax;
    const struct norm_case *norm;
    const struct gradient_case *gradient;
    const struct attention_case *attention;
    const struct expr_case *expr;
};

static const char *const expr_variants[] = {"expr_fused", "expr_unfused",
                                            NULL};

struct verifier {
    struct session *s;
    xl_queue *q;
    xl_device *dev;
    struct table *table;
};

static bool is_case_in_run(const struct session *s, unsigned use,
                           xl_dtype dtype)
{
    return (use & CASE_VERIFY) && (!s->set.quick || (use & CASE_QUICK)) &&
           (s->set.dtype == XL_N_DTYPES || s->set.dtype == dtype);
}

/* Row i of an op's table; false past the last. *is_selected: in this run? */
typedef bool read_case_fn(const struct session *s, unsigned i,
                          struct verify_case_ref *out, bool *is_selected);

static bool read_gemm_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected)
{
    const struct gemm_case *c = &gemm_cases[i];
    out->gemm = c;
    *is_selected = is_case_in_run(s, c->use, c->in) &&
                   (s->set.trans < 0 || s->set.trans == c->trans);
    return c->name != NULL;
}

static bool read_pass_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected,
                           xl_conv_pass pass)
{
    const struct conv_case *c = &out->own;
    const bool is_case = conv_case_of_pass(i, pass, &out->own, is_selected);
    out->conv = c;
    *is_selected = *is_selected && is_case_in_run(s, c->use, c->in);
    return is_case;
}

static bool read_conv_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected)
{
    return read_pass_case(s, i, out, is_selected, XL_CONV_FORWARD);
}

static bool read_data_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected)
{
    return read_pass_case(s, i, out, is_selected, XL_CONV_BACKWARD_DATA);
}

static bool read_filters_case(const struct session *s, unsigned i,
                              struct verify_case_ref *out, bool *is_selected)
{
    return read_pass_case(s, i, out, is_selected, XL_CONV_BACKWARD_FILTERS);
}

static bool read_softmax_case(const struct session *s, unsigned i,
                              struct verify_case_ref *out, bool *is_selected)
{
    const struct softmax_case *c = &softmax_cases[i];
    out->softmax = c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static bool read_norm_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected)
{
    const struct norm_case *c = &norm_cases[i];
    out->norm = c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

/* Of the table of both ops, in turn. */
static bool read_gradient_case(const struct session *s, unsigned i,
                               struct verify_case_ref *out, bool *is_selected,
                               bool is_norm)
{
    const struct gradient_case *c = &gradient_cases[i];
    out->gradient = c;
    *is_selected = c->name && gradient_is_norm(c) == is_norm &&
                   is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

static bool read_softmax_gradient(const struct session *s, unsigned i,
                                  struct verify_case_ref *out,
                                  bool *is_selected)
{
    return read_gradient_case(s, i, out, is_selected, false);
}

static bool read_norm_gradient(const struct session *s, unsigned i,
                               struct verify_case_ref *out, bool *is_selected)
{
    return read_gradient_case(s, i, out, is_selected, true);
}

static bool read_attention_case(const struct session *s, unsigned i,
                                struct verify_case_ref *out,
                                bool *is_selected)
{
    const struct attention_case *c = &attention_cases[i];
    out->attention = c;
    *is_selected = is_case_in_run(s, c->use, c->dtype);
    return c->name != NULL;
}

/* The type of an expression, for --dtype, is that of its first name. */
static bool read_expr_case(const struct session *s, unsigned i,
                           struct verify_case_ref *out, bool *is_selected)
{
    char why[EXPR_WHY_CAP];
    struct expr_spec spec;
    const struct expr_case *c = &expr_cases[i];
    out->expr = c;
    *is_selected = c->name && (c->use & CASE_VERIFY) &&
                   expr_case_spec(c, false, &spec, why) &&
                   is_case_in_run(s, c->use, spec.name[0].dtype);
    return c->name != NULL;
}

static const struct {
    const char *name;
    read_case_fn *row;
} tables[] = {{"gemm", read_gemm_case},
              {"conv", read_conv_case},
              {"conv_data", read_data_case},
              {"conv_filters", read_filters_case},
              {"softmax", read_softmax_case},
              {"norm", read_norm_case},
              {"softmax_backward", read_softmax_gradient},
              {"norm_backward", read_norm_gradient},
              {"attention", read_attention_case},
              {"expr", read_expr_case}};
enum { N_TABLES = sizeof tables / sizeof tables[0] };

/* The next case of an op that belongs to this run, from row *i on; false past
 * the last. */
static bool next_case(const struct session *s, read_case_fn *row, unsigned *i,
                      struct verify_case_ref *out)
{
    bool is_selected = false, is_there = true;
    while (is_there && !is_selected) {
        memset(out, 0, sizeof *out);
        is_there = row(s, (*i)++, out, &is_selected);
    }
    return is_there;
}

static const char *case_name(const struct verify_case_ref *c)
{
    return c->gemm        ? c->gemm->name
           : c->conv      ? c->conv->name
           : c->softmax   ? c->softmax->name
           : c->norm      ? c->norm->name
           : c->gradient  ? c->gradient->name
           : c->attention ? c->attention->name
                          : c->expr->name;
}

static void format_case(const struct verify_case_ref *c, char *out, size_t cap)
{
    static const char *const trans[] = {"nn", "tn", "nt", "tt"};
    static const char *const passes[] = {"conv", "conv_data", "conv_filters"};
    const struct gemm_case *g = c->gemm;
    if (g)
        snprintf(out, cap, "gemm '%s' %zux%zux%zu %s->%s %s", g->name, g->m,
                 g->n, g->k, xl_dtype_name(g->in), xl_dtype_name(g->out),
                 trans[g->trans]);
    else if (c->conv)
        snprintf(out, cap, "%s '%s' %zux%zux%zux%zu:%zux%zux%zu %s",
                 passes[c->conv->pass], c->conv->name, c->conv->n, c->conv->h,
                 c->conv->w, c->conv->c, c->conv->k, c->conv->r, c->conv->s,
                 xl_dtype_name(c->conv->in));
    else if (c->softmax)
        snprintf(out, cap, "softmax '%s' %zux%zu %s", c->softmax->name,
                 c->softmax->rows, c->softmax->cols,
                 xl_dtype_name(c->softmax->dtype));
    else if (c->norm)
        snprintf(out, cap, "norm '%s' %zux%zu %s", c->norm->name,
                 c->norm->rows, c->norm->cols, xl_dtype_name(c->norm->dtype));
    else if (c->gradient)
        snprintf(out, cap, "%s '%s' %zux%zu %s", gradient_op(c->gradient),
                 c->gradient->name, c->gradient->rows, c->gradient->cols,
                 xl_dtype_name(c->gradient->dtype));
    else if (c->attention)
        snprintf(out, cap, "attention '%s' %zux%zux%zux%zux%zu %s",
                 c->attention->name, c->attention->n_batch,
                 c->attention->n_heads, c->attention->n_q, c->attention->n_kv,
                 c->attention->d, xl_dtype_name(c->attention->dtype));
    else
        snprintf(out, cap, "expr '%s' %s", c->expr->name, c->expr->text);
}

static xl_status verify_case(xl_queue *q, const struct verify_case_ref *c,
                             const char *variant, uint64_t seed,
                             struct check_result *found)
{
    if (c->gemm)
        return verify_gemm(q, c->gemm, variant, seed, found);
    if (c->conv)
        return verify_conv(q, c->conv, variant, seed, found);
    if (c->softmax)
        return verify_softmax(q, c->softmax, variant, seed, found);
    if (c->norm)
        return verify_norm(q, c->norm, variant, seed, found);
    if (c->gradient)
        return verify_gradient(q, c->gradient, variant, seed, found);
    if (c->attention)
        return verify_attention(q, c->attention, variant, seed, found);
    return verify_expr(q, c->expr, variant, seed, found);
}

static void report_failure(struct verifier *v, struct verify_counts *t,
                           const char *text, const char *why)
{
    progress_hide(v->s);
    fprintf(stderr, "clbench: device %u: %s, %s: %s\n",
            xl_device_index(v->dev), t->variant, text, why);
    if (!*t->first)
        snprintf(t->first, sizeof t->first, "%.100s: %.200s", text, why);
}

static void run_case(struct verifier *v, struct verify_counts *t,
                     const struct verify_case_ref *c)
{
    struct check_result found;
    char text[128];
    uint64_t seed = v->s->set.seed;
    format_case(c, text, sizeof text);
    xl_status status = verify_case(v->q, c, t->variant, seed, &found);
    if (status == XL_OK) {
        t->n_right++;
        if (found.worst > t->worst) {
            t->worst = found.worst;
            t->worst_case = case_name(c);
        }
    } else if (status == XL_UNSUPPORTED) {
        t->n_refused++;
    } else if (status == XL_WRONG_RESULT) {
        t->n_wrong++;
        report_failure(v, t, text, found.why);
    } else {
        const char *detail = xl_error_detail(v->q);
        t->n_failed++;
        report_failure(v, t, text, *detail ? detail : xl_status_text(status));
    }
}

/* Add one row to the table and one to the result file. */
static void add_result(struct verifier *v, const struct verify_counts *t)
{
    unsigned n_bad = t->n_wrong + t->n_failed;
    xl_row row;
    table_cell(v->table, "%u", xl_device_index(v->dev));
    table_cell(v->table, "%s", t->variant);
    table_cell(v->table, "%u", t->n_right);
    table_cell(v->table, "%u", t->n_wrong);
    table_cell(v->table, "%u", t->n_failed);
    table_cell(v->table, "%u", t->n_refused);
    table_cell(v->table, "%.3f", t->worst);
    table_cell(v->table, "%s", t->worst_case ? t->worst_case : "");
    if (n_bad == 0 && t->n_right == 0)
        table_cell(v->table, "no case");
    else
        table_cell_coloured(v->table, n_bad ? TABLE_RED : TABLE_GREEN,
                            n_bad ? "WRONG" : "ok");
    v->s->n_wrong += n_bad;
    xl_row_init(&row, "verify", t->variant);
    row.seed = v->s->set.seed;
    xl_row_shape(&row, "cases", t->n_right + n_bad);
    xl_row_param(&row, "right", t->n_right);
    xl_row_param(&row, "wrong", t->n_wrong);
    xl_row_param(&row, "failed", t->n_failed);
    xl_row_param(&row, "refused", t->n_refused);
    xl_row_param(&row, "worst", t->worst);
    row.verdict = n_bad ? XL_ROW_REJECTED
                  : t->n_right ? XL_ROW_OK : XL_ROW_UNSUPPORTED;
    xl__strcpy(row.reason, sizeof row.reason,
               t->n_right + n_bad ? t->first : "no case applies here");
    session_row(v->s, v->dev, &row);
}

static void run_variant(struct verifier *v, read_case_fn *row,
                        const char *variant)
{
    struct verify_counts t = {.variant = variant};
    struct verify_case_ref c;
    const char *requested = v->s->set.variant;
    if (requested && strcmp(requested, "all") != 0 &&
        strcmp(requested, variant) != 0)
        return;
    progress_step(v->s, variant);
    for (unsigned i = 0; !session_stopped(v->s) &&
                         next_case(v->s, row, &i, &c);)
        run_case(v, &t, &c);
    add_result(v, &t);
}

/* The check of GEMM and softmax in sequence. */
static void run_precision_check(struct verifier *v)
{
    struct check_result found;
    struct verify_counts t = {.variant = "gemm+softmax"};
    progress_step(v->s, "gemm+softmax");
    xl_status status = verify_precision(v->q, v->s->set.seed, &found);
    t.n_right = status == XL_OK;
    t.n_wrong = status == XL_WRONG_RESULT;
    t.n_failed = !t.n_right && !t.n_wrong;
    t.worst = found.worst;
    t.worst_case = "logits to 6e4";
    if (t.n_failed)
        report_failure(v, &t, "precision", xl_error_detail(v->q));
    if (t.n_wrong)
        report_failure(v, &t, "precision", found.why);
    add_result(v, &t);
}

/* The variants of expressions are the same on every device. */
static const char *variant_at(const xl_device *dev, unsigned table, unsigned i)
{
    return tables[table].row == read_expr_case
               ? expr_variants[i]
               : xl_variant_name(dev, tables[table].name, i);
}

static int verify_on_device(struct session *s, xl_device *dev,
                            struct table *table)
{
    struct verifier v = {s, session_queue(s, dev), dev, table};
    const char *variant;
    if (!v.q)
        return EXIT_NO_DEVICE;
    for (unsigned o = 0; o < N_TABLES; o++) {
        for (unsigned i = 0; (variant = variant_at(dev, o, i)) != NULL; i++)
            if (!session_stopped(s))
                run_variant(&v, tables[o].row, variant);
    }
    if (!s->set.variant && !session_stopped(s))
        run_precision_check(&v);
    xl_queue_destroy(v.q);
    return EXIT_FINE;
}

static int run_verify(struct session *s)
{
    static const struct table_column columns[] = {
        {"device", true, 0}, {"variant", false, 0}, {"right", true, 0},
        {"wrong", true, 0}, {"failed", true, 0}, {"n/a", true, 0},
        {"worst/tol", true, 0}, {"its case", false, 8}, {"", false, 0}};
    enum { N_COLUMNS = sizeof columns / sizeof columns[0], N_STEPS = 8 };
    /* All kernels are built; and some drivers take twice as long when a binary
     * is requested (CP-10). */
    s->no_cache = true;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    struct table *table = table_create(columns, N_COLUMNS);
    progress_begin(s, N_STEPS * s->n_devices);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        int failed = verify_on_device(s, s->devices[i], table);
        code = failed ? failed : code;
    }
    progress_end(s);
    if (session_tables(s)) {
        printf("Verify: all variants against the host in double precision; a "
               "result is\nwrong when its error exceeds its tolerance\n\n");
        table_print(stdout, table, text_terminal_columns(), text_has_colour());
    }
    table_destroy(table);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device", "all-devices", "variant", "dtype", "trans", "json",
    REPORT_OPTIONS, "seed", "quick", "max-time", NULL};

const struct command cmd_verify = {
    .name = "verify",
    .summary = "compare all variants with the host",
    .about =
        "Runs all variants over the built-in cases: each transpose and type, "
        "odd sizes, padding, offsets, scalars, infinities and NaN, rows of 1 "
        "to ten million columns, and expressions from a sum to the price of "
        "an "
        "option, fused and unfused. Results are compared with the host in "
        "double precision, within the documented error bounds; guard zones "
        "around the buffers must not be written. All programs are built, "
        "without the cache. Exit code 1 when a result is wrong. --quick takes "
        "a smaller set of cases.",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_verify,
};
