/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptor of an attention or of its gradient. */
#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/operands.h"

const char *const xl__attention_names[XL__ATTENTION_ALL_VIEWS] = {
    "q",      "k",     "v",      "o",      "lse",    "mask",
    "slopes", "sinks", "grad_o", "grad_q", "grad_k", "grad_v"};

const xl_heads *xl__attention_operand(const xl_attention *a, unsigned view)
{
    const xl_heads *const views[] = {
        &a->q,     &a->k,    &a->v,     &a->o,     a->lse,    a->mask,
        a->slopes, a->sinks, a->grad_o, a->grad_q, a->grad_k, a->grad_v};
    /* Of a gradient, lse has what sinks are needed for. */
    const bool is_read = a->is_backward ? view != XL__ATTENTION_SINKS
                                        : view < XL__ATTENTION_N_VIEWS;
    return is_read ? views[view] : NULL;
}

bool xl__attention_is_result(unsigned view, bool is_backward)
{
    return is_backward ? view > XL__ATTENTION_GRAD_O
                       : view == XL__ATTENTION_O || view == XL__ATTENTION_LSE;
}

/* -- sizes, types and scalars --------------------------------------------- */

static xl_status check_sizes(const xl_attention *a, struct xl__error *e)
{
    enum { MOST_D = 256 };
    const size_t kv = a->n_kv_heads ? a->n_kv_heads : a->n_heads;
    if (!a->n_heads || !a->n_q || !a->n_kv || !a->d_head)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "attention of n_heads = %zu, n_q = %zu, n_kv = "
                             "%zu, d_head = %zu; each must be at least 1",
                             a->n_heads, a->n_q, a->n_kv, a->d_head);
    if (a->d_head > MOST_D)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "attention of d_head = %zu; at most %d is "
                             "possible",
                             a->d_head, MOST_D);
    if (a->n_heads % kv != 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "attention of %zu heads over %zu of k and v, "
                             "which must divide them",
                             a->n_heads, kv);
    if (a->n_q >= XL__ATTENTION_ANY / a->n_heads ||
        a->n_kv >= XL__ATTENTION_ANY)
        return xl__error_set(e, XL_OVERFLOW,
                             "attention of %zu queries and %zu keys", a->n_q,
                             a->n_kv);
    return XL_OK;
}

static bool is_float(xl_dtype t)
{
    return t == XL_F32 || t == XL_F16 || t == XL_BF16;
}

static xl_status check_types(const xl_attention *a, struct xl__error *e)
{
    const xl_dtype t = a->q.dtype;
    if (!is_float(t) || a->k.dtype != t || a->v.dtype != t ||
        a->o.dtype != t)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "attention of q %s, k %s, v %s, o %s; they must "
                             "be of one type: f32, f16 or bf16",
                             xl_dtype_name(t), xl_dtype_name(a->k.dtype),
                             xl_dtype_name(a->v.dtype),
                             xl_dtype_name(a->o.dtype));
    if (a->mask && !is_float(a->mask->dtype))
        return xl__error_set(e, XL_UNSUPPORTED,
                             "attention with a mask of %s; it must be of "
                             "f32, f16 or bf16",
                             xl_dtype_name(a->mask->dtype));
    for (unsigned i = XL__ATTENTION_LSE; i < XL__ATTENTION_ALL_VIEWS; i++) {
        const xl_heads *x = xl__attention_operand(a, i);
        const xl_dtype want = i < XL__ATTENTION_GRAD_O ? XL_F32 : t;
        if (x && i != XL__ATTENTION_MASK && x->dtype != want)
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "attention with %s of %s; they must be %s",
                                 xl__attention_names[i],
                                 xl_dtype_name(x->dtype), xl_dtype_name(want));
    }
    return XL_OK;
}

/* The kernels multiply by floats. */
static xl_status check_scalars(const xl_attention *a, struct xl__error *e)
{
    const double size = fabs(a->scale);
    if (a->scale != 0 && !(size >= (double)FLT_MIN && size <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "scale is %g; it must be a finite number that "
                             "f32 holds with full precision, or 0 for 1 / "
                             "sqrt(d_head)",
                             a->scale);
    if (a->soft_cap != 0 && !(a->soft_cap >= (double)FLT_MIN &&
                              a->soft_cap <= (double)FLT_MAX))
        return xl__error_set(e, XL_BAD_SCALAR,
                             "soft_cap is %g; it must be a positive finite "
                             "number that f32 holds with full precision, or "
                             "0 for none",
                             a->soft_cap);
    return XL_OK;
}

static xl_status check_prologue(const xl_attention *a, struct xl__error *e)
{
    if (a->prologue.n_bindings > XL_ATTENTION_MAX_BINDINGS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "a prologue of %u bindings; of an attention at "
                             "most %d are possible",
                             a->prologue.n_bindings,
                             (int)XL_ATTENTION_MAX_BINDINGS);
    return xl__operands_check(&a->prologue, XL__PROLOGUE, e);
}

/* -- memory --------------------------------------------------------------- */

static xl_status add_view(xl_queue *q, const struct xl__attention_canonical *c,
                          const xl_heads *x, unsigned view, bool is_result)
{
    xl_status status = XL_OK;
    struct xl__region *r = &q->memory.operand[q->memory.n++];
    xl_tensor t = {
        .offset = x->offset, .n_dims = XL__HEADS_DIMS, .dtype = x->dtype};
    xl__attention_sizes(c, view, t.size);
    if (!xl__heads_strides(x, t.size, t.stride))
        return xl__error_set(&q->error, XL_OVERFLOW,
                             "%s: its dense size does not fit in 64 bits",
                             xl__attention_names[view]);
    TRY(xl__region_init(r, xl__attention_names[view], &t, &q->error));
    r->is_written = is_result;
    if (r->is_written)
        TRY(xl__region_check_itself(r, &q->error));
fail:
    return status;
}

static xl_status check_call(xl_queue *q, const xl_attention *a,
                            bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__memory *m = &q->memory;
    struct xl__attention_canonical c;
    m->n = 0;
    TRY(check_sizes(a, &q->error));
    TRY(check_types(a, &q->error));
    TRY(check_scalars(a, &q->error));
    TRY(check_prologue(a, &q->error));
    xl__attention_set_sizes(a, &c);
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        const xl_heads *x = xl__attention_operand(a, i);
        if (!x)
            continue;
        TRY(add_view(q, &c, x, i, xl__attention_is_result(i, a->is_backward)));
        TRY(xl__operand_locate(m, m->n - 1, x->mem, with_memory, &q->error));
    }
    const unsigned n = m->n;
    TRY(xl__operands_add(q, &a->prologue, with_memory));
    /* A score is read after other results have been stored. */
    for (unsigned i = n; i < m->n; i++)
        m->operand[i].may_be_result = false;
    if (with_memory)
        TRY(xl__operands_check_apart(m, &q->error));
fail:
    return status;
}

xl_status xl__attention_check(xl_queue *q, const void *desc, bool with_memory)
{
    const xl_attention *a = desc;
    if (a->is_backward)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "the descriptor is of a gradient, the op is not");
    return check_call(q, a, with_memory);
}

xl_status xl__attention_backward_check(xl_queue *q, const void *desc,
                                       bool with_memory)
{
    static const unsigned required[] = {
        XL__ATTENTION_LSE, XL__ATTENTION_GRAD_O, XL__ATTENTION_GRAD_Q,
        XL__ATTENTION_GRAD_K, XL__ATTENTION_GRAD_V};
    const xl_attention *a = desc;
    if (!a->is_backward)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "the op is a gradient, the descriptor is not");
    for (unsigned i = 0; i < sizeof required / sizeof *required; i++) {
        if (!xl__attention_operand(a, required[i]))
            return xl__error_set(
                &q->error, XL_BAD_ARGUMENT,
                "a gradient of attention without %s; it needs lse, grad_o, "
                "grad_q, grad_k and grad_v",
                xl__attention_names[required[i]]);
    }
    if (a->prologue.expr)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "a gradient of attention with a prologue; its "
                             "derivative is not known");
    return check_call(q, a, with_memory);
}
