/* SPDX-License-Identifier: Apache-2.0 */
/* Every op by its id, and the names of the variants of each on a device. */
#include "ops/variants.h"

#include <string.h>

#include "device/device.h"

const struct xl__op *const xl__ops[XL__N_OPS] = {
    [XL__OP_GEMM] = &xl__op_gemm,
    [XL__OP_SOFTMAX] = &xl__op_softmax,
    [XL__OP_CONV] = &xl__op_conv,
};

static const char *name_of_op(const xl_device *dev, const char *op, unsigned i)
{
    for (unsigned id = 0; id < XL__N_OPS; id++) {
        if (strcmp(xl__ops[id]->name, op) != 0)
            continue;
        const struct xl__variant *const *list = dev->vendor->variants[id];
        for (unsigned at = 0; list[at]; at++) {
            if (at == i)
                return list[at]->name;
        }
    }
    return NULL;
}

const char *xl_variant_name(const xl_device *dev, const char *op, unsigned i)
{
    if (!dev || !op)
        return NULL;
    if (strcmp(op, "expr") != 0)
        return name_of_op(dev, op, i);
    unsigned at = 0;
    while (at < i && xl__expr_variants[at])
        at++;
    return xl__expr_variants[at];
}
