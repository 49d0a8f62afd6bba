/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of attention and of its gradient, the layout of a case's
 * memory, and its reference on the host. */
#ifndef CLBENCH_CASES_ATTENTION_CASES_H
#define CLBENCH_CASES_ATTENTION_CASES_H

#include <crosslane/attention.h>

#include "cases/gemm_cases.h"
#include "cases/host_ops.h"

/* The operands, what the prologue "x + slope * at" reads: a number for each
 * head, one for each key; and those of a gradient. */
enum attention_operand {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_O,
    ATTENTION_LSE,
    ATTENTION_MASK,
    ATTENTION_SLOPES,
    ATTENTION_SINKS,
    ATTENTION_SLOPE,
    ATTENTION_AT,
    ATTENTION_GRAD_O,
    ATTENTION_GRAD_Q,
    ATTENTION_GRAD_K,
    ATTENTION_GRAD_V,
    ATTENTION_K_SCALES,
    ATTENTION_V_SCALES,
    ATTENTION_Q_ROWS, /* the numbers of sequences */
    ATTENTION_KV_ROWS,
    ATTENTION_PAGES,
    ATTENTION_OPERANDS
};

/* The optional ones of a case. */
enum attention_with {
    WITH_LSE = 1,
    WITH_MASK = 2,        /* a mask for each head */
    WITH_SHARED_MASK = 4, /* one for all */
    WITH_SLOPES = 8,
    WITH_SINKS = 16,
    WITH_SCORE = 32,       /* the prologue */
    WITH_SCALES = 64,      /* of k and v, for each head and key */
    WITH_KEY_SCALES = 128, /* for each key */
    WITH_HEAD_SCALES = 256 /* for each head */
};

struct attention_case {
    const char *name;
    unsigned use;
    size_t n_batch, n_heads, n_q, n_kv, d;
    size_t share; /* query heads of each head of keys; 0: 1 */
    xl_dtype dtype, mask; /* mask: its type */
    bool rows_first;      /* [B, N, H, D] in memory, else [B, H, N, D] */
    bool is_causal;
    size_t window;
    double scale, soft_cap; /* 0: default */
    unsigned with;          /* enum attention_with */
    size_t pad, off;        /* elements between rows, and before the first */
    enum case_data data;    /* DATA_SPECIALS: in the mask */
    bool is_backward;       /* the gradients; o and lse are read */
    xl_dtype cache;         /* the type of k and v; 0: dtype */
    xl_dtype out;           /* the type of o, where dtype is f8e4m3 */
    /* Sequences of unequal lengths, of which n_q and n_kv are the longest; 0:
     * of one length. */
    xl_rows_kind q_rows, kv_rows;
    size_t page_rows;
    xl_accuracy accuracy; /* of f32 */
};

extern const struct attention_case attention_cases[]; /* NULL name last */
extern const char *const attention_names[ATTENTION_OPERANDS];
/* The gradient of case i of the table; false: it has none, since it has a
 * prologue, another type of k and v or sequences of unequal lengths, or is
 * timed with one query. */
bool attention_case_of_gradient(unsigned i, struct attention_case *out);

xl_dtype attention_out(const struct attention_case *c);
bool attention_has_scales(const struct attention_case *c);
size_t attention_kv_heads(const struct attention_case *c);
size_t attention_share(const struct attention_case *c);
bool attention_has(const struct attention_case *c, enum attention_operand x);
bool attention_is_result(const struct attention_case *c,
                         enum attention_operand x);
/* An operand as a matrix, and the row of it that has query or key i of head h.
 */
struct attention_lines {
    size_t rows, cols;
    xl_dtype dtype;
};
struct attention_lines attention_lines(const struct attention_case *c,
                                       enum attention_operand x);
size_t attention_line(const struct attention_case *c, enum attention_operand x,
                      size_t b, size_t h, size_t i);

/* Queries and keys of a sequence; sequences, or pages, and
 * rows of each as an operand has them whose longest sequence has n rows; from
 * row i of sequence b to these; the numbers of sequences and pages. */
size_t attention_queries(const struct attention_case *c, size_t b);
size_t attention_keys(const struct attention_case *c, size_t b);
struct attention_block {
    size_t n, rows;
};
struct attention_block attention_block(const struct attention_case *c,
                                       enum attention_operand x, size_t n);
void attention_place(const struct attention_case *c, enum attention_operand x,
                     size_t n, size_t *b, size_t *i);
struct attention_lines attention_numbers(const struct attention_case *c,
                                         enum attention_operand x);
double attention_number(const struct attention_case *c,
                        enum attention_operand x, size_t i, size_t j);

/* A call, with what its descriptor points to. */
struct attention_call {
    xl_attention a;
    xl_heads operand[ATTENTION_OPERANDS];
    xl_sequences q_rows, kv_rows;
    xl_binding binding[2];
};
/* Memory of such matrices: first elements, elements from row to row. */
struct attention_memory {
    cl_mem mem[ATTENTION_OPERANDS];
    size_t first[ATTENTION_OPERANDS], ld[ATTENTION_OPERANDS];
};
/* *call must stay where it is. */
void attention_call_init(struct attention_call *call,
                         const struct attention_case *c,
                         const struct attention_memory *at,
                         const char *variant);

/* Pairs of a query and a key that it sees, over all heads. */
double attention_pairs(const struct attention_case *c);

/* A case's memory on the host, as such matrices. */
struct attention_ref {
    const struct attention_case *c;
    struct ref_mat operand[ATTENTION_OPERANDS];
};
/* Whether query i of sequence b sees key j. */
bool attention_sees(const struct attention_case *c, size_t b, size_t i,
                    size_t j);
/* The score of query i of head h and key j. */
struct attention_score {
    double x, error; /* of a device, at most: xl_attention_run() */
    double slope;    /* the derivative of the soft cap; 1 without */
};
struct attention_score attention_score(const struct attention_ref *r, size_t b,
                                       size_t h, size_t i, size_t j);
double attention_scale(const struct attention_case *c);
/* A row of the result: `weight` has room for n_kv, of which those that the
 * query sees are set. */
struct attention_row {
    size_t b, h, first, last;
    double *weight;
    double lse, lse_tol;
    double error;     /* relative, of a weight */
    double largest_v; /* of the head; 0: of no effect */
};
void attention_row(const struct attention_ref *r, size_t b, size_t h, size_t i,
                   struct attention_row *row);
/* Its element in column c; *tol: its tolerance. */
double attention_expected(const struct attention_ref *r,
                          const struct attention_row *row, size_t c,
                          double *tol);

#endif
