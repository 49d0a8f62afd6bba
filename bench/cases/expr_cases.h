/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of expressions, in order of length; `clbench verify`, `clbench
 * expr` and the tests read it. */
#ifndef CLBENCH_EXPR_CASES_H
#define CLBENCH_EXPR_CASES_H

#include "cases/gemm_cases.h"
#include "cases/expr_spec.h"
#include "cases/error_number.h"

/* Tensors in host memory, as they were before the run. */
struct expr_host {
    const struct expr_spec *spec;
    const void *data[XL_EXPR_MAX_BINDINGS];
    size_t first[XL_EXPR_MAX_BINDINGS]; /* place of the first element */
};

/* One element of one output. */
struct expr_point {
    const struct expr_host *host;
    unsigned out;    /* among the outputs, in the order of the spec */
    unsigned n_dims; /* of the output */
    size_t i[XL_MAX_DIMS];
};

/* What the element should be, in double, by hand: no reference calls the
 * library. Names are known by their place in the case's lists. */
typedef struct num expr_ref(const struct expr_point *p);

struct expr_case {
    const char *name;
    unsigned use;        /* enum case_use */
    const char *text;
    const char *small;   /* shapes to verify; NULL: not verified */
    const char *timed;   /* shapes to time; NULL: not timed */
    const char *scalars, *ranges;
    expr_ref *ref;
    unsigned samples;    /* elements checked where it is timed; 0: 256. Few,
                            where one takes the whole input */
};

extern const struct expr_case expr_cases[]; /* NULL name last */

/* The case's names with the small or the timed shapes, settled. The table is
 * right: a test reads every row. */
bool expr_case_spec(const struct expr_case *c, bool timed,
                    struct expr_spec *out, char *why);

/* The point of element `at` of result `k` (an index into the spec). */
struct expr_point expr_point_at(const struct expr_host *host, unsigned k,
                                size_t at);

/* How far off an element may be in memory: the number's own error, then one
 * rounding to a narrower type. */
double expr_tolerance(struct num want, xl_dtype dtype);

/* -- for the references: expr_ref_map.c, expr_ref_rows.c ------------------- */

/* Tensor k at the point, by NumPy's broadcasting; scalar k. */
struct num ref_in(const struct expr_point *p, unsigned k);
struct num ref_scalar(const struct expr_point *p, unsigned k);
/* Size of tensor k along a dimension, counted from the end: 0 is the last. */
size_t ref_size(const struct expr_point *p, unsigned k, unsigned from_end);
/* The point with its index along a dimension, counted from the end, set. */
struct expr_point ref_move(const struct expr_point *p, unsigned from_end,
                           size_t i);

expr_ref expr_ref_axpy, expr_ref_linear_relu, expr_ref_sin2_cos2,
    expr_ref_hypotenuse, expr_ref_gelu, expr_ref_gelu_tanh, expr_ref_silu,
    expr_ref_mish, expr_ref_swiglu, expr_ref_geglu, expr_ref_bias_gelu,
    expr_ref_rope, expr_ref_norm_relu, expr_ref_adam, expr_ref_momentum,
    expr_ref_lstm, expr_ref_gru, expr_ref_dropout, expr_ref_quantise,
    expr_ref_dequantise, expr_ref_gamma, expr_ref_black_scholes,
    expr_ref_horner, expr_ref_distance, expr_ref_mandelbrot, expr_ref_masks,
    expr_ref_add_transposed;
expr_ref expr_ref_softmax, expr_ref_log_softmax, expr_ref_layer_norm,
    expr_ref_layer_norm_residual, expr_ref_rms_norm, expr_ref_channel_stats,
    expr_ref_column_stats, expr_ref_logsumexp, expr_ref_cross_entropy,
    expr_ref_argmax_rows, expr_ref_argmin_columns, expr_ref_clip_norm,
    expr_ref_huber, expr_ref_sum_all, expr_ref_min_max, expr_ref_any_above;

#endif
