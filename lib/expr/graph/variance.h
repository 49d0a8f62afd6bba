/* SPDX-License-Identifier: Apache-2.0 */
/* Variances: in one sweep or two, decided for each. */
#ifndef XL_EXPR_VARIANCE_H
#define XL_EXPR_VARIANCE_H

#include "device/facts.h"
#include "expr/graph/graph.h"

/* Copies a graph; each variance in it, var() or written out, and each
 * logsumexp() gets the form that suits its rows: two sweeps over rows that
 * are held or in a cache, otherwise one. l NULL: one sweep for all, as where
 * each operation is a kernel. Errors: XL_NO_MEMORY, also when the copy would
 * have more than XL_EXPR_MAX_NODES. The caller clears *out, whatever the
 * status. */
xl_status xl__graph_lower_variance(const struct xl__graph *from,
                                   const struct xl__limits *l,
                                   struct xl__graph *out);

#endif
