/* SPDX-License-Identifier: Apache-2.0 */
/* What every kernel of a convolution is handed. */
#include "ops/conv/conv.h"

void xl__conv_define(struct xl__step *s, const struct xl__conv *c)
{
    xl__define(s, "TA", (long)c->d.in.dtype);
    xl__define(s, "TC", (long)c->d.out.dtype);
    xl__define(s, "TY", (long)xl__conv_y(c));
    if (c->d.in.dtype == XL_F64)
        xl__define(s, "XL_USE_F64", 1);
}

static void arg_images(struct xl__step *s, unsigned slot, const xl_images *x)
{
    xl__arg_mem(s, slot);
    xl__arg_value_u64(s, slot - XL__CONV_A + XL__CONV_OFF_A);
    for (unsigned at = 0; at < XL__N_AT; at++)
        xl__arg_u64(s, x->stride[at]);
}

void xl__conv_arg_in(struct xl__step *s, const struct xl__conv *c)
{
    arg_images(s, xl__conv_slot_in(&c->d), &c->d.in);
}

void xl__conv_arg_out(struct xl__step *s, const struct xl__conv *c)
{
    arg_images(s, XL__CONV_OUT, &c->d.out);
}

void xl__conv_arg_filters(struct xl__step *s, const struct xl__conv *c)
{
    const unsigned slot = xl__conv_slot_filters(&c->d);
    xl__arg_mem(s, slot);
    xl__arg_value_u64(s, slot - XL__CONV_A + XL__CONV_OFF_A);
}

void xl__conv_arg_last(struct xl__step *s, const struct xl__conv *c)
{
    void (*const add)(struct xl__step *, unsigned) =
        xl__conv_y(c) == XL_F64   ? xl__arg_value_f64
        : xl__conv_y(c) == XL_I32 ? xl__arg_value_i32
                                  : xl__arg_value_f32;
    add(s, XL__CONV_ALPHA);
    add(s, XL__CONV_BETA);
    xl__arg_epilogue(s, c->snippet, XL__CONV_OPERAND, XL__CONV_OPERAND_VALUE,
                     false);
}
