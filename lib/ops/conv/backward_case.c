/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of the self-check case of a backward pass.
 *
 * A gradient is computed as convolutions whose number, filters and strides
 * follow from the real filter's sizes, strides, dilations and padding, so the
 * case keeps these. Images and channels are as few as exceed a tile; each size
 * is the real one's modulo the widest vector (of images: for each of the
 * stride's residues), so that the same loads and stores are aligned, and a sum
 * exceeds a slice where the real one does. */
#include <string.h>

#include "base/alloc.h"
#include "ops/conv/conv.h"

enum { NO_TILE = 24, LEAST_SIDE = 5, MOST_IMAGES = 2 };

/* The sizes of a tile that the case exceeds. */
struct tile {
    size_t rows, cols, deep;
};

static struct tile describe_tile(const struct xl__variant *v,
                                 const struct xl__params *params)
{
    const struct xl__conv_own *own = v ? v->own : NULL;
    struct tile t = {NO_TILE, NO_TILE, NO_TILE};
    if (own && !own->keeps_filters && params) {
        t.rows = (size_t)params->value[XL__CONV_TM];
        t.cols = (size_t)params->value[XL__CONV_TN];
        t.deep = (size_t)params->value[XL__CONV_TK];
    }
    return t;
}

/* The least size of at least `least` that is as `real` modulo `unit`, or that
 * itself. */
static size_t choose_size(size_t real, size_t least, size_t unit)
{
    const size_t rest = real % unit;
    const size_t more = least > rest ? xl__ceil_div(least - rest, unit) : 0;
    return xl__min_size(real, rest + more * unit);
}

static void shrink_channels(const xl_conv *d, const struct tile *t, bool keeps,
                            xl_conv *s)
{
    enum { W = XL__CONV_WIDEST };
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const bool first = d->in.layout == XL_NCHW;
    size_t cg = xl__conv_cg(d);
    size_t kg = xl__max_size(1, xl__conv_kg(d)); /* 0: alpha is 0 */
    s->groups = d->groups > 1 ? 2 : 1;
    if (keeps && d->groups > 1)
        s->groups = choose_size(d->groups, NO_TILE + 1, W);
    if (!keeps && is_data) {
        cg = choose_size(cg, (first ? t->rows : t->cols) + 1, W);
        kg = choose_size(kg, t->deep + 1, W);
    } else if (!keeps) {
        cg = choose_size(cg, t->cols / (d->r * d->s) + 2, W);
        kg = choose_size(kg, t->rows + 1, W);
    }
    s->c = cg * s->groups;
    s->k = kg * s->groups;
}

/* At least `least` positions along one side of an image. */
static size_t shrink_side(size_t real, size_t least, size_t pads,
                          size_t extent, size_t stride)
{
    const size_t fits = extent > pads ? extent - pads : 1;
    return choose_size(real, xl__max_size(fits, 1) + least * stride,
                       XL__CONV_WIDEST * stride);
}

static void shrink_images(const struct xl__conv_canonical *c,
                          const struct tile *t, struct xl__conv_canonical *to)
{
    const xl_conv *d = &c->d;
    xl_conv *s = &to->d;
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const bool first = d->in.layout == XL_NCHW;
    const size_t tile = !is_data ? t->deep : first ? t->cols : t->rows;
    const size_t pad_h = d->pad_top + d->pad_bottom;
    const size_t pad_w = d->pad_left + d->pad_right;
    size_t rows = LEAST_SIDE;
    s->n = xl__max_size(1, xl__min_size(d->n, MOST_IMAGES));
    s->w = shrink_side(d->w, LEAST_SIDE, pad_w, (d->s - 1) * d->dilation_w + 1,
                       d->stride_w);
    do {
        s->h = shrink_side(d->h, rows, pad_h, (d->r - 1) * d->dilation_h + 1,
                           d->stride_h);
        (void)xl__conv_count_positions(&(xl_conv){.n = 1,
                                                  .c = 1,
                                                  .k = 1,
                                                  .h = s->h,
                                                  .w = s->w,
                                                  .r = d->r,
                                                  .s = d->s,
                                                  .stride_h = d->stride_h,
                                                  .stride_w = d->stride_w,
                                                  .dilation_h = d->dilation_h,
                                                  .dilation_w = d->dilation_w,
                                                  .pad_top = pad_h,
                                                  .pad_left = pad_w},
                                       &to->p, &to->q);
        rows *= 2;
    } while (to->p * to->q <= tile && s->h < d->h);
    if (!is_data && d->n > 0)
        s->n =
            xl__min_size(d->n, xl__max_size(s->n, tile / (to->p * to->q) + 1));
}

void xl__conv_backward_shrink(const void *canonical,
                              const struct xl__variant *variant,
                              const struct xl__params *params, void *small)
{
    const struct xl__conv_canonical *c = canonical;
    struct xl__conv_canonical *to = small;
    const struct xl__conv_own *own = variant ? variant->own : NULL;
    const struct tile t = describe_tile(variant, params);
    size_t in[XL__N_AT], out[XL__N_AT], small_in[XL__N_AT],
        small_out[XL__N_AT];
    memcpy(to, c, sizeof *to);
    shrink_channels(&c->d, &t, own && own->keeps_filters, &to->d);
    shrink_images(c, &t, to);
    to->d.beta = 1;
    xl__conv_sizes(c, in, out);
    xl__conv_sizes(to, small_in, small_out);
    xl__conv_shrink_images(&c->d.in, in, small_in, &to->d.in);
    xl__conv_shrink_images(&c->d.out, out, small_out, &to->d.out);
    to->d.filters.mem.svm = NULL;
}
