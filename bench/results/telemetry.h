/* SPDX-License-Identifier: Apache-2.0 */
/* Sensor readings of devices, as JSON and as cells of a table. */
#ifndef CLBENCH_TELEMETRY_H
#define CLBENCH_TELEMETRY_H

#include <stdio.h>

#include <crosslane/crosslane.h>
#include <jansson.h>

#include "results/result.h"

/* Append the conditions of a device over the rows of a table, "1410 to 1980
 * MHz, up to 71 C, 690 of 700 W". Nothing where there are no sensors. */
void telemetry_conditions_text(const struct result_table *rows,
                               const void *dev, struct xl__str *out);

/* A device of `clbench top`, and its last reading. */
struct telemetry_device {
    xl_device *dev;
    xl_telemetry *t;
    xl_reading now;
};

/* The source of each sensor: {"clock_hz": "nvmlDeviceGetClockInfo", ...}. */
json_t *telemetry_sources(const xl_reading *r);
/* Every sensor by its name, and what limits the clock. */
json_t *telemetry_reading(const xl_reading *r);

/* The table of `clbench top`: a line of titles and one a device. */
void telemetry_table(FILE *to, const struct telemetry_device *d, unsigned n,
                     unsigned width, bool colour);
/* Every sensor of one device with its source, those without a reading too. */
void telemetry_list(FILE *to, const struct telemetry_device *d,
                    unsigned width);
/* What each sensor is. */
void telemetry_legend(FILE *to, unsigned width);

#endif
