/* SPDX-License-Identifier: Apache-2.0 */
/* The measured peaks of a device: roofs of rows, counts for the diagnosis of
 * what limits a row, and the table of ceilings. */
#ifndef CLBENCH_TIMING_PEAKS_H
#define CLBENCH_TIMING_PEAKS_H

#include <crosslane/explain.h>
#include <crosslane/measure.h>

#include "results/ceilings.h"

struct session;

/* -- roofs -----------------------------------------------------------------
 */

/* The roof of an op without `engine`: f64, or the rate of f32 for all narrower
 * types. */
xl_roof roof_usual(xl_dtype dtype);
/* The roof of an op of products, whatever variant ran, since it is a property
 * of the device: the matrix engine's, but of f64, and of f32 unless the call
 * permits its products to be rounded. */
xl_roof roof_of_products(xl_dtype dtype, bool is_rounded);

/* The bound of a row, from its flop and bytes, or from its bytes only if its
 * unit is B/s. Peaks are measured at their first use; `again`: measured again.
 * Where the device has no matrix engine that OpenCL can use: by roof_usual().
 * Returns the status of xl_roofline_bound(). */
xl_status roof_bound(xl_queue *q, const xl_roof *preferred, const xl_row *row,
                     bool again, xl_bound *out);

/* The kept roofs of the device, if --roofs does not say otherwise; then the
 * peak of f32 in bursts. Before the first row. */
xl_status roofs_begin(const struct session *s, xl_queue *q);
/* Bursts again, then roofs_keep(). After the last row. */
void roofs_end(const struct session *s, xl_queue *q);
/* Only the kept roofs; false: there are none, or they are not asked for. */
bool roofs_load(const struct session *s, xl_queue *q);
/* Keep what was measured, with the state of the run. */
void roofs_keep(const struct session *s, xl_queue *q);

/* -- counts for the diagnosis ------------------------------------------------
 *
 * xl_diagnose() finds what limits a row from its counts: those of the case,
 * and those of the variant that the library chose. */

/* Fill in the counts that do not depend on the op; bench_op.count adds more.
 */
void diagnose_count(const xl_choice *choice, const xl_row *row,
                    xl_counts *work);
/* Add the conversions of `bytes` of a type, each element once: those of f16
 * and bf16, unless a matrix engine takes them. */
void diagnose_conversions(const xl_choice *choice, xl_dtype dtype,
                          double bytes, xl_counts *work);

/* The reason why no matrix engine is used: that of the first variant with one;
 * "" when one was chosen. */
void diagnose_idle(const xl_choice *choices, unsigned n, char *why,
                   size_t cap);

/* Measure the cost of a launch, once for each device. */
void diagnose_launch_cost(xl_queue *q);

/* -- ceilings --------------------------------------------------------------
 */

struct xl_device;
struct json_t;

/* Measure the ceilings that are not known yet, quickly. An exit_code. */
int ceilings_measure(struct session *s, struct xl_device *dev);
/* Print rates, sources and ridge points; the same for the result file. */
void ceilings_print(const struct xl_device *dev);
struct json_t *ceilings_json(const struct xl_device *dev);

#endif
