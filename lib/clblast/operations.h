/* SPDX-License-Identifier: Apache-2.0 */
/* What CLBlast's arguments are to the library: views, products, convolutions
 * and expressions. Of what CLBlast would refuse, such as a leading dimension
 * shorter than a row, a view is made that the library refuses. */
#ifndef XL_CLBLAST_OPERATIONS_H
#define XL_CLBLAST_OPERATIONS_H

#include <clblast_c.h>

#include "clblast/routine.h"

/* op(X) of rows x cols. */
xl_mat xl__blas_matrix(CLBlastLayout layout, CLBlastTranspose transpose,
                       size_t rows, size_t cols, cl_mem mem, size_t offset,
                       size_t ld, xl_dtype dtype);

/* A vector as a matrix of one column. */
xl_mat xl__blas_column(cl_mem mem, size_t offset, size_t inc, xl_dtype dtype);

/* Bindings of an expression; of a scalar, beside vectors of a type. */
xl_binding xl__bind_scalar(const char *name, double value, xl_dtype vector);
xl_binding xl__bind_vector(const char *name, size_t n, cl_mem mem,
                           size_t offset, size_t inc, xl_dtype dtype);
xl_binding xl__bind_matrix(const char *name, size_t rows, size_t cols,
                           xl_mat view);

/* Enqueue them. An alpha of 0, with which CLBlast reads A and B and the
 * library does not, is XL_BAD_SCALAR. */
xl_status xl__blas_gemm(struct xl__routine_call *call, xl_gemm g);
/* n products: `one` with the scalars and, added to its own, the offsets of
 * each; `value` reads an element of `alphas` and `betas`. */
xl_status xl__blas_gemm_group(struct xl__routine_call *call,
                              const xl_gemm *one, size_t n,
                              double (*value)(const void *, size_t),
                              const void *alphas, const void *betas,
                              const size_t *a_offsets, const size_t *b_offsets,
                              const size_t *c_offsets);
/* The channels of an image and the windows that filters see of it, dilated. */
xl_conv xl__blas_windows(size_t channels, size_t height, size_t width,
                         size_t kernel_h, size_t kernel_w, size_t pad_h,
                         size_t pad_w, size_t stride_h, size_t stride_w,
                         size_t dilation_h, size_t dilation_w);
xl_status xl__blas_conv(struct xl__routine_call *call, CLBlastKernelMode mode,
                        xl_conv windows, size_t n_filters, size_t n_images,
                        cl_mem in, size_t in_offset, cl_mem filters,
                        size_t filters_offset, cl_mem out, size_t out_offset,
                        xl_dtype dtype);
/* out[c][i][j][p][q] = in[c][p stride_h + i dilation_h]
 *                        [q stride_w + j dilation_w], without padding. */
xl_status xl__blas_im2col(struct xl__routine_call *call,
                          CLBlastKernelMode mode, xl_conv windows, cl_mem in,
                          size_t in_offset, cl_mem out, size_t out_offset,
                          xl_dtype dtype);
xl_status xl__blas_expression(struct xl__routine_call *call, const char *text,
                              const xl_binding *bindings, unsigned n);

#endif
