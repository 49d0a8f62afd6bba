/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of norms, their calls, and their reference on the host. */
#ifndef CLBENCH_CASES_NORM_CASES_H
#define CLBENCH_CASES_NORM_CASES_H

#include <crosslane/norm.h>

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

#endif
