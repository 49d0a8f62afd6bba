/* SPDX-License-Identifier: Apache-2.0 */
/* The device while samples are taken: looked at between them. */
#ifndef XL_MEASURE_CONDITIONS_H
#define XL_MEASURE_CONDITIONS_H

#include <crosslane/measure.h>

#include "base/str.h"

struct xl__monitor {
    xl_telemetry *t; /* NULL: nobody wants to know */
    const xl_sampling *how; /* the caller's, whose `stop` is asked as well */
    xl_reading first, last;
    unsigned sightings[XL_N_THROTTLES]; /* readings that had it */
    xl_conditions seen;
};

/* Before the first sample. The device's readings are opened the first time. */
void xl__monitor_begin(struct xl__monitor *w, xl_device *dev,
                       const xl_sampling *how);
/* Between samples: a `stop` callback, its argument the struct. */
bool xl__monitor_poll(void *watching);
/* After the last: what was seen. */
void xl__monitor_end(struct xl__monitor *w, xl_conditions *out);

/* Nothing is known. */
void xl__conditions_init(xl_conditions *out);
/* One more reading while the device is at work. */
void xl__monitor_add(struct xl__monitor *w, const xl_reading *r);

/* Did an alarm hold the clock down? */
bool xl__conditions_has_alarm(const xl_conditions *c);
/* Did the power limit, or one like it that is as it should be? */
bool xl__conditions_is_limited(const xl_conditions *c);
/* Was the clock lower than at the first look? */
bool xl__conditions_clock_fell(const xl_conditions *c);
/* The clock over its highest; 1 where it is not known. */
double xl__conditions_clock(const xl_conditions *c);
/* "clock fell from 1980 to 1200 MHz: thermal limit" */
void xl__conditions_describe(const xl_conditions *c, struct xl__str *out);

#endif
