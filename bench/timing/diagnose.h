/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a row of ours: its counts, from the case and from what the
 * library chose for it. */
#ifndef CLBENCH_DIAGNOSE_H
#define CLBENCH_DIAGNOSE_H

#include <crosslane/explain.h>
#include <crosslane/measure.h>

/* What every op's run does, but for what op->count adds. */
void diagnose_count(const xl_choice *choice, const xl_row *row,
                    xl_counts *work);

/* Why no matrix engine does a product: what kept the first of the variants
 * that have one; "" when one was chosen, or there is none. */
void diagnose_idle(const xl_choice *choices, unsigned n, char *why,
                   size_t cap);

/* Have the cost of a launch measured, once a device: a moment. */
void diagnose_learn(xl_queue *q);

#endif
