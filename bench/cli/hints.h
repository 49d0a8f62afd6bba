/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about it: the only file of clbench that knows vendors. All of it
 * is data; `doctor` and failure messages look things up here. */
#ifndef CLBENCH_ADVICE_H
#define CLBENCH_ADVICE_H

#include <stdbool.h>

#include <crosslane/status.h>

/* One line of what to do about a status; NULL when there is nothing to say. */
const char *advice_for_status(xl_status status);

/* Environment variables that hide or change devices; NULL-terminated. */
const char *const *advice_variables(void);

/* A maker of devices: how to know its hardware and its drivers, and what to do
 * when one is there without the other. */
struct advice_vendor {
    const char *name;            /* "Arm" */
    unsigned pci_id;             /* its PCI vendor id; 0: not on that bus */
    const char *platforms[4];    /* words in names of platforms that drive its
                                    devices; NULL-terminated */
    const char *nodes[4];        /* device nodes its driver opens; "#" at
                                    the end: digits; NULL-terminated */
    const char *groups;          /* who may open them: "render, video" */
    const char *kernel_module;   /* a folder in /sys/module; NULL: none */
    const char *install;         /* no platform for it: what to install */
    const char *container;       /* the same, inside a container */
};
/* NULL name last; the last but one is the CPU. */
extern const struct advice_vendor advice_vendors[];

/* A platform that is there and shows no device: why that may be. */
struct advice_platform {
    const char *platform;        /* word in the platform's name */
    const char *no_device;
};
extern const struct advice_platform advice_platforms[]; /* NULL last */

/* A driver that is known to be too old for something the library does. */
struct advice_driver {
    const char *platform;        /* word in the platform's name */
    unsigned major, minor;       /* the first version that will do */
    const char *why;
};
extern const struct advice_driver advice_drivers[]; /* NULL platform last */

/* Is `text`, a driver's version, older than the table asks? Sets *row. */
bool advice_too_old(const char *platform, const char *version,
                    const struct advice_driver **row);

#endif
