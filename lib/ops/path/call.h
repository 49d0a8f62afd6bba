/* SPDX-License-Identifier: Apache-2.0 */
/* One call of an op, from its descriptor on: what op.c and explain.c share. */
#ifndef XL_OPS_CALL_H
#define XL_OPS_CALL_H

#include "ops/path/op.h"

enum { XL__NAME_CAP = 32, XL__DESC_CAP = 512, XL__WHY_CAP = 192 };

/* What a ready plan is found by. The name is copied: two callers' pointers to
 * one name are one key. */
struct xl__op_key {
    char forced[XL__NAME_CAP]; /* "": the best */
    uint64_t op;
    uint64_t canonical[XL__DESC_CAP / sizeof(uint64_t)];
};

struct xl__op_call {
    xl_queue *q;
    const struct xl__op *op;
    const void *desc;
    struct xl__op_key key;
    size_t key_bytes;
    struct xl__call call;
    struct xl__candidate *list; /* NULL until selected */
    unsigned n;
    char (*why)[XL__WHY_CAP]; /* per candidate, why it was struck; NULL */
};

/* NULL: the best. */
const char *xl__op_call_forced(const struct xl__op_call *w);
/* Check and bind. */
xl_status xl__op_call_begin(struct xl__op_call *w, xl_queue *q,
                            const struct xl__op *op, const void *desc,
                            bool with_memory);
/* Plan all candidates. */
xl_status xl__op_call_select(struct xl__op_call *w);
/* The first candidate that builds and agrees with the host; *chosen its place
 * in the list. The caller clears and frees *out. */
xl_status xl__op_call_first_good(struct xl__op_call *w,
                                 struct xl__cached_plan **out,
                                 unsigned *chosen);
/* After begin, whatever came of it. */
void xl__op_call_end(struct xl__op_call *w);

#endif
