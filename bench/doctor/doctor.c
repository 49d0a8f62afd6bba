/* SPDX-License-Identifier: Apache-2.0 */
/* The loader, and each driver: tried alone in a child process, then all of
 * them in one, since drivers may disturb each other. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/hints.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "doctor/doctor.h"
#include "results/json.h"
#include "cli/session.h"

static const char loader_part[] = "Loader", drivers_part[] = "Drivers",
                  devices_part[] = "Devices";

/* -- the loader ----------------------------------------------------------- */

static void examine_loader(struct doctor *d)
{
    const struct trial_of nothing = {.nothing = true};
    struct xl__str story = {0};
    struct findings *f = &d->findings;
    d->loader_path = icd_loader_path();
    trial_run(&nothing, d->s->set.patience_s, session_stopped, d->s,
              &d->loader);
    const char *path = d->loader_path ? d->loader_path : "the system's own";
    if (d->loader.loader)
        findings_add(f, FINDING_OK, loader_part, NULL, "%s (%s)", path,
                     d->loader.loader);
    else
        findings_add(f, FINDING_OK, loader_part, NULL,
                     "%s, which does not say who made it", path);
    if (trial_failure(&d->loader, &story))
        findings_add(
            f, d->loader.end == CHILD_NOT_RUN ? FINDING_NOTE : FINDING_PROBLEM,
            loader_part,
            d->loader.end == CHILD_NOT_RUN
                ? NULL
                : "Install the loader anew (ocl-icd-libopencl1)",
            "without any driver it %s", xl__str_text(&story));
    xl__str_clear(&story);
    const char *from = d->icds.variable ? d->icds.variable : "the usual place";
    if (!d->icds.is_read)
        findings_add(f, FINDING_PROBLEM, loader_part,
                     d->icds.variable
                         ? "Set the variable to a folder of .icd files, or "
                           "unset it"
                         : "Install a driver: it brings the folder",
                     "drivers are looked for in %s (%s), which cannot be read",
                     d->icds.place, from);
    else
        findings_add(
            f, d->icds.n > 0 ? FINDING_OK : FINDING_PROBLEM, loader_part,
            d->icds.n > 0 ? NULL : "Install a driver; each brings one",
            "%zu .icd %s in %s (%s)", d->icds.n,
            d->icds.n == 1 ? "file" : "files", d->icds.place, from);
}

/* -- one driver ----------------------------------------------------------- */

static const char *icd_name(const struct icd *icd)
{
    return icd->file ? xl__path_name(icd->file) : icd->library;
}

static const char *why_no_device(const char *platform)
{
    const struct advice_platform *a = advice_platforms;
    while (a->platform && !xl__str_contains(platform, a->platform))
        a++;
    return a->no_device;
}

static void judge_version(struct findings *f, const char *platform,
                          const char *version)
{
    const struct advice_driver *row = NULL;
    if (platform && version && advice_too_old(platform, version, &row))
        findings_add(f, FINDING_PROBLEM, drivers_part, "Install a newer one",
                     "%s %s is too old for a path we would take: %s", platform,
                     version, row->why);
}

static void judge_platform(struct findings *f, const char *name,
                           const struct trial_platform *p)
{
    if (p->n_devices == 0)
        findings_add(f, FINDING_NOTE, drivers_part, why_no_device(p->name),
                     "%s: platform %s (%s) shows no device here", name,
                     p->name, p->version);
    else
        findings_add(f, FINDING_OK, drivers_part, NULL,
                     "%s: platform %s (%s), %u %s", name, p->name, p->version,
                     p->n_devices, p->n_devices == 1 ? "device" : "devices");
}

static void judge_alone(struct doctor *d, const struct icd *icd,
                        const struct trial *t)
{
    struct findings *f = &d->findings;
    struct xl__str story = {0};
    const char *name = icd_name(icd);
    bool is_untried = t->end == CHILD_NOT_RUN || t->end == CHILD_STOPPED;
    if (t->load_error)
        findings_add(f, FINDING_PROBLEM, drivers_part,
                     "Install the package that brings this library, or remove "
                     "the file",
                     "%s names %s, which does not load: %s", name,
                     icd->library, t->load_error);
    for (size_t i = 0; i < t->n_platforms; i++)
        judge_platform(f, name, &t->platforms[i]);
    for (size_t i = 0; i < t->n_devices; i++)
        judge_version(f, t->devices[i].platform, t->devices[i].driver);
    if (trial_failure(t, &story))
        findings_add(
            f, is_untried ? FINDING_NOTE : FINDING_PROBLEM, drivers_part,
            is_untried ? NULL
                       : "It takes every OpenCL program down with "
                         "it: repair or remove this driver, or set "
                         "OCL_ICD_VENDORS to a folder with the .icd "
                         "files of the others",
            "%s: driver %s %s", name, icd->library, xl__str_text(&story));
    else if (!t->load_error && t->n_platforms == 0)
        findings_add(f, FINDING_NOTE, drivers_part,
                     "Usual where the hardware it drives is absent, or its "
                     "device node may not be opened; else install its package "
                     "anew",
                     "%s: %s loads, and gives no platform", name,
                     icd->library);
    xl__str_clear(&story);
}

static void examine_alone(struct doctor *d)
{
    d->alone = xl__calloc(d->icds.n + 1, sizeof *d->alone);
    for (size_t i = 0; d->alone && i < d->icds.n; i++) {
        const struct icd *icd = &d->icds.list[i];
        const struct trial_of one = {.library = icd->library};
        d->alone[i].end = CHILD_NOT_RUN;
        if (session_interrupted())
            continue;
        if (!icd->library) {
            findings_add(&d->findings, FINDING_PROBLEM, drivers_part,
                         "Its first line must name the driver's library",
                         "%s cannot be read, or is empty", icd_name(icd));
            continue;
        }
        trial_run(&one, d->s->set.patience_s, session_stopped, d->s,
                  &d->alone[i]);
        judge_alone(d, icd, &d->alone[i]);
    }
}

/* -- all in one process --------------------------------------------------- */

static void judge_device(struct doctor *d, const struct trial_device *dev)
{
    if (dev->works) {
        d->n_usable++;
        findings_add(&d->findings, FINDING_OK, devices_part, NULL,
                     "device %u: %s (%s, %s, driver %s, %s)", dev->index,
                     dev->name, dev->type, dev->platform, dev->driver,
                     dev->cl_version);
    } else {
        findings_add(&d->findings, FINDING_PROBLEM, devices_part,
                     "Try a newer driver; `clbench limits` shows what this "
                     "one says of its device",
                     "device %u: %s (%s) does not run a kernel: %s",
                     dev->index, dev->name, dev->platform,
                     dev->story ? dev->story : "it ended the program");
    }
}

/* The library's story ends by naming this command; that part is left out. */
static void judge_refusal(struct findings *f, const struct trial *t)
{
    const char *end = strstr(t->refusal, "; `clbench doctor`");
    int len = (int)(end ? (size_t)(end - t->refusal) : strlen(t->refusal));
    if (t->n_platforms == 0)
        findings_add(f, FINDING_PROBLEM, devices_part, NULL,
                     "no driver gives a platform, so there is no device");
    else
        findings_add(f, FINDING_PROBLEM, devices_part, NULL, "%.*s", len,
                     t->refusal);
}

static void examine_together(struct doctor *d)
{
    const struct trial_of everything = {.library = NULL};
    struct findings *f = &d->findings;
    struct xl__str story = {0};
    if (session_interrupted())
        return;
    trial_run(&everything, d->s->set.patience_s, session_stopped, d->s,
              &d->together);
    const struct trial *t = &d->together;
    bool has_failed = trial_failure(t, &story);
    for (size_t i = 0; i < t->n_devices; i++)
        judge_device(d, &t->devices[i]);
    if (t->refusal)
        judge_refusal(f, t);
    if (has_failed && t->end != CHILD_NOT_RUN && t->end != CHILD_STOPPED) {
        d->n_usable = 0;
        findings_add(f, FINDING_PROBLEM, devices_part,
                     "Drivers may disturb each other: set OCL_ICD_VENDORS to "
                     "a folder with the .icd file of one",
                     "with all drivers in one process, one of them %s",
                     xl__str_text(&story));
    }
    xl__str_clear(&story);
}

/* A driver that dies or hangs alone does so in any company. */
static const struct icd *first_that_failed(const struct doctor *d)
{
    for (size_t i = 0; d->alone && i < d->icds.n; i++)
        if (d->alone[i].end == CHILD_SIGNALLED ||
            d->alone[i].end == CHILD_HUNG ||
            (d->alone[i].end == CHILD_EXITED && !d->alone[i].is_done))
            return &d->icds.list[i];
    return NULL;
}

void doctor_drivers(struct doctor *d)
{
    icds_read(&d->icds);
    examine_loader(d);
    examine_alone(d);
    const struct icd *bad = first_that_failed(d);
    if (!bad) {
        examine_together(d);
        return;
    }
    for (size_t i = 0; i < d->icds.n; i++)
        for (size_t k = 0; k < d->alone[i].n_devices; k++)
            if (d->alone[i].devices[k].works)
                findings_add(&d->findings, FINDING_NOTE, devices_part, NULL,
                             "%s (%s) works when its driver is alone",
                             d->alone[i].devices[k].name,
                             d->alone[i].devices[k].platform);
    findings_add(&d->findings, FINDING_PROBLEM, devices_part, NULL,
                 "no device can be used while %s is there", icd_name(bad));
}

/* -- JSON ----------------------------------------------------------------- */

json_t *doctor_devices_json(const struct trial *t)
{
    json_t *out = json_array();
    for (size_t i = 0; i < t->n_devices; i++) {
        const struct trial_device *dev = &t->devices[i];
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
        json_put(one, "reason", json_text(dev->story));
        json_add(out, one);
    }
    return out;
}

static json_t *platforms_json(const struct trial *t)
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

static const char *end_name(const struct trial *t)
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
    for (size_t i = 0; d->alone && i < d->icds.n; i++) {
        const struct trial *t = &d->alone[i];
        struct xl__str story = {0};
        json_t *one = json_object();
        bool failed = trial_failure(t, &story);
        json_put(one, "file", json_text(d->icds.list[i].file));
        json_put(one, "library", json_text(d->icds.list[i].library));
        json_put(one, "status", json_text(end_name(t)));
        json_put(one, "reason",
                 json_text(failed ? xl__str_text(&story) : t->load_error));
        json_put(one, "seconds", json_number(t->took_s));
        json_put(one, "platforms", platforms_json(t));
        json_put(one, "devices", doctor_devices_json(t));
        json_add(out, one);
        xl__str_clear(&story);
    }
    return out;
}
