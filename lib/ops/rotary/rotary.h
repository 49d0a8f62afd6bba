/* SPDX-License-Identifier: Apache-2.0 */
/* The rotary embedding with the append to the cache, for its variants. */
#ifndef XL_OPS_ROTARY_H
#define XL_OPS_ROTARY_H

#include <crosslane/rotary.h>

#include "ops/attention/attention.h"

/* Operands, in the order of the kernel's arguments. */
enum {
    XL__ROTARY_Q,
    XL__ROTARY_K,
    XL__ROTARY_V,
    XL__ROTARY_Q_OUT,
    XL__ROTARY_K_CACHE,
    XL__ROTARY_V_CACHE,
    XL__ROTARY_K_SCALES,
    XL__ROTARY_V_SCALES,
    XL__ROTARY_Q_ROWS,
    XL__ROTARY_KV_ROWS,
    XL__ROTARY_PAGES,
    XL__ROTARY_FACTORS,
    XL__ROTARY_Q_NORM,
    XL__ROTARY_K_NORM,
    XL__ROTARY_N_VIEWS
};

/* Views as in xl__attention_canonical. */
struct xl__rotary_canonical {
    size_t n_batch, n_heads, n_kv_heads, n_q, d_head, d_rotary, pairs;
    size_t n_kv; /* of a self-check case; of a call 0: it is a scalar */
    size_t is_wide; /* tokens times heads may exceed 2^31 */
    struct xl__attention_rows q_rows, kv_rows;
    xl_heads view[XL__ROTARY_N_VIEWS];
};

/* Powers of the ratio of two frequencies: its 2^i-th, i < XL__ROTARY_POWERS.
 */
enum { XL__ROTARY_POWERS = 7 };

/* Call slots of its plans. */
enum { XL__ROTARY_MEM = 1 /* + XL__ROTARY_Q, ... */ };
enum {
    XL__ROTARY_MAGNITUDE,
    XL__ROTARY_EPS,
    XL__ROTARY_N_KV,
    XL__ROTARY_RATE, /* turns of pair 0 from position to position, in 2^-64 */
    XL__ROTARY_POWER,
    XL__ROTARY_OFF = XL__ROTARY_POWER + XL__ROTARY_POWERS
};

/* Tunables of rotary_rows: heads of an item; items of a group, pairs of an
 * item and tokens of a group at most. */
enum { XL__ROTARY_RH, XL__ROTARY_WG, XL__ROTARY_VW, XL__ROTARY_TOKENS };

static inline bool xl__rotary_has(const struct xl__rotary_canonical *c,
                                  unsigned view)
{
    return c->view[view].mem.svm != NULL;
}
/* Heads of q, k and v of a token. */
static inline size_t xl__rotary_heads(const struct xl__rotary_canonical *c)
{
    return c->n_heads +
           c->n_kv_heads * (xl__rotary_has(c, XL__ROTARY_V) ? 2 : 1);
}
/* Whether a view has the rows of new tokens, of the cache. */
bool xl__rotary_is_of_q(unsigned view);
bool xl__rotary_is_of_kv(unsigned view);
bool xl__rotary_is_result(unsigned view);
extern const char *const xl__rotary_names[XL__ROTARY_N_VIEWS];
/* Sizes of an operand in memory, of sequences of n_kv keys. `q_total` and
 * `kv_total` are the rows and pages in memory of packed and paged ones; 0: as
 * if all had the longest length. */
void xl__rotary_sizes(const struct xl__rotary_canonical *c, unsigned view,
                      size_t n_kv, size_t q_total, size_t kv_total,
                      size_t size[XL__HEADS_DIMS]);
/* The values of a call by which the kernel computes angles. */
void xl__rotary_set_rates(double base, double scale, size_t d_rotary,
                          struct xl__call *call);

/* selfcheck.c: members of xl__op_rotary. */
void xl__rotary_shrink(const void *canonical,
                       const struct xl__variant *variant,
                       const struct xl__params *params, void *small);
xl_status xl__rotary_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_rotary;

/* rotary_rows.c: its variants. */
extern const struct xl__variant xl__rotary_rows, xl__rotary_ref;

#endif
