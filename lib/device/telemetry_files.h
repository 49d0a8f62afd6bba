/* SPDX-License-Identifier: Apache-2.0 */
/* A telemetry source that is a table of system files (sysfs, procfs): each row
 * maps a path to a sensor. A file that does not exist or has no number is
 * skipped. */
#ifndef XL_DEVICE_TELEMETRY_FILES_H
#define XL_DEVICE_TELEMETRY_FILES_H

#include <stddef.h>

#include "device/telemetry.h"

enum xl__file_to {
    XL__TO_SENSOR,      /* `what`: an xl_sensor */
    XL__TO_IDLE_NS,
    XL__TO_OWN_NS,
    XL__TO_UNITS,
    XL__TO_THROTTLE,    /* `what`: an xl_throttle; anything but 0: holds now */
    XL__TO_THROTTLE_NS, /* `what`: an xl_throttle */
    XL__TO_THROTTLES    /* the value is xl_reading.throttle's bits */
};

/* How the values of several files that match a path are combined. */
enum xl__file_merge { XL__FIRST, XL__SUM, XL__MOST };

struct xl__file_row {
    enum xl__file_to to;
    unsigned what;
    const char *path; /* below `base`; "*" matches the rest of a name */
    double scale;     /* to the sensor's unit; 0: 1 */
    enum xl__file_merge merge;
    /* The value of a file's bytes; NaN: none. NULL: the number at its start. */
    double (*parse)(const char *bytes, size_t len);
    const char *named; /* start of the file "name" in its folder; NULL: any */
};

struct xl__file_table {
    const char *base; /* "/sys/bus/pci/devices/%": % is the PCI address and a
                         slash; "": of the host */
    const struct xl__file_row *rows;
    unsigned n;
};

/* The functions of a source whose `data` is a struct xl__file_table. */
void *xl__files_open(const struct xl__telemetry_source *me,
                     const struct xl__telemetry_target *at);
void xl__files_read(void *kept, xl_reading *out);
void xl__files_close(void *kept);

#endif
