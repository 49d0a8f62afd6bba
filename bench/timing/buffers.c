/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a timed case, on the host and on one device. */
#include "timing/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/run_cases.h"
#include "cli/units.h"
#include "cases/host_ops.h"

static const uint32_t NAN_WORD = BENCH_NAN_WORD;
enum { GUARD_WORDS = BENCH_GUARD_BYTES / sizeof(uint32_t) };

static size_t bytes_of(const struct bench_buffer *x)
{
    return x->elems * xl_dtype_bytes(x->dtype);
}

xl_status bench_data_init(struct bench_data *data, const struct bench_op *op,
                          const void *c, uint64_t seed)
{
    struct xl__rng rng;
    memset(data, 0, sizeof *data);
    data->seed = seed;
    xl__rng_seed(&rng, seed);
    op->layout(c, data->buffer);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        if (!x->elems || !x->is_input)
            continue;
        data->host[i] = xl__calloc(x->elems, xl_dtype_bytes(x->dtype));
        if (!data->host[i])
            return XL_NO_MEMORY;
        if (op->fill)
            op->fill(c, i, data->host[i], &rng);
        else
            ref_fill(data->host[i], x->elems, x->dtype, &rng);
    }
    return XL_OK;
}

/* A fact in bytes; infinite: it is not known. */
static double limit_of(const xl_device *dev, const char *name)
{
    xl_fact f;
    return xl_device_fact(dev, name, XL_UNKNOWN, &f) == XL_OK && f.value > 0
               ? f.value
               : (double)INFINITY;
}

bool bench_data_fits(const struct bench_op *op, const void *c,
                     const xl_device *dev, char *why, size_t cap)
{
    struct bench_buffer buffer[BENCH_BUFFERS] = {{0}};
    char text[2][UNITS_CAP];
    const double largest = limit_of(dev, "max_alloc_bytes");
    const double memory = limit_of(dev, "global_mem_bytes");
    double all = 0, most = 0;
    op->layout(c, buffer);
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const double bytes =
            (double)buffer[i].elems * (double)xl_dtype_bytes(buffer[i].dtype);
        all += buffer[i].elems ? bytes : 0;
        most = buffer[i].elems ? fmax(most, bytes) : most;
    }
    if (most <= largest && all <= memory)
        return true;
    units_format(text[0], sizeof text[0], most > largest ? most : all, "B");
    units_format(text[1], sizeof text[1], most > largest ? largest : memory,
                 "B");
    snprintf(why, cap, "%s of %s; the device's %s %s: give a smaller shape",
             most > largest ? "a buffer" : "buffers", text[0],
             most > largest ? "largest buffer has" : "memory has", text[1]);
    return false;
}

void bench_data_clear(struct bench_data *data)
{
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        free(data->host[i]);
        data->host[i] = NULL;
    }
}

/* Whole words, so that a result can be filled with NaN. */
static size_t words_of(const struct bench_buffer *x)
{
    return xl__ceil_div(bytes_of(x), sizeof NAN_WORD);
}

/* A part of a larger buffer, whose offset suits each device's alignment. */
static xl_status create_guarded(xl_queue *q, const struct bench_buffer *x,
                                cl_mem *whole, cl_mem *mem)
{
    xl_status status = XL_OK;
    const cl_buffer_region region = {BENCH_GUARD_BYTES, bytes_of(x)};
    cl_int code;
    TRY(xl_buffer_create(
        q, words_of(x) * sizeof NAN_WORD + 2 * BENCH_GUARD_BYTES, whole));
    *mem = clCreateSubBuffer(*whole, CL_MEM_READ_WRITE,
                             CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS)
        *mem = NULL;
    status = code;
fail:
    return status;
}

xl_status bench_data_upload(xl_queue *q, struct bench_data *data)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        size_t bytes = bytes_of(x);
        if (!bytes)
            continue;
        if (x->is_guarded)
            TRY(create_guarded(q, x, &data->whole[i], &data->mem[i]));
        else
            TRY(xl_buffer_create(q, words_of(x) * sizeof NAN_WORD,
                                 &data->mem[i]));
        if (data->host[i])
            TRY(xl_buffer_write(q, data->mem[i], 0, data->host[i], bytes));
    }
fail:
    return status;
}

void bench_data_release(struct bench_data *data)
{
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        if (data->mem[i])
            clReleaseMemObject(data->mem[i]);
        data->mem[i] = NULL;
        if (data->whole[i])
            clReleaseMemObject(data->whole[i]);
        data->whole[i] = NULL;
    }
}

xl_status bench_data_reset(xl_queue *q, const struct bench_data *data)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        size_t bytes = bytes_of(x);
        if (!bytes || !(x->is_result || x->is_guarded))
            continue;
        if (x->is_guarded)
            TRY(xl_buffer_fill(q, data->whole[i], 0, NAN_WORD,
                               words_of(x) + 2 * GUARD_WORDS));
        if (data->host[i])
            TRY(xl_buffer_write(q, data->mem[i], 0, data->host[i], bytes));
        else if (!x->is_guarded)
            TRY(xl_buffer_fill(q, data->mem[i], 0, NAN_WORD, words_of(x)));
    }
    TRY(xl_queue_finish(q));
fail:
    return status;
}

/* -- guards ----------------------------------------------------------------
 */

/* The first of n bytes, which begin at byte `from` of the whole, that has not
 * its value of the fill; n: none. */
static size_t find_changed(const unsigned char *bytes, size_t n, size_t from)
{
    size_t i = 0;
    while (
        i < n &&
        bytes[i] ==
            ((const unsigned char *)&NAN_WORD)[(from + i) % sizeof NAN_WORD])
        i++;
    return i;
}

static xl_status find_outside(xl_queue *q, const struct bench_buffer *x,
                              cl_mem whole, bool *is_found, long long *at)
{
    xl_status status = XL_OK;
    const size_t end = BENCH_GUARD_BYTES + bytes_of(x);
    const size_t from[] = {0, end};
    const size_t n[] = {BENCH_GUARD_BYTES, words_of(x) * sizeof NAN_WORD +
                                               2 * BENCH_GUARD_BYTES - end};
    unsigned char *bytes = malloc(xl__max_size(n[0], n[1]));
    TRY(bytes ? XL_OK : XL_NO_MEMORY);
    for (unsigned side = 0; !*is_found && side < 2; side++) {
        TRY(xl_buffer_read(q, whole, from[side], bytes, n[side]));
        const size_t i = find_changed(bytes, n[side], from[side]);
        *is_found = i < n[side];
        *at = (long long)(from[side] + i) - BENCH_GUARD_BYTES;
    }
fail:
    free(bytes);
    return status;
}

xl_status bench_data_find_outside(xl_queue *q, const struct bench_data *data,
                                  unsigned *buffer, long long *at)
{
    xl_status status = XL_OK;
    bool is_found = false;
    for (*buffer = 0; *buffer < BENCH_BUFFERS; ++*buffer) {
        if (!data->whole[*buffer])
            continue;
        TRY(find_outside(q, &data->buffer[*buffer], data->whole[*buffer],
                         &is_found, at));
        if (is_found)
            break;
    }
fail:
    return status;
}
