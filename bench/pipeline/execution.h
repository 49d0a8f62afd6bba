/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a pipeline, from the host's first call until the result is where
 * it should be: the ways to move the data, the queues and memory they need,
 * and what was seen of each command. */
#ifndef CLBENCH_PIPELINE_EXECUTION_H
#define CLBENCH_PIPELINE_EXECUTION_H

#include "pipeline/memory.h"

/* A way to move the data: rows of a table. */
struct pipe_mode {
    const char *name, *what;
    bool is_pinned;   /* host memory the device can fetch from by itself */
    bool is_cut;      /* in chunks, a queue for each lane */
    bool moves;       /* uploads and downloads */
    bool maps;        /* kernels work in the host's own memory */
};
extern const struct pipe_mode pipe_modes[]; /* NULL name last */
const struct pipe_mode *pipe_mode(const char *name); /* NULL: there is none */
enum { PIPE_MODES = 5 };

/* A command as host and device saw it. Times of the device are on the host's
 * clock; all 0 where nothing is known. */
struct pipe_command {
    char name[40];        /* "write Q", "gemm_wgmma" */
    unsigned lane, stage; /* stage: of LANE_RUN alone */
    unsigned chunk;
    double bytes;         /* moved */
    uint64_t call_ns, return_ns, over_ns; /* of the call that enqueued it */
    bool is_first;        /* of those its call enqueued */
    int64_t queued_ns, submit_ns, start_ns, end_ns;
};

struct pipe_record {
    struct pipe_command *list;
    size_t n, cap;
    uint64_t begin_ns, finish_ns, end_ns; /* finish: the host begins to wait */
    double doubt_ns; /* of the device's times on the host's clock */
};
void pipe_record_clear(struct pipe_record *r);

/* One run, in a mode. */
struct pipe_pass {
    struct pipe_site *site;
    const struct pipe_lanes *lanes;
    const struct pipe_mode *mode;
    const struct chunks *chunks; /* of a mode that is cut */
    unsigned buffers;            /* likewise */
    unsigned lanes_wanted;       /* bits; 0: all. Of a mode that is not cut */
    struct pipe_record *record;  /* NULL: nothing is kept */
    bool waits; /* for each command, so that the wall clock times it */
};

/* Everything enqueued and waited for. */
xl_status pipe_run(struct pipe_pass *p);

#endif
