/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution on the host, in double, and how its memory lies: images are
 * matrices whose lines are planes (NCHW) or pixels (NHWC). */
#include <math.h>

#include "cases/conv_cases.h"

enum { AT_N, AT_C, AT_H, AT_W };

const char conv_norm_text[] =
    "relu((y + bias - mu) * rstd * gamma + beta)";
const char *const conv_norm_names[CONV_N_NORM] = {"bias", "mu", "rstd",
                                                  "gamma", "beta"};

static xl_layout layout_in(const struct conv_case *c)
{
    return c->order == CONV_NCHW || c->order == CONV_TO_NHWC ? XL_NCHW
                                                             : XL_NHWC;
}
static xl_layout layout_out(const struct conv_case *c)
{
    return c->order == CONV_NCHW || c->order == CONV_TO_NCHW ? XL_NCHW
                                                             : XL_NHWC;
}
static xl_filter_layout layout_filters(const struct conv_case *c)
{
    return c->order == CONV_NCHW || c->order == CONV_TO_NCHW ? XL_KCRS
                                                             : XL_KRSC;
}

xl_conv conv_descriptor(const struct conv_case *c)
{
    return (xl_conv){
        .n = c->n, .c = c->c, .h = c->h, .w = c->w, .k = c->k, .r = c->r,
        .s = c->s, .groups = c->groups, .stride_h = c->stride[0],
        .stride_w = c->stride[1], .dilation_h = c->dilation[0],
        .dilation_w = c->dilation[1], .pad_top = c->pad[0],
        .pad_bottom = c->pad[1], .pad_left = c->pad[2],
        .pad_right = c->pad[3],
        .in = {.layout = layout_in(c), .dtype = c->in},
        .filters = {.layout = layout_filters(c), .dtype = c->in},
        .out = {.layout = layout_out(c), .dtype = c->out},
        .alpha = c->alpha, .beta = c->beta};
}

struct conv_lines conv_lines(xl_layout layout, const size_t size[4])
{
    const struct conv_lines planes = {size[AT_N] * size[AT_C],
                                      size[AT_H] * size[AT_W]};
    const struct conv_lines pixels = {size[AT_N] * size[AT_H] * size[AT_W],
                                      size[AT_C]};
    return layout == XL_NCHW ? planes : pixels;
}

void conv_in_size(const struct conv_case *c, size_t size[4])
{
    size[AT_N] = c->n;
    size[AT_C] = c->c;
    size[AT_H] = c->h;
    size[AT_W] = c->w;
}

void conv_out_size(const struct conv_case *c, size_t size[4])
{
    const xl_conv d = conv_descriptor(c);
    size[AT_N] = c->n;
    size[AT_C] = c->k;
    (void)xl_conv_out_size(&d, &size[AT_H], &size[AT_W]);
}

xl_images conv_images(cl_mem mem, size_t offset, size_t ld, xl_layout layout,
                      const size_t size[4], xl_dtype dtype)
{
    xl_images x = {.mem = {mem, NULL}, .offset = offset, .layout = layout,
                   .dtype = dtype};
    if (layout == XL_NCHW) {
        x.stride[AT_W] = 1;
        x.stride[AT_H] = size[AT_W];
        x.stride[AT_C] = ld;
        x.stride[AT_N] = ld * size[AT_C];
    } else {
        x.stride[AT_C] = 1;
        x.stride[AT_W] = ld;
        x.stride[AT_H] = ld * size[AT_W];
        x.stride[AT_N] = x.stride[AT_H] * size[AT_H];
    }
    return x;
}

void conv_norm_bind(const xl_conv *d, const cl_mem mem[CONV_N_NORM],
                    xl_binding out[CONV_N_NORM])
{
    const size_t size[] = {d->k, 1};
    const unsigned n_dims = d->out.layout == XL_NCHW ? 2 : 1;
    for (unsigned i = 0; i < CONV_N_NORM; i++)
        out[i] = (xl_binding){
            .name = conv_norm_names[i],
            .tensor = xl_tensor_dense(mem[i], XL_F32, n_dims, size)};
}

static double image_at(const struct ref_mat *lines, xl_layout layout,
                       const size_t size[4], const size_t at[4])
{
    if (layout == XL_NCHW)
        return ref_at(lines, at[AT_N] * size[AT_C] + at[AT_C],
                      at[AT_H] * size[AT_W] + at[AT_W]);
    return ref_at(lines,
                  (at[AT_N] * size[AT_H] + at[AT_H]) * size[AT_W] + at[AT_W],
                  at[AT_C]);
}

double conv_out_at(const struct conv_case *c, const struct ref_mat *lines,
                   const size_t at[4])
{
    size_t size[4];
    conv_out_size(c, size);
    return image_at(lines, layout_out(c), size, at);
}

void conv_place(const struct conv_case *c, size_t i, size_t at[4])
{
    size_t size[4];
    conv_out_size(c, size);
    for (unsigned d = 4; d-- > 0; i /= size[d])
        at[d] = i % size[d];
}

static size_t or_one(size_t x)
{
    return x ? x : 1;
}

/* Where element `tap` of a filter at `place` meets the image; false in the
 * padding. */
static bool meets(const struct conv_case *c, unsigned along, size_t place,
                  size_t tap, size_t *at)
{
    const size_t before = c->pad[2 * along], length = along ? c->w : c->h;
    const size_t y = place * or_one(c->stride[along]) +
                     tap * or_one(c->dilation[along]);
    *at = y - before;
    return y >= before && *at < length;
}

static void sum_up(const struct conv_ref *r, const size_t at[4], double *sum,
                   double *mag)
{
    const struct conv_case *c = r->c;
    const size_t groups = or_one(c->groups), cg = c->c / groups;
    const size_t first = at[AT_C] / (c->k / groups) * cg;
    const bool last = layout_filters(c) == XL_KRSC;
    size_t size[4], from[4] = {at[AT_N], 0, 0, 0};
    conv_in_size(c, size);
    *sum = *mag = 0;
    for (size_t i = 0; i < c->r; i++) {
        for (size_t j = 0; j < c->s; j++) {
            if (!meets(c, 0, at[AT_H], i, &from[AT_H]) ||
                !meets(c, 1, at[AT_W], j, &from[AT_W]))
                continue;
            for (size_t l = 0; l < cg; l++) {
                const size_t tap = last ? (i * c->s + j) * cg + l
                                        : (l * c->r + i) * c->s + j;
                from[AT_C] = first + l;
                const double product =
                    image_at(&r->in, layout_in(c), size, from) *
                    ref_at(&r->filters, at[AT_C], tap);
                *sum += product;
                *mag += fabs(product);
            }
        }
    }
}

/* The chain of conv_norm_text: an operation brings the error it has and one
 * rounding. */
static double normalise(const struct conv_ref *r, size_t k, double y,
                        double *error)
{
    const double u = ref_roundoff(XL_F32);
    double e = *error;
#define ADD(x)                                                                \
    (y += (x), e += u * (fabs(y) + e))
#define TIMES(x)                                                              \
    (e *= fabs(x), y *= (x), e += u * (fabs(y) + e))
    ADD((double)r->norm[CONV_BIAS][k]);
    ADD(-(double)r->norm[CONV_MU][k]);
    TIMES((double)r->norm[CONV_RSTD][k]);
    TIMES((double)r->norm[CONV_GAMMA][k]);
    ADD((double)r->norm[CONV_BETA][k]);
#undef ADD
#undef TIMES
    *error = e;
    return fmax(y, 0);
}

/* As ref_gemm_want(), with as many terms as a filter has elements. */
double conv_want(const struct conv_ref *r, const size_t at[4], double *tol)
{
    const struct conv_case *c = r->c;
    const xl_dtype y = c->out == XL_F64 ? XL_F64 : XL_F32;
    const double terms =
        (double)(c->c / or_one(c->groups) * c->r * c->s) + 3;
    /* The host rounds as often in double as the device does. */
    const double ru = terms * ref_roundoff(y) * (y == XL_F64 ? 2 : 1);
    double sum, mag;
    sum_up(r, at, &sum, &mag);
    const double old =
        c->beta == 0 ? 0 : c->beta * conv_out_at(c, &r->old, at);
    double want = c->alpha * sum + old;
    double error = ru / (1 - ru) * (fabs(c->alpha) * mag + fabs(old)) +
                   terms * (1 + fabs(c->alpha)) * ref_floor(y);
    if (c->has_norm)
        want = normalise(r, at[AT_C], want, &error);
    if (c->out != y)
        error += ref_roundoff(c->out) * (fabs(want) + error) +
                 ref_floor(c->out);
    *tol = error;
    return want;
}
