/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a report: the rows of one table, with what is said around them. A
 * run shows its parts as they are measured, `clbench report` those of a file;
 * both come this way. */
#ifndef CLBENCH_PART_H
#define CLBENCH_PART_H

#include "cli/console.h"
#include "results/result.h"
#include "cli/table.h"

struct part_device {
    const void *key; /* the rows' `dev` */
    unsigned index;
    const char *name;
};

struct part {
    const char *title, *note; /* NULL: none */
    const struct part_device *devices;
    unsigned n_devices;
    const struct settings *set; /* of the run */
    struct rows rows;
    struct notes notes;         /* made while it is shown */
};

/* Points of a curve are for files and for who asks for all, unless one is
 * wrong. */
bool part_wants(const xl_row *row, const struct settings *set);
/* Nothing when there are no rows. */
void part_show(struct part *p, const struct display *to);

/* The same cases with several devices side by side. */
void part_devices(struct part *p, const struct display *to);

#endif
