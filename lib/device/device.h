/* SPDX-License-Identifier: Apache-2.0 */
/* The device handle from inside, and the list of them. */
#ifndef XL_DEVICE_DEVICE_H
#define XL_DEVICE_DEVICE_H

#include <crosslane/telemetry.h>

#include "device/facts.h"
#include "device/vendor_table.h"

struct xl_device {
    cl_device_id id;
    cl_platform_id platform;
    unsigned index;    /* in the flat order; UINT_MAX: met through a queue */
    unsigned same_as;  /* lowest index of the same silicon */
    const struct xl__targets *targets;
    const struct xl__vendor *vendor; /* one of targets->vendors */
    struct xl__limits limits;
    unsigned peaks;    /* bit per xl_dtype: peaks were measured */
    unsigned matrix_peaks; /* likewise, of the matrix engine */
    bool is_watched;       /* xl_telemetry_watch() */
    xl_telemetry *telemetry; /* opened by the first samples; or NULL */
};

/* Devices of one xl_lib; pointers stay valid until cleared. */
struct xl__devices {
    const struct xl__targets *targets; /* set before any device is added */
    xl_device **flat;   /* in the flat order */
    unsigned n_flat;
    xl_device **extra;  /* met only through a caller's queue */
    unsigned n_extra;
    char *left_out;     /* platforms and devices skipped, and why, one a line;
                           NULL: none */
};

/* Ask every platform. On failure the list is as it was. */
xl_status xl__devices_enumerate(struct xl__devices *list, struct xl__error *e);
/* Find by text: see xl_device_find(). */
xl_status xl__devices_find(const struct xl__devices *list, const char *text,
                           xl_device **out, struct xl__error *e);
/* The device of this id: a known one, or a new one in `extra`. */
xl_status xl__devices_of(struct xl__devices *list, cl_device_id id,
                         xl_device **out, struct xl__error *e);
void xl__devices_clear(struct xl__devices *list);

/* One device: query, pick the vendor table, correct. Heap. */
xl_status xl__device_create(const struct xl__targets *targets,
                            cl_device_id id, xl_device **out,
                            struct xl__error *e);
void xl__device_destroy(xl_device *dev);

/* The facts that need code of their own: arch, pci, uuid, widths (identify.c). */
void xl__identify(struct xl__limits *l, cl_device_id id);

#endif
