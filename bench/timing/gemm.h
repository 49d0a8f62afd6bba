/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a timed GEMM's operands: rows and leading dimensions as
 * stored. */
#ifndef CLBENCH_OP_GEMM_H
#define CLBENCH_OP_GEMM_H

#include "timing/run_cases.h"

enum { A, B, C };

static inline size_t rows_a(const struct gemm_case *c)
{
    return c->trans & 1 ? c->k : c->m;
}
/* Matrices that lie side by side, and rows of them. */
static inline size_t n_heads(const struct gemm_case *c)
{
    return c->batch.heads ? c->batch.heads : 1;
}
static inline size_t n_rows(const struct gemm_case *c)
{
    return c->batch.count ? c->batch.count : 1;
}
static inline size_t width_a(const struct gemm_case *c)
{
    return c->trans & 1 ? c->m : c->k;
}
static inline size_t ld_a(const struct gemm_case *c)
{
    return width_a(c) * n_heads(c) + c->pad_a;
}
static inline size_t rows_b(const struct gemm_case *c)
{
    return c->trans & 2 ? c->n : c->k;
}
static inline size_t width_b(const struct gemm_case *c)
{
    return c->trans & 2 ? c->k : c->n;
}
static inline size_t ld_b(const struct gemm_case *c)
{
    return width_b(c) * n_heads(c) + c->pad_b;
}
static inline size_t ld_c(const struct gemm_case *c)
{
    return c->n * n_heads(c) + c->pad_c;
}

static inline size_t n_products(const struct gemm_case *c)
{
    return n_rows(c) * n_heads(c);
}

/* What products with quantised weights share with the conversion of these:
 * fill input i, in the order of their operands; a case of the command line;
 * whether a row of a table belongs to the run; the parameters of its groups. */
void qgemm_fill(const void *c, unsigned i, void *host, struct xl__rng *rng);
bool qgemm_init(const struct settings *set, const char *word,
                const size_t mnk[3], struct qgemm_case *c, char *why,
                size_t why_cap);
void qgemm_describe_groups(const struct qgemm_case *c, xl_row *row);
bool qgemm_is_selected(const struct session *s, const struct qgemm_case *row);

#endif
