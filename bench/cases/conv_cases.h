/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of convolution, the layout of a case's memory, and its
 * reference on the host. */
#ifndef CLBENCH_CASES_CONV_CASES_H
#define CLBENCH_CASES_CONV_CASES_H

#include <crosslane/conv.h>

#include "cases/gemm_cases.h"
#include "cases/host_ops.h"

/* The layouts of images and filters. */
enum conv_order {
    CONV_IN_NHWC = 1,      /* else NCHW */
    CONV_FILTERS_KRSC = 2, /* else KCRS */
    CONV_OUT_NHWC = 4,     /* else NCHW */
    CONV_NCHW = 0,
    CONV_NHWC = CONV_IN_NHWC | CONV_FILTERS_KRSC | CONV_OUT_NHWC,
    CONV_TO_NCHW = CONV_IN_NHWC,
    CONV_TO_NHWC = CONV_FILTERS_KRSC | CONV_OUT_NHWC
};

struct conv_case {
    const char *name;
    unsigned use;
    size_t n, c, h, w, k, r, s;
    size_t groups;              /* 0: 1, as in xl_conv */
    size_t stride[2], dilation[2]; /* along h, w; 0: 1 */
    size_t pad[4];              /* top, bottom, left, right */
    unsigned order;             /* enum conv_order */
    xl_dtype in, out;
    double alpha, beta;
    bool has_norm;              /* bias, batch norm and ReLU follow */
    xl_accuracy accuracy;
    size_t gap, off;            /* elements between rows (planes or pixels),
                                   and before the first */
    /* Of a backward pass `in` is the type of what is read, `out` that of the
     * gradient, alpha, beta, gap and off are of what is written. */
    xl_conv_pass pass;
};

extern const struct conv_case conv_cases[]; /* NULL name last */

/* The arguments of conv_norm_text, each with a value for each channel. */
enum { CONV_BIAS, CONV_MU, CONV_RSTD, CONV_GAMMA, CONV_BETA, CONV_N_NORM };
extern const char conv_norm_text[];
extern const char *const conv_norm_names[CONV_N_NORM];

/* Row i of the table with a pass; false past the last. *is_there: the pass has
 * such a case, which is one without a gradient that cannot be. */
bool conv_case_of_pass(unsigned i, xl_conv_pass pass, struct conv_case *out,
                       bool *is_there);

/* The call: everything but memory. */
xl_conv conv_descriptor(const struct conv_case *c);

/* Images as a matrix: its rows are planes in NCHW, pixels in NHWC. */
struct conv_lines {
    size_t rows, cols;
};
struct conv_lines conv_lines(xl_layout layout, const size_t size[4]);
/* Sizes along n, c, h, w. */
void conv_in_size(const struct conv_case *c, size_t size[4]);
void conv_out_size(const struct conv_case *c, size_t size[4]);
/* Those of what the pass writes; filters along k, c, r, s. */
void conv_result_size(const struct conv_case *c, size_t size[4]);
/* Filters as a matrix: a row each. */
struct conv_lines conv_filter_lines(const struct conv_case *c);
/* The view of such a matrix with leading dimension `ld`. */
xl_images conv_images(cl_mem mem, size_t offset, size_t ld, xl_layout layout,
                      const size_t size[4], xl_dtype dtype);
/* The epilogue's bindings, memory of k floats each. */
void conv_norm_bind(const xl_conv *d, const cl_mem mem[CONV_N_NORM],
                    xl_binding out[CONV_N_NORM]);

/* A case's memory on the host. */
struct conv_ref {
    const struct conv_case *c;
    struct ref_mat in, filters, out; /* as such matrices, before the call */
    const float *norm[CONV_N_NORM];  /* NULL: none */
};
/* The expected element of the result, of indices `at`; *tol: its tolerance.
 */
double conv_expected(const struct conv_ref *r, const size_t at[4],
                     double *tol);
/* The row and column of an element of the result as such a matrix; the element
 * of `lines`. */
void conv_result_place(const struct conv_case *c, const size_t at[4],
                       size_t *i, size_t *j);
double conv_result_at(const struct conv_case *c, const struct ref_mat *lines,
                      const size_t at[4]);
/* The indices of the i-th of all elements of the result. */
void conv_indices(const struct conv_case *c, size_t i, size_t at[4]);

#endif
