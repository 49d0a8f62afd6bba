/* SPDX-License-Identifier: Apache-2.0 */
/* What the picture of matrix products is drawn of: collected by figure_gemm.c,
 * drawn by figure_gemm_draw.c. */
#ifndef CLBENCH_FIGURE_GEMM_H
#define CLBENCH_FIGURE_GEMM_H

#include "charts/figure_data.h"

enum {
    GEMM_SERIES = 24, /* at most */
    GEMM_KINDS = 8,   /* of types, at most */
    GEMM_KIND_CAP = 24
};

/* Rows of one kind by one library. */
struct gemm_series {
    unsigned kind;
    unsigned who_shape;       /* 0: ours; the libraries beside it, in order */
    const char *who;          /* "": ours */
    struct plot_series marks; /* every row */
    struct plot_series line;  /* of each size the best */
};

struct gemm_picture {
    struct plot plot;
    const struct result_file *file;
    const json_t *device;
    char kind[GEMM_KINDS][GEMM_KIND_CAP]; /* "f16", "f32 split" */
    double roof[GEMM_KINDS];              /* 0: it has none */
    unsigned n_kinds;
    struct gemm_series series[GEMM_SERIES];
    unsigned n_series;
    bool grows[3], is_sweep; /* m, n, k */
};

void gemm_draw(struct xl__str *out, struct gemm_picture *d);

#endif
