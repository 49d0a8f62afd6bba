/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, kernels and memory of a pipeline. */
#ifndef CLBENCH_PIPELINE_MEMORY_H
#define CLBENCH_PIPELINE_MEMORY_H

#include "pipeline/chunks.h"
#include "pipeline/workload.h"

struct pipe_mode;

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
