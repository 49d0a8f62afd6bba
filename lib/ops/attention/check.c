/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptor of an attention or of its gradient. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/check.h"
#include "ops/path/operands.h"

const char *const xl__attention_names[XL__ATTENTION_ALL_VIEWS] = {
    "q",      "k",      "v",        "o",        "lse",    "mask",
    "slopes", "sinks",  "k_scales", "v_scales", "q_rows", "kv_rows",
    "pages",  "grad_o", "grad_q",   "grad_k",   "grad_v"};

static const xl_heads *numbers_of(const xl_sequences *rows)
{
    return rows ? &rows->numbers : NULL;
}

const xl_heads *xl__attention_operand(const xl_attention *a, unsigned view)
{
    const bool is_paged = a->kv_rows && a->kv_rows->kind == XL_ROWS_PAGED;
    const xl_heads *const views[] = {&a->q,
                                     &a->k,
                                     &a->v,
                                     &a->o,
                                     a->lse,
                                     a->mask,
                                     a->slopes,
                                     a->sinks,
                                     a->k_scales,
                                     a->v_scales,
                                     numbers_of(a->q_rows),
                                     numbers_of(a->kv_rows),
                                     is_paged ? &a->kv_rows->pages : NULL,
                                     a->grad_o,
                                     a->grad_q,
                                     a->grad_k,
                                     a->grad_v};
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
    const xl_dtype t = a->q.dtype, kv = a->k.dtype;
    const bool is_narrow = kv == XL_I8 || kv == XL_F8E4M3;
    const bool is_right =
        t == XL_F8E4M3
            ? kv == t && is_float(a->o.dtype)
            : is_float(t) && (kv == t || is_narrow) && a->o.dtype == t;
    if (!is_right || a->v.dtype != kv)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "attention of q %s, k %s, v %s, o %s; they must "
                             "be of one type, f32, f16 or bf16, or k and v "
                             "of i8 or f8e4m3, or all but o of f8e4m3",
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
        const bool is_list =
            i >= XL__ATTENTION_Q_ROWS && i <= XL__ATTENTION_PAGES;
        const xl_dtype want = is_list                    ? XL_I32
                              : i < XL__ATTENTION_GRAD_O ? XL_F32
                                                         : t;
        if (x && i != XL__ATTENTION_MASK && x->dtype != want)
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "attention with %s of %s; they must be %s",
                                 xl__attention_names[i],
                                 xl_dtype_name(x->dtype), xl_dtype_name(want));
    }
    if ((a->k_scales || a->v_scales) && !is_narrow)
        return xl__error_set(e, XL_UNSUPPORTED,
                             "attention with scales of k and v of %s; they "
                             "must be of i8 or f8e4m3",
                             xl_dtype_name(kv));
    return XL_OK;
}

/* -- sequences of unequal lengths ----------------------------------------- */

xl_status xl__sequences_check(const xl_sequences *rows, const char *name,
                              size_t last, struct xl__error *e)
{
    enum { LEAST_ROWS = 16 };
    if (!rows)
        return XL_OK;
    if (rows->kind < XL_ROWS_LENGTHS || (size_t)rows->kind > last)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s.kind is %d; it must be XL_ROWS_LENGTHS, "
                             "XL_ROWS_PACKED or, of kv_rows, XL_ROWS_PAGED",
                             name, (int)rows->kind);
    if (rows->kind != XL_ROWS_LENGTHS && rows->n_total == 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "%s.n_total is 0; it must be the number of %s in "
                             "memory",
                             name,
                             rows->kind == XL_ROWS_PAGED ? "pages" : "rows");
    if (rows->kind == XL_ROWS_PAGED &&
        (rows->page_rows < LEAST_ROWS ||
         (rows->page_rows & (rows->page_rows - 1)) != 0))
        return xl__error_set(e, XL_BAD_SHAPE,
                             "%s.page_rows is %zu; it must be a power of two "
                             "and at least %d",
                             name, rows->page_rows, (int)LEAST_ROWS);
    if (rows->n_total >= XL__ATTENTION_ANY)
        return xl__error_set(e, XL_OVERFLOW, "%s.n_total is %zu", name,
                             rows->n_total);
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

xl_status xl__heads_add(xl_queue *q, const char *name, const xl_heads *x,
                        const size_t size[XL__HEADS_DIMS], bool is_written)
{
    xl_status status = XL_OK;
    struct xl__region *r = &q->memory.operand[q->memory.n++];
    xl_tensor t = {
        .offset = x->offset, .n_dims = XL__HEADS_DIMS, .dtype = x->dtype};
    memcpy(t.size, size, XL__HEADS_DIMS * sizeof *size);
    if (!xl__heads_strides(x, t.size, t.stride))
        return xl__error_set(&q->error, XL_OVERFLOW,
                             "%s: its dense size does not fit in 64 bits",
                             name);
    TRY(xl__region_init(r, name, &t, &q->error));
    r->is_written = is_written;
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
    size_t size[XL__HEADS_DIMS];
    m->n = 0;
    TRY(check_sizes(a, &q->error));
    TRY(check_types(a, &q->error));
    TRY(xl__check_accuracy("attention", a->accuracy, &q->error));
    TRY(check_scalars(a, &q->error));
    TRY(check_prologue(a, &q->error));
    TRY(xl__sequences_check(a->q_rows, "q_rows", XL_ROWS_PACKED, &q->error));
    TRY(xl__sequences_check(a->kv_rows, "kv_rows", XL_ROWS_PAGED, &q->error));
    xl__attention_set_sizes(a, &c);
    for (unsigned i = 0; i < XL__ATTENTION_ALL_VIEWS; i++) {
        const xl_heads *x = xl__attention_operand(a, i);
        if (!x)
            continue;
        xl__attention_memory_sizes(a, &c, i, size);
        TRY(xl__heads_add(q, xl__attention_names[i], x, size,
                          xl__attention_is_result(i, a->is_backward)));
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
    if (a->q_rows || a->kv_rows || !is_float(a->k.dtype) ||
        a->k.dtype != a->q.dtype)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "a gradient of attention with sequences of "
                             "unequal lengths, or with k and v of another "
                             "type than q");
    if (a->prologue.expr)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "a gradient of attention with a prologue; its "
                             "derivative is not known");
    return check_call(q, a, with_memory);
}
