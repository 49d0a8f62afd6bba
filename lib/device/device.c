/* SPDX-License-Identifier: Apache-2.0 */
/* Creation of a device (query facts, select the vendor table, apply its
 * corrections) and the public getters of a device. */
#include "device/device.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "device/listing.h"

/* The first table that matches. */
static const struct xl__vendor *pick_vendor(const struct xl__targets *targets,
                                            const struct xl__limits *l)
{
    const struct xl__vendor *const *vendor = targets->vendors;
    while (!(*vendor)->matches(l))
        vendor++;
    return *vendor;
}

/* A sub-device is destroyed with its last reference. */
static xl_status retain_device(xl_device *dev, cl_device_id id,
                               struct xl__error *e)
{
    xl_status status;
    CL_TRY(e, clRetainDevice(id));
    dev->id = id;
    CL_TRY(e, clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof dev->platform,
                              &dev->platform, NULL));
fail:
    return status;
}

xl_status xl__device_create(const struct xl__devices *list,
                            const struct xl__asked *from, xl_device **out,
                            struct xl__error *e)
{
    xl_device *dev = xl__calloc(1, sizeof *dev);
    xl_status status;
    *out = NULL;
    if (!dev)
        return xl__error_set(e, XL_NO_MEMORY, "out of memory for a device");
    xl__limits_init(&dev->limits);
    xl__limits_init(&dev->seen);
    dev->index = dev->same_as = UINT_MAX;
    if (from->id)
        TRY(retain_device(dev, from->id, e));
    TRY(xl__limits_query(&dev->limits, from, e));
    xl__identify(&dev->limits, from);
    xl__cooperative_query(&dev->limits, from);
    dev->targets = list->targets;
    dev->vendor = pick_vendor(list->targets, &dev->limits);
    if (dev->vendor->correct)
        dev->vendor->correct(&dev->limits);
    if (!xl__limits_copy(&dev->seen, &dev->limits))
        TRY(xl__error_set(e, XL_NO_MEMORY, "out of memory for a device"));
    if (list->calibrate)
        list->calibrate(dev, list->calibrate_arg);
    if (!from->id)
        xl__listed_measure(from->listed, &dev->seen);
    *out = dev;
    return XL_OK;
fail:
    xl__device_destroy(dev);
    return status;
}

void xl__device_destroy(xl_device *dev)
{
    if (!dev)
        return;
    if (dev->id)
        (void)clReleaseDevice(dev->id);
    xl_telemetry_close(dev->telemetry);
    xl__limits_clear(&dev->limits);
    xl__limits_clear(&dev->seen);
    free(dev);
}

const char *xl_source_name(xl_source source)
{
    switch (source) {
    case XL_QUERIED:
        return "queried";
    case XL_MEASURED:
        return "measured";
    case XL_KNOWN:
        return "known";
    case XL_ASSUMED:
        return "assumed";
    case XL_CALIBRATED:
        return "calibrated";
    case XL_UNKNOWN:
        break;
    }
    return "unknown";
}

unsigned xl_device_index(const xl_device *dev)
{
    return dev ? dev->index : UINT_MAX;
}

cl_device_id xl_device_cl(const xl_device *dev)
{
    return dev ? dev->id : NULL;
}

const char *xl_device_vendor_table(const xl_device *dev)
{
    return dev ? dev->vendor->name : "";
}

unsigned xl_device_same_as(const xl_device *dev)
{
    return dev ? dev->same_as : UINT_MAX;
}

const char *xl_fact_name(unsigned i, const char **help)
{
    if (i >= XL__N_FACTS)
        return NULL;
    if (help)
        *help = xl__facts[i].help;
    return xl__facts[i].name;
}

const xl_matrix_op *xl_device_matrix_op(const xl_device *dev, unsigned i)
{
    const xl_matrix_op *op = dev ? dev->limits.matrix_ops : NULL;
    while (op && op->name && i-- > 0)
        op++;
    return op && op->name ? op : NULL;
}

xl_status xl_device_fact(const xl_device *dev, const char *name,
                         xl_source source, xl_fact *out)
{
    static const struct xl__answer none = {.value = NAN};
    const enum xl__fact_id id = name ? xl__fact_find(name) : XL__N_FACTS;
    if (!dev || !out || id == XL__N_FACTS)
        return XL_BAD_ARGUMENT;
    const struct xl__answer *a;
    switch (source) {
    case XL_UNKNOWN:
        a = &dev->seen.used[id];
        break;
    case XL_QUERIED:
        a = &dev->seen.queried[id];
        break;
    case XL_MEASURED:
        a = &dev->seen.measured[id];
        break;
    case XL_CALIBRATED:
        a = &dev->limits.used[id];
        if (a->source != XL_CALIBRATED)
            a = &none;
        break;
    default:
        return XL_BAD_ARGUMENT;
    }
    *out = (xl_fact){
        .kind = xl__facts[id].kind,
        .value = a->value,
        .text = a->text,
        .n_list = a->n_list,
        .unit = xl__facts[id].unit,
        .source = a->source,
        .note = a->note,
    };
    memcpy(out->list, a->list, sizeof out->list);
    return XL_OK;
}
