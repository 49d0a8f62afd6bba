/* SPDX-License-Identifier: Apache-2.0 */
/* The panels of the page's picture, shared by the two files that draw it: each
 * begins at y and tells where the next one does. */
#ifndef CLBENCH_SPLIT_SVG_H
#define CLBENCH_SPLIT_SVG_H

#include "tiling/split_page.h"
#include "charts/svg.h"

enum {
    SPLIT_EDGE = 8,
    SPLIT_LEFT = 44,
    SPLIT_RIGHT = 8,
    SPLIT_INNER = SVG_WIDTH - SPLIT_LEFT - SPLIT_RIGHT,
    SPLIT_GAP = 34,     /* between panels */
    SPLIT_LETTERS = 106 /* of a line of small text */
};

/* Title and note; the y below. */
double split_svg_panel(struct xl__str *out, double y, const char *title,
                       const char *note);
/* split_svg_charts.c: the share of units at work over time; the sawtooth. */
double split_svg_curves(struct xl__str *out, const struct split_page *p,
                        double y);
double split_svg_saw(struct xl__str *out, const struct split_page *p,
                     double y);

#endif
