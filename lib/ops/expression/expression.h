/* SPDX-License-Identifier: Apache-2.0 */
/* An expression and one call of it.
 *
 *     arguments -> key -> cached plan -> launch
 *                     \-> (first call) graph -> schedules -> programs,
 *                          self-check -> plan
 */
#ifndef XL_OPS_EXPRESSION_H
#define XL_OPS_EXPRESSION_H

#include "base/hash.h"
#include "expr/language/tree.h"
#include "runtime/launch.h"

/* Immutable once it is compiled. */
struct xl_expr {
    struct xl__tree tree;
    unsigned char id[XL__HASH128_BYTES]; /* hash of the tree: equal expressions
                                            share plans */
    unsigned *assigned; /* indices of the names that are assigned, each once */
    unsigned n_assigned;
};

/* The key of a plan in the cache. Only the first sig.n parameters of `sig`
 * count. */
struct xl__expr_key {
    char variant[XL_EXPR_MAX_NAME + 1]; /* "": the best one */
    uint64_t kind;                      /* distinguishes it from the keys of
                                           operations */
    unsigned char id[XL__HASH128_BYTES];
    struct xl__signature sig;
};

/* One call. q, e and args are set by the caller, the rest by
 * xl__expr_read_args(). */
struct xl__expr_call {
    xl_queue *q;
    const xl_expr *e;
    const xl_expr_args *args;
    struct xl__expr_key key;
    size_t key_bytes;
    struct xl__call call;
};

#endif
