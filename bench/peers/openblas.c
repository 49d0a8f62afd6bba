/* SPDX-License-Identifier: Apache-2.0 */
/* clbench-peer-openblas: crosslane's GEMM and OpenBLAS's on the same shapes,
 * data and cores, in interleaved rounds (rounds.h), each with as many threads
 * as the device has compute units and held to a core each (thread_pinning.h).
 * It is clbench with a table of commands of its own, so options, tables and
 * files are clbench's. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/str.h"
#include "thread_pinning.h"
#include "timing/run_cases.h"
#include "cases/host_ops.h"
#include "report/report.h"
#include "rounds.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { A, B, C };
enum { OURS, THEIRS, N_LIBRARIES };
/* Threads of OpenBLAS wait busily for some time after a call. */
static const uint64_t rest_ns = 60000000;

/* One shape: memory of both libraries, and the times by round. */
struct comparison {
    struct session *s;
    xl_queue *q;
    xl_device *dev;
    struct table *table;
    struct gemm_case c;
    struct bench_data data;
    float *result; /* OpenBLAS's */
    xl_row row[N_LIBRARIES];
    struct rounds rounds;
    struct pinned_threads threads;
    unsigned n_suspect;
};

static size_t ld_a(const struct gemm_case *c)
{
    return c->trans & 1 ? c->m : c->k;
}

static size_t ld_b(const struct gemm_case *c)
{
    return c->trans & 2 ? c->k : c->n;
}

static xl_status run_theirs(const struct comparison *d)
{
    const struct gemm_case *c = &d->c;
    cblas_sgemm(CblasRowMajor, c->trans & 1 ? CblasTrans : CblasNoTrans,
                c->trans & 2 ? CblasTrans : CblasNoTrans, (blasint)c->m,
                (blasint)c->n, (blasint)c->k, 1, d->data.host[A],
                (blasint)ld_a(c), d->data.host[B], (blasint)ld_b(c), 0,
                d->result, (blasint)c->n);
    return XL_OK;
}

static struct case_run describe_call(const struct comparison *d)
{
    return (struct case_run){
        .c = &d->c, .data = &d->data, .variant = d->s->set.variant};
}

static xl_status run_library(void *arg, unsigned library)
{
    const struct comparison *d = arg;
    const struct case_run work = describe_call(d);
    return library == OURS ? bench_gemm.run(d->q, &work) : run_theirs(d);
}

static xl_status wait_all(void *arg)
{
    const struct comparison *d = arg;
    return xl_queue_finish(d->q);
}

/* The caller's thread is one of OpenBLAS's workers, but none of a driver's. */
static void select_library(void *arg, unsigned library)
{
    const struct comparison *d = arg;
    pinning_pin_caller(&d->threads, library == THEIRS);
}

/* -- checks --------------------------------------------------------------- */

/* Euclidean lengths of the rows of op(A), or of the columns of op(B). */
static void measure_lengths(const struct ref_mat *m, size_t n, size_t k,
                            double *out)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t p = 0; p < k; p++) {
            const double x = ref_at(m, i, p);
            sum += x * x;
        }
        out[i] = sqrt(sum);
    }
}

/* Every element, against twice the bound of a dot product, |A||B| bounded by
 * the lengths of row and column (Cauchy and Schwarz). */
static bool check_elements(const struct comparison *d, const float *ours,
                           double *length)
{
    const struct gemm_case *c = &d->c;
    const bool ta = c->trans & 1, tb = c->trans & 2;
    const struct ref_mat a = {d->data.host[A], 0, ta ? 1 : c->k, ta ? c->m : 1,
                              XL_F32};
    const struct ref_mat bt = {d->data.host[B], 0, tb ? c->k : 1,
                               tb ? 1 : c->n, XL_F32};
    const double u = (double)c->k * ref_roundoff(XL_F32);
    const double gamma = u / (1 - u);
    measure_lengths(&a, c->m, c->k, length);
    measure_lengths(&bt, c->n, c->k, length + c->m);
    for (size_t i = 0; i < c->m * c->n; i++) {
        const double most =
            2 * gamma * length[i / c->n] * length[c->m + i % c->n];
        if (!(fabs((double)ours[i] - (double)d->result[i]) <= most))
            return false;
    }
    return true;
}

static xl_status check_results(struct comparison *d)
{
    xl_status status;
    const struct gemm_case *c = &d->c;
    const size_t bytes = c->m * c->n * sizeof(float);
    const struct case_run work = describe_call(d);
    struct check_result found;
    float *ours = malloc(bytes);
    double *length = xl__calloc(c->m + c->n, sizeof *length);
    TRY(ours && length ? XL_OK : XL_NO_MEMORY);
    TRY(bench_gemm.check(d->q, &work, &found));
    TRY(xl_buffer_read(d->q, d->data.mem[C], 0, ours, bytes));
    status = check_elements(d, ours, length) ? XL_OK : XL_WRONG_RESULT;
fail:
    free(ours);
    free(length);
    return status;
}

/* -- rows ----------------------------------------------------------------- */

/* A disturbed round with a high ratio makes both rows suspicious. */
static void mark_suspect(struct comparison *d,
                         const struct rounds_ratio *ratio)
{
    if (ratio->n_suspect == 0)
        return;
    d->n_suspect += ratio->n_suspect;
    for (int library = 0; library < N_LIBRARIES; library++) {
        d->row[library].verdict = XL_ROW_SUSPICIOUS;
        xl__strfmt(d->row[library].reason, sizeof d->row[library].reason,
                   "other processes used the cores in %u of %u rounds",
                   ratio->n_suspect, d->rounds.n);
    }
}

static void add_rate_cell(const struct comparison *d, int library)
{
    const double flop = d->row[library].flop, giga = 1e9;
    table_cell(d->table, "%.4g (%.4g)", d->row[library].value / giga,
               flop / d->row[library].samples.min_ns * 1e9 / giga);
}

static void report_shape(struct comparison *d)
{
    const struct rounds_ratio ratio = rounds_ratio(&d->rounds, OURS, THEIRS);
    for (int library = 0; library < N_LIBRARIES; library++)
        rounds_fill_row(&d->rounds, (unsigned)library, &d->row[library]);
    mark_suspect(d, &ratio);
    json_add(json_object_get(d->s->extra, "pairs"),
             rounds_pair(&ratio, &d->row[OURS], &d->row[THEIRS]));
    for (int library = 0; library < N_LIBRARIES; library++)
        session_row(d->s, d->dev, &d->row[library]);
    if (d->c.m == d->c.n && d->c.n == d->c.k)
        table_cell(d->table, "%zu^3", d->c.m);
    else
        table_cell(d->table, "%zux%zux%zu", d->c.m, d->c.n, d->c.k);
    table_cell(d->table, "%s", d->row[OURS].variant);
    add_rate_cell(d, OURS);
    add_rate_cell(d, THEIRS);
    table_cell(d->table, "%.3f", ratio.median);
    table_cell(d->table, "%.2f..%.2f", ratio.lo, ratio.hi);
    table_cell(d->table, "%.2f", ratio.best);
    table_cell(d->table, "%u+%u", d->rounds.n, d->rounds.n_redone);
}

/* Rows named by the variant that crosslane chooses. */
static xl_status name_rows(struct comparison *d)
{
    const struct case_run work = describe_call(d);
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    xl_status status = XL_OK;
    const char *name = d->s->set.variant;
    memset(choices, 0, sizeof choices);
    TRY(bench_gemm.explain(d->q, &work, choices, &n));
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen)
            name = choices[i].variant;
    xl_row_init(&d->row[OURS], "gemm", name ? name : "");
    xl_row_init(&d->row[THEIRS], "gemm", "peer_openblas");
    for (int library = 0; library < N_LIBRARIES; library++) {
        d->row[library].seed = d->data.seed;
        bench_gemm.describe(&d->c, &d->row[library]);
        xl_row_found(&d->row[library], "threads", openblas_get_num_threads());
    }
fail:
    return status;
}

/* -- memory --------------------------------------------------------------- */

static xl_status make_data(struct comparison *d)
{
    xl_status status = XL_OK;
    TRY(bench_data_init(&d->data, &bench_gemm, &d->c, d->s->set.seed));
    TRY(bench_data_upload(d->q, &d->data));
    d->result = xl__calloc(d->data.buffer[C].elems, sizeof *d->result);
    TRY(d->result ? XL_OK : XL_NO_MEMORY);
fail:
    return status;
}

static void free_data(struct comparison *d)
{
    bench_data_release(&d->data);
    bench_data_clear(&d->data);
    free(d->result);
    d->result = NULL;
}

/* -- the run -------------------------------------------------------------- */

static int compare_shape(struct comparison *d)
{
    xl_status status;
    d->rounds = (struct rounds){
        .s = d->s,
        .n_libraries = N_LIBRARIES,
        .n_required = rounds_required(&d->s->set),
        .calls = d->s->set.calls ? (unsigned)d->s->set.calls : 1,
        .rest_ns = rest_ns,
        .run = run_library,
        .wait = wait_all,
        .select = select_library,
        .arg = d};
    TRY(make_data(d));
    TRY(name_rows(d));
    TRY(rounds_measure(&d->rounds));
    TRY(check_results(d));
    report_shape(d);
fail:
    free_data(d);
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(d->s, "GEMM beside OpenBLAS", status,
                        xl_error_detail(d->q));
}

/* On a processor that is newer than the library, OpenBLAS chooses kernels for
 * a very old one. Returns the newest kernels in the library that the processor
 * runs, or NULL: those in use are suitable. */
static const char *find_better_kernels(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    static const char *const wide[] = {"SkylakeX", "Cooperlake",
                                       "SapphireRapids", "Zen", NULL};
    static const char *const middle[] = {"Haswell", "Excavator", NULL};
    const char *took = openblas_get_corename();
    const bool has_wide = __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq");
    for (const char *const *name = wide; *name; name++)
        if (strcmp(took, *name) == 0)
            return NULL;
    if (has_wide)
        return wide[0];
    for (const char *const *name = middle; *name; name++)
        if (strcmp(took, *name) == 0)
            return NULL;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return middle[0];
#endif
    return NULL;
}

static void prepare_process(struct pinned_threads *threads)
{
    pinning_clear_variables();
    const char *better = find_better_kernels();
    if (better) {
        fprintf(stderr,
                "clbench: OpenBLAS has no kernels for this processor and "
                "chose those for %.32s; restarting with %s\n",
                openblas_get_corename(), better);
        pinning_restart_with("OPENBLAS_CORETYPE", better);
    }
    /* So far only OpenBLAS's threads and the caller's exist. */
    pinning_pin_threads(threads);
}

/* OpenBLAS computes one product of f32 at a time, with sizes of an int. */
static bool is_supported(struct gemm_case *c)
{
    const char *why = c->m > INT_MAX || c->n > INT_MAX || c->k > INT_MAX
                          ? "too large for OpenBLAS"
                      : c->batch.count > 1 ? "OpenBLAS has no batches"
                                           : NULL;
    c->in = c->out = XL_F32;
    if (why)
        fprintf(stderr, "clbench: %zux%zux%zu skipped: %s\n", c->m, c->n, c->k,
                why);
    return !why;
}

/* OpenBLAS gets as many threads as the device has compute units. */
static void describe_libraries(const struct comparison *d, char *out,
                               size_t cap)
{
    xl_fact units = {.value = 1};
    (void)xl_device_fact(d->dev, "compute_units", XL_UNKNOWN, &units);
    openblas_set_num_threads((int)fmax(1, units.value));
    snprintf(out, cap,
             "wall clock, interleaved; OpenBLAS with its kernels for %.32s",
             openblas_get_corename());
}

static int compare_cases(struct comparison *d, const struct bench_cases *cases)
{
    struct session *s = d->s;
    char note[192];
    int code = EXIT_FINE;
    describe_libraries(d, note, sizeof note);
    session_section(s, ROWS_USUAL, "GEMM beside OpenBLAS", note);
    progress_begin(s, (unsigned)cases->n);
    for (size_t i = 0; i < cases->n && !session_stopped(s); i++) {
        char what[64];
        memcpy(&d->c, cases->list[i], sizeof d->c);
        snprintf(what, sizeof what, "%zux%zux%zu", d->c.m, d->c.n, d->c.k);
        progress_step(s, what);
        const int failed = is_supported(&d->c) ? compare_shape(d) : EXIT_FINE;
        code = failed ? failed : code;
    }
    progress_end(s);
    session_section_end(s);
    return code;
}

static void print_ratios(const struct comparison *d)
{
    printf("Ratios: OpenBLAS's time over ours, the median round by round; "
           "above 1 ours\nis the faster. Rates in GFLOP/s, the best in "
           "brackets; rounds + those repeated\nbecause other processes "
           "used the cores.\n\n");
    table_print(stdout, d->table, text_terminal_columns(), text_has_colour());
    if (d->n_suspect > 0)
        printf("\n%u rounds are suspect: above 1.1 while other processes "
               "used the cores.\nMeasure again on a quiet machine.\n",
               d->n_suspect);
}

static int run_cases(struct comparison *d, const struct bench_cases *cases)
{
    static const struct table_column columns[] = {
        {"shape", false, 8},   {"ours", false, 6}, {"GFLOP/s", true, 0},
        {"OpenBLAS", true, 0}, {"ratio", true, 0}, {"95 %", false, 0},
        {"best", true, 0},     {"rounds", true, 0}};
    struct session *s = d->s;
    s->extra = json_object();
    json_put(s->extra, "pairs", json_array());
    d->dev = s->devices[0];
    d->q = session_queue(s, d->dev);
    if (!d->q)
        return EXIT_NO_DEVICE;
    d->table = table_create(columns, sizeof columns / sizeof *columns);
    const int code = compare_cases(d, cases);
    if (session_tables(s))
        print_ratios(d);
    table_destroy(d->table);
    xl_queue_destroy(d->q);
    return code;
}

static int run_command(struct session *s)
{
    static const char *usual[] = {"256",  "512",  "1000", "1023",
                                  "1024", "1537", "2048"};
    struct comparison d = {.s = s};
    struct bench_cases cases;
    prepare_process(&d.threads);
    if (s->set.n_words == 0 && s->set.shape_files.n == 0) {
        free(s->set.words);
        s->set.words = xl__calloc(sizeof usual / sizeof *usual, sizeof *usual);
        s->set.n_words = s->set.words ? sizeof usual / sizeof *usual : 0;
        for (unsigned i = 0; i < s->set.n_words; i++)
            s->set.words[i] = usual[i];
    }
    int code = bench_cases_read(s, &bench_gemm, &cases);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    if (code == EXIT_FINE)
        code = run_cases(&d, &cases);
    bench_cases_clear(&cases);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {"device", "variant",  "trans", "shapes",
                                      "calls",  "json",     "seed",  "quick",
                                      "full",   "max-time", NULL};

static const struct command peer_gemm = {
    .name = "gemm",
    .summary = "crosslane's GEMM and OpenBLAS's, interleaved",
    .words = "[SHAPE...]",
    .about =
        "For each SHAPE, MxNxK or N for a cube, both libraries are "
        "timed in interleaved rounds on the same random f32 data; results "
        "are compared, with each other and with the host in double. Types "
        "that a file of shapes gives are passed over: both take f32.",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_command,
};

const struct command *const commands[] = {&peer_gemm, NULL};
