/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's shape class: types, layouts, the product's sizes by bucket,
 * and of the filter what decides how images are read. */
#include "ops/path/buckets.h"
#include "ops/conv/conv.h"

void xl__conv_shape_class(const void *canonical, struct xl__str *out)
{
    static const char *const layouts[] = {"nchw", "nhwc"};
    static const char *const filters[] = {"kcrs", "krsc"};
    const struct xl__conv *c = canonical;
    const xl_conv *d = &c->d;
    xl__str_printf(out, "%s %s %s %s %s pixels%zu k%zu c%zu %zux%zu",
                   xl_dtype_name(d->in.dtype), xl_dtype_name(d->out.dtype),
                   layouts[d->in.layout], filters[d->filters.layout],
                   layouts[d->out.layout], xl__bucket(d->n * c->p * c->q),
                   xl__bucket(xl__conv_kg(d)), xl__bucket(xl__conv_cg(d)),
                   d->r, d->s);
    if (d->stride_h > 1 || d->stride_w > 1)
        xl__str_add(out, " strided");
    if (d->groups > 1)
        xl__str_printf(out, " groups%zu", xl__bucket_coarse(d->groups));
    if (c->snippet)
        xl__str_add(out, " epilogue");
}
