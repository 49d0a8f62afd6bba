/* SPDX-License-Identifier: Apache-2.0 */
/* Variances: from a formula to the VAR operation, and back for short rows. */
#ifndef XL_EXPR_VARIANCE_H
#define XL_EXPR_VARIANCE_H

#include "device/facts.h"
#include "expr/graph/graph.h"

/* A rule of algebra.c: when `spec` is sum((x - mean(x))^2) or
 * mean((x - mean(x))^2), *out is the same value by VAR. Returns and *out as
 * those of xl__graph_simplify(). */
bool xl__match_variance(struct xl__graph *g, const struct xl__node *spec,
                        unsigned *out);

/* Copies a graph; VAR and LOGSUMEXP over short rows become two sweeps. Errors:
 * XL_NO_MEMORY, also when the copy would have more than XL_EXPR_MAX_NODES. The
 * caller clears *out, whatever the status. */
xl_status xl__graph_expand_variance(const struct xl__graph *from,
                                    const struct xl__limits *l,
                                    struct xl__graph *out);

#endif
