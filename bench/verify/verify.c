/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of results: elements, guards, and the check of GEMM and
 * softmax in sequence. */
#include "verify/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_init(struct check_result *r)
{
    memset(r, 0, sizeof *r);
    r->right = true;
}

void check_read(struct checked_element *e, const struct guarded *g,
                const struct ref_mat *view, size_t i, size_t j)
{
    e->mem = g->mem;
    e->at = view->offset + i * view->row_stride + j * view->col_stride;
    e->got = ref_load(view->data, e->at, view->dtype);
}

void check_element(struct check_result *r, const struct checked_element *e)
{
    double error = ref_error(e->got, e->expected, e->tol, e->dtype);
    if (error > r->worst)
        r->worst = error;
    if (error <= 1 || !r->right)
        return;
    r->right = false;
    r->first = (struct wrong_element){.mem = e->mem,
                                      .at = e->at,
                                      .dtype = e->dtype,
                                      .got = e->got,
                                      .expected = e->expected,
                                      .tol = e->tol};
    snprintf(r->why, sizeof r->why,
             "%s[%zu][%zu] is %.9g, should be %.9g, tolerance %.2g", e->name,
             e->i, e->j, e->got, e->expected, e->tol);
}

void check_guards(struct check_result *r, const struct guarded *g,
                  const char *name, bool is_result)
{
    size_t at = 0;
    if (!r->right || guarded_intact(g, is_result, &at))
        return;
    r->right = false;
    r->worst = INFINITY;
    r->first = (struct wrong_element){
        .mem = g->mem, .at = at, .dtype = g->dtype, .is_outside = true};
    snprintf(r->why, sizeof r->why,
             "%s %s at element %" PRIdMAX " from its first", name,
             is_result ? "was written outside its elements" : "was changed",
             (intmax_t)at - (intmax_t)g->first);
}

bool is_other_without_sum(double alpha, const char *variant,
                          const char *reference)
{
    return alpha == 0 && variant && strcmp(variant, reference) != 0;
}

void epilogue_text(xl_dtype out, const char *text, char to[EPILOGUE_CAP])
{
    const bool is_float = out == XL_F32 || out == XL_F16 || out == XL_BF16;
    if (is_float)
        snprintf(to, EPILOGUE_CAP, "%s", text);
    else
        snprintf(to, EPILOGUE_CAP, "cast(%s, %s)", text, xl_dtype_name(out));
}

enum { LOGIT_ROWS = 67, LOGIT_COLS = 129, LOGIT_DEPTH = 64 };

/* Entries so large that sums of LOGIT_DEPTH products deviate by 15000. */
static void fill_logits(struct guarded *g, struct xl__rng *rng)
{
    static const double entry = 43.3; /* entry^2 sqrt(64) = 15000 */
    for (size_t i = 0; i < g->rows; i++) {
        for (size_t j = 0; j < g->cols; j++)
            guarded_set(g, i, j, entry * ref_normal(rng));
    }
}

static void check_sums(const struct guarded *y, struct check_result *out)
{
    struct ref_mat back = guarded_back(y, false);
    double u = ref_roundoff(XL_F32);
    for (size_t i = 0; i < y->rows && out->right; i++) {
        double sum = 0;
        for (size_t j = 0; j < y->cols; j++)
            sum += ref_at(&back, i, j);
        /* Each y errs by its bound; x is exact here, so the bounds weighted
         * by y add up to at most (E|x - max| + 14 + log2 cols + 1) u, and
         * y |x - max| is at most 1/e for each element. */
        double bound = 15 + log2((double)y->cols) + 0.37 * (double)y->cols;
        const struct checked_element e = {.name = "row sum",
                                          .i = i,
                                          .got = sum,
                                          .expected = 1,
                                          .tol = bound * u,
                                          .dtype = XL_F32};
        check_element(out, &e);
    }
}

xl_status verify_precision(xl_queue *q, unsigned long long seed,
                           struct check_result *out)
{
    struct guarded a = {0}, b = {0}, c = {0}, y = {0};
    const struct guarded_layout at[] = {
        {LOGIT_ROWS, LOGIT_DEPTH, 0, 0, XL_F16},
        {LOGIT_DEPTH, LOGIT_COLS, 0, 0, XL_F16},
        {LOGIT_ROWS, LOGIT_COLS, 0, 0, XL_F32},
        {LOGIT_ROWS, LOGIT_COLS, 0, 0, XL_F32}};
    struct guarded *const all[] = {&a, &b, &c, &y};
    struct xl__rng rng;
    xl_status status = XL_OK;

    check_init(out);
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        status = guarded_init(all[i], &at[i]);
        if (status != XL_OK)
            goto fail;
        if (i < 2)
            fill_logits(all[i], &rng);
        status = guarded_upload(all[i], q);
        if (status != XL_OK)
            goto fail;
    }
    xl_gemm g = {XL_GEMM_INIT,
                 .m = LOGIT_ROWS,
                 .n = LOGIT_COLS,
                 .k = LOGIT_DEPTH,
                 .a = guarded_view(&a, false),
                 .b = guarded_view(&b, false),
                 .c = guarded_view(&c, false),
                 .alpha = 1};
    xl_softmax s = {XL_SOFTMAX_INIT, .rows = LOGIT_ROWS, .cols = LOGIT_COLS,
                    .src = guarded_view(&c, false),
                    .dst = guarded_view(&y, false)};
    status = xl_gemm_run(q, &g, NULL);
    if (status == XL_OK)
        status = xl_softmax_run(q, &s, NULL);
    if (status == XL_OK)
        status = guarded_download(&y, q);
    if (status != XL_OK)
        goto fail;
    check_sums(&y, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        guarded_clear(all[i]);
    return status;
}
