/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution's small case on the host: conv_trial.c makes it, conv_judge.c
 * compares. It owns an xl__small_epilogue. */
#ifndef XL_OPS_CONV_SMALL_H
#define XL_OPS_CONV_SMALL_H

#include "ops/conv/conv.h"
#include "ops/path/selfcheck_data.h"

/* out's memory as it was before the run; free() it. NULL: no memory. */
void *xl__conv_small_out(const struct xl__conv *small, size_t *bytes);
/* Elements before the first of images, of the filters. */
size_t xl__conv_small_start(size_t offset, xl_dtype dtype);
/* alpha and beta of the case. */
double xl__conv_small_alpha(const struct xl__conv *small);
double xl__conv_small_beta(const struct xl__conv *small);
/* Size of out as the epilogue has it. */
void xl__conv_small_along(const struct xl__conv *small,
                          size_t size[XL__N_ALONG]);

#endif
