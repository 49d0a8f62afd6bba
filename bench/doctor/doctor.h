/* SPDX-License-Identifier: Apache-2.0 */
/* One run of `clbench doctor`: the results of each step, for the following
 * steps and for the JSON document. */
#ifndef CLBENCH_DOCTOR_H
#define CLBENCH_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/driver_test.h"
#include "doctor/findings.h"
#include "doctor/loader.h"

struct session;
struct json_t;

struct doctor {
    struct session *s;
    struct findings findings;
    char *loader_path;
    struct icds icds;
    struct driver_test loader;      /* without any driver */
    struct driver_test *by_driver;  /* one for each of icds.list */
    struct driver_test all_drivers; /* as any program loads them */
    const char *container;          /* NULL: none */
    struct json_t *gpus;            /* JSON list of those on the PCI bus */
    unsigned n_usable;              /* devices that any program can use */
};

/* Tests the loader, each driver and all devices in child processes. */
void doctor_drivers(struct doctor *d);
/* Lists for the JSON document. */
struct json_t *doctor_drivers_json(const struct doctor *d);
struct json_t *doctor_devices_json(const struct driver_test *t);

#endif
