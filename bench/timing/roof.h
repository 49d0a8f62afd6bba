/* SPDX-License-Identifier: Apache-2.0 */
/* What a row is held against: this device's own measured peaks. */
#ifndef CLBENCH_ROOF_H
#define CLBENCH_ROOF_H

#include <crosslane/measure.h>

/* Where an op does not say what a row's arithmetic could be done on: what is
 * narrower than an f32, bytes too, is held to the rate of f32. */
xl_roof roof_usual(xl_dtype dtype);

/* The bound of a row's flop and bytes (of its bytes alone where its unit is
 * B/s), its peaks measured the first time they are asked for; `again`: once
 * more. Where the device has no matrix engine that can be reached, the usual
 * one. As xl_roofline_bound(). */
xl_status roof_bound(xl_queue *q, const xl_roof *wanted, const xl_row *row,
                     bool again, xl_bound *out);

#endif
