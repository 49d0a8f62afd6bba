/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM case against the host in double. Small results are compared element
 * by element; of a large one the crossing of some rows and columns (first and
 * last always among them), and the rest must at least have been written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "verify.h"

/* Above this many multiplications a sample is taken. */
static const double FULL_WORK = 5e7;
enum { SAMPLE_LINES = 48 };

struct gemm_check {
    const struct gemm_case *c;
    struct guarded a, b, result;
    struct ref_mat ra, rb, old, got; /* as op() sees them */
};

static xl_status prepare(struct gemm_check *t, struct xl__rng *rng)
{
    const struct gemm_case *c = t->c;
    bool ta = c->trans & 1, tb = c->trans & 2;
    struct guarded_layout a = {ta ? c->k : c->m, ta ? c->m : c->k, c->pad_a,
                               c->off_a, c->in};
    struct guarded_layout b = {tb ? c->n : c->k, tb ? c->k : c->n, c->pad_b,
                               c->off_b, c->in};
    struct guarded_layout r = {c->columns_c ? c->n : c->m,
                               c->columns_c ? c->m : c->n, c->pad_c, c->off_c,
                               c->out};
    xl_status status;
    TRY(guarded_init(&t->a, &a));
    guarded_fill(&t->a, rng);
    if (!c->one_buffer) {
        TRY(guarded_init(&t->b, &b));
        guarded_fill(&t->b, rng);
    }
    TRY(guarded_init(&t->result, &r));
    /* With beta 0 the old C stays NaN: it must not be read. */
    if (c->beta != 0)
        guarded_fill(&t->result, rng);
fail:
    return status;
}

/* A up to 6e4, B small enough that sums stay near f16's limit. */
static void enlarge(struct gemm_check *t, struct xl__rng *rng)
{
    static const double largest = 6e4, other = 0.3;
    for (size_t i = 0; i < t->a.rows * t->a.cols; i++)
        guarded_set(&t->a, i / t->a.cols, i % t->a.cols,
                    largest * (2 * xl__rng_uniform(rng) - 1));
    for (size_t i = 0; i < t->b.rows * t->b.cols; i++)
        guarded_set(&t->b, i / t->b.cols, i % t->b.cols,
                    other * ref_normal(rng));
}

static xl_status run(struct gemm_check *t, xl_queue *q, const char *variant)
{
    const struct gemm_case *c = t->c;
    bool ta = c->trans & 1, tb = c->trans & 2;
    xl_status status;
    TRY(guarded_upload(&t->a, q));
    if (!c->one_buffer)
        TRY(guarded_upload(&t->b, q));
    TRY(guarded_upload(&t->result, q));
    xl_gemm g = {.m = c->m, .n = c->n, .k = c->k,
                 .a = guarded_view(&t->a, ta),
                 .b = c->one_buffer ? guarded_view(&t->a, !ta)
                                    : guarded_view(&t->b, tb),
                 .c = guarded_view(&t->result, c->columns_c),
                 .alpha = c->alpha, .beta = c->beta, .variant = variant};
    TRY(xl_gemm_run(q, &g, NULL));
    TRY(guarded_download(&t->a, q));
    if (!c->one_buffer)
        TRY(guarded_download(&t->b, q));
    TRY(guarded_download(&t->result, q));
    t->ra = guarded_host(&t->a, ta);
    t->rb = c->one_buffer ? guarded_host(&t->a, !ta) : guarded_host(&t->b, tb);
    t->old = guarded_host(&t->result, c->columns_c);
    t->got = guarded_back(&t->result, c->columns_c);
fail:
    return status;
}

static void check_one(const struct gemm_check *t, const size_t at[2],
                      const double sum_mag[2], struct check_result *out)
{
    const struct gemm_case *c = t->c;
    struct ref_gemm_scale s = {c->k, c->alpha, c->beta, c->out};
    struct seen e = {.name = "C", .i = at[0], .j = at[1], .dtype = c->out};
    e.want = ref_gemm_want(&s, sum_mag[0], sum_mag[1],
                           ref_at(&t->old, at[0], at[1]), &e.tol);
    e.got = ref_at(&t->got, at[0], at[1]);
    check_element(out, &e);
}

static xl_status check_all(const struct gemm_check *t,
                           struct check_result *out)
{
    const struct gemm_case *c = t->c;
    size_t n = c->n, k = c->k;
    double *a = xl__calloc(c->m, k * sizeof *a);
    double *b = xl__calloc(k, n * sizeof *b);
    double *line = xl__calloc(n, 2 * sizeof *line);
    xl_status status = a && b && line ? XL_OK : XL_NO_MEMORY;
    if (status != XL_OK)
        goto fail;
    ref_dense(&t->ra, c->m, k, a);
    ref_dense(&t->rb, k, n, b);
    for (size_t i = 0; i < c->m; i++) {
        ref_gemm_row(a + i * k, b, n, k, line, line + n);
        for (size_t j = 0; j < n; j++)
            check_one(t, (size_t[2]){i, j}, (double[2]){line[j], line[n + j]},
                      out);
    }
fail:
    free(a);
    free(b);
    free(line);
    return status;
}

/* First, last, and others at random. */
static size_t sample_line(size_t i, size_t n, struct xl__rng *rng)
{
    return i == 0 ? 0 : i == 1 ? n - 1 : (size_t)xl__rng_below(rng, n);
}

static void check_sample(const struct gemm_check *t, struct xl__rng *rng,
                         struct check_result *out)
{
    const struct gemm_case *c = t->c;
    size_t column[SAMPLE_LINES];
    for (size_t j = 0; j < SAMPLE_LINES; j++)
        column[j] = sample_line(j, c->n, rng);
    for (size_t i = 0; i < SAMPLE_LINES; i++) {
        size_t row = sample_line(i, c->m, rng);
        for (size_t j = 0; j < SAMPLE_LINES; j++) {
            size_t at[2] = {row, column[j]};
            double sum_mag[2];
            ref_gemm_dot(&t->ra, &t->rb, at, c->k, &sum_mag[0], &sum_mag[1]);
            check_one(t, at, sum_mag, out);
        }
    }
    for (size_t i = 0; i < c->m * c->n && out->right; i++) {
        struct seen e = {"C", i / c->n, i % c->n, 0, 0, 1, c->out};
        e.got = ref_at(&t->got, e.i, e.j);
        if (isnan(e.got))
            check_element(out, &e);
    }
}

int verify_gemm(struct xl_queue *q, const struct gemm_case *c,
                const char *variant, unsigned long long seed,
                struct check_result *out)
{
    struct gemm_check t = {.c = c};
    struct xl__rng rng;
    double work = (double)c->m * (double)c->n * (double)c->k;
    xl_status status;

    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(prepare(&t, &rng));
    if (c->data == DATA_LARGE)
        enlarge(&t, &rng);
    TRY(run(&t, q, variant));
    if (work <= FULL_WORK)
        TRY(check_all(&t, out));
    else
        check_sample(&t, &rng, out);
    check_guards(out, &t.a, "A", false);
    if (!c->one_buffer)
        check_guards(out, &t.b, "B", false);
    check_guards(out, &t.result, "C", true);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    guarded_clear(&t.a);
    guarded_clear(&t.b);
    guarded_clear(&t.result);
    return status;
}
