/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of an epilogue: their memory is checked and bound. */
#include "ops/path/operands.h"

#include "base/alloc.h"
#include "base/dtype.h"

xl_status xl__operands_check(const xl_epilogue *ep, struct xl__error *e)
{
    if (ep->n_bindings > 0 && (!ep->expr || !ep->bindings))
        return xl__error_set(
            e, XL_BAD_ARGUMENT, "an epilogue of %u bindings has no %s",
            ep->n_bindings, ep->expr ? "bindings" : "expression");
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
        if (b->is_scalar && !xl__scalar_fits(b->scalar, b->tensor.dtype))
            return xl__error_set(e, XL_BAD_SCALAR,
                                 b->tensor.dtype == XL_I32
                                     ? "%s is %.17g, which is no whole number "
                                       "of 32 bits"
                                     : "%s is %.17g, which overflows f32",
                                 b->name, b->scalar);
    }
    return XL_OK;
}

bool xl__operand_matrix(const xl_binding *b, xl_mat *mat,
                        struct xl__named *named)
{
    const xl_tensor *t = &b->tensor;
    size_t size[2] = {1, 1}, stride[2] = {0, 0}, reach = 0;
    if (t->n_dims > XL_MAX_DIMS)
        return false;
    for (unsigned d = 0; d < t->n_dims; d++) {
        const unsigned from_end = t->n_dims - 1 - d;
        size_t more;
        if (from_end < 2) {
            size[1 - from_end] = t->size[d];
            stride[1 - from_end] = t->size[d] == 1 ? 0 : t->stride[d];
        } else if (t->size[d] == 0 ||
                   !xl__mul(t->size[d] - 1, t->stride[d], &more) ||
                   !xl__add(reach, more, &reach)) {
            return false;
        }
    }
    *mat = (xl_mat){.mem = t->mem,
                    .offset = t->offset,
                    .row_stride = stride[0],
                    .col_stride = stride[1],
                    .dtype = t->dtype};
    *named = (struct xl__named){b->name, mat, size[0], size[1], reach};
    return true;
}

/* `step`: from one result of the batch to the next; the tensor's dimension for
 * it is the one before the last two. */
static bool is_same_view(const xl_tensor *t, const struct xl__named *x,
                         const struct xl__named *c, size_t step)
{
    const xl_mat *a = x->mat, *b = c->mat;
    return a->mem.buf == b->mem.buf && a->mem.svm == b->mem.svm &&
           a->offset == b->offset && a->dtype == b->dtype &&
           x->rows == c->rows && x->cols == c->cols &&
           (c->rows == 1 || a->row_stride == b->row_stride) &&
           (c->cols == 1 || a->col_stride == b->col_stride) &&
           x->reach == c->reach &&
           (c->reach == 0 || (step > 0 && t->stride[t->n_dims - 3] == step));
}

static xl_status check_operand(const xl_binding *b, const struct xl__named *c,
                               size_t step, struct xl__error *e)
{
    xl_status status = XL_OK;
    xl_mat mat;
    struct xl__named named;
    if (!xl__operand_matrix(b, &mat, &named))
        return xl__error_set(e, XL_OVERFLOW,
                             "%s: a view of %u dimensions that does not fit "
                             "in 64 bits, or has more than %d, or a size of 0",
                             b->name, b->tensor.n_dims, XL_MAX_DIMS);
    TRY(xl__check_view(&named, e));
    TRY(xl__check_memory(&named, e));
    if (!is_same_view(&b->tensor, &named, c, step))
        TRY(xl__check_apart(c, &named, e));
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
            TRY(check_operand(&ep->bindings[k], c, step, e));
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
