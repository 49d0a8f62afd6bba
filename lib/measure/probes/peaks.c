/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the peaks that the roofline model needs by running the probes that
 * find them, once per device and process. */
#include <string.h>

#include "device/peak_rates.h"
#include "measure/compute/matrix_engine.h"
#include "measure/probe.h"
#include "runtime/context.h"

static xl_status run_quick_probe(xl_queue *q, const struct xl__probe *probe)
{
    static const xl_probing quick = {.quick = true};
    struct xl__session p = {q, &quick, NULL, NULL, 1, false};
    const xl_status status = xl__session_begin(&p);
    return status == XL_OK ? probe->run(&p) : status;
}

static xl_status measure_matrix_peak(xl_queue *q, xl_dtype in)
{
    static const xl_probing quick = {.quick = true};
    struct xl__session p = {q, &quick, NULL, NULL, 1, false};
    const xl_status status = xl__session_begin(&p);
    return status == XL_OK ? xl__matrix_peak(&p, in) : status;
}

/* Is a measurement needed: always with `again`, otherwise if the fact has not
 * been measured. */
static bool is_needed(const xl_queue *q, enum xl__fact_id fact, bool again)
{
    const struct xl__answer *known = q->ctx->device->seen.measured;
    return again || known[fact].source != XL_MEASURED;
}

static xl_status measure_fma_peaks(xl_queue *q, xl_dtype dtype, bool again)
{
    xl_status status = XL_OK;
    if (is_needed(q, XL__F_copy_bytes_per_s, again))
        TRY(run_quick_probe(q, &xl__probe_bandwidth));
    if (is_needed(q, xl__peak_fma(dtype), again))
        TRY(run_quick_probe(q, &xl__probe_flops));
fail:
    return status;
}

static xl_status measure_matrix_peaks(xl_queue *q, xl_dtype in, bool again)
{
    xl_status status = XL_OK;
    const enum xl__fact_id peak = xl__peak_matrix(in);
    if (is_needed(q, XL__F_copy_bytes_per_s, again))
        TRY(run_quick_probe(q, &xl__probe_bandwidth));
    if (is_needed(q, peak, again))
        TRY(measure_matrix_peak(q, in));
    if (!(xl__num(&q->ctx->device->seen, peak) > 0))
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "no usable matrix engine for %s was found; see "
                          "clbench probe matrix",
                          xl_dtype_name(in)));
fail:
    return status;
}

/* Measures once per device and process; with `again` always. */
static xl_status measure_once(xl_queue *q, xl_dtype dtype, bool again,
                              bool is_measurable, unsigned *done,
                              xl_status (*measure_peaks)(xl_queue *q,
                                                         xl_dtype dtype,
                                                         bool again))
{
    const unsigned bit = 1u << dtype;
    xl__error_reset(&q->error);
    if (!is_measurable)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "no probe measures the peak of %s",
                             xl_dtype_name(dtype));
    if ((*done & bit) && !again)
        return XL_OK;
    const xl_status status = measure_peaks(q, dtype, again);
    if (status == XL_OK)
        *done |= bit;
    return status;
}

static xl_status measure_fma_once(xl_queue *q, xl_dtype dtype, bool again)
{
    if (!q || (unsigned)dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    return measure_once(q, dtype, again, xl__peak_fma(dtype) != XL__N_FACTS,
                        &q->ctx->device->peaks, measure_fma_peaks);
}

xl_status xl_peaks_measure(xl_queue *q, xl_dtype dtype)
{
    return measure_fma_once(q, dtype, false);
}

xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype)
{
    return measure_fma_once(q, dtype, true);
}

xl_status xl_peaks_measure_matrix(xl_queue *q, xl_dtype dtype, bool again)
{
    if (!q || (unsigned)dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    return measure_once(q, dtype, again, xl__peak_matrix(dtype) != XL__N_FACTS,
                        &q->ctx->device->matrix_peaks, measure_matrix_peaks);
}

/* The type whose ceiling has this name: the last word. */
static xl_dtype ceiling_type(const char *name)
{
    xl_dtype found = XL_N_DTYPES;
    const char *word = strchr(name, ' ');
    for (int d = 0; word && d < XL_N_DTYPES; d++)
        if (xl__streq(xl_dtype_name((xl_dtype)d), word + 1))
            found = (xl_dtype)d;
    return found;
}

xl_status xl_roof_measure(xl_queue *q, const xl_bound *bound, double wanted,
                          double max_s)
{
    static const xl_probing quick = {.quick = true};
    struct xl__session p = {q, &quick, NULL, NULL, 1, false};
    if (!q || !bound || !bound->name)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    const xl_dtype dtype = ceiling_type(bound->name);
    xl__error_reset(&q->error);
    TRY(xl__session_begin(&p));
    if (strncmp(bound->name, "fma", 3) == 0)
        TRY(xl__fma_bursts(&p, dtype, wanted, max_s * 1e9));
    else if (strncmp(bound->name, "matrix", 6) == 0)
        TRY(dtype < XL_N_DTYPES ? xl__matrix_peak(&p, dtype) : XL_OK);
    else
        TRY(xl__probe_bandwidth.run(&p));
fail:
    return status;
}
