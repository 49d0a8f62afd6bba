/* SPDX-License-Identifier: Apache-2.0 */
/* Views of computed values: stored, or computed again in other places. */
#ifndef XL_EXPR_VIEWS_H
#define XL_EXPR_VIEWS_H

#include "base/str.h"
#include "device/facts.h"
#include "expr/graph/graph.h"

bool xl__graph_has_views(const struct xl__graph *g);

/* Copies a graph. A VIEW of a computed value stays, and the value is stored
 * for it, or is replaced by the operations on views of their arguments: what
 * takes less time by the device's rates. l NULL: all stay, as where each
 * operation is a kernel. The decisions are appended to *why, with names of the
 * signature `s`. Errors: XL_NO_MEMORY. The caller clears *out, whatever the
 * status. */
xl_status xl__graph_lower_views(const struct xl__graph *from,
                                const struct xl__signature *s,
                                const struct xl__limits *l,
                                struct xl__graph *out, struct xl__str *why);

#endif
