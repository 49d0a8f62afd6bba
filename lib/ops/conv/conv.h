/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, for its variants: the canonical descriptor, and the product of
 * matrices that it is. For a group of channels,
 *
 *   m x n x k = filters x pixels x (cg r s),
 *
 * where pixels are those of all images, cg the channels of a group and r s the
 * size of a filter. The layout of the result decides whether filters or pixels
 * are the rows, so that the columns of the result are contiguous. */
#ifndef XL_OPS_CONV_H
#define XL_OPS_CONV_H

#include <crosslane/conv.h>

#include "ops/gemm/gemm.h"

/* The canonical descriptor. In `d`
 *   groups, strides, dilations  are at least 1;
 *   in.stride, out.stride       are set; 0 along a dimension of size 1;
 *   in.offset, filters.offset,
 *   out.offset                  are alignments in bytes: of every contiguous
 * line (a plane of NCHW, a pixel of NHWC), of the first filter; mem.svm is not
 * NULL when the memory is SVM; alpha                       is 1, beta 0 or 1;
 *   accuracy                    is full where it has no effect;
 *   c, of the backward passes   is 0 if alpha is: a sum has no terms, what
 *   k or n                      is read otherwise is not, and only the
 *                               reference runs;
 *   epilogue                    is empty: `snippet` replaces it. */
struct xl__conv_canonical {
    xl_conv d; /* first: a pointer to this is one to an xl_conv */
    size_t p, q;
    const struct xl__epilogue_text *snippet; /* NULL: no epilogue */
    bool by_image; /* an operand of the epilogue does not continue from an
                      image to the next as it does from pixel to pixel */
};

/* Call slots, the same in each pass, and those of GEMM, whose plans
 * pointwise.c takes. Forward A is the operand of the rows, B that of the
 * columns, and out the result. */
enum {
    XL__CONV_A = XL__GEMM_A,
    XL__CONV_B = XL__GEMM_B,
    XL__CONV_OUT = XL__GEMM_C,
    XL__CONV_OPERAND = XL__GEMM_OPERAND
}; /* mem */
enum {
    XL__CONV_ALPHA = XL__GEMM_ALPHA,
    XL__CONV_BETA = XL__GEMM_BETA,
    XL__CONV_OFF_A = XL__GEMM_OFF_A,
    XL__CONV_OFF_B = XL__GEMM_OFF_B,
    XL__CONV_OFF_OUT = XL__GEMM_OFF_C,
    /* The value 1, and 0: of steps whose result is scratch. */
    XL__CONV_ONE = XL__GEMM_OFF_ROWS,
    XL__CONV_ZERO = XL__GEMM_OFF_AT,
    XL__CONV_OPERAND_VALUE = XL__GEMM_OPERAND_VALUE
}; /* value */

/* Along images, channels, rows, columns. */
enum { XL__AT_N, XL__AT_C, XL__AT_H, XL__AT_W, XL__N_AT };

static inline unsigned xl__conv_slot_in(const xl_conv *d)
{
    return d->out.layout == XL_NCHW ? XL__CONV_B : XL__CONV_A;
}

static inline unsigned xl__conv_slot_filters(const xl_conv *d)
{
    return d->out.layout == XL_NCHW ? XL__CONV_A : XL__CONV_B;
}

/* The first tunables of every variant with tiles are their sizes, from which
 * the self-check derives a case larger than a tile; 0: no tiles. */
enum { XL__CONV_TM, XL__CONV_TN, XL__CONV_TK };
enum { XL__CONV_WIDEST = 16 }; /* elements of the widest vector */

/* `own` of a variant; NULL: all false. */
struct xl__conv_own {
    /* It has no tiles among its tunables, and its -D depend on a filter's
     * sizes and the channels of a group, which the self-check's case keeps. */
    bool keeps_filters;
    /* TM counts pixels and TN filters in both layouts, and a slice is of one
     * pixel: channels that are a multiple of TK stay one. Of the gradient of
     * filters: columns of a sub-group are of one pixel, and there are pairs of
     * images. */
    bool by_pixel;
    bool has_plain; /* other programs where out is not read (beta = 0) */
    /* TM counts tiles of window x window pixels, TN filters and TK channels,
     * in both layouts; the error is that of xl_conv for this accuracy. 0: not
     * so.
     */
    size_t window;
    xl_accuracy accuracy;
};

/* shape.c */

/* Channels that a filter sees, filters of a group, its elements. */
/* xl_conv_out_size() of a descriptor of this library. */
xl_status xl__conv_count_positions(const xl_conv *c, size_t *p, size_t *q);
size_t xl__conv_cg(const xl_conv *d);
size_t xl__conv_kg(const xl_conv *d);
size_t xl__conv_depth(const xl_conv *d);
/* Sizes of in and out, along XL__AT_... */
void xl__conv_sizes(const struct xl__conv_canonical *c, size_t in[XL__N_AT],
                    size_t out[XL__N_AT]);
/* Strides, dense if none are given; false on overflow. */
bool xl__conv_strides(const xl_images *x, const size_t size[XL__N_AT],
                      size_t stride[XL__N_AT]);
/* Strides of the filters along filters, channels, rows, columns. */
void xl__conv_filter_strides(const xl_conv *d, size_t stride[XL__N_AT]);
/* Whether all pixels of an image have one pitch. */
bool xl__conv_is_flat(const xl_images *x, const size_t size[XL__N_AT]);
/* That pitch, in elements. */
size_t xl__conv_pixel_stride(const xl_images *x);
/* Two dimensions as one, the outer of which has `step`. The inner one's stride
 * becomes that of both; false: there is none. */
bool xl__conv_join(size_t outer, size_t step, size_t inner, size_t *stride);
/* Elements of in from the first to one past the last. */
size_t xl__conv_span_of_input(const xl_conv *d);
/* Whether all sizes that kernels count in 32 bits fit. */
bool xl__conv_fits_32(const struct xl__conv_canonical *c);
/* The type of y = alpha sum + beta result: f32, f64 or i32. */
xl_dtype xl__conv_y_dtype(xl_dtype result, bool has_epilogue);
xl_dtype xl__conv_y(const struct xl__conv_canonical *c);
/* The type of what the pass reads, and of its result. */
xl_dtype xl__conv_read_dtype(const xl_conv *d);
xl_dtype xl__conv_result_dtype(const xl_conv *d);
/* Whether what the pass reads counts: alpha, rounded to y's type, is not 0. */
bool xl__conv_reads(const xl_conv *d);
/* Whether the epilogue has operands other than scalars. */
bool xl__conv_has_tensors(const struct xl__conv_canonical *c);
/* Products that are summed to one element of the pass's result. */
size_t xl__conv_terms(const struct xl__conv_canonical *c);

/* The pixels of in of one residue of a stride along one side, whose gradient
 * is a convolution of out's with `n` of the filter's elements, `first`, `first
 * + period`, ... in reverse, over out's positions `skip` to `skip + in`. */
struct xl__conv_side {
    size_t first, period, n, dilation, skip, in, pad, pad_after;
};
/* false: no product reaches these pixels. out: how many there are. */
bool xl__conv_find_side(size_t residue, size_t stride, size_t dilation,
                        size_t pad, size_t taps, size_t positions, size_t out,
                        struct xl__conv_side *s);

/* conv.c: the alignment in bytes of every line of images at address `base` */
size_t xl__conv_align(const xl_images *x, const size_t stride[XL__N_AT],
                      size_t base);

/* conv.c: arguments of kernels */

/* Define the options of gemm/gemm.clh except XL_VW: TA, TC, TY. */
void xl__conv_define(struct xl__step *s, const struct xl__conv_canonical *c);
/* Offset, strides along n, c, h, w. */
enum { XL__CONV_VIEW = 1 + XL__N_AT };
void xl__conv_arg_view(struct xl__step *s, unsigned slot, const xl_images *x);
/* Memory and these: of in, of out. */
void xl__conv_arg_images(struct xl__step *s, unsigned slot,
                         const xl_images *x);
void xl__conv_arg_in(struct xl__step *s, const struct xl__conv_canonical *c);
void xl__conv_arg_out(struct xl__step *s, const struct xl__conv_canonical *c);
/* Memory and offset. */
void xl__conv_arg_filters(struct xl__step *s, const struct xl__conv_canonical *c);
/* GEMM_LAST_PARAMS. */
void xl__conv_arg_last(struct xl__step *s, const struct xl__conv_canonical *c);

/* conv.c, selfcheck.c: members of xl__op_conv. */
void xl__conv_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small);
xl_status xl__conv_case_init(void *small, struct xl__selfcheck_case *t);

/* selfcheck.c: the images of a case of other sizes than `was`. */
void xl__conv_shrink_images(const xl_images *real, const size_t was[XL__N_AT],
                            const size_t size[XL__N_AT], xl_images *to);
/* backward_case.c */
void xl__conv_backward_shrink(const void *canonical,
                              const struct xl__variant *variant,
                              const struct xl__params *params, void *small);

/* shape.c: each matrix once; the result twice if read. */
double xl__conv_flop(const struct xl__conv_canonical *c);
double xl__conv_bytes(const struct xl__conv_canonical *c);

/* depthwise.c, of all passes: why a call has no such kernel, or NULL; the
 * 32-bit registers that an item may take. */
const char *xl__depthwise_refused(const struct xl__limits *l,
                                  const struct xl__conv_canonical *c);
size_t xl__depthwise_registers(const struct xl__limits *l);
/* Items of images, below which each has fewer columns (NV-74). */
size_t xl__depthwise_few(const struct xl__limits *l);
/* In, the memory `filters`, out and a `struct sizes`, whose members from
 * `rows` on are `sizes`. */
void xl__depthwise_args(struct xl__step *s, const struct xl__conv_canonical *c,
                        unsigned filters, const size_t *sizes, size_t n);

/* One op a pass: each has its own variants, tuned sets and auditions. */
extern const struct xl__op xl__op_conv, xl__op_conv_data, xl__op_conv_filters;

/* Its variants, one a file. */
extern const struct xl__variant xl__conv_ref, xl__conv_tiled, xl__conv_cpu,
    xl__conv_depthwise, xl__conv_direct, xl__conv_mma, xl__conv_wgmma,
    xl__conv_dpas, xl__conv_winograd_2, xl__conv_winograd_4;
/* Those of pointwise.c, of each pass. */
#define XL__CONV_BY_GEMM(prefix)                                              \
    extern const struct xl__variant prefix##_wgmma, prefix##_mma,             \
        prefix##_dpas, prefix##_cpu, prefix##_simt, prefix##_skinny,          \
        prefix##_tiled
XL__CONV_BY_GEMM(xl__conv_gemm);
XL__CONV_BY_GEMM(xl__conv_data_gemm);
XL__CONV_BY_GEMM(xl__conv_filters_gemm);
extern const struct xl__tunable xl__conv_tiled_tunables[],
    xl__conv_cpu_tunables[], xl__conv_direct_tunables[];
extern const struct xl__variant xl__conv_data_ref, xl__conv_data_tiled,
    xl__conv_data_cpu, xl__conv_data_depthwise, xl__conv_data_direct,
    xl__conv_data_wgmma, xl__conv_data_lowered_wgmma, xl__conv_data_mma,
    xl__conv_data_dpas, xl__conv_filters_ref, xl__conv_filters_tiled,
    xl__conv_filters_cpu, xl__conv_filters_depthwise, xl__conv_filters_wgmma,
    xl__conv_filters_mma, xl__conv_filters_dpas;

#endif
