/* SPDX-License-Identifier: Apache-2.0 */
/* A figure of a report, drawn from a result document and nothing else. The
 * list of all is in report/figure_files.c. Adding one: a struct figure in a
 * figure_x.c, its declaration here, and a line in the list. */
#ifndef CLBENCH_FIGURE_H
#define CLBENCH_FIGURE_H

#include "base/str.h"
#include "results/result_file.h"

struct figure {
    const char *name;  /* of its file, with --svg: "roofline" */
    const char *title; /* "Roofline" */
    const char
        *about; /* what it shows and how to read it: a sentence or two */
    /* Append one whole SVG element for device `device` (an entry of the file's
     * "devices"), SVG_WIDTH wide. False: the file has no data for it,
     * and `out` is unchanged. */
    bool (*draw)(const struct result_file *file, const json_t *device,
                 struct xl__str *out);
};

extern const struct figure figure_roofline, figure_bandwidth, figure_cache,
    figure_coalescing, figure_transfer, figure_banks, figure_gemm,
    figure_softmax, figure_conv, figure_expr, figure_split, figure_pipeline,
    figure_plan, figure_model, figure_model_operations;

#endif
