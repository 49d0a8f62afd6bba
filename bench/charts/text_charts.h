/* SPDX-License-Identifier: Apache-2.0 */
/* Charts in letters, for the terminal: a roofline, and charts of shares. */
#ifndef CLBENCH_TEXT_CHARTS_H
#define CLBENCH_TEXT_CHARTS_H

#include <stdbool.h>

#include "base/str.h"

/* -- a roofline ----------------------------------------------------------- */

/* Both axes are logarithmic: bandwidths are rising lines, peaks level ones,
 * kernels letters. */

/* A ceiling: bytes a second, or flop a second. */
struct roof_line {
    const char *name;
    double rate;
    bool is_memory;
};

/* A kernel: flop per byte, flop per second. */
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

/* The highest or the lowest rate of memories, or of peaks; 0 and infinity:
 * there are none. */
double roof_best(const struct roof_picture *p, bool is_memory);
double roof_least(const struct roof_picture *p, bool is_memory);
/* The range of both axes, in powers of 2: from half of the smallest ridge to
 * twice the last one, and every kernel. */
struct roof_frame {
    double x0, x1, y0, y1;
};
struct roof_frame roof_frame(const struct roof_picture *p);

/* Append lines of at most `columns`; nothing without a bandwidth and a peak.
 */
void roof_draw(struct xl__str *out, const struct roof_picture *p,
               unsigned columns);

/* -- shares --------------------------------------------------------------- */

/* A chart of shares, 0 to 1: each column covers the shares least..most (NULL:
 * from 0). Append line `row` of `rows`, the top one 0: '#' where the range of
 * its column overlaps it, and in the lowest line wherever there is a column.
 */
void chart_line(struct xl__str *out, const double *least, const double *most,
                unsigned columns, unsigned row, unsigned rows);
/* A share as one letter, darker for more: " .:-=+*#%@". */
char chart_shade(double share);

#endif
