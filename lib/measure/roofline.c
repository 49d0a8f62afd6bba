/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline model: an op runs no faster than its arithmetic at the peak
 * rate, nor than its bytes at the bandwidth.
 * Source: Williams, Waterman, Patterson, CACM 52(4), 2009. */
#include <math.h>

#include "measure/probe.h"

struct ceiling {
    enum xl__fact_id fact;
    const char *name;
};

/* f16 and bf16 are formats of memory here: every kernel of ours sums in f32,
 * so the f32 units are what bounds it. */
static const struct ceiling multiply_add[XL_N_DTYPES] = {
    [XL_F32] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_F16] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_BF16] = {XL__F_peak_f32_flop_per_s, "fma f32"},
    [XL_F64] = {XL__F_peak_f64_flop_per_s, "fma f64"},
};

static const struct ceiling memory[] = {
    [XL_LEVEL_DRAM] = {XL__F_copy_bytes_per_s, "copy"},
    [XL_LEVEL_LLC] = {XL__F_llc_bytes_per_s, "copy in cache"},
};

static bool is_known(const struct xl__limits *l, const struct ceiling *c)
{
    return xl__num(l, c->fact) > 0;
}

static xl_bound bound_of(const struct xl__limits *l, const struct ceiling *c,
                         double factor, const char *unit)
{
    const xl_bound bound = {xl__num(l, c->fact) * factor, unit, c->name,
                            l->used[c->fact].source};
    return bound;
}

xl_status xl_roofline_bound(const xl_device *dev, const xl_roof *roof,
                            double flop, double bytes, xl_bound *out)
{
    if (!dev || !roof || !out || (unsigned)roof->dtype >= XL_N_DTYPES ||
        !(flop >= 0) || !(bytes >= 0) || flop + bytes <= 0)
        return XL_BAD_ARGUMENT;
    const struct xl__limits *l = &dev->limits;
    const struct ceiling *compute = &multiply_add[roof->dtype];
    const bool rate = flop > 0;
    *out = (xl_bound){NAN, rate ? "flop/s" : "B/s", "", XL_UNKNOWN};
    if (roof->engine != XL_ENGINE_FMA || roof->level > XL_LEVEL_LLC)
        return XL_UNSUPPORTED; /* no probe for these yet */
    const struct ceiling *mem = &memory[roof->level];
    if (bytes > 0 && !is_known(l, mem))
        return XL_UNSUPPORTED;
    if (!rate) {
        *out = bound_of(l, mem, 1, "B/s");
        return XL_OK;
    }
    if (!compute->name || !is_known(l, compute))
        return XL_UNSUPPORTED;
    *out = bound_of(l, compute, 1, "flop/s");
    if (bytes > 0) {
        const xl_bound by_memory = bound_of(l, mem, flop / bytes, "flop/s");
        if (by_memory.value < out->value)
            *out = by_memory;
    }
    return XL_OK;
}

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

static xl_status learn(xl_queue *q, const struct xl__probe *probe)
{
    static const xl_probing quick = {.quick = true};
    struct xl__probing p = {q, &quick, drop_row, NULL, 1};
    const xl_status status = xl__probing_begin(&p);
    return status == XL_OK ? probe->run(&p) : status;
}

/* Measure what is wanted: everything `again`, or what nobody measured yet. */
static xl_status learn_peaks(xl_queue *q, xl_dtype dtype, bool again)
{
    xl_status status = XL_OK;
    const struct xl__answer *known = q->ctx->device->limits.measured;
    if (again || known[XL__F_copy_bytes_per_s].source != XL_MEASURED)
        TRY(learn(q, &xl__probe_bandwidth));
    if (again || known[multiply_add[dtype].fact].source != XL_MEASURED)
        TRY(learn(q, &xl__probe_flops));
fail:
    return status;
}

static xl_status measure(xl_queue *q, xl_dtype dtype, bool again)
{
    if (!q || (unsigned)dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    if (!multiply_add[dtype].name)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "no probe measures the peak of %s",
                             xl_dtype_name(dtype));
    xl_device *dev = q->ctx->device;
    const unsigned bit = 1u << dtype;
    xl__error_reset(&q->error);
    if ((dev->peaks & bit) && !again)
        return XL_OK;
    const xl_status status = learn_peaks(q, dtype, again);
    if (status == XL_OK)
        dev->peaks |= bit;
    return status;
}

xl_status xl_peaks_measure(xl_queue *q, xl_dtype dtype)
{
    return measure(q, dtype, false);
}

xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype)
{
    return measure(q, dtype, true);
}
