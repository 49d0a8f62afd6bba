/* SPDX-License-Identifier: Apache-2.0 */
/* An expression and one call of it.
 *
 *     arguments -> key -> cached plan -> launch
 *                     \-> (first call) graph -> schedules -> programs,
 *                          self-check -> plan
 */
#ifndef XL_EXPR_EXPR_H
#define XL_EXPR_EXPR_H

#include "base/hash.h"
#include "expr/language/tree.h"
#include "runtime/launch.h"

/* Immutable once it is compiled. */
struct xl_expr {
    struct xl__tree tree;
    unsigned char id[XL__HASH128_BYTES]; /* of the tree: equal expressions
                                            share plans */
    unsigned *assigned; /* distinct names of the tree that are assigned */
    unsigned n_assigned;
};

/* The key of a plan in the cache; only the bound part of `sig` counts. */
struct xl__expr_key {
    char variant[XL_EXPR_MAX_NAME + 1]; /* "": the best */
    uint64_t kind;                      /* tells it from the ops' keys */
    unsigned char id[XL__HASH128_BYTES];
    struct xl__signature sig;
};

struct xl__expr_call {
    xl_queue *q;
    const xl_expr *e;
    const xl_expr_args *args;
    struct xl__expr_key key;
    size_t key_bytes;
    struct xl__call call;
};

#endif
