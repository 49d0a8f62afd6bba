/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM, and products with quantised weights, as timed ops: their shapes,
 * buffers, counts and roofs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "timing/gemm.h"
#include "timing/gemm_check.h"
#include "timing/roofs/peaks.h"
#include "cases/shapes.h"
#include "timing/result_check.h"
#include "verify/verify.h"

static void layout_gemm_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct gemm_case *c = arg;
    const size_t n_b = c->batch.layout == BATCH_SHARED_B ? 1 : n_rows(c);
    buffers[A] = bench_input(n_rows(c) * rows_a(c) * ld_a(c), c->in);
    if (!c->one_buffer)
        buffers[B] = bench_input(n_b * rows_b(c) * ld_b(c), gemm_case_b(c));
    buffers[C] =
        bench_result(n_rows(c) * c->m * ld_c(c), c->out, c->pad_c > 0);
}

/* Add the name of the case, which does not count when rows are matched. */
static void name_row(xl_row *row, const char *name)
{
    const unsigned i = row->n_params;
    xl_row_param_text(row, "case", name);
    if (row->n_params > i)
        row->params[i].is_found = true;
}

static void describe_gemm(const void *arg, xl_row *row)
{
    static const char *const trans[] = {"nn", "tn", "nt", "tt"};
    const struct gemm_case *c = arg;
    double m = (double)c->m, n = (double)c->n, k = (double)c->k;
    row->dtype = c->in;
    row->unit = "flop/s";
    xl_row_shape(row, "m", m);
    xl_row_shape(row, "n", n);
    xl_row_shape(row, "k", k);
    if (c->use & CASE_NAMED)
        name_row(row, c->name);
    xl_row_param_text(row, "trans", c->one_buffer ? "A A^T" : trans[c->trans]);
    if (gemm_case_b(c) != c->in)
        xl_row_param_text(row, "b", xl_dtype_name(gemm_case_b(c)));
    xl_row_param_text(row, "out", xl_dtype_name(c->out));
    bench_describe_accuracy(c->accuracy, row);
    xl_row_param(row, "alpha", c->alpha);
    xl_row_param(row, "beta", c->beta);
    if (c->pad_a || c->pad_b || c->pad_c) {
        xl_row_param(row, "lda", (double)ld_a(c));
        xl_row_param(row, "ldb", (double)ld_b(c));
        xl_row_param(row, "ldc", (double)ld_c(c));
    }
    if (c->batch.heads)
        xl_row_param(row, "heads", (double)c->batch.heads);
    const double times = (double)n_products(c);
    if (c->batch.count || c->batch.heads)
        xl_row_shape(row, "batch", times);
    const double n_b = c->one_buffer                       ? 0
                       : c->batch.layout == BATCH_SHARED_B ? 1
                                                           : times;
    double read = times * m * k * (double)xl_dtype_bytes(c->in) +
                  n_b * k * n * (double)xl_dtype_bytes(gemm_case_b(c));
    row->flop = 2 * m * n * k * times;
    row->bytes = read + times * m * n * (double)xl_dtype_bytes(c->out) *
                            (c->beta != 0 ? 2 : 1);
}

static xl_mat stored(cl_mem mem, size_t ld, xl_dtype dtype, bool transposed)
{
    return transposed ? xl_mat_cols(mem, ld, dtype)
                      : xl_mat_rows(mem, ld, dtype);
}

static xl_gemm gemm_descriptor(const struct case_run *w)
{
    const struct gemm_case *c = w->c;
    const cl_mem *mem = w->data->mem;
    bool ta = c->trans & 1, tb = c->trans & 2;
    xl_gemm g = {XL_GEMM_INIT,
                 .m = c->m,
                 .n = c->n,
                 .k = c->k,
                 .alpha = c->alpha,
                 .beta = c->beta,
                 .variant = w->variant,
                 .accuracy = c->accuracy};
    g.a = stored(mem[A], ld_a(c), c->in, ta);
    g.b = c->one_buffer ? stored(mem[A], ld_a(c), c->in, !ta)
                        : stored(mem[B], ld_b(c), gemm_case_b(c), tb);
    g.c = stored(mem[C], ld_c(c), c->out, false);
    g.batch = (xl_batch){
        .count = c->batch.count,
        .a_step = rows_a(c) * ld_a(c),
        .b_step = c->batch.layout == BATCH_SHARED_B ? 0 : rows_b(c) * ld_b(c),
        .c_step = c->m * ld_c(c)};
    if (c->batch.heads) {
        g.batch.count = n_products(c);
        g.batch.inner = c->batch.heads;
        g.batch.a_inner = width_a(c);
        g.batch.b_inner = width_b(c);
        g.batch.c_inner = c->n;
    }
    return g;
}

static xl_status run_gemm(xl_queue *q, const struct case_run *w)
{
    xl_gemm g = gemm_descriptor(w);
    return xl_gemm_run(q, &g, NULL);
}

static xl_status explain_gemm(xl_queue *q, const struct case_run *w,
                              xl_choice *out, unsigned *n)
{
    xl_gemm g = gemm_descriptor(w);
    return xl_gemm_explain(q, &g, out, *n, n);
}

/* A split f32 product counts as three products of f16, the least number of
 * terms for full accuracy. */
static xl_roof gemm_engine(const void *arg)
{
    enum { TERMS = 3 };
    const struct gemm_case *c = arg;
    if (gemm_case_b(c) != c->in) /* no engine takes such a pair */
        return roof_usual(XL_F32);
    if (c->in == XL_F32 && c->accuracy == XL_ACCURACY_SPLIT)
        return (xl_roof){XL_F16, XL_ENGINE_MATRIX, .terms = TERMS};
    return roof_of_products(c->in, c->accuracy == XL_ACCURACY_FAST);
}

/* Bytes from the last-level cache: each tile reads its rows of A and its
 * columns of B, beyond the caches of its compute unit; what is narrower than
 * f32 is converted then. */
static void count_reads(const void *arg, const xl_choice *choice,
                        xl_counts *work)
{
    const struct gemm_case *c = arg;
    const xl_tiling *tiles = &choice->tiling;
    const double k = (double)c->k * (double)n_products(c);
    work->flop[0].is_product = true;
    if (tiles->rows == 0)
        return;
    const double a = (double)tiles->tiles_n * (double)c->m;
    const double b = (double)tiles->tiles_m * (double)c->n;
    const double written =
        (double)(n_products(c) * c->m * c->n) * (double)xl_dtype_bytes(c->out);
    const double read_a = a * k * (double)xl_dtype_bytes(c->in);
    const double read_b = b * k * (double)xl_dtype_bytes(gemm_case_b(c));
    work->bytes[XL_LEVEL_LLC] = read_a + read_b + written;
    diagnose_conversions(choice, c->in, read_a, work);
    diagnose_conversions(choice, gemm_case_b(c), read_b, work);
    diagnose_conversions(choice, c->out, written, work);
}

/* The type of C: i32 for exact sums, bf16 for 8-bit floats, else A's, or f32
 * where that is a type of bytes. */
static xl_dtype default_result(const struct gemm_case *c)
{
    const xl_dtype a = c->in, as = gemm_case_rounds_as(c);
    return as == XL_I8 || as == XL_U8           ? XL_I32
           : as == XL_F8E4M3 || as == XL_F8E5M2 ? XL_BF16
           : xl_dtype_bytes(a) == 1             ? XL_F32
                                                : a;
}

static bool parse_gemm(const struct settings *set, const char *word, void *arg,
                       char *why, size_t why_cap)
{
    struct gemm_case *c = arg;
    size_t mnk[3];
    if (!shape_gemm(word, mnk, why, why_cap))
        return false;
    c->name = set->case_name ? set->case_name : "own";
    c->use = CASE_BENCH | (set->case_name ? CASE_NAMED : 0);
    c->m = mnk[0];
    c->n = mnk[1];
    c->k = mnk[2];
    c->batch.count = set->batch;
    c->batch.heads = set->heads;
    c->trans = set->trans < 0 ? 0 : set->trans;
    c->alpha = 1;
    c->accuracy = set->accuracy;
    c->in = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype;
    if (set->dtype_b != XL_N_DTYPES && set->dtype_b != c->in)
        c->other_b = 1 + (unsigned)set->dtype_b;
    c->out = default_result(c);
    const bool is_f32 = c->in == XL_F32 && !c->other_b;
    const bool is_f8 =
        (c->in == XL_F8E4M3 || c->in == XL_F8E5M2) && !c->other_b;
    return bench_has_accuracy(
        set, c->other_b ? "operands of two types" : xl_dtype_name(c->in),
        is_f32, is_f32 || is_f8, why, why_cap);
}

/* Does the case of the table belong to this run? */
static bool is_gemm_case_in_run(const struct session *s,
                                const struct gemm_case *c)
{
    const struct settings *set = &s->set;
    if (!(c->use & CASE_BENCH) || (set->quick && !(c->use & CASE_QUICK)))
        return false;
    if ((c->use & CASE_BIG) && !set->full)
        return false;
    return (set->dtype == XL_N_DTYPES || set->dtype == c->in) &&
           (set->trans < 0 || set->trans == c->trans);
}

static bool read_gemm_case(const struct session *s, unsigned i, void *c,
                           bool *is_selected)
{
    const struct gemm_case *row = &gemm_cases[i];
    if (!row->name)
        return false;
    *is_selected = is_gemm_case_in_run(s, row);
    memcpy(c, row, sizeof *row);
    return true;
}

const struct bench_op bench_gemm = {
    .name = "gemm",
    .title = "GEMM",
    .note = "C = A B; 2 m n k flop a run, roof from this device's measured "
            "peaks, the matrix engine's where it multiplies the type",
    .case_bytes = sizeof(struct gemm_case),
    .parse = parse_gemm,
    .table = read_gemm_case,
    .layout = layout_gemm_buffers,
    .describe = describe_gemm,
    .run = run_gemm,
    .explain = explain_gemm,
    .count = count_reads,
    .engine = gemm_engine,
    .check = gemm_check,
    .check_whole = gemm_check_whole,
};

/* -- quantised weights ---------------------------------------------------- */

enum { QA, QBLOCKS, QSCALES, QZEROS, QGAIN, QC };
enum { FEW_ROWS = 16, QUANT_ROWS = 61, QUANT_SAMPLE_COLS = 64 };

static void layout_qgemm_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct qgemm_case *c = arg;
    const xl_qbytes bytes = qgemm_case_bytes(c);
    const xl_dtype scale = xl_qformat_layout(c->format)->scale_dtype;
    buffers[QA] = bench_input(c->m * c->k, c->in);
    buffers[QBLOCKS] = bench_input(bytes.blocks, XL_U8);
    if (bytes.scales)
        buffers[QSCALES] = bench_input(bytes.scales / xl_dtype_bytes(scale),
                                       scale);
    if (bytes.zeros)
        buffers[QZEROS] = bench_input(bytes.zeros, XL_U8);
    if (c->gain)
        buffers[QGAIN] = bench_input(c->k, qgemm_gain_type(c));
    buffers[QC] = bench_result(c->m * qgemm_case_cols(c), c->out, false);
}

/* Rows of quantised normal numbers, repeated; a prime number of them. */
static void fill_blocks(const struct qgemm_case *c, unsigned char *host,
                        struct xl__rng *rng)
{
    const xl_qshape row = {c->format, 1, c->k, c->k, 1};
    const size_t row_bytes = qgemm_case_bytes(c).blocks / c->n;
    float *x = xl__calloc(c->k, sizeof *x);
    float scale[1]; /* the largest type */
    for (size_t j = 0; x && j < c->n; j++, host += row_bytes) {
        const xl_qdata to = {host, scale, NULL};
        if (j >= QUANT_ROWS) {
            memcpy(host, host - QUANT_ROWS * row_bytes, row_bytes);
            continue;
        }
        for (size_t l = 0; l < c->k; l++)
            x[l] = (float)ref_normal(rng);
        (void)xl_qmat_quantise_host(&row, x, &to);
    }
    free(x);
}

void qgemm_fill(const void *arg, unsigned i, void *host, struct xl__rng *rng)
{
    static const double scale = 0.125;
    const struct qgemm_case *c = arg;
    const xl_qbytes bytes = qgemm_case_bytes(c);
    const xl_dtype type = xl_qformat_layout(c->format)->scale_dtype;
    const size_t n_scales = bytes.scales / xl_dtype_bytes(type);
    if (i == QA)
        ref_fill(host, c->m * c->k, c->in, rng);
    else if (i == QBLOCKS)
        fill_blocks(c, host, rng);
    else if (i == QGAIN)
        ref_fill(host, c->k, qgemm_gain_type(c), rng);
    for (size_t at = 0; i == QSCALES && at < n_scales; at++)
        xl__dtype_store(host, at, type, scale * ref_normal(rng));
    for (size_t at = 0; i == QZEROS && at < bytes.zeros; at++)
        ((unsigned char *)host)[at] = (unsigned char)xl__rng_below(rng, 256);
}

void qgemm_describe_groups(const struct qgemm_case *c, xl_row *row)
{
    const bool is_fp8 = c->format == XL_FP8;
    if (c->format == XL_INT4 || is_fp8)
        xl_row_param(row, "group", (double)(c->group ? c->group : c->k));
    if (is_fp8)
        xl_row_param(row, "group_rows",
                     (double)(c->group_rows ? c->group_rows : c->n));
}

static void describe_qgemm(const void *arg, xl_row *row)
{
    const struct qgemm_case *c = arg;
    const xl_qbytes bytes = qgemm_case_bytes(c);
    row->dtype = c->in;
    row->unit = c->m <= FEW_ROWS ? "B/s" : "flop/s";
    xl_row_shape(row, "m", (double)c->m);
    xl_row_shape(row, "n", (double)c->n);
    xl_row_shape(row, "k", (double)c->k);
    xl_row_param_text(row, "format", xl_qformat_layout(c->format)->name);
    qgemm_describe_groups(c, row);
    xl_row_param_text(row, "out", xl_dtype_name(c->out));
    bench_describe_accuracy(c->accuracy, row);
    if (c->activations)
        xl_row_param_text(
            row, "activations",
            option_choice(option_find("activations"), (int)c->activations));
    if (c->gain)
        xl_row_param_text(row, "norm", "rms");
    if (c->is_pair)
        xl_row_param_text(row, "epilogue", QGEMM_CASE_PAIR);
    row->flop = 2 * (double)c->m * (double)c->n * (double)c->k;
    row->bytes = (double)(bytes.blocks + bytes.scales + bytes.zeros) +
                 (double)c->m * ((double)c->k * (double)xl_dtype_bytes(c->in) +
                                 (double)qgemm_case_cols(c) *
                                     (double)xl_dtype_bytes(c->out));
}

static xl_qgemm qgemm_descriptor(const struct case_run *w)
{
    const struct qgemm_case *c = w->c;
    const cl_mem *mem = w->data->mem;
    xl_qgemm g = {XL_QGEMM_INIT,
                  .m = c->m,
                  .variant = w->variant,
                  .accuracy = c->accuracy,
                  .activations = c->activations,
                  .is_pair = c->is_pair};
    g.a = xl_mat_rows(mem[QA], c->k, c->in);
    g.c = xl_mat_rows(mem[QC], qgemm_case_cols(c), c->out);
    if (c->is_pair)
        g.epilogue.expr = QGEMM_CASE_PAIR;
    g.w.shape = qgemm_case_shape(c);
    g.w.blocks.buf = mem[QBLOCKS];
    g.w.scales.buf = mem[QSCALES];
    g.w.zeros.buf = mem[QZEROS];
    g.w.has_zeros = c->has_zeros;
    if (c->gain)
        g.norm = (xl_qgemm_norm){
            XL_QGEMM_NORM_RMS,
            xl_mat_rows(mem[QGAIN], c->k, qgemm_gain_type(c)), QGEMM_CASE_EPS};
    return g;
}

static xl_status run_qgemm(xl_queue *q, const struct case_run *w)
{
    const xl_qgemm g = qgemm_descriptor(w);
    return xl_qgemm_run(q, &g, NULL);
}

static xl_status explain_qgemm(xl_queue *q, const struct case_run *w,
                               xl_choice *out, unsigned *n)
{
    const xl_qgemm g = qgemm_descriptor(w);
    return xl_qgemm_explain(q, &g, out, *n, n);
}

/* Every weight is converted, and f16 or bf16 of A. */
static void count_decoded(const void *arg, const xl_choice *choice,
                          xl_counts *work)
{
    const struct qgemm_case *c = arg;
    work->flop[0].is_product = true;
    diagnose_conversions(
        choice, c->in,
        (double)c->m * (double)c->k * (double)xl_dtype_bytes(c->in), work);
}

/* Weights are exact in two narrow terms at most, f32 in three (qgemm.h); the
 * least number of products is one, and three. Bytes are multiplied as such. */
static xl_roof qgemm_engine(const void *arg)
{
    enum { TERMS = 3 };
    const struct qgemm_case *c = arg;
    if (c->activations)
        return roof_of_products(c->activations == XL_ACTIVATIONS_F8 ? XL_F8E4M3
                                                                    : XL_I8,
                                c->accuracy == XL_ACCURACY_FAST);
    if (c->in == XL_F32)
        return (xl_roof){XL_BF16, XL_ENGINE_MATRIX, .terms = TERMS};
    return roof_of_products(c->in, false);
}

static struct bench_roof qgemm_roof(const void *arg, const xl_device *dev,
                                    const xl_row *row)
{
    (void)arg;
    (void)dev;
    (void)row;
    return (struct bench_roof){"read_bytes_per_s", "read", true};
}

/* Row j of W. */
static xl_status read_weights(const struct qgemm_case *c,
                              const struct bench_data *d, size_t j, float *to)
{
    const xl_qbytes bytes = qgemm_case_bytes(c);
    const xl_qshape shape = {c->format, 1, c->k, c->group, 1};
    const xl_qdata row = {
        (unsigned char *)d->host[QBLOCKS] + j * (bytes.blocks / c->n),
        d->host[QSCALES]
            ? (unsigned char *)d->host[QSCALES] + qgemm_case_scales_at(c, j)
            : NULL,
        d->host[QZEROS]
            ? (unsigned char *)d->host[QZEROS] + j * (bytes.zeros / c->n)
            : NULL};
    return xl_qmat_dequantise_host(&shape, &row, to);
}

/* The last row of A and others, each with columns of C at random. */
static xl_status check_qgemm(xl_queue *q, const struct case_run *w,
                             struct check_result *found)
{
    const struct qgemm_case *c = w->c;
    const struct bench_data *d = w->data;
    const size_t cols = qgemm_case_cols(c);
    const size_t size = xl_dtype_bytes(c->out);
    xl_status status = XL_OK;
    struct xl__rng rng;
    float *weights = xl__calloc(c->k, sizeof *weights);
    double *row_a = xl__calloc(2 * c->k, sizeof *row_a);
    void *got = malloc(c->m * cols * size);
    check_init(found);
    xl__rng_seed(&rng, d->seed);
    TRY(weights && got && row_a ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_read(q, d->mem[QC], 0, got, c->m * cols * size));
    for (size_t s = 0; s < QUANT_SAMPLE_COLS; s++) {
        const size_t j = s == 0 ? cols - 1 : (size_t)xl__rng_below(&rng, cols);
        const size_t i = s == 0 ? c->m - 1 : (size_t)xl__rng_below(&rng, c->m);
        TRY(read_weights(c, d, j, weights));
        const struct ref_mat given = {d->host[QA], 0, c->k, 1, c->in},
                             gain = {d->host[QGAIN], 0, c->k, 1,
                                     qgemm_gain_type(c)};
        ref_qgemm_row(c, &given, i, c->gain ? &gain : NULL, row_a,
                      row_a + c->k);
        struct checked_element e = {
            .name = "C", .i = i, .j = j, .dtype = c->out};
        e.expected =
            ref_qgemm_product(c, row_a, row_a + c->k, weights, &e.tol);
        if (c->is_pair) {
            TRY(read_weights(c, d, cols + j, weights));
            ref_qgemm_join(c, row_a, row_a + c->k, weights, &e.expected,
                           &e.tol);
        }
        if (c->out != XL_F32)
            e.tol += ref_roundoff(c->out) * (fabs(e.expected) + e.tol) +
                     ref_floor(c->out);
        e.got = ref_load(got, i * cols + j, c->out);
        check_element(found, &e);
    }
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(weights);
    free(row_a);
    free(got);
    return status;
}

bool qgemm_init(const struct settings *set, const char *word,
                const size_t mnk[3], struct qgemm_case *c, char *why,
                size_t why_cap)
{
    enum { GROUP = 128 };
    *c = (struct qgemm_case){
        .name = "own",
        .use = CASE_BENCH,
        .m = mnk[0],
        .n = mnk[1],
        .k = mnk[2],
        .format = set->format < 0 ? XL_Q4_0 : (xl_qformat)set->format,
        .group = set->group ? set->group : GROUP,
        .group_rows = set->group ? set->group : 1,
        .in = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype,
        .accuracy = set->accuracy,
        .activations = set->activations,
        .gain = set->rms ? 1 + XL_F32 : 0,
        .is_pair = set->pair};
    c->has_zeros = c->format == XL_INT4;
    if (c->format == XL_FP8) /* not given: a scale by channel */
        c->group = set->group;
    c->out = c->in;
    if (c->is_pair && c->n % 2 != 0) {
        snprintf(why, why_cap,
                 "invalid shape '%s': the rows of a --pair, %zu, must be even",
                 word, c->n);
        return false;
    }
    if (qgemm_case_bytes(c).blocks > 0)
        return true;
    snprintf(why, why_cap,
             "invalid shape '%s': its columns, %zu, must be a multiple of %zu "
             "for %s%s",
             word, c->k, xl_qformat_layout(c->format)->block,
             xl_qformat_layout(c->format)->name,
             c->has_zeros || c->format == XL_FP8
                 ? " and of --group, a multiple of 32"
                 : "");
    return false;
}

static bool parse_qgemm(const struct settings *set, const char *word,
                        void *arg, char *why, size_t why_cap)
{
    const struct qgemm_case *c = arg;
    size_t mnk[3];
    return shape_gemm(word, mnk, why, why_cap) &&
           qgemm_init(set, word, mnk, arg, why, why_cap) &&
           bench_has_accuracy(set, xl_dtype_name(c->in), false,
                              c->in != XL_F32, why, why_cap);
}

bool qgemm_is_selected(const struct session *s, const struct qgemm_case *row)
{
    const struct settings *set = &s->set;
    return (row->use & CASE_BENCH) &&
           (!set->quick || (row->use & CASE_QUICK)) &&
           (set->dtype == XL_N_DTYPES || set->dtype == row->in) &&
           (set->format < 0 || set->format == (int)row->format) &&
           (!set->activations || set->activations == row->activations) &&
           (!set->rms || row->gain) && (!set->pair || row->is_pair);
}

static bool read_qgemm_case(const struct session *s, unsigned i, void *arg,
                            bool *is_selected)
{
    const struct qgemm_case *row = &qgemm_cases[i];
    if (!row->name)
        return false;
    *is_selected = qgemm_is_selected(s, row);
    memcpy(arg, row, sizeof *row);
    return true;
}

const struct bench_op bench_qgemm = {
    .name = "qgemm",
    .title = "Products with quantised weights",
    .note = "C = A W^T; weights counted at their bits, roof from reading "
            "measured here, or from the matrix engine where it multiplies the "
            "type",
    .case_bytes = sizeof(struct qgemm_case),
    .parse = parse_qgemm,
    .table = read_qgemm_case,
    .layout = layout_qgemm_buffers,
    .fill = qgemm_fill,
    .describe = describe_qgemm,
    .run = run_qgemm,
    .explain = explain_qgemm,
    .count = count_decoded,
    .engine = qgemm_engine,
    .roof = qgemm_roof,
    .check = check_qgemm,
};
