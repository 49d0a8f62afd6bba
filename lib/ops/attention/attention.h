/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, for its variants. Operands are one list of views, so that checks,
 * arguments and self-check cases are loops over it. */
#ifndef XL_OPS_ATTENTION_H
#define XL_OPS_ATTENTION_H

#include <crosslane/attention.h>

#include "ops/path/op.h"
#include "runtime/epilogue.h"

/* Operands, in the order of the kernels' arguments, and the indices of their
 * strides. */
enum {
    XL__ATTENTION_Q,
    XL__ATTENTION_K,
    XL__ATTENTION_V,
    XL__ATTENTION_O,
    XL__ATTENTION_LSE, /* optional from here on */
    XL__ATTENTION_MASK,
    XL__ATTENTION_SLOPES,
    XL__ATTENTION_SINKS,
    XL__ATTENTION_K_SCALES, /* from here on not of every kernel */
    XL__ATTENTION_V_SCALES,
    XL__ATTENTION_Q_ROWS, /* the numbers of sequences */
    XL__ATTENTION_KV_ROWS,
    XL__ATTENTION_PAGES,
    XL__ATTENTION_N_VIEWS, /* of attention; its gradient has more */
    XL__ATTENTION_GRAD_O = XL__ATTENTION_N_VIEWS,
    XL__ATTENTION_GRAD_Q,
    XL__ATTENTION_GRAD_K,
    XL__ATTENTION_GRAD_V,
    XL__ATTENTION_ALL_VIEWS
};
enum { XL__HEADS_BATCH, XL__HEADS_HEAD, XL__HEADS_ROW, XL__HEADS_COL, XL__HEADS_DIMS };

/* Of `before` and `after`: no limit. Added to an index it does not overflow.
 */
#define XL__ATTENTION_ANY ((size_t)1 << 62)

/* Of sequences of unequal lengths; 0: of equal ones. */
struct xl__attention_rows {
    size_t kind, page_rows;
};

struct xl__attention_canonical {
    size_t n_batch, n_heads, n_kv_heads, n_q, n_kv, d_head;
    /* Query i sees keys from i + n_kv - n_q - before to i + n_kv - n_q + after:
     * causal and window as data. */
    size_t before, after;
    size_t has_cap, is_scale_negative;
    size_t accuracy; /* an xl_accuracy, full where it has no effect */
    struct xl__attention_rows q_rows, kv_rows;
    /* mem.svm is not NULL where it is there; offset is the alignment of its
     * rows in bytes; strides are complete, 1 along a column of size 1, else 0
     * along a dimension of size 1. */
    xl_heads view[XL__ATTENTION_ALL_VIEWS];
    const struct xl__epilogue_text *score; /* of the prologue; NULL: none */
};

/* Call slots of its plans. A gradient has no operands of a prologue, in whose
 * slots its views of XL__ATTENTION_N_VIEWS and more are. */
enum {
    XL__ATTENTION_MEM = 1, /* + XL__ATTENTION_Q, ... */
    XL__ATTENTION_OPERAND = XL__ATTENTION_MEM + XL__ATTENTION_N_VIEWS
};
enum {
    XL__ATTENTION_SCALE,
    XL__ATTENTION_CAP,
    XL__ATTENTION_END, /* + XL__ATTENTION_Q to XL__ATTENTION_O: of a block of
                          rows, the element that would begin the next row */
    XL__ATTENTION_OFF =
        XL__ATTENTION_END + XL__ATTENTION_O + 1, /* + ..._Q, ... */
    XL__ATTENTION_OPERAND_VALUE = XL__ATTENTION_OFF + XL__ATTENTION_N_VIEWS
};

/* Indices of the tunables of a tiled variant: rows and keys of a tile. */
enum { XL__ATTENTION_BQ, XL__ATTENTION_BK, XL__ATTENTION_TUNABLES };

static inline bool xl__attention_has(const struct xl__attention_canonical *c,
                                     unsigned view)
{
    return c->view[view].mem.svm != NULL;
}
/* Of k or v. */
bool xl__attention_has_scales(const struct xl__attention_canonical *c);
/* Is more done to a score than to scale it, before masks? */
static inline bool
xl__attention_has_score(const struct xl__attention_canonical *c)
{
    return c->score || c->has_cap ||
           xl__attention_has(c, XL__ATTENTION_MASK) ||
           xl__attention_has(c, XL__ATTENTION_SLOPES);
}
/* Of the gradient, not of the op itself. */
static inline bool
xl__attention_is_backward(const struct xl__attention_canonical *c)
{
    return xl__attention_has(c, XL__ATTENTION_GRAD_O);
}
/* Query heads that read one head of K and V. */
static inline size_t xl__attention_share(const struct xl__attention_canonical *c)
{
    return c->n_heads / c->n_kv_heads;
}
/* Sizes of an operand, by the indices of strides; where sequences are packed
 * or paged, as if all had the longest length. */
void xl__attention_sizes(const struct xl__attention_canonical *c,
                         unsigned view, size_t size[XL__HEADS_DIMS]);
/* Of a descriptor's operand in memory, where sequences may be packed or
 * paged. */
void xl__attention_memory_sizes(const xl_attention *a,
                                const struct xl__attention_canonical *c,
                                unsigned view, size_t size[XL__HEADS_DIMS]);
/* The strides of a view; false on overflow of dense ones. */
bool xl__heads_strides(const xl_heads *x, const size_t size[XL__HEADS_DIMS],
                       size_t stride[XL__HEADS_DIMS]);
/* The view of a canonical descriptor, of an operand of these sizes whose
 * memory is at `base`. */
void xl__heads_canonicalise(const xl_heads *from,
                            const size_t size[XL__HEADS_DIMS], size_t base,
                            xl_heads *to);
/* Sets the value XL__ATTENTION_END of an operand whose memory has these sizes
 * and strides, if there is one. Its offset is set. */
void xl__attention_set_end(struct xl__call *call, unsigned view,
                           const size_t size[XL__HEADS_DIMS],
                           const xl_heads *x);
/* Members of a descriptor, for the `keep` of an op; NULL is kept. */
void xl__heads_keep(struct xl__kept *k, const xl_heads **x);
void xl__sequences_keep(struct xl__kept *k, const xl_sequences **x);
/* The keys that query i sees are [*first, *last). */
void xl__attention_keys(const struct xl__attention_canonical *c, size_t i,
                        size_t *first, size_t *last);
/* Sizes and options of a checked descriptor, without its operands. */
void xl__attention_set_sizes(const xl_attention *a,
                             struct xl__attention_canonical *to);

void xl__attention_set_rows(const xl_sequences *from,
                            struct xl__attention_rows *to);

/* check.c: a view becomes an operand of the call on q; sequences of a kind of
 * at most `last`. */
xl_status xl__heads_add(xl_queue *q, const char *name, const xl_heads *x,
                        const size_t size[XL__HEADS_DIMS], bool is_written);
xl_status xl__sequences_check(const xl_sequences *rows, const char *name,
                              size_t last, struct xl__error *e);
/* Members of the two ops; names of the operands. */
xl_status xl__attention_check(xl_queue *q, const void *desc, bool with_memory);
xl_status xl__attention_backward_check(xl_queue *q, const void *desc,
                                       bool with_memory);
extern const char *const xl__attention_names[XL__ATTENTION_ALL_VIEWS];
/* The operand of a descriptor; NULL: it has none, or does not read it. */
const xl_heads *xl__attention_operand(const xl_attention *a, unsigned view);
bool xl__attention_is_result(unsigned view, bool is_backward);

/* selfcheck.c, backward_selfcheck.c: members of the two ops. */
void xl__attention_shrink(const void *canonical,
                          const struct xl__variant *variant,
                          const struct xl__params *params, void *small);
xl_status xl__attention_case_init(void *small, struct xl__selfcheck_case *t);
xl_status xl__attention_backward_case_init(void *small,
                                           struct xl__selfcheck_case *t);

/* -- for the variants ----------------------------------------------------- */

/* Append the arguments that every kernel begins with: ATTENTION_PARAMS of
 * attention/attention.clh; and its -D's. */
void xl__attention_args(struct xl__step *step,
                        const struct xl__attention_canonical *c);
void xl__attention_defines(struct xl__step *step,
                           const struct xl__attention_canonical *c);
/* A `struct lists` of attention/sequences.clh, of the numbers of q's and k's
 * sequences and the pages, whose offsets are the call's values from `value`
 * on. */
enum { XL__ATTENTION_LISTS = 3 };
void xl__attention_add_lists(struct xl__step *step, const xl_heads *list,
                             unsigned value, size_t page_rows);
/* ROWS_PARAMS of attention/sequences.clh. */
void xl__attention_add_rows(struct xl__step *step,
                            const struct xl__attention_canonical *c);
/* SCORE_PARAMS of attention/nvidia/wgmma.cl. */
void xl__attention_add_score(struct xl__step *step,
                             const struct xl__attention_canonical *c);
/* backward.c: the same of the gradients' kernels: BACKWARD_PARAMS of
 * attention/backward.clh. */
void xl__attention_backward_args(struct xl__step *step,
                                 const struct xl__attention_canonical *c);
/* Pairs of a query and a key that it sees, over all heads; operations of
 * these; bytes of all operands, once. */
double xl__attention_pairs(const struct xl__attention_canonical *c);
double xl__attention_flop(const struct xl__attention_canonical *c);
double xl__attention_bytes(const struct xl__attention_canonical *c);
/* NULL, or why a variant whose k and v are of the type of q refuses; one whose
 * sequences are of one length besides. */
const char *xl__attention_needs_type(const struct xl__attention_canonical *c);
const char *xl__attention_needs_equal(const struct xl__attention_canonical *c);
/* Likewise of one whose sequences may be of unequal lengths, not paged. */
const char *xl__attention_needs_lines(const struct xl__attention_canonical *c);
/* NULL, or why a variant with vector accesses along columns refuses. */
const char *xl__attention_needs_rows(const struct xl__attention_canonical *c);

/* join.c, of variants whose groups divide the keys into parts: as many as take
 * no more memory than a copy of k and v; bytes of scratch memory that they
 * take; the last arguments of the step that makes them; the step that joins
 * them. */
size_t xl__attention_most_parts(const struct xl__attention_canonical *c);
size_t xl__attention_parts_bytes(const struct xl__attention_canonical *c,
                                 size_t parts);
void xl__attention_parts_args(struct xl__step *step, size_t parts);
void xl__attention_join(const struct xl__limits *l,
                        const struct xl__attention_canonical *c, size_t parts,
                        struct xl__plan *p);

extern const struct xl__op xl__op_attention, xl__op_attention_backward;

/* The i-th set of tunables of attention_mma on a matrix instruction; false:
 * past the last. */
bool xl__attention_mma_listed(const xl_matrix_op *op, size_t i,
                              struct xl__params *out);
/* Likewise of attention_dpas. */
bool xl__attention_dpas_listed(const xl_matrix_op *op, size_t i,
                               struct xl__params *out);
/* Likewise of attention_backward_mma. */
bool xl__attention_backward_mma_listed(size_t i, struct xl__params *out);

/* Its variants, one a file. */
extern const struct xl__variant xl__attention_cpu, xl__attention_dpas,
    xl__attention_flash, xl__attention_mma, xl__attention_mma_split,
    xl__attention_mma_terms, xl__attention_ref, xl__attention_split,
    xl__attention_wgmma;
extern const struct xl__variant xl__attention_backward_flash,
    xl__attention_backward_mma, xl__attention_backward_ref,
    xl__attention_backward_wgmma;

#endif
