/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ever more equal groups: how wide the steps are, and which count is
 * to be timed next so that a step is found in few. */
#include <math.h>

#include "base/alloc.h"
#include "measure/probe.h"

static const double rise = 1.5; /* of the first time: between 1 and 2 */

/* The best line t = a + b * ceil(groups / width), by relative least squares;
 * how far off it is, on average. A step is `steep` where b is a good part of
 * the first step's time. */
static double off_line(const struct xl__stair *at, unsigned n, unsigned width,
                       bool *steep)
{
    static const double least_step = 0.3;
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, off = 0;
    for (unsigned i = 0; i < n; i++) {
        const double u = 1 / at[i].ns;
        const double v = u * (double)xl__ceil_div(at[i].groups, width);
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    const double det = uu * vv - uv * uv;
    const double a = (u1 * vv - v1 * uv) / det;
    const double b = (v1 * uu - u1 * uv) / det;
    for (unsigned i = 0; i < n; i++) {
        const double s = (double)xl__ceil_div(at[i].groups, width);
        off += fabs((a + b * s) / at[i].ns - 1) / n;
    }
    *steep = b >= least_step * (a + b);
    return off;
}

double xl__stairs_width(const struct xl__stair *at, unsigned n)
{
    static const double good = 0.08;
    size_t most = 0;
    double best = INFINITY;
    unsigned width = 0;
    bool line_steep;
    for (unsigned i = 0; i < n; i++)
        most = xl__max_size(most, at[i].groups);
    if (most < 2)
        return NAN;
    const double line = off_line(at, n, 1, &line_steep);
    for (unsigned w = 1; w < most; w++) {
        bool steep;
        const double off = off_line(at, n, w, &steep);
        if (steep && off < best) {
            best = off;
            width = w;
        }
    }
    /* Work that is handed out by the dozen, or a slope, fits nothing well, or
     * everything alike. */
    if (!(best <= good) || (width > 1 && best > line / 2))
        return NAN;
    return width;
}

size_t xl__stairs_edge(const struct xl__stair *at, unsigned n)
{
    size_t high = SIZE_MAX, low = 0;
    for (unsigned i = 0; i < n; i++) {
        if (at[i].ns >= rise * at[0].ns)
            high = xl__min_size(high, at[i].groups);
    }
    for (unsigned i = 0; i < n; i++) {
        if (at[i].groups < high)
            low = xl__max_size(low, at[i].groups);
    }
    return high == SIZE_MAX ? 0 : low;
}

size_t xl__stairs_next(const struct xl__stair *at, unsigned n, size_t least,
                       size_t most)
{
    const size_t edge = xl__stairs_edge(at, n);
    size_t far = 0, above = SIZE_MAX;
    for (unsigned i = 0; i < n; i++) {
        far = xl__max_size(far, at[i].groups);
        if (at[i].groups > edge)
            above = xl__min_size(above, at[i].groups);
    }
    if ((!edge || far < least) && far <= most / 2)
        return 2 * far;
    return edge && above > edge + 1 ? edge + (above - edge) / 2 : 0;
}
