/* SPDX-License-Identifier: Apache-2.0 */
/* References of the expression cases on the host: what one element of a result
 * is, in double, with the error that f32 arithmetic may have. */
#ifndef CLBENCH_CASES_HOST_EXPR_H
#define CLBENCH_CASES_HOST_EXPR_H

#include "cases/error_number.h"
#include "cases/expr_names.h"

/* Tensors in host memory, as they were before the run. */
struct expr_host {
    const struct expr_spec *spec;
    const void *data[XL_EXPR_MAX_BINDINGS];
    size_t first[XL_EXPR_MAX_BINDINGS]; /* offset of the first element */
};

/* One element of one output. */
struct expr_point {
    const struct expr_host *host;
    unsigned out;    /* among the outputs, in the order of the spec */
    unsigned n_dims; /* of the output */
    size_t i[XL_MAX_DIMS];
};

/* The expected element, in double precision; no reference calls the library.
 * Names are given by their index in the case's lists. */
typedef struct num expr_ref(const struct expr_point *p);

/* The point of element `at` of result `k` (an index into the spec). */
struct expr_point expr_point_at(const struct expr_host *host, unsigned k,
                                size_t at);

/* The tolerance of an element in memory: the error of the number, and one
 * rounding to a narrower type. */
double expr_tolerance(struct num expected, xl_dtype dtype);

expr_ref expr_ref_axpy, expr_ref_linear_relu, expr_ref_sin2_cos2,
    expr_ref_hypotenuse, expr_ref_gelu, expr_ref_gelu_tanh, expr_ref_silu,
    expr_ref_mish, expr_ref_swiglu, expr_ref_geglu, expr_ref_bias_gelu,
    expr_ref_rope, expr_ref_norm_relu, expr_ref_adam, expr_ref_momentum,
    expr_ref_lstm, expr_ref_gru, expr_ref_dropout, expr_ref_quantise,
    expr_ref_dequantise, expr_ref_gamma, expr_ref_black_scholes,
    expr_ref_horner, expr_ref_distance, expr_ref_mandelbrot, expr_ref_masks,
    expr_ref_add_transposed, expr_ref_smoothed;
expr_ref expr_ref_masked_softmax, expr_ref_masked_log_softmax;
expr_ref expr_ref_softmax, expr_ref_log_softmax, expr_ref_layer_norm,
    expr_ref_layer_norm_residual, expr_ref_rms_norm, expr_ref_channel_stats,
    expr_ref_column_stats, expr_ref_logsumexp, expr_ref_cross_entropy,
    expr_ref_argmax_rows, expr_ref_argmin_columns, expr_ref_clip_norm,
    expr_ref_huber, expr_ref_sum_all, expr_ref_min_max, expr_ref_any_above;

#endif
