/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a timed case: a host copy of its inputs, and the buffers of
 * one device. */
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
    bool is_input, is_result; /* both: modified in place */
    bool has_gaps;            /* between rows, which are not written */
    bool is_guarded; /* with BENCH_GUARD_BYTES before and behind it, which
                        bench_data_reset() fills; the inputs are written
                        again as well */
};
enum { BENCH_GUARD_BYTES = 1 << 16 };

static inline struct bench_buffer bench_input(size_t elems, xl_dtype dtype)
{
    return (struct bench_buffer){elems, dtype, true, false, false, false};
}

static inline struct bench_buffer bench_result(size_t elems, xl_dtype dtype,
                                               bool has_gaps)
{
    return (struct bench_buffer){elems, dtype, false, true, has_gaps, false};
}

/* A result is filled with this before a run: NaN in f32, f16 and bf16. */
#define BENCH_NAN_WORD UINT32_C(0x7fc57fc5)

/* A case's memory: a host copy of the inputs as they are before a run, and the
 * buffers of one device. */
struct bench_data {
    struct bench_buffer buffer[BENCH_BUFFERS];
    void *host[BENCH_BUFFERS]; /* NULL: not an input */
    cl_mem mem[BENCH_BUFFERS];
    cl_mem whole[BENCH_BUFFERS]; /* with its guards; NULL: has none */
    uint64_t seed;
};

/* Do the buffers of a case fit on a device, by its largest buffer and its
 * memory? False: *why. */
bool bench_data_fits(const struct bench_op *op, const void *c,
                     const xl_device *dev, char *why, size_t cap);
/* Create random data for all inputs, the same on each device. */
xl_status bench_data_init(struct bench_data *data, const struct bench_op *op,
                          const void *c, uint64_t seed);
void bench_data_clear(struct bench_data *data);
/* Create one device's buffers and write the inputs. Release them also after a
 * failure. */
xl_status bench_data_upload(xl_queue *q, struct bench_data *data);
void bench_data_release(struct bench_data *data);
/* Fill results with NaN; write again those that are modified in place. */
xl_status bench_data_reset(xl_queue *q, const struct bench_data *data);
/* Find a guard that was written since the reset. *buffer: which buffer's,
 * BENCH_BUFFERS: none; *at: the first byte, from the buffer's first one. */
xl_status bench_data_find_outside(xl_queue *q, const struct bench_data *data,
                                  unsigned *buffer, long long *at);

#endif
