/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of an epilogue: their memory is checked and bound. */
#include "ops/path/operands.h"

#include "base/dtype.h"

xl_status xl__operands_check(const xl_epilogue *ep, enum xl__hook hook,
                             struct xl__error *e)
{
    const struct xl__hook_words *words = &xl__hook_words[hook];
    if (ep->n_bindings > 0 && (!ep->expr || !ep->bindings))
        return xl__error_set(e, XL_BAD_ARGUMENT, "%s of %u bindings has no %s",
                             words->one, ep->n_bindings,
                             ep->expr ? "bindings" : "expression");
    if (ep->n_bindings > XL_EPILOGUE_MAX_BINDINGS)
        return xl__error_set(
            e, XL_BAD_ARGUMENT, "%s of %u bindings; at most %u are possible",
            words->one, ep->n_bindings, (unsigned)XL_EPILOGUE_MAX_BINDINGS);
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        const xl_binding *b = &ep->bindings[k];
        if (!b->name)
            return xl__error_set(e, XL_BAD_ARGUMENT,
                                 "binding %u of the %s has no name", k,
                                 words->name);
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

xl_status xl__operands_add(xl_queue *q, const xl_epilogue *ep,
                           bool with_memory)
{
    xl_status status = XL_OK;
    struct xl__memory *m = &q->memory;
    for (unsigned k = 0; k < ep->n_bindings; k++) {
        const xl_binding *b = &ep->bindings[k];
        struct xl__region *r = &m->operand[m->n];
        if (b->is_scalar)
            continue;
        TRY(xl__region_init(r, b->name, &b->tensor, &q->error));
        r->may_be_result = true;
        TRY(xl__operand_locate(m, m->n++, b->tensor.mem, with_memory,
                               &q->error));
    }
fail:
    return status;
}

xl_status xl__operands_check_memory(xl_queue *q, const xl_epilogue *ep,
                                    bool with_memory)
{
    xl_status status = XL_OK;
    TRY(xl__operands_add(q, ep, with_memory));
    if (with_memory)
        TRY(xl__operands_check_apart(&q->memory, &q->error));
fail:
    return status;
}

void xl__operands_bind(const struct xl__epilogue_request *want,
                       struct xl__call *call, unsigned mem, unsigned value)
{
    for (unsigned k = 0; k < want->epilogue->n_bindings; k++) {
        const xl_binding *b = &want->epilogue->bindings[k];
        const unsigned at = value + k * XL__EPILOGUE_VALUES + XL__EPILOGUE_AT;
        size_t stride[XL__N_ALONG];
        call->mem[mem + k] = b->tensor.mem;
        if (b->is_scalar) {
            call->value[at].f = b->scalar;
            continue;
        }
        call->value[at].u = b->tensor.offset;
        xl__epilogue_strides(b, want->size, stride);
        for (unsigned along = 0; along < XL__N_ALONG; along++)
            call->value[at + XL__EPILOGUE_STRIDE + along].u = stride[along];
    }
}
