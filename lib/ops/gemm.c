/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's entry: what a descriptor must be, and how it splits into what the
 * plan depends on and what changes from call to call. */
#include "ops/gemm.h"

#include <string.h>

#include "base/mem.h"
#include "ops/check.h"
#include "ops/variants.h"

/* -- check --------------------------------------------------------------- */

static xl_status check_sizes(const xl_gemm *g, struct xl__error *e)
{
    if (g->m > 0 && g->n > 0 && g->k > 0)
        return XL_OK;
    return xl__error_set(e, XL_BAD_SHAPE,
                         "gemm of m = %zu, n = %zu, k = %zu; each must be at "
                         "least 1",
                         g->m, g->n, g->k);
}

static xl_status check_types(const xl_gemm *g, struct xl__error *e)
{
    const bool known =
        g->a.dtype == XL_F32 || g->a.dtype == XL_F16 || g->a.dtype == XL_BF16;
    if (known && g->b.dtype == g->a.dtype &&
        (g->c.dtype == XL_F32 || g->c.dtype == g->a.dtype))
        return XL_OK;
    return xl__error_set(e, XL_UNSUPPORTED,
                         "gemm of A %s, B %s, C %s; A and B must be alike, of "
                         "f32, f16 or bf16, and C f32 or of A's type",
                         xl_dtype_name(g->a.dtype), xl_dtype_name(g->b.dtype),
                         xl_dtype_name(g->c.dtype));
}

static xl_status check_memory(const xl_gemm *g, const struct xl__named *a,
                              const struct xl__named *b,
                              const struct xl__named *c, struct xl__error *e)
{
    xl_status status = XL_OK;
    TRY(xl__check_memory(a, e));
    TRY(xl__check_memory(b, e));
    TRY(xl__check_memory(c, e));
    TRY(xl__check_apart(c, a, e));
    TRY(xl__check_apart(c, b, e));
    if (g->workspace.buf || g->workspace.svm)
        TRY(xl__check_scratch_apart(c, g->workspace, e));
fail:
    return status;
}

static xl_status check(xl_queue *q, const void *desc, bool with_memory)
{
    xl_status status = XL_OK;
    const xl_gemm *g = desc;
    struct xl__error *e = &q->error;
    const struct xl__named a = {"A", &g->a, g->m, g->k};
    const struct xl__named b = {"B", &g->b, g->k, g->n};
    const struct xl__named c = {"C", &g->c, g->m, g->n};
    TRY(check_sizes(g, e));
    TRY(xl__check_view(&a, e));
    TRY(xl__check_view(&b, e));
    TRY(xl__check_view(&c, e));
    TRY(check_types(g, e));
    TRY(xl__check_scalar("alpha", g->alpha, e));
    TRY(xl__check_scalar("beta", g->beta, e));
    TRY(xl__check_writable(&c, e));
    if (with_memory)
        TRY(check_memory(g, &a, &b, &c, e));
fail:
    return status;
}

/* -- bind ---------------------------------------------------------------- */

/* A stride along a dimension of size 1 addresses nothing: it becomes what lets
 * the other dimension count as the contiguous one, and aligned. */
static void settle(xl_mat *mat, size_t rows, size_t cols)
{
    enum { ALIGNED = 64 };
    if (rows == 1)
        mat->row_stride =
            mat->col_stride == 1 ? xl__round_up(cols, ALIGNED) : 1;
    else if (cols == 1)
        mat->col_stride =
            mat->row_stride == 1 ? xl__round_up(rows, ALIGNED) : 1;
}

/* By field, so that padding stays 0 and descriptors compare by their bytes. */
static void settle_into(const xl_mat *from, size_t rows, size_t cols,
                        xl_mat *to)
{
    to->row_stride = from->row_stride;
    to->col_stride = from->col_stride;
    to->dtype = from->dtype;
    to->offset = from->offset;
    to->mem.svm = from->mem.svm;
    settle(to, rows, cols);
    to->offset = xl__mat_align(to);
    to->mem.svm = from->mem.svm ? (void *)1 : NULL;
}

static void bind(const void *desc, void *canonical, struct xl__call *call)
{
    const xl_gemm *g = desc;
    xl_gemm *c = canonical;
    memset(c, 0, sizeof *c);
    c->m = g->m;
    c->n = g->n;
    c->k = g->k;
    settle_into(&g->a, g->m, g->k, &c->a);
    settle_into(&g->b, g->k, g->n, &c->b);
    settle_into(&g->c, g->m, g->n, &c->c);
    c->alpha = 1;
    c->beta = g->beta != 0;
    call->mem[XL__GEMM_A] = g->a.mem;
    call->mem[XL__GEMM_B] = g->b.mem;
    call->mem[XL__GEMM_C] = g->c.mem;
    call->value[XL__GEMM_ALPHA].f = g->alpha;
    call->value[XL__GEMM_BETA].f = g->beta;
    call->value[XL__GEMM_OFF_A].u = g->a.offset;
    call->value[XL__GEMM_OFF_B].u = g->b.offset;
    call->value[XL__GEMM_OFF_C].u = g->c.offset;
}

static const char *forced(const void *desc)
{
    return ((const xl_gemm *)desc)->variant;
}

static xl_mem workspace(const void *desc)
{
    return ((const xl_gemm *)desc)->workspace;
}

const struct xl__op xl__op_gemm = {
    .id = XL__OP_GEMM,
    .name = "gemm",
    .desc_bytes = sizeof(xl_gemm),
    .check = check,
    .bind = bind,
    .forced = forced,
    .workspace = workspace,
    .shrink = xl__gemm_shrink,
    .trial_init = xl__gemm_trial_init,
    .trial_judge = xl__gemm_trial_judge,
};

/* -- for the variants ---------------------------------------------------- */

enum xl__gemm_unit xl__gemm_unit_a(const xl_gemm *g)
{
    return g->a.col_stride == 1   ? XL__UNIT_ALONG_K
           : g->a.row_stride == 1 ? XL__UNIT_ACROSS
                                  : XL__UNIT_NONE;
}

enum xl__gemm_unit xl__gemm_unit_b(const xl_gemm *g)
{
    return g->b.col_stride == 1   ? XL__UNIT_ACROSS
           : g->b.row_stride == 1 ? XL__UNIT_ALONG_K
                                  : XL__UNIT_NONE;
}

/* -- the public functions ------------------------------------------------ */

xl_status xl_gemm_run(xl_queue *q, const xl_gemm *g, const xl_sync *sync)
{
    return xl__op_run(q, &xl__op_gemm, g, sync);
}

xl_status xl_gemm_prepare(xl_queue *q, const xl_gemm *g)
{
    return xl__op_prepare(q, &xl__op_gemm, g);
}

xl_status xl_gemm_workspace(xl_queue *q, const xl_gemm *g, size_t *bytes)
{
    return xl__op_workspace(q, &xl__op_gemm, g, bytes);
}

xl_status xl_gemm_explain(xl_queue *q, const xl_gemm *g, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    return xl__op_explain(q, &xl__op_gemm, g, out, cap, n);
}
