/* SPDX-License-Identifier: Apache-2.0 */
/* Every op by its id, and the names of the variants of each on a device. */
#include "ops/variants.h"

#include <string.h>

#include "device/device.h"
#include "ops/expression/expression.h"

const struct xl__op *const xl__ops[XL__N_OPS] = {
    [XL__OP_GEMM] = &xl__op_gemm,
    [XL__OP_SOFTMAX] = &xl__op_softmax,
    [XL__OP_CONV] = &xl__op_conv,
    [XL__OP_CONV_DATA] = &xl__op_conv_data,
    [XL__OP_CONV_FILTERS] = &xl__op_conv_filters,
    [XL__OP_ATTENTION] = &xl__op_attention,
    [XL__OP_NORM] = &xl__op_norm,
    [XL__OP_SOFTMAX_BACKWARD] = &xl__op_softmax_backward,
    [XL__OP_NORM_BACKWARD] = &xl__op_norm_backward,
    [XL__OP_ATTENTION_BACKWARD] = &xl__op_attention_backward,
    [XL__OP_QGEMM] = &xl__op_qgemm,
    [XL__OP_ROTARY] = &xl__op_rotary,
    [XL__OP_QCONVERT] = &xl__op_qconvert,
};

static const struct xl__op *find_op(const char *name)
{
    for (unsigned id = 0; id < XL__N_OPS; id++) {
        if (strcmp(xl__ops[id]->name, name) == 0)
            return xl__ops[id];
    }
    return strcmp(xl__op_expr.name, name) == 0 ? &xl__op_expr : NULL;
}

const char *xl_variant_name(const xl_device *dev, const char *op, unsigned i)
{
    const struct xl__op *found = dev && op ? find_op(op) : NULL;
    if (!found)
        return NULL;
    const struct xl__variant *const *list = xl__op_variants(found, dev);
    for (unsigned at = 0; list[at]; at++) {
        if (at == i)
            return list[at]->name;
    }
    return NULL;
}
