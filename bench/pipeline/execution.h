/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a pipeline, from the host's first call until the result is where
 * it should be: the ways to move the data, the queues and memory they need,
 * and what was seen of each command. */
#ifndef CLBENCH_PIPELINE_RUN_H
#define CLBENCH_PIPELINE_RUN_H

#include "pipeline/chunks.h"
#include "pipeline/pipeline_work.h"

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

/* A queue a lane, in one context; or one for all. */
struct pipe_lanes {
    xl_queue *q[N_LANES];
};

/* The host's side of the tensors that it sends or gets. */
struct pipe_host {
    void *at[PIPE_TENSORS]; /* NULL: not one of those */
};

/* Where a device keeps and runs a pipeline. */
struct pipe_site {
    const struct pipe_work *w;
    xl_lib *lib;
    xl_device *dev;
    struct pipe_lanes plain;  /* without profiling, as programs have it */
    struct pipe_lanes clocked; /* the same with profiling; NULL: none */
    bool has_clock;           /* whose event clock is to be believed */
    bool is_shared;           /* host and device share memory */
    xl_expr *expr[PIPE_STAGES];
    struct pipe_host pageable, pinned;
    cl_mem pin[PIPE_TENSORS]; /* what pinned is mapped from */
    cl_mem whole[PIPE_TENSORS];  /* on the device */
    cl_mem places[PIPE_TENSORS]; /* likewise, for chunks that take turns */
    size_t places_items;         /* room there; 0: none yet */
    cl_mem joint[PIPE_TENSORS];  /* the host's and the device's */
    char why[192];            /* of a failure; "" when the queue knows */
    char no_host_memory[192]; /* why the driver gave none; "": it did */
};

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

/* pipeline_site.c: a queue of its own (one for all lanes), what is compiled
 * beforehand, and memory for a whole run from `pageable`, the host's memory.
 * Close it after a failure, too. */
xl_status pipe_site_open(struct pipe_site *site, const struct pipe_work *w,
                         xl_lib *lib, xl_device *dev,
                         const struct pipe_host *pageable);
/* What further modes want: lanes of their own, with and without profiling;
 * inputs that lie on the device already; pinned and shared memory, without
 * which other modes can do. */
xl_status pipe_site_extend(struct pipe_site *site);
/* Room for chunks that take turns in so many places. */
xl_status pipe_site_places(struct pipe_site *site, const struct chunks *c,
                           unsigned buffers);
void pipe_site_close(struct pipe_site *site);
/* Build what a run of so many items needs, on the lanes' queue of kernels. */
xl_status pipe_prepare(struct pipe_site *site, const struct pipe_lanes *lanes,
                       size_t items);
/* Everything enqueued and waited for. */
xl_status pipe_run(struct pipe_pass *p);
/* Make the result unknown, and get it after a run. */
xl_status pipe_spoil(struct pipe_site *site, const struct pipe_mode *mode);
xl_status pipe_fetch(struct pipe_site *site, const struct pipe_mode *mode,
                     const void **result);
/* What the failed queue or call says. */
const char *pipe_story(const struct pipe_site *site);

/* Inputs full of near-normal numbers, and room for the output. */
bool pipe_host_init(struct pipe_host *h, const struct pipe_work *w,
                    uint64_t seed);
void pipe_host_clear(struct pipe_host *h);

#endif
