/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rates from facts: the measured peak where there is one, else
 *   2 flop x compute units x lanes x clock,
 * else a default for the class of device. */
#include "device/peak_rates.h"

#include <math.h>

size_t xl__n_units(const struct xl__limits *l)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    return units > 0 ? units : 1;
}

/* f32 FMAs a compute unit starts per clock. */
static double fma_lanes(const struct xl__limits *l)
{
    const double vector = xl__is(l, XL__F_is_cpu)
                              ? xl__num_or(l, XL__F_native_vector_f32, 1)
                              : 1;
    return xl__num_or(l, XL__F_simd_per_cu_f32,
                      xl__model(l, XL__M_fma_lanes) * fmax(1, vector));
}

double xl__rate_clock(const struct xl__limits *l)
{
    const double clock = xl__num(l, XL__F_clock_hz);
    return clock > 0 ? clock : xl__model(l, XL__M_clock_hz);
}

double xl__rate_fma(const struct xl__limits *l)
{
    const double peak = xl__num(l, XL__F_peak_f32_flop_per_s);
    if (peak > 0)
        return peak;
    return 2 * (double)xl__n_units(l) * fma_lanes(l) * xl__rate_clock(l);
}

double xl__relative_rate(const struct xl__limits *l, xl_dtype in)
{
    const double f32 = xl__num(l, XL__F_peak_f32_flop_per_s);
    const double f64 = xl__num(l, XL__F_peak_f64_flop_per_s);
    if (in == XL_F64 && f64 > 0 && f32 > 0)
        return f64 / f32;
    return in == XL_F64 || in == XL_I8 ? xl__model(l, XL__M_slow_frac) : 1;
}

/* Flop that a compute unit starts per clock, by the instruction that
 * multiplies this type fastest; 0: none is known. */
static double matrix_flop_per_clock(const struct xl__limits *l, xl_dtype in)
{
    double most = 0;
    for (const xl_matrix_op *op = l->matrix_ops; op && op->name; op++) {
        if (op->a == in && op->b == in)
            most = fmax(most, op->flop_per_clock);
    }
    return most;
}

static double rate_by_clock(const struct xl__limits *l, xl_dtype in,
                            double clock)
{
    return matrix_flop_per_clock(l, in) * (double)xl__n_units(l) * clock;
}

double xl__rate_matrix(const struct xl__limits *l, xl_dtype in)
{
    const enum xl__fact_id peak = xl__peak_matrix(in);
    if (peak == XL__N_FACTS)
        return 0;
    return xl__num_or(l, peak, rate_by_clock(l, in, xl__rate_clock(l)));
}

double xl__rate_matrix_op(const struct xl__limits *l, const xl_matrix_op *op)
{
    const double most = matrix_flop_per_clock(l, op->a);
    return most > 0 ? xl__rate_matrix(l, op->a) * op->flop_per_clock / most
                    : xl__rate_matrix(l, op->a);
}

double xl__bound_matrix(const struct xl__limits *l, xl_dtype in)
{
    return rate_by_clock(l, in, fmax(0, xl__num_or(l, XL__F_clock_hz, 0)));
}

enum xl__fact_id xl__peak_matrix(xl_dtype in)
{
    switch (in) {
    case XL_F16:
        return XL__F_peak_matrix_f16_flop_per_s;
    case XL_BF16:
        return XL__F_peak_matrix_bf16_flop_per_s;
    case XL_F32:
        return XL__F_peak_matrix_tf32_flop_per_s;
    case XL_I8:
        return XL__F_peak_matrix_i8_flop_per_s;
    case XL_F8E4M3:
    case XL_F8E5M2:
        return XL__F_peak_matrix_f8_flop_per_s;
    default:
        return XL__N_FACTS;
    }
}

double xl__rate_memory(const struct xl__limits *l)
{
    const double copy = xl__num(l, XL__F_copy_bytes_per_s);
    const double read = xl__num(l, XL__F_read_bytes_per_s);
    if (copy > 0 || read > 0)
        return copy > 0 ? copy : read;
    return xl__model(l, XL__M_bytes_per_s) +
           xl__model(l, XL__M_unit_bytes_per_s) * (double)xl__n_units(l);
}
