/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case, or a sample of one of full size, judged: the host sums in
 * double. The tolerance is the bound of the sum (gemm_bound.c), then what the
 * epilogue makes of it, then one rounding to C's type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/gemm/gemm_small.h"

struct judging {
    const xl_gemm *g;
    const struct xl__gemm *small;
    const struct xl__trial *t;
    struct xl__places a, b, c;
    void *before; /* C as it was */
    char *why;
    size_t why_cap;
};

/* One element of the result. */
struct place {
    size_t z, i, j;
};

static size_t at(const xl_mat *mat, const struct xl__places *p,
                 const struct place *e)
{
    return xl__small_start(mat, p, e->z) + e->i * mat->row_stride +
           e->j * mat->col_stride;
}

/* A row times a column, and the sum of absolute values. */
static void dot(const struct judging *d, const struct place *e, double *sum,
                double *size)
{
    const xl_gemm *g = d->g;
    const void *a = d->t->host[XL__GEMM_A], *b = d->t->host[XL__GEMM_B];
    const size_t row = xl__small_start(&g->a, &d->a, e->z) +
                       e->i * g->a.row_stride;
    const size_t col = xl__small_start(&g->b, &d->b, e->z) +
                       e->j * g->b.col_stride;
    *sum = *size = 0;
    for (size_t l = 0; l < g->k; l++) {
        const double term =
            xl__small_load(a, row + l * g->a.col_stride, g->a.dtype) *
            xl__small_load(b, col + l * g->b.row_stride, g->b.dtype);
        *sum += term;
        *size += fabs(term);
    }
}

/* How far off a sum of that size may be. Short sums of 8-bit floats fit as
 * they are drawn (small.h) into the 13 bits below the leading one that the
 * narrowest engine keeps: what such a small case gets wrong is wrong. */
static double sum_error(const xl_gemm *g, double size)
{
    static const double fits = 0x1p13 / 16;
    const bool is_f8 = g->a.dtype == XL_F8E4M3 || g->a.dtype == XL_F8E5M2;
    return is_f8 && size < fits ? 0 : xl__gemm_bound(g, size);
}

/* y, and how far a device's may be off. */
static double want_y(const struct judging *d, const struct place *e,
                     double *error)
{
    const xl_gemm *g = d->g;
    const double alpha = xl__small_alpha(d->small),
                 beta = xl__small_beta(d->small);
    double sum, size;
    dot(d, e, &sum, &size);
    const double old =
        beta * xl__small_load(d->before, at(&g->c, &d->c, e), g->c.dtype);
    /* Four more roundings: of an integer sum to f32, alpha, beta and their
     * sum. The host rounds as often in f64 as the device does. */
    const double u = 4 * xl__small_roundoff(xl__gemm_y(d->small));
    const double hosts = g->a.dtype == XL_F64 ? 2 : 1;
    *error = hosts * (1 + u) * fabs(alpha) * sum_error(g, size) +
             hosts * u * (fabs(alpha) * size + fabs(old)) +
             xl__small_underflow(xl__gemm_y(d->small));
    return alpha * sum + old;
}

/* The stored value, of y with or without an epilogue. */
static double want_c(const struct judging *d, const struct place *e,
                     double *error)
{
    const xl_dtype dtype = d->g->c.dtype;
    const struct xl__gemm_small *own = d->t->own;
    const size_t along[XL__N_ALONG] = {e->z, e->i, e->j};
    double y_error;
    const double y = want_y(d, e, &y_error);
    if (d->small->snippet)
        return xl__small_epilogue_want(&own->epilogue, d->t, along, dtype, y,
                                       y_error, error);
    *error = y_error + xl__small_roundoff(dtype) * fabs(y) +
             xl__small_underflow(dtype);
    return y;
}

/* Is the element one of those that are looked at? Scattered, so that no row,
 * column or place within tiles is left out. */
static bool is_sampled(const struct judging *d, const struct place *e)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 by golden ratio */
    const uint64_t at = (e->z * d->g->m + e->i) * d->g->n + e->j;
    return d->t->every <= 1 || (at * odd >> 32) % d->t->every == 0;
}

static bool judge_element(const struct judging *d, const struct place *e)
{
    double error;
    if (!is_sampled(d, e))
        return true;
    const double want = want_c(d, e, &error);
    const double got = xl__small_load(d->t->host[XL__GEMM_C],
                                      at(&d->g->c, &d->c, e), d->g->c.dtype);
    if (xl__small_agrees(got, want, error))
        return true;
    snprintf(d->why, d->why_cap,
             "C(%zu, %zu) of %zu x %zu x %zu, product %zu, is %.9g, not %.9g "
             "(within %.2g)",
             e->i, e->j, d->g->m, d->g->n, d->g->k, e->z, got, want, error);
    return false;
}

/* Every element of every product, until `is_right` says no. */
static bool for_all(const struct judging *d,
                    bool (*is_right)(const struct judging *d,
                                     const struct place *e))
{
    struct place e;
    for (e.z = 0; e.z < d->c.count; e.z++) {
        for (e.i = 0; e.i < d->g->m; e.i++) {
            for (e.j = 0; e.j < d->g->n; e.j++) {
                if (!is_right(d, &e))
                    return false;
            }
        }
    }
    return true;
}

static bool put_back(const struct judging *d, const struct place *e)
{
    const size_t elem = xl_dtype_bytes(d->g->c.dtype);
    const size_t byte = elem * at(&d->g->c, &d->c, e);
    memcpy((unsigned char *)d->t->host[XL__GEMM_C] + byte,
           (unsigned char *)d->before + byte, elem);
    return true;
}

/* Put the old elements back over the result: what then differs from the
 * memory before was none of C's. */
static bool judge_guards(const struct judging *d)
{
    const unsigned char *after = d->t->host[XL__GEMM_C], *before = d->before;
    for_all(d, put_back);
    for (size_t byte = 0; byte < d->t->bytes[XL__GEMM_C]; byte++) {
        if (after[byte] != before[byte]) {
            snprintf(d->why, d->why_cap,
                     "memory beside C was written: byte %zu", byte);
            return false;
        }
    }
    return true;
}

bool xl__gemm_trial_judge(const void *small, const struct xl__trial *t,
                          char *why, size_t why_cap)
{
    const xl_gemm *g = small;
    size_t bytes;
    const struct judging d = {.g = g, .small = small, .t = t,
                              .a = xl__batch_a(&g->batch),
                              .b = xl__batch_b(&g->batch),
                              .c = xl__batch_c(&g->batch),
                              .before = xl__small_c(small, &bytes),
                              .why = why, .why_cap = why_cap};
    bool ok = d.before != NULL;
    if (!ok)
        snprintf(why, why_cap, "out of host memory");
    ok = ok && for_all(&d, judge_element) && judge_guards(&d);
    free(d.before);
    return ok;
}
