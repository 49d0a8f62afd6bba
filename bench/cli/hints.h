/* SPDX-License-Identifier: Apache-2.0 */
/* Advice after an error: by status, by vendor, by platform, by driver. It is
 * all data, for `clbench doctor` and for error messages; no other file of
 * clbench names a vendor. */
#ifndef CLBENCH_ADVICE_H
#define CLBENCH_ADVICE_H

#include <stdbool.h>

#include <crosslane/status.h>

/* One line: what to do after a status; NULL: no advice. */
const char *advice_for_status(xl_status status);

/* Environment variables that hide or change devices; NULL-terminated. */
const char *const *advice_variables(void);

/* A vendor of devices: how its hardware and its drivers are recognized, and
 * what to do when the hardware is present without a driver. */
struct advice_vendor {
    const char *name;            /* "Arm" */
    unsigned pci_id;             /* its PCI vendor id; 0: not on that bus */
    const char *platforms[4];    /* text in the names of the platforms with its
                                    devices; NULL-terminated */
    const char *nodes[4];        /* device nodes that its driver opens; a "#"
                                    at the end: digits; NULL-terminated */
    const char *groups; /* groups that may open them: "render, video" */
    const char *kernel_module;   /* a folder in /sys/module; NULL: none */
    const char *install; /* what to install when there is no platform */
    const char *container;       /* the same, inside a container */
};
/* NULL name last; the last but one is the CPU. */
extern const struct advice_vendor advice_vendors[];

/* A platform that is present without a device: the usual cause. */
struct advice_platform {
    const char *platform; /* text in the platform's name */
    const char *no_device;
};
extern const struct advice_platform advice_platforms[]; /* NULL last */

/* Drivers older than some version that the library requires. */
struct advice_driver {
    const char *platform;  /* text in the platform's name */
    unsigned major, minor; /* the first suitable version */
    const char *why;
};
extern const struct advice_driver advice_drivers[]; /* NULL platform last */

/* Is the driver's version older than the table requires? Sets *row. */
bool advice_too_old(const char *platform, const char *version,
                    const struct advice_driver **row);

#endif
