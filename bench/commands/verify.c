/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench verify`: run all variants over the verify cases on this device, and
 * compare the results with the host in double precision. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/progress.h"
#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "host/host_info.h"
#include "verify/verify_cases.h"

/* The counts of one variant. */
struct verify_counts {
    const char *variant;
    unsigned n_right, n_wrong, n_refused, n_failed;
    double worst;
    const char *worst_case;
    char first[320]; /* the first failure */
};

struct verifier {
    struct session *s;
    xl_queue *q;
    xl_device *dev;
    struct table *table; /* of the op that runs */
    unsigned n_done;     /* cases */
};

/* -- the table of an op ----------------------------------------------------
 */

static struct table *create_table(void)
{
    static const struct table_column columns[] = {
        {"device", true, 0},    {"variant", false, 0},    {"right", true, 0},
        {"wrong", true, 0},     {"failed", true, 0},      {"n/a", true, 0},
        {"error/tol", true, 0}, {"largest in", false, 8}, {"", false, 0}};
    return table_create(columns, sizeof columns / sizeof columns[0]);
}

static void print_table(const struct table *table)
{
    table_print(stdout, table, text_terminal_columns(), text_has_colour());
}

/* The rows so far, above the progress line; printed for good when the op is
 * complete. */
static unsigned draw_table(void *arg)
{
    enum { HEAD = 1 };
    const struct verifier *v = arg;
    const size_t n = table_lines(v->table);
    if (n == 0 || n + HEAD >= xl__terminal_lines(XL__STDOUT))
        return 0;
    print_table(v->table);
    return (unsigned)n + HEAD;
}

static void begin_op(struct verifier *v)
{
    v->table = create_table();
    if (session_tables(v->s))
        v->s->block = (struct live_block){draw_table, v, 0};
}

static void end_op(struct verifier *v)
{
    progress_hide(v->s);
    v->s->block = (struct live_block){NULL, NULL, 0};
    if (session_tables(v->s) && table_lines(v->table) > 0) {
        print_table(v->table);
        fputc('\n', stdout);
        fflush(stdout);
    }
    table_destroy(v->table);
    v->table = NULL;
}

/* -- cases -----------------------------------------------------------------
 */

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
                     const struct verify_case *c)
{
    struct check_result found;
    char text[128];
    uint64_t seed = v->s->set.seed;
    verify_case_text(c, text, sizeof text);
    progress_update(v->s, v->n_done++, t->variant);
    xl_status status = verify_case_run(v->q, c, t->variant, seed, &found);
    if (status == XL_OK) {
        t->n_right++;
        if (found.worst > t->worst) {
            t->worst = found.worst;
            t->worst_case = verify_case_name(c);
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

static bool is_requested(const struct session *s, const char *variant)
{
    const char *requested = s->set.variant;
    return !requested || strcmp(requested, "all") == 0 ||
           strcmp(requested, variant) == 0;
}

static void run_variant(struct verifier *v, const struct verify_op *op,
                        const char *variant)
{
    struct verify_counts t = {.variant = variant};
    struct verify_case c;
    for (unsigned i = 0;
         !session_stopped(v->s) && verify_next_case(v->s, op, &i, &c);)
        run_case(v, &t, &c);
    progress_hide(v->s); /* it is drawn again with the row */
    add_result(v, &t);
}

/* The check of GEMM and softmax in sequence. */
static void run_precision_check(struct verifier *v)
{
    struct check_result found;
    struct verify_counts t = {.variant = "gemm+softmax"};
    progress_update(v->s, v->n_done, "gemm+softmax");
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

/* The cases that a device's variants run, all together. */
static unsigned count_cases(const struct session *s, const xl_device *dev)
{
    unsigned n = 0;
    const char *variant;
    const struct verify_op *op;
    struct verify_case c;
    for (unsigned o = 0; (op = verify_op_at(o)) != NULL; o++) {
        for (unsigned i = 0; (variant = verify_variant(op, dev, i)); i++)
            for (unsigned k = 0;
                 is_requested(s, variant) && verify_next_case(s, op, &k, &c);)
                n++;
    }
    return n;
}

static int verify_on_device(struct verifier *v, xl_device *dev)
{
    const char *variant;
    const struct verify_op *op;
    v->dev = dev;
    v->q = session_queue(v->s, dev);
    if (!v->q)
        return EXIT_NO_DEVICE;
    for (unsigned o = 0; (op = verify_op_at(o)) != NULL; o++) {
        begin_op(v);
        for (unsigned i = 0; (variant = verify_variant(op, dev, i)); i++)
            if (is_requested(v->s, variant) && !session_stopped(v->s))
                run_variant(v, op, variant);
        end_op(v);
    }
    begin_op(v);
    if (!v->s->set.variant && !session_stopped(v->s))
        run_precision_check(v);
    end_op(v);
    xl_queue_destroy(v->q);
    return EXIT_FINE;
}

static int run_verify(struct session *s)
{
    struct verifier v = {.s = s};
    unsigned n_cases = 0;
    /* All kernels are built; and some drivers take twice as long when a binary
     * is requested (CP-10). */
    s->no_cache = true;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (session_tables(s))
        printf("Verify: all variants against the host in double precision; a "
               "result is\nwrong when its error exceeds its tolerance\n\n");
    fflush(stdout);
    for (unsigned i = 0; i < s->n_devices; i++)
        n_cases += count_cases(s, s->devices[i]);
    progress_begin(s, n_cases + 1);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        int failed = verify_on_device(&v, s->devices[i]);
        code = failed ? failed : code;
    }
    progress_end(s);
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
        "around the buffers must not be written. A row has the numbers of "
        "cases "
        "that were right, wrong, failed and not applicable, and the largest "
        "error over its tolerance with its case; 'gemm+softmax' is a product "
        "in f16 whose softmax must add up to 1. All programs are built, "
        "without the cache. Exit code 1 when a result is wrong. --quick takes "
        "a smaller set of cases.",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_verify,
};
