/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a timed GEMM's result: elements at random against sums in
 * double precision, each with its error bound, and all elements in sums of
 * rows (Freivalds). */
#include "timing/gemm_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "timing/gemm.h"
#include "timing/result_check.h"
#include "verify/verify.h"

/* -- sums of rows ----------------------------------------------------------
 */

static const double most_elements = 1 << 26; /* a second or two on the host */

static bool can_check_sums(const struct gemm_sums *s)
{
    const double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    return s->n >= OUTLIER_MIN_TERMS && s->k >= OUTLIER_MIN_TERMS &&
           s->m >= OUTLIER_MIN_TERMS && m * k + k * n + m * n < most_elements;
}

/* y = X x */
static void multiply_vector(const struct ref_mat *mat, size_t rows,
                            size_t cols, const double *x, double *y)
{
    for (size_t i = 0; i < rows; i++) {
        y[i] = 0;
        for (size_t j = 0; j < cols; j++)
            y[i] += ref_at(mat, i, j) * x[j];
    }
}

size_t gemm_sums_outlier(const struct gemm_sums *s)
{
    size_t row = s->m;
    struct xl__rng rng;
    if (!can_check_sums(s))
        return row;
    double *signs = xl__calloc(s->n, sizeof *signs);
    double *br = xl__calloc(s->k, sizeof *br);
    double *expected = xl__calloc(s->m, sizeof *expected);
    double *error = xl__calloc(s->m, sizeof *error);
    if (!signs || !br || !expected || !error)
        goto end;
    xl__rng_seed(&rng, s->seed);
    for (size_t j = 0; j < s->n; j++)
        signs[j] = xl__rng_below(&rng, 2) ? 1 : -1;
    multiply_vector(&s->b, s->k, s->n, signs, br);
    multiply_vector(&s->a, s->m, s->k, br, expected);
    multiply_vector(&s->c, s->m, s->n, signs, error);
    for (size_t i = 0; i < s->m; i++)
        error[i] -= s->alpha * expected[i];
    row = find_outlier(error, s->m, s->least);
end:
    free(signs);
    free(br);
    free(expected);
    free(error);
    return row;
}

/* -- a timed result --------------------------------------------------------
 */

enum { SAMPLE_ROWS = 16, SAMPLE_COLS = 64 };

static struct ref_mat host_view(const void *data, size_t ld, xl_dtype dtype,
                                bool transposed)
{
    struct ref_mat view = {data, 0, transposed ? 1 : ld, transposed ? ld : 1,
                           dtype};
    return view;
}

static struct ref_gemm_scale gemm_scale(const struct gemm_case *c)
{
    return (struct ref_gemm_scale){
        c->k, c->alpha, c->beta, gemm_case_rounds_as(c), c->out, c->accuracy};
}

/* The host's operands of product z. */
static void host_operands(const struct gemm_case *c,
                          const struct bench_data *d, size_t z,
                          struct ref_mat *a, struct ref_mat *b)
{
    const bool ta = c->trans & 1, tb = c->trans & 2;
    *a = host_view(d->host[A], ld_a(c), c->in, ta);
    *b = c->one_buffer ? host_view(d->host[A], ld_a(c), c->in, !ta)
                       : host_view(d->host[B], ld_b(c), gemm_case_b(c), tb);
    const size_t row = z / n_heads(c), head = z % n_heads(c);
    a->offset = row * rows_a(c) * ld_a(c) + head * width_a(c);
    if (c->batch.layout != BATCH_SHARED_B)
        b->offset = row * rows_b(c) * ld_b(c) + head * width_b(c);
}

/* The first element of a row of C, of all products' rows. */
static size_t first_of_row(const struct gemm_case *c, size_t i)
{
    const size_t z = i / c->m, line = z / n_heads(c) * c->m + i % c->m;
    return line * ld_c(c) + z % n_heads(c) * c->n;
}

static void check_product_element(const struct gemm_case *c,
                                  const struct ref_mat ab[2],
                                  const size_t at[2], double got,
                                  struct check_result *out)
{
    const struct ref_gemm_scale scale = gemm_scale(c);
    struct checked_element e = {
        .name = "C", .i = at[0], .j = at[1], .got = got, .dtype = c->out};
    double sum, mag;
    ref_gemm_dot(&ab[A], &ab[B], at, c->k, &sum, &mag);
    e.expected = ref_gemm_expected(&scale, sum, mag, 0, &e.tol);
    check_element(out, &e);
}

/* One row of the result, of all products' rows, at random columns. */
static void check_row(const struct gemm_case *c, const struct bench_data *d,
                      size_t row, const void *line, struct check_result *out)
{
    struct ref_mat ab[2];
    struct xl__rng rng;
    host_operands(c, d, row / c->m, &ab[A], &ab[B]);
    xl__rng_seed(&rng, d->seed + row);
    for (size_t s = 0; s < SAMPLE_COLS; s++) {
        const size_t j = s == 0 ? c->n - 1 : (size_t)xl__rng_below(&rng, c->n);
        check_product_element(c, ab, (size_t[2]){row % c->m, j},
                              ref_load(line, j, c->out), out);
    }
}

xl_status gemm_check(xl_queue *q, const struct case_run *w,
                     struct check_result *out)
{
    const struct gemm_case *c = w->c;
    const struct bench_data *d = w->data;
    size_t size = xl_dtype_bytes(c->out);
    struct xl__rng rng;
    xl_status status = XL_OK;
    void *line = malloc(c->n * size);
    check_init(out);
    xl__rng_seed(&rng, d->seed);
    TRY(line ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < SAMPLE_ROWS; s++) {
        const size_t rows = n_products(c) * c->m;
        size_t i = s == 0 ? rows - 1 : (size_t)xl__rng_below(&rng, rows);
        TRY(xl_buffer_read(q, d->mem[C], first_of_row(c, i) * size, line,
                           c->n * size));
        check_row(c, d, i, line, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(line);
    return status;
}

/* Check each element of a row whose sum is wrong. */
static void check_outlier_row(const struct gemm_sums *s,
                              const struct gemm_case *c, size_t i,
                              struct check_result *out)
{
    const struct ref_mat ab[2] = {s->a, s->b};
    for (size_t j = 0; j < c->n; j++)
        check_product_element(c, ab, (size_t[2]){i, j}, ref_at(&s->c, i, j),
                              out);
    if (!out->right)
        return;
    out->right = false;
    snprintf(out->why, sizeof out->why,
             "the sum of row %zu of C differs from the host's", i);
}

/* The error permitted to one element, for operands with standard deviation 1.
 */
static double element_error(const struct gemm_case *c)
{
    const struct ref_gemm_scale scale = gemm_scale(c);
    double tol;
    (void)ref_gemm_expected(&scale, 0, (double)c->k, 0, &tol);
    return tol;
}

xl_status gemm_check_whole(xl_queue *q, const struct case_run *w,
                           struct check_result *out)
{
    const struct gemm_case *c = w->c;
    const struct bench_data *d = w->data;
    const size_t bytes = c->m * ld_c(c) * xl_dtype_bytes(c->out);
    struct gemm_sums s = {.m = c->m,
                          .n = c->n,
                          .k = c->k,
                          .alpha = c->alpha,
                          .least = element_error(c),
                          .seed = d->seed};
    xl_status status = XL_OK;
    if (n_products(c) > 1 || c->beta != 0)
        return XL_OK;
    void *got = malloc(bytes);
    TRY(got ? XL_OK : XL_NO_MEMORY);
    TRY(xl_buffer_read(q, d->mem[C], 0, got, bytes));
    host_operands(c, d, 0, &s.a, &s.b);
    s.c = host_view(got, ld_c(c), c->out, false);
    const size_t row = gemm_sums_outlier(&s);
    if (row < c->m)
        check_outlier_row(&s, c, row, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(got);
    return status;
}
