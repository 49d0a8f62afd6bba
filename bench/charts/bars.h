/* SPDX-License-Identifier: Apache-2.0 */
/* Values by name, one below the other: bars from 0 on a linear axis, marks on
 * a logarithmic one, where bars would have no beginning. */
#ifndef CLBENCH_BARS_H
#define CLBENCH_BARS_H

#include "charts/plot.h"

struct bar {
    char name[PLOT_LABEL];
    double value, low, high; /* low and high NaN: no interval */
    unsigned series;
    bool is_hollow;          /* it is not to be relied on */
    char tip[PLOT_TIP];
};

struct bars {
    struct bar *at;
    size_t n, cap;
};

/* False: the axis cannot show it, or no memory. It grows to hold it. */
bool bars_add(struct bars *bars, struct plot_axis *axis,
              const struct bar *bar);
void bars_clear(struct bars *bars);
/* From y on; the y below. `line`: a value with a line through all; NaN:
 * none. */
double bars_draw(struct xl__str *out, const struct bars *bars,
                 struct plot_axis axis, double line, double y);

#endif
