/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients over rows, of softmax and norms: one canonical descriptor, whose
 * variants are those of both ops. */
#ifndef XL_OPS_ROW_BACKWARD_H
#define XL_OPS_ROW_BACKWARD_H

#include "ops/normalization/norm.h"
#include "ops/normalization/softmax.h"

enum xl__backward_kind {
    XL__BACKWARD_SOFTMAX,
    XL__BACKWARD_LOG,
    XL__BACKWARD_LAYER,
    XL__BACKWARD_RMS
};

enum {
    XL__BACKWARD_SRC,
    XL__BACKWARD_GRAD,
    XL__BACKWARD_DST,
    XL__BACKWARD_GAIN, /* optional, as those that follow; a norm's scale */
    XL__BACKWARD_TO_GAIN,
    XL__BACKWARD_TO_BIAS,
    XL__BACKWARD_N_VIEWS
};

/* The offset of a view is the alignment of its rows in bytes, xl__row_view();
 * mem.svm is not NULL where it is there. */
struct xl__row_backward {
    size_t rows, cols;
    size_t kind;        /* enum xl__backward_kind */
    size_t is_in_place; /* dst is the very view of an operand */
    xl_mat view[XL__BACKWARD_N_VIEWS];
};

/* Call slots besides those of norms, whose `added` is the gradient of the
 * result. */
enum {
    XL__BACKWARD_MEM_TO_GAIN = XL__NORM_MEM_SUM + 1,
    XL__BACKWARD_MEM_TO_BIAS
};
enum { XL__BACKWARD_OFF_TO_GAIN = XL__NORM_EPS + 1, XL__BACKWARD_OFF_TO_BIAS };

/* A view's call slots, and what it is. */
struct xl__backward_view {
    unsigned mem, offset;
    bool is_result, is_row;
};
extern const struct xl__backward_view xl__backward_views[XL__BACKWARD_N_VIEWS];

static inline bool xl__backward_has(const struct xl__row_backward *c,
                                    unsigned view)
{
    return c->view[view].mem.svm != NULL;
}
static inline bool xl__backward_is_norm(const struct xl__row_backward *c)
{
    return c->kind >= XL__BACKWARD_LAYER;
}
static inline bool xl__backward_has_columns(const struct xl__row_backward *c)
{
    return xl__backward_has(c, XL__BACKWARD_TO_GAIN) ||
           xl__backward_has(c, XL__BACKWARD_TO_BIAS);
}

/* -- for both ops ---------------------------------------------------------
 */

/* The views of a descriptor, by number; NULL: it has none. */
typedef const xl_mat *xl__backward_list[XL__BACKWARD_N_VIEWS];

/* Checks those that are there; names are those of the descriptor. */
xl_status xl__backward_check(xl_queue *q, const xl__backward_list views,
                             const char *const names[XL__BACKWARD_N_VIEWS],
                             size_t rows, size_t cols, bool with_memory);
/* Sets `to`, and of the call memory and offsets. */
void xl__backward_bind(xl_queue *q, const xl__backward_list views, size_t rows,
                       size_t cols, enum xl__backward_kind kind,
                       struct xl__row_backward *to, struct xl__call *call);

/* Members of both ops. */
void xl__backward_describe(const void *canonical, struct xl__str *out);
void xl__backward_represent(const void *canonical, enum xl__class_end end,
                            void *representative);
bool xl__backward_halve(void *canonical);
/* row_backward_selfcheck.c: likewise. */
void xl__backward_shrink(const void *canonical,
                         const struct xl__variant *variant,
                         const struct xl__params *params, void *small);
xl_status xl__backward_case_init(void *small, struct xl__selfcheck_case *t);

/* -- for the variants ----------------------------------------------------- */

void xl__backward_args(struct xl__step *step, const void *canonical);
void xl__backward_defines(struct xl__step *step, const void *canonical,
                          size_t vw);
double xl__backward_flop(const struct xl__row_backward *c);
double xl__backward_bytes(const struct xl__row_backward *c, bool is_written);
/* Appends the sums over columns, if they are asked for, to a plan whose steps
 * keep what they need of each row behind its scratch memory. */
void xl__backward_add_columns(const struct xl__limits *l,
                              const struct xl__row_backward *c, size_t vw,
                              bool is_by_items, struct xl__plan *p);

extern const struct xl__variant xl__norm_backward_online,
    xl__norm_backward_ref, xl__softmax_backward_online,
    xl__softmax_backward_ref;
extern const struct xl__op xl__op_norm_backward, xl__op_softmax_backward;

#endif
