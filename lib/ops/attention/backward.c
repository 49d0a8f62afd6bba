/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the kernels of attention's gradients. */
#include "ops/attention/attention.h"

void xl__attention_backward_args(struct xl__step *step,
                                 const struct xl__attention_canonical *c)
{
    enum {
        N_VIEWS = XL__ATTENTION_ALL_VIEWS - XL__ATTENTION_GRAD_O,
        VIEW_WORDS = 1 + XL__HEADS_DIMS
    };
    xl__attention_args(step, c);
    for (unsigned i = XL__ATTENTION_GRAD_O; i < XL__ATTENTION_ALL_VIEWS; i++)
        xl__arg_mem(step, XL__ATTENTION_MEM + i);
    xl__arg_words(step, N_VIEWS * VIEW_WORDS);
    for (unsigned i = XL__ATTENTION_GRAD_O; i < XL__ATTENTION_ALL_VIEWS; i++) {
        xl__arg_value_u64(step, XL__ATTENTION_OFF + i);
        for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
            xl__arg_u64(step, c->view[i].stride[d]);
    }
}
