/* SPDX-License-Identifier: Apache-2.0 */
/* The case tables of GEMM, products with quantised weights and softmax, for
 * the tests, `clbench verify` and the benchmarks. */
#ifndef CLBENCH_CASES_H
#define CLBENCH_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/gemm.h>
#include <crosslane/qgemm.h>

/* The uses of a case. */
enum case_use {
    CASE_VERIFY = 1, /* small enough to check against the host in double */
    CASE_BENCH = 2,  /* worth timing */
    CASE_QUICK = 4,  /* part of the quick suite (with CASE_BENCH), or of the
                        everyday test loop (with CASE_VERIFY) */
    CASE_BIG = 8,    /* needs gigabytes: GPUs only */
    CASE_NAMED = 32, /* it has a name given in a shape file */
    CASE_SUITE = 16  /* an expression of the quick suite; CASE_QUICK is of
                        the test loop alone there */
};

enum case_data {
    DATA_NORMAL,      /* normal, mean 0, deviation 1 */
    DATA_SPECIALS,    /* softmax: rows of -inf, with +inf, with NaN */
    DATA_LARGE        /* magnitudes up to 6e4 */
};

/* Several products of one shape, one after another in each buffer. */
enum batch_layout {
    BATCH_STEPS,
    BATCH_SHARED_B, /* all use one B */
    BATCH_LISTS,    /* offsets in falling order */
    BATCH_HEADS,    /* rows of BATCH_INNER products; in memory the first
                       product of all rows comes first */
    BATCH_GROUPED   /* the same, BATCH_SHARE products of a row use one B */
};
enum { BATCH_INNER = 3, BATCH_SHARE = 2 };
struct case_batch {
    size_t count; /* 0: one product */
    enum batch_layout layout;
    size_t heads; /* products of each row, whose matrices lie side by side; 0:
                     `count` products */
};

struct gemm_case {
    const char *name;
    unsigned use;
    size_t m, n, k;
    int trans;                    /* bit 0: A, bit 1: B */
    double alpha, beta;
    xl_dtype in, out;
    size_t pad_a, pad_b, pad_c;   /* leading dimension minus its least value */
    size_t off_a, off_b, off_c;   /* offsets, in elements */
    bool columns_c;               /* C column-major */
    bool one_buffer;              /* A and B are the same memory: A A^T */
    enum case_data data;
    struct case_batch batch;
    bool bias_relu; /* epilogue relu(y + bias), a bias a column;
                       cast where C is not of floats */
    xl_accuracy accuracy;
    unsigned other_b; /* 1 + the type of B; 0: that of A, `in` */
};
/* The last members of most cases: one product, no epilogue, full accuracy. */
#define CASE_ONE {0, BATCH_STEPS, 0}, false, XL_ACCURACY_FULL, 0

/* The type of B. */
xl_dtype gemm_case_b(const struct gemm_case *c);
/* A type of both for which a product's error bound is that of this case. */
xl_dtype gemm_case_rounds_as(const struct gemm_case *c);

/* C = A W^T, A m x k, W of n rows and k columns. */
struct qgemm_case {
    const char *name;
    unsigned use;
    size_t m, n, k;
    xl_qformat format;
    size_t group;      /* of int4 and fp8; of fp8 0: all columns */
    size_t group_rows; /* of fp8; 0: all rows */
    bool has_zeros;
    xl_dtype in, out;
    size_t pad, off; /* of A and C: elements between rows, before the first;
                        bytes before W, elements before its scales */
    size_t off_w;    /* more bytes before W */
    bool columns_c;  /* C column-major */
    bool bias_relu;  /* epilogue relu(y + bias) */
    xl_accuracy accuracy;
    xl_activations activations;
    unsigned gain; /* A's rows are normed: 1 + the type of the gain; 0: not */
    bool is_pair;  /* W is two matrices of n / 2 rows: QGEMM_CASE_PAIR */
};
/* 1 / sqrt(mean of squares + this) */
#define QGEMM_CASE_EPS 0.25
/* The epilogue of a pair. */
#define QGEMM_CASE_PAIR "relu(y) * y2"

extern const struct qgemm_case qgemm_cases[]; /* NULL name last */
/* Weights may be rounded to the type of A. */
bool qgemm_case_rounds(const struct qgemm_case *c);
/* The type of the gain; f32 where there is none. */
xl_dtype qgemm_gain_type(const struct qgemm_case *c);
/* Columns of C. */
size_t qgemm_case_cols(const struct qgemm_case *c);
/* Columns of A that are quantised with one scale; 0: they are not. */
size_t qgemm_case_group(const struct qgemm_case *c);

xl_qshape qgemm_case_shape(const struct qgemm_case *c);
/* Bytes of scales before those of row j, and the first row that shares them. */
size_t qgemm_case_scales_at(const struct qgemm_case *c, size_t j);
size_t qgemm_case_first_row(const struct qgemm_case *c, size_t j);
/* Its bytes; all zero where the sizes do not fit the format. */
xl_qbytes qgemm_case_bytes(const struct qgemm_case *c);

/* The mask of a softmax case: none; full, of the rows' type; one f32 row for
 * all; full, of a type of its own; such a row added by a prologue, with an
 * epilogue into a type. */
enum {
    MASK_NONE,
    MASK_FULL,
    MASK_ROW,
    MASK_TYPED,
    MASK_HOOKS = MASK_TYPED + XL_N_DTYPES
};
#define MASK_OF(dtype) (MASK_TYPED + (int)(dtype))
#define HOOKS_INTO(dtype) (MASK_HOOKS + (int)(dtype))

struct softmax_case {
    const char *name;
    unsigned use;
    size_t rows, cols;
    xl_dtype dtype;
    double scale;                 /* 0: default */
    int mask;
    bool in_place;
    size_t pad, off;
    enum case_data data;
    bool is_log; /* the logarithm of the result */
};

/* The types of the case's mask and of its results. */
xl_dtype softmax_mask_dtype(const struct softmax_case *c);
xl_dtype softmax_out_dtype(const struct softmax_case *c);
/* Whether the mask is one row. */
bool softmax_mask_is_row(const struct softmax_case *c);

extern const struct gemm_case gemm_cases[];       /* NULL name last */
extern const struct softmax_case softmax_cases[]; /* NULL name last */

/* An element that is wrong. */
struct wrong_element {
    cl_mem mem; /* NULL: the check does not say */
    size_t at;  /* index in the buffer */
    xl_dtype dtype;
    bool is_outside; /* it had to stay as it was; else: */
    double got, expected, tol;
};

/* The result of a check. */
struct check_result {
    bool right;
    double worst;     /* largest error over its tolerance */
    char why[256];    /* where and what, when wrong */
    struct wrong_element first; /* when wrong */
};

#endif
