/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of kernels that gather windows of images, and the steps that
 * copy images and filters before. */
#include "ops/gemm/engines/windows.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "ops/path/cost.h"

enum { N, C, H, W };                /* of strides */
enum { ELEM_BYTES = 2, CHUNK = 8 }; /* elements of an item's store */

/* Of few channels, windows beside each other share cache lines. */
void xl__windows_define(struct xl__step *s, const struct xl__windows *v)
{
    xl__define(s, "WINDOWS",
               v->n_residues > 0 ? 4
               : v->across       ? 3
               : v->of_b         ? 2
                                 : 1);
    if (v->images.n > 0)
        xl__define(s, "XL_COPY_NEAR", 1);
}

void xl__arg_windows(struct xl__step *s, const struct xl__windows *v,
                     size_t depth)
{
    const xl_conv *d = &v->conv;
    const struct xl__taps *t = &v->taps;
    const size_t real = d->c / d->groups / CHUNK, per_image = v->p * v->q;
    const size_t chunks = t->n > 0 ? t->padded / CHUNK : real;
    const size_t pixels = depth / CHUNK / chunks;
    /* A slice of taps is of one: the size, which differs between residues,
     * does not count. */
    const size_t rows = t->n > 0 ? 0 : pixels / d->s;
    const size_t below = d->in.stride[H] / CHUNK,
                 beside = d->in.stride[W] / CHUNK;
    const size_t halves[XL__WINDOWS_WORDS][2] = {
        {d->in.stride[N] / CHUNK, below},
        {beside, d->dilation_h * below},
        {d->dilation_w * beside, d->h},
        {d->w, per_image},
        {v->q, xl__inverse_32(per_image)},
        {xl__inverse_32(v->q), d->r},
        {d->s, d->stride_h},
        {d->stride_w, d->dilation_h},
        {d->dilation_w, d->pad_top},
        {d->pad_left, chunks},
        {depth / CHUNK % chunks, rows},
        {pixels - rows * d->s, t->first},
        {t->above, t->beside},
        {real, d->n * per_image},
    };
    xl__arg_words(s, XL__WINDOWS_WORDS);
    for (unsigned i = 0; i < XL__WINDOWS_WORDS; i++)
        xl__arg_u64(s, xl__pack_words(halves[i][0], halves[i][1]));
}

void xl__arg_residues(struct xl__step *s, const struct xl__windows *v,
                      size_t depth)
{
    enum { WORDS = 4 * XL__MOST_RESIDUES + 4 };
    const size_t *to = v->result.stride;
    xl__arg_words(s, WORDS);
    for (unsigned i = 0; i < XL__MOST_RESIDUES; i++) {
        const struct xl__residue *r = &v->residue[i];
        const size_t stages = r->r * r->s * v->taps.padded / depth;
        xl__arg_u64(
            s, xl__pack_words((uint32_t)r->pad_top, (uint32_t)r->pad_left));
        /* Not 0: places along k are divided by it. */
        xl__arg_u64(
            s, xl__pack_words(xl__max_size(1, r->r), xl__max_size(1, r->s)));
        xl__arg_u64(s, xl__pack_words(r->tap, stages));
        xl__arg_u64(s, xl__pack_words(r->row, r->col));
    }
    xl__arg_u64(s, xl__pack_words(to[N], to[H]));
    xl__arg_u64(s, xl__pack_words(to[W], v->result.h));
    xl__arg_u64(s, xl__pack_words(v->result.w, v->result.stride_h));
    xl__arg_u64(s, xl__pack_words(v->result.stride_w, 0));
}

static double copied_elems(const struct xl__window_copy *c)
{
    return (double)c->n * (double)c->h * (double)c->w * (double)c->c;
}

/* Of rows, or columns, those that windows of `size` reach. */
static double reached(size_t all, size_t size, size_t stride)
{
    return (double)all * fmin(1, (double)size / (double)stride);
}

double xl__windows_bytes(const struct xl__windows *v)
{
    const xl_conv *d = &v->conv;
    const double elems = v->images.n > 0
                             ? copied_elems(&v->images)
                             : (double)d->n * (double)d->c *
                                   reached(d->h, d->r, d->stride_h) *
                                   reached(d->w, d->s, d->stride_w);
    return elems * ELEM_BYTES;
}

/* -- copies --------------------------------------------------------------- */

/* Place one behind `end_bytes`, at a multiple of `unit` elements. */
static size_t place_copy(const struct xl__window_copy *c, size_t unit,
                         struct xl__window_copies *to)
{
    if (c->n == 0)
        return 0;
    const size_t first =
        xl__round_up(xl__ceil_div(to->end_bytes, ELEM_BYTES), unit);
    to->end_bytes = (first + c->n * c->h * c->w * c->c) * ELEM_BYTES;
    to->moved_bytes +=
        copied_elems(c) * ELEM_BYTES +
        (double)(c->from_n * c->h * c->from_w * c->from_c) * ELEM_BYTES;
    to->launches++;
    return first;
}

struct xl__window_copies xl__windows_place(const struct xl__windows *v,
                                           size_t taken)
{
    const xl_conv *d = &v->conv;
    struct xl__window_copies to = {.end_bytes = taken};
    to.images = place_copy(&v->images, CHUNK, &to);
    to.filters = place_copy(
        &v->filters, v->across ? v->filters.c : d->c / d->groups * d->r * d->s,
        &to);
    return to;
}

static void add_copy(const struct xl__limits *l,
                     const struct xl__window_copy *c, size_t to,
                     struct xl__plan *p)
{
    enum { MOST_ITEMS = 128 }; /* of a group */
    const size_t chunks = c->w * c->c / CHUNK;
    if (c->n == 0)
        return;
    struct xl__step *s =
        xl__plan_add(p, "gemm/windows/copy.cl", "gemm_windows_copy", 0, 0);
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), chunks, c->h, c->n);
    s->is_aid = true;
    if (c->pairs)
        xl__define(s, "PAIRS", 1);
    xl__arg_mem(s, c->mem);
    xl__arg_value_u64(s, c->value);
    for (unsigned i = N; i <= W; i++)
        xl__arg_u64(s, c->stride[i]);
    xl__arg_u32(s, c->from_n);
    xl__arg_u32(s, c->from_w);
    xl__arg_u32(s, c->from_c);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, to);
    xl__arg_u32(s, chunks);
    xl__arg_u32(s, c->h);
    xl__arg_u32(s, c->c);
    xl__arg_u32(s, c->left);
}

void xl__windows_copy(const struct xl__limits *l, const struct xl__windows *v,
                      const struct xl__window_copies *at, struct xl__plan *p)
{
    add_copy(l, &v->images, at->images, p);
    add_copy(l, &v->filters, at->filters, p);
}
