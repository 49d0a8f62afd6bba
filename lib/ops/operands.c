/* SPDX-License-Identifier: Apache-2.0 */
/* An epilogue's operands, as memory. */
#include "ops/operands.h"

#include <math.h>

#include "base/mem.h"

xl_status xl__operands_check(const xl_epilogue *ep, struct xl__error *e)
{
    if (ep->n_bindings > 0 && (!ep->expr || !ep->bindings))
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "an epilogue of %u bindings has no %s",
                             ep->n_bindings,
                             ep->expr ? "bindings" : "expression");
    if (ep->n_bindings > XL_EPILOGUE_MAX_BINDINGS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "an epilogue of %u bindings; at most %u are "
                             "possible",
                             ep->n_bindings,
                             (unsigned)XL_EPILOGUE_MAX_BINDINGS);
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        const xl_binding *b = &ep->bindings[k];
        if (!b->name)
            return xl__error_set(e, XL_BAD_ARGUMENT,
                                 "binding %u of the epilogue has no name", k);
        if (b->is_scalar && b->tensor.dtype == XL_I32 &&
            !(b->scalar >= INT32_MIN && b->scalar <= INT32_MAX &&
              floor(b->scalar) == b->scalar))
            return xl__error_set(e, XL_BAD_SCALAR,
                                 "%s is %.17g, which is no whole number of 32 "
                                 "bits",
                                 b->name, b->scalar);
    }
    return XL_OK;
}

/* The tensor's bytes as one line. */
static bool line_of(const xl_tensor *t, xl_mat *line, size_t *elems)
{
    *line = (xl_mat){.mem = t->mem, .offset = t->offset, .row_stride = 0,
                     .col_stride = 1, .dtype = t->dtype};
    *elems = 1;
    for (unsigned d = 0; d < t->n_dims; d++) {
        size_t reach;
        if (t->size[d] == 0 ||
            !xl__mul(t->size[d] - 1, t->stride[d], &reach) ||
            !xl__add(*elems, reach, elems))
            return false;
    }
    line->row_stride = *elems;
    return true;
}

/* Sizes and strides of C, with the batch's before them if there is one. */
static bool is_same_view(const xl_tensor *t, const struct xl__named *c,
                         size_t step)
{
    const xl_mat *m = c->mat;
    if (t->n_dims < 2 || t->mem.buf != m->mem.buf ||
        t->mem.svm != m->mem.svm || t->offset != m->offset ||
        t->dtype != m->dtype)
        return false;
    const unsigned d = t->n_dims - 2;
    return t->size[d] == c->rows && t->size[d + 1] == c->cols &&
           (t->stride[d] == m->row_stride || c->rows == 1) &&
           (t->stride[d + 1] == m->col_stride || c->cols == 1) &&
           (c->reach == 0 || (d == 1 && step > 0 && t->stride[0] == step));
}

static xl_status check_one(const xl_binding *b, const struct xl__named *c,
                           size_t step, struct xl__error *e)
{
    xl_status status = XL_OK;
    xl_mat line;
    size_t elems;
    if (b->tensor.n_dims > XL_MAX_DIMS || !line_of(&b->tensor, &line, &elems))
        return xl__error_set(e, XL_OVERFLOW,
                             "%s: the view does not fit in 64 bits", b->name);
    const struct xl__named x = {.name = b->name, .mat = &line, .rows = 1,
                                .cols = elems};
    TRY(xl__check_view(&x, e));
    TRY(xl__check_memory(&x, e));
    if (!is_same_view(&b->tensor, c, step))
        TRY(xl__check_apart(c, &x, e));
fail:
    return status;
}

xl_status xl__operands_check_memory(const xl_epilogue *ep,
                                    const struct xl__named *c, size_t step,
                                    struct xl__error *e)
{
    xl_status status = XL_OK;
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        if (!ep->bindings[k].is_scalar)
            TRY(check_one(&ep->bindings[k], c, step, e));
    }
fail:
    return status;
}

void xl__operands_bind(const xl_epilogue *ep, struct xl__call *call,
                       unsigned mem, unsigned value)
{
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        const xl_binding *b = &ep->bindings[k];
        call->mem[mem + k] = b->tensor.mem;
        if (b->is_scalar)
            call->value[value + k].f = b->scalar;
        else
            call->value[value + k].u = b->tensor.offset;
    }
}
