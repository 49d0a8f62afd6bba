/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware that no driver shows, device nodes that may not be opened, and the
 * container that lacks them. Who needs what is data in advice.c. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/hints.h"
#include "doctor/doctor.h"
#include "results/json.h"
#include "doctor/machine.h"

static const char machine_part[] = "Hardware";

/* The loop over makers: what was seen of this one. */
struct sight {
    struct doctor *d;
    const struct advice_vendor *vendor;
    char pci[32];    /* of its first GPU on the bus; "" : none seen */
    char module[64]; /* kernel module bound to it */
    unsigned n_gpus, n_nodes, n_denied;
    struct xl__str denied; /* the first of them */
};

static void look_at_gpu(const struct machine_gpu *gpu, void *arg)
{
    struct sight *at = arg;
    if (!at->vendor->pci_id || gpu->vendor != at->vendor->pci_id)
        return;
    if (at->n_gpus++ == 0) {
        xl__strcpy(at->pci, sizeof at->pci, gpu->pci);
        xl__strcpy(at->module, sizeof at->module, gpu->driver);
    }
}

static void look_at_node(const char *path, enum xl__access may, void *arg)
{
    struct sight *at = arg;
    at->n_nodes++;
    if (may == XL__WRITABLE)
        return;
    if (at->n_denied++ == 0)
        xl__str_add(&at->denied, path);
}

/* Does a device that works belong to this maker's hardware? A platform may
 * drive several makers' devices: the PCI address decides where it is known. */
static bool drives(const struct advice_vendor *vendor, const char *pci,
                   const struct trial_device *dev)
{
    bool is_named = false;
    if (!dev->works || xl__streq(dev->type, "CPU"))
        return false;
    if (*pci && dev->pci && *dev->pci)
        return xl__streq(dev->pci, pci);
    for (size_t i = 0; vendor->platforms[i]; i++)
        is_named |= xl__str_contains(dev->platform, vendor->platforms[i]);
    return is_named;
}

static bool is_driven(const struct sight *at)
{
    const struct doctor *d = at->d;
    bool is = false;
    for (size_t i = 0; i < d->together.n_devices; i++)
        is |= drives(at->vendor, at->pci, &d->together.devices[i]);
    for (size_t k = 0; d->alone && k < d->icds.n; k++)
        for (size_t i = 0; i < d->alone[k].n_devices; i++)
            is |= drives(at->vendor, at->pci, &d->alone[k].devices[i]);
    return is;
}

static void judge_nodes(struct sight *at)
{
    const struct advice_vendor *v = at->vendor;
    struct xl__str todo = {0};
    for (size_t i = 0; v->nodes[i]; i++) {
        unsigned before = at->n_nodes;
        (void)machine_nodes(v->nodes[i], look_at_node, at);
        if (at->n_nodes > before)
            continue;
        findings_add(&at->d->findings, FINDING_NOTE, machine_part,
                     at->d->container ? v->container : NULL,
                     "%s: device node %s is not there", v->name, v->nodes[i]);
    }
    if (at->n_denied > 0) {
        xl__str_printf(&todo,
                       "Become a member of group %s (`sudo usermod -aG GROUP "
                       "$USER`), then log in anew",
                       *v->groups ? v->groups : "of that file");
        findings_add(&at->d->findings, FINDING_PROBLEM, machine_part,
                     xl__str_text(&todo), "%s: you may not read and write %s",
                     v->name, xl__str_text(&at->denied));
    }
    xl__str_clear(&todo);
}

static void judge_vendor(struct sight *at)
{
    struct findings *f = &at->d->findings;
    const struct advice_vendor *v = at->vendor;
    const char *todo = at->d->container ? v->container : v->install;
    struct xl__str place = {0};
    if (*at->pci)
        xl__str_printf(&place,
                       "%u on the PCI bus, first at %s, kernel module "
                       "%s",
                       at->n_gpus, at->pci, *at->module ? at->module : "none");
    else
        xl__str_add(&place, "seen by its device nodes");
    if (is_driven(at))
        findings_add(f, FINDING_OK, machine_part, NULL,
                     "%s device (%s): OpenCL drives it", v->name,
                     xl__str_text(&place));
    else
        findings_add(f, FINDING_PROBLEM, machine_part, todo,
                     "%s device (%s): no OpenCL driver shows it", v->name,
                     xl__str_text(&place));
    xl__str_clear(&place);
    if (!is_driven(at))
        judge_nodes(at);
}

static void ignore_node(const char *path, enum xl__access may, void *arg)
{
    (void)path;
    (void)may;
    (void)arg;
}

/* A node that only this maker's driver makes: others share names. */
static bool has_own_node(const struct advice_vendor *v)
{
    const char *first = v->nodes[0];
    return first && !strchr(first, '#') &&
           machine_nodes(first, ignore_node, NULL) > 0;
}

static void list_gpu(const struct machine_gpu *gpu, void *arg)
{
    json_t *one = json_object();
    const struct advice_vendor *v = advice_vendors;
    while (v->name && (!v->pci_id || v->pci_id != gpu->vendor))
        v++;
    json_put(one, "pci", json_text(gpu->pci));
    json_put(one, "vendor_id", json_integer(gpu->vendor));
    json_put(one, "vendor", json_text(v->name));
    json_put(one, "kernel_module",
             json_text(*gpu->driver ? gpu->driver : NULL));
    json_add(arg, one);
}

void doctor_machine(struct doctor *d)
{
    struct findings *f = &d->findings;
    unsigned n_seen = 0;
    d->container = machine_container();
    d->gpus = json_array();
    machine_gpus(list_gpu, d->gpus);
    if (d->container)
        findings_add(f, FINDING_NOTE, machine_part, NULL,
                     "this is a container (%s): a device needs its .icd file, "
                     "its library and its device nodes in here",
                     d->container);
    for (const struct advice_vendor *v = advice_vendors; v->name; v++) {
        struct sight at = {.d = d, .vendor = v};
        machine_gpus(look_at_gpu, &at);
        if (at.n_gpus > 0 || has_own_node(v)) {
            judge_vendor(&at);
            n_seen++;
        }
        xl__str_clear(&at.denied);
    }
    if (n_seen == 0)
        findings_add(f, FINDING_OK, machine_part, NULL,
                     "no GPU is seen on the PCI bus or by its device nodes: "
                     "OpenCL runs on the CPU here");
}
