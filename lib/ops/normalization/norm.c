/* SPDX-License-Identifier: Apache-2.0 */
/* Norms as an op: the check of the descriptor, the canonical descriptor and
 * the call that it splits into, its shape class, the arguments that its
 * kernels share, and the public functions. */
#include "ops/normalization/row_backward.h"

#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/path/check.h"
#include "ops/path/size_buckets.h"

/* -- views ---------------------------------------------------------------- */

/* clang-format off */
const struct xl__norm_view xl__norm_views[XL__NORM_N_VIEWS] = {
    /*                    name        member                       optional result row    memory             offset */
    [XL__NORM_SRC]      = {"src",      offsetof(xl_norm, src),      false,   false, false, XL__ROWS_SRC,      XL__ROWS_OFF_SRC},
    [XL__NORM_DST]      = {"dst",      offsetof(xl_norm, dst),      false,   true,  false, XL__ROWS_DST,      XL__ROWS_OFF_DST},
    [XL__NORM_RESIDUAL] = {"residual", offsetof(xl_norm, residual), true,    false, false, XL__ROWS_ADDED,    XL__ROWS_OFF_ADDED},
    [XL__NORM_SUM]      = {"sum",      offsetof(xl_norm, sum),      true,    true,  false, XL__NORM_MEM_SUM,  XL__NORM_OFF_SUM},
    [XL__NORM_GAIN]     = {"scale",    offsetof(xl_norm, scale),    true,    false, true,  XL__NORM_MEM_GAIN, XL__NORM_OFF_GAIN},
    [XL__NORM_BIAS]     = {"bias",     offsetof(xl_norm, bias),     true,    false, true,  XL__NORM_MEM_BIAS, XL__NORM_OFF_BIAS},
};
/* clang-format on */

const xl_mat *xl__norm_view(const xl_norm *n, unsigned view)
{
    return (const xl_mat *)((const char *)n + xl__norm_views[view].at);
}

xl_mat *xl__norm_view_of(xl_norm *n, unsigned view)
{
    return (xl_mat *)((char *)n + xl__norm_views[view].at);
}

/* Of the caller's descriptor. */
static bool is_given(const xl_norm *n, unsigned view)
{
    return !xl__norm_views[view].is_optional ||
           xl__view_is_set(xl__norm_view(n, view));
}

bool xl__norm_has(const xl_norm *canonical, unsigned view)
{
    return !xl__norm_views[view].is_optional ||
           xl__norm_view(canonical, view)->mem.svm;
}

static size_t rows_of(const xl_norm *n, unsigned view)
{
    return xl__norm_views[view].is_row ? 1 : n->rows;
}

/* -- shape class ---------------------------------------------------------- */

static void describe_class(const void *canonical, struct xl__str *out)
{
    const xl_norm *n = canonical;
    bool is_strided = false;
    xl__str_printf(
        out, "%s%s rows%zu cols%zu", n->kind == XL_NORM_RMS ? "rms " : "",
        xl_dtype_name(n->src.dtype), xl__bucket(n->rows), xl__bucket(n->cols));
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        const xl_mat *view = xl__norm_view(n, v);
        if (!xl__norm_has(n, v))
            continue;
        is_strided = is_strided || view->col_stride != 1;
        if (v != XL__NORM_SRC &&
            (v != XL__NORM_DST || view->dtype != n->src.dtype))
            xl__str_printf(out, " %s:%s", xl__norm_views[v].name,
                           xl_dtype_name(view->dtype));
    }
    if (is_strided)
        xl__str_add(out, " strided");
    if (n->dst.mem.svm)
        xl__str_add(out, " in-place");
}

/* -- check ---------------------------------------------------------------- */

static xl_status check_scalars(const xl_norm *n, struct xl__error *e)
{
    if ((unsigned)n->kind >= XL_N_NORM_KINDS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "kind is %d; it must be XL_NORM_LAYER or "
                             "XL_NORM_RMS",
                             (int)n->kind);
    if (n->eps != 0 &&
        !(n->eps >= (double)FLT_MIN && n->eps <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "eps is %g; it must be a positive finite number "
                             "that f32 holds with full precision, or 0 for "
                             "1e-5",
                             n->eps);
    return XL_OK;
}

static xl_status check_view(xl_queue *q, const xl_norm *n, unsigned v,
                            bool with_memory)
{
    xl_status status = XL_OK;
    const struct xl__norm_view *what = &xl__norm_views[v];
    const xl_mat *view = xl__norm_view(n, v);
    struct xl__region *r;
    TRY(xl__operand_add_mat(q, what->name, view, rows_of(n, v), n->cols, &r));
    r->may_be_result = !what->is_result && !what->is_row;
    r->is_written = what->is_result;
    if (what->is_result)
        TRY(xl__region_check_itself(r, &q->error));
    if (view->dtype != XL_F32 && view->dtype != XL_F16 &&
        view->dtype != XL_BF16)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "%s of a norm is of %s; it must be of f32, f16 or "
                          "bf16",
                          what->name, xl_dtype_name(view->dtype)));
    TRY(xl__operand_locate(&q->memory, q->memory.n - 1, view->mem, with_memory,
                           &q->error));
fail:
    return status;
}

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    xl_status status = XL_OK;
    const xl_norm *n = desc;
    q->memory.n = 0;
    if (n->is_backward)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the descriptor is of a gradient, the op is not"));
    TRY(check_scalars(n, &q->error));
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        if (is_given(n, v))
            TRY(check_view(q, n, v, with_memory));
    }
    if (with_memory)
        TRY(xl__operands_check_apart(&q->memory, &q->error));
fail:
    return status;
}

/* -- bind ----------------------------------------------------------------- */

static bool is_in_place(const xl_norm *n, unsigned result)
{
    const xl_mat *to = xl__norm_view(n, result);
    return xl__mem_is_set(to->mem) && (xl__view_is_same(to, &n->src) ||
                                       xl__view_is_same(to, &n->residual));
}

static double eps_of(const xl_norm *n)
{
    static const double usual_eps = 1e-5;
    return n->eps == 0 ? usual_eps : n->eps;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    const xl_norm *n = desc;
    xl_norm *c = canonical;
    memset(c, 0, sizeof *c);
    c->rows = n->rows;
    c->cols = n->cols;
    c->kind = n->kind;
    c->eps = 1;
    for (unsigned v = 0, i = 0; v < XL__NORM_N_VIEWS; v++) {
        const xl_mat *from = xl__norm_view(n, v);
        xl_mat *to = xl__norm_view_of(c, v);
        if (!is_given(n, v))
            continue;
        xl__row_view(from, rows_of(n, v), n->cols, xl__operand_base(q, i++),
                     to);
        if (xl__norm_views[v].is_optional)
            to->mem.svm = (void *)1;
        call->mem[xl__norm_views[v].mem] = from->mem;
        call->value[xl__norm_views[v].offset].u = from->offset;
    }
    if (is_in_place(n, XL__NORM_DST) || is_in_place(n, XL__NORM_SUM))
        c->dst.mem.svm = (void *)1;
    call->mem[XL__MEM_SCRATCH] = n->workspace;
    call->value[XL__ROWS_SCALE].f = 1;
    call->value[XL__NORM_EPS].f = eps_of(n);
    return XL_OK;
}

static void set_dense(xl_norm *n)
{
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++)
        xl__row_view_set_dense(xl__norm_view_of(n, v), n->cols);
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    xl_norm *to = representative;
    memcpy(to, canonical, sizeof *to); /* with its padding */
    to->rows = xl__size_end(to->rows, XL__SIZE_GRAIN, end);
    to->cols = xl__size_end(to->cols, 1, end);
    set_dense(to);
}

static bool halve_rows(void *canonical)
{
    xl_norm *n = canonical;
    const bool is_smaller = xl__rows_halve(&n->rows, &n->cols);
    if (is_smaller)
        set_dense(n);
    return is_smaller;
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_norm *)desc)->variant;
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_norm *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++)
        xl__keep_mem(k, &xl__norm_view_of(own, v)->mem);
    xl__keep_mem(k, &own->grad.mem);
    xl__keep_mem(k, &own->grad_scale.mem);
    xl__keep_mem(k, &own->grad_bias.mem);
    xl__keep_mem(k, &own->workspace);
}

const struct xl__op xl__op_norm = {
    .id = XL__OP_NORM,
    .name = "norm",
    .descriptor = XL__DESCRIPTOR(xl_norm, XL_NORM_INIT),
    .canonical_bytes = sizeof(xl_norm),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .halve = halve_rows,
    .shrink = xl__norm_shrink,
    .case_init = xl__norm_case_init,
    .range_at = offsetof(xl_norm, rows),
    .keep = keep_memory,
};

/* -- for the variants ----------------------------------------------------- */

double xl__norm_flop(const xl_norm *n)
{
    /* Two differences, a square, three sums; two products. */
    static const double per_element = 8;
    return per_element * (double)n->rows * (double)n->cols;
}

double xl__norm_bytes(const xl_norm *n, bool is_written)
{
    double bytes = 0;
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        const struct xl__norm_view *what = &xl__norm_views[v];
        if (xl__norm_has(n, v) && what->is_result == is_written &&
            !what->is_row)
            bytes += (double)xl_dtype_bytes(xl__norm_view(n, v)->dtype);
    }
    return bytes * (double)n->rows * (double)n->cols;
}

void xl__norm_args(struct xl__step *step, const void *canonical)
{
    const xl_norm *n = canonical;
    xl__row_args(step, &n->src, &n->dst, &n->residual, n->rows, n->cols);
    for (unsigned i = XL__NORM_MEM_GAIN; i <= XL__NORM_MEM_SUM; i++)
        xl__arg_mem(step, i);
    for (unsigned i = XL__NORM_OFF_GAIN; i <= XL__NORM_OFF_SUM; i++)
        xl__arg_value_u64(step, i);
    xl__arg_u64(step, n->sum.row_stride);
    xl__arg_value_f32(step, XL__NORM_EPS);
}

/* Those of the views that are given, a list that ends with XL__NORM_N_VIEWS.
 */
static bool are_aligned(const xl_norm *n, const unsigned *views, size_t vw)
{
    bool are = true;
    for (unsigned i = 0; views[i] < XL__NORM_N_VIEWS; i++)
        are = are && (!xl__norm_has(n, views[i]) ||
                      xl__row_view_is_aligned(xl__norm_view(n, views[i]), vw));
    return are;
}

void xl__norm_defines(struct xl__step *step, const void *canonical, size_t vw)
{
    static const unsigned rows[] = {XL__NORM_SRC, XL__NORM_DST, XL__NORM_SUM,
                                    XL__NORM_N_VIEWS};
    static const unsigned columns[] = {XL__NORM_GAIN, XL__NORM_BIAS,
                                       XL__NORM_N_VIEWS};
    const xl_norm *n = canonical;
    xl__row_defines(step, &n->src, &n->dst,
                    xl__norm_has(n, XL__NORM_RESIDUAL) ? &n->residual : NULL,
                    n->cols, vw);
    xl__define(step, "VA", are_aligned(n, rows, vw));
    if (n->kind == XL_NORM_RMS)
        xl__define(step, "RMS", 1);
    if (xl__norm_has(n, XL__NORM_GAIN))
        xl__define(step, "GT", (long)n->scale.dtype);
    if (xl__norm_has(n, XL__NORM_BIAS))
        xl__define(step, "BT", (long)n->bias.dtype);
    xl__define(step, "GA", are_aligned(n, columns, vw));
    if (xl__norm_has(n, XL__NORM_SUM))
        xl__define(step, "ST", (long)n->sum.dtype);
}

/* -- the gradient ----------------------------------------------------------
 */

static void list_backward(const xl_norm *n, xl__backward_list views)
{
    const struct {
        unsigned view;
        const xl_mat *mat;
    } optional[] = {{XL__BACKWARD_GAIN, &n->scale},
                    {XL__BACKWARD_TO_GAIN, &n->grad_scale},
                    {XL__BACKWARD_TO_BIAS, &n->grad_bias}};
    memset(views, 0, sizeof(xl__backward_list));
    views[XL__BACKWARD_SRC] = &n->src;
    views[XL__BACKWARD_GRAD] = &n->grad;
    views[XL__BACKWARD_DST] = &n->dst;
    for (unsigned i = 0; i < sizeof optional / sizeof *optional; i++) {
        if (xl__view_is_set(optional[i].mat))
            views[optional[i].view] = optional[i].mat;
    }
}

static xl_status check_backward(xl_queue *q, const void *desc,
                                bool with_memory)
{
    static const char *const names[XL__BACKWARD_N_VIEWS] = {
        "src", "grad", "dst", "scale", "grad_scale", "grad_bias"};
    xl_status status = XL_OK;
    const xl_norm *n = desc;
    xl__backward_list views;
    if (!n->is_backward)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the op is a gradient, the descriptor is not"));
    if (xl__view_is_set(&n->residual) || xl__view_is_set(&n->sum))
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "a gradient of a norm takes no residual and no sum; "
                          "give the sum that the norm stored as src"));
    TRY(check_scalars(n, &q->error));
    list_backward(n, views);
    TRY(xl__backward_check(q, views, names, n->rows, n->cols, with_memory));
fail:
    return status;
}

static xl_status bind_backward(xl_queue *q, const void *desc, void *canonical,
                               struct xl__call *call)
{
    const xl_norm *n = desc;
    xl__backward_list views;
    list_backward(n, views);
    xl__backward_bind(q, views, n->rows, n->cols,
                      n->kind == XL_NORM_RMS ? XL__BACKWARD_RMS
                                             : XL__BACKWARD_LAYER,
                      canonical, call);
    call->mem[XL__MEM_SCRATCH] = n->workspace;
    call->value[XL__ROWS_SCALE].f = 1;
    call->value[XL__NORM_EPS].f = eps_of(n);
    return XL_OK;
}

const struct xl__op xl__op_norm_backward = {
    .id = XL__OP_NORM_BACKWARD,
    .name = "norm_backward",
    .descriptor = XL__DESCRIPTOR(xl_norm, XL_NORM_INIT),
    .canonical_bytes = sizeof(struct xl__row_backward),
    .check = check_backward,
    .bind = bind_backward,
    .forced = forced_variant,
    .represent = xl__backward_represent,
    .shape_class = xl__backward_describe,
    .halve = xl__backward_halve,
    .shrink = xl__backward_shrink,
    .case_init = xl__backward_case_init,
    .range_at = offsetof(xl_norm, rows),
    .keep = keep_memory,
};

/* An older descriptor states no gradient. */
static const struct xl__op *find_op(const xl_norm *n)
{
    const bool is_backward =
        n && n->size > offsetof(xl_norm, is_backward) && n->is_backward;
    return is_backward ? &xl__op_norm_backward : &xl__op_norm;
}

/* -- the public functions ------------------------------------------------- */

xl_status xl_norm_run(xl_queue *q, const xl_norm *n, const xl_sync *sync)
{
    return xl__op_run(q, find_op(n), n, sync);
}

xl_status xl_norm_prepare(xl_queue *q, const xl_norm *n)
{
    return xl__op_prepare(q, find_op(n), n);
}

xl_status xl_norm_prepare_range(xl_queue *q, const xl_norm *n,
                                size_t rows_last)
{
    return xl__op_prepare_range(q, find_op(n), n, rows_last);
}

xl_status xl_norm_prepare_async(xl_queue *q, const xl_norm *n,
                                size_t rows_last, xl_prepared done, void *arg)
{
    return xl__op_prepare_async(q, find_op(n), n, rows_last, done, arg);
}

xl_status xl_norm_workspace(xl_queue *q, const xl_norm *n, size_t *bytes)
{
    return xl__op_workspace(q, find_op(n), n, bytes);
}

xl_status xl_norm_explain(xl_queue *q, const xl_norm *n, xl_choice *out,
                          unsigned cap, unsigned *n_out)
{
    return xl__op_explain(q, find_op(n), n, out, cap, n_out);
}
