/* SPDX-License-Identifier: Apache-2.0 */
/* See op_gemm_sums.h. */
#include "timing/op_gemm_sums.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "timing/whole.h"

static const double most_elements = 1 << 26; /* a second or two on the host */

static bool is_sound(const struct gemm_sums *s)
{
    const double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    return s->n >= WHOLE_LEAST_TERMS && s->k >= WHOLE_LEAST_TERMS &&
           s->m >= WHOLE_LEAST_TERMS && m * k + k * n + m * n < most_elements;
}

/* y = X x */
static void multiply(const struct ref_mat *mat, size_t rows, size_t cols,
                     const double *x, double *y)
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
    if (!is_sound(s))
        return row;
    double *signs = xl__calloc(s->n, sizeof *signs);
    double *br = xl__calloc(s->k, sizeof *br);
    double *want = xl__calloc(s->m, sizeof *want);
    double *error = xl__calloc(s->m, sizeof *error);
    if (!signs || !br || !want || !error)
        goto end;
    xl__rng_seed(&rng, s->seed);
    for (size_t j = 0; j < s->n; j++)
        signs[j] = xl__rng_below(&rng, 2) ? 1 : -1;
    multiply(&s->b, s->k, s->n, signs, br);
    multiply(&s->a, s->m, s->k, br, want);
    multiply(&s->c, s->m, s->n, signs, error);
    for (size_t i = 0; i < s->m; i++)
        error[i] -= s->alpha * want[i];
    row = whole_outlier(error, s->m, s->least);
end:
    free(signs);
    free(br);
    free(want);
    free(error);
    return row;
}
