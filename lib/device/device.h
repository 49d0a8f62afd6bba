/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of xl_device, and the list of devices of an xl_lib.
 *
 * Files: enumerate.c (list, order, search), device.c (one device, public
 * getters), identify.c (facts that need vendor-specific queries). */
#ifndef XL_DEVICE_DEVICE_H
#define XL_DEVICE_DEVICE_H

#include <crosslane/telemetry.h>

#include "device/facts.h"
#include "device/vendor_table.h"

struct xl_device {
    cl_device_id id;         /* NULL: a device of a listing */
    cl_platform_id platform; /* likewise */
    unsigned index;   /* in the flat order; UINT_MAX: only in `extra` */
    unsigned same_as; /* lowest index of the same physical device */
    const struct xl__targets *targets;
    const struct xl__vendor *vendor; /* one of targets->vendors */
    /* The facts that select kernels and launches, with the rates of the device
     * profile, if there is one. Constant from then on, so that an application
     * and a program that runs probes select alike. */
    struct xl__limits limits;
    struct xl__limits seen; /* for sampling and reports: without the profile,
                               with what probes and the event clock measured */
    unsigned peaks; /* bit 1 << xl_dtype: FMA peak and bandwidth measured */
    unsigned matrix_peaks; /* the same for the matrix engine */
    bool is_watched;       /* xl_telemetry_watch() */
    xl_telemetry *telemetry; /* opened with the first samples; or NULL */
};

/* Devices of one xl_lib; pointers stay valid until cleared. */
struct xl__devices {
    const struct xl__targets *targets; /* set before any device is added */
    /* Likewise: replaces facts that select by those of a device profile. */
    void (*calibrate)(xl_device *dev, void *arg);
    void *calibrate_arg;
    char *listing; /* of the only devices, which are not here; NULL: the
                      devices of all platforms */
    struct xl__listed *listed; /* those of the listing, once enumerated */
    xl_device **flat;   /* in the flat order */
    unsigned n_flat;
    xl_device **extra; /* known only through a caller's queue */
    unsigned n_extra;
    char *left_out; /* platforms and devices that failed, with reasons, one
                       per line; NULL: none */
};

/* Query every platform, or read the listing. On failure the list is
 * unchanged. */
xl_status xl__devices_enumerate(struct xl__devices *list, struct xl__error *e);
/* Find a device by text: xl_device_find(). */
xl_status xl__devices_find(const struct xl__devices *list, const char *text,
                           xl_device **out, struct xl__error *e);
/* The device with this id: one in the list, or a new one in `extra`. */
xl_status xl__devices_of(struct xl__devices *list, cl_device_id id,
                         xl_device **out, struct xl__error *e);
void xl__devices_clear(struct xl__devices *list);

/* Create a device on the heap, not in the list: query its facts, select the
 * vendor table, and apply the table's corrections and the profile. */
xl_status xl__device_create(const struct xl__devices *list,
                            const struct xl__asked *from, xl_device **out,
                            struct xl__error *e);
void xl__device_destroy(xl_device *dev);

/* Query the facts of kind XL__ASK_SPECIAL: platform, C version, UUID, PCI
 * address, architecture, sub-group width, features. */
void xl__identify(struct xl__limits *l, const struct xl__asked *dev);

#endif
