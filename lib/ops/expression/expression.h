/* SPDX-License-Identifier: Apache-2.0 */
/* An expression as an op: ops/path/op.h has the path of a call, which is the
 * same as that of all ops. Its canonical descriptor is the expression's id and
 * the signature of the call; its variants are graphs that are grouped into
 * kernels in two ways. */
#ifndef XL_OPS_EXPRESSION_H
#define XL_OPS_EXPRESSION_H

#include "base/hash.h"
#include "expr/codegen/forms.h"
#include "expr/language/tree.h"
#include "ops/expression/canonical_group.h"
#include "ops/path/op.h"

/* Immutable once it is compiled. */
struct xl_expr {
    struct xl__tree tree;
    unsigned char id[XL__HASH128_BYTES]; /* hash of the tree: equal expressions
                                            share plans */
    unsigned *assigned; /* indices of the names that are assigned, each once */
    unsigned n_assigned;
};

/* The descriptor of a call. */
struct xl__expr_desc {
    const xl_expr *e;
    const xl_expr_args *args;
};

/* Only the first sig.n parameters of `sig` are there. */
struct xl__expr_canonical {
    unsigned char id[XL__HASH128_BYTES];
    struct xl__signature sig;
};

/* One kernel of a variant, or two. */
struct xl__generated_group {
    struct xl__canonical_group own;
    struct xl__code code;
};

/* What the plans of a candidate are made of, one group each: `own` of the
 * first plan. */
struct xl__expr_schedule {
    struct xl__graph g;
    struct xl__schedule s;
    struct xl__generated_group *kernels; /* s.n_groups */
};

/* A call whose arguments are of other headers. */
struct xl__expr_desc_copy {
    struct xl__expr_desc desc;
    xl_expr_args args;
};

extern const struct xl__op xl__op_expr;
extern const struct xl__variant *const xl__expr_variants[];

/* arguments.c, plan.c, selfcheck.c: members of xl__op_expr. */
const void *xl__expr_read(const void *given, void *full, struct xl__error *e);
xl_status xl__expr_check(xl_queue *q, const void *desc, bool with_memory);
size_t xl__expr_listed_bytes(const void *desc);
xl_status xl__expr_bind(xl_queue *q, const void *desc, void *canonical,
                        struct xl__call *call);
xl_status xl__expr_analyse(struct xl__op_call *w);
void xl__expr_clear_analysis(void *own);
xl_status xl__expr_plan(struct xl__op_call *w, struct xl__variant_candidate *c,
                        struct xl__error *why);
xl_status xl__expr_make_case(const void *canonical,
                             const struct xl__variant_candidate *c, unsigned i,
                             const struct xl__limits *l,
                             struct xl__selfcheck_case *t,
                             struct xl__plan *plan);

/* kernel_texts.c: xl__group_plan() of a canonical group. *texts keeps the texts
 * of the 256 structures used last, of one device: of a structure that it has
 * they are copied to *code. Errors: those of xl__group_plan(). */
xl_status xl__expr_plan_group(struct xl__lru *texts,
                              const struct xl__canonical_group *c,
                              const struct xl__limits *l,
                              const struct xl__schedule *s,
                              struct xl__code *code, struct xl__plan *plan);

/* arguments.c: checks what the canonical descriptor of a call on q states:
 * names, types, shapes and strides. Done when a plan is made, not for a cached
 * one. */
xl_status xl__expr_check_signature(xl_queue *q, const struct xl__signature *s);

/* selfcheck.c: shrinks a group for its self-check: one of the same structure,
 * thus of the same program, with sizes just above one work-group or tile.
 * Borrows from->value. */
void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to);

#endif
