/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and the time model: the slowest of arithmetic and memory at the
 * rates the device's facts give, plus what the launches cost. */
#include "ops/cost.h"

#include <math.h>

/* Guesses for a device of which nothing is known, by class. They only have to
 * rank variants against each other. */
static const double guess_clock_hz = 1.5e9;
static const double guess_gpu_lanes = 64, guess_cpu_fma_units = 2;
static const double guess_gpu_bytes_per_unit_s = 16e9;
static const double guess_shared_bytes_per_s = 30e9;
static const double guess_launch_ns = 8e3;

double xl__gemm_flop(const xl_gemm *g)
{
    return 2.0 * (double)g->m * (double)g->n * (double)g->k;
}

double xl__gemm_bytes(const xl_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double touched = g->beta != 0 ? 2 : 1;
    return m * k * (double)xl_dtype_bytes(g->a.dtype) +
           k * n * (double)xl_dtype_bytes(g->b.dtype) +
           touched * m * n * (double)xl_dtype_bytes(g->c.dtype);
}

double xl__softmax_flop(const xl_softmax *s)
{
    static const double per_element = 5; /* scale, max, sub, exp, div */
    return per_element * (double)s->rows * (double)s->cols;
}

double xl__softmax_bytes(const xl_softmax *s)
{
    return 2.0 * (double)s->rows * (double)s->cols *
           (double)xl_dtype_bytes(s->src.dtype);
}

static double units(const struct xl__limits *l)
{
    return fmax(1, xl__num_or(l, XL__F_compute_units, 1));
}

/* f32 FMAs a compute unit starts per clock. */
static double lanes(const struct xl__limits *l)
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
    return 2 * units(l) * lanes(l) * (clock > 0 ? clock : guess_clock_hz);
}

double xl__rate_memory(const struct xl__limits *l)
{
    const double copy = xl__num(l, XL__F_copy_bytes_per_s);
    const double read = xl__num(l, XL__F_read_bytes_per_s);
    if (copy > 0 || read > 0)
        return copy > 0 ? copy : read;
    if (xl__is(l, XL__F_is_cpu) || xl__is(l, XL__F_host_unified))
        return guess_shared_bytes_per_s;
    return guess_gpu_bytes_per_unit_s * units(l);
}

void xl__estimate(const struct xl__limits *l, const struct xl__work *w,
                  struct xl__plan *plan)
{
    static const double least_fill = 1e-3, ns_per_s = 1e9;
    const double fill = fmax(w->fill, least_fill);
    const double fma =
        w->flop / (xl__rate_fma(l) * w->flop_frac * fill) * ns_per_s;
    const double memory =
        w->bytes / (xl__rate_memory(l) * w->bytes_frac) * ns_per_s;
    const double launch =
        w->launches * xl__num_or(l, XL__F_launch_ns, guess_launch_ns);
    const double work = fmax(fma, memory);
    plan->est_ns = work + launch;
    plan->bound = launch > work ? "launch" : fma >= memory ? "fma" : "memory";
}

const char *xl__turns_refused(const struct xl__limits *l, double turns)
{
    /* False as well where no bound is known. */
    if (turns > xl__num(l, XL__F_max_loop_turns))
        return "the device ends loops before this many turns; use a smaller "
               "size";
    return NULL;
}
