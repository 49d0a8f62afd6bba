/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and their properties. Every property is a fact: a value with a unit
 * and the source of the value. */
#ifndef CROSSLANE_DEVICE_H
#define CROSSLANE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/cl.h>
#include <crosslane/dtype.h>
#include <crosslane/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xl_lib xl_lib;
typedef struct xl_device xl_device;

/** Where a value comes from; reports print it beside the value. */
typedef enum xl_source {
    XL_UNKNOWN,  ///< no source has it; the value is NaN
    XL_QUERIED,  ///< the driver's answer
    XL_MEASURED, ///< one of our probes, on this device
    XL_KNOWN,    ///< a vendor document, cited by id: vendor-notes/
    XL_ASSUMED,  ///< none of these: a default of the vendor table
    XL_CALIBRATED ///< a device profile: crosslane/profile.h
} xl_source;

typedef enum xl_fact_kind {
    XL_FACT_NUMBER,
    XL_FACT_BOOL, ///< value is 0 or 1
    XL_FACT_TEXT, ///< text is set, value is NaN
    XL_FACT_LIST  ///< list and n_list are set, value is NaN
} xl_fact_kind;

/** One fact about a device. */
typedef struct xl_fact {
    xl_fact_kind kind;
    double value;       ///< NaN when unknown; never 0 for "unknown"
    const char *text;   ///< of a TEXT fact; NULL when unknown
    double list[8];     ///< of a LIST fact
    unsigned n_list;
    const char *unit;   ///< "B", "B/s", "flop/s", "Hz", "ns", "1"
    xl_source source;
    const char *note;   ///< "NV-03" (a vendor-notes id), or NULL
} xl_fact;

/** "queried", "measured", "known", "assumed", "unknown". Static. */
XL_API const char *xl_source_name(xl_source source);

/**
 * Count the devices of every platform. The first call enumerates; devices are
 * numbered from 0 in one flat order: GPUs, accelerators, CPUs; within these by
 * platform name, PCI address, UUID.
 *
 * @return XL_OK with *n >= 1; XL_NO_PLATFORM when there is no driver or
 *         loader, XL_NO_DEVICE when drivers show no device; *n is 0 then, the
 *         message is in xl_lib_error(lib), and a later call tries again
 */
XL_API xl_status xl_device_count(xl_lib *lib, unsigned *n);

/** Device @p index, or NULL. Valid as long as @p lib. */
XL_API xl_device *xl_device_at(xl_lib *lib, unsigned index);

/**
 * Find a device by "N" (its index), part of its name, its UUID or its PCI
 * address; letters' case does not matter.
 *
 * @return XL_OK; XL_NO_DEVICE or XL_AMBIGUOUS, with the available devices
 *         listed in xl_lib_error(lib); or as xl_device_count()
 */
XL_API xl_status xl_device_find(xl_lib *lib, const char *text,
                                xl_device **out);

/** Its index in the flat order; UINT_MAX for a device that is known only
 *  through a caller's queue. */
XL_API unsigned xl_device_index(const xl_device *dev);

/** The driver's handle. Not retained for the caller. */
XL_API cl_device_id xl_device_cl(const xl_device *dev);

/** The vendor table in use: "nvidia", "amd", "intel", "cpu", "generic". */
XL_API const char *xl_device_vendor_table(const xl_device *dev);

/** The lowest index of a device that is the same silicon (equal UUID or PCI
 *  address) under any driver; its own index when there is no other. */
XL_API unsigned xl_device_same_as(const xl_device *dev);

/**
 * Read one fact about a device.
 *
 * @param name    "local_mem_bytes", "subgroup_width", ...: xl_fact_name()
 *                lists all names
 * @param source  XL_UNKNOWN for the best value: the measured one if a probe
 *                of this process measured it, otherwise the one by which
 *                variants and tiles are selected; XL_QUERIED, XL_MEASURED or
 *                XL_CALIBRATED for the value of that source
 * @param out     filled on success; its strings are valid as long as @p dev
 * @return XL_OK, or XL_BAD_ARGUMENT for an unknown name
 */
XL_API xl_status xl_device_fact(const xl_device *dev, const char *name,
                                xl_source source, xl_fact *out);

/** Name of fact @p i, with one line of help when @p help is not NULL; NULL
 *  past the last. Static. */
XL_API const char *xl_fact_name(unsigned i, const char **help);

/** One kind of matrix instruction of a device: a group of work-items adds the
 *  product of an m x k and a k x n tile to an m x n one. */
typedef struct xl_matrix_op {
    const char *name;      ///< the vendor's, without shape and types
    const char *fragments; ///< which elements of a tile a work-item holds: a
                           ///< name that kernels for it know
    const char *code;      ///< the kernels' code for it; NULL: they have none
    const char *target;    ///< what a program must be built for; NULL: the
                           ///< driver's own choice is enough
    xl_dtype a, b, sum;    ///< element types; XL_F32 in A and B is rounded to
                           ///< 11 bits
    unsigned m, n, k;      ///< the shape
    unsigned n_most;       ///< of instructions that differ in n: multiples of
                           ///< n up to it
    unsigned lanes;        ///< work-items that execute it together
    double flop_per_clock; ///< that a compute unit starts; 0: unknown
    const char *note;      ///< a vendor-notes id
} xl_matrix_op;

/** Matrix instruction @p i of a device, or NULL past the last (and for NULL).
 *  Static. */
XL_API const xl_matrix_op *xl_device_matrix_op(const xl_device *dev,
                                               unsigned i);

#ifdef __cplusplus
}
#endif
#endif
