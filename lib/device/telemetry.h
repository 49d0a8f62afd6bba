/* SPDX-License-Identifier: Apache-2.0 */
/* Who tells of a device while it works: the TYPE of a source. Sources are in
 * lib/vendor; each fills in what it knows and nobody before it has told. */
#ifndef XL_DEVICE_TELEMETRY_H
#define XL_DEVICE_TELEMETRY_H

#include <crosslane/telemetry.h>

/* Which device, and where the system's files and libraries are: "" but in
 * tests. NULL: not known. */
struct xl__telemetry_target {
    const char *pci;  /* "0000:01:00.0" */
    const char *uuid; /* "8-4-4-4-12", in hexadecimal */
    bool is_host;     /* the CPU that we run on */
    const char *root; /* before "/sys/..." */
    const char *library; /* the vendor's library instead of its usual name */
};

struct xl__telemetry_source {
    const char *name;
    const void *data; /* its own */
    /* What it keeps of a device; NULL: it knows nothing of it. */
    void *(*open)(const struct xl__telemetry_source *me,
                  const struct xl__telemetry_target *at);
    void (*read)(void *kept, xl_reading *out);
    void (*close)(void *kept);
};

/* A reading in which nothing is known. */
void xl__reading_init(xl_reading *out);
/* Tell a sensor, unless it is told already. Negative and NaN tell nothing. */
void xl__reading_set(xl_reading *r, xl_sensor sensor, double value,
                     const char *source);
/* Shares and power out of counters, from `before` to `r`. */
void xl__reading_set_rates(xl_reading *r, const xl_reading *before);

/* `list` ends with NULL. */
xl_status xl__telemetry_create(const struct xl__telemetry_source *const *list,
                               const struct xl__telemetry_target *at,
                               xl_telemetry **out);
/* The last reading; a new one when that is older than `due_ns` and looking
 * would take at most a hundredth of the time. */
const xl_reading *xl__telemetry_recent(xl_telemetry *t, uint64_t due_ns);

#endif
