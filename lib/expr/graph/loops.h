/* SPDX-License-Identifier: Apache-2.0 */
/* The loop nest of a group: normal form, and the form of kernel for it. */
#ifndef XL_EXPR_LOOPS_H
#define XL_EXPR_LOOPS_H

#include "expr/graph/group.h"

/* Normalises the loops of a group: removes loops of size 1, orders those of
 * the MAP form so that writes are contiguous, joins neighbouring loops, and
 * sets the operands' align. */
void xl__loops_normalize(const struct xl__signature *s, struct xl__group *g);

/* The form of kernel for a reduction of `reduced` elements to each of `kept`
 * results. reduced_inside: the innermost loop of most operands is reduced. */
enum xl__form xl__form_choose(const struct xl__limits *l, double kept,
                              double reduced, bool reduced_inside);

#endif
