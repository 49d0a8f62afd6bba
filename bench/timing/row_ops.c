/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, norms and their gradients as timed ops. One read and one write of
 * each matrix are counted, however many times a variant reads its input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/roofs/peaks.h"
#include "timing/run_cases.h"
#include "cases/norm_cases.h"
#include "cases/shapes.h"
#include "verify/verify.h"
#include "timing/result_check.h"

enum { SRC, DST };
enum { SAMPLE_ROWS = 16, SAMPLE_ELEMS = 1 << 22, WHOLE_ELEMS = 1 << 26 };

static void layout_softmax_buffers(const void *arg,
                                   struct bench_buffer *buffers)
{
    const struct softmax_case *c = arg;
    size_t elems = c->rows * (c->cols + c->pad);
    buffers[SRC] = bench_input(elems, c->dtype);
    buffers[DST] = bench_result(elems, c->dtype, c->pad > 0);
}

static void describe_softmax(const void *arg, xl_row *row)
{
    static const double flop_per_elem = 5, passes = 2;
    const struct softmax_case *c = arg;
    double elems = (double)c->rows * (double)c->cols;
    row->dtype = c->dtype;
    row->unit = "B/s";
    xl_row_shape(row, "rows", (double)c->rows);
    xl_row_shape(row, "cols", (double)c->cols);
    xl_row_param(row, "scale", c->scale == 0 ? 1 : c->scale);
    if (c->is_log)
        xl_row_param_text(row, "result", "log");
    row->flop = flop_per_elem * elems;
    row->bytes = passes * elems * (double)xl_dtype_bytes(c->dtype);
}

static xl_softmax softmax_descriptor(const struct case_run *w)
{
    const struct softmax_case *c = w->c;
    const cl_mem *mem = w->data->mem;
    size_t ld = c->cols + c->pad;
    xl_softmax s = {XL_SOFTMAX_INIT,       .rows = c->rows,
                    .cols = c->cols,       .scale = c->scale,
                    .variant = w->variant, .is_log = c->is_log};
    s.src = xl_mat_rows(mem[SRC], ld, c->dtype);
    s.dst = xl_mat_rows(mem[DST], ld, c->dtype);
    return s;
}

static xl_status run_softmax(xl_queue *q, const struct case_run *w)
{
    xl_softmax s = softmax_descriptor(w);
    return xl_softmax_run(q, &s, NULL);
}

static xl_status explain_softmax(xl_queue *q, const struct case_run *w,
                                 xl_choice *out, unsigned *n)
{
    xl_softmax s = softmax_descriptor(w);
    return xl_softmax_explain(q, &s, out, *n, n);
}

/* One exponential per element; each is converted when it is read and written.
 */
static void count_special(const void *arg, const xl_choice *choice,
                          xl_counts *work)
{
    const struct softmax_case *c = arg;
    work->special = (double)c->rows * (double)c->cols;
    diagnose_conversions(choice, c->dtype, work->bytes[XL_LEVEL_DRAM], work);
}

/* Check one row: its result is in `line`; x and y have room for a row. */
static void check_row(const struct softmax_case *c, const void *src, size_t i,
                      const void *line, double *x_y[2],
                      struct check_result *out)
{
    double max, *x = x_y[0], *y = x_y[1];
    bool is_scaled = c->scale != 0 && c->scale != 1;
    double scale = is_scaled ? c->scale : 1, largest = 0;
    for (size_t j = 0; j < c->cols; j++) {
        x[j] = scale * ref_load(src, i * (c->cols + c->pad) + j, c->dtype);
        largest = fmax(largest, fabs(x[j]));
    }
    /* As in verify/softmax.c: the rounding of scale and product. */
    double slack = is_scaled ? 4 * largest * ref_roundoff(XL_F32) : 0;
    if (c->is_log)
        ref_log_softmax_row(x, c->cols, y, &max);
    else
        ref_softmax_row(x, c->cols, y, &max);
    for (size_t j = 0; j < c->cols; j++) {
        struct checked_element e = {.name = "dst",
                                    .i = i,
                                    .j = j,
                                    .expected = y[j],
                                    .dtype = c->dtype};
        e.got = ref_load(line, j, c->dtype);
        e.tol = c->is_log ? ref_log_softmax_tol(y[j], slack, c->cols, c->dtype)
                          : ref_softmax_tol(y[j], max - x[j], slack, c->cols,
                                            c->dtype);
        check_element(out, &e);
    }
}

static xl_status check_softmax(xl_queue *q, const struct case_run *w,
                               struct check_result *out)
{
    const struct softmax_case *c = w->c;
    const struct bench_data *d = w->data;
    size_t size = xl_dtype_bytes(c->dtype), ld = c->cols + c->pad;
    size_t rows = SAMPLE_ELEMS / c->cols + 1;
    struct xl__rng rng;
    xl_status status = XL_OK;
    void *line = malloc(c->cols * size);
    double *x_y[2] = {xl__calloc(c->cols, sizeof(double)),
                      xl__calloc(c->cols, sizeof(double))};
    check_init(out);
    xl__rng_seed(&rng, d->seed);
    TRY(line && x_y[0] && x_y[1] ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < xl__min_size(rows, SAMPLE_ROWS); s++) {
        size_t i = s == 0 ? c->rows - 1 : (size_t)xl__rng_below(&rng, c->rows);
        TRY(xl_buffer_read(q, d->mem[DST], i * ld * size, line,
                           c->cols * size));
        check_row(c, d->host[SRC], i, line, x_y, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(x_y[0]);
    free(x_y[1]);
    return status;
}

/* Check the sum of each row, or of exp of its logarithms, which is 1 but for
 * rounding, alike in all rows. A logarithm's rounding is u times its size, on
 * average over the row at most ln cols. */
static xl_status check_whole_softmax(xl_queue *q, const struct case_run *w,
                                     struct check_result *out)
{
    static const double roundings = 4;
    const struct softmax_case *c = w->c;
    const size_t size = xl_dtype_bytes(c->dtype), ld = c->cols + c->pad;
    const double size_of_log = c->is_log ? 1 + log((double)c->cols) : 1;
    xl_status status = XL_OK;
    if (c->cols < OUTLIER_MIN_TERMS || c->rows * ld > WHOLE_ELEMS)
        return XL_OK;
    void *got = malloc(c->rows * ld * size);
    double *error = xl__calloc(c->rows, sizeof *error);
    TRY(got && error ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_read(q, w->data->mem[DST], 0, got, c->rows * ld * size));
    for (size_t i = 0; i < c->rows; i++) {
        error[i] = -1;
        for (size_t j = 0; j < c->cols; j++) {
            const double y = ref_load(got, i * ld + j, c->dtype);
            error[i] += c->is_log ? exp(y) : y;
        }
    }
    const size_t row = find_outlier(
        error, c->rows, roundings * size_of_log * ref_roundoff(c->dtype));
    if (row < c->rows) {
        out->right = false;
        snprintf(out->why, sizeof out->why,
                 "%srow %zu adds up to %.9g, the others to 1",
                 c->is_log ? "exp of " : "", row, 1 + error[row]);
        status = XL_WRONG_RESULT;
    }
fail:
    free(got);
    free(error);
    return status;
}

static bool parse_softmax(const struct settings *set, const char *word,
                          void *arg, char *why, size_t why_cap)
{
    struct softmax_case *c = arg;
    size_t rows_cols[2];
    if (!shape_rows(word, rows_cols, why, why_cap))
        return false;
    c->name = "own";
    c->use = CASE_BENCH;
    c->rows = rows_cols[0];
    c->cols = rows_cols[1];
    c->dtype = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype;
    c->is_log = set->log;
    return true;
}

static bool is_case_in_run(const struct session *s, unsigned use,
                           xl_dtype dtype)
{
    const struct settings *set = &s->set;
    if (!(use & CASE_BENCH) || (set->quick && !(use & CASE_QUICK)))
        return false;
    if ((use & CASE_BIG) && !set->full)
        return false;
    return set->dtype == XL_N_DTYPES || set->dtype == dtype;
}

static bool read_softmax_case(const struct session *s, unsigned i, void *arg,
                              bool *is_selected)
{
    struct softmax_case *c = arg;
    const struct softmax_case *row = &softmax_cases[i];
    if (!row->name)
        return false;
    *is_selected = is_case_in_run(s, row->use, row->dtype);
    *c = *row;
    c->is_log = s->set.log;
    return true;
}

const struct bench_op bench_softmax = {
    .name = "softmax",
    .title = "Softmax",
    .note = "over rows; one read and one write counted, roof from a copy "
            "measured here",
    .case_bytes = sizeof(struct softmax_case),
    .parse = parse_softmax,
    .table = read_softmax_case,
    .layout = layout_softmax_buffers,
    .describe = describe_softmax,
    .run = run_softmax,
    .explain = explain_softmax,
    .count = count_special,
    .check = check_softmax,
    .check_whole = check_whole_softmax,
};

/* -- norm ----------------------------------------------------------------- */

static void layout_norm_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct norm_case *c = arg;
    for (unsigned x = 0; x < NORM_OPERANDS; x++) {
        const size_t elems = (norm_is_rows(x) ? c->rows : 1) * c->cols;
        if (norm_has(c, x))
            buffers[x] = x == NORM_DST || x == NORM_SUM
                             ? bench_result(elems, c->out, false)
                             : bench_input(elems, norm_dtype(c, x));
    }
}

static void describe_norm(const void *arg, xl_row *row)
{
    static const double flop_per_elem = 8;
    const struct norm_case *c = arg;
    const double elems = (double)c->rows * (double)c->cols;
    row->dtype = c->dtype;
    row->unit = "B/s";
    xl_row_shape(row, "rows", (double)c->rows);
    xl_row_shape(row, "cols", (double)c->cols);
    if (c->kind == XL_NORM_RMS)
        xl_row_param_text(row, "kind", "rms");
    if (norm_has(c, NORM_RESIDUAL))
        xl_row_param_text(row, "residual", "stored");
    row->flop = flop_per_elem * elems;
    row->bytes = 0;
    for (unsigned x = 0; x < NORM_OPERANDS; x++)
        row->bytes += norm_has(c, x) && norm_is_rows(x)
                          ? elems * (double)xl_dtype_bytes(norm_dtype(c, x))
                          : 0;
}

static xl_norm norm_descriptor(const struct case_run *w)
{
    const struct norm_case *c = w->c;
    xl_mat view[NORM_OPERANDS];
    for (unsigned x = 0; x < NORM_OPERANDS; x++)
        view[x] = xl_mat_rows(w->data->mem[x], c->cols, norm_dtype(c, x));
    return norm_call(c, view, w->variant);
}

static xl_status run_norm(xl_queue *q, const struct case_run *w)
{
    const xl_norm n = norm_descriptor(w);
    return xl_norm_run(q, &n, NULL);
}

static xl_status explain_norm(xl_queue *q, const struct case_run *w,
                              xl_choice *out, unsigned *n)
{
    const xl_norm desc = norm_descriptor(w);
    return xl_norm_explain(q, &desc, out, *n, n);
}

static void count_conversions(const void *arg, const xl_choice *choice,
                              xl_counts *work)
{
    const struct norm_case *c = arg;
    diagnose_conversions(choice, c->dtype, work->bytes[XL_LEVEL_DRAM], work);
}

static double norm_host(const struct case_run *w, enum norm_operand x,
                        size_t at, double otherwise)
{
    const struct norm_case *c = w->c;
    return norm_has(c, x) ? ref_load(w->data->host[x], at, norm_dtype(c, x))
                          : otherwise;
}

/* The last row and others at random. */
static xl_status check_norm(xl_queue *q, const struct case_run *w,
                            struct check_result *out)
{
    const struct norm_case *c = w->c;
    const size_t bytes = c->cols * xl_dtype_bytes(c->out);
    const size_t rows = SAMPLE_ELEMS / c->cols + 1;
    struct xl__rng rng;
    xl_status status = XL_OK;
    void *line = malloc(bytes);
    double *x = xl__calloc(c->cols, sizeof *x);
    check_init(out);
    xl__rng_seed(&rng, w->data->seed);
    TRY(line && x ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < xl__min_size(rows, SAMPLE_ROWS); s++) {
        struct checked_element e = {.name = "dst", .dtype = c->out};
        e.i = s == 0 ? c->rows - 1 : (size_t)xl__rng_below(&rng, c->rows);
        for (size_t j = 0; j < c->cols; j++) {
            const size_t at = e.i * c->cols + j;
            const volatile float sum =
                (float)norm_host(w, NORM_SRC, at, 0) +
                (float)norm_host(w, NORM_RESIDUAL, at, 0);
            x[j] = (double)sum;
        }
        const struct norm_row row = norm_row(c, x);
        TRY(xl_buffer_read(q, w->data->mem[NORM_DST], e.i * bytes, line,
                           bytes));
        for (e.j = 0; e.j < c->cols; e.j++) {
            e.got = ref_load(line, e.j, c->out);
            e.expected = norm_expected(
                c, &row, x[e.j], norm_host(w, NORM_SCALE, e.j, 1),
                norm_host(w, NORM_BIAS, e.j, 0), &e.tol);
            check_element(out, &e);
        }
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(x);
    return status;
}

static void set_norm_options(const struct settings *set, struct norm_case *c)
{
    c->kind = set->rms ? XL_NORM_RMS : XL_NORM_LAYER;
    c->with = WITH(NORM_SCALE) | (set->rms ? 0 : WITH(NORM_BIAS)) |
              (set->residual ? WITH_STREAM : 0);
}

static bool parse_norm(const struct settings *set, const char *word, void *arg,
                       char *why, size_t why_cap)
{
    struct norm_case *c = arg;
    size_t rows_cols[2];
    if (!shape_rows(word, rows_cols, why, why_cap))
        return false;
    *c = (struct norm_case){.name = "own",
                            .use = CASE_BENCH,
                            .rows = rows_cols[0],
                            .cols = rows_cols[1],
                            .dtype = set->dtype == XL_N_DTYPES ? XL_F32
                                                               : set->dtype};
    c->out = c->dtype;
    c->params = c->dtype;
    set_norm_options(set, c);
    return true;
}

static bool read_norm_case(const struct session *s, unsigned i, void *arg,
                           bool *is_selected)
{
    struct norm_case *c = arg;
    const struct norm_case *row = &norm_cases[i];
    if (!row->name)
        return false;
    *is_selected = is_case_in_run(s, row->use, row->dtype);
    *c = *row;
    set_norm_options(&s->set, c);
    return true;
}

const struct bench_op bench_norm = {
    .name = "norm",
    .title = "Norm",
    .note = "over rows; one read and one write counted, roof from a copy "
            "measured here",
    .case_bytes = sizeof(struct norm_case),
    .parse = parse_norm,
    .table = read_norm_case,
    .layout = layout_norm_buffers,
    .describe = describe_norm,
    .run = run_norm,
    .explain = explain_norm,
    .count = count_conversions,
    .check = check_norm,
};

/* -- gradients -------------------------------------------------------------
 */

static void layout_gradient_buffers(const void *arg,
                                    struct bench_buffer *buffers)
{
    const struct gradient_case *c = arg;
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++) {
        const size_t elems = (gradient_is_rows(x) ? c->rows : 1) * c->cols;
        if (gradient_has(c, x))
            buffers[x] = gradient_is_result(x)
                             ? bench_result(elems, c->out, false)
                             : bench_input(elems, gradient_dtype(c, x));
    }
}

static void describe_gradient(const void *arg, xl_row *row)
{
    static const double of_softmax = 4, of_norm = 14, of_sums = 5;
    static const char *const kinds[] = {NULL, "log", NULL, "rms"};
    const struct gradient_case *c = arg;
    const double elems = (double)c->rows * (double)c->cols;
    row->dtype = c->dtype;
    row->unit = "B/s";
    xl_row_shape(row, "rows", (double)c->rows);
    xl_row_shape(row, "cols", (double)c->cols);
    if (kinds[c->kind])
        xl_row_param_text(row, "kind", kinds[c->kind]);
    row->flop = elems * (gradient_is_norm(c) ? of_norm : of_softmax);
    if (gradient_has(c, GRADIENT_OF_SCALE))
        row->flop += elems * of_sums;
    row->bytes = 0;
    for (unsigned x = 0; x <= GRADIENT_DST; x++)
        row->bytes += elems * (double)xl_dtype_bytes(gradient_dtype(c, x));
}

static void view_gradient(const struct case_run *w,
                          xl_mat view[GRADIENT_OPERANDS])
{
    const struct gradient_case *c = w->c;
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++)
        view[x] = xl_mat_rows(w->data->mem[x], c->cols, gradient_dtype(c, x));
}

static xl_status run_gradient(xl_queue *q, const struct case_run *w)
{
    xl_mat view[GRADIENT_OPERANDS];
    view_gradient(w, view);
    return gradient_run(q, w->c, view, w->variant);
}

static xl_status explain_gradient(xl_queue *q, const struct case_run *w,
                                  xl_choice *out, unsigned *n)
{
    xl_mat view[GRADIENT_OPERANDS];
    view_gradient(w, view);
    const xl_softmax s = gradient_softmax(w->c, view, w->variant);
    const xl_norm norm = gradient_norm(w->c, view, w->variant);
    return gradient_is_norm(w->c) ? xl_norm_explain(q, &norm, out, *n, n)
                                  : xl_softmax_explain(q, &s, out, *n, n);
}

static void count_gradient(const void *arg, const xl_choice *choice,
                           xl_counts *work)
{
    const struct gradient_case *c = arg;
    if (c->kind == GRADIENT_LOG)
        work->special = (double)c->rows * (double)c->cols;
    diagnose_conversions(choice, c->dtype, work->bytes[XL_LEVEL_DRAM], work);
}

/* Row i of src and of the gradient times scale. */
static void host_gradient_row(const struct case_run *w, size_t i, double *x,
                              double *g)
{
    const struct gradient_case *c = w->c;
    void *const *host = w->data->host;
    for (size_t j = 0; j < c->cols; j++) {
        x[j] = ref_load(host[GRADIENT_SRC], i * c->cols + j, c->dtype);
        g[j] = ref_load(host[GRADIENT_GRAD], i * c->cols + j, c->dtype);
        if (gradient_has(c, GRADIENT_SCALE))
            g[j] *= ref_load(host[GRADIENT_SCALE], j, XL_F32);
    }
}

/* A sum over the rows, in the last column. */
static xl_status check_gradient_sum(xl_queue *q, const struct case_run *w,
                                    enum gradient_operand x, double *x_g[2],
                                    struct check_result *out)
{
    const struct gradient_case *c = w->c;
    const size_t bytes = xl_dtype_bytes(c->out), j = c->cols - 1;
    double tol = 0;
    char stored[sizeof(double)];
    struct checked_element e = {
        .name = gradient_names[x], .j = j, .dtype = c->out};
    xl_status status = XL_OK;
    if (!gradient_has(c, x) || c->rows * c->cols > WHOLE_ELEMS / 2)
        return XL_OK;
    for (size_t i = 0; i < c->rows; i++) {
        struct gradient_row row = {.mean = 0};
        if (x == GRADIENT_OF_SCALE) {
            host_gradient_row(w, i, x_g[0], x_g[1]);
            row = gradient_row(c, x_g[0], x_g[1]);
        }
        gradient_column_add(
            c, x, x_g[0][j],
            ref_load(w->data->host[GRADIENT_GRAD], i * c->cols + j, c->dtype),
            &row, &e.expected, &tol);
    }
    e.tol = gradient_column_tol(c, e.expected, tol);
    TRY(xl_buffer_read(q, w->data->mem[x], j * bytes, stored, bytes));
    e.got = ref_load(stored, 0, c->out);
    check_element(out, &e);
fail:
    return status;
}

/* The last row and others at random, and the sums of the last column. */
static xl_status check_gradient(xl_queue *q, const struct case_run *w,
                                struct check_result *out)
{
    const struct gradient_case *c = w->c;
    const size_t bytes = c->cols * xl_dtype_bytes(c->out);
    const size_t rows = SAMPLE_ELEMS / c->cols + 1;
    struct xl__rng rng;
    xl_status status = XL_OK;
    void *line = malloc(bytes);
    double *x_g[2] = {xl__calloc(c->cols, sizeof(double)),
                      xl__calloc(c->cols, sizeof(double))};
    check_init(out);
    xl__rng_seed(&rng, w->data->seed);
    TRY(line && x_g[0] && x_g[1] ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < xl__min_size(rows, SAMPLE_ROWS); s++) {
        struct checked_element e = {.name = "dst", .dtype = c->out};
        e.i = s == 0 ? c->rows - 1 : (size_t)xl__rng_below(&rng, c->rows);
        host_gradient_row(w, e.i, x_g[0], x_g[1]);
        const struct gradient_row row = gradient_row(c, x_g[0], x_g[1]);
        TRY(xl_buffer_read(q, w->data->mem[GRADIENT_DST], e.i * bytes, line,
                           bytes));
        for (e.j = 0; e.j < c->cols; e.j++) {
            e.got = ref_load(line, e.j, c->out);
            e.expected =
                gradient_expected(c, &row, x_g[0][e.j], x_g[1][e.j], &e.tol);
            check_element(out, &e);
        }
    }
    TRY(check_gradient_sum(q, w, GRADIENT_OF_SCALE, x_g, out));
    TRY(check_gradient_sum(q, w, GRADIENT_OF_BIAS, x_g, out));
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    free(x_g[0]);
    free(x_g[1]);
    return status;
}

static bool parse_gradient(const struct settings *set, const char *word,
                           void *arg, enum gradient_kind kind, char *why,
                           size_t why_cap)
{
    struct gradient_case *c = arg;
    size_t rows_cols[2];
    if (!shape_rows(word, rows_cols, why, why_cap))
        return false;
    *c = (struct gradient_case){
        .name = "own",
        .use = CASE_BENCH,
        .kind = kind,
        .rows = rows_cols[0],
        .cols = rows_cols[1],
        .dtype = set->dtype == XL_N_DTYPES ? XL_F32 : set->dtype};
    c->out = c->dtype;
    if (gradient_is_norm(c))
        c->with = WITH(GRADIENT_SCALE) | WITH(GRADIENT_OF_SCALE);
    if (kind == GRADIENT_LAYER)
        c->with |= WITH(GRADIENT_OF_BIAS);
    return true;
}

static bool parse_softmax_gradient(const struct settings *set,
                                   const char *word, void *c, char *why,
                                   size_t why_cap)
{
    return parse_gradient(set, word, c,
                          set->log ? GRADIENT_LOG : GRADIENT_SOFTMAX, why,
                          why_cap);
}

static bool parse_norm_gradient(const struct settings *set, const char *word,
                                void *c, char *why, size_t why_cap)
{
    return parse_gradient(
        set, word, c, set->rms ? GRADIENT_RMS : GRADIENT_LAYER, why, why_cap);
}

static bool read_gradient_case(const struct session *s, unsigned i, void *arg,
                               bool is_norm, bool *is_selected)
{
    struct gradient_case *c = arg;
    if (!gradient_cases[i].name)
        return false;
    *c = gradient_cases[i];
    *is_selected =
        gradient_is_norm(c) == is_norm && is_case_in_run(s, c->use, c->dtype);
    if (!is_norm && s->set.log)
        c->kind = GRADIENT_LOG;
    if (is_norm && s->set.rms)
        c->kind = GRADIENT_RMS;
    return true;
}

static bool read_softmax_gradient(const struct session *s, unsigned i, void *c,
                                  bool *is_selected)
{
    return read_gradient_case(s, i, c, false, is_selected);
}

static bool read_norm_gradient(const struct session *s, unsigned i, void *c,
                               bool *is_selected)
{
    return read_gradient_case(s, i, c, true, is_selected);
}

#define GRADIENT(name_, title_, parse_, table_)                               \
    {                                                                         \
        .name = name_, .title = title_,                                       \
        .note = "over rows; two reads and one write counted, roof from a "    \
                "copy measured here",                                         \
        .case_bytes = sizeof(struct gradient_case), .parse = parse_,          \
        .table = table_, .layout = layout_gradient_buffers,                   \
        .describe = describe_gradient, .run = run_gradient,                   \
        .explain = explain_gradient, .count = count_gradient,                 \
        .check = check_gradient,                                              \
    }
const struct bench_op bench_softmax_backward = GRADIENT(
                          "softmax_backward", "Softmax, backward",
                          parse_softmax_gradient, read_softmax_gradient),
                      bench_norm_backward =
                          GRADIENT("norm_backward", "Norms, backward",
                                   parse_norm_gradient, read_norm_gradient);
