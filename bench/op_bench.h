/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that times an op: cases x devices x variants -> checked, judged
 * rows. An op's side of it is one struct of functions (op_gemm.c, ...). */
#ifndef CLBENCH_OP_BENCH_H
#define CLBENCH_OP_BENCH_H

#include "cases.h"
#include "session.h"

enum { BENCH_BUFFERS = 3, BENCH_MAX_CASES = 64, BENCH_MAX_CHOICES = 16 };

/* One buffer of a case; 0 elements: not used. */
struct bench_buffer {
    size_t elems;
    xl_dtype dtype;
    bool is_result;
};

/* A case's memory: the host's copy of the inputs, and one device's buffers. */
struct bench_data {
    struct bench_buffer buffer[BENCH_BUFFERS];
    void *host[BENCH_BUFFERS]; /* NULL for the result */
    cl_mem mem[BENCH_BUFFERS];
    uint64_t seed;
};

struct bench_op {
    const char *name;  /* "gemm" */
    const char *title; /* "GEMM" */
    const char *note;  /* how its value is counted */
    size_t case_bytes; /* of one case: struct gemm_case, ... */
    /* A user's word, with --dtype and the like, as a case; false: why. */
    bool (*parse)(const struct settings *set, const char *word, void *c,
                  char *why, size_t why_cap);
    /* Row i of the case table; NULL past the last; *wanted: in this run? */
    const void *(*table)(const struct session *s, unsigned i, bool *wanted);
    void (*layout)(const void *c, struct bench_buffer *buffers);
    /* Shape, parameters, dtype, flop and bytes; the row's unit. */
    void (*describe)(const void *c, xl_row *row);
    xl_status (*run)(xl_queue *q, const void *c, const cl_mem *mem,
                     const char *variant);
    xl_status (*explain)(xl_queue *q, const void *c, const cl_mem *mem,
                         const char *variant, xl_choice *out, unsigned *n);
    /* Compare a sample of the result with the host. */
    xl_status (*check)(xl_queue *q, const void *c,
                       const struct bench_data *data,
                       struct check_result *out);
};

extern const struct bench_op bench_gemm, bench_softmax;

/* A part of the report: time every case on every chosen device. `origin`
 * says whether the cases are the user's own (never skipped for being long) or
 * the table's. */
enum bench_origin { CASES_OF_TABLE, CASES_OF_USER };
int bench_run(struct session *s, const struct bench_op *op,
              const void *const *cases, unsigned n, enum bench_origin origin);

/* op_cases.c: the table's cases for this run's extent, --dtype and --trans,
 * on the devices chosen already. */
int bench_table(struct session *s, const struct bench_op *op);
/* A whole command: the words' cases, or the table's when there are none. */
int bench_command(struct session *s, const struct bench_op *op);

#endif
