/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a pipeline on one device: checks and times each mode of transfer,
 * interleaved with the others, records where the time goes, measures first
 * calls, and computes the times that the device's rates predict. */
#ifndef CLBENCH_PIPELINE_MEASUREMENT_H
#define CLBENCH_PIPELINE_MEASUREMENT_H

#include "cli/session.h"
#include "pipeline/execution.h"

/* Times of a run and of its lanes and stages, in nanoseconds; NaN: unknown. */
struct pipe_times {
    double total;
    double lane[N_LANES]; /* sum over its commands */
    double stage[PIPE_STAGES];
};

struct pipe_result {
    const struct pipe_mode *mode;
    bool is_requested, is_done;
    xl_row row;
    struct pipe_times times; /* of the fastest recorded run */
    struct pipe_record best; /* that run */
    struct chunks chunks;    /* of a mode in chunks */
    unsigned buffers;
    double predicted_ns; /* by chunks_time() */
};

/* The first call of a program, from opening the library to the result. */
struct pipe_first {
    const char *name; /* "built", "cached" */
    bool is_done;
    const char *why; /* the reason if it is not done; "" */
    double open_ns, build_ns, run_ns;
    uint64_t begin_ns;
};
enum { FIRST_BUILT, FIRST_CACHED, N_FIRSTS };

/* Times predicted from the device's rates, without overlap. */
struct pipe_model {
    struct pipe_times times;
    double upload, download; /* B/s; NaN: unknown */
};

struct pipe_bench {
    struct session *s;
    xl_device *dev;
    const struct pipe_workload *workload;
    struct pipe_memory memory;
    struct pipe_host host;
    struct pipe_first first[N_FIRSTS];
    struct pipe_result result[PIPE_MODES];
    struct pipe_model model;
    struct lane_costs costs;     /* from which the chunks were chosen */
    double separate_ns[N_LANES]; /* each lane of 'pinned' by itself, timed like
                                    a whole run; NaN: not measured */
    bool has_event_times; /* times are from events; else from the host */
};

/* Measures the modes of the mask, bit i for pipe_modes[i]. An exit_code; the
 * results before a failure or Ctrl-C are kept. */
int pipe_bench_run(struct pipe_bench *b, struct session *s, xl_device *dev,
                   const struct pipe_workload *w, unsigned modes);
void pipe_bench_clear(struct pipe_bench *b);

/* The result of a mode; NULL: none. */
const struct pipe_result *pipe_result(const struct pipe_bench *b,
                                      const char *mode);
/* The time of a run outside all lanes (calls, waits); not in chunks. */
double pipe_rest(const struct pipe_times *p);
/* Share of the kernels' time in stages that are not matrix products. */
double pipe_non_gemm(const struct pipe_workload *w,
                     const struct pipe_times *p);
/* The lane with the largest time. */
unsigned pipe_slowest(const struct pipe_times *p);
/* Sums a record's times by lane and stage. */
struct pipe_times pipe_times_of(const struct pipe_record *r,
                                const struct pipe_workload *w);

/* -- for chunk_search.c --------------------------------------------------- */

/* The arguments of a timed run of a mode; and of a recorded one. */
struct pipe_run_args pipe_timed_run(struct pipe_bench *b,
                                    struct pipe_result *x);
struct pipe_run_args pipe_recorded_run(struct pipe_bench *b,
                                       struct pipe_result *x,
                                       struct pipe_record *record);

#endif
