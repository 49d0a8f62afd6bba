/* SPDX-License-Identifier: Apache-2.0 */
/* The time model: from the flop and bytes that an op counts, and the facts of
 * the device. */
#ifndef XL_OPS_COST_H
#define XL_OPS_COST_H

#include "device/peak_rates.h"
#include "ops/path/op.h"

/* NULL, or the reason why this device ends a work-item before its loops have
 * made so many iterations (GE-24). */
const char *xl__iterations_refused(const struct xl__limits *l, double iterations);

/* The items of a group along its first dimension, at most `most`, that the
 * device allows. */
size_t xl__most_items(const struct xl__limits *l, size_t most);

/* The share of the compute units that a reference variant keeps busy with an
 * item for each element of `rows` rows of `cols`. */
double xl__reference_fill(const struct xl__limits *l, double rows,
                          double cols);

/* The inputs of a variant's estimate. */
struct xl__cost {
    double flop, flop_frac;   /* fraction of xl__rate_fma() it can reach */
    double bytes, bytes_frac; /* of xl__rate_memory() */
    double fill;              /* share of the compute units kept busy, 0..1 */
    double serial_bytes;      /* moved before or after all of that */
    unsigned launches;
};
/* Its time, and what limits it. */
double xl__work_ns(const struct xl__limits *l, const struct xl__cost *w,
                   const char **bound);
/* Sets plan->est_ns and plan->bound. */
void xl__estimate(const struct xl__limits *l, const struct xl__cost *w,
                  struct xl__plan *plan);

#endif
