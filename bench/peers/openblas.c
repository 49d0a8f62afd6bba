/* SPDX-License-Identifier: Apache-2.0 */
/* clbench-peer-openblas: our GEMM and OpenBLAS's on the same shapes, data and
 * cores, turn by turn (rounds.h), each with as many threads as the device has
 * compute units and held to a core each (fair.h). It is clbench with a table
 * of commands of its own, so options, tables and files are clbench's. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "base/alloc.h"
#include "fair.h"
#include "timing/run_cases.h"
#include "cases/host_ops.h"
#include "report/report.h"
#include "rounds.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { A, B, C };
enum { OURS, THEIRS, N_SIDES };
/* Threads of OpenBLAS go on turning for some time after a call. */
static const uint64_t rest_ns = 60000000;

/* One shape: both sides' memory, and the times of a run in each round. */
struct duel {
    struct session *s;
    xl_queue *q;
    xl_device *dev;
    struct table *table;
    struct gemm_case c;
    struct bench_data data;
    float *result; /* OpenBLAS's */
    xl_row row[N_SIDES];
    struct rounds rounds;
    struct fair_threads threads;
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

static xl_status run_theirs(const struct duel *d)
{
    const struct gemm_case *c = &d->c;
    cblas_sgemm(CblasRowMajor, c->trans & 1 ? CblasTrans : CblasNoTrans,
                c->trans & 2 ? CblasTrans : CblasNoTrans, (blasint)c->m,
                (blasint)c->n, (blasint)c->k, 1, d->data.host[A],
                (blasint)ld_a(c), d->data.host[B], (blasint)ld_b(c), 0,
                d->result, (blasint)c->n);
    return XL_OK;
}

static struct bench_work our_work(const struct duel *d)
{
    return (struct bench_work){
        .c = &d->c, .data = &d->data, .variant = d->s->set.variant};
}

static xl_status run_side(void *arg, unsigned side)
{
    const struct duel *d = arg;
    const struct bench_work work = our_work(d);
    return side == OURS ? bench_gemm.run(d->q, &work) : run_theirs(d);
}

static xl_status wait_all(void *arg)
{
    const struct duel *d = arg;
    return xl_queue_finish(d->q);
}

/* The caller's thread is one of OpenBLAS's workers, but none of a driver's. */
static void take_turn(void *arg, unsigned side)
{
    const struct duel *d = arg;
    fair_pin_caller(&d->threads, side == THEIRS);
}

/* -- are both right? ------------------------------------------------------ */

/* Euclidean lengths of the rows of op(A), or of the columns of op(B). */
static void lengths(const struct ref_mat *m, size_t n, size_t k, double *out)
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
static bool agree(const struct duel *d, const float *ours, double *length)
{
    const struct gemm_case *c = &d->c;
    const bool ta = c->trans & 1, tb = c->trans & 2;
    const struct ref_mat a = {d->data.host[A], 0, ta ? 1 : c->k, ta ? c->m : 1,
                              XL_F32};
    const struct ref_mat bt = {d->data.host[B], 0, tb ? c->k : 1,
                               tb ? 1 : c->n, XL_F32};
    const double u = (double)c->k * ref_roundoff(XL_F32);
    const double gamma = u / (1 - u);
    lengths(&a, c->m, c->k, length);
    lengths(&bt, c->n, c->k, length + c->m);
    for (size_t i = 0; i < c->m * c->n; i++) {
        const double most =
            2 * gamma * length[i / c->n] * length[c->m + i % c->n];
        if (!(fabs((double)ours[i] - (double)d->result[i]) <= most))
            return false;
    }
    return true;
}

static xl_status compare(struct duel *d)
{
    xl_status status;
    const struct gemm_case *c = &d->c;
    const size_t bytes = c->m * c->n * sizeof(float);
    const struct bench_work work = our_work(d);
    struct check_result found;
    float *ours = malloc(bytes);
    double *length = xl__calloc(c->m + c->n, sizeof *length);
    TRY(ours && length ? XL_OK : XL_NO_MEMORY);
    TRY(bench_gemm.check(d->q, &work, &found));
    TRY(xl_buffer_read(d->q, d->data.mem[C], 0, ours, bytes));
    status = agree(d, ours, length) ? XL_OK : XL_WRONG_RESULT;
fail:
    free(ours);
    free(length);
    return status;
}

/* -- rows ----------------------------------------------------------------- */

/* A round that others disturbed and that flatters us spoils the figure. */
static void doubt(struct duel *d, const struct rounds_ratio *ratio)
{
    if (ratio->n_suspect == 0)
        return;
    d->n_suspect += ratio->n_suspect;
    for (int side = 0; side < N_SIDES; side++) {
        d->row[side].verdict = XL_ROW_SUSPICIOUS;
        snprintf(d->row[side].reason, sizeof d->row[side].reason,
                 "other processes took the cores in %u of %u rounds",
                 ratio->n_suspect, d->rounds.n);
    }
}

static void cell_rate(const struct duel *d, int side)
{
    const double flop = d->row[side].flop, giga = 1e9;
    table_cell(d->table, "%.4g (%.4g)", d->row[side].value / giga,
               flop / d->row[side].samples.min_ns * 1e9 / giga);
}

static void show(struct duel *d)
{
    const struct rounds_ratio ratio = rounds_ratio(&d->rounds, OURS, THEIRS);
    for (int side = 0; side < N_SIDES; side++)
        rounds_row(&d->rounds, (unsigned)side, &d->row[side]);
    doubt(d, &ratio);
    json_add(json_object_get(d->s->extra, "pairs"),
             rounds_pair(&ratio, &d->row[OURS], &d->row[THEIRS]));
    for (int side = 0; side < N_SIDES; side++)
        session_row(d->s, d->dev, &d->row[side]);
    if (d->c.m == d->c.n && d->c.n == d->c.k)
        table_cell(d->table, "%zu^3", d->c.m);
    else
        table_cell(d->table, "%zux%zux%zu", d->c.m, d->c.n, d->c.k);
    table_cell(d->table, "%s", d->row[OURS].variant);
    cell_rate(d, OURS);
    cell_rate(d, THEIRS);
    table_cell(d->table, "%.3f", ratio.median);
    table_cell(d->table, "%.2f..%.2f", ratio.lo, ratio.hi);
    table_cell(d->table, "%.2f", ratio.best);
    table_cell(d->table, "%u+%u", d->rounds.n, d->rounds.n_redone);
}

/* Whose kernels ours are: the variant that the library takes. */
static xl_status name_rows(struct duel *d)
{
    const struct bench_work work = our_work(d);
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
    for (int side = 0; side < N_SIDES; side++) {
        d->row[side].seed = d->data.seed;
        bench_gemm.describe(&d->c, &d->row[side]);
        xl_row_found(&d->row[side], "threads", openblas_get_num_threads());
    }
fail:
    return status;
}

/* -- memory --------------------------------------------------------------- */

static xl_status make_data(struct duel *d)
{
    xl_status status = XL_OK;
    TRY(bench_data_init(&d->data, &bench_gemm, &d->c, d->s->set.seed));
    TRY(bench_data_upload(d->q, &d->data));
    d->result = xl__calloc(d->data.buffer[C].elems, sizeof *d->result);
    TRY(d->result ? XL_OK : XL_NO_MEMORY);
fail:
    return status;
}

static void drop_data(struct duel *d)
{
    bench_data_release(&d->data);
    bench_data_clear(&d->data);
    free(d->result);
    d->result = NULL;
}

/* -- the run -------------------------------------------------------------- */

static int one_shape(struct duel *d)
{
    xl_status status;
    d->rounds = (struct rounds){
        .s = d->s,
        .n_sides = N_SIDES,
        .wanted = rounds_wanted(&d->s->set),
        .calls = d->s->set.calls ? (unsigned)d->s->set.calls : 1,
        .rest_ns = rest_ns,
        .run = run_side,
        .wait = wait_all,
        .turn = take_turn,
        .arg = d};
    TRY(make_data(d));
    TRY(name_rows(d));
    TRY(rounds_take(&d->rounds));
    TRY(compare(d));
    show(d);
fail:
    drop_data(d);
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(d->s, "the two side by side", status,
                        xl_error_detail(d->q));
}

/* A processor younger than the library gets kernels of twenty years ago: then
 * those of the youngest that it knows and that suits are asked for. NULL: what
 * it took will do. */
static const char *better_kernels(void)
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

static void prepare(struct fair_threads *threads)
{
    fair_variables();
    const char *better = better_kernels();
    if (better) {
        fprintf(stderr, "clbench: OpenBLAS does not know this processor and "
                        "took its kernels for %.32s; %s asked for instead\n",
                openblas_get_corename(), better);
        fair_start_with("OPENBLAS_CORETYPE", better);
    }
    /* Only threads of OpenBLAS are there yet, and the caller's. */
    fair_pin(threads);
}

/* OpenBLAS's side is f32, one product at a time, sizes of an int. */
static bool is_for_both(struct gemm_case *c)
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

/* As many threads as ours has. */
static void describe_sides(const struct duel *d, char *out, size_t cap)
{
    xl_fact units = {.value = 1};
    (void)xl_device_fact(d->dev, "compute_units", XL_UNKNOWN, &units);
    openblas_set_num_threads((int)fmax(1, units.value));
    snprintf(out, cap,
             "wall clock, turn by turn; OpenBLAS with its kernels for %.32s",
             openblas_get_corename());
}

static int duels(struct duel *d, const struct bench_cases *cases)
{
    struct session *s = d->s;
    char note[192];
    int code = EXIT_FINE;
    describe_sides(d, note, sizeof note);
    session_section(s, "GEMM beside OpenBLAS", note);
    progress_begin(s, (unsigned)cases->n);
    for (size_t i = 0; i < cases->n && !session_stopped(s); i++) {
        char what[64];
        memcpy(&d->c, cases->list[i], sizeof d->c);
        snprintf(what, sizeof what, "%zux%zux%zu", d->c.m, d->c.n, d->c.k);
        progress_step(s, what);
        const int failed = is_for_both(&d->c) ? one_shape(d) : EXIT_FINE;
        code = failed ? failed : code;
    }
    progress_end(s);
    session_section_end(s);
    return code;
}

static void print_ratios(const struct duel *d)
{
    printf("Ratios: OpenBLAS's time over ours, the median round by round; "
           "above 1 ours\nis the faster. Rates in GFLOP/s, the best in "
           "brackets; rounds + those done once\nmore because other processes "
           "took the cores.\n\n");
    table_print(stdout, d->table, text_terminal_columns(),
                text_wants_colour());
    if (d->n_suspect > 0)
        printf("\n%u rounds are suspect: above 1.1 while other processes "
               "took the cores.\nMeasure again on a quiet machine.\n",
               d->n_suspect);
}

static int run_cases(struct duel *d, const struct bench_cases *cases)
{
    static const struct table_column columns[] = {
        {"shape", false, 8},     {"ours", false, 6},  {"GFLOP/s", true, 0},
        {"OpenBLAS", true, 0},   {"ratio", true, 0},  {"95 %", false, 0},
        {"best", true, 0},       {"rounds", true, 0}};
    struct session *s = d->s;
    s->extra = json_object();
    json_put(s->extra, "pairs", json_array());
    d->dev = s->devices[0];
    d->q = session_queue(s, d->dev);
    if (!d->q)
        return EXIT_NO_DEVICE;
    d->table = table_create(columns, sizeof columns / sizeof *columns);
    const int code = duels(d, cases);
    if (session_tables(s))
        print_ratios(d);
    table_destroy(d->table);
    xl_queue_destroy(d->q);
    return code;
}

static int run(struct session *s)
{
    static const char *usual[] = {"256",  "512",  "1000", "1023",
                                  "1024", "1537", "2048"};
    struct duel d = {.s = s};
    struct bench_cases cases;
    prepare(&d.threads);
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

static const char *const options[] = {
    "device", "variant", "trans", "shapes", "calls", "json",
    "seed",   "quick",   "full",  "max-time", NULL};

static const struct command peer_gemm = {
    .name = "gemm",
    .summary = "our GEMM and OpenBLAS's, turn by turn",
    .words = "[SHAPE...]",
    .about = "For each SHAPE, MxNxK or N for a cube, both libraries take "
             "turns on the same random f32 data in one run; results are "
             "compared, with each other and with the host in double. Types "
             "that a file of shapes gives are passed over: both take f32.",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run,
};

const struct command *const commands[] = {&peer_gemm, NULL};
