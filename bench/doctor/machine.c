/* SPDX-License-Identifier: Apache-2.0 */
/* What Linux knows of devices: sysfs, /dev, the marks that container engines
 * leave. Elsewhere these files are absent and nothing is found. */
#include "doctor/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

const char *machine_container(void)
{
    static const struct {
        const char *file, *name;
    } marks[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}};
    static const char *const words[] = {"docker", "kubepods", "containerd",
                                        "libpod", "lxc"};
    const char *found = NULL;
    char *groups = NULL;
    size_t len = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (xl__path_access(marks[i].file) != XL__ABSENT)
            return marks[i].name;
    if (xl__file_read("/proc/1/cgroup", &groups, &len) != XL_OK)
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !found; i++)
        if (strstr(groups, words[i]))
            found = words[i];
    free(groups);
    return found;
}

/* -- PCI ------------------------------------------------------------------ */

static const char pci_devices[] = "/sys/bus/pci/devices";

/* A file of a PCI device, as a hexadecimal number; 0: not known. */
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

/* The driver's name, out of lines "DRIVER=x". */
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

struct gpu_walk {
    void (*each)(const struct machine_gpu *gpu, void *arg);
    void *arg;
};

static bool look_at(const char *pci, void *walk)
{
    /* Base classes of the PCI Code and ID Assignment Specification; the other
     * two bytes of the class tell kinds apart. */
    enum { BASE_CLASS_SHIFT = 16, DISPLAY = 0x03, ACCELERATOR = 0x12 };
    struct gpu_walk *w = walk;
    unsigned long base = pci_number(pci, "class") >> BASE_CLASS_SHIFT;
    if (base != DISPLAY && base != ACCELERATOR)
        return true;
    struct machine_gpu gpu = {.vendor = (unsigned)pci_number(pci, "vendor")};
    xl__strcpy(gpu.pci, sizeof gpu.pci, pci);
    pci_driver(pci, gpu.driver, sizeof gpu.driver);
    w->each(&gpu, w->arg);
    return true;
}

void machine_gpus(void (*each)(const struct machine_gpu *gpu, void *arg),
                  void *arg)
{
    struct gpu_walk walk = {each, arg};
    (void)xl__dir_names(pci_devices, look_at, &walk);
}

/* -- device nodes --------------------------------------------------------- */

struct node_walk {
    const char *stem; /* of the name, before the digits */
    struct xl__str path;
    size_t dir_len;
    unsigned n;
    void (*each)(const char *path, enum xl__access may, void *arg);
    void *arg;
};

static void give_node(struct node_walk *w, const char *name)
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

static bool fits(const char *name, void *walk)
{
    struct node_walk *w = walk;
    size_t n = strcspn(w->stem, "#");
    bool does = strncmp(name, w->stem, n) == 0 && name[n];
    for (const char *digit = name + n; does && *digit; digit++)
        does = isdigit((unsigned char)*digit) != 0;
    if (does)
        give_node(w, name);
    return true;
}

unsigned machine_nodes(const char *pattern,
                       void (*each)(const char *path, enum xl__access may,
                                    void *arg),
                       void *arg)
{
    struct node_walk walk = {.each = each, .arg = arg};
    const char *slash = strrchr(pattern, '/');
    if (!slash)
        return 0;
    walk.stem = slash + 1;
    walk.dir_len = (size_t)(walk.stem - pattern);
    xl__str_add_n(&walk.path, pattern, walk.dir_len);
    if (walk.path.broken)
        return 0;
    if (!strchr(pattern, '#')) {
        give_node(&walk, walk.stem);
    } else {
        struct xl__str dir = {0};
        xl__str_add_n(&dir, pattern, walk.dir_len);
        (void)xl__dir_names(xl__str_text(&dir), fits, &walk);
        xl__str_clear(&dir);
    }
    xl__str_clear(&walk.path);
    return walk.n;
}
