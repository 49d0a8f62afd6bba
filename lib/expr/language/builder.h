/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that the public term calls (xl_term_...) have built. */
#ifndef XL_EXPR_BUILDER_H
#define XL_EXPR_BUILDER_H

#include "expr/language/tree.h"

/* The tree of `t`, owned by `t`. NULL, with the first error of the term calls
 * in `e`, when one of them failed or when nothing was assigned. A node can be
 * an argument of several nodes. */
const struct xl__tree *xl__terms_tree(const struct xl_terms *t,
                                      struct xl__error *e);

#endif
