/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution's case table, and what a case is on the host. */
#ifndef CLBENCH_CASES_CONV_CASES_H
#define CLBENCH_CASES_CONV_CASES_H

#include <crosslane/conv.h>

#include "cases/gemm_cases.h"
#include "cases/host_ops.h"

/* How images and filters lie. */
enum conv_order {
    CONV_NCHW, /* all of it, filters KCRS */
    CONV_NHWC, /* filters KRSC */
    CONV_TO_NCHW, /* from NHWC, filters KCRS */
    CONV_TO_NHWC  /* from NCHW, filters KRSC */
};

struct conv_case {
    const char *name;
    unsigned use;
    size_t n, c, h, w, k, r, s;
    size_t groups;              /* 0: 1, as in xl_conv */
    size_t stride[2], dilation[2]; /* along h, w; 0: 1 */
    size_t pad[4];              /* top, bottom, left, right */
    enum conv_order order;
    xl_dtype in, out;
    double alpha, beta;
    bool has_norm;              /* bias, batch norm and ReLU follow */
    size_t gap, off;            /* elements between lines (planes, pixels),
                                   and before the first */
};

extern const struct conv_case conv_cases[]; /* NULL name last */

/* What conv_norm_text reads: a value each for every channel. */
enum { CONV_BIAS, CONV_MU, CONV_RSTD, CONV_GAMMA, CONV_BETA, CONV_N_NORM };
extern const char conv_norm_text[];
extern const char *const conv_norm_names[CONV_N_NORM];

/* The call: everything but memory. */
xl_conv conv_descriptor(const struct conv_case *c);

/* Images as a matrix of lines: planes of NCHW, pixels of NHWC. */
struct conv_lines {
    size_t rows, cols;
};
struct conv_lines conv_lines(xl_layout layout, const size_t size[4]);
/* Sizes along n, c, h, w. */
void conv_in_size(const struct conv_case *c, size_t size[4]);
void conv_out_size(const struct conv_case *c, size_t size[4]);
/* The view of such a matrix whose lines are `ld` elements apart. */
xl_images conv_images(cl_mem mem, size_t offset, size_t ld, xl_layout layout,
                      const size_t size[4], xl_dtype dtype);
/* The epilogue's bindings, memory of k floats each. */
void conv_norm_bind(const xl_conv *d, const cl_mem mem[CONV_N_NORM],
                    xl_binding out[CONV_N_NORM]);

/* A case's memory on the host. */
struct conv_ref {
    const struct conv_case *c;
    struct ref_mat in, filters, old; /* as matrices of lines; old: out */
    const float *norm[CONV_N_NORM];  /* NULL: none */
};
/* What out[n][k][p][q], at `at`, should be; *tol how far off it may be. */
double conv_want(const struct conv_ref *r, const size_t at[4], double *tol);
/* The element of a matrix of out's lines. */
double conv_out_at(const struct conv_case *c, const struct ref_mat *lines,
                   const size_t at[4]);
/* The i-th of all elements of out, n k p q of them. */
void conv_place(const struct conv_case *c, size_t i, size_t at[4]);

#endif
