/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and its inverse, for their variants. */
#ifndef XL_OPS_QCONVERT_H
#define XL_OPS_QCONVERT_H

#include <crosslane/qconvert.h>

#include "ops/quantised/qgemm.h"

/* All of one word, so that there is no padding. */
struct xl__qconvert_canonical {
    /* As a product of one row with w: a, row_stride_a and a_aligned are those
     * of x, which is n x k. */
    struct xl__qgemm_canonical of;
    size_t is_dequantise;
};

/* Call slots of its plans are those of the product, x in the place of A. */
enum { XL__QCONVERT_X = XL__QGEMM_A, XL__QCONVERT_OFF_X = XL__QGEMM_OFF_A };

/* Indices of tunables: units of a group. */
enum { XL__QCONVERT_WG };

/* The step of quantised/dequantise.cl, in groups of wg, with words of `word`
 * bytes; the caller adds the arguments of its result, dst, row stride and
 * offset. */
struct xl__step *xl__qmat_add_dequantise(const struct xl__qgemm_canonical *c,
                                         size_t wg, size_t word,
                                         struct xl__plan *p);

/* What variants share: the -D's and arguments of a kernel that quantises,
 * QUANTISE_PARAMS of quantised/encode.clh, the bytes of x and W, and how
 * results repeat. */
void xl__qconvert_add_source(struct xl__step *s,
                             const struct xl__qgemm_canonical *c);
double xl__qconvert_bytes(const struct xl__qgemm_canonical *c);
extern const char xl__qconvert_repeats[];

/* qconvert_selfcheck.c: members of xl__op_qconvert. */
void xl__qconvert_shrink(const void *canonical,
                         const struct xl__variant *variant,
                         const struct xl__params *params, void *small);
xl_status xl__qconvert_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_qconvert;
extern const struct xl__variant xl__qconvert_cpu, xl__qconvert_units,
    xl__qconvert_ref;

#endif
