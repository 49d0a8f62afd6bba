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

#include "ops/path/op.h"
#include "runtime/epilogue.h"

struct xl__softmax_canonical {
    xl_softmax s; /* first member, so that this is a valid xl_softmax too */
    const struct xl__epilogue_text *hook[XL__N_HOOKS]; /* NULL: none */
};

/* The forms of softmax_online; -DMODE of the kernels. */
enum {
    XL__SOFTMAX_HELD = 1, /* a row in the registers of a work-group */
    XL__SOFTMAX_SHARED,   /* a row in the registers of several */
    XL__SOFTMAX_SPLIT,    /* chunks, in two launches */
    XL__SOFTMAX_ROWS,     /* one item, a row in its core's cache */
    XL__SOFTMAX_LONG,     /* one item, two sweeps over a row */
    XL__SOFTMAX_PIECES    /* one item, chunks, in two launches */
};

/* Indices of softmax_online's tunables. */
enum {
    XL__SOFTMAX_MODE,
    XL__SOFTMAX_WG,
    XL__SOFTMAX_LANES,
    XL__SOFTMAX_N_HELD,
    XL__SOFTMAX_VW,
    XL__SOFTMAX_STREAM
};

/* Values of the last one: results are stored through the caches, or past them.
 */
enum { XL__SOFTMAX_THROUGH = 1, XL__SOFTMAX_PAST };

enum { XL__SOFTMAX_ROW_MAX = 16384 }; /* columns of XL__SOFTMAX_ROWS */
/* Elements that the kernels count in 32 bits. */
#define XL__SOFTMAX_MOST_ELEMS ((size_t)1 << 31)

bool xl__softmax_has_mask(const xl_softmax *canonical);
/* Append the arguments that every softmax kernel begins with: ROW_PARAMS of
 * normalization/softmax.clh. canonical: of a struct xl__softmax_canonical, as
 * below. */
void xl__softmax_args(struct xl__step *step, const xl_softmax *canonical);
/* -D's of normalization/softmax.clh for accesses of vw elements. */
void xl__softmax_defines(struct xl__step *step, const xl_softmax *canonical,
                         size_t vw);
/* Operations, with those of prologue and epilogue. */
double xl__softmax_flop(const xl_softmax *canonical);
/* Of so many reads of src and one write of dst. */
double xl__softmax_bytes(const xl_softmax *s, double reads);
/* NULL, or the reason why no variant supports these types here. */
const char *xl__softmax_refuses(const struct xl__limits *l,
                                const xl_softmax *canonical);
/* Largest work-group in one dimension, a power of two, at most 1024. */
size_t xl__softmax_most_items(const struct xl__limits *l);

/* softmax_online.c: the tunables and the model's choice. */
extern const struct xl__tunable xl__softmax_tunables[];

/* softmax_selfcheck.c: members of xl__op_softmax. */
void xl__softmax_shrink(const void *canonical,
                        const struct xl__variant *variant,
                        const struct xl__params *params, void *small);
xl_status xl__softmax_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_softmax;

/* Its variants, one a file. */
extern const struct xl__variant xl__softmax_ref, xl__softmax_online;

/* Call slots of softmax's plans: operands of the prologue, then of the
 * epilogue. */
enum {
    XL__SOFTMAX_SRC = 1,
    XL__SOFTMAX_DST,
    XL__SOFTMAX_MASK,
    XL__SOFTMAX_OPERAND
};
enum {
    XL__SOFTMAX_SCALE,
    XL__SOFTMAX_OFF_SRC,
    XL__SOFTMAX_OFF_DST,
    XL__SOFTMAX_OFF_MASK,
    XL__SOFTMAX_OPERAND_VALUE
};

#endif
