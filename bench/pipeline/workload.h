/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of work for `clbench pipeline`: stages, the tensors between them, and
 * items it can be cut into. Stages are rows of a table; the words that name
 * them make the chain. */
#ifndef CLBENCH_PIPELINE_WORKLOAD_H
#define CLBENCH_PIPELINE_WORKLOAD_H

#include <crosslane/crosslane.h>

#include "cases/gemm_cases.h"

enum { PIPE_TENSORS = 16, PIPE_STAGES = 6, PIPE_SIZES = 3 };

enum pipe_role {
    PIPE_INPUT,   /* comes from the host, a part of it for each item */
    PIPE_SHARED,  /* comes from the host, all items need all of it: weights */
    PIPE_BETWEEN, /* stays on the device */
    PIPE_OUTPUT   /* goes to the host */
};

struct pipe_tensor {
    const char *name;
    enum pipe_role role;
    size_t elems; /* of an item; of all where it is shared */
};

struct pipe_work;
struct pipe_kind;

struct pipe_stage {
    const struct pipe_kind *kind;
    unsigned src, by, dst;    /* tensors; `by` where there are two operands */
    size_t rows, cols, inner; /* an item's result; products in a sum */
    double flop, bytes;       /* of an item: arithmetic, memory's traffic */
    double shared_bytes;      /* of what all items read, once a launch */
};

struct pipe_work {
    xl_dtype dtype;
    size_t size[PIPE_SIZES];
    const char *size_names[PIPE_SIZES];
    char stages[64]; /* "qk,softmax" */
    size_t items, grain; /* what it is cut into; never into less than grain */
    struct pipe_tensor tensor[PIPE_TENSORS];
    unsigned n_tensors;
    struct pipe_stage stage[PIPE_STAGES];
    unsigned n_stages;
    size_t rows, cols; /* an item's result, after the last stage */
};

/* Items side by side in device memory, from place `at` on. */
struct pipe_part {
    const cl_mem *mem; /* of each tensor */
    size_t at, items;
    const xl_expr *expr; /* of the stage; NULL: it has none */
};

/* A row of the running value on the host, as it should be. */
struct pipe_line {
    size_t n, item, row;
    double *want, *tol;
    const void *const *host; /* the inputs */
};

struct pipe_kind {
    const char *name, *formula;
    bool is_gemm;
    const char *size_names[PIPE_SIZES]; /* of one that begins a chain */
    const char *form;                   /* likewise: "BATCHxSEQUENCExHIDDEN" */
    const char *sizes;                  /* when none are given */
    const char *expr;                   /* its text; NULL: it is an op */
    /* Add its tensors and the stage; NULL: fine, else why it does not fit. */
    const char *(*add)(struct pipe_work *w, struct pipe_stage *st);
    /* Enqueue it, or with `prepare` build what it would use. */
    xl_status (*run)(xl_queue *q, const struct pipe_work *w,
                     const struct pipe_stage *st,
                     const struct pipe_part *part, const xl_sync *sync,
                     bool prepare);
    /* The running value's row behind it. */
    void (*follow)(const struct pipe_work *w, const struct pipe_stage *st,
                   struct pipe_line *line, double *want, double *tol);
};

extern const struct pipe_kind pipe_kinds[]; /* NULL name last */

/* Read "qk,softmax" (NULL: "qk") and "32x512x128" (NULL: the stage's own).
 * *why tells what is wrong. */
bool pipe_work_read(const char *stages, const char *sizes, xl_dtype dtype,
                    struct pipe_work *out, char *why, size_t cap);

size_t pipe_units(const struct pipe_work *w); /* of `grain` items */
double pipe_flop(const struct pipe_work *w);
/* The whole of a tensor, or of so many items. */
size_t pipe_tensor_bytes(const struct pipe_work *w, unsigned i, size_t items);
/* Bytes of all tensors from PIPE_INPUT on, of the roles wanted. */
double pipe_bytes(const struct pipe_work *w, unsigned roles);
#define PIPE_ROLE(role) (1u << (role))
enum {
    PIPE_FROM_HOST = PIPE_ROLE(PIPE_INPUT) | PIPE_ROLE(PIPE_SHARED),
    PIPE_TO_HOST = PIPE_ROLE(PIPE_OUTPUT),
    PIPE_HOST = PIPE_FROM_HOST | PIPE_TO_HOST
};
bool pipe_is(const struct pipe_work *w, unsigned i, unsigned roles);
unsigned pipe_output(const struct pipe_work *w);

/* What a stage of its own type is bound to an expression by. */
void pipe_bind(const struct pipe_work *w, const struct pipe_stage *st,
               const struct pipe_part *part, xl_binding bindings[2]);

/* Compare a sample of the result with the host in double.
 * XL_WRONG_RESULT with *out filled. */
xl_status pipe_check(const struct pipe_work *w, const void *const *inputs,
                     const void *result, uint64_t seed,
                     struct check_result *out);

#endif
