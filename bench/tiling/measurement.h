/* SPDX-License-Identifier: Apache-2.0 */
/* One report of `clbench split`. */
#ifndef CLBENCH_TILING_MEASUREMENT_H
#define CLBENCH_TILING_MEASUREMENT_H

#include "tiling/sweep.h"
#include "tiling/tiles.h"
#include "tiling/unit_load.h"
#include "timing/run_cases.h"

/* One size of a sweep, measured. */
struct split_rate {
    size_t size;
    size_t rows, cols; /* the library's tile there */
    double ns, flop_per_s;
};

struct split_page {
    char title[96];       /* "gemm 1024x1024x1024 f32" */
    char where[96];       /* "device 0: ..." or "132 units, no device" */
    char variant[32];     /* "": a tile of the user's */
    xl_tiling tiling;
    unsigned units;       /* the device has */
    struct split_record model, measured; /* measured.n 0: it was not */
    struct split_load model_load, measured_load;
    unsigned beside;      /* groups a unit has room for, in the model */
    xl_watched watched;
    char why_not[160];    /* it was not measured */
    double op_ns;         /* the op's own median; NaN: not timed */
    struct sawtooth saw;
    size_t size;          /* its place on the sawtooth; 0: it has none */
    struct sawtooth_range range;
    struct split_rate *rate; /* of a sweep; NULL: not measured */
    size_t n_rates;
};

void split_page_clear(struct split_page *p);

/* More tiles than this are no picture. */
enum { SPLIT_MOST = 1 << 20, SPLIT_MOST_UNITS = 1 << 16 };

/* What is split. */
struct split_job {
    struct session *s;
    const struct bench_op *op;
    const void *c;              /* the op's case */
    xl_dtype dtype;
    size_t m, n, count;         /* rows and columns of a result; 0: the op's
                                   tiles are not its rows and columns */
    size_t rows, cols;          /* --tile; 0: the library's */
    const struct sweep *sweep;  /* NULL: the sawtooth is around the size */
};

/* An exit_code. `dev` NULL: --tile and --units say everything. Clear the page
 * after a failure as well. */
int split_run(const struct split_job *job, xl_device *dev,
              struct split_page *out);

#endif
