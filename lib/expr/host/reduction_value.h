/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a reduction on the host, with its error bound. */
#ifndef XL_EXPR_REDUCTION_VALUE_H
#define XL_EXPR_REDUCTION_VALUE_H

#include "expr/host/interval.h"

/* Value and error bound of a REDUCE-class node over n >= 1 numbers
 * a[i * step] of its argument's type. step: 1, or 0 when all n are a[0]. */
struct xl__interval xl__eval_reduce(const struct xl__graph *g, unsigned node,
                                    const struct xl__interval *a,
                                    unsigned step, size_t n);

#endif
