/* SPDX-License-Identifier: Apache-2.0 */
/* The workload of `clbench pipeline`: a chain of stages, the tensors between
 * them, and independent items into which it can be divided.
 *
 *     qk        S = Q K^T        items: products of a batch
 *     softmax   P = softmax(S)   tensors: Q, K inputs; S, P between; O output
 *     pv        O = P V
 *
 * Kinds of stages are rows of a table, pipe_kinds. */
#ifndef CLBENCH_PIPELINE_WORKLOAD_H
#define CLBENCH_PIPELINE_WORKLOAD_H

#include <crosslane/crosslane.h>

#include "cases/gemm_cases.h"

enum { PIPE_TENSORS = 16, PIPE_STAGES = 6, PIPE_SIZES = 3 };

enum pipe_role {
    PIPE_INPUT,   /* from the host, a separate range for each item */
    PIPE_SHARED,  /* from the host, used whole by all items: weights */
    PIPE_BETWEEN, /* stays on the device */
    PIPE_OUTPUT   /* to the host */
};

struct pipe_tensor {
    const char *name;
    enum pipe_role role;
    size_t elems; /* of an item; of a shared tensor in total */
};

struct pipe_workload;
struct pipe_kind;

struct pipe_stage {
    const struct pipe_kind *kind;
    unsigned src, by, dst;    /* tensors; `by` if there are two operands */
    size_t rows, cols, inner; /* of an item's result; inner dimension */
    double flop, bytes;       /* of an item: arithmetic, memory traffic */
    double shared_bytes;      /* read by all items, once for each launch */
};

struct pipe_workload {
    xl_dtype dtype;
    size_t size[PIPE_SIZES];
    const char *size_names[PIPE_SIZES];
    char stages[64]; /* "qk,softmax" */
    size_t items, grain; /* number of items; chunks are multiples of grain */
    struct pipe_tensor tensor[PIPE_TENSORS];
    unsigned n_tensors;
    struct pipe_stage stage[PIPE_STAGES];
    unsigned n_stages;
    size_t rows, cols; /* of an item's result after the last stage */
};

/* A range of items in device memory, from item `at` of the buffers. */
struct pipe_chunk {
    const cl_mem *mem; /* of each tensor */
    size_t at, items;
    const xl_expr *expr; /* of the stage; NULL: it is not an expression */
};

/* One row of an intermediate result, computed on the host. */
struct pipe_row {
    size_t n, item, row;
    double *expected, *tol;
    const void *const *host; /* the inputs */
};

struct pipe_kind {
    const char *name, *formula;
    bool is_gemm;
    const char *size_names[PIPE_SIZES]; /* of a kind that begins a chain */
    const char *form;                   /* likewise: "BATCHxSEQUENCExHIDDEN" */
    const char *sizes;                  /* default */
    const char *expr;                   /* its text; NULL: it is an op */
    /* Adds the tensors and sets the stage. NULL, or why it does not fit. */
    const char *(*add)(struct pipe_workload *w, struct pipe_stage *st);
    /* Enqueues the stage; with `prepare` only builds its kernels. */
    xl_status (*run)(xl_queue *q, const struct pipe_workload *w,
                     const struct pipe_stage *st,
                     const struct pipe_chunk *chunk, const xl_sync *sync,
                     bool prepare);
    /* Computes the row after this stage from `row`, the one before it. */
    void (*compute_row)(const struct pipe_workload *w,
                        const struct pipe_stage *st, struct pipe_row *row,
                        double *expected, double *tol);
};

extern const struct pipe_kind pipe_kinds[]; /* NULL name last */

/* Reads "qk,softmax" (NULL: "qk") and "32x512x128" (NULL: the default of the
 * first stage). False: *why has the message. */
bool pipe_workload_read(const char *stages, const char *sizes, xl_dtype dtype,
                        struct pipe_workload *out, char *why, size_t cap);

/* Number of units of `grain` items. */
size_t pipe_units(const struct pipe_workload *w);
double pipe_flop(const struct pipe_workload *w);
/* Bytes of a tensor for `items` items. */
size_t pipe_tensor_bytes(const struct pipe_workload *w, unsigned i,
                         size_t items);
/* Bytes of all tensors of these roles, a mask of PIPE_ROLE(). */
double pipe_bytes(const struct pipe_workload *w, unsigned roles);
#define PIPE_ROLE(role) (1u << (role))
enum {
    PIPE_FROM_HOST = PIPE_ROLE(PIPE_INPUT) | PIPE_ROLE(PIPE_SHARED),
    PIPE_TO_HOST = PIPE_ROLE(PIPE_OUTPUT),
    PIPE_HOST = PIPE_FROM_HOST | PIPE_TO_HOST
};
/* True if tensor i has one of these roles. */
bool pipe_is(const struct pipe_workload *w, unsigned i, unsigned roles);
unsigned pipe_output(const struct pipe_workload *w);

/* The bindings of a stage that is an expression, x and y. */
void pipe_bind(const struct pipe_workload *w, const struct pipe_stage *st,
               const struct pipe_chunk *chunk, xl_binding bindings[2]);

/* Compares a sample of the result with the host in double precision.
 * XL_WRONG_RESULT with *out filled. */
xl_status pipe_check(const struct pipe_workload *w, const void *const *inputs,
                     const void *result, uint64_t seed,
                     struct check_result *out);

#endif
