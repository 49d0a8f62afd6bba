/* SPDX-License-Identifier: Apache-2.0 */
/* What a row is held against: this device's own measured peaks. */
#ifndef CLBENCH_TIMING_PEAKS_H
#define CLBENCH_TIMING_PEAKS_H

#include <crosslane/explain.h>
#include <crosslane/measure.h>

#include "results/ceilings.h"

/* Where an op does not say what a row's arithmetic could be done on: what is
 * narrower than an f32, bytes too, is held to the rate of f32. */
xl_roof roof_usual(xl_dtype dtype);

/* The bound of a row's flop and bytes (of its bytes alone where its unit is
 * B/s), its peaks measured the first time they are asked for; `again`: once
 * more. Where the device has no matrix engine that can be reached, the usual
 * one. As xl_roofline_bound(). */
xl_status roof_bound(xl_queue *q, const xl_roof *wanted, const xl_row *row,
                     bool again, xl_bound *out);

/* What limits a row of ours: its counts, from the case and from what the
 * library chose for it. */

/* What every op's run does, but for what op->count adds. */
void diagnose_count(const xl_choice *choice, const xl_row *row, xl_work *work);

/* Why no matrix engine does a product: what kept the first of the variants
 * that have one; "" when one was chosen, or there is none. */
void diagnose_idle(const xl_choice *choices, unsigned n, char *why,
                   size_t cap);

/* Have the cost of a launch measured, once a device: a moment. */
void diagnose_learn(xl_queue *q);

/* The ceilings of a device as a table: which fact each is, and which probe
 * measures it. */

struct session;
struct xl_device;
struct json_t;

/* Have those measured that are not yet, quickly. An exit_code. */
int ceilings_measure(struct session *s, struct xl_device *dev);
/* Rates, sources, ridges: for people, and for files. */
void ceilings_print(const struct xl_device *dev);
struct json_t *ceilings_json(const struct xl_device *dev);

#endif
