/* SPDX-License-Identifier: Apache-2.0 */
/* Times a forward pass: the whole of a prompt and of steps of decoding beside
 * the bound of `clbench plan`, and each operation by itself, over all layers,
 * beside the roofs. */
#ifndef CLBENCH_FORWARD_MEASUREMENT_H
#define CLBENCH_FORWARD_MEASUREMENT_H

#include "cli/session.h"
#include "planner/forward/forward.h"
#include "planner/planner.h"

/* Decoding of so many sequences at a context. */
struct lm_point {
    size_t batch, context;
    double rate, bound; /* tokens/s; NaN: not measured */
};
enum { LM_MOST_POINTS = 64 };

struct lm_run {
    struct session *s;
    xl_device *dev;
    const struct lm_arch *arch;
    char weights_name[64]; /* "q4_0", "q4_k+q6_k" */
    struct lm_source source;
    struct lm_size size;
    struct lm_bytes bytes; /* of the device's memory */
    size_t decoded;        /* steps of decoding in a sample; ids to choose */
    int *ids;              /* of --ids; NULL: not given */
    size_t n_ids;
    struct planner_rates rates;
    struct lm_model model;
    xl_queue *plain; /* without profiling: of the rows of whole passes */
    /* of --contexts and --batches */
    struct lm_point point[LM_MOST_POINTS];
    size_t n_points;
    double decode_launches; /* of a step; NaN: not counted */
    /* tokens/s: measured, at most; NaN: not measured, not known */
    double prompt_rate, prompt_bound, decode_rate, decode_bound;
};

/* Create the model, time it and report the rows. An exit_code. */
int lm_measure(struct lm_run *r);

#endif
