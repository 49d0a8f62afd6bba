/* SPDX-License-Identifier: Apache-2.0 */
/* A group with a graph of its own, whose nodes have canonical numbers. */
#ifndef XL_OPS_EXPRESSION_CANONICAL_GROUP_H
#define XL_OPS_EXPRESSION_CANONICAL_GROUP_H

#include "expr/graph/group.h"

struct xl__canonical_group {
    struct xl__graph g; /* only the nodes that the group uses */
    struct xl__group group;
};

/* Copies the group `from` of graph g with the nodes that it uses, numbered in
 * the order in which the group uses them. Borrows from->why. The caller clears
 * *out, whatever the status. Errors: XL_NO_MEMORY. */
xl_status xl__canonical_group_init(const struct xl__graph *g,
                                   const struct xl__group *from,
                                   struct xl__canonical_group *out);
void xl__canonical_group_clear(struct xl__canonical_group *c);

#endif
