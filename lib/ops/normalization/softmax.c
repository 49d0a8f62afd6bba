/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax as an op: the check of its descriptor, the canonical descriptor and
 * the call that it splits into, its shape class, the arguments that its
 * kernels share, and the public functions. */
#include "ops/normalization/row_backward.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/check.h"
#include "ops/path/cost.h"
#include "ops/path/operands.h"
#include "ops/path/size_buckets.h"

static const struct xl__epilogue_text *text_of(const xl_softmax *canonical,
                                               enum xl__hook hook)
{
    return ((const struct xl__softmax_canonical *)canonical)->hook[hook];
}

/* -- shape class ---------------------------------------------------------- */

static void describe_class(const void *canonical, struct xl__str *out)
{
    const xl_softmax *s = canonical;
    xl__str_printf(out, "%s rows%zu cols%zu", xl_dtype_name(s->src.dtype),
                   xl__bucket(s->rows), xl__bucket(s->cols));
    if (s->dst.dtype != s->src.dtype)
        xl__str_printf(out, " to:%s", xl_dtype_name(s->dst.dtype));
    if (s->src.col_stride != 1 || s->dst.col_stride != 1)
        xl__str_add(out, " strided");
    if (s->dst.mem.svm)
        xl__str_add(out, " in-place");
    if (s->is_log)
        xl__str_add(out, " log");
    if (xl__softmax_has_mask(s))
        xl__str_printf(out, " mask:%s", xl_dtype_name(s->mask.dtype));
    for (unsigned i = 0; i < XL__N_HOOKS; i++) {
        if (text_of(s, i))
            xl__str_printf(out, " %s", xl__hook_words[i].name);
    }
}

/* -- check --------------------------------------------------------------- */

static xl_status check_types(const xl_softmax *s, struct xl__error *e)
{
    const xl_dtype t = s->src.dtype, to = s->dst.dtype;
    const bool has_epilogue = s->epilogue.expr != NULL;
    if (xl__view_is_set(&s->mask) && s->mask.dtype > XL_F64 &&
        s->mask.dtype < XL_N_DTYPES)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "softmax with a mask of %s; it must be of f32, "
                             "f16, bf16 or f64",
                             xl_dtype_name(s->mask.dtype));
    if ((t == XL_F32 || t == XL_F16 || t == XL_BF16) &&
        (has_epilogue ? to != XL_F64 && to < XL_F8E4M3 : to == t))
        return XL_OK;
    return xl__error_set(e, XL_UNSUPPORTED,
                         "softmax from %s to %s%s; src must be of f32, f16 or "
                         "bf16, dst of the same type, or with an epilogue of "
                         "f32, f16, bf16, i32, i8, u8 or bool",
                         xl_dtype_name(t), xl_dtype_name(to),
                         has_epilogue ? " with an epilogue" : "");
}

/* The kernels multiply by a float: the scale as f32 must be neither 0 nor
 * infinite. */
static xl_status check_scale(const xl_softmax *s, struct xl__error *e)
{
    const double size = fabs(s->scale);
    if (s->scale == 0 || (size >= (double)FLT_MIN && size <= (double)FLT_MAX))
        return XL_OK;
    return xl__error_set(e, XL_BAD_SCALAR,
                         "scale is %g; it must be a finite number that f32 "
                         "holds with full precision, or 0 for 1",
                         s->scale);
}

static xl_status check_memory(xl_queue *q, const xl_softmax *s,
                              bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__memory *m = &q->memory;
    const xl_mem mem[] = {s->src.mem, s->dst.mem, s->mask.mem};
    for (unsigned i = 0; i < m->n; i++)
        TRY(xl__operand_locate(m, i, mem[i], with_memory, &q->error));
    TRY(xl__operands_add(q, &s->prologue, with_memory));
    TRY(xl__operands_check_memory(q, &s->epilogue, with_memory));
fail:
    return status;
}

static xl_status check_descriptor(xl_queue *q, const void *desc,
                                  bool with_memory)
{
    xl_status status = XL_OK;
    const xl_softmax *s = desc;
    struct xl__error *e = &q->error;
    struct xl__region *r;
    q->memory.n = 0;
    if (s->is_backward)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "the descriptor is of a gradient, the op is not"));
    TRY(xl__operand_add_mat(q, "src", &s->src, s->rows, s->cols, &r));
    r->may_be_result = true;
    TRY(xl__operand_add_mat(q, "dst", &s->dst, s->rows, s->cols, &r));
    r->is_written = true;
    TRY(xl__region_check_itself(r, e));
    TRY(check_types(s, e));
    if (xl__view_is_set(&s->mask))
        TRY(xl__operand_add_mat(q, "mask", &s->mask, s->rows, s->cols, &r));
    TRY(check_scale(s, e));
    TRY(xl__operands_check(&s->prologue, XL__PROLOGUE, e));
    TRY(xl__operands_check(&s->epilogue, XL__EPILOGUE, e));
    if (s->prologue.n_bindings + s->epilogue.n_bindings >
        XL_EPILOGUE_MAX_BINDINGS)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "a prologue of %u bindings and an epilogue of %u; "
                          "at most %u together are possible",
                          s->prologue.n_bindings, s->epilogue.n_bindings,
                          (unsigned)XL_EPILOGUE_MAX_BINDINGS));
    TRY(check_memory(q, s, with_memory));
fail:
    return status;
}

/* -- bind ---------------------------------------------------------------- */

/* Whether an operand of the prologue is in dst's memory; then it is dst, since
 * it may not overlap otherwise. */
static bool reads_dst(const xl_softmax *s)
{
    for (unsigned k = 0;
         xl__mem_is_set(s->dst.mem) && k < s->prologue.n_bindings; k++) {
        const xl_binding *b = &s->prologue.bindings[k];
        if (!b->is_scalar && b->tensor.mem.buf == s->dst.mem.buf &&
            b->tensor.mem.svm == s->dst.mem.svm)
            return true;
    }
    return false;
}

static xl_status bind_hooks(xl_queue *q, const xl_softmax *s,
                            struct xl__softmax_canonical *to,
                            struct xl__call *call)
{
    xl_status status = XL_OK;
    const struct xl__epilogue_request want[] = {
        {&s->prologue, {1, 1, s->rows, s->cols}, XL_F32, XL__PROLOGUE, NULL},
        {&s->epilogue,
         {1, 1, s->rows, s->cols},
         s->dst.dtype,
         XL__EPILOGUE,
         NULL}};
    if (reads_dst(s))
        to->s.dst.mem.svm = (void *)1;
    for (unsigned i = 0, n = 0; i < XL__N_HOOKS; i++) {
        if (!want[i].epilogue->expr)
            continue;
        TRY(xl__epilogue_text_get(q, &want[i], &to->hook[want[i].hook]));
        xl__operands_bind(&want[i], call, XL__SOFTMAX_OPERAND + n,
                          XL__SOFTMAX_OPERAND_VALUE + n * XL__EPILOGUE_VALUES);
        n += want[i].epilogue->n_bindings;
    }
fail:
    return status;
}

static xl_status bind_call(xl_queue *q, const void *desc, void *canonical,
                           struct xl__call *call)
{
    const xl_softmax *s = desc;
    struct xl__softmax_canonical *to = canonical;
    xl_softmax *c = &to->s;
    memset(to, 0, sizeof *to);
    c->rows = s->rows;
    c->cols = s->cols;
    c->scale = 1;
    c->is_log = s->is_log;
    xl__row_view(&s->src, s->rows, s->cols, xl__operand_base(q, 0), &c->src);
    xl__row_view(&s->dst, s->rows, s->cols, xl__operand_base(q, 1), &c->dst);
    if (xl__mem_is_set(s->dst.mem) && xl__view_is_same(&s->src, &s->dst))
        c->dst.mem.svm = (void *)1;
    if (xl__view_is_set(&s->mask)) {
        xl__row_view(&s->mask, s->rows, s->cols, xl__operand_base(q, 2),
                     &c->mask);
        c->mask.mem.svm = (void *)1;
    }
    call->mem[XL__ROWS_SRC] = s->src.mem;
    call->mem[XL__ROWS_DST] = s->dst.mem;
    call->mem[XL__ROWS_ADDED] = s->mask.mem;
    call->mem[XL__MEM_SCRATCH] = s->workspace;
    call->value[XL__ROWS_SCALE].f = s->scale == 0 ? 1 : s->scale;
    call->value[XL__ROWS_OFF_SRC].u = s->src.offset;
    call->value[XL__ROWS_OFF_DST].u = s->dst.offset;
    call->value[XL__ROWS_OFF_ADDED].u = s->mask.offset;
    return bind_hooks(q, s, to, call);
}

static void set_dense(xl_softmax *to)
{
    xl__row_view_set_dense(&to->src, to->cols);
    xl__row_view_set_dense(&to->dst, to->cols);
    xl__row_view_set_dense(&to->mask, to->cols);
}

static void represent_class(const void *canonical, enum xl__class_end end,
                            void *representative)
{
    xl_softmax *to = representative;
    /* With its padding. */
    memcpy(to, canonical, sizeof(struct xl__softmax_canonical));
    to->rows = xl__size_end(to->rows, XL__SIZE_GRAIN, end);
    to->cols = xl__size_end(to->cols, 1, end);
    set_dense(to);
}

static bool halve_rows(void *canonical)
{
    xl_softmax *s = canonical;
    const bool is_smaller = xl__rows_halve(&s->rows, &s->cols);
    if (is_smaller)
        set_dense(s);
    return is_smaller;
}

static const char *forced_variant(const void *desc)
{
    return ((const xl_softmax *)desc)->variant;
}

double xl__softmax_flop(const xl_softmax *canonical)
{
    static const double per_element = 5; /* scale, max, sub, exp, div */
    double flop = per_element;
    for (unsigned i = 0; i < XL__N_HOOKS; i++) {
        const struct xl__epilogue_text *text = text_of(canonical, i);
        flop += text ? text->flop : 0;
    }
    return flop * (double)canonical->rows * (double)canonical->cols;
}

double xl__softmax_bytes(const xl_softmax *s, double reads)
{
    return (double)s->rows * (double)s->cols *
           (reads * (double)xl_dtype_bytes(s->src.dtype) +
            (double)xl_dtype_bytes(s->dst.dtype));
}

static void keep_memory(struct xl__kept *k, void *desc)
{
    xl_softmax *own = desc;
    own->variant = xl__keep_text(k, own->variant);
    xl__keep_mem(k, &own->src.mem);
    xl__keep_mem(k, &own->dst.mem);
    xl__keep_mem(k, &own->mask.mem);
    xl__keep_mem(k, &own->grad.mem);
    xl__keep_mem(k, &own->workspace);
    xl__keep_epilogue(k, &own->prologue);
    xl__keep_epilogue(k, &own->epilogue);
}

const struct xl__op xl__op_softmax = {
    .id = XL__OP_SOFTMAX,
    .name = "softmax",
    .descriptor = XL__DESCRIPTOR(xl_softmax, XL_SOFTMAX_INIT),
    .canonical_bytes = sizeof(struct xl__softmax_canonical),
    .check = check_descriptor,
    .bind = bind_call,
    .forced = forced_variant,
    .represent = represent_class,
    .shape_class = describe_class,
    .halve = halve_rows,
    .shrink = xl__softmax_shrink,
    .case_init = xl__softmax_case_init,
    .range_at = offsetof(xl_softmax, rows),
    .keep = keep_memory,
};

/* -- for the variants ---------------------------------------------------- */

bool xl__softmax_has_mask(const xl_softmax *canonical)
{
    return canonical->mask.mem.svm != NULL;
}

const char *xl__softmax_refuses(const struct xl__limits *l,
                                const xl_softmax *canonical)
{
    if (xl__softmax_has_mask(canonical) && canonical->mask.dtype == XL_F64 &&
        !xl__is(l, XL__F_has_f64))
        return "an f64 mask needs double precision, which the device lacks";
    return NULL;
}

void xl__softmax_args(struct xl__step *step, const void *canonical)
{
    const xl_softmax *s = canonical;
    xl__row_args(step, &s->src, &s->dst, &s->mask, s->rows, s->cols);
    for (unsigned i = 0, n = 0; i < XL__N_HOOKS; i++) {
        const struct xl__epilogue_text *text = text_of(s, i);
        xl__arg_epilogue(step, text, XL__SOFTMAX_OPERAND + n,
                         XL__SOFTMAX_OPERAND_VALUE + n * XL__EPILOGUE_VALUES,
                         0, false);
        n += text ? text->n_operands : 0;
    }
}

void xl__softmax_defines(struct xl__step *step, const void *canonical,
                         size_t vw)
{
    const xl_softmax *s = canonical;
    xl__row_defines(step, &s->src, &s->dst,
                    xl__softmax_has_mask(s) ? &s->mask : NULL, s->cols, vw);
    xl__define(step, "VA",
               xl__row_view_is_aligned(&s->src, vw) &&
                   xl__row_view_is_aligned(&s->dst, vw));
    if (s->is_log)
        xl__define(step, "LOG", 1);
}

/* -- the gradient ----------------------------------------------------------
 */

static void list_backward(const xl_softmax *s, xl__backward_list views)
{
    memset(views, 0, sizeof(xl__backward_list));
    views[XL__BACKWARD_SRC] = &s->src;
    views[XL__BACKWARD_GRAD] = &s->grad;
    views[XL__BACKWARD_DST] = &s->dst;
}

static xl_status check_backward(xl_queue *q, const void *desc,
                                bool with_memory)
{
    static const char *const names[XL__BACKWARD_N_VIEWS] = {"src", "grad",
                                                            "dst"};
    xl_status status = XL_OK;
    const xl_softmax *s = desc;
    xl__backward_list views;
    if (!s->is_backward)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the op is a gradient, the descriptor is not"));
    if (xl__view_is_set(&s->mask) || s->prologue.expr || s->epilogue.expr)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "a gradient of softmax takes no mask, prologue or "
                          "epilogue; src is the result of the softmax"));
    TRY(check_scale(s, &q->error));
    list_backward(s, views);
    TRY(xl__backward_check(q, views, names, s->rows, s->cols, with_memory));
fail:
    return status;
}

static xl_status bind_backward(xl_queue *q, const void *desc, void *canonical,
                               struct xl__call *call)
{
    const xl_softmax *s = desc;
    xl__backward_list views;
    list_backward(s, views);
    xl__backward_bind(q, views, s->rows, s->cols,
                      s->is_log ? XL__BACKWARD_LOG : XL__BACKWARD_SOFTMAX,
                      canonical, call);
    call->mem[XL__MEM_SCRATCH] = s->workspace;
    call->value[XL__ROWS_SCALE].f = s->scale == 0 ? 1 : s->scale;
    return XL_OK;
}

const struct xl__op xl__op_softmax_backward = {
    .id = XL__OP_SOFTMAX_BACKWARD,
    .name = "softmax_backward",
    .descriptor = XL__DESCRIPTOR(xl_softmax, XL_SOFTMAX_INIT),
    .canonical_bytes = sizeof(struct xl__row_backward),
    .check = check_backward,
    .bind = bind_backward,
    .forced = forced_variant,
    .represent = xl__backward_represent,
    .shape_class = xl__backward_describe,
    .halve = xl__backward_halve,
    .shrink = xl__backward_shrink,
    .case_init = xl__backward_case_init,
    .range_at = offsetof(xl_softmax, rows),
    .keep = keep_memory,
};

/* An older descriptor states no gradient. */
static const struct xl__op *find_op(const xl_softmax *s)
{
    const bool is_backward =
        s && s->size > offsetof(xl_softmax, is_backward) && s->is_backward;
    return is_backward ? &xl__op_softmax_backward : &xl__op_softmax;
}

/* -- the public functions ------------------------------------------------ */

xl_status xl_softmax_run(xl_queue *q, const xl_softmax *s, const xl_sync *sync)
{
    return xl__op_run(q, find_op(s), s, sync);
}

xl_status xl_softmax_prepare(xl_queue *q, const xl_softmax *s)
{
    return xl__op_prepare(q, find_op(s), s);
}

xl_status xl_softmax_prepare_range(xl_queue *q, const xl_softmax *s,
                                   size_t rows_last)
{
    return xl__op_prepare_range(q, find_op(s), s, rows_last);
}

xl_status xl_softmax_prepare_async(xl_queue *q, const xl_softmax *s,
                                   size_t rows_last, xl_prepared done,
                                   void *arg)
{
    return xl__op_prepare_async(q, find_op(s), s, rows_last, done, arg);
}

xl_status xl_softmax_workspace(xl_queue *q, const xl_softmax *s, size_t *bytes)
{
    return xl__op_workspace(q, find_op(s), s, bytes);
}

xl_status xl_softmax_explain(xl_queue *q, const xl_softmax *s, xl_choice *out,
                             unsigned cap, unsigned *n)
{
    return xl__op_explain(q, find_op(s), s, out, cap, n);
}
