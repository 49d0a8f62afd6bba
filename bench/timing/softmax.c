/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax as a timed op. One read and one write of the matrix are counted,
 * however many times a variant reads its input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/peaks.h"
#include "timing/run_cases.h"
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
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = c->rows, .cols = c->cols,
                    .scale = c->scale, .variant = w->variant,
                    .is_log = c->is_log};
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
        e.tol = c->is_log
                    ? ref_log_softmax_tol(y[j], slack, c->cols, c->dtype)
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
                 c->is_log ? "exp of " : "", row,
                 1 + error[row]);
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

static bool is_softmax_case_in_run(const struct session *s,
                                   const struct softmax_case *c)
{
    const struct settings *set = &s->set;
    if (!(c->use & CASE_BENCH) || (set->quick && !(c->use & CASE_QUICK)))
        return false;
    if ((c->use & CASE_BIG) && !set->full)
        return false;
    return set->dtype == XL_N_DTYPES || set->dtype == c->dtype;
}

static bool read_softmax_case(const struct session *s, unsigned i, void *arg,
                              bool *is_selected)
{
    struct softmax_case *c = arg;
    const struct softmax_case *row = &softmax_cases[i];
    if (!row->name)
        return false;
    *is_selected = is_softmax_case_in_run(s, row);
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
