/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a pass: their operands, and how they are run and recorded. */
#include "planner/forward/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* -- calls ---------------------------------------------------------------- */

struct lm_call *lm_add_call(struct lm_builder *b, const char *name,
                            enum lm_kind kind)
{
    struct lm_pass *p = b->pass;
    static struct lm_call unused;
    if (b->status == XL_OK &&
        !xl__grow(&p->list, &p->cap, p->n + 1, sizeof *p->list))
        b->status = XL_NO_MEMORY;
    struct lm_call *c = b->status == XL_OK ? &p->list[p->n++] : &unused;
    *c = (struct lm_call){.name = name, .kind = kind};
    return c;
}

double lm_elem_bytes(const struct lm_builder *b)
{
    return (double)xl_dtype_bytes(b->m->size.dtype);
}

cl_mem lm_builder_buffer(const struct lm_builder *b, enum lm_buffer i)
{
    return b->m->buffer[i];
}

xl_mat lm_rows_of(const struct lm_builder *b, enum lm_buffer i, size_t cols)
{
    return xl_mat_rows(lm_builder_buffer(b, i), cols, b->m->size.dtype);
}

/* Bind a name; returns its tensor. */
xl_tensor *lm_bind(struct lm_call *c, const char *name, cl_mem mem,
                   xl_dtype dtype, unsigned n_dims, const size_t *size)
{
    xl_binding *at = &c->names[c->n_names++ % LM_NAMES];
    *at = (xl_binding){.name = name,
                       .tensor = xl_tensor_dense(mem, dtype, n_dims, size)};
    return &at->tensor;
}

void lm_bind_scalar(struct lm_call *c, const char *name, double value)
{
    c->names[c->n_names++ % LM_NAMES] =
        (xl_binding){.name = name, .is_scalar = true, .scalar = value};
}

/* A vector of the layer; nothing where the model has none. */
bool lm_bind_vector(const struct lm_builder *b, struct lm_call *c,
                    const char *name, enum lm_vector_id id)
{
    const size_t n = lm_vector_size(b->a, b->layer, id);
    const struct lm_weights *w = &b->m->weights;
    if (n > 0)
        lm_bind(c, name, w->vectors, XL_F32, 1, &n)->offset =
            w->vector[b->layer][id];
    return n > 0;
}

void lm_use_expr(struct lm_builder *b, struct lm_call *c, enum lm_expr which,
                 const char *text)
{
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = c->names,
                               .n_bindings = c->n_names};
    xl_expr **e = &b->m->expr[b->pass->tokens > 1][which];
    if (b->status == XL_OK && !*e)
        b->status = xl_expr_compile(b->m->q, text, &args, e);
    c->of.expr = *e;
    for (unsigned i = 0; i < c->n_names; i++) {
        const xl_tensor *t = &c->names[i].tensor;
        double n = c->names[i].is_scalar ? 0 : 1;
        for (unsigned d = 0; d < t->n_dims; d++)
            n *= t->stride[d] > 0 ? (double)t->size[d] : 1;
        c->bytes += n * (double)xl_dtype_bytes(t->dtype);
    }
}

/* -- running -------------------------------------------------------------- */

static xl_status run_rotary(xl_queue *q, const struct lm_rotary *c)
{
    xl_rotary r = c->r;
    r.v = &c->v;
    r.v_cache = &c->v_cache;
    if (c->has_factors)
        r.factors = &c->factors;
    if (c->has_norm) {
        r.q_norm = &c->q_norm;
        r.k_norm = &c->k_norm;
    }
    return xl_rotary_run(q, &r, NULL);
}

xl_epilogue lm_call_epilogue(const struct lm_call *c)
{
    return (xl_epilogue){*c->epilogue ? c->epilogue : NULL, c->names,
                         *c->epilogue ? c->n_names : 0};
}

static xl_status run_call(xl_queue *q, struct lm_call *c)
{
    const xl_epilogue epilogue = lm_call_epilogue(c);
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = c->names,
                               .n_bindings = c->n_names};
    switch (c->kind) {
    case LM_GEMM:
        c->of.gemm.epilogue = epilogue;
        return xl_gemm_run(q, &c->of.gemm, NULL);
    case LM_QGEMM:
        c->of.qgemm.epilogue = epilogue;
        return xl_qgemm_run(q, &c->of.qgemm, NULL);
    case LM_NORM:
        return xl_norm_run(q, &c->of.norm, NULL);
    case LM_ROTARY:
        return run_rotary(q, &c->of.rotary);
    case LM_ATTENTION:
        return xl_attention_run(q, &c->of.attention, NULL);
    case LM_EXPR:
        return xl_expr_run(q, c->of.expr, &args, NULL);
    }
    return XL_BAD_ARGUMENT;
}

xl_status lm_pass_run(xl_queue *q, const struct lm_pass *p, const char *name)
{
    xl_status status = XL_OK;
    if (p->record && !name)
        return xl_record_replay(p->record, NULL);
    for (size_t i = 0; status == XL_OK && i < p->n; i++)
        if (!name || strcmp(name, p->list[i].name) == 0)
            status = run_call(q, &p->list[i]);
    return status;
}

xl_status lm_pass_record(xl_queue *q, struct lm_pass *p)
{
    xl_record *r;
    xl_status status = xl_record_create(q, &r);
    if (status != XL_OK)
        return status;
    status = xl_record_begin(r, 0);
    if (status == XL_OK)
        status = lm_pass_run(q, p, NULL);
    (void)xl_record_end(r);
    if (status == XL_OK)
        p->record = r;
    else
        xl_record_destroy(r);
    return status;
}

void lm_pass_clear(struct lm_pass *p)
{
    xl_record_destroy(p->record);
    free(p->list);
    *p = (struct lm_pass){0};
}
