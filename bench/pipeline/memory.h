/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, compiled expressions and memory of a pipeline on one device, for all
 * modes of transfer. */
#ifndef CLBENCH_PIPELINE_MEMORY_H
#define CLBENCH_PIPELINE_MEMORY_H

#include "pipeline/chunks.h"
#include "pipeline/workload.h"

struct pipe_mode;

/* A queue for each lane, in one context; all three may be the same. */
struct pipe_lanes {
    xl_queue *q[N_LANES];
};

/* Tensors in host memory: those that are uploaded or downloaded. */
struct pipe_host {
    void *at[PIPE_TENSORS]; /* NULL: not one of those */
};

struct pipe_memory {
    const struct pipe_workload *w;
    xl_lib *lib;
    xl_device *dev;
    struct pipe_lanes plain;   /* without profiling, for timed runs */
    struct pipe_lanes clocked; /* with profiling; NULL: none */
    bool has_clock;            /* the event clock of the device is reliable */
    bool is_shared;            /* host and device share memory */
    xl_expr *expr[PIPE_STAGES];
    struct pipe_host pageable, pinned;
    cl_mem pin[PIPE_TENSORS];   /* buffers that `pinned` is mapped from */
    cl_mem whole[PIPE_TENSORS]; /* whole tensors on the device */
    cl_mem slots[PIPE_TENSORS]; /* slots that chunks use cyclically */
    size_t slots_items;         /* items that fit into the slots; 0: none */
    cl_mem joint[PIPE_TENSORS]; /* shared by host and device */
    char why[192];            /* message of a failure; "": the queue has it */
    char no_host_memory[192]; /* why there is no pinned memory; "": there is */
};

/* Opens one plain queue (used for all lanes) and one with profiling, and
 * allocates device memory for a run in one piece. `pageable` is host memory
 * with the inputs. Call pipe_memory_close() even after a failure. */
xl_status pipe_memory_open(struct pipe_memory *memory,
                           const struct pipe_workload *w, xl_lib *lib,
                           xl_device *dev, const struct pipe_host *pageable);
/* Adds what the other modes need: a queue for each lane with and without
 * profiling, inputs on the device, pinned and shared memory. Without pinned
 * memory it succeeds and sets no_host_memory. */
xl_status pipe_memory_extend(struct pipe_memory *memory);
/* Allocates `buffers` slots for these chunks. */
xl_status pipe_memory_slots(struct pipe_memory *memory, const struct chunks *c,
                            unsigned buffers);
void pipe_memory_close(struct pipe_memory *memory);
/* Builds the kernels that a run of `items` items needs, on these lanes. */
xl_status pipe_prepare(struct pipe_memory *memory,
                       const struct pipe_lanes *lanes, size_t items);
/* Fills the result with NaN before a run, and reads it after one. */
xl_status pipe_invalidate_result(struct pipe_memory *memory,
                                 const struct pipe_mode *mode);
xl_status pipe_read_result(struct pipe_memory *memory,
                           const struct pipe_mode *mode, const void **result);
/* The message of the last failure. */
const char *pipe_error_detail(const struct pipe_memory *memory);

/* Allocates host memory: inputs with normally distributed values, and space
 * for the output. */
bool pipe_host_init(struct pipe_host *h, const struct pipe_workload *w,
                    uint64_t seed);
void pipe_host_clear(struct pipe_host *h);

#endif
