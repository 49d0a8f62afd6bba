/* SPDX-License-Identifier: Apache-2.0 */
/* The ceilings of a roofline: found among a device's facts, drawn and named
 * in a plot that is laid out. */
#ifndef CLBENCH_FIGURE_CEILINGS_H
#define CLBENCH_FIGURE_CEILINGS_H

#include "charts/figure_data.h"
#include "charts/text_charts.h"

enum { FIGURE_CEILINGS = 16 }; /* at most */

struct figure_ceilings {
    const json_t *device;
    struct plot plot;
    struct roof_line lines[FIGURE_CEILINGS];
    struct roof_picture picture; /* of these lines, and the caller's marks */
    struct plot_labels taken;    /* what names keep clear of */
};

void figure_ceilings_find(struct figure_ceilings *d);
/* Was one of the memories, or of the peaks, measured? */
bool figure_ceilings_measured(const struct figure_ceilings *d, bool is_memory);
/* What names of peaks take on the right of the plot. */
double figure_ceilings_room(const struct figure_ceilings *d);
void figure_ceilings_draw(struct xl__str *out, struct figure_ceilings *d);

#endif
