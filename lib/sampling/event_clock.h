/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether the event clock of a device is reliable. */
#ifndef XL_SAMPLING_EVENT_CLOCK_H
#define XL_SAMPLING_EVENT_CLOCK_H

#include "device/private_api.h"
#include "runtime/context.h"

/* A clFinish that returns before this share of the run does not wait. */
static const double xl__finish_waits_frac = 0.5;

/* Tests it once per device and sets the facts timer_ok and timer_step_ns. */
XL__PRIVATE_API xl_status xl__timer_check(xl_queue *q);
/* The results of the test. */
struct xl__clock {
    double ratio;   /* event time over wall time; NaN: ends before starts */
    double advance; /* the same from one kernel's end to another's */
    double finish;  /* share of the run after which clFinish returned */
    double finish_alone; /* the same without a marker */
    double step_ns; /* NaN: no two stamps differ */
    bool is_zero, is_still; /* all stamps are 0; all are equal */
};
XL__PRIVATE_API xl_status xl__timer_compare(xl_queue *q,
                                            struct xl__clock *out);
/* NULL, or the reason why the event clock is not reliable. */
XL__PRIVATE_API const char *xl__timer_fault(const struct xl__clock *c);
/* Sets both facts from the results. */
XL__PRIVATE_API void xl__timer_set_facts(struct xl__limits *l,
                                         const struct xl__clock *c);

#endif
