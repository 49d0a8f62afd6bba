/* SPDX-License-Identifier: Apache-2.0 */
/* Between reduce_turn.c and reduce_fold.c: what of a turn is folded. */
#ifndef XL_EXPR_REDUCE_TURN_H
#define XL_EXPR_REDUCE_TURN_H

#include "expr/codegen/reductions.h"

/* bN = what state N folds of a vector, and k its elements' places. */
void xl__reduce_put(struct xl__reducing *r, const struct xl__turn *t);
/* All of the turn, or of a block, into the states. */
void xl__reduce_fold(struct xl__reducing *r, const struct xl__turn *t);
bool xl__reduce_wants_place(const struct xl__reducing *r, unsigned s);

/* A single vector, which needs no arrays. */
static inline bool xl__turn_is_alone(const struct xl__turn *t)
{
    return t->n == 1 && !t->mine;
}

/* The index of arrays that last for the turn, or for a block of it. */
static inline const char *xl__turn_index(const struct xl__turn *t)
{
    return t->block ? "w" : "u";
}

#endif
