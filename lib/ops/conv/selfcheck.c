/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of a convolution, and its elements on the host.
 *
 * The case is a product just over one tile each way: more than one image, and
 * padding, strides, dilation and groups where the real convolution has them,
 * gaps between lines where it has some. Guard bytes surround the result.
 *
 * The host sums in double. The tolerance is the rounding bound of a dot
 * product of so many terms in any order (Higham 2002, section 3.5), or where
 * another accuracy is permitted that of xl_conv_run(); then the bound of the
 * epilogue, then one rounding to the type of the result. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/conv/conv.h"
#include "ops/conv/sums.h"
#include "ops/path/selfcheck_data.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64, NO_TILE = 24 };
enum { SEED_IN = 1, SEED_FILTERS, SEED_OUT };

/* -- the case ----------------------------------------------------------- */

/* The power of two that divides a size, as far as vectors care. */
static size_t power_of_two_factor(size_t size)
{
    const size_t bits = size | XL__CONV_WIDEST;
    return bits & (~bits + 1);
}

/* At least `least`, odd but for the real size's factors of two. */
static size_t choose_size(size_t real, size_t least)
{
    return power_of_two_factor(real) *
           (xl__ceil_div(least, power_of_two_factor(real)) | 1);
}

/* The sizes of a tile that the case exceeds. */
struct tiles {
    size_t filters, pixels, deep;
    size_t slice; /* of channels, which are a multiple of it or not */
};

static struct tiles describe_tiles(const struct xl__conv_canonical *c,
                                   const struct xl__conv_own *own,
                                   const struct xl__params *params)
{
    const bool by_pixel = own && own->by_pixel;
    struct tiles t = {NO_TILE, NO_TILE, NO_TILE, 1};
    if (own && own->window) {
        t.filters = (size_t)params->value[XL__CONV_TN];
        t.pixels = (size_t)params->value[XL__CONV_TM] * own->window *
                   own->window;
        t.deep = (size_t)params->value[XL__CONV_TK] * c->d.r * c->d.s;
    } else if (params && params->value[XL__CONV_TM] > 0) {
        const bool first = !by_pixel && c->d.out.layout == XL_NCHW;
        const size_t tm = (size_t)params->value[XL__CONV_TM];
        const size_t tn = (size_t)params->value[XL__CONV_TN];
        t.filters = first ? tm : tn;
        t.pixels = first ? tn : tm;
        t.deep = (size_t)params->value[XL__CONV_TK];
        t.slice = by_pixel ? t.deep : 1;
    }
    return t;
}

/* The filters of two or more groups. */
static void keep_filters(const xl_conv *d, xl_conv *s)
{
    const size_t kg = xl__conv_kg(d);
    s->groups = d->groups > 1 ? choose_size(d->groups, NO_TILE + 1) : 1;
    s->c = s->groups * xl__conv_cg(d);
    s->k = s->groups *
           (kg <= XL__CONV_WIDEST ? kg : choose_size(kg, NO_TILE + 1));
}

/* Filters: few, with as many channels as make the product deep. */
static void shrink_filters(const xl_conv *d, const struct tiles *t, xl_conv *s)
{
    enum { SIDE = 3 };
    const size_t kg = xl__conv_kg(d);
    const size_t cg = xl__max_size(1, xl__conv_cg(d)); /* 0: alpha is 0 */
    /* What fits in one slice has to stay so; one channel is what it is. */
    const bool is_shallow = xl__conv_depth(d) <= t->deep;
    const size_t side = cg == 1 && !is_shallow ? SIZE_MAX : SIDE;
    s->groups = d->groups > 1 ? 2 : 1;
    s->r = xl__min_size(d->r, side);
    s->s = xl__min_size(d->s, side);
    /* Slices of a pixel, if it has several, are two at least. */
    const bool has_slices = t->slice > 1 && cg > t->slice;
    const size_t deep = t->deep / (has_slices ? 1 : s->r * s->s) + 1;
    s->k = s->groups * (kg == 1 ? 1 : choose_size(kg, t->filters + 1));
    s->c = s->groups *
           xl__round_up(cg == 1 || is_shallow ? cg : choose_size(cg, deep),
                        cg % t->slice == 0 ? t->slice : 1);
}

/* Columns past the last window. */
static size_t columns_left(const struct xl__conv_canonical *c)
{
    return c->d.w + c->d.pad_left + c->d.pad_right -
           (c->q - 1) * c->d.stride_w - (c->d.s - 1) * c->d.dilation_w - 1;
}

/* Images: more pixels than a tile has, two images of odd height. A row begins
 * and ends as the real one where filters are kept, as far as these reach. */
static void shrink_pixels(const struct xl__conv_canonical *c,
                          const struct tiles *t, bool keeps,
                          struct xl__conv_canonical *to)
{
    enum { IMAGES = 2, WIDTH = 5, MOST_STRIDE = 3 };
    xl_conv *s = &to->d;
    s->n = c->d.n > 1 ? IMAGES : 1;
    to->q = choose_size(c->p * c->q,
                        xl__max_size(WIDTH, keeps ? 2 * s->s : 0));
    to->p = (t->pixels / (s->n * to->q) + 2) | 1;
    s->pad_top = s->pad_left = c->d.pad_top | c->d.pad_left ? 1 : 0;
    s->pad_bottom = s->pad_right = c->d.pad_bottom | c->d.pad_right ? 1 : 0;
    if (keeps) {
        s->pad_left = xl__min_size(c->d.pad_left, s->s - 1);
        s->pad_right = xl__min_size(c->d.pad_right, s->s - 1);
    }
    s->stride_h = xl__min_size(c->d.stride_h, MOST_STRIDE);
    s->stride_w = xl__min_size(c->d.stride_w, MOST_STRIDE);
    s->dilation_h = xl__min_size(c->d.dilation_h, 2);
    s->dilation_w = xl__min_size(c->d.dilation_w, 2);
    s->h = (to->p - 1) * s->stride_h + (s->r - 1) * s->dilation_h + 1 -
           s->pad_top - s->pad_bottom;
    s->w = (to->q - 1) * s->stride_w + (s->s - 1) * s->dilation_w + 1 -
           s->pad_left - s->pad_right;
    if (keeps && s->stride_w == c->d.stride_w)
        s->w += columns_left(c);
}

/* Strides of the same class and alignment, with a gap after a line where the
 * real images have one. */
void xl__conv_shrink_images(const xl_images *real, const size_t was[XL__N_AT],
                            const size_t size[XL__N_AT], xl_images *to)
{
    const size_t unit =
        xl__max_size(1, real->offset / xl_dtype_bytes(real->dtype));
    const bool first = real->layout == XL_NCHW;
    const unsigned order[XL__N_AT] = {first ? XL__AT_W : XL__AT_C,
                                      first ? XL__AT_H : XL__AT_W,
                                      first ? XL__AT_C : XL__AT_H, XL__AT_N};
    /* A line is a plane, or a pixel: it ends with this dimension. */
    const unsigned line_end = first ? XL__AT_H : XL__AT_C;
    size_t step = real->stride[order[0]] > 1 ? 2 : 1;
    for (unsigned i = 0; i < XL__N_AT; i++) {
        const unsigned at = order[i];
        to->stride[at] = step;
        step *= size[at];
        if (i == 0 && first && !xl__conv_is_flat(real, was))
            step = xl__round_up(
                step + 1, power_of_two_factor(real->stride[XL__AT_H]));
        if (at == line_end || i == 2)
            step = xl__round_up(step, unit);
    }
    to->mem.svm = NULL;
}

void xl__conv_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small)
{
    const struct xl__conv_canonical *c = canonical;
    struct xl__conv_canonical *to = small;
    const struct xl__conv_own *own = variant ? variant->own : NULL;
    const bool keeps = own && own->keeps_filters;
    const struct tiles t = describe_tiles(c, own, keeps ? NULL : params);
    size_t in[XL__N_AT], out[XL__N_AT], small_in[XL__N_AT],
        small_out[XL__N_AT];
    memcpy(to, c, sizeof *to);
    if (keeps)
        keep_filters(&c->d, &to->d);
    else
        shrink_filters(&c->d, &t, &to->d);
    shrink_pixels(c, &t, keeps, to);
    to->d.beta = own && own->has_plain ? c->d.beta : 1;
    to->d.accuracy = own ? own->accuracy : XL_ACCURACY_FULL;
    xl__conv_sizes(c, in, out);
    xl__conv_sizes(to, small_in, small_out);
    xl__conv_shrink_images(&c->d.in, in, small_in, &to->d.in);
    xl__conv_shrink_images(&c->d.out, out, small_out, &to->d.out);
    to->d.filters.mem.svm = NULL;
}

/* -- host memory -------------------------------------------------------- */

static double choose_beta(const struct xl__conv_canonical *small)
{
    return small->d.beta == 0 ? 0 : xl__conv_y(small) == XL_I32 ? -2 : -0.5;
}

static size_t find_start(size_t offset, xl_dtype dtype)
{
    return xl__max_size(1, offset / xl_dtype_bytes(dtype));
}

static xl_status make_images(const xl_images *x, const size_t size[XL__N_AT],
                             uint64_t seed, unsigned slot,
                             struct xl__selfcheck_case *t)
{
    struct xl__rng rng;
    const size_t start = find_start(x->offset, x->dtype);
    size_t at[XL__N_AT], elems = start + GUARD_ELEMS;
    for (unsigned i = 0; i < XL__N_AT; i++)
        elems += (size[i] - 1) * x->stride[i];
    void *base = xl__case_add_memory(t, slot, elems, x->dtype, GUARD);
    if (!base)
        return XL_NO_MEMORY;
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; i < size[0] * size[1] * size[2] * size[3]; i++) {
        size_t rest = i, where = start;
        for (unsigned d = XL__N_AT; d-- > 0; rest /= size[d]) {
            at[d] = rest % size[d];
            where += at[d] * x->stride[d];
        }
        xl__dtype_store(base, where, x->dtype, xl__case_draw(&rng, x->dtype));
    }
    return XL_OK;
}

static xl_status make_filters(const struct xl__conv_canonical *small,
                              unsigned slot, struct xl__selfcheck_case *t)
{
    struct xl__rng rng;
    const xl_filters *f = &small->d.filters;
    const size_t n = small->d.k * xl__conv_depth(&small->d);
    const size_t start = find_start(f->offset, f->dtype);
    void *base =
        xl__case_add_memory(t, slot, start + n + GUARD_ELEMS, f->dtype, GUARD);
    if (!base)
        return XL_NO_MEMORY;
    xl__rng_seed(&rng, SEED_FILTERS);
    for (size_t i = 0; i < n; i++)
        xl__dtype_store(base, start + i, f->dtype,
                        xl__case_draw(&rng, f->dtype));
    return XL_OK;
}

static xl_status make_memory(const struct xl__conv_canonical *s,
                             const size_t out_size[XL__N_AT],
                             struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    const unsigned in = xl__conv_slot_in(&s->d);
    const unsigned filters = xl__conv_slot_filters(&s->d);
    size_t in_size[XL__N_AT], same[XL__N_AT];
    xl__conv_sizes(s, in_size, same);
    TRY(make_images(&s->d.in, in_size, SEED_IN, in, t));
    TRY(make_filters(s, filters, t));
    TRY(make_images(&s->d.out, out_size, SEED_OUT, XL__CONV_OUT, t));
    t->call.value[in - XL__CONV_A + XL__CONV_OFF_A].u =
        find_start(s->d.in.offset, s->d.in.dtype);
    t->call.value[filters - XL__CONV_A + XL__CONV_OFF_A].u =
        find_start(s->d.filters.offset, s->d.filters.dtype);
    t->call.value[XL__CONV_OFF_OUT].u =
        find_start(s->d.out.offset, s->d.out.dtype);
    t->call.value[XL__CONV_ALPHA].f =
        xl__case_alpha(xl__conv_read_dtype(&s->d), xl__conv_y(s));
    t->call.value[XL__CONV_ONE].f = 1;
    t->call.value[XL__CONV_BETA].f = choose_beta(s);
fail:
    return status;
}

static void epilogue_sizes(const struct xl__conv_canonical *small,
                           size_t size[XL__N_ALONG])
{
    const bool first = small->d.out.layout == XL_NCHW;
    const size_t pixels = small->p * small->q;
    size[XL__ALONG_OUTER] = 1;
    size[XL__ALONG_BATCH] = small->d.n;
    size[XL__ALONG_ROWS] = first ? small->d.k : pixels;
    size[XL__ALONG_COLS] = first ? pixels : small->d.k;
}

/* -- the elements ------------------------------------------------------- */

/* What a case owns besides its memory. */
struct conv_case {
    struct xl__case_epilogue epilogue;
    struct xl__conv_values of; /* in `value` */
    double value[];            /* what is read, decoded once */
};

/* Magnitudes that the roundings of the sums refer to, `size` by element; the
 * number of roundings. With another accuracy as xl_conv_run() has it, where
 * case elements are at most 1. */
static double count_roundings(const struct xl__conv_canonical *c, double *size)
{
    enum { TURNED = 24 };
    static const double growth[XL_N_ACCURACIES] = {
        [XL_ACCURACY_SPLIT] = 64, [XL_ACCURACY_FAST] = 2304};
    if (c->d.accuracy != XL_ACCURACY_FULL) {
        *size = growth[c->d.accuracy] * (double)c->d.c;
        return (double)c->d.c + TURNED;
    }
    return c->d.in.dtype == XL_I8 ? 1 : (double)xl__conv_terms(c);
}

/* The expected y, and the bound of a device's error. */
static double expect_y(const struct xl__selfcheck_case *t, const size_t *at,
                       double *error)
{
    const struct xl__conv_canonical *c = t->of;
    const struct conv_case *own = t->own;
    const double alpha = t->call.value[XL__CONV_ALPHA].f;
    double sum, size;
    xl__conv_sum(c, &own->of, at, &sum, &size);
    const double old =
        choose_beta(c) * xl__dtype_load(t->before[t->result->slot],
                                        xl__case_element(t->result, at),
                                        t->result->dtype);
    /* Three more roundings: alpha, beta and their sum; of an integer sum also
     * the one to f32. In f64 the host rounds as often as the device does. */
    const double terms = count_roundings(c, &size);
    const double ku = (terms + 3) * xl__dtype_unit_roundoff(xl__conv_y(c));
    const double host_roundings = xl__conv_y(c) == XL_F64 ? 2 : 1;
    *error =
        host_roundings * ku / (1 - ku) * (fabs(alpha) * size + fabs(old)) +
        xl__dtype_underflow(xl__conv_y(c));
    return alpha * sum + old;
}

/* The stored value, with or without an epilogue. */
static double expect_output(const struct xl__selfcheck_case *t,
                            unsigned result, const size_t *at, double *error)
{
    const struct xl__conv_canonical *c = t->of;
    const struct conv_case *own = t->own;
    const xl_dtype dtype = t->result->dtype;
    const bool first = c->d.out.layout == XL_NCHW;
    const size_t pixel = at[2] * c->q + at[3];
    const size_t along[XL__N_ALONG] = {0, at[0], first ? at[1] : pixel,
                                       first ? pixel : at[1]};
    double y_error;
    (void)result;
    const double y = expect_y(t, at, &y_error);
    if (c->snippet)
        return xl__case_epilogue_expected(&own->epilogue, t, along, dtype, y,
                                          y_error, error);
    *error = y_error + xl__dtype_unit_roundoff(dtype) * fabs(y) +
             xl__dtype_underflow(dtype);
    return y;
}

/* -- the case's parts ----------------------------------------------------- */

static xl_status add_result(const struct xl__conv_canonical *c,
                            struct xl__selfcheck_case *t)
{
    const xl_conv *d = &c->d;
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const bool is_filters = d->pass == XL_CONV_BACKWARD_FILTERS;
    size_t in[XL__N_AT], out[XL__N_AT], filter[XL__N_AT];
    const size_t taps[XL__N_AT] = {d->k, xl__conv_cg(d), d->r, d->s};
    xl__conv_sizes(c, in, out);
    xl__conv_filter_strides(d, filter);
    const size_t *size = is_data ? in : is_filters ? taps : out;
    const size_t *stride = is_data      ? d->in.stride
                           : is_filters ? filter
                                        : d->out.stride;
    const size_t offset = is_data      ? d->in.offset
                          : is_filters ? d->filters.offset
                                       : d->out.offset;
    const xl_dtype dtype = xl__conv_result_dtype(d);
    struct xl__case_result *r =
        xl__case_add_result(t,
                            is_data      ? "in"
                            : is_filters ? "filters"
                                         : "out",
                            is_data      ? xl__conv_slot_in(d)
                            : is_filters ? xl__conv_slot_filters(d)
                                         : (unsigned)XL__CONV_OUT,
                            dtype, find_start(offset, dtype));
    for (unsigned i = 0; r && i < XL__N_AT; i++)
        xl__case_add_dim(r, size[i], stride[i]);
    return r ? XL_OK : XL_NO_MEMORY;
}

static size_t count_elems(const struct xl__selfcheck_case *t, unsigned slot,
                          xl_dtype dtype)
{
    return t->bytes[slot] / xl_dtype_bytes(dtype);
}

/* The elements from the operand's first one on; *to: where those of the next
 * operand go. */
static const double *decode_memory(const struct xl__selfcheck_case *t,
                                   unsigned slot, size_t offset,
                                   xl_dtype dtype, double **to)
{
    double *all = *to;
    const size_t n = count_elems(t, slot, dtype);
    for (size_t i = 0; i < n; i++)
        all[i] = xl__dtype_load(t->before[slot], i, dtype);
    *to += n;
    return all + find_start(offset, dtype);
}

static xl_status decode_operands(const xl_conv *d,
                                 struct xl__selfcheck_case *t)
{
    const unsigned in = xl__conv_slot_in(d);
    const unsigned filters = xl__conv_slot_filters(d);
    const size_t n = count_elems(t, in, d->in.dtype) +
                     count_elems(t, filters, d->filters.dtype) +
                     count_elems(t, XL__CONV_OUT, d->out.dtype);
    struct conv_case *own =
        xl__calloc(1, sizeof *own + n * sizeof *own->value);
    double *to = own ? own->value : NULL;
    t->own = own;
    if (!own)
        return XL_NO_MEMORY;
    if (t->is_timed)
        return XL_OK;
    own->of.in = decode_memory(t, in, d->in.offset, d->in.dtype, &to);
    own->of.filters =
        decode_memory(t, filters, d->filters.offset, d->filters.dtype, &to);
    own->of.out =
        decode_memory(t, XL__CONV_OUT, d->out.offset, d->out.dtype, &to);
    return XL_OK;
}

xl_status xl__conv_case_init(void *small, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    struct xl__conv_canonical *s = small;
    size_t size[XL__N_ALONG], in_size[XL__N_AT], out_size[XL__N_AT];
    t->of = small;
    t->expect = expect_output;
    xl__conv_sizes(s, in_size, out_size);
    TRY(make_memory(s, out_size, t));
    TRY(decode_operands(&s->d, t));
    TRY(add_result(s, t));
    epilogue_sizes(s, size);
    TRY(xl__case_epilogue_init(&((struct conv_case *)t->own)->epilogue,
                               &s->snippet, size, XL__CONV_OPERAND,
                               XL__CONV_OPERAND_VALUE, t));
fail:
    return status;
}
