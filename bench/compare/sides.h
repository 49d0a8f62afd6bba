/* SPDX-License-Identifier: Apache-2.0 */
/* The same cases on several devices, side by side: of a run with
 * --all-devices, of a result file, or of several. Two tables with a line for
 * each case, whatever kernel ran it: the best of each device, and the same
 * kernel on all of them. */
#ifndef CLBENCH_SIDES_H
#define CLBENCH_SIDES_H

#include "cli/console.h"
#include "results/result.h"

/* A column: A, B, ... in their order. */
struct side {
    const void *key;  /* `dev` of its rows */
    const char *name; /* in the legend; NULL: the caller has one */
};

enum { SIDES_MOST = 26 };

struct sides {
    const struct result_table *rows; /* of one op, or of probes */
    const struct side *list;
    unsigned n;
    char first;          /* letter of the first: 'A' or 'a' */
    const char *kernel;  /* --same-kernel; NULL: each that all devices ran */
    struct notes *notes; /* reasons are added to it; NULL: no numbers */
    const struct settings *set; /* for the notes */
};

void sides_show(const struct sides *s, const struct display *to);

#endif
