/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one run of a pipeline in one of the modes of transfer, from the
 * host's first call until the result is in its destination, and optionally
 * records each command. */
#ifndef CLBENCH_PIPELINE_EXECUTION_H
#define CLBENCH_PIPELINE_EXECUTION_H

#include "pipeline/memory.h"

/* A mode of transfer. */
struct pipe_mode {
    const char *name, *what;
    bool is_pinned; /* host memory that the device can access directly */
    bool is_cut;    /* in chunks, on a queue for each lane */
    bool moves;     /* uploads and downloads */
    bool maps;      /* kernels use memory shared with the host */
};
extern const struct pipe_mode pipe_modes[];          /* NULL name last */
const struct pipe_mode *pipe_mode(const char *name); /* NULL: unknown */
enum { PIPE_MODES = 5 };

/* A recorded command. Times of the device are converted to the host's clock;
 * all are 0 if unknown. */
struct pipe_command {
    char name[40];        /* "write Q", "gemm_wgmma" */
    unsigned lane, stage; /* stage: in LANE_RUN only */
    unsigned chunk;
    double bytes;         /* moved */
    uint64_t call_ns, return_ns, over_ns; /* of the call that enqueued it */
    bool is_first;                        /* the first command of its call */
    int64_t queued_ns, submit_ns, start_ns, end_ns;
};

struct pipe_record {
    struct pipe_command *list;
    size_t n, cap;
    uint64_t begin_ns, finish_ns, end_ns; /* finish: the host begins to wait */
    double doubt_ns; /* uncertainty of device times on the host's clock */
};
void pipe_record_clear(struct pipe_record *r);

struct pipe_run_args {
    struct pipe_memory *memory;
    const struct pipe_lanes *lanes;
    const struct pipe_mode *mode;
    const struct chunks *chunks; /* of a mode in chunks */
    unsigned buffers;            /* likewise: number of slots */
    unsigned lane_mask; /* lanes to run, 1 << lane; 0: all. Other modes only */
    struct pipe_record *record; /* NULL: nothing is recorded */
    bool waits; /* for each command, so that the host's clock times it */
};
/* Enqueues everything and waits for it. */
xl_status pipe_run(struct pipe_run_args *p);

#endif
