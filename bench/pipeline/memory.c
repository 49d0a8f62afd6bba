/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and releases the queues, buffers and compiled expressions of a
 * pipeline. Pinned memory is allocated by the driver for the host and stays
 * mapped (GE-30). Timed queues have no profiling, as those of most programs,
 * since profiling costs time on some drivers. */
#include "pipeline/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"
#include "pipeline/execution.h"
#include "cases/host_ops.h"

static const int unknown_byte = 0xff; /* NaN in each floating-point type */
static const cl_uint unknown_word = 0xffffffff;

/* -- the host ------------------------------------------------------------- */

bool pipe_host_init(struct pipe_host *h, const struct pipe_workload *w,
                    uint64_t seed)
{
    struct xl__rng rng;
    memset(h, 0, sizeof *h);
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < w->n_tensors; i++) {
        if (!pipe_is(w, i, PIPE_HOST))
            continue;
        const size_t bytes = pipe_tensor_bytes(w, i, w->items);
        h->at[i] = xl__calloc(bytes, 1);
        if (!h->at[i])
            return false;
        if (pipe_is(w, i, PIPE_FROM_HOST))
            ref_fill(h->at[i], bytes / xl_dtype_bytes(w->dtype), w->dtype,
                     &rng);
        else
            memset(h->at[i], unknown_byte, bytes); /* also touches the pages */
    }
    return true;
}

void pipe_host_clear(struct pipe_host *h)
{
    for (unsigned i = 0; i < PIPE_TENSORS; i++) {
        free(h->at[i]);
        h->at[i] = NULL;
    }
}

/* -- queues --------------------------------------------------------------- */

static xl_status check_call(struct pipe_memory *memory, cl_int code,
                            const char *what, size_t bytes)
{
    if (code == CL_SUCCESS)
        return XL_OK;
    snprintf(memory->why, sizeof memory->why, "%s of %zu bytes: %s", what,
             bytes, xl_status_name(code));
    return code;
}

/* Creates a queue without profiling in the context of the profiled one. */
static xl_status create_plain_queue(struct pipe_memory *memory, xl_queue **out)
{
    cl_int code = CL_SUCCESS;
    xl_queue *first = memory->clocked.q[LANE_RUN];
    const cl_command_queue native = clCreateCommandQueue(
        xl_queue_context(first), xl_device_cl(memory->dev), 0, &code);
    if (code != CL_SUCCESS) {
        snprintf(memory->why, sizeof memory->why, "clCreateCommandQueue: %s",
                 xl_status_name(code));
        return code;
    }
    const xl_status status = xl_queue_wrap(memory->lib, native, out);
    clReleaseCommandQueue(native);
    return status;
}

const char *pipe_error_detail(const struct pipe_memory *memory)
{
    const struct pipe_lanes *both[] = {&memory->plain, &memory->clocked};
    for (unsigned i = 0; i < 2 && !*memory->why; i++)
        for (unsigned l = 0; l < N_LANES; l++)
            if (both[i]->q[l] && *xl_error_detail(both[i]->q[l]))
                return xl_error_detail(both[i]->q[l]);
    return *memory->why ? memory->why : xl_lib_error(memory->lib);
}

/* Destroys the queues of all lanes; several lanes may share one. */
static void close_lanes(struct pipe_lanes *lanes)
{
    for (unsigned l = 0; l < N_LANES; l++) {
        bool is_shared = false;
        for (unsigned i = 0; i < l; i++)
            is_shared = is_shared || lanes->q[i] == lanes->q[l];
        if (!is_shared)
            xl_queue_destroy(lanes->q[l]);
    }
    memset(lanes, 0, sizeof *lanes);
}

/* -- memory --------------------------------------------------------------- */

static size_t round_to_words(size_t bytes)
{
    return xl__round_up(bytes, sizeof unknown_word);
}

/* Compares the required memory with that of the device: some drivers
 * overcommit, and fail during a run. */
static xl_status check_room(struct pipe_memory *memory)
{
    xl_fact capacity;
    const double required =
        pipe_bytes(memory->w, PIPE_HOST | PIPE_ROLE(PIPE_BETWEEN));
    if (xl_device_fact(memory->dev, "global_mem_bytes", XL_UNKNOWN,
                       &capacity) != XL_OK ||
        !(required > capacity.value))
        return XL_OK;
    snprintf(memory->why, sizeof memory->why,
             "the workload needs %.3g GB of device memory, the device has "
             "%.3g GB; give smaller sizes",
             required * 1e-9, capacity.value * 1e-9);
    return XL_UNSUPPORTED;
}

/* Creates the buffers of a run in one piece. */
static xl_status create_device_buffers(struct pipe_memory *memory)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < memory->w->n_tensors; i++)
        TRY(xl_buffer_create(
            memory->plain.q[LANE_RUN],
            round_to_words(pipe_tensor_bytes(memory->w, i, memory->w->items)),
            &memory->whole[i]));
fail:
    return status;
}

/* Creates a buffer in host memory, mapped, with a copy of the data. */
static xl_status create_host_buffer(struct pipe_memory *memory, unsigned i,
                                    cl_mem *mem, void **at)
{
    xl_status status = XL_OK;
    cl_int code;
    xl_queue *q = memory->plain.q[LANE_RUN];
    const size_t used = pipe_tensor_bytes(memory->w, i, memory->w->items);
    const size_t bytes = round_to_words(used);
    *mem = clCreateBuffer(xl_queue_context(q),
                          CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                          NULL, &code);
    TRY(check_call(memory, code, "allocating host memory", bytes));
    *at = clEnqueueMapBuffer(xl_queue_cl(q), *mem, CL_TRUE,
                             CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL,
                             NULL, &code);
    TRY(check_call(memory, code, "clEnqueueMapBuffer", bytes));
    memcpy(*at, memory->pageable.at[i], used);
fail:
    return status;
}

static xl_status unmap_buffer(struct pipe_memory *memory, cl_mem mem, void *at)
{
    xl_queue *q = memory->plain.q[LANE_RUN];
    xl_status status = XL_OK;
    TRY(check_call(
        memory,
        clEnqueueUnmapMemObject(xl_queue_cl(q), mem, at, 0, NULL, NULL),
        "clEnqueueUnmapMemObject", 0));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

/* Creates pinned buffers, and buffers shared by host and device if they share
 * memory. */
static xl_status create_host_buffers(struct pipe_memory *memory)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < memory->w->n_tensors; i++) {
        void *at = NULL;
        if (!pipe_is(memory->w, i, PIPE_HOST))
            continue;
        TRY(create_host_buffer(memory, i, &memory->pin[i],
                               &memory->pinned.at[i]));
        if (!memory->is_shared)
            continue;
        TRY(create_host_buffer(memory, i, &memory->joint[i], &at));
        TRY(unmap_buffer(memory, memory->joint[i], at));
    }
fail:
    return status;
}

/* Uploads all inputs, for the mode that keeps data on the device. */
static xl_status upload_all(struct pipe_memory *memory)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < memory->w->n_tensors; i++)
        if (pipe_is(memory->w, i, PIPE_FROM_HOST))
            TRY(xl_buffer_write(
                memory->plain.q[LANE_RUN], memory->whole[i], 0,
                memory->pageable.at[i],
                pipe_tensor_bytes(memory->w, i, memory->w->items)));
fail:
    return status;
}

static void release_buffers(cl_mem *list)
{
    for (unsigned i = 0; i < PIPE_TENSORS; i++) {
        if (list[i])
            clReleaseMemObject(list[i]);
        list[i] = NULL;
    }
}

xl_status pipe_memory_slots(struct pipe_memory *memory, const struct chunks *c,
                            unsigned buffers)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = memory->w;
    size_t widest = 0;
    for (unsigned i = 0; i < c->n; i++)
        widest = xl__max_size(widest, c->units[i] * w->grain);
    /* each chunk has its own slot if there are enough buffers */
    const size_t items = buffers < c->n ? buffers * widest : w->items;
    if (items <= memory->slots_items)
        return XL_OK;
    release_buffers(memory->slots);
    memory->slots_items = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        TRY(xl_buffer_create(memory->plain.q[LANE_RUN],
                             round_to_words(pipe_tensor_bytes(w, i, items)),
                             &memory->slots[i]));
    memory->slots_items = items;
fail:
    return status;
}

/* -- opening and closing -------------------------------------------------- */

/* Compiles the stages that are expressions. */
static xl_status compile_expressions(struct pipe_memory *memory)
{
    xl_status status = XL_OK;
    const cl_mem none[PIPE_TENSORS] = {NULL};
    const struct pipe_chunk chunk = {.mem = none, .items = memory->w->items};
    for (unsigned i = 0; i < memory->w->n_stages; i++) {
        const struct pipe_stage *st = &memory->w->stage[i];
        xl_binding bindings[2];
        const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bindings,
                                   .n_bindings = 2};
        if (!st->kind->expr || memory->expr[i])
            continue;
        pipe_bind(memory->w, st, &chunk, bindings);
        TRY(xl_expr_compile(memory->plain.q[LANE_RUN], st->kind->expr, &args,
                            &memory->expr[i]));
    }
fail:
    return status;
}

xl_status pipe_memory_open(struct pipe_memory *memory,
                           const struct pipe_workload *w, xl_lib *lib,
                           xl_device *dev, const struct pipe_host *pageable)
{
    xl_status status = XL_OK;
    memset(memory, 0, sizeof *memory);
    memory->w = w;
    memory->lib = lib;
    memory->dev = dev;
    memory->pageable = *pageable;
    TRY(check_room(memory));
    TRY(xl_queue_create(lib, dev, &memory->clocked.q[LANE_RUN]));
    TRY(create_plain_queue(memory, &memory->plain.q[LANE_RUN]));
    for (unsigned l = 0; l < N_LANES; l++)
        memory->plain.q[l] = memory->plain.q[LANE_RUN];
    TRY(create_device_buffers(memory));
fail:
    return status;
}

xl_status pipe_memory_extend(struct pipe_memory *memory)
{
    xl_status status = XL_OK;
    xl_queue *first = memory->clocked.q[LANE_RUN];
    for (unsigned l = 0; l < N_LANES; l++) {
        if (l == LANE_RUN)
            continue;
        memory->plain.q[l] = NULL;
        TRY(create_plain_queue(memory, &memory->plain.q[l]));
        TRY(xl_queue_create_beside(first, &memory->clocked.q[l]));
    }
    TRY(upload_all(memory));
    if (create_host_buffers(memory) != XL_OK) {
        xl__strcpy(memory->no_host_memory, sizeof memory->no_host_memory,
                   pipe_error_detail(memory));
        *memory->why = '\0';
    }
fail:
    return status;
}

xl_status pipe_prepare(struct pipe_memory *memory,
                       const struct pipe_lanes *lanes, size_t items)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = memory->w;
    TRY(compile_expressions(memory));
    for (unsigned i = 0; i < w->n_stages; i++) {
        const struct pipe_chunk chunk = {
            .mem = memory->whole, .items = items, .expr = memory->expr[i]};
        TRY(w->stage[i].kind->run(lanes->q[LANE_RUN], w, &w->stage[i], &chunk,
                                  NULL, true));
    }
fail:
    return status;
}

void pipe_memory_close(struct pipe_memory *memory)
{
    for (unsigned l = 0; l < N_LANES; l++)
        if (memory->plain.q[l])
            (void)xl_queue_finish(memory->plain.q[l]);
    for (unsigned i = 0; i < PIPE_TENSORS; i++)
        if (memory->pinned.at[i])
            (void)unmap_buffer(memory, memory->pin[i], memory->pinned.at[i]);
    release_buffers(memory->pin);
    release_buffers(memory->whole);
    release_buffers(memory->slots);
    release_buffers(memory->joint);
    for (unsigned i = 0; i < PIPE_STAGES; i++)
        xl_expr_destroy(memory->expr[i]);
    close_lanes(&memory->plain);
    close_lanes(&memory->clocked);
    memset(memory, 0, sizeof *memory);
}

/* -- results -------------------------------------------------------------- */

static cl_mem device_result(struct pipe_memory *memory,
                            const struct pipe_mode *mode)
{
    return (mode->maps ? memory->joint
                       : memory->whole)[pipe_output(memory->w)];
}

xl_status pipe_invalidate_result(struct pipe_memory *memory,
                                 const struct pipe_mode *mode)
{
    xl_status status = XL_OK;
    const unsigned i = pipe_output(memory->w);
    xl_queue *q = memory->plain.q[LANE_RUN];
    const size_t bytes = pipe_tensor_bytes(memory->w, i, memory->w->items);
    memset(memory->pageable.at[i], unknown_byte, bytes);
    if (mode->is_pinned)
        memset(memory->pinned.at[i], unknown_byte, bytes);
    TRY(xl_buffer_fill(q, device_result(memory, mode), 0, unknown_word,
                       round_to_words(bytes) / sizeof unknown_word));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

xl_status pipe_read_result(struct pipe_memory *memory,
                           const struct pipe_mode *mode, const void **result)
{
    const unsigned i = pipe_output(memory->w);
    *result = mode->is_pinned ? memory->pinned.at[i] : memory->pageable.at[i];
    if (mode->moves)
        return XL_OK;
    return xl_buffer_read(memory->plain.q[LANE_RUN],
                          device_result(memory, mode), 0,
                          memory->pageable.at[i],
                          pipe_tensor_bytes(memory->w, i, memory->w->items));
}
