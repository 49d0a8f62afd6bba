/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax's shape class: type, sizes by bucket, what else decides which forms
 * there are. */
#include "ops/path/buckets.h"
#include "ops/normalization/softmax.h"

void xl__softmax_shape_class(const void *canonical, struct xl__str *out)
{
    const xl_softmax *s = canonical;
    xl__str_printf(out, "%s rows%zu cols%zu", xl_dtype_name(s->src.dtype),
                   xl__bucket(s->rows), xl__bucket(s->cols));
    if (s->src.col_stride != 1 || s->dst.col_stride != 1)
        xl__str_add(out, " strided");
    if (s->dst.mem.svm)
        xl__str_add(out, " in-place");
    if (xl__softmax_has_mask(s))
        xl__str_printf(out, " mask:%s", xl_dtype_name(s->mask.dtype));
}
