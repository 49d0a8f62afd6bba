/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and its inverse as a timed op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "cases/quantised/qconvert_cases.h"
#include "cases/shapes.h"
#include "timing/gemm.h"
#include "verify/verify.h"

static bool parse_qconvert(const struct settings *set, const char *word,
                           void *arg, char *why, size_t why_cap)
{
    struct qconvert_case *c = arg;
    size_t size[2];
    if (!shape_rows(word, size, why, why_cap))
        return false;
    const size_t mnk[3] = {1, size[0], size[1]};
    c->is_dequantise = set->dequantise;
    return qgemm_init(set, word, mnk, &c->of, why, why_cap);
}

static bool read_qconvert_case(const struct session *s, unsigned i, void *arg,
                               bool *is_selected)
{
    const struct qconvert_case *row = &qconvert_cases[i];
    if (!row->of.name)
        return false;
    *is_selected = qgemm_is_selected(s, &row->of) &&
                   (!s->set.dequantise || row->is_dequantise);
    memcpy(arg, row, sizeof *row);
    return true;
}

static xl_dtype type_of(const struct qconvert_case *c, unsigned operand)
{
    return operand == QCONVERT_X ? c->of.in
           : operand == QCONVERT_SCALES
               ? xl_qformat_layout(c->of.format)->scale_dtype
               : XL_U8;
}

static size_t elems_of(const struct qconvert_case *c, unsigned operand)
{
    return operand == QCONVERT_X ? c->of.n * c->of.k
                                 : qconvert_bytes(c, operand) /
                                       xl_dtype_bytes(type_of(c, operand));
}

static void layout_buffers(const void *arg, struct bench_buffer *buffers)
{
    const struct qconvert_case *c = arg;
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        const size_t n = elems_of(c, i);
        if (n > 0)
            buffers[i] = qconvert_is_result(c, i)
                             ? bench_result(n, type_of(c, i), false)
                             : bench_input(n, type_of(c, i));
    }
}

static void fill_input(const void *arg, unsigned i, void *host,
                       struct xl__rng *rng)
{
    const struct qconvert_case *c = arg;
    if (i == QCONVERT_X)
        ref_fill(host, elems_of(c, i), c->of.in, rng);
    else
        qgemm_fill(&c->of, i, host, rng);
}

static void describe(const void *arg, xl_row *row)
{
    const struct qconvert_case *c = arg;
    row->dtype = c->of.in;
    row->unit = "B/s";
    xl_row_shape(row, "rows", (double)c->of.n);
    xl_row_shape(row, "cols", (double)c->of.k);
    xl_row_param_text(row, "direction",
                      c->is_dequantise ? "dequantise" : "quantise");
    xl_row_param_text(row, "format", xl_qformat_layout(c->of.format)->name);
    qgemm_describe_groups(&c->of, row);
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++)
        row->bytes += (double)(elems_of(c, i) * xl_dtype_bytes(type_of(c, i)));
}

static xl_qconvert call_of(const struct case_run *w)
{
    static const size_t first[QCONVERT_OPERANDS] = {0};
    const struct qconvert_case *c = w->c;
    return qconvert_call(c, w->data->mem, first, c->of.k, w->variant);
}

static xl_status run_qconvert(xl_queue *q, const struct case_run *w)
{
    const xl_qconvert call = call_of(w);
    return xl_qconvert_run(q, &call, NULL);
}

static xl_status explain(xl_queue *q, const struct case_run *w, xl_choice *out,
                         unsigned *n)
{
    const xl_qconvert call = call_of(w);
    return xl_qconvert_explain(q, &call, out, *n, n);
}

/* Elements of an operand, from `first` on: of what the device has, or of the
 * host's input. */
static xl_status read_elems(xl_queue *q, const struct case_run *w, unsigned i,
                            size_t first, size_t n, unsigned char *out)
{
    const struct qconvert_case *c = w->c;
    const size_t size = xl_dtype_bytes(type_of(c, i));
    if (qconvert_is_result(c, i))
        return xl_buffer_read(q, w->data->mem[i], first * size, out, n * size);
    memcpy(out, (unsigned char *)w->data->host[i] + first * size, n * size);
    return XL_OK;
}

/* The elements of so many rows. */
static size_t elems_of_rows(const struct qconvert_case *c, unsigned i,
                            size_t rows)
{
    struct qconvert_case part = *c;
    part.of.n = rows;
    return rows > 0 ? elems_of(&part, i) : 0;
}

/* Every bit of rows r and following that share scales. */
static xl_status check_rows(xl_queue *q, const struct case_run *w, size_t r,
                            struct check_result *found)
{
    const struct qconvert_case *c = w->c;
    const size_t first = qgemm_case_first_row(&c->of, r), k = c->of.k;
    size_t n = 1;
    xl_qshape shape = qgemm_case_shape(&c->of);
    xl_status status = XL_OK;
    unsigned char *part[QCONVERT_OPERANDS] = {NULL},
                  *want[QCONVERT_OPERANDS] = {NULL};
    while (first + n < c->of.n &&
           qgemm_case_first_row(&c->of, first + n) == first)
        n++;
    float *x = xl__calloc(n * k, sizeof *x);
    shape.rows = n;
    TRY(x ? XL_OK : XL_NO_MEMORY);
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        const size_t elems = elems_of_rows(c, i, n);
        if (elems == 0)
            continue;
        part[i] = xl__calloc(elems, sizeof(float));
        want[i] = xl__calloc(elems, sizeof(float));
        TRY(part[i] && want[i] ? XL_OK : XL_NO_MEMORY);
        TRY(read_elems(q, w, i, elems_of_rows(c, i, first), elems, part[i]));
    }
    unsigned char *const *of = c->is_dequantise ? part : want;
    const xl_qdata data = {of[QCONVERT_BLOCKS], of[QCONVERT_SCALES],
                           of[QCONVERT_ZEROS]};
    for (size_t j = 0; !c->is_dequantise && j < n * k; j++)
        x[j] = (float)xl__dtype_load(part[QCONVERT_X], j, c->of.in);
    TRY(c->is_dequantise ? xl_qmat_dequantise_host(&shape, &data, x)
                         : xl_qmat_quantise_host(&shape, x, &data));
    for (size_t j = 0; c->is_dequantise && j < n * k; j++)
        xl__dtype_store(want[QCONVERT_X], j, c->of.in, (double)x[j]);
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        const size_t elems = elems_of_rows(c, i, n);
        for (size_t j = 0; qconvert_is_result(c, i) && j < elems; j++) {
            struct checked_element e = {.name = qconvert_names[i],
                                        .i = first,
                                        .j = j,
                                        .dtype = type_of(c, i)};
            e.got = ref_load(part[i], j, e.dtype);
            e.expected = ref_load(want[i], j, e.dtype);
            check_element(found, &e);
        }
    }
fail:
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        free(part[i]);
        free(want[i]);
    }
    free(x);
    return status;
}

/* The last row and others at random, each with those that share its scales. */
static xl_status check(xl_queue *q, const struct case_run *w,
                       struct check_result *found)
{
    enum { ROWS = 16 };
    const struct qconvert_case *c = w->c;
    const size_t last = c->of.n - 1;
    const size_t n =
        last - qgemm_case_first_row(&c->of, last) < ROWS ? ROWS : 1;
    xl_status status = XL_OK;
    struct xl__rng rng;
    check_init(found);
    xl__rng_seed(&rng, w->data->seed);
    for (size_t s = 0; s < n; s++)
        TRY(check_rows(
            q, w, s == 0 ? last : (size_t)xl__rng_below(&rng, c->of.n),
            found));
    status = found->right ? XL_OK : XL_WRONG_RESULT;
fail:
    return status;
}

const struct bench_op bench_qconvert = {
    .name = "qconvert",
    .title = "Conversion of quantised matrices",
    .note = "bytes of the plain and of the quantised matrix, once; roof the "
            "measured copy bandwidth",
    .case_bytes = sizeof(struct qconvert_case),
    .parse = parse_qconvert,
    .table = read_qconvert_case,
    .layout = layout_buffers,
    .fill = fill_input,
    .describe = describe,
    .run = run_qconvert,
    .explain = explain,
    .check = check,
};
