/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of the self-check case of a backward pass.
 *
 * A gradient is computed as convolutions whose number, filters and strides
 * follow from the real filter's sizes, strides, dilations and padding, so the
 * case keeps these. Images and channels are as few as exceed a tile, with the
 * real ones' power of two, so that the same loads and stores are aligned, and
 * a sum exceeds a slice where the real one does. */
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"

enum {
    NO_TILE = 24,
    LEAST_SIDE = 5,
    MOST_IMAGES = 2,
    PAIRED_IMAGES = 7, /* two parts of two pairs, one of them of one image */
    MOST_COLUMNS = 64  /* of a sub-group */
};

/* The sizes of a tile that the case exceeds. */
struct tile {
    size_t rows, cols, deep;
    size_t slice; /* of channels, which are a multiple of it or not */
};

static struct tile describe_tile(const struct xl__variant *v,
                                 const struct xl__params *params)
{
    const struct xl__conv_own *own = v ? v->own : NULL;
    struct tile t = {NO_TILE, NO_TILE, NO_TILE, 1};
    const bool keeps = own && own->keeps_filters;
    if (!keeps && params && params->value[XL__CONV_TM] > 0) {
        t.rows = (size_t)params->value[XL__CONV_TM];
        t.cols = (size_t)params->value[XL__CONV_TN];
        t.deep = (size_t)params->value[XL__CONV_TK];
        t.slice = own && own->by_pixel ? t.deep : 1;
    }
    return t;
}

/* The power of two that divides a size, as far as vectors care. */
static size_t power_of_two_factor(size_t size)
{
    const size_t bits = size | XL__CONV_WIDEST;
    return bits & (~bits + 1);
}

/* At least `least`, odd but for the real size's factors of two. */
static size_t grow_size(size_t real, size_t least)
{
    return power_of_two_factor(real) *
           (xl__ceil_div(least, power_of_two_factor(real)) | 1);
}

/* At most the real size, which it is modulo vectors. */
static size_t choose_size(size_t real, size_t least)
{
    return xl__min_size(real, grow_size(real, least));
}

static void shrink_channels(const xl_conv *d, const struct tile *t, bool keeps,
                            xl_conv *s)
{
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const bool first = d->in.layout == XL_NCHW && t->slice == 1;
    size_t cg = xl__conv_cg(d);
    size_t kg = xl__max_size(1, xl__conv_kg(d)); /* 0: alpha is 0 */
    /* Products of a filter and channel for each pixel, at least. */
    const size_t taps = xl__max_size(1, d->r / d->stride_h) *
                        xl__max_size(1, d->s / d->stride_w);
    s->groups = d->groups > 1 ? 2 : 1;
    if (keeps && d->groups > 1)
        s->groups = choose_size(d->groups, NO_TILE + 1);
    /* Slices of a pixel, if it has several, are two at least. */
    const bool has_slices = t->slice > 1 && kg > t->slice;
    if (!keeps && is_data) {
        cg = choose_size(cg, (first ? t->rows : t->cols) + 1);
        kg = xl__round_up(
            choose_size(kg, t->deep / (has_slices ? 1 : taps) + 1),
            kg % t->slice == 0 ? t->slice : 1);
    } else if (!keeps) {
        /* Of a pixel as it is copied. */
        const size_t unit =
            t->slice > 1
                ? xl__gcd(xl__round_up(cg, XL__CONV_WIDEST), MOST_COLUMNS)
                : 1;
        const size_t least = t->cols / (d->r * d->s) + 2;
        cg = xl__min_size(cg, xl__round_up(choose_size(cg, least), unit));
        kg = choose_size(kg, t->rows + 1);
    }
    s->c = cg * s->groups;
    s->k = kg * s->groups;
}

/* Pixels that a filter needs along one side. */
static size_t least_side(size_t taps, size_t dilation, size_t pads)
{
    const size_t extent = (taps - 1) * dilation + 1;
    return extent > pads ? extent - pads : 1;
}

static void set_positions(struct xl__conv_canonical *to)
{
    xl_conv d = to->d;
    d.n = d.c = d.k = d.groups = 1; /* c or k may be 0 */
    (void)xl__conv_count_positions(&d, &to->p, &to->q);
}

/* Each residue of the strides has the same number of pixels, with the real
 * one's power of two. Fewer pixels than a stride have residues without any. */
static void shrink_data(const xl_conv *d, const struct tile *t,
                        struct xl__conv_canonical *to)
{
    static const double most_flop = 2e8; /* of a case of several images */
    xl_conv *s = &to->d;
    const size_t tile =
        d->in.layout == XL_NCHW && t->slice == 1 ? t->cols : t->rows;
    const size_t high =
        least_side(d->r, d->dilation_h, d->pad_top + d->pad_bottom);
    const size_t wide =
        least_side(d->s, d->dilation_w, d->pad_left + d->pad_right);
    const size_t pixels =
        xl__ceil_div(d->h, d->stride_h) * xl__ceil_div(d->w, d->stride_w);
    const bool keeps_w = d->w < d->stride_w;
    const size_t cols =
        keeps_w ? 1 : grow_size(pixels, LEAST_SIDE + wide / d->stride_w);
    const size_t rows =
        xl__max_size(tile / (cols * s->n) + 2, high / d->stride_h + 2);
    if (!keeps_w)
        s->w = cols * d->stride_w;
    if (d->h >= d->stride_h)
        s->h = (keeps_w ? grow_size(pixels, rows) : rows | 1) * d->stride_h;
    set_positions(to);
    if (xl__conv_flop(to) > most_flop)
        s->n = 1;
}

/* Nothing is aligned; as many images as make the sum deep. */
static void shrink_filters(const xl_conv *d, const struct tile *t,
                           struct xl__conv_canonical *to)
{
    xl_conv *s = &to->d;
    const size_t high =
        least_side(d->r, d->dilation_h, d->pad_top + d->pad_bottom);
    const size_t wide =
        least_side(d->s, d->dilation_w, d->pad_left + d->pad_right);
    s->w = xl__min_size(d->w, wide + LEAST_SIDE * d->stride_w);
    for (size_t rows = LEAST_SIDE;; rows *= 2) {
        s->h = xl__min_size(d->h, high + rows * d->stride_h);
        set_positions(to);
        if (to->p * to->q > t->deep || s->h == d->h)
            break;
    }
    while (to->p * to->q <= t->deep && s->n * to->p * to->q <= t->deep &&
           s->w < d->w) {
        s->w = xl__min_size(d->w, 2 * s->w);
        set_positions(to);
    }
    if (d->n > 0)
        s->n = xl__min_size(d->n,
                            xl__max_size(s->n, t->deep / (to->p * to->q) + 1));
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
    const bool has_pairs = t.slice > 1 && c->d.pass != XL_CONV_BACKWARD_DATA;
    to->d.n = xl__max_size(
        1, xl__min_size(c->d.n, has_pairs ? PAIRED_IMAGES : MOST_IMAGES));
    (c->d.pass == XL_CONV_BACKWARD_DATA ? shrink_data
                                        : shrink_filters)(&c->d, &t, to);
    xl__conv_sizes(c, in, out);
    const bool is_woven =
        c->d.pass == XL_CONV_BACKWARD_DATA &&
        (c->d.stride_h * c->d.stride_w > 1 || !xl__conv_is_flat(&c->d.in, in));
    to->d.beta = is_woven || (own && own->has_plain) ? c->d.beta : 1;
    xl__conv_sizes(to, small_in, small_out);
    xl__conv_shrink_images(&c->d.in, in, small_in, &to->d.in);
    xl__conv_shrink_images(&c->d.out, out, small_out, &to->d.out);
    to->d.filters.mem.svm = NULL;
}
