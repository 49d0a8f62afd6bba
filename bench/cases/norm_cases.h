/* SPDX-License-Identifier: Apache-2.0 */
/* The case tables of norms and of gradients over rows, their calls, and their
 * reference on the host. */
#ifndef CLBENCH_CASES_NORM_CASES_H
#define CLBENCH_CASES_NORM_CASES_H

#include <crosslane/norm.h>
#include <crosslane/softmax.h>

#include "cases/gemm_cases.h"
#include "cases/host_ops.h"

enum norm_operand {
    NORM_SRC,
    NORM_DST,
    NORM_RESIDUAL,
    NORM_SUM,
    NORM_SCALE,
    NORM_BIAS,
    NORM_OPERANDS
};

/* The optional operands of a case, by number; and where results are stored. */
#define WITH(operand) (1u << (operand))
#define WITH_AFFINE (WITH(NORM_SCALE) | WITH(NORM_BIAS))
#define WITH_STREAM (WITH(NORM_RESIDUAL) | WITH(NORM_SUM))
/* dst is src, sum the residual. */
#define NORM_IN_PLACE (1u << NORM_OPERANDS)

struct norm_case {
    const char *name;
    unsigned use;
    size_t rows, cols;
    xl_norm_kind kind;
    xl_dtype dtype, out, params; /* of src and residual, results, the rest */
    unsigned with;
    double mean;         /* of src, with a deviation of 1 */
    size_t pad, off;     /* elements between rows, and before the first */
    enum case_data data; /* DATA_SPECIALS: equal values, infinity, NaN */
};

extern const struct norm_case norm_cases[]; /* NULL name last */

bool norm_has(const struct norm_case *c, enum norm_operand x);
xl_dtype norm_dtype(const struct norm_case *c, enum norm_operand x);
/* Those that have `rows` rows; the others have one. */
bool norm_is_rows(enum norm_operand x);
/* The call; view[x] of each operand. */
xl_norm norm_call(const struct norm_case *c, const xl_mat *view,
                  const char *variant);

/* A row of x: its mean (of an RMS norm 0), 1 / sqrt(variance + eps), and a
 * bound of r of xl_norm_run(). */
struct norm_row {
    double mean, factor, r;
};
struct norm_row norm_row(const struct norm_case *c, const double *x);
/* The expected result of x with scale and bias; *tol: its tolerance. */
double norm_expected(const struct norm_case *c, const struct norm_row *row,
                     double x, double scale, double bias, double *tol);

/* -- gradients -------------------------------------------------------------
 */

enum gradient_kind {
    GRADIENT_SOFTMAX,
    GRADIENT_LOG,
    GRADIENT_LAYER,
    GRADIENT_RMS
};

enum gradient_operand {
    GRADIENT_SRC,
    GRADIENT_GRAD,
    GRADIENT_DST,
    GRADIENT_SCALE,
    GRADIENT_OF_SCALE,
    GRADIENT_OF_BIAS,
    GRADIENT_OPERANDS
};
extern const char *const gradient_names[GRADIENT_OPERANDS];

struct gradient_case {
    const char *name;
    unsigned use;
    enum gradient_kind kind;
    size_t rows, cols;
    xl_dtype dtype, out; /* of src and grad, of dst and the sums */
    unsigned with;       /* optional operands: WITH(operand) */
    enum { APART, INTO_SRC, INTO_GRAD } place; /* of dst */
    double mean, scale; /* of a norm's src; of a softmax */
    size_t pad, off;
};

extern const struct gradient_case gradient_cases[]; /* NULL name last */

/* "softmax_backward", "norm_backward". */
const char *gradient_op(const struct gradient_case *c);
bool gradient_is_norm(const struct gradient_case *c);
bool gradient_has(const struct gradient_case *c, enum gradient_operand x);
xl_dtype gradient_dtype(const struct gradient_case *c,
                        enum gradient_operand x);
bool gradient_is_result(enum gradient_operand x);
bool gradient_is_rows(enum gradient_operand x);

/* The call, of the one op or the other. */
xl_softmax gradient_softmax(const struct gradient_case *c, const xl_mat *view,
                            const char *variant);
xl_norm gradient_norm(const struct gradient_case *c, const xl_mat *view,
                      const char *variant);
xl_status gradient_run(xl_queue *q, const struct gradient_case *c,
                       const xl_mat *view, const char *variant);

/* What the elements of a row share. */
struct gradient_row {
    double mean, factor, r;     /* of a norm */
    double g, gy, size, spread; /* sums or means of the gradient */
};
/* x and g, the gradient times scale, of a whole row. */
struct gradient_row gradient_row(const struct gradient_case *c,
                                 const double *x, const double *g);
/* The expected gradient of element x; *tol: its tolerance. */
double gradient_expected(const struct gradient_case *c,
                         const struct gradient_row *row, double x, double g,
                         double *tol);
/* Adds a row to the expected sum of a column, and to its tolerance. */
void gradient_column_add(const struct gradient_case *c,
                         enum gradient_operand x, double src, double grad,
                         const struct gradient_row *row, double *sum,
                         double *tol);
/* Rounds a tolerance to the type of a result. */
double gradient_column_tol(const struct gradient_case *c, double sum,
                           double tol);

#endif
