/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a timed case, on the host and on one device. */
#include "timing/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "timing/run_cases.h"
#include "cases/host_ops.h"

static const uint32_t NAN_WORD = BENCH_NAN_WORD;

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

void bench_data_clear(struct bench_data *data)
{
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        free(data->host[i]);
        data->host[i] = NULL;
    }
}

xl_status bench_data_upload(xl_queue *q, struct bench_data *data)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        size_t bytes = bytes_of(&data->buffer[i]);
        if (!bytes)
            continue;
        /* Whole words, so that the result can be filled with NaN. */
        TRY(xl_buffer_create(q, xl__round_up(bytes, sizeof NAN_WORD),
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
    }
}

xl_status bench_data_reset(xl_queue *q, const struct bench_data *data)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < BENCH_BUFFERS; i++) {
        const struct bench_buffer *x = &data->buffer[i];
        size_t bytes = bytes_of(x);
        size_t words = xl__round_up(bytes, sizeof NAN_WORD) / sizeof NAN_WORD;
        if (!bytes || !x->is_result)
            continue;
        if (data->host[i])
            TRY(xl_buffer_write(q, data->mem[i], 0, data->host[i], bytes));
        else
            TRY(xl_buffer_fill(q, data->mem[i], 0, NAN_WORD, words));
    }
    TRY(xl_queue_finish(q));
fail:
    return status;
}
