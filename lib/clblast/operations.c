/* SPDX-License-Identifier: Apache-2.0 */
#include "clblast/operations.h"

#include <stdlib.h>

#include "base/alloc.h"

xl_mat xl__blas_matrix(CLBlastLayout layout, CLBlastTranspose transpose,
                       size_t rows, size_t cols, cl_mem mem, size_t offset,
                       size_t ld, xl_dtype dtype)
{
    const bool by_rows =
        (layout == CLBlastLayoutRowMajor) == (transpose == CLBlastTransposeNo);
    if (ld < (by_rows ? cols : rows))
        mem = NULL;
    xl_mat view =
        by_rows ? xl_mat_rows(mem, ld, dtype) : xl_mat_cols(mem, ld, dtype);
    view.offset = offset;
    return view;
}

xl_mat xl__blas_column(cl_mem mem, size_t offset, size_t inc, xl_dtype dtype)
{
    xl_mat view = xl_mat_rows(inc > 0 ? mem : NULL, inc, dtype);
    view.offset = offset;
    return view;
}

xl_binding xl__bind_scalar(const char *name, double value, xl_dtype vector)
{
    return (xl_binding){.name = name,
                        .tensor.dtype = vector == XL_F64 ? XL_F64 : XL_F32,
                        .is_scalar = true,
                        .scalar = value};
}

xl_binding xl__bind_vector(const char *name, size_t n, cl_mem mem,
                           size_t offset, size_t inc, xl_dtype dtype)
{
    xl_binding b = {name, xl_tensor_dense(inc > 0 ? mem : NULL, dtype, 1, &n),
                    false, 0};
    b.tensor.offset = offset;
    b.tensor.stride[0] = inc;
    return b;
}

xl_binding xl__bind_matrix(const char *name, size_t rows, size_t cols,
                           xl_mat view)
{
    const size_t size[] = {rows, cols};
    xl_binding b = {name, xl_tensor_dense(view.mem.buf, view.dtype, 2, size),
                    false, 0};
    b.tensor.offset = view.offset;
    b.tensor.stride[0] = view.row_stride;
    b.tensor.stride[1] = view.col_stride;
    return b;
}

xl_status xl__blas_gemm(struct xl__routine_call *call, xl_gemm g)
{
    if (g.alpha == 0)
        return XL_BAD_SCALAR;
    return xl_gemm_run(call->q, &g, &call->sync);
}

/* After one of these codes products may be in the queue, and another library
 * must not add them a second time. */
static xl_status check_end(xl_status status)
{
    return status == XL_BUILD_FAILED || status == XL_UNTRUSTED ||
                   status == XL_NO_MEMORY
               ? (xl_status)CLBlastUnexpectedError
               : status;
}

xl_status xl__blas_gemm_group(struct xl__routine_call *call,
                              const xl_gemm *one, size_t n,
                              double (*value)(const void *, size_t),
                              const void *alphas, const void *betas,
                              const size_t *a_offsets, const size_t *b_offsets,
                              const size_t *c_offsets)
{
    xl_gemm *products = n > 0 ? xl__calloc(n, sizeof *products) : NULL;
    xl_status status = products ? XL_OK : XL_BAD_SHAPE;
    for (size_t i = 0; i < n && status == XL_OK; i++) {
        products[i] = *one;
        products[i].alpha = value(alphas, i);
        products[i].beta = value(betas, i);
        products[i].a.offset += a_offsets[i];
        products[i].b.offset += b_offsets[i];
        products[i].c.offset += c_offsets[i];
        if (products[i].alpha == 0)
            status = XL_BAD_SCALAR;
    }
    if (status == XL_OK)
        status = xl_gemm_prepare(call->q, &products[0]);
    if (status == XL_OK)
        status =
            check_end(xl_gemm_run_group(call->q, products, n, &call->sync));
    free(products);
    return status;
}

/* A size of 0 is allowed in expressions and an error there. */
static bool has_elements(const xl_binding *bindings, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned d = 0; d < bindings[i].tensor.n_dims; d++)
            if (bindings[i].tensor.size[d] == 0)
                return false;
    return true;
}

xl_status xl__blas_expression(struct xl__routine_call *call, const char *text,
                              const xl_binding *bindings, unsigned n)
{
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bindings,
                               .n_bindings = n};
    xl_expr *e = atomic_load(&call->routine->compiled);
    if (!has_elements(bindings, n))
        return XL_BAD_SHAPE;
    if (!e) {
        const xl_status status = xl_expr_compile(call->q, text, &args, &e);
        xl_expr *first = NULL;
        if (status != XL_OK)
            return status;
        if (!atomic_compare_exchange_strong(&call->routine->compiled, &first,
                                            e)) {
            xl_expr_destroy(e); /* another thread was faster */
            e = first;
        }
    }
    return xl_expr_run(call->q, e, &args, &call->sync);
}

xl_conv xl__blas_windows(size_t channels, size_t height, size_t width,
                         size_t kernel_h, size_t kernel_w, size_t pad_h,
                         size_t pad_w, size_t stride_h, size_t stride_w,
                         size_t dilation_h, size_t dilation_w)
{
    return (xl_conv){XL_CONV_INIT,
                     .n = 1,
                     .c = channels,
                     .h = height,
                     .w = width,
                     .k = 1,
                     .r = kernel_h,
                     .s = kernel_w,
                     .stride_h = stride_h,
                     .stride_w = stride_w,
                     .dilation_h = dilation_h,
                     .dilation_w = dilation_w,
                     .pad_top = pad_h,
                     .pad_bottom = pad_h,
                     .pad_left = pad_w,
                     .pad_right = pad_w,
                     .alpha = 1};
}

/* Steps of 0 are defaults here and errors there; CLBlast's "convolution" reads
 * the filter backwards. */
static bool is_ours(CLBlastKernelMode mode, const xl_conv *c)
{
    return c->stride_h > 0 && c->stride_w > 0 && c->dilation_h > 0 &&
           c->dilation_w > 0 &&
           (mode == CLBlastKernelModeCrossCorrelation || c->r * c->s == 1);
}

xl_status xl__blas_conv(struct xl__routine_call *call, CLBlastKernelMode mode,
                        xl_conv c, size_t n_filters, size_t n_images,
                        cl_mem in, size_t in_offset, cl_mem filters,
                        size_t filters_offset, cl_mem out, size_t out_offset,
                        xl_dtype dtype)
{
    if (!is_ours(mode, &c))
        return XL_UNSUPPORTED;
    c.n = n_images;
    c.k = n_filters;
    c.in = (xl_images){{in, NULL, 0}, in_offset, XL_NCHW, {0}, dtype};
    c.filters =
        (xl_filters){{filters, NULL, 0}, filters_offset, XL_KCRS, dtype};
    c.out = (xl_images){{out, NULL, 0}, out_offset, XL_NCHW, {0}, dtype};
    return xl_conv_run(call->q, &c, &call->sync);
}

xl_status xl__blas_im2col(struct xl__routine_call *call,
                          CLBlastKernelMode mode, xl_conv c, cl_mem in,
                          size_t in_offset, cl_mem out, size_t out_offset,
                          xl_dtype dtype)
{
    enum { N_DIMS = 5 };
    size_t p, q;
    if (!is_ours(mode, &c) || c.pad_top > 0 || c.pad_left > 0 ||
        xl_conv_out_size(&c, &p, &q) != XL_OK)
        return XL_UNSUPPORTED;
    const size_t size[N_DIMS] = {c.c, c.r, c.s, p, q};
    const size_t step[N_DIMS] = {c.h * c.w, c.dilation_h * c.w, c.dilation_w,
                                 c.stride_h * c.w, c.stride_w};
    xl_binding names[] = {
        {"im", xl_tensor_dense(in, dtype, N_DIMS, size), false, 0},
        {"col", xl_tensor_dense(out, dtype, N_DIMS, size), false, 0}};
    names[0].tensor.offset = in_offset;
    names[1].tensor.offset = out_offset;
    for (unsigned i = 0; i < N_DIMS; i++)
        names[0].tensor.stride[i] = step[i];
    return xl__blas_expression(call, "col = im", names, 2);
}
