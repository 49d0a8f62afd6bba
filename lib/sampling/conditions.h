/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors a device while samples are taken: readings between samples give
 * clocks, power, temperature, throttling and other load. */
#ifndef XL_SAMPLING_CONDITIONS_H
#define XL_SAMPLING_CONDITIONS_H

#include <crosslane/sampling.h>

#include "base/str.h"
#include "device/private_api.h"

struct xl__monitor {
    xl_telemetry *t;        /* NULL: not monitored */
    const xl_sampling *how; /* the caller's; its `stop` is called as well */
    xl_reading first, last;
    unsigned sightings[XL_N_THROTTLES]; /* readings that reported each */
    xl_conditions seen;
};

/* Call before the first sample. Opens the device's telemetry the first
 * time. */
void xl__monitor_begin(struct xl__monitor *w, xl_device *dev,
                       const xl_sampling *how);
/* Call between samples: a `stop` callback whose argument is the struct. */
bool xl__monitor_poll(void *watching);
/* Call after the last sample; *out gets the conditions. */
void xl__monitor_end(struct xl__monitor *w, xl_conditions *out);

/* Sets all conditions to unknown. */
void xl__conditions_init(xl_conditions *out);
/* Adds a reading taken while the device is busy. */
void xl__monitor_add(struct xl__monitor *w, const xl_reading *r);

/* Was the clock reduced by an alarm (heat, power supply)? */
XL__PRIVATE_API bool xl__conditions_has_alarm(const xl_conditions *c);
/* Was the clock reduced by a power or current limit, as designed? */
XL__PRIVATE_API bool xl__conditions_is_limited(const xl_conditions *c);
/* Did the clock fall below its first reading? */
XL__PRIVATE_API bool xl__conditions_clock_fell(const xl_conditions *c);
/* The lowest clock over the highest; 1 if unknown. */
XL__PRIVATE_API double xl__conditions_clock(const xl_conditions *c);
/* Appends a description: "clock fell from 1980 to 1200 MHz: thermal limit" */
XL__PRIVATE_API void xl__conditions_describe(const xl_conditions *c,
                                             struct xl__str *out);

#endif
