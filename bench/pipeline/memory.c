/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and memory of a pipeline. Pinned memory is what the driver allocates
 * for the host and leaves mapped (GE-30). Queues that are timed are without
 * profiling, as those of programs are, since stamps cost some drivers time. */
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

static const int unknown_byte = 0xff; /* a NaN of every float */
static const cl_uint unknown_word = 0xffffffff;

/* -- the host -------------------------------------------------------------- */

bool pipe_host_init(struct pipe_host *h, const struct pipe_work *w,
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
            memset(h->at[i], unknown_byte, bytes); /* touched as well */
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

/* -- queues ---------------------------------------------------------------- */

static xl_status failed(struct pipe_site *site, cl_int code, const char *what,
                        size_t bytes)
{
    if (code == CL_SUCCESS)
        return XL_OK;
    snprintf(site->why, sizeof site->why, "%s of %zu bytes: %s", what, bytes,
             xl_status_name(code));
    return code;
}

static xl_status plain_queue(struct pipe_site *site, xl_queue **out)
{
    cl_int code = CL_SUCCESS;
    xl_queue *first = site->clocked.q[LANE_RUN];
    const cl_command_queue native = clCreateCommandQueue(
        xl_queue_context(first), xl_device_cl(site->dev), 0, &code);
    if (code != CL_SUCCESS) {
        snprintf(site->why, sizeof site->why, "clCreateCommandQueue: %s",
                 xl_status_name(code));
        return code;
    }
    const xl_status status = xl_queue_wrap(site->lib, native, out);
    clReleaseCommandQueue(native);
    return status;
}

const char *pipe_story(const struct pipe_site *site)
{
    const struct pipe_lanes *both[] = {&site->plain, &site->clocked};
    for (unsigned i = 0; i < 2 && !*site->why; i++)
        for (unsigned l = 0; l < N_LANES; l++)
            if (both[i]->q[l] && *xl_error_detail(both[i]->q[l]))
                return xl_error_detail(both[i]->q[l]);
    return *site->why ? site->why : xl_lib_error(site->lib);
}

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

/* -- memory ---------------------------------------------------------------- */

static size_t whole_words(size_t bytes)
{
    return xl__round_up(bytes, sizeof unknown_word);
}

/* Would it fit? Drivers overcommit, and fail in the middle of a run. */
static xl_status check_room(struct pipe_site *site)
{
    xl_fact room;
    const double need = pipe_bytes(site->w, PIPE_HOST |
                                                PIPE_ROLE(PIPE_BETWEEN));
    if (xl_device_fact(site->dev, "global_mem_bytes", XL_UNKNOWN, &room) !=
            XL_OK ||
        !(need > room.value))
        return XL_OK;
    snprintf(site->why, sizeof site->why,
             "the work needs %.3g GB on the device, which has %.3g GB; give "
             "smaller sizes",
             need * 1e-9, room.value * 1e-9);
    return XL_UNSUPPORTED;
}

static xl_status whole_memory(struct pipe_site *site)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < site->w->n_tensors; i++)
        TRY(xl_buffer_create(
            site->plain.q[LANE_RUN],
            whole_words(pipe_tensor_bytes(site->w, i, site->w->items)),
            &site->whole[i]));
fail:
    return status;
}

/* A buffer where the host can reach it, mapped; what is in it is the host's
 * copy's. */
static xl_status host_buffer(struct pipe_site *site, unsigned i, cl_mem *mem,
                             void **at)
{
    xl_status status = XL_OK;
    cl_int code;
    xl_queue *q = site->plain.q[LANE_RUN];
    const size_t used = pipe_tensor_bytes(site->w, i, site->w->items);
    const size_t bytes = whole_words(used);
    *mem = clCreateBuffer(xl_queue_context(q),
                          CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                          NULL, &code);
    TRY(failed(site, code, "host memory of the driver's", bytes));
    *at = clEnqueueMapBuffer(xl_queue_cl(q), *mem, CL_TRUE,
                             CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL,
                             NULL, &code);
    TRY(failed(site, code, "clEnqueueMapBuffer", bytes));
    memcpy(*at, site->pageable.at[i], used);
fail:
    return status;
}

static xl_status unmap(struct pipe_site *site, cl_mem mem, void *at)
{
    xl_queue *q = site->plain.q[LANE_RUN];
    xl_status status = XL_OK;
    TRY(failed(site,
               clEnqueueUnmapMemObject(xl_queue_cl(q), mem, at, 0, NULL, NULL),
               "clEnqueueUnmapMemObject", 0));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

static xl_status host_memory(struct pipe_site *site)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < site->w->n_tensors; i++) {
        void *at = NULL;
        if (!pipe_is(site->w, i, PIPE_HOST))
            continue;
        TRY(host_buffer(site, i, &site->pin[i], &site->pinned.at[i]));
        if (!site->is_shared)
            continue;
        TRY(host_buffer(site, i, &site->joint[i], &at));
        TRY(unmap(site, site->joint[i], at));
    }
fail:
    return status;
}

static xl_status upload_all(struct pipe_site *site)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < site->w->n_tensors; i++)
        if (pipe_is(site->w, i, PIPE_FROM_HOST))
            TRY(xl_buffer_write(site->plain.q[LANE_RUN], site->whole[i], 0,
                                site->pageable.at[i],
                                pipe_tensor_bytes(site->w, i,
                                                  site->w->items)));
fail:
    return status;
}

static void release(cl_mem *list)
{
    for (unsigned i = 0; i < PIPE_TENSORS; i++) {
        if (list[i])
            clReleaseMemObject(list[i]);
        list[i] = NULL;
    }
}

xl_status pipe_site_places(struct pipe_site *site, const struct chunks *c,
                           unsigned buffers)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = site->w;
    size_t widest = 0;
    for (unsigned i = 0; i < c->n; i++)
        widest = xl__max_size(widest, c->units[i] * w->grain);
    /* Each in its own place where none has to wait for another. */
    const size_t items = buffers < c->n ? buffers * widest : w->items;
    if (items <= site->places_items)
        return XL_OK;
    release(site->places);
    site->places_items = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        TRY(xl_buffer_create(site->plain.q[LANE_RUN],
                             whole_words(pipe_tensor_bytes(w, i, items)),
                             &site->places[i]));
    site->places_items = items;
fail:
    return status;
}

/* -- the site -------------------------------------------------------------- */

static xl_status compile(struct pipe_site *site)
{
    xl_status status = XL_OK;
    const cl_mem none[PIPE_TENSORS] = {NULL};
    const struct pipe_part part = {.mem = none, .items = site->w->items};
    for (unsigned i = 0; i < site->w->n_stages; i++) {
        const struct pipe_stage *st = &site->w->stage[i];
        xl_binding bindings[2];
        const xl_expr_args args = {.bindings = bindings, .n_bindings = 2};
        if (!st->kind->expr || site->expr[i])
            continue;
        pipe_bind(site->w, st, &part, bindings);
        TRY(xl_expr_compile(site->plain.q[LANE_RUN], st->kind->expr, &args,
                            &site->expr[i]));
    }
fail:
    return status;
}

xl_status pipe_site_open(struct pipe_site *site, const struct pipe_work *w,
                         xl_lib *lib, xl_device *dev,
                         const struct pipe_host *pageable)
{
    xl_status status = XL_OK;
    memset(site, 0, sizeof *site);
    site->w = w;
    site->lib = lib;
    site->dev = dev;
    site->pageable = *pageable;
    TRY(check_room(site));
    TRY(xl_queue_create(lib, dev, &site->clocked.q[LANE_RUN]));
    TRY(plain_queue(site, &site->plain.q[LANE_RUN]));
    for (unsigned l = 0; l < N_LANES; l++)
        site->plain.q[l] = site->plain.q[LANE_RUN];
    TRY(whole_memory(site));
fail:
    return status;
}

xl_status pipe_site_extend(struct pipe_site *site)
{
    xl_status status = XL_OK;
    xl_queue *first = site->clocked.q[LANE_RUN];
    for (unsigned l = 0; l < N_LANES; l++) {
        if (l == LANE_RUN)
            continue;
        site->plain.q[l] = NULL;
        TRY(plain_queue(site, &site->plain.q[l]));
        TRY(xl_queue_create_beside(first, &site->clocked.q[l]));
    }
    TRY(upload_all(site));
    if (host_memory(site) != XL_OK) {
        xl__strcpy(site->no_host_memory, sizeof site->no_host_memory,
                   pipe_story(site));
        *site->why = '\0';
    }
fail:
    return status;
}

xl_status pipe_prepare(struct pipe_site *site, const struct pipe_lanes *lanes,
                       size_t items)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = site->w;
    TRY(compile(site));
    for (unsigned i = 0; i < w->n_stages; i++) {
        const struct pipe_part part = {.mem = site->whole, .items = items,
                                       .expr = site->expr[i]};
        TRY(w->stage[i].kind->run(lanes->q[LANE_RUN], w, &w->stage[i], &part,
                                  NULL, true));
    }
fail:
    return status;
}

void pipe_site_close(struct pipe_site *site)
{
    for (unsigned l = 0; l < N_LANES; l++)
        if (site->plain.q[l])
            (void)xl_queue_finish(site->plain.q[l]);
    for (unsigned i = 0; i < PIPE_TENSORS; i++)
        if (site->pinned.at[i])
            (void)unmap(site, site->pin[i], site->pinned.at[i]);
    release(site->pin);
    release(site->whole);
    release(site->places);
    release(site->joint);
    for (unsigned i = 0; i < PIPE_STAGES; i++)
        xl_expr_destroy(site->expr[i]);
    close_lanes(&site->plain);
    close_lanes(&site->clocked);
    memset(site, 0, sizeof *site);
}

/* -- results --------------------------------------------------------------- */

static cl_mem device_result(struct pipe_site *site,
                            const struct pipe_mode *mode)
{
    return (mode->maps ? site->joint : site->whole)[pipe_output(site->w)];
}

xl_status pipe_spoil(struct pipe_site *site, const struct pipe_mode *mode)
{
    xl_status status = XL_OK;
    const unsigned i = pipe_output(site->w);
    xl_queue *q = site->plain.q[LANE_RUN];
    const size_t bytes = pipe_tensor_bytes(site->w, i, site->w->items);
    memset(site->pageable.at[i], unknown_byte, bytes);
    if (mode->is_pinned)
        memset(site->pinned.at[i], unknown_byte, bytes);
    TRY(xl_buffer_fill(q, device_result(site, mode), 0, unknown_word,
                       whole_words(bytes) / sizeof unknown_word));
    TRY(xl_queue_finish(q));
fail:
    return status;
}

xl_status pipe_fetch(struct pipe_site *site, const struct pipe_mode *mode,
                     const void **result)
{
    const unsigned i = pipe_output(site->w);
    *result = mode->is_pinned ? site->pinned.at[i] : site->pageable.at[i];
    if (mode->moves)
        return XL_OK;
    return xl_buffer_read(site->plain.q[LANE_RUN], device_result(site, mode),
                          0, site->pageable.at[i],
                          pipe_tensor_bytes(site->w, i, site->w->items));
}
