/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the event clock of a device can be believed. */
#ifndef XL_SAMPLING_EVENT_CLOCK_H
#define XL_SAMPLING_EVENT_CLOCK_H

#include "runtime/context.h"

/* A clFinish that returns before this share of the run is over does not wait. */
static const double xl__finish_waits_frac = 0.5;

/* Test it once per device; the result becomes the facts timer_ok and
 * timer_step_ns. */
xl_status xl__timer_check(xl_queue *q);
/* What the test finds. */
struct xl__clock {
    double ratio;   /* event time over wall time; NaN: ends before starts */
    double advance; /* likewise from one kernel's end to another's */
    double finish;  /* share of the run after which clFinish came back */
    double finish_alone; /* likewise before a marker helped it */
    double step_ns; /* NaN: no two stamps differ */
    bool is_zero, is_still; /* all stamps are 0, are the same */
};
xl_status xl__timer_compare(xl_queue *q, struct xl__clock *out);
/* NULL, or why the event clock is not to be believed. */
const char *xl__timer_fault(const struct xl__clock *c);
/* Set both facts from a test. */
void xl__timer_set_facts(struct xl__limits *l, const struct xl__clock *c);

#endif
