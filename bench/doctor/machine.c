/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hardware without an OpenCL driver: compares the devices that the
 * operating system lists with those that OpenCL runs on, checks the
 * permissions of device nodes, and detects containers. Uses sysfs, /dev and
 * the marks of container engines on Linux; elsewhere these files are absent
 * and nothing is found. Vendor data (PCI ids, device nodes, advice) is in
 * cli/hints.c. */
#include "doctor/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/os/files.h"
#include "base/str.h"
#include "cli/hints.h"
#include "doctor/doctor.h"
#include "results/json.h"

static const char hardware_section[] = "Hardware";

struct machine_gpu {
    char pci[32];    /* "0000:01:00.0" */
    unsigned vendor; /* PCI vendor id */
    char driver[64]; /* kernel module bound to it; "": none, or not known */
};

/* The container engine: "docker", "podman", or a name found in the control
 * group; NULL: no container detected. Static. */
static const char *find_container(void)
{
    static const struct {
        const char *file, *name;
    } marks[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}};
    static const char *const engines[] = {"docker", "kubepods", "containerd",
                                          "libpod", "lxc"};
    const char *found = NULL;
    char *groups = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (xl__path_access(marks[i].file) != XL__ABSENT)
            return marks[i].name;
    if (xl__file_read("/proc/1/cgroup", &groups, &len) != XL_OK)
        return NULL;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0] && !found; i++)
        if (strstr(groups, engines[i]))
            found = engines[i];
    free(groups);
    return found;
}

/* -- PCI ------------------------------------------------------------------ */

static const char pci_devices[] = "/sys/bus/pci/devices";

/* Reads a file of a PCI device as a hexadecimal number; 0: unknown. */
static unsigned long pci_number(const char *pci, const char *name)
{
    enum { HEXADECIMAL = 16 };
    struct xl__str path = {0};
    char *text = NULL;
    size_t len = 0;
    unsigned long number = 0;
    xl__str_printf(&path, "%s/%s/%s", pci_devices, pci, name);
    if (xl__file_read(xl__str_text(&path), &text, &len) == XL_OK)
        number = strtoul(text, NULL, HEXADECIMAL);
    free(text);
    xl__str_clear(&path);
    return number;
}

/* Reads the name of the kernel module from the line "DRIVER=x" of uevent. */
static void pci_driver(const char *pci, char *out, size_t cap)
{
    static const char mark[] = "DRIVER=";
    struct xl__str path = {0};
    char *text = NULL;
    size_t len = 0;
    xl__strcpy(out, cap, "");
    xl__str_printf(&path, "%s/%s/uevent", pci_devices, pci);
    if (xl__file_read(xl__str_text(&path), &text, &len) == XL_OK) {
        char *at = strstr(text, mark);
        if (at) {
            at += sizeof mark - 1;
            at[strcspn(at, "\n")] = 0;
            xl__strcpy(out, cap, at);
        }
    }
    free(text);
    xl__str_clear(&path);
}

struct gpu_scan {
    void (*each)(const struct machine_gpu *gpu, void *arg);
    void *arg;
};

/* Visits a PCI device if it is a display controller or accelerator. */
static bool visit_pci_device(const char *pci, void *scan)
{
    /* Base classes of the PCI Code and ID Assignment Specification. The lower
     * two bytes of the class are subclass and interface. */
    enum { BASE_CLASS_SHIFT = 16, DISPLAY = 0x03, ACCELERATOR = 0x12 };
    struct gpu_scan *w = scan;
    unsigned long base = pci_number(pci, "class") >> BASE_CLASS_SHIFT;
    if (base != DISPLAY && base != ACCELERATOR)
        return true;
    struct machine_gpu gpu = {.vendor = (unsigned)pci_number(pci, "vendor")};
    xl__strcpy(gpu.pci, sizeof gpu.pci, pci);
    pci_driver(pci, gpu.driver, sizeof gpu.driver);
    w->each(&gpu, w->arg);
    return true;
}

/* Calls `each` for every display controller and processing accelerator on the
 * PCI bus. */
static void scan_gpus(void (*each)(const struct machine_gpu *gpu, void *arg),
                      void *arg)
{
    struct gpu_scan scan = {each, arg};
    (void)xl__dir_names(pci_devices, visit_pci_device, &scan);
}

/* -- device nodes --------------------------------------------------------- */

struct node_scan {
    const char *stem; /* of the file name, before the digits */
    struct xl__str path;
    size_t dir_len;
    unsigned n;
    void (*each)(const char *path, enum xl__access may, void *arg);
    void *arg;
};

static void visit_node(struct node_scan *w, const char *name)
{
    w->path.len = w->dir_len;
    w->path.text[w->dir_len] = 0;
    xl__str_add(&w->path, name);
    enum xl__access may = xl__path_access(xl__str_text(&w->path));
    if (may == XL__ABSENT || w->path.broken)
        return;
    w->n++;
    w->each(w->path.text, may, w->arg);
}

/* Visits a directory entry if it matches the pattern. */
static bool visit_name(const char *name, void *scan)
{
    struct node_scan *w = scan;
    size_t n = strcspn(w->stem, "#");
    bool is_match = strncmp(name, w->stem, n) == 0 && name[n];
    for (const char *digit = name + n; is_match && *digit; digit++)
        is_match = isdigit((unsigned char)*digit) != 0;
    if (is_match)
        visit_node(w, name);
    return true;
}

/* Calls `each` for every device node that matches `pattern`, which may end in
 * '#': one or more digits. Returns their number. */
static unsigned scan_nodes(const char *pattern,
                           void (*each)(const char *path, enum xl__access may,
                                        void *arg),
                           void *arg)
{
    struct node_scan scan = {.each = each, .arg = arg};
    const char *slash = strrchr(pattern, '/');
    if (!slash)
        return 0;
    scan.stem = slash + 1;
    scan.dir_len = (size_t)(scan.stem - pattern);
    xl__str_add_n(&scan.path, pattern, scan.dir_len);
    if (scan.path.broken)
        return 0;
    if (!strchr(pattern, '#')) {
        visit_node(&scan, scan.stem);
    } else {
        struct xl__str dir = {0};
        xl__str_add_n(&dir, pattern, scan.dir_len);
        (void)xl__dir_names(xl__str_text(&dir), visit_name, &scan);
        xl__str_clear(&dir);
    }
    xl__str_clear(&scan.path);
    return scan.n;
}

/* -- findings ------------------------------------------------------------- */

/* What was found of one vendor. */
struct vendor_scan {
    struct doctor *d;
    const struct advice_vendor *vendor;
    char pci[32];    /* of its first GPU on the bus; "": none found */
    char module[64]; /* kernel module bound to it */
    unsigned n_gpus, n_nodes, n_denied;
    struct xl__str denied; /* path of the first */
};

static void count_gpu(const struct machine_gpu *gpu, void *arg)
{
    struct vendor_scan *at = arg;
    if (!at->vendor->pci_id || gpu->vendor != at->vendor->pci_id)
        return;
    if (at->n_gpus++ == 0) {
        xl__strcpy(at->pci, sizeof at->pci, gpu->pci);
        xl__strcpy(at->module, sizeof at->module, gpu->driver);
    }
}

static void count_node(const char *path, enum xl__access may, void *arg)
{
    struct vendor_scan *at = arg;
    at->n_nodes++;
    if (may == XL__WRITABLE)
        return;
    if (at->n_denied++ == 0)
        xl__str_add(&at->denied, path);
}

/* True if a working OpenCL device belongs to this vendor's hardware. A
 * platform may support devices of several vendors: if both PCI addresses are
 * known, they decide. */
static bool is_device_of(const struct advice_vendor *vendor, const char *pci,
                         const struct driver_test_device *dev)
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

/* True if some working OpenCL device belongs to the hardware of this
 * vendor. */
static bool is_driven(const struct vendor_scan *at)
{
    const struct doctor *d = at->d;
    bool is = false;
    for (size_t i = 0; i < d->all_drivers.n_devices; i++)
        is |= is_device_of(at->vendor, at->pci, &d->all_drivers.devices[i]);
    for (size_t k = 0; d->by_driver && k < d->icds.n; k++)
        for (size_t i = 0; i < d->by_driver[k].n_devices; i++)
            is |=
                is_device_of(at->vendor, at->pci, &d->by_driver[k].devices[i]);
    return is;
}

/* Reports device nodes that are missing or may not be opened. */
static void report_nodes(struct vendor_scan *at)
{
    const struct advice_vendor *v = at->vendor;
    struct xl__str todo = {0};
    for (size_t i = 0; v->nodes[i]; i++) {
        unsigned before = at->n_nodes;
        (void)scan_nodes(v->nodes[i], count_node, at);
        if (at->n_nodes > before)
            continue;
        findings_add(&at->d->findings, FINDING_NOTE, hardware_section,
                     at->d->container ? v->container : NULL,
                     "%s: device node %s does not exist", v->name,
                     v->nodes[i]);
    }
    if (at->n_denied > 0) {
        xl__str_printf(&todo,
                       "Become a member of group %s (`sudo usermod -aG GROUP "
                       "$USER`), then log in again",
                       *v->groups ? v->groups : "of that file");
        findings_add(&at->d->findings, FINDING_PROBLEM, hardware_section,
                     xl__str_text(&todo),
                     "%s: no permission to read and write %s", v->name,
                     xl__str_text(&at->denied));
    }
    xl__str_clear(&todo);
}

/* Reports whether OpenCL uses the hardware of a vendor. */
static void report_vendor(struct vendor_scan *at)
{
    struct findings *f = &at->d->findings;
    const struct advice_vendor *v = at->vendor;
    const char *todo = at->d->container ? v->container : v->install;
    struct xl__str where = {0};
    if (*at->pci)
        xl__str_printf(&where,
                       "%u on the PCI bus, first at %s, kernel module "
                       "%s",
                       at->n_gpus, at->pci, *at->module ? at->module : "none");
    else
        xl__str_add(&where, "found by its device nodes");
    if (is_driven(at))
        findings_add(f, FINDING_OK, hardware_section, NULL,
                     "%s device (%s): used by an OpenCL driver", v->name,
                     xl__str_text(&where));
    else
        findings_add(f, FINDING_PROBLEM, hardware_section, todo,
                     "%s device (%s): no OpenCL driver supports it", v->name,
                     xl__str_text(&where));
    xl__str_clear(&where);
    if (!is_driven(at))
        report_nodes(at);
}

static void ignore_node(const char *path, enum xl__access may, void *arg)
{
    (void)path;
    (void)may;
    (void)arg;
}

/* True if the first device node of the vendor exists and its name is used by
 * this vendor only. */
static bool has_own_node(const struct advice_vendor *v)
{
    const char *first = v->nodes[0];
    return first && !strchr(first, '#') &&
           scan_nodes(first, ignore_node, NULL) > 0;
}

/* Adds a GPU to the JSON list. */
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
    d->container = find_container();
    d->gpus = json_array();
    scan_gpus(list_gpu, d->gpus);
    if (d->container)
        findings_add(f, FINDING_NOTE, hardware_section, NULL,
                     "this is a container (%s): a device needs its .icd file, "
                     "library and device nodes inside",
                     d->container);
    for (const struct advice_vendor *v = advice_vendors; v->name; v++) {
        struct vendor_scan at = {.d = d, .vendor = v};
        scan_gpus(count_gpu, &at);
        if (at.n_gpus > 0 || has_own_node(v)) {
            report_vendor(&at);
            n_seen++;
        }
        xl__str_clear(&at.denied);
    }
    if (n_seen == 0)
        findings_add(f, FINDING_OK, hardware_section, NULL,
                     "no GPU found on the PCI bus or by device nodes: OpenCL "
                     "runs on the CPU");
}
