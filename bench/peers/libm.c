/* SPDX-License-Identifier: Apache-2.0 */
/* clbench-peer-libm: fused expressions beside the C loops that compute the
 * same with libm, on the same data and cores: as many threads as the device
 * has compute units. They are timed in interleaved rounds (rounds.h).
 * crosslane is timed twice, exact and with native functions allowed. The
 * program is clbench with a command table of its own. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "libm_loops.h"
#include "report/report.h"
#include "rounds.h"
#include "cli/table.h"
#include "cli/console.h"

enum { X, Y, OUT, N_BUFFERS };
enum { OURS, FAST, THEIRS, N_LIBRARIES };
enum { QUICK_DIVISOR = 10, MAX_THREADS = 256, CHECKS = 4096 };
static const double range = 10; /* x is uniform in +-10 */
static const double u = 0x1p-24;
/* The error that native functions may have, relative to the operands. OpenCL
 * gives no limit; this one is the project's. */
static const double native_frac = 0x1p-10;

/* -- cases --------------------------------------------------------------- */

struct comparison;

struct loop_case {
    const char *name, *text;
    size_t rows, cols;
    bool has_y, is_one; /* the result: a single element */
    loop_range *loop;
    /* Element i in double; *tol: the error that is allowed; *size: the
     * magnitude of the operands, for native functions. */
    double (*expected)(const struct comparison *d, size_t i, double *tol,
                       double *size);
};

/* One case: memory of both libraries, and the times by round. */
struct comparison {
    struct session *s;
    xl_queue *q;
    xl_device *dev;
    struct table *table;
    struct loop_case c;
    struct loop_data host;
    float *ours; /* crosslane's result, read back */
    cl_mem mem[N_BUFFERS];
    xl_expr *expr[N_LIBRARIES];
    xl_row row[N_LIBRARIES];
    struct rounds rounds;
    unsigned n_threads;
    double copy_bytes_per_s;
};

/* 4 ulp of each function, an ulp being 2 u at most; squares and their sum. */
static double expected_sincos(const struct comparison *d, size_t i,
                              double *tol, double *size)
{
    const double s = sin((double)d->host.x[i]), c = cos((double)d->host.x[i]);
    *size = 1;
    *tol = (2 * 8 + 2) * u;
    return s * s + c * c;
}

static double expected_exp(const struct comparison *d, size_t i, double *tol,
                           double *size)
{
    const double e = exp((double)d->host.x[i]);
    *size = e;
    *tol = 2 * 3 * u * e;
    return e;
}

static double expected_tanh(const struct comparison *d, size_t i, double *tol,
                            double *size)
{
    const double t = tanh((double)d->host.x[i]);
    *size = 1;
    *tol = 2 * 5 * u * fabs(t);
    return t;
}

/* 24 ulp of x: for x far below 0 the result is far smaller than x. */
static double expected_gelu(const struct comparison *d, size_t i, double *tol,
                            double *size)
{
    const double x = (double)d->host.x[i];
    *size = fabs(x);
    *tol = 2 * 24 * u * fabs(x);
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

static double expected_axpy(const struct comparison *d, size_t i, double *tol,
                            double *size)
{
    const double ax = (double)loop_alpha * (double)d->host.x[i];
    const double y = (double)d->host.y[i];
    *size = fabs(ax) + fabs(y);
    *tol = 2 * u * *size;
    return ax + y;
}

/* softmax.h, xl_softmax_run(), Accuracy. */
static double expected_softmax(const struct comparison *d, size_t i,
                               double *tol, double *size)
{
    const size_t cols = d->c.cols;
    const float *row = d->host.x + i / cols * cols;
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < cols; j++)
        max = fmax(max, (double)row[j]);
    for (size_t j = 0; j < cols; j++)
        sum += exp((double)row[j] - max);
    const double below = max - (double)d->host.x[i];
    *size = exp(-below) / sum;
    *tol = *size * (below + 48 + 2 * log2((double)cols)) * u;
    return *size;
}

/* expr.h, sum. */
static double expected_sum(const struct comparison *d, size_t i, double *tol,
                           double *size)
{
    const size_t n = d->c.rows * d->c.cols;
    double sum = 0;
    (void)i; /* the only one */
    *size = 0;
    for (size_t e = 0; e < n; e++) {
        sum += (double)d->host.x[e];
        *size += fabs((double)d->host.x[e]);
    }
    *tol = 8 * u * *size;
    return sum;
}

/* clang-format off */
static const struct loop_case cases[] = {
    {"sincos",  "out = sin(x)^2 + cos(x)^2", 1, 100000000, false, false,
     loop_sincos, expected_sincos},
    {"exp",     "out = exp(x)",              1, 20000000, false, false,
     loop_exp, expected_exp},
    {"gelu",    "out = gelu(x)",             1, 20000000, false, false,
     loop_gelu, expected_gelu},
    {"tanh",    "out = tanh(x)",             1, 20000000, false, false,
     loop_tanh, expected_tanh},
    {"axpy",    "out = 1.75 * x + y",        1, 50000000, true, false,
     loop_axpy, expected_axpy},
    {"softmax", "out = softmax(x)",          10000, 2000, false, false,
     loop_softmax, expected_softmax},
    {"sum",     "out = sum(x)",              1, 100000000, false, true,
     loop_sum, expected_sum},
};
/* clang-format on */
enum { N_CASES = sizeof cases / sizeof *cases };

static size_t n_elems(const struct comparison *d)
{
    return d->c.rows * d->c.cols;
}
static size_t n_results(const struct comparison *d)
{
    return d->c.is_one ? 1 : n_elems(d);
}

/* -- running ------------------------------------------------------------- */

struct worker {
    const struct comparison *d;
    size_t first, last;
    double sum;
};

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    w->sum = w->d->c.loop(&w->d->host, w->first, w->last);
    return NULL;
}

/* The loop's range in equal slices, one a thread; the caller has the first. */
static xl_status run_theirs(const struct comparison *d)
{
    struct worker w[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    const size_t n = d->c.rows > 1 ? d->c.rows : n_elems(d);
    unsigned begun = 1;
    double sum = 0;
    for (unsigned i = 0; i < d->n_threads; i++)
        w[i] = (struct worker){
            .d = d,
            .first = n / d->n_threads * i,
            .last = i + 1 == d->n_threads ? n : n / d->n_threads * (i + 1)};
    while (begun < d->n_threads &&
           pthread_create(&thread[begun], NULL, run_worker, &w[begun]) == 0)
        begun++;
    run_worker(&w[0]);
    for (unsigned i = 1; i < begun; i++)
        (void)pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < begun; i++)
        sum += w[i].sum;
    if (d->c.is_one)
        d->host.out[0] = (float)sum;
    return begun == d->n_threads ? XL_OK : XL_NO_MEMORY;
}

static void bind_tensors(const struct comparison *d, xl_binding *b,
                         xl_expr_args *args)
{
    static const char *const names[] = {"x", "y", "out"};
    const size_t size[2] = {d->c.rows, d->c.cols}, one[2] = {1, 1};
    *args = (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = b,
                           .variant = d->s->set.variant};
    for (unsigned i = X; i < N_BUFFERS; i++) {
        if (i == Y && !d->c.has_y)
            continue;
        b[args->n_bindings++] = (xl_binding){
            .name = names[i],
            .tensor = xl_tensor_dense(d->mem[i], XL_F32, 2,
                                      i == OUT && d->c.is_one ? one : size)};
    }
}

static xl_status compile_expr(struct comparison *d, int library)
{
    xl_binding b[N_BUFFERS];
    xl_expr_args args;
    bind_tensors(d, b, &args);
    args.fast_math = library == FAST;
    return xl_expr_compile(d->q, d->c.text, &args, &d->expr[library]);
}

static xl_status run_library(void *arg, unsigned library)
{
    const struct comparison *d = arg;
    xl_binding b[N_BUFFERS];
    xl_expr_args args;
    if (library == THEIRS)
        return run_theirs(d);
    bind_tensors(d, b, &args);
    args.fast_math = library == FAST;
    return xl_expr_run(d->q, d->expr[library], &args, NULL);
}

static xl_status wait_all(void *arg)
{
    const struct comparison *d = arg;
    return xl_queue_finish(d->q);
}

/* -- checks -------------------------------------------------------------- */

static bool check_elements(const struct comparison *d, const float *got,
                           bool is_native)
{
    const size_t n = n_results(d), step = n / CHECKS + 1;
    for (size_t i = 0; i < n; i += step) {
        double tol, size;
        const double expected = d->c.expected(d, i, &tol, &size);
        if (is_native)
            tol = fmax(tol, native_frac * size);
        if (!(fabs((double)got[i] - expected) <= tol + 0x1p-126)) {
            fprintf(stderr,
                    "clbench: %s: element %zu is %.9g, expected %.9g\n",
                    d->c.name, i, (double)got[i], expected);
            return false;
        }
    }
    return true;
}

/* Each library computes once more, since the buffer may have the result of
 * either variant. libm states no bounds; those of OpenCL hold for it. */
static xl_status check_results(struct comparison *d)
{
    xl_status status = XL_OK;
    for (unsigned library = 0; library < N_LIBRARIES; library++) {
        const float *got = library == THEIRS ? d->host.out : d->ours;
        TRY(run_library(d, library));
        if (library != THEIRS)
            TRY(xl_buffer_read(d->q, d->mem[OUT], 0, d->ours,
                               n_results(d) * sizeof(float)));
        TRY(check_elements(d, got, library == FAST) ? XL_OK : XL_WRONG_RESULT);
    }
fail:
    return status;
}

/* -- rows ---------------------------------------------------------------- */

static double bytes_moved(const struct comparison *d)
{
    return 4 *
           ((double)n_elems(d) * (d->c.has_y ? 2 : 1) + (double)n_results(d));
}

static void finish_row(struct comparison *d, int library)
{
    static const char *const variants[N_LIBRARIES] = {
        "expr_fused", "expr_fused", "peer_libm"};
    xl_row *row = &d->row[library];
    xl__strcpy(row->variant, sizeof row->variant,
               library != THEIRS && d->s->set.variant ? d->s->set.variant
                                                      : variants[library]);
    xl_row_shape(row, "rows", (double)d->c.rows);
    xl_row_shape(row, "cols", (double)d->c.cols);
    xl_row_param_text(row, "case", d->c.name);
    if (library == THEIRS)
        xl_row_found(row, "threads", d->n_threads);
    else
        xl_row_param(row, "fast_math", library == FAST);
    row->dtype = XL_F32;
    row->seed = d->s->set.seed;
    row->bytes = bytes_moved(d);
    row->unit = "B/s";
    rounds_fill_row(&d->rounds, (unsigned)library, row);
}

static void report_case(struct comparison *d)
{
    for (int library = 0; library < N_LIBRARIES; library++)
        finish_row(d, library);
    table_cell(d->table, "%s", d->c.name);
    table_cell(d->table, "%.2f", d->row[THEIRS].samples.median_ns * 1e-6);
    for (int library = OURS; library <= FAST; library++) {
        const struct rounds_ratio ratio =
            rounds_ratio(&d->rounds, (unsigned)library, THEIRS);
        json_add(json_object_get(d->s->extra, "pairs"),
                 rounds_pair(&ratio, &d->row[library], &d->row[THEIRS]));
        table_cell(d->table, "%.2f", d->row[library].samples.median_ns * 1e-6);
        table_cell(d->table, "%.2f", ratio.median);
        table_cell(d->table, "%.2f..%.2f", ratio.lo, ratio.hi);
        table_cell(d->table, "%.0f %%",
                   100 * d->row[library].value / d->copy_bytes_per_s);
    }
    for (int library = 0; library < N_LIBRARIES; library++)
        session_row(d->s, d->dev, &d->row[library]);
}

/* -- memory -------------------------------------------------------------- */

static xl_status make_input(struct comparison *d, int i, struct xl__rng *rng,
                            const float **out)
{
    xl_status status = XL_OK;
    const size_t n = n_elems(d);
    float *x = xl__calloc(n, sizeof *x);
    *out = x;
    TRY(x ? XL_OK : XL_NO_MEMORY);
    for (size_t e = 0; e < n; e++)
        x[e] = (float)(range * (2 * xl__rng_uniform(rng) - 1));
    TRY(xl_buffer_create(d->q, n * sizeof *x, &d->mem[i]));
    TRY(xl_buffer_write(d->q, d->mem[i], 0, x, n * sizeof *x));
fail:
    return status;
}

static xl_status make_data(struct comparison *d)
{
    xl_status status = XL_OK;
    struct xl__rng rng;
    const size_t bytes = n_results(d) * sizeof(float);
    xl__rng_seed(&rng, d->s->set.seed);
    d->host.cols = d->c.cols;
    TRY(make_input(d, X, &rng, &d->host.x));
    if (d->c.has_y)
        TRY(make_input(d, Y, &rng, &d->host.y));
    d->host.out = malloc(bytes);
    d->ours = malloc(bytes);
    TRY(d->host.out && d->ours ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_create(d->q, bytes, &d->mem[OUT]));
fail:
    return status;
}

static void free_data(struct comparison *d)
{
    for (int i = 0; i < N_BUFFERS; i++)
        if (d->mem[i])
            clReleaseMemObject(d->mem[i]);
    for (int library = 0; library < N_LIBRARIES; library++)
        xl_expr_destroy(d->expr[library]);
    free((void *)d->host.x);
    free((void *)d->host.y);
    free(d->host.out);
    free(d->ours);
    memset(&d->host, 0, sizeof d->host);
    memset(d->mem, 0, sizeof d->mem);
    memset(d->expr, 0, sizeof d->expr);
    d->ours = NULL;
}

/* -- the run ------------------------------------------------------------- */

static bool is_selected(const struct session *s, const struct loop_case *c)
{
    for (unsigned i = 0; i < s->set.n_words; i++)
        if (strcmp(s->set.words[i], c->name) == 0)
            return true;
    return s->set.n_words == 0;
}

static bool check_case_names(const struct session *s)
{
    for (unsigned i = 0; i < s->set.n_words; i++) {
        unsigned k = 0;
        while (k < N_CASES && strcmp(s->set.words[i], cases[k].name) != 0)
            k++;
        if (k == N_CASES) {
            fprintf(stderr, "clbench: unknown case '%s'; must be one of:",
                    s->set.words[i]);
            for (k = 0; k < N_CASES; k++)
                fprintf(stderr, " %s", cases[k].name);
            fputc('\n', stderr);
            return false;
        }
    }
    return true;
}

/* The bandwidth that all libraries share. On a busy machine it is measured too
 * low, never too high, so it is measured with every case and the highest
 * counts. */
static xl_status measure_copy(struct comparison *d)
{
    xl_fact fact = {.value = 0};
    xl_status status = XL_OK;
    TRY(xl_peaks_measure_again(d->q, XL_F32));
    TRY(xl_device_fact(d->dev, "copy_bytes_per_s", XL_UNKNOWN, &fact));
    d->copy_bytes_per_s = fact.value;
fail:
    return status;
}

static unsigned count_threads(const xl_device *dev)
{
    xl_fact units = {.value = 1};
    (void)xl_device_fact(dev, "compute_units", XL_UNKNOWN, &units);
    return (unsigned)fmin(MAX_THREADS, fmax(1, units.value));
}

static int compare_case(struct comparison *d)
{
    const struct settings *set = &d->s->set;
    xl_status status;
    if (set->quick)
        d->c.cols = (d->c.cols + QUICK_DIVISOR - 1) / QUICK_DIVISOR;
    for (int library = 0; library < N_LIBRARIES; library++)
        xl_row_init(&d->row[library], "expr", "");
    TRY(make_data(d));
    TRY(compile_expr(d, OURS));
    TRY(compile_expr(d, FAST));
    TRY(check_results(d));
    d->rounds = (struct rounds){.s = d->s,
                                .n_libraries = N_LIBRARIES,
                                .n_required = rounds_required(set),
                                .calls = 1,
                                .run = run_library,
                                .wait = wait_all,
                                .arg = d};
    TRY(rounds_measure(&d->rounds));
    TRY(measure_copy(d));
    report_case(d);
fail:
    free_data(d);
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(d->s, d->c.name, status, xl_error_detail(d->q));
}

static int compare_cases(struct comparison *d)
{
    struct session *s = d->s;
    char note[160];
    int code = EXIT_FINE;
    snprintf(note, sizeof note,
             "f32, x uniform in +-10, wall clock, interleaved; libm on %u "
             "threads",
             d->n_threads);
    session_section(s, ROWS_USUAL, "Expressions beside C loops over libm", note);
    progress_begin(s, N_CASES);
    for (unsigned i = 0; i < N_CASES && !session_stopped(s); i++) {
        progress_step(s, cases[i].name);
        if (!is_selected(s, &cases[i]))
            continue;
        d->c = cases[i];
        const int failed = compare_case(d);
        code = failed ? failed : code;
    }
    progress_end(s);
    session_section_end(s);
    return code;
}

static int run_command(struct session *s)
{
    static const struct table_column columns[] = {
        {"case", false, 0},  {"libm", true, 0},  {"ours", true, 0},
        {"ratio", true, 0},  {"95 %", false, 0}, {"copy", true, 0},
        {"native", true, 0}, {"ratio", true, 0}, {"95 %", false, 0},
        {"copy", true, 0}};
    struct comparison d = {.s = s};
    if (!check_case_names(s))
        return EXIT_USAGE;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    s->extra = json_object();
    json_put(s->extra, "pairs", json_array());
    d.dev = s->devices[0];
    d.q = session_queue(s, d.dev);
    if (!d.q)
        return EXIT_NO_DEVICE;
    d.table = table_create(columns, sizeof columns / sizeof *columns);
    d.n_threads = count_threads(d.dev);
    code = compare_cases(&d);
    if (session_tables(s)) {
        printf("\nTimes in ms. Ratios: the loop's over ours, round by round; "
               "above 1 ours is\nthe faster. Of copy, %.1f GB/s, at the end "
               "of each case.\n\n",
               d.copy_bytes_per_s * 1e-9);
        table_print(stdout, d.table, text_terminal_columns(),
                    text_has_colour());
    }
    table_destroy(d.table);
    xl_queue_destroy(d.q);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {"device", "variant", "json",     "seed",
                                      "quick",  "full",    "max-time", NULL};

static const struct command peer_expr = {
    .name = "expr",
    .summary = "fused expressions and C loops over libm, interleaved",
    .words = "[CASE...]",
    .about = "For each CASE (sincos, exp, gelu, tanh, axpy, softmax, sum; all "
             "when none is given), the device and a plain C loop over libm, "
             "with a thread for each compute unit, are timed in interleaved "
             "rounds on the same random f32 data; every result is compared "
             "with the host in double.",
    .options = options,
    .min_words = 0,
    .max_words = N_CASES,
    .run = run_command,
};

const struct command *const commands[] = {&peer_expr, NULL};
