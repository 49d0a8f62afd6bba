/* SPDX-License-Identifier: Apache-2.0 */
/* A roofline in letters: both axes logarithmic, bandwidths as rising lines,
 * peaks as level ones, kernels as letters of their own. */
#ifndef CLBENCH_ROOF_PICTURE_H
#define CLBENCH_ROOF_PICTURE_H

#include <stdbool.h>

#include "base/str.h"

/* A ceiling: bytes a second, or flop a second. */
struct roof_line {
    const char *name;
    double rate;
    bool is_memory;
};

/* A kernel: flop a byte, flop a second. */
struct roof_mark {
    double intensity, rate;
    char letter;
};

struct roof_picture {
    const struct roof_line *lines;
    unsigned n_lines;
    const struct roof_mark *marks;
    unsigned n_marks;
};

/* The best or the least rate of memories, or of peaks; 0 and infinity: there
 * are none. */
double roof_best(const struct roof_picture *p, bool is_memory);
double roof_least(const struct roof_picture *p, bool is_memory);
/* The part of the plane to show, in powers of 2: from half of the smallest
 * ridge to twice the last one, and every kernel. */
struct roof_frame {
    double x0, x1, y0, y1;
};
struct roof_frame roof_frame(const struct roof_picture *p);

/* Append lines of at most `columns`; nothing without a bandwidth and a peak. */
void roof_draw(struct xl__str *out, const struct roof_picture *p,
               unsigned columns);

#endif
