/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of the call that a queue is making, each resolved to its region
 * once, and the checks that compare them.
 *
 * Driver queries: the size and the flags of a buffer in every call. Its
 * context and its parent when the queue meets the buffer: a handle of the same
 * size and flags counts as met until the queue meets a sub-buffer. From then
 * on both are asked in every call, so that an overlap through a parent is
 * found even where a handle is used again for another buffer. */
#ifndef XL_RUNTIME_RESOLVE_H
#define XL_RUNTIME_RESOLVE_H

#include "runtime/memory/region.h"

enum { XL__MAX_OPERANDS = 32, XL__MET_BUFFERS = 256 };

/* One of a queue, all zero but for `context`. */
struct xl__memory {
    cl_context context;
    bool has_sub_buffers;
    struct xl__met_buffer {
        cl_mem mem;
        size_t bytes;
        cl_mem_flags flags;
    } met[XL__MET_BUFFERS]; /* a hash table of the mem */
    unsigned n;
    struct xl__region operand[XL__MAX_OPERANDS]; /* of the current call */
    size_t most_bytes; /* of its buffers that are located */
};

/* Find the memory of a region: root and base, which begin and end then count.
 * XL_BAD_ARGUMENT: not exactly one of buf and svm, another context, an address
 * that is no multiple of an element; XL_BUFFER_TOO_SMALL; an OpenCL code. */
xl_status xl__region_locate(struct xl__memory *m, xl_mem mem,
                            struct xl__region *r, struct xl__error *e);
/* The same for operand i; without memory XL_OK, unless it must have some. */
xl_status xl__operand_locate(struct xl__memory *m, unsigned i, xl_mem mem,
                             bool must_have, struct xl__error *e);

/* Bytes of the largest buffer of the call; of operands without memory what
 * they need. */
size_t xl__operands_largest(const struct xl__memory *m);

/* XL_OVERLAP unless `written` is disjoint from x, or x may be the very view
 * that is written, and is. */
xl_status xl__regions_check_apart(const struct xl__region *written,
                                  const struct xl__region *x,
                                  struct xl__error *e);
/* The same for every operand that is written and every other. */
xl_status xl__operands_check_apart(const struct xl__memory *m,
                                   struct xl__error *e);
/* Scratch memory of the caller, if any is given: at least `bytes` long, at a
 * multiple of 128 bytes, and disjoint from all operands. */
xl_status xl__operands_check_workspace(struct xl__memory *m, xl_mem mem,
                                       size_t bytes, struct xl__error *e);

#endif
