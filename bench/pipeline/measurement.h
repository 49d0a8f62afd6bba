/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline measured on one device: each way to move the data checked, timed
 * in turns with the others, and taken apart; first calls; what the device's
 * rates would make of it. */
#ifndef CLBENCH_PIPELINE_MEASUREMENT_H
#define CLBENCH_PIPELINE_MEASUREMENT_H

#include "pipeline/execution.h"
#include "cli/session.h"

/* Times of a run's parts, in nanoseconds; NaN: not known. */
struct pipe_parts {
    double total;
    double lane[N_LANES]; /* in which the lane was at work */
    double stage[PIPE_STAGES];
};

struct pipe_result {
    const struct pipe_mode *mode;
    bool is_wanted, is_done;
    xl_row row;
    struct pipe_parts parts;    /* of the quickest run that was looked at */
    struct pipe_record best;    /* that run */
    struct chunks chunks;       /* of a mode that is cut */
    unsigned buffers;
    double foreseen_ns;         /* by chunks_time() */
};

/* The first call of a program, from opening the library to the result. */
struct pipe_first {
    const char *name; /* "built", "cached" */
    bool is_done;
    const char *why;  /* of one that is not; "" */
    double open_ns, build_ns, run_ns;
    uint64_t begin_ns;
};
enum { FIRST_BUILT, FIRST_CACHED, N_FIRSTS };

/* The same by the device's rates, one after the other. */
struct pipe_model {
    struct pipe_parts parts;
    double upload, download; /* B/s; NaN: not known */
};

struct pipe_bench {
    struct session *s;
    xl_device *dev;
    const struct pipe_work *work;
    struct pipe_site site;
    struct pipe_host host;
    struct pipe_first first[N_FIRSTS];
    struct pipe_result result[PIPE_MODES];
    struct pipe_model model;
    struct lane_paces paces; /* that chunks were chosen by */
    double alone_ns[N_LANES]; /* each lane of 'pinned' by itself, timed as a
                                 whole run is; NaN: not measured */
    bool is_stamped; /* parts are by the event clock, else by the wall's */
};

/* `modes`: bits of the places in pipe_modes. An exit_code; what was measured
 * until a failure or Ctrl-C is kept. */
int pipe_bench_run(struct pipe_bench *b, struct session *s, xl_device *dev,
                   const struct pipe_work *w, unsigned modes);
void pipe_bench_clear(struct pipe_bench *b);

/* Its result, or NULL when there is none. */
const struct pipe_result *pipe_result(const struct pipe_bench *b,
                                      const char *mode);
/* What no lane accounts for, of a mode that is not cut: calls, waits. */
double pipe_rest(const struct pipe_parts *p);
/* Of the kernels' time, that of stages that are no products. */
double pipe_non_gemm(const struct pipe_work *w, const struct pipe_parts *p);
/* The slowest lane, by what each takes alone. */
unsigned pipe_slowest(const struct pipe_parts *p);
/* A run's parts from its record. */
struct pipe_parts pipe_parts_of(const struct pipe_record *r,
                                const struct pipe_work *w);

/* -- parts of pipe_bench_run() -------------------------------------------- */

/* A run of a result's mode; and one that is taken apart. */
struct pipe_pass pipe_pass_of(struct pipe_bench *b, struct pipe_result *x);
struct pipe_pass pipe_look_of(struct pipe_bench *b, struct pipe_result *x,
                              struct pipe_record *record);

#endif
