/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks take a second or two each, so only those of a row's own engine are
 * measured, when it comes up. */
#include "timing/roof.h"

#include <string.h>

xl_roof roof_usual(xl_dtype dtype)
{
    const xl_roof usual = {.dtype = dtype == XL_F64 ? XL_F64 : XL_F32};
    return usual;
}

static xl_status measure(xl_queue *q, const xl_roof *roof, bool again)
{
    if (roof->engine == XL_ENGINE_MATRIX)
        return xl_peaks_measure_matrix(q, roof->dtype, again);
    return again ? xl_peaks_measure_again(q, roof->dtype)
                 : xl_peaks_measure(q, roof->dtype);
}

xl_status roof_bound(xl_queue *q, const xl_roof *wanted, const xl_row *row,
                     bool again, xl_bound *out)
{
    xl_roof roof = *wanted;
    const bool is_rate = strcmp(row->unit, "B/s") == 0;
    if (is_rate)
        roof = roof_usual(row->dtype);
    /* A peak that stays unknown may be none that this row needs; a matrix
     * engine's that was not measured is what units and clock allow. */
    const double flop = is_rate ? 0 : row->flop;
    (void)measure(q, &roof, again);
    xl_status status =
        xl_roofline_bound(xl_queue_device(q), &roof, flop, row->bytes, out);
    if (status != XL_OK && roof.engine == XL_ENGINE_MATRIX) {
        roof = roof_usual(row->dtype);
        (void)measure(q, &roof, again);
        status = xl_roofline_bound(xl_queue_device(q), &roof, flop,
                                   row->bytes, out);
    }
    return status;
}
