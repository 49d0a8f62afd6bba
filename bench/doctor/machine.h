/* SPDX-License-Identifier: Apache-2.0 */
/* What the operating system knows of devices, asked without any driver: what
 * sits on the PCI bus, device nodes, whether this is a container. */
#ifndef CLBENCH_MACHINE_H
#define CLBENCH_MACHINE_H

#include <stdbool.h>

#include "base/os/files.h"

/* "docker", "podman", a word of the control group; NULL: no container that
 * shows. Static. */
const char *machine_container(void);

struct machine_gpu {
    char pci[32];    /* "0000:01:00.0" */
    unsigned vendor; /* PCI vendor id */
    char driver[64]; /* kernel module bound to it; "": none, or not known */
};

/* Every display controller and processing accelerator on the PCI bus. */
void machine_gpus(void (*each)(const struct machine_gpu *gpu, void *arg),
                  void *arg);

/* Every device node that fits `pattern`, whose last letter may be '#': one or
 * more digits. How many there are. */
unsigned machine_nodes(const char *pattern,
                       void (*each)(const char *path, enum xl__access may,
                                    void *arg),
                       void *arg);

#endif
