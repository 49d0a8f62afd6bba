/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor table's instructions that cl/common/matrix.clh has code for. */
#include "ops/path/matrix_engine.h"

#include "device/peak_rates.h"

static bool is_type(xl_dtype in)
{
    return in == XL_F16 || in == XL_BF16 || in == XL_I8 || in == XL_F32;
}

const xl_matrix_op *xl__mma_op(const struct xl__limits *l, xl_dtype in)
{
    return is_type(in) && l->model.mma ? xl__find_matrix_op(l, "mma", in, in)
                                       : NULL;
}

const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in)
{
    if (!l->matrix_ops)
        return "no matrix instructions of a sub-group are known for this "
               "device";
    if (!is_type(in))
        return "matrix instructions support f16, bf16, i8 and rounded f32 "
               "only";
    if (!xl__mma_op(l, in))
        return "the kernels do not know the fragments of this device's matrix "
               "instructions";
    return NULL;
}

double xl__mma_rate(const struct xl__limits *l, const xl_matrix_op *op)
{
    const double rate = xl__rate_matrix_op(l, op);
    return rate > 0 ? rate : xl__rate_fma(l);
}

void xl__mma_define(struct xl__step *s, const struct xl__limits *l,
                    const xl_matrix_op *op)
{
    xl__define_choice(s, "XL_MMA", op->code);
    xl__define_choice(s, "XL_COPY", xl__text(l, XL__F_async_copy));
}
