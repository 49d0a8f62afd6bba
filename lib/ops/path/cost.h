/* SPDX-License-Identifier: Apache-2.0 */
/* Flop and byte counts, and the time model over them: the one place the
 * roofline's numerators live. */
#ifndef XL_OPS_COST_H
#define XL_OPS_COST_H

#include "device/peak_rates.h"
#include "ops/path/op.h"

/* Of canonical descriptors; of a batch all products together. */
double xl__gemm_flop(const xl_gemm *g);
double
xl__gemm_bytes(const xl_gemm *g); /* each matrix once; C twice if read */
double xl__softmax_flop(const xl_softmax *s);
double xl__softmax_bytes(const xl_softmax *s); /* one read and one write */

/* NULL, or why this device would cut a work-item short whose loops make so
 * many turns together (GE-24). */
const char *xl__turns_refused(const struct xl__limits *l, double turns);

/* A variant's estimate: the slowest of its parts, plus launches. */
struct xl__work {
    double flop, flop_frac;   /* fraction of xl__rate_fma() it can reach */
    double bytes, bytes_frac; /* of xl__rate_memory() */
    double fill;              /* share of the compute units kept busy, 0..1 */
    double apart_bytes;       /* moved before or after all of that */
    unsigned launches;
};
/* Its time, and what limits it. */
double xl__work_ns(const struct xl__limits *l, const struct xl__work *w,
                   const char **bound);
/* Sets plan->est_ns and plan->bound. */
void xl__estimate(const struct xl__limits *l, const struct xl__work *w,
                  struct xl__plan *plan);

#endif
