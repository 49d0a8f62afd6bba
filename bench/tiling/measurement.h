/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `clbench split` for one launch: tiling, records, load, times
 * and sawtooth, measured on a device or, for a tile given by the user, from
 * the model only. Text, picture and JSON are made from it. */
#ifndef CLBENCH_TILING_MEASUREMENT_H
#define CLBENCH_TILING_MEASUREMENT_H

#include "tiling/sweep.h"
#include "tiling/tiles.h"
#include "tiling/unit_load.h"
#include "timing/run_cases.h"

/* One size of a sweep, measured. */
struct tiling_rate {
    size_t size;
    size_t rows, cols; /* the library's tile for it */
    double ns, flop_per_s;
};

struct tiling_report {
    char title[96];   /* "gemm 1024x1024x1024 f32" */
    char where[96];   /* "device 0: ..." or "132 units, no device" */
    char variant[32]; /* "": a tile of the user */
    xl_tiling tiling;
    double *work;   /* of each piece over the mean; NULL: equal */
    unsigned units; /* of the device */
    struct tiling_record model, measured; /* measured.n 0: not measured */
    struct tiling_load model_load, measured_load;
    unsigned concurrent; /* groups on a unit at a time, in the model */
    xl_watched watched;
    char why_not[160]; /* the reason why it was not measured */
    char busy[96];     /* "BUSY (load 5.6 ...)" while it was; "": it was not */
    double op_ns;      /* median time of the op; NaN: not timed */
    struct sawtooth saw;
    size_t size; /* of the launch on the sawtooth; 0: it has none */
    struct sawtooth_range range;
    struct tiling_rate *rate; /* of a sweep; NULL: not measured */
    size_t n_rates;
};

void tiling_report_clear(struct tiling_report *p);

/* Limits of pieces and of units. */
enum { TILING_MOST_PIECES = 1 << 20, TILING_MOST_UNITS = 1 << 16 };

/* The launch to report. */
struct tiling_job {
    struct session *s;
    const struct bench_op *op;
    const void *c;              /* the op's case */
    xl_dtype dtype;
    size_t m, n, count;         /* rows and columns of a result; 0: the tiles
                                   of the op are not its rows and columns */
    size_t rows, cols;          /* --tile; 0: those of the library */
    const struct sweep *sweep;  /* NULL: the sawtooth is around the size */
};

/* Fills the report. `dev` NULL: the tile and the units are given. An
 * exit_code; call tiling_report_clear() after a failure as well. */
int tiling_measure(const struct tiling_job *job, xl_device *dev,
                   struct tiling_report *out);

#endif
