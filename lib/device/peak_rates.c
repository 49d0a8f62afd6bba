/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rates from facts: the measured peak where there is one, else
 *   2 flop x compute units x lanes x clock,
 * else a default for the class of device. */
#include "device/peak_rates.h"

#include <math.h>

/* Defaults for unknown facts, by class of device. They only rank variants. */
static const double guess_clock_hz = 1.5e9;
static const double guess_gpu_lanes = 64, guess_cpu_fma_units = 2;
static const double guess_gpu_bytes_per_unit_s = 16e9;
static const double guess_shared_bytes_per_s = 30e9;

static double compute_units(const struct xl__limits *l)
{
    return fmax(1, xl__num_or(l, XL__F_compute_units, 1));
}

/* f32 FMAs a compute unit starts per clock. */
static double fma_lanes(const struct xl__limits *l)
{
    const double vector = fmax(1, xl__num_or(l, XL__F_native_vector_f32, 1));
    return xl__num_or(l, XL__F_simd_per_cu_f32,
                      xl__is(l, XL__F_is_cpu) ? guess_cpu_fma_units * vector
                                              : guess_gpu_lanes);
}

double xl__rate_fma(const struct xl__limits *l)
{
    const double peak = xl__num(l, XL__F_peak_f32_flop_per_s);
    if (peak > 0)
        return peak;
    const double clock = xl__num_or(l, XL__F_clock_hz, guess_clock_hz);
    return 2 * compute_units(l) * fma_lanes(l) *
           (clock > 0 ? clock : guess_clock_hz);
}

/* Operand types of a matrix engine. */
static const struct matrix_type {
    xl_dtype in;
    enum xl__fact_id peak;
    double of_f16; /* rate relative to f16 */
} matrix_types[] = {
    {XL_F16, XL__F_peak_matrix_f16_flop_per_s, 1},
    {XL_BF16, XL__F_peak_matrix_bf16_flop_per_s, 1},
    {XL_F32, XL__F_peak_matrix_tf32_flop_per_s, 0.5},
    {XL_I8, XL__F_peak_matrix_i8_flop_per_s, 2},
    {XL_F8E4M3, XL__F_peak_matrix_f8_flop_per_s, 2},
    {XL_F8E5M2, XL__F_peak_matrix_f8_flop_per_s, 2},
};

static const struct matrix_type *find_matrix_type(xl_dtype in)
{
    const struct matrix_type *end =
        matrix_types + sizeof matrix_types / sizeof *matrix_types;
    for (const struct matrix_type *t = matrix_types; t < end; t++) {
        if (t->in == in)
            return t;
    }
    return NULL;
}

static double rate_by_clock(const struct xl__limits *l, xl_dtype in,
                            double clock)
{
    const struct matrix_type *t = find_matrix_type(in);
    const double flop = xl__num_or(l, XL__F_matrix_per_cu_f16, 0);
    return t && flop > 0 ? t->of_f16 * flop * compute_units(l) * clock : 0;
}

double xl__rate_matrix(const struct xl__limits *l, xl_dtype in)
{
    const enum xl__fact_id peak = xl__peak_matrix(in);
    if (peak == XL__N_FACTS)
        return 0;
    const double clock = xl__num_or(l, XL__F_clock_hz, guess_clock_hz);
    return xl__num_or(l, peak, rate_by_clock(l, in, clock));
}

double xl__bound_matrix(const struct xl__limits *l, xl_dtype in)
{
    return rate_by_clock(l, in, fmax(0, xl__num_or(l, XL__F_clock_hz, 0)));
}

enum xl__fact_id xl__peak_matrix(xl_dtype in)
{
    const struct matrix_type *t = find_matrix_type(in);
    return t ? t->peak : XL__N_FACTS;
}

double xl__rate_memory(const struct xl__limits *l)
{
    const double copy = xl__num(l, XL__F_copy_bytes_per_s);
    const double read = xl__num(l, XL__F_read_bytes_per_s);
    if (copy > 0 || read > 0)
        return copy > 0 ? copy : read;
    if (xl__is(l, XL__F_is_cpu) || xl__is(l, XL__F_host_unified))
        return guess_shared_bytes_per_s;
    return guess_gpu_bytes_per_unit_s * compute_units(l);
}
