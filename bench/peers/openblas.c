/* SPDX-License-Identifier: Apache-2.0 */
/* clbench-peer-openblas: our GEMM and OpenBLAS's on the same shapes, data and
 * cores. The two take turns in one run, since a shared machine changes speed
 * from second to second; each round gives a ratio, and those are what is
 * quoted. It is clbench with a table of commands of its own, so options,
 * tables and files are clbench's. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "json_values.h"
#include "op_bench.h"
#include "ref.h"
#include "report.h"
#include "shapes.h"
#include "table.h"
#include "text.h"

enum { A, B, C };
enum { QUICK_ROUNDS = 7, ROUNDS = 15, FULL_ROUNDS = 41, MOST_BATCH = 4096 };
static const double batch_ns = 50e6;
/* OpenBLAS's threads go on turning for some time after a call. */
static const uint64_t rest_ns = 100000000;

enum side { OURS, THEIRS, N_SIDES };

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
    unsigned rounds, batch[N_SIDES];
};

static size_t ld_a(const struct gemm_case *c)
{
    return c->trans & 1 ? c->m : c->k;
}

static size_t ld_b(const struct gemm_case *c)
{
    return c->trans & 2 ? c->k : c->n;
}

static xl_status run_theirs(struct duel *d)
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

static xl_status run_ours(struct duel *d)
{
    const struct bench_work work = our_work(d);
    return bench_gemm.run(d->q, &work);
}

/* Wall clock of n runs, of one in *ns: the same for both. */
static xl_status time_runs(struct duel *d, enum side side, unsigned n,
                           double *ns)
{
    xl_status status = XL_OK;
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < n; i++)
        TRY(side == OURS ? run_ours(d) : run_theirs(d));
    TRY(xl_queue_finish(d->q));
    *ns = (double)(xl__now_ns() - start) / n;
fail:
    return status;
}

/* One side's turn: rest, warm up, measure. */
static xl_status turn(struct duel *d, enum side side, unsigned round)
{
    xl_status status = XL_OK;
    double warm;
    xl__sleep_ns(rest_ns);
    TRY(time_runs(d, side, 1, &warm));
    TRY(time_runs(d, side, d->batch[side], &d->row[side].samples.ns[round]));
fail:
    return status;
}

/* As many runs as fill a batch, by the second of two. */
static xl_status size_batch(struct duel *d, enum side side)
{
    xl_status status = XL_OK;
    double ns = 0;
    for (int i = 0; i < 2; i++)
        TRY(time_runs(d, side, 1, &ns));
    d->batch[side] =
        (unsigned)fmin(MOST_BATCH, fmax(1, ceil(batch_ns / fmax(ns, 1))));
fail:
    return status;
}

/* Whoever begins changes from round to round. */
static xl_status alternate(struct duel *d, unsigned rounds)
{
    xl_status status = XL_OK;
    TRY(size_batch(d, OURS));
    TRY(size_batch(d, THEIRS));
    for (d->rounds = 0; d->rounds < rounds; d->rounds++) {
        const enum side first = d->rounds % 2 ? THEIRS : OURS;
        if (session_stopped(d->s))
            break;
        TRY(turn(d, first, d->rounds));
        TRY(turn(d, first == OURS ? THEIRS : OURS, d->rounds));
    }
fail:
    return d->rounds == 0 && status == XL_OK ? XL_CANCELLED : status;
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

static void finish_row(struct duel *d, enum side side)
{
    xl_row *row = &d->row[side];
    xl_samples *x = &row->samples;
    const struct xl__summary sum = xl__summarise(x->ns, d->rounds);
    x->runs = d->rounds;
    x->batch = d->batch[side];
    x->median_ns = sum.median;
    x->mad_ns = sum.mad;
    x->min_ns = sum.min;
    x->p95_ns = sum.p95;
    x->lo_ns = sum.lo;
    x->hi_ns = sum.hi;
    x->wall_clock = true;
    row->value = row->flop / x->median_ns * 1e9;
}

static void put_id(json_t *pair, const char *name, const xl_row *row)
{
    struct xl__str id = {0};
    report_row_id(&id, row);
    json_put(pair, name, json_text(xl__str_text(&id)));
    xl__str_clear(&id);
}

/* Their time over ours, round by round: above 1, ours is the faster. The file
 * has it as a member "pairs" beside "rows". */
static void show(struct duel *d)
{
    const double *ours = d->row[OURS].samples.ns;
    const double *theirs = d->row[THEIRS].samples.ns;
    static const double one = 1;
    double ratios[FULL_ROUNDS], ratio, lo, hi;
    for (unsigned i = 0; i < d->rounds; i++)
        ratios[i] = theirs[i] / ours[i];
    xl__ratio_interval(ratios, d->rounds, &one, 1, &ratio, &lo, &hi);
    finish_row(d, OURS);
    finish_row(d, THEIRS);
    json_t *pair = json_object();
    json_put(pair, "ratio", json_number(ratio));
    json_put(pair, "lo", json_number(lo));
    json_put(pair, "hi", json_number(hi));
    put_id(pair, "ours", &d->row[OURS]);
    put_id(pair, "theirs", &d->row[THEIRS]);
    json_add(json_object_get(d->s->extra, "pairs"), pair);
    for (int side = 0; side < N_SIDES; side++)
        session_row(d->s, d->dev, &d->row[side]);
    table_cell(d->table, "%zux%zux%zu", d->c.m, d->c.n, d->c.k);
    table_cell(d->table, "%s", d->row[OURS].variant);
    table_cell(d->table, "%.1f", d->row[OURS].value * 1e-9);
    table_cell(d->table, "%.1f", d->row[THEIRS].value * 1e-9);
    table_cell(d->table, "%.3f", ratio);
    table_cell(d->table, "%.3f .. %.3f", lo, hi);
    table_cell(d->table, "%u", d->rounds);
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
    }
    xl_row_found(&d->row[THEIRS], "threads", openblas_get_num_threads());
fail:
    return status;
}

/* -- memory --------------------------------------------------------------- */

static xl_status make_data(struct duel *d)
{
    xl_status status = XL_OK;
    struct bench_data *data = &d->data;
    struct xl__rng rng;
    data->seed = d->s->set.seed;
    xl__rng_seed(&rng, data->seed);
    bench_gemm.layout(&d->c, data->buffer);
    for (unsigned i = A; i <= C; i++) {
        const size_t elems = data->buffer[i].elems;
        TRY(xl_buffer_create(d->q, elems * sizeof(float), &data->mem[i]));
        void *host = xl__calloc(elems, sizeof(float));
        TRY(host ? XL_OK : XL_NO_MEMORY);
        if (i == C) {
            d->result = host;
            break;
        }
        data->host[i] = host;
        ref_fill(host, elems, XL_F32, &rng);
        TRY(xl_buffer_write(d->q, data->mem[i], 0, host,
                            elems * sizeof(float)));
    }
fail:
    return status;
}

static void drop_data(struct duel *d)
{
    for (unsigned i = A; i <= C; i++) {
        if (d->data.mem[i])
            clReleaseMemObject(d->data.mem[i]);
        free(d->data.host[i]);
    }
    free(d->result);
    memset(&d->data, 0, sizeof d->data);
    d->result = NULL;
}

/* -- the run -------------------------------------------------------------- */

static int one_shape(struct duel *d)
{
    const struct settings *set = &d->s->set;
    xl_status status;
    TRY(make_data(d));
    TRY(name_rows(d));
    TRY(alternate(d, set->quick  ? QUICK_ROUNDS
                     : set->full ? FULL_ROUNDS
                                 : ROUNDS));
    TRY(compare(d));
    show(d);
fail:
    drop_data(d);
    if (status == XL_OK || status == XL_CANCELLED)
        return EXIT_FINE;
    return session_fail(d->s, "the two side by side", status,
                        xl_error_detail(d->q));
}

static bool read_shape(const struct session *s, const char *text,
                       struct gemm_case *c)
{
    size_t mnk[3];
    char why[160];
    if (!shape_gemm(text, mnk, why, sizeof why)) {
        fprintf(stderr, "clbench: %s\n", why);
        return false;
    }
    *c = (struct gemm_case){.name = "own",
                            .use = CASE_BENCH,
                            .m = mnk[0],
                            .n = mnk[1],
                            .k = mnk[2],
                            .alpha = 1,
                            .trans = s->set.trans < 0 ? 0 : s->set.trans,
                            .in = XL_F32,
                            .out = XL_F32};
    for (unsigned i = 0; i < 3; i++) {
        if (mnk[i] > INT_MAX) {
            fprintf(stderr, "clbench: %s: too large for OpenBLAS\n", text);
            return false;
        }
    }
    return true;
}

/* A variable that someone set for another program spoils a comparison. */
static void warn_of_variables(void)
{
    static const char *const names[] = {
        "OPENBLAS_NUM_THREADS",   "OPENBLAS_DEFAULT_NUM_THREADS",
        "OPENBLAS_CORETYPE",      "OPENBLAS_THREAD_TIMEOUT",
        "OPENBLAS_MAIN_FREE",     "GOTO_NUM_THREADS",
        "GOTOBLAS_MAIN_FREE",     "OMP_NUM_THREADS",
        "POCL_MAX_PTHREAD_COUNT", "POCL_AFFINITY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value)
            fprintf(stderr,
                    "clbench: warning: %s=%.64s changes what is compared; "
                    "unset it\n",
                    names[i], value);
    }
}

static void describe_sides(const struct duel *d, char *out, size_t cap)
{
    xl_fact units = {.value = 0};
    (void)xl_device_fact(d->dev, "compute_units", XL_UNKNOWN, &units);
    snprintf(out, cap,
             "f32, wall clock, turn by turn; ours on %.0f compute units, "
             "OpenBLAS (%.32s) on %d threads",
             units.value, openblas_get_corename(), openblas_get_num_threads());
}

static int duels(struct duel *d)
{
    static const char *const usual[] = {"512", "1024", "2048",
                                        "1000x1023x517"};
    struct session *s = d->s;
    const bool own = s->set.n_words > 0;
    const unsigned n = own ? s->set.n_words : sizeof usual / sizeof *usual;
    char note[192];
    int code = EXIT_FINE;
    describe_sides(d, note, sizeof note);
    report_part(s->report, "GEMM beside OpenBLAS", note);
    progress_begin(s, n);
    for (unsigned i = 0; i < n && !session_stopped(s); i++) {
        const char *text = own ? s->set.words[i] : usual[i];
        progress_step(s, text);
        int failed = read_shape(s, text, &d->c) ? one_shape(d) : EXIT_USAGE;
        code = failed ? failed : code;
    }
    progress_end(s);
    report_part_end(s->report);
    return code;
}

static int run(struct session *s)
{
    static const struct table_column columns[] = {
        {"shape", false, 0},   {"ours", false, 0}, {"GFLOP/s", true, 0},
        {"OpenBLAS", true, 0}, {"ratio", true, 0}, {"95 %", false, 0},
        {"rounds", true, 0}};
    struct duel d = {.s = s};
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    warn_of_variables();
    s->extra = json_object();
    json_put(s->extra, "pairs", json_array());
    d.dev = s->devices[0];
    d.q = session_queue(s, d.dev);
    if (!d.q)
        return EXIT_NO_DEVICE;
    d.table = table_create(columns, sizeof columns / sizeof *columns);
    code = duels(&d);
    if (session_tables(s) && code != EXIT_USAGE) {
        printf("\nRatios: OpenBLAS's time over ours, round by round; above 1 "
               "ours is the faster\n\n");
        table_print(stdout, d.table, text_terminal_columns(),
                    text_wants_colour());
    }
    table_destroy(d.table);
    xl_queue_destroy(d.q);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {"device", "variant",  "trans",
                                      "json",   "seed",     "quick",
                                      "full",   "max-time", NULL};

static const struct command peer_gemm = {
    .name = "gemm",
    .summary = "our GEMM and OpenBLAS's, turn by turn",
    .words = "[SHAPE...]",
    .about = "For each SHAPE, MxNxK or N for a cube, both libraries take "
             "turns on the same random f32 data in one run; results are "
             "compared, with each other and with the host in double.",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_CASES,
    .run = run,
};

const struct command *const commands[] = {&peer_gemm, NULL};
