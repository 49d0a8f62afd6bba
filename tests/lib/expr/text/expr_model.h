/* SPDX-License-Identifier: Apache-2.0 */
/* A reference for fusion. A schedule is computed on the host, group after
 * group, with scratch as the schedule lays it out; and the same graph is
 * computed node by node over whole arrays, without groups. Both must leave the
 * same values in memory. */
#ifndef XL_TESTS_EXPR_MODEL_H
#define XL_TESTS_EXPR_MODEL_H

#include "expr/graph/group.h"

/* Checks what holds for every schedule: loops, order of values, operands,
 * hazards, lifetimes of temporaries. Fails the test. */
void model_check(const struct xl__graph *g, const struct xl__signature *s,
                 const struct xl__schedule *plan, const char *text);

/* Computes both from the same random memory and compares; fails the test. */
void model_compare(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__schedule *plan, const char *text,
                   uint64_t seed);

#endif
