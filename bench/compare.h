/* SPDX-License-Identifier: Apache-2.0 */
/* Two result files against each other: match rows, ratio of medians. */
#ifndef CLBENCH_COMPARE_H
#define CLBENCH_COMPARE_H

#include "results.h"

/* One row of `a` and its match in `b`. ratio = b's median over a's: above 1 is
 * slower. lo and hi are NaN when there are too few samples to tell. */
struct pair {
    const struct result_row *a, *b;
    double a_ns, b_ns, ratio, lo, hi;
    bool is_gated; /* beyond the gate that was asked for */
};

/* The match of row `i` of `a`: same id and device, or the same id alone when
 * each file has one device. NULL: none. */
const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b);
/* The match by case: whatever the variant, the fastest of `b` for the fastest
 * of `a`; for rows that have no match above. NULL: none. */
const struct result_row *results_match_case(const struct result_file *a,
                                            size_t i,
                                            const struct result_file *b);
/* The ratio that was measured round by round for a peer's row: as ratio, lo
 * and hi of a pair; false: none. */
bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct pair *out);
/* Fill in the times; both rows are timed. */
void pair_measure(struct pair *pair);
/* Is the whole interval beyond `percent` slower? */
bool pair_is_slower(const struct pair *pair, double percent);

#endif
