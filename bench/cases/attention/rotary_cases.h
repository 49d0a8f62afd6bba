/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of the rotary embedding with the append to the cache, and its
 * reference on the host. A case has the sizes, sequences and caches of the
 * attention that reads them. */
#ifndef CLBENCH_CASES_ROTARY_CASES_H
#define CLBENCH_CASES_ROTARY_CASES_H

#include <crosslane/rotary.h>

#include "cases/attention/attention_cases.h"

enum rotary_operand {
    ROTARY_Q,
    ROTARY_K,
    ROTARY_V,
    ROTARY_Q_OUT,
    ROTARY_K_CACHE,
    ROTARY_V_CACHE,
    ROTARY_K_SCALES,
    ROTARY_V_SCALES,
    ROTARY_Q_ROWS,
    ROTARY_KV_ROWS,
    ROTARY_PAGES,
    ROTARY_FACTORS,
    ROTARY_Q_NORM,
    ROTARY_K_NORM,
    ROTARY_OPERANDS
};

struct rotary_case {
    struct attention_case a; /* cache: type of the caches; WITH_SCALES */
    size_t d_rotary;         /* 0: d */
    xl_rotary_pairs pairs;
    double base, scale, magnitude; /* 0: default */
    bool has_factors;
    bool has_norm;  /* of q and k */
    bool no_values; /* without v */
    bool in_place;  /* q_out is q */
};

extern const struct rotary_case rotary_cases[]; /* NULL name last */
extern const char *const rotary_names[ROTARY_OPERANDS];

bool rotary_has(const struct rotary_case *c, enum rotary_operand x);
static inline bool rotary_is_result(enum rotary_operand x)
{
    return x >= ROTARY_Q_OUT && x <= ROTARY_V_SCALES;
}
/* An operand as a matrix, and the row of it that has token i, or row i of the
 * cache, of head h. */
struct attention_lines rotary_lines(const struct rotary_case *c,
                                    enum rotary_operand x);
size_t rotary_line(const struct rotary_case *c, enum rotary_operand x,
                   size_t b, size_t h, size_t i);
/* An element of the numbers of sequences and pages. */
double rotary_number(const struct rotary_case *c, enum rotary_operand x,
                     size_t i, size_t j);
/* Bytes that a call reads and writes. */
double rotary_bytes(const struct rotary_case *c);

/* A call, with what its descriptor points to; such memory. */
struct rotary_call {
    xl_rotary r;
    struct attention_call cache, tokens;
    xl_heads factors, q_norm, k_norm;
};
struct rotary_memory {
    cl_mem mem[ROTARY_OPERANDS];
    size_t first[ROTARY_OPERANDS], ld[ROTARY_OPERANDS];
};
/* *call must stay where it is. */
void rotary_call_init(struct rotary_call *call, const struct rotary_case *c,
                      const struct rotary_memory *at, const char *variant);

/* A case's memory on the host. */
struct rotary_ref {
    const struct rotary_case *c;
    struct ref_mat operand[ROTARY_OPERANDS];
};
/* What a token stores of a head of q, k or v: `value` and `tol` have room for
 * d numbers; of i8 and f8e4m3 these are codes. */
struct rotary_row {
    double *value, *tol;
    double scale, scale_tol;
};
/* The position of token i of sequence b; false: it is not stored. */
bool rotary_position(const struct rotary_case *c, size_t b, size_t i,
                     size_t *at);
void rotary_row(const struct rotary_ref *r, enum rotary_operand x, size_t b,
                size_t h, size_t i, struct rotary_row *row);

#endif
