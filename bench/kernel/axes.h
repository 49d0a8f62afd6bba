/* SPDX-License-Identifier: Apache-2.0 */
/* Axes: names with one or several values each, of which all combinations are
 * timed. --size and -D are lists of them:
 *
 *   NAME=VALUE[,VALUE...][,NAME=VALUE...]...     N=1024,4096,M=8
 *
 * A name alone, as the first of a list, has the value 1. */
#ifndef CLBENCH_KERNEL_AXES_H
#define CLBENCH_KERNEL_AXES_H

#include "cli/options.h"
#include "kernel/formula.h"

enum { AXES_MOST = 12, AXIS_VALUES_MOST = 64 };
struct axis {
    char *name; /* on the heap, like each value */
    char *value[AXIS_VALUES_MOST];
    unsigned n;
};

struct axes {
    struct axis at[AXES_MOST];
    unsigned n;
};

/* Read the lists of an option. False: *why is the message. axes_clear() in any
 * case. */
bool axes_read(const struct option_list *lists, struct axes *out,
               struct xl__str *why);
void axes_clear(struct axes *a);
/* The number of combinations; `most` + 1 when there are more than `most`. */
unsigned axes_combinations(const struct axes *a, unsigned most);
/* The value of axis `axis` in combination i; the last axis varies fastest. */
const char *axes_value(const struct axes *a, unsigned i, unsigned axis);

/* Append combination i as bindings. The value of a size must be a formula over
 * the bindings before it; that of a -D need not be a number. False: *why is
 * the message. */
bool axes_bind_sizes(const struct axes *a, unsigned i, struct bindings *out,
                     struct xl__str *why);
bool axes_bind_defines(const struct axes *a, unsigned i, struct bindings *out,
                       struct xl__str *why);
/* The axes with one value. */
bool axes_bind_constants(const struct axes *a, struct bindings *out,
                         struct xl__str *why);

#endif
