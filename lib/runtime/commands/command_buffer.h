/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of a record as one command of the driver, which a replay
 * enqueues in place of them.
 * Source: OpenCL Extension Specification, cl_khr_command_buffer 0.9. */
#ifndef XL_RUNTIME_COMMAND_BUFFER_H
#define XL_RUNTIME_COMMAND_BUFFER_H

#include "runtime/commands/record.h"

/* Functions of the extension, declared here since headers have them under
 * different conditions. */
typedef struct _cl_command_buffer_khr *xl__buffer_handle;
typedef cl_int(CL_API_CALL *xl__buffer_enqueue)(
    cl_uint n_queues, cl_command_queue *queues, xl__buffer_handle,
    cl_uint n_wait, const cl_event *wait, cl_event *event);
typedef cl_int(CL_API_CALL *xl__buffer_end)(xl__buffer_handle);

struct xl__command_buffer {
    xl__buffer_handle cl; /* NULL: there is none */
    xl__buffer_enqueue enqueue;
    xl__buffer_end release;
};

/* Make one of all launches of n calls, with the arguments that their kernels
 * have now. An OpenCL code; after a failure there is none. */
cl_int xl__command_buffer_make(xl_queue *q,
                               const struct xl__recorded_call *calls, size_t n,
                               struct xl__command_buffer *out);
/* As clEnqueueNDRangeKernel: an OpenCL code; nothing runs after a failure. */
cl_int xl__command_buffer_enqueue(const struct xl__command_buffer *b,
                                  cl_uint n_wait, const cl_event *wait,
                                  cl_event *event);
/* What is enqueued runs nevertheless. */
void xl__command_buffer_clear(struct xl__command_buffer *b);

#endif
