/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of --fail-on under which a comparison fails, for continuous
 * integration. */
#ifndef CLBENCH_COMPARE_GATE_H
#define CLBENCH_COMPARE_GATE_H

#include "base/str.h"
#include "cli/options.h"
#include "compare/compare.h"

struct gate {
    double slower; /* limit in percent; NaN: no such condition */
    bool rejected; /* a row with a time in a is rejected or an error in b */
    bool missing;  /* a row of a is not in b */
    size_t n_slower, n_slower_ops, n_rejected, n_missing; /* found */
    size_t n_slower_all; /* comparisons in which everything is slower */
    size_t n_compared;
};

/* Reads "slower:5%", "rejected", "missing", joined by commas. Returns NULL, or
 * the condition that is none of these, which the caller frees. */
char *gate_read(struct gate *gate, const struct option_list *list);
bool gate_is_on(const struct gate *gate);
/* Sets is_gated of the rows and ops that fail, and counts them. */
void gate_mark(struct gate *gate, struct comparison *c);
/* True if a condition applies. A limit on slowness also fails if no row could
 * be compared at all. */
bool gate_fails(const struct gate *gate);
/* Appends one line for each condition. */
void gate_report(const struct gate *gate, struct xl__str *out);

#endif
