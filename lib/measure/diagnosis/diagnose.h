/* SPDX-License-Identifier: Apache-2.0 */
/* Between counting (diagnose.c) and telling (diagnose_text.c). */
#ifndef XL_MEASURE_DIAGNOSE_H
#define XL_MEASURE_DIAGNOSE_H

#include <crosslane/diagnosis.h>

#include "base/str.h"

/* What a run asks of one resource. */
struct xl__need {
    xl_limiter limiter;  /* by its name, unless a cause lengthens it */
    xl_limiter cause;    /* what makes `ways` more than 1 */
    double amount;
    const char *unit;    /* "flop", "B"; or what is counted: "launches" */
    double rate;         /* of the whole device, a second; 0: unknown */
    double ways;         /* times that it is done over */
    double fill;         /* share of the rate that the groups can draw */
    xl_source source;    /* of the rate */
};

/* Its least time, with its cause or without. */
double xl__need_ns(const struct xl__need *n);
/* What lengthens it most, or itself. */
xl_limiter xl__need_name(const struct xl__need *n);

/* "134 MB at 4.27 TB/s need 31.4 us of 33 us (95 %)" */
void xl__need_tell(const struct xl__need *n, const xl_counts *work,
                   double units, struct xl__str *out);
/* "1.23 us", "4.27 TB/s" */
void xl__tell_time(struct xl__str *out, double ns);
void xl__tell_amount(struct xl__str *out, double value, const char *unit);

#endif
