/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, for its variants. The canonical descriptor begins with an
 * xl_softmax in which
 *   src.offset, dst.offset, mask.offset   are the alignments of the rows in
 *                                         bytes: xl__mat_align();
 *   dst.mem.svm   is not NULL when dst is the very same view as src, or may
 *                 be that of an operand of the prologue;
 *   mask.mem.svm  is not NULL when there is a mask;
 *   scale         is 1;
 *   prologue, epilogue   are empty: `hook` describes them;
 *   a stride along a dimension of size 1 is legal for every kernel. */
#ifndef XL_OPS_SOFTMAX_H
#define XL_OPS_SOFTMAX_H

#include "ops/normalization/row_op.h"
#include "runtime/epilogue.h"

struct xl__softmax_canonical {
    xl_softmax s; /* first member, so that this is a valid xl_softmax too */
    const struct xl__epilogue_text *hook[XL__N_HOOKS]; /* NULL: none */
};

bool xl__softmax_has_mask(const xl_softmax *canonical);
/* Append the arguments that every softmax kernel begins with, and its -D's for
 * accesses of vw elements: ROW_PARAMS of normalization/row_access.clh.
 * canonical: a struct xl__softmax_canonical, as below. */
void xl__softmax_args(struct xl__step *step, const void *canonical);
void xl__softmax_defines(struct xl__step *step, const void *canonical,
                         size_t vw);
/* Operations, with those of prologue and epilogue. */
double xl__softmax_flop(const xl_softmax *canonical);
/* Of so many reads of src and one write of dst. */
double xl__softmax_bytes(const xl_softmax *s, double reads);
/* NULL, or the reason why no variant supports these types here. */
const char *xl__softmax_refuses(const struct xl__limits *l,
                                const xl_softmax *canonical);
/* softmax_selfcheck.c: members of xl__op_softmax. */
void xl__softmax_shrink(const void *canonical,
                        const struct xl__variant *variant,
                        const struct xl__params *params, void *small);
xl_status xl__softmax_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_softmax;

/* Its variants, one a file. */
extern const struct xl__variant xl__softmax_ref, xl__softmax_online;

/* Call slots of softmax's plans besides those of every op over rows, whose
 * `added` is the mask: operands of the prologue, then of the epilogue. */
enum { XL__SOFTMAX_OPERAND = XL__ROWS_OWN_MEM };
enum { XL__SOFTMAX_OPERAND_VALUE = XL__ROWS_OWN_VALUE };

#endif
