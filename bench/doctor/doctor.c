/* SPDX-License-Identifier: Apache-2.0 */
/* Examines the OpenCL loader and the drivers: first each driver by itself in a
 * child process, then all drivers in one child process, since drivers may
 * interfere with each other.
 *
 *     loader without drivers -> each driver by itself -> all drivers
 *                                    | one crashes or hangs
 *                                    +-> it also does so together: stop here
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/hints.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "doctor/doctor.h"
#include "results/json.h"
#include "cli/session.h"

static const char loader_section[] = "Loader", drivers_section[] = "Drivers",
                  devices_section[] = "Devices";

/* -- the loader ----------------------------------------------------------- */

/* Reports the loader, whether it works without a driver, and where it searches
 * for drivers. */
static void examine_loader(struct doctor *d)
{
    const struct driver_test_target no_driver = {.nothing = true};
    struct xl__str reason = {0};
    struct findings *f = &d->findings;
    d->loader_path = icd_loader_path();
    driver_test_run(&no_driver, d->s->set.patience_s, session_stopped, d->s,
                    &d->loader);
    const char *path = d->loader_path ? d->loader_path : "the system's own";
    if (d->loader.loader)
        findings_add(f, FINDING_OK, loader_section, NULL, "%s (%s)", path,
                     d->loader.loader);
    else
        findings_add(f, FINDING_OK, loader_section, NULL,
                     "%s, which does not report its name", path);
    if (driver_test_failure(&d->loader, &reason))
        findings_add(
            f, d->loader.end == CHILD_NOT_RUN ? FINDING_NOTE : FINDING_PROBLEM,
            loader_section,
            d->loader.end == CHILD_NOT_RUN
                ? NULL
                : "Reinstall the loader (ocl-icd-libopencl1)",
            "without any driver it %s", xl__str_text(&reason));
    xl__str_clear(&reason);
    const char *from =
        d->icds.variable ? d->icds.variable : "the default folder";
    if (!d->icds.is_read)
        findings_add(f, FINDING_PROBLEM, loader_section,
                     d->icds.variable
                         ? "Set the variable to a folder of .icd files, or "
                           "unset it"
                         : "Install a driver: it brings the folder",
                     "the driver folder %s (%s) cannot be read",
                     d->icds.location, from);
    else
        findings_add(
            f, d->icds.n > 0 ? FINDING_OK : FINDING_PROBLEM, loader_section,
            d->icds.n > 0 ? NULL : "Install a driver; each brings one",
            "%zu .icd %s in %s (%s)", d->icds.n,
            d->icds.n == 1 ? "file" : "files", d->icds.location, from);
}

/* -- one driver ----------------------------------------------------------- */

static const char *icd_name(const struct icd *icd)
{
    return icd->file ? xl__path_name(icd->file) : icd->library;
}

/* A hint why a platform has no device; NULL: none. */
static const char *why_no_device(const char *platform)
{
    const struct advice_platform *a = advice_platforms;
    while (a->platform && !xl__str_contains(platform, a->platform))
        a++;
    return a->no_device;
}

static void report_version(struct findings *f, const char *platform,
                           const char *version)
{
    const struct advice_driver *row = NULL;
    if (platform && version && advice_too_old(platform, version, &row))
        findings_add(f, FINDING_PROBLEM, drivers_section,
                     "Install a newer one", "%s %s is too old: %s", platform,
                     version, row->why);
}

static void report_platform(struct findings *f, const char *name,
                            const struct driver_test_platform *p)
{
    if (p->n_devices == 0)
        findings_add(f, FINDING_NOTE, drivers_section, why_no_device(p->name),
                     "%s: platform %s (%s) has no device here", name, p->name,
                     p->version);
    else
        findings_add(f, FINDING_OK, drivers_section, NULL,
                     "%s: platform %s (%s), %u %s", name, p->name, p->version,
                     p->n_devices, p->n_devices == 1 ? "device" : "devices");
}

/* Reports the test of one driver: load error, platforms, versions, crash. */
static void report_driver(struct doctor *d, const struct icd *icd,
                          const struct driver_test *t)
{
    struct findings *f = &d->findings;
    struct xl__str reason = {0};
    const char *name = icd_name(icd);
    bool is_not_run = t->end == CHILD_NOT_RUN || t->end == CHILD_STOPPED;
    if (t->load_error)
        findings_add(f, FINDING_PROBLEM, drivers_section,
                     "Install the package that brings this library, or remove "
                     "the file",
                     "%s names %s, which does not load: %s", name,
                     icd->library, t->load_error);
    for (size_t i = 0; i < t->n_platforms; i++)
        report_platform(f, name, &t->platforms[i]);
    for (size_t i = 0; i < t->n_devices; i++)
        report_version(f, t->devices[i].platform, t->devices[i].driver);
    if (driver_test_failure(t, &reason))
        findings_add(
            f, is_not_run ? FINDING_NOTE : FINDING_PROBLEM, drivers_section,
            is_not_run ? NULL
                       : "Every OpenCL program fails with it: repair "
                         "or remove this driver, or set "
                         "OCL_ICD_VENDORS to a folder with the .icd "
                         "files of the others",
            "%s: driver %s %s", name, icd->library, xl__str_text(&reason));
    else if (!t->load_error && t->n_platforms == 0)
        findings_add(f, FINDING_NOTE, drivers_section,
                     "Expected if its hardware is absent or the device node "
                     "may not be opened; else reinstall its package",
                     "%s: %s loads, and gives no platform", name,
                     icd->library);
    xl__str_clear(&reason);
}

/* Tests each driver by itself. */
static void examine_each_driver(struct doctor *d)
{
    d->by_driver = xl__calloc(d->icds.n + 1, sizeof *d->by_driver);
    for (size_t i = 0; d->by_driver && i < d->icds.n; i++) {
        const struct icd *icd = &d->icds.list[i];
        const struct driver_test_target one = {.library = icd->library};
        d->by_driver[i].end = CHILD_NOT_RUN;
        if (session_interrupted())
            continue;
        if (!icd->library) {
            findings_add(&d->findings, FINDING_PROBLEM, drivers_section,
                         "Its first line must name the driver's library",
                         "%s cannot be read, or is empty", icd_name(icd));
            continue;
        }
        driver_test_run(&one, d->s->set.patience_s, session_stopped, d->s,
                        &d->by_driver[i]);
        report_driver(d, icd, &d->by_driver[i]);
    }
}

/* -- all in one process --------------------------------------------------- */

static void report_device(struct doctor *d,
                          const struct driver_test_device *dev)
{
    if (dev->works) {
        d->n_usable++;
        findings_add(&d->findings, FINDING_OK, devices_section, NULL,
                     "device %u: %s (%s, %s, driver %s, %s)", dev->index,
                     dev->name, dev->type, dev->platform, dev->driver,
                     dev->cl_version);
    } else {
        findings_add(&d->findings, FINDING_PROBLEM, devices_section,
                     "Try a newer driver; `clbench devices -v` shows what this "
                     "one reports of its device",
                     "device %u: %s (%s) does not run a kernel: %s",
                     dev->index, dev->name, dev->platform,
                     dev->reason ? dev->reason : "it ended the program");
    }
}

/* Reports why the library has no device, without the hint to run this command
 * at the end of its message. */
static void report_refusal(struct findings *f, const struct driver_test *t)
{
    const char *end = strstr(t->refusal, "; `clbench doctor`");
    int len = (int)(end ? (size_t)(end - t->refusal) : strlen(t->refusal));
    if (t->n_platforms == 0)
        findings_add(f, FINDING_PROBLEM, devices_section, NULL,
                     "no driver gives a platform, so there is no device");
    else
        findings_add(f, FINDING_PROBLEM, devices_section, NULL, "%.*s", len,
                     t->refusal);
}

/* Tests all drivers in one process, and reports the devices. */
static void examine_all_drivers(struct doctor *d)
{
    const struct driver_test_target all = {.library = NULL};
    struct findings *f = &d->findings;
    struct xl__str reason = {0};
    if (session_interrupted())
        return;
    driver_test_run(&all, d->s->set.patience_s, session_stopped, d->s,
                    &d->all_drivers);
    const struct driver_test *t = &d->all_drivers;
    bool has_failed = driver_test_failure(t, &reason);
    for (size_t i = 0; i < t->n_devices; i++)
        report_device(d, &t->devices[i]);
    if (t->refusal)
        report_refusal(f, t);
    if (has_failed && t->end != CHILD_NOT_RUN && t->end != CHILD_STOPPED) {
        d->n_usable = 0;
        findings_add(f, FINDING_PROBLEM, devices_section,
                     "Drivers may interfere: set OCL_ICD_VENDORS to "
                     "a folder with the .icd file of one",
                     "with all drivers in one process, one of them %s",
                     xl__str_text(&reason));
    }
    xl__str_clear(&reason);
}

/* The first driver that crashed or hung by itself. It does so together with
 * others as well. */
static const struct icd *find_failed_driver(const struct doctor *d)
{
    for (size_t i = 0; d->by_driver && i < d->icds.n; i++)
        if (d->by_driver[i].end == CHILD_SIGNALLED ||
            d->by_driver[i].end == CHILD_HUNG ||
            (d->by_driver[i].end == CHILD_EXITED && !d->by_driver[i].is_done))
            return &d->icds.list[i];
    return NULL;
}

void doctor_drivers(struct doctor *d)
{
    icds_read(&d->icds);
    examine_loader(d);
    examine_each_driver(d);
    const struct icd *bad = find_failed_driver(d);
    if (!bad) {
        examine_all_drivers(d);
        return;
    }
    for (size_t i = 0; i < d->icds.n; i++)
        for (size_t k = 0; k < d->by_driver[i].n_devices; k++)
            if (d->by_driver[i].devices[k].works)
                findings_add(&d->findings, FINDING_NOTE, devices_section, NULL,
                             "%s (%s) works when its driver is the only one",
                             d->by_driver[i].devices[k].name,
                             d->by_driver[i].devices[k].platform);
    findings_add(&d->findings, FINDING_PROBLEM, devices_section, NULL,
                 "no device can be used while %s is installed", icd_name(bad));
}

/* -- JSON ----------------------------------------------------------------- */

json_t *doctor_devices_json(const struct driver_test *t)
{
    json_t *out = json_array();
    for (size_t i = 0; i < t->n_devices; i++) {
        const struct driver_test_device *dev = &t->devices[i];
        json_t *one = json_object();
        json_put(one, "index", json_integer(dev->index));
        json_put(one, "name", json_text(dev->name));
        json_put(one, "platform", json_text(dev->platform));
        json_put(one, "driver", json_text(dev->driver));
        json_put(one, "cl_version", json_text(dev->cl_version));
        json_put(one, "pci",
                 json_text(dev->pci && *dev->pci ? dev->pci : NULL));
        json_put(one, "type", json_text(dev->type));
        json_put(one, "works", json_boolean(dev->works));
        json_put(one, "reason", json_text(dev->reason));
        json_add(out, one);
    }
    return out;
}

static json_t *platforms_json(const struct driver_test *t)
{
    json_t *out = json_array();
    for (size_t i = 0; i < t->n_platforms; i++) {
        json_t *one = json_object();
        json_put(one, "name", json_text(t->platforms[i].name));
        json_put(one, "version", json_text(t->platforms[i].version));
        json_put(one, "devices", json_integer(t->platforms[i].n_devices));
        json_add(out, one);
    }
    return out;
}

/* The status of a test in the JSON document. */
static const char *end_name(const struct driver_test *t)
{
    static const char *const names[] = {[CHILD_EXITED] = "exited",
                                        [CHILD_SIGNALLED] = "crashed",
                                        [CHILD_HUNG] = "hung",
                                        [CHILD_STOPPED] = "interrupted",
                                        [CHILD_NOT_RUN] = "not tried"};
    if (t->load_error)
        return "does not load";
    return t->end == CHILD_EXITED && t->is_done ? "ok" : names[t->end];
}

json_t *doctor_drivers_json(const struct doctor *d)
{
    json_t *out = json_array();
    for (size_t i = 0; d->by_driver && i < d->icds.n; i++) {
        const struct driver_test *t = &d->by_driver[i];
        struct xl__str reason = {0};
        json_t *one = json_object();
        bool failed = driver_test_failure(t, &reason);
        json_put(one, "file", json_text(d->icds.list[i].file));
        json_put(one, "library", json_text(d->icds.list[i].library));
        json_put(one, "status", json_text(end_name(t)));
        json_put(one, "reason",
                 json_text(failed ? xl__str_text(&reason) : t->load_error));
        json_put(one, "seconds", json_number(t->took_s));
        json_put(one, "platforms", platforms_json(t));
        json_put(one, "devices", doctor_devices_json(t));
        json_add(out, one);
        xl__str_clear(&reason);
    }
    return out;
}
