/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of a report, each drawn from result documents alone: one small
 * file per picture, figure_x.c. Adding one: a file and a line in figures.c. */
#ifndef CLBENCH_FIGURES_H
#define CLBENCH_FIGURES_H

#include "base/str.h"
#include "results/result_file.h"

struct figure {
    const char *name;  /* of its file, with --svg: "roofline" */
    const char *title; /* "Roofline" */
    const char *about; /* what it shows and how to read it: a sentence or two */
    /* Append one whole SVG element for device `device` (an entry of the file's
     * "devices"), 720 wide by convention. False: the file has nothing to draw
     * it from, and `out` is as it was. */
    bool (*draw)(const struct result_file *file, const json_t *device,
                 struct xl__str *out);
};

extern const struct figure figure_roofline, figure_bandwidth, figure_cache,
    figure_coalescing, figure_transfer, figure_banks, figure_gemm,
    figure_softmax, figure_conv, figure_expr, figure_split, figure_pipeline,
    figure_plan;
extern const struct figure *const figures[]; /* NULL-terminated */

#endif
