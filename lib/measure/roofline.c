/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the roofline bound of an operation: its rate is limited by the
 * arithmetic peak and by its bytes at the bandwidth of a memory level,
 *
 *     bound = min(peak, bandwidth * flop / bytes)   [flop/s]
 *
 * Peaks and bandwidths are facts of the device, measured by the probes.
 * Source: Williams, Waterman, Patterson, CACM 52(4), 2009. */
#include <math.h>

#include "device/peak_rates.h"
#include "measure/probe.h"

struct ceiling {
    enum xl__fact_id fact;
    const char *name;
};

/* f16 and bf16 are storage formats here: all kernels accumulate in f32, so the
 * f32 units bound them. */
static const struct ceiling multiply_add[XL_N_DTYPES] = {
    [XL_F32] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_F16] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_BF16] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_F64] = {XL__F_peak_f64_flop_per_s, "fma f64"},
};

static const struct ceiling memory[] = {
    [XL_LEVEL_DRAM] = {XL__F_copy_bytes_per_s, "copy"},
    [XL_LEVEL_LLC] = {XL__F_llc_bytes_per_s, "copy in cache"},
    [XL_LEVEL_L2] = {XL__F_l2_bytes_per_s, "second cache"},
    [XL_LEVEL_L1] = {XL__F_l1_bytes_per_s, "first cache"},
    [XL_LEVEL_LOCAL] = {XL__F_local_bytes_per_s, "local memory"},
};

/* Input types of a matrix engine; terms > 1: a product emulated by several
 * products of that type. */
static const struct engine {
    xl_dtype in;
    unsigned terms;
    const char *name;
} engines[] = {
    {XL_F16, 1, "matrix f16"},          {XL_BF16, 1, "matrix bf16"},
    {XL_F32, 1, "matrix tf32"},         {XL_I8, 1, "matrix i8"},
    {XL_F8E4M3, 1, "matrix f8"},        {XL_F8E5M2, 1, "matrix f8"},
    {XL_F16, 3, "matrix f16, thrice"},  {XL_BF16, 6, "matrix bf16, six times"},
    {XL_F32, 3, "matrix tf32, thrice"},
};

static const struct engine *find_engine(const xl_roof *roof)
{
    const unsigned terms = roof->terms ? roof->terms : 1;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (engines[i].in == roof->dtype && engines[i].terms == terms)
            return &engines[i];
    }
    return NULL;
}

static bool is_known(const struct xl__limits *l, const struct ceiling *c)
{
    return c->name && xl__num(l, c->fact) > 0;
}

/* The ceiling of arithmetic and the factor to apply to it; without a name if
 * there is none. */
static struct ceiling find_compute_ceiling(const xl_roof *roof, double *factor)
{
    *factor = 1;
    if (roof->engine == XL_ENGINE_FMA)
        return multiply_add[roof->dtype];
    const struct engine *engine = find_engine(roof);
    if (roof->engine != XL_ENGINE_MATRIX || !engine)
        return (struct ceiling){XL__N_FACTS, NULL};
    *factor = 1.0 / engine->terms;
    return (struct ceiling){xl__peak_matrix(engine->in), engine->name};
}

/* The bound from unit counts and clock, for an engine whose peak has not been
 * measured. */
static bool bound_by_units(const struct xl__limits *l, const xl_roof *roof,
                           double factor, xl_bound *out)
{
    const struct engine *engine = find_engine(roof);
    if (roof->engine != XL_ENGINE_MATRIX || !engine)
        return false;
    *out = (xl_bound){xl__bound_matrix(l, engine->in) * factor, "flop/s",
                      "matrix units x clock", XL_KNOWN};
    return out->value > 0;
}

static xl_bound ceiling_bound(const struct xl__limits *l,
                              const struct ceiling *c, double factor,
                              const char *unit)
{
    const xl_bound bound = {xl__num(l, c->fact) * factor, unit, c->name,
                            l->used[c->fact].source};
    return bound;
}

xl_status xl_roofline_bound(const xl_device *dev, const xl_roof *roof,
                            double flop, double bytes, xl_bound *out)
{
    if (!dev || !roof || !out || (unsigned)roof->dtype >= XL_N_DTYPES ||
        (unsigned)roof->level >= XL_N_LEVELS || !(flop >= 0) ||
        !(bytes >= 0) || flop + bytes <= 0)
        return XL_BAD_ARGUMENT;
    double factor;
    const struct xl__limits *l = &dev->seen;
    const struct ceiling compute = find_compute_ceiling(roof, &factor);
    const bool rate = flop > 0;
    *out = (xl_bound){NAN, rate ? "flop/s" : "B/s", "", XL_UNKNOWN};
    const struct ceiling *mem = &memory[roof->level];
    if (bytes > 0 && !is_known(l, mem))
        return XL_UNSUPPORTED;
    if (!rate) {
        *out = ceiling_bound(l, mem, 1, "B/s");
        return XL_OK;
    }
    if (is_known(l, &compute))
        *out = ceiling_bound(l, &compute, factor, "flop/s");
    else if (!bound_by_units(l, roof, factor, out))
        return XL_UNSUPPORTED;
    if (bytes > 0) {
        const xl_bound by_memory =
            ceiling_bound(l, mem, flop / bytes, "flop/s");
        if (by_memory.value < out->value)
            *out = by_memory;
    }
    return XL_OK;
}

xl_status xl_roofline_theoretical(const xl_device *dev, const xl_roof *roof,
                                  xl_bound *out)
{
    double factor;
    if (!dev || !roof || !out || (unsigned)roof->dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    const struct xl__limits *l = &dev->seen;
    *out = (xl_bound){NAN, "flop/s", "", XL_UNKNOWN};
    (void)find_compute_ceiling(roof, &factor);
    if (roof->engine == XL_ENGINE_MATRIX)
        return bound_by_units(l, roof, factor, out) ? XL_OK : XL_UNSUPPORTED;
    const double lanes = xl__num(l, XL__F_simd_per_cu_f32);
    const double value = 2 * xl__num(l, XL__F_compute_units) * lanes *
                         xl__num(l, XL__F_clock_hz);
    if (roof->dtype == XL_F64 || !multiply_add[roof->dtype].name ||
        !(value > 0))
        return XL_UNSUPPORTED;
    *out = (xl_bound){value, "flop/s", "units x lanes x clock",
                      l->used[XL__F_simd_per_cu_f32].source};
    return XL_OK;
}

/* XL__N_FACTS: no probe measures it. */
enum xl__fact_id xl__peak_fma(xl_dtype dtype)
{
    return multiply_add[dtype].name ? multiply_add[dtype].fact : XL__N_FACTS;
}
