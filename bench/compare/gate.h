/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a comparison fail, as --fail-on says: for a build that must not
 * get slower. */
#ifndef CLBENCH_COMPARE_GATE_H
#define CLBENCH_COMPARE_GATE_H

#include "cli/options.h"
#include "base/str.h"
#include "compare/compare.h"

struct gate {
    double slower; /* percent; NaN: not asked for */
    bool rejected; /* a row that had a time is rejected or an error */
    bool missing;  /* a row of a is not in b */
    size_t n_slower, n_slower_ops, n_rejected, n_missing; /* found */
    size_t n_compared;
};

/* "slower:5%", "rejected", "missing", joined by commas. NULL: fine; else the
 * part that is none of these, to be freed. */
char *gate_read(struct gate *gate, const struct option_list *list);
bool gate_is_on(const struct gate *gate);
/* Mark what fails, and count it. */
void gate_mark(struct gate *gate, struct comparison *c);
/* Is there something to fail on? Nothing compared fails as well, where
 * slowness is asked for: a gate that sees nothing holds nothing. */
bool gate_fails(const struct gate *gate);
/* A line a condition. */
void gate_say(const struct gate *gate, struct xl__str *out);

#endif
