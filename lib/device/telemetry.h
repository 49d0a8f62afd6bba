/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a telemetry source: functions that read sensors of a
 * device. The sources themselves are in lib/targets. They are read in order;
 * each sets the sensors that no earlier source has set. */
#ifndef XL_DEVICE_TELEMETRY_H
#define XL_DEVICE_TELEMETRY_H

#include <crosslane/telemetry.h>

/* The device to read, and where the system's files are. NULL: not known. */
struct xl__telemetry_target {
    const char *pci;  /* "0000:01:00.0" */
    const char *uuid; /* "8-4-4-4-12", in hexadecimal */
    bool is_host;     /* the CPU that runs this program */
    const char *root; /* prefix of "/sys/...": "" except in tests */
    const char
        *library; /* path of the vendor's library; NULL: its usual name */
};

struct xl__telemetry_source {
    const char *name;
    const void *data; /* private to the source */
    /* Returns the state for a device, which read() and close() receive; NULL:
     * the source has no sensors of it. */
    void *(*open)(const struct xl__telemetry_source *me,
                  const struct xl__telemetry_target *at);
    void (*read)(void *kept, xl_reading *out);
    void (*close)(void *kept);
};

/* Set all values of a reading to unknown. */
void xl__reading_init(xl_reading *out);
/* Set a sensor, unless it is set already. Negative values and NaN are ignored.
 */
void xl__reading_set(xl_reading *r, xl_sensor sensor, double value,
                     const char *source);

/* Open the sources of `list`, which ends with NULL, for a device. */
xl_status xl__telemetry_create(const struct xl__telemetry_source *const *list,
                               const struct xl__telemetry_target *at,
                               xl_telemetry **out);
/* The last reading, or a new one when the last is older than `due_ns` and more
 * than 100 times as old as a reading takes. */
const xl_reading *xl__telemetry_recent(xl_telemetry *t, uint64_t due_ns);
/* An earlier reading, from which on the units had a second of time together,
 * enough for a share of it; NULL: there is none yet. */
const xl_reading *xl__telemetry_window(const xl_telemetry *t);

#endif
