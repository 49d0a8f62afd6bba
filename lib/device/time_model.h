/* SPDX-License-Identifier: Apache-2.0 */
/* The time model: from the flop and bytes that are counted, and the facts of
 * the device. */
#ifndef XL_DEVICE_TIME_MODEL_H
#define XL_DEVICE_TIME_MODEL_H

#include "device/peak_rates.h"

/* The inputs of an estimate: what is multiplied and what is moved, at the same
 * time, and what precedes and follows that. */
struct xl__cost {
    double flop, flop_frac;   /* fraction of xl__rate_fma() it can reach */
    double fill;              /* share of the compute units kept busy, 0..1 */
    double busy_ns;           /* > 0: in place of these, of the busiest unit */
    double chain_ns; /* of steps that wait for each other in the busiest unit:
                        it computes no faster */
    double bytes, bytes_frac; /* of xl__rate_memory() */
    double overlap; /* exponent with which the two times combine; 0: the longer
                       hides the shorter */
    double serial_bytes; /* moved before or after all of that */
    double serial_ns;
    unsigned launches;
};
/* Its time, and what limits it. */
double xl__work_ns(const struct xl__limits *l, const struct xl__cost *w,
                   const char **bound);
/* Time of two activities that overlap: the longer, and with an exponent more
 * as they come close. */
double xl__overlap_ns(double a, double b, double exponent);

/* The best of the choices so far; ns is infinite as long as there is none. */
struct xl__best_cost {
    double ns, rate;
};
/* Is this one better? Of those whose times differ by the fraction `equal` at
 * most, because memory limits them, the one with the higher rate is. */
bool xl__improves(const struct xl__limits *l, const struct xl__cost *w,
                  double equal, struct xl__best_cost *best);
/* Time of one launch of many. */
double xl__launch_ns(const struct xl__limits *l);
/* What a call takes beyond its estimate where it is alone and waited for, as
 * its caller sees it; 0 where calls follow each other. */
double xl__alone_ns(const struct xl__limits *l);

/* What a work-group takes of a compute unit. */
struct xl__group_needs {
    double items, item_registers, local_bytes;
};
/* Work-groups that are resident on a compute unit at a time, at least 1, if it
 * has so many registers. */
double xl__resident_groups(const struct xl__limits *l, double registers,
                           const struct xl__group_needs *needs);

/* The share of the compute units that so many work-groups keep busy. */
double xl__fill(const struct xl__limits *l, double groups);

#endif
