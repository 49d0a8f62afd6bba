/* SPDX-License-Identifier: Apache-2.0 */
#include "charts/chart.h"

#include <math.h>

void chart_line(struct xl__str *out, const double *least, const double *most,
                unsigned columns, unsigned row, unsigned rows)
{
    /* A line stands for the shares around its middle. */
    const double low = (double)(rows - 1 - row) / rows;
    const double high = (double)(rows - row) / rows;
    for (unsigned i = 0; i < columns; i++) {
        const double from = least ? least[i] : 0;
        const bool is_in = most[i] > low && (from < high || row == 0);
        xl__str_add(out, is_in ? "#" : " ");
    }
}

char chart_shade(double share)
{
    static const char shades[] = " .:-=+*#%@";
    enum { N = sizeof shades - 1 };
    const double at = ceil(fmin(fmax(share, 0), 1) * (N - 1));
    return shades[(unsigned)at];
}
