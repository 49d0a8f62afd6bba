/* SPDX-License-Identifier: Apache-2.0 */
/* Norms, for their variants. The canonical descriptor is an xl_norm in which
 *   the offset of each view is the alignment of its rows in bytes:
 *                 xl__row_view();
 *   mem.svm       of an optional view is not NULL when it is given, and that
 *                 of dst when a result is the very view of an operand;
 *   eps           is 1. */
#ifndef XL_OPS_NORM_H
#define XL_OPS_NORM_H

#include <crosslane/norm.h>

#include "ops/normalization/row_op.h"

enum {
    XL__NORM_SRC,
    XL__NORM_DST,
    XL__NORM_RESIDUAL,
    XL__NORM_SUM,
    XL__NORM_GAIN, /* scale */
    XL__NORM_BIAS,
    XL__NORM_N_VIEWS
};

/* A view of a norm. */
struct xl__norm_view {
    const char *name;
    size_t at; /* in xl_norm */
    bool is_optional, is_result, is_row;
    unsigned mem, offset; /* call slots */
};
extern const struct xl__norm_view xl__norm_views[XL__NORM_N_VIEWS];
/* Views of a descriptor. */
const xl_mat *xl__norm_view(const xl_norm *n, unsigned view);
xl_mat *xl__norm_view_of(xl_norm *n, unsigned view);
/* Whether a canonical descriptor has it. */
bool xl__norm_has(const xl_norm *canonical, unsigned view);

/* Append the arguments that every norm kernel begins with, and its -D's for
 * accesses of vw elements: NORM_PARAMS of normalization/norm.clh. */
void xl__norm_args(struct xl__step *step, const void *canonical);
void xl__norm_defines(struct xl__step *step, const void *canonical, size_t vw);
double xl__norm_flop(const xl_norm *canonical);
/* Of what is read, or of what is written, of all rows. */
double xl__norm_bytes(const xl_norm *canonical, bool is_written);

/* norm_selfcheck.c: members of xl__op_norm. */
void xl__norm_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small);
xl_status xl__norm_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_norm;

/* Its variants, one a file. */
extern const struct xl__variant xl__norm_ref, xl__norm_online;

/* norm_online's plan for another op, whose self-check case has rows of another
 * length. */
xl_status xl__norm_plan_any_length(const struct xl__limits *l,
                                   const xl_norm *n,
                                   const struct xl__params *params,
                                   struct xl__plan *p);

/* Call slots of norms' plans besides those of every op over rows, whose
 * `added` is the residual and whose scale is 1. */
enum {
    XL__NORM_MEM_GAIN = XL__ROWS_OWN_MEM,
    XL__NORM_MEM_BIAS,
    XL__NORM_MEM_SUM
};
enum {
    XL__NORM_OFF_GAIN = XL__ROWS_OWN_VALUE,
    XL__NORM_OFF_BIAS,
    XL__NORM_OFF_SUM,
    XL__NORM_EPS
};

#endif
