/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ggml's container of models, versions 2 and 3, little endian. The file
 * is untrusted: each length, count and offset is checked before it is used,
 * and each message has the name of the file and the byte at which it is wrong.
 * Source: the GGUF specification of ggml, docs/gguf.md; the types of tensors
 * are enum ggml_type of ggml.h. */
#ifndef CLBENCH_PLANNER_GGUF_CONTAINER_H
#define CLBENCH_PLANNER_GGUF_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <crosslane/crosslane.h>

#include "base/str.h"

/* A text of the file: no 0 byte follows. */
struct gguf_text {
    const char *text;
    size_t len;
};

/* A pair of the metadata. */
struct gguf_value {
    struct gguf_text key;
    bool is_array;
    double number;         /* of numbers and booleans; else NaN */
    struct gguf_text text; /* of texts; else NULL */
    size_t at;             /* its byte in the file */
};

/* How the elements of a tensor are stored. */
struct gguf_type {
    uint32_t id;
    const char *name;  /* as in options: "q4_0" */
    bool is_quantised; /* by blocks, else floats */
    xl_dtype dtype;
    xl_qformat format;
};

/* NULL: not one of the library's. */
const struct gguf_type *gguf_find_type(uint32_t id);
/* "the format q5_k (13), which is not supported: must be one of ..." */
void gguf_list_types(uint32_t id, struct xl__str *why);

/* A tensor, row-major: `rows` rows of `cols` elements. */
struct gguf_tensor {
    struct gguf_text name;
    size_t rows, cols;
    const struct gguf_type *type;
    struct gguf *of;
    size_t at, bytes; /* where its data is in the file */
};

struct gguf {
    const char *name; /* of the file, the caller's */
    const unsigned char *bytes; /* the first n_bytes of the file's len */
    size_t n_bytes, len;
    struct gguf_value *value;   /* by key */
    struct gguf_tensor *tensor; /* by name */
    size_t n_values, n_tensors;
    FILE *file;        /* NULL: all bytes are the caller's */
    bool is_cut;       /* parsing needs more than the first n_bytes */
    char failure[256]; /* of the last read of data that failed, else empty */
};

/* Read the bytes, which the caller keeps as long as *out. False: *why. Clear
 * *out in either case. */
bool gguf_parse(const char *name, const void *bytes, size_t len,
                struct gguf *out, struct xl__str *why);
/* Of a file of `len` bytes the first n_bytes; out->is_cut and false: more. */
bool gguf_parse_head(const char *name, const void *bytes, size_t n_bytes,
                     size_t len, struct gguf *out, struct xl__str *why);
/* The same of a file, which stays open: data is read when it is asked for.
 * *out is not moved while it is used. */
bool gguf_open(const char *path, struct gguf *out, struct xl__str *why);
void gguf_clear(struct gguf *g);

/* NULL: there is none. */
const struct gguf_value *gguf_find(const struct gguf *g, const char *key);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *g,
                                           const char *name);
/* n bytes of a tensor's data, from `at` on. XL_IO, and t->of->failure: the
 * file is shorter than it was, or cannot be read. */
xl_status gguf_read(const struct gguf_tensor *t, size_t at, size_t n,
                    void *to);
/* The values of a tensor's rows first .. first + rows - 1. Also XL_NO_MEMORY;
 * likewise XL_IO. */
xl_status gguf_read_rows(const struct gguf_tensor *t, size_t first,
                         size_t rows, float *out);
/* The bytes of a row. */
static inline size_t gguf_row_bytes(const struct gguf_tensor *t)
{
    return t->bytes / t->rows;
}

#endif
