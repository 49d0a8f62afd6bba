/* SPDX-License-Identifier: Apache-2.0 */
/* One call of an expression, from its arguments on: what expr*.c share.
 *
 * arguments -> signature -> ready plan, found by its key; the first time:
 * graph, schedules, build, self-check. */
#ifndef XL_EXPR_RUN_H
#define XL_EXPR_RUN_H

#include "base/hash.h"
#include "expr/graph/group.h"
#include "expr/language/tree.h"
#include "runtime/launch.h"

enum { XL__EXPR_VARIANTS = 2, XL__EXPR_WHY = 192 };

/* Immutable. */
struct xl_expr {
    struct xl__tree tree;
    unsigned char id[XL__HASH128_BYTES]; /* of the tree: equal expressions
                                            share plans */
    unsigned *assigned; /* distinct names of the tree that are assigned */
    unsigned n_assigned;
};

/* What a ready plan is found by; only the bound part of `sig` counts. */
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

/* expr_args.c: the key and the slots; checks what may differ between calls of
 * one key: memory, offsets, scalars (when `with_memory`). */
xl_status xl__expr_begin(struct xl__expr_call *c, bool with_memory);
/* expr_check.c: the rest, what the key itself says. */
xl_status xl__expr_check_key(const struct xl__expr_call *c);
/* Of one binding: sizes, strides and offset. */
xl_status xl__expr_check_view(const struct xl__expr_call *c, unsigned i);
/* One past the last byte, from the start of the memory; false on overflow. */
bool xl__expr_end_byte(const struct xl__param *b, size_t offset,
                       size_t *bytes);
bool xl__expr_is_written(const struct xl__expr_call *c, unsigned i);
/* The caller's scratch memory, if any: long enough and apart. */
xl_status xl__expr_check_workspace(struct xl__expr_call *c, size_t bytes);
/* expr_overlap.c: no two elements of a written view at one place. */
bool xl__expr_meets_itself(const struct xl__param *b);

/* Where a binding's elements lie: from byte `begin` of `root` to `end`. */
struct xl__byte_range {
    const void *root; /* NULL: SVM */
    size_t begin, end;
    size_t elem;
};
/* Have the views no byte in common? Of views that interleave it is asked
 * whether their windows differ modulo a common pitch. */
bool xl__expr_are_apart(const struct xl__param *a,
                        const struct xl__byte_range *at,
                        const struct xl__param *b,
                        const struct xl__byte_range *bt);

/* -- expr_plan.c ---------------------------------------------------------- */

struct xl__expr_candidate {
    const char *name;
    bool is_refused;
    struct xl__graph g;
    struct xl__schedule s;
    char why[XL__EXPR_WHY]; /* refused, or struck */
};

struct xl__expr_plans {
    struct xl__expr_candidate c[XL__EXPR_VARIANTS]; /* best first, the refused
                                                       last */
    unsigned n;
};

/* Infer and plan the variants, or the one that was named. */
xl_status xl__expr_plan(struct xl__expr_call *c, struct xl__expr_plans *out);
void xl__expr_plans_clear(struct xl__expr_plans *p);
/* The first candidate that builds and agrees with the host, as a chain of
 * ready plans; *chosen its place. The caller clears and frees *out. */
xl_status xl__expr_first_good(struct xl__expr_call *c,
                              struct xl__expr_plans *p,
                              struct xl__ready **out, unsigned *chosen);
/* expr_local.c: a group with the nodes that it touches alone, numbered as it
 * meets them. Borrows from->why; clear it whatever the status. */
struct xl__local {
    struct xl__graph g;
    struct xl__group group;
};
xl_status xl__expr_localise(const struct xl__graph *g,
                            const struct xl__group *from,
                            struct xl__local *out);
void xl__local_clear(struct xl__local *l);

/* The ready plan of a call: from the queue's table, or made now. */
xl_status xl__expr_ready(struct xl__expr_call *c, struct xl__ready **out);

/* expr_trial.c: has this group's program agreed with the host once? Runs a
 * small case of the same structure if nobody knows yet. */
xl_status xl__expr_trial(struct xl__expr_call *c, const struct xl__local *l,
                         const struct xl__schedule *s,
                         const struct xl__ready *ready, bool *trusted,
                         char why[XL__EXPR_WHY]);

#endif
