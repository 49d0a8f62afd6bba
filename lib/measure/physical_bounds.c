/* SPDX-License-Identifier: Apache-2.0 */
/* Rates that no such device can exceed. The clock and the lanes that a driver
 * of a CPU states are those of a base clock and of one instruction set, so the
 * table of device/model.h has the most that any CPU does (CP-27); of a GPU
 * both are facts, and unknown ones give no bound. */
#include "measure/physical_bounds.h"

#include <math.h>
#include <string.h>

#include "device/peak_rates.h"

static double known_lanes(const struct xl__limits *l)
{
    const double most = xl__model(l, XL__M_most_lanes);
    const struct xl__answer *stated = &l->used[XL__F_simd_per_cu_f32];
    if (most > 0)
        return most;
    return stated->source == XL_KNOWN ? stated->value : NAN;
}

static double highest_clock(const struct xl__limits *l)
{
    const double most = xl__model(l, XL__M_most_clock_hz);
    return most > 0 ? most : xl__num(l, XL__F_clock_hz);
}

/* The engine's rate for the fastest of its types; a matrix ceiling that is a
 * sum of several products is lower. */
static double matrix_flop(const struct xl__limits *l)
{
    double most = NAN;
    for (int in = 0; in < XL_N_DTYPES; in++) {
        const double bound = xl__bound_matrix(l, (xl_dtype)in);
        most = bound > 0 ? fmax(most, bound) : most;
    }
    return most;
}

double xl__physical_flop(const struct xl__limits *l, const char *ceiling)
{
    static const char matrix[] = "matrix";
    if (strncmp(ceiling, matrix, sizeof matrix - 1) == 0)
        return matrix_flop(l);
    /* A ceiling of memory bounds products of either engine. */
    const double fma = 2 * xl__num(l, XL__F_compute_units) * known_lanes(l) *
                       highest_clock(l);
    return strncmp(ceiling, "fma", 3) == 0 ? fma : fmax(fma, matrix_flop(l));
}

double xl__physical_bytes(const struct xl__limits *l)
{
    return xl__model(l, XL__M_most_bytes_per_s);
}
