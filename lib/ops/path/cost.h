/* SPDX-License-Identifier: Apache-2.0 */
/* What variants of ops share of their estimates: the time model is in
 * device/time_model.h. */
#ifndef XL_OPS_COST_H
#define XL_OPS_COST_H

#include "device/time_model.h"
#include "ops/path/op.h"

/* NULL, or the reason why this device ends a work-item before its loops have
 * made so many iterations (GE-24). */
const char *xl__iterations_refused(const struct xl__limits *l,
                                   double iterations);

/* The items of a group along its first dimension, at most `most`, that the
 * device allows. */
size_t xl__most_items(const struct xl__limits *l, size_t most);

/* The share of the compute units that a reference variant keeps busy with an
 * item for each element of `rows` rows of `cols`. */
double xl__reference_fill(const struct xl__limits *l, double rows,
                          double cols);

/* Sets plan->est_ns and plan->bound. */
void xl__estimate(const struct xl__limits *l, const struct xl__cost *w,
                  struct xl__plan *plan);

#endif
