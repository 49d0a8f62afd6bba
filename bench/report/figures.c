/* SPDX-License-Identifier: Apache-2.0 */
/* Every picture of a report, in the order of the page. Adding one: a
 * figure_x.c, a declaration and a line here. */
#include "charts/figure.h"

const struct figure *const figures[] = {
    &figure_roofline,
    &figure_gemm,
    &figure_conv,
    &figure_softmax,
    &figure_expr,
    &figure_pipeline,
    &figure_split,
    &figure_bandwidth,
    &figure_cache,
    &figure_coalescing,
    &figure_banks,
    &figure_transfer,
    &figure_plan,
    NULL,
};
