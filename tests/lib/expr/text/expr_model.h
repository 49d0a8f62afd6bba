/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule on the host, group after group in one order, with scratch as it
 * was laid out; and the same graph node by node over whole arrays, which knows
 * of no groups. Both must leave the same in memory. */
#ifndef XL_TESTS_EXPR_MODEL_H
#define XL_TESTS_EXPR_MODEL_H

#include "expr/graph/group.h"

/* What every schedule owes, whatever the graph; fails the test. */
void model_check(const struct xl__graph *g, const struct xl__signature *s,
                 const struct xl__schedule *plan, const char *text);

/* Run both from the same random memory and compare; fails the test. */
void model_compare(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__schedule *plan, const char *text,
                   uint64_t seed);

#endif
