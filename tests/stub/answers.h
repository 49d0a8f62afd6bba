/* SPDX-License-Identifier: Apache-2.0 */
/* Results of clGet*Info queries, read from a text file, one per line:
 *
 *   0x102B s   My GPU            text
 *   0x1002 u32 256               32 bits
 *   0x101F u64 123               64 bits
 *   0x1004 sz  1024              a size_t
 *   0x1005 zN  1024 1024 64      several
 *   0x106A hex 0011aabb          raw bytes
 *   0x1023 err -30               the query fails
 *
 * The prefix "P " is a query of a platform, "K " one of
 * clGetKernelWorkGroupInfo. A # starts a comment line. Used by the stub driver
 * and by the fault layer. */
#ifndef XL_TESTS_ANSWERS_H
#define XL_TESTS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include <CL/cl.h>

enum { ANSWER_DEVICE = 'D', ANSWER_PLATFORM = 'P', ANSWER_KERNEL = 'K' };

/* No answer in the file: no OpenCL code has this value. */
enum { ANSWER_NONE = 1 };

struct answer {
    struct answer *next;
    char whose;
    cl_uint key;
    cl_int err;
    size_t n_bytes;
    unsigned char bytes[];
};

/* Lines that are no answer are named on stderr and left out; NULL when the file
 * cannot be read or says nothing. */
struct answer *answers_read(const char *path);
void answers_free(struct answer *list);

/* The one rule of every clGet*Info. */
cl_int answer_bytes(const void *value, size_t n, size_t cap, void *out,
                    size_t *n_out);
/* Reply from the list; ANSWER_NONE when it has nothing to say. */
cl_int answer_give(const struct answer *list, char whose, cl_uint key,
                   size_t cap, void *out, size_t *n_out);

#endif
