/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a call: its launches, their programs, and the buffers as they
 * were before the first launch that has them. */
#ifndef CLBENCH_BUG_RECORD_H
#define CLBENCH_BUG_RECORD_H

#include <crosslane/crosslane.h>

#include "base/str.h"

struct recorded_program {
    cl_program cl; /* retained */
    char *source;  /* "" where it was made from a binary; then: */
    unsigned char *binary;
    size_t n_bytes; /* of source or binary */
    char *options;  /* of the build */
};

struct recorded_buffer {
    cl_mem cl; /* retained */
    size_t bytes;
    unsigned char *before;
};

/* An argument: its bytes are words from `at` on, or it is buffer `at`, or
 * local memory, or no buffer. */
enum recorded_kind { ARG_WORDS, ARG_BUFFER, ARG_LOCAL, ARG_NONE };
struct recorded_arg {
    enum recorded_kind kind;
    size_t bytes, at;
};

struct recorded_launch {
    size_t program;
    const char *kernel; /* static */
    unsigned dims;
    size_t offset[3], global[3], local[3]; /* local 0: the driver's choice */
    size_t first_arg, n_args;
};

struct record {
    xl_queue *q;
    xl_status status; /* of recording: XL_NO_MEMORY, XL_UNSUPPORTED: memory
                         that is no buffer; an OpenCL code */
    struct recorded_program *program;
    struct recorded_buffer *buffer;
    struct recorded_arg *arg;
    struct recorded_launch *launch;
    uint64_t *word;
    size_t n_programs, n_buffers, n_args, n_launches, n_words;
    size_t cap_programs, cap_buffers, cap_args, cap_launches, cap_words;
};

/* Record the launches on q from now on; record_end() ends it, and keeps the
 * record. record_clear() in any case. */
xl_status record_begin(struct record *r, xl_queue *q);
xl_status record_end(struct record *r);
void record_clear(struct record *r);

/* A text that the driver has of a program, or of its build; on the heap, ""
 * where it is not given; NULL: out of memory, or there is none. */
char *program_text(cl_program program, cl_program_info what);
char *build_text(cl_program program, cl_device_id device,
                 cl_program_build_info what);

/* The index of a buffer; r->n_buffers: no launch has it. */
size_t record_find(const struct record *r, cl_mem mem);
/* Whether a buffer's bytes repeat 8 bytes, which are *word then. */
bool recorded_is_filled(const struct recorded_buffer *b, uint64_t *word);

#endif
