/* SPDX-License-Identifier: Apache-2.0 */
/* One examination: what was found in each part, for the parts after it and for
 * the JSON document. */
#ifndef CLBENCH_DOCTOR_H
#define CLBENCH_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/findings.h"
#include "doctor/loader.h"
#include "doctor/driver_test.h"

struct session;
struct json_t;
struct advice_vendor;

struct doctor {
    struct session *s;
    struct findings findings;
    char *loader_path;
    struct icds icds;
    struct trial loader;   /* without any driver */
    struct trial *alone;   /* of icds.list, in its order */
    struct trial together; /* the drivers as any program meets them */
    const char *container; /* NULL: none */
    struct json_t *gpus;   /* on the PCI bus, a list */
    unsigned n_usable;     /* devices that any program can use */
};

/* The loader, each driver in a child, the devices. */
void doctor_drivers(struct doctor *d);
struct json_t *doctor_drivers_json(const struct doctor *d);
struct json_t *doctor_devices_json(const struct trial *t);

#endif
