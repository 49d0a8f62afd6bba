/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a timed case: the host's copy of its inputs, and one device's
 * buffers. */
#ifndef CLBENCH_TIMING_BUFFERS_H
#define CLBENCH_TIMING_BUFFERS_H

#include <crosslane/crosslane.h>

#include "base/rng.h"

struct bench_op;

enum { BENCH_BUFFERS = XL_EXPR_MAX_BINDINGS };

/* One buffer of a case; 0 elements: not used. */
struct bench_buffer {
    size_t elems;
    xl_dtype dtype;
    bool is_input, is_result; /* both: changed in place */
    bool has_gaps;            /* between its lines, which nobody writes */
};

static inline struct bench_buffer bench_input(size_t elems, xl_dtype dtype)
{
    return (struct bench_buffer){elems, dtype, true, false, false};
}

static inline struct bench_buffer bench_result(size_t elems, xl_dtype dtype,
                                               bool has_gaps)
{
    return (struct bench_buffer){elems, dtype, false, true, has_gaps};
}

/* What a result is full of before a run: NaN in f32, f16 and bf16. */
#define BENCH_NAN_WORD UINT32_C(0x7fc57fc5)

/* A case's memory: the host's copy of the inputs as they are before a run,
 * and one device's buffers. */
struct bench_data {
    struct bench_buffer buffer[BENCH_BUFFERS];
    void *host[BENCH_BUFFERS]; /* NULL: no input */
    cl_mem mem[BENCH_BUFFERS];
    uint64_t seed;
};

/* Random data for every input, the same on every device. */
xl_status bench_data_init(struct bench_data *data, const struct bench_op *op,
                          const void *c, uint64_t seed);
void bench_data_clear(struct bench_data *data);
/* One device's buffers, with the inputs in them. Release also after a
 * failure. */
xl_status bench_data_upload(xl_queue *q, struct bench_data *data);
void bench_data_release(struct bench_data *data);
/* Results full of NaN; those changed in place as they were. */
xl_status bench_data_reset(xl_queue *q, const struct bench_data *data);

#endif
