/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the peaks that the roofline needs: each by the probe that finds it,
 * once per device and process. */
#include "device/peak_rates.h"
#include "measure/compute/matrix_engine.h"
#include "measure/probe.h"
#include "runtime/context.h"

static void drop_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

static xl_status learn(xl_queue *q, const struct xl__probe *probe)
{
    static const xl_probing quick = {.quick = true};
    struct xl__session p = {q, &quick, drop_row, NULL, 1, false};
    const xl_status status = xl__session_begin(&p);
    return status == XL_OK ? probe->run(&p) : status;
}

static xl_status learn_matrix(xl_queue *q, xl_dtype in)
{
    static const xl_probing quick = {.quick = true};
    struct xl__session p = {q, &quick, drop_row, NULL, 1, false};
    const xl_status status = xl__session_begin(&p);
    return status == XL_OK ? xl__matrix_peak(&p, in) : status;
}

/* Measure what is wanted: everything `again`, or what nobody measured yet. */
static bool is_wanted(const xl_queue *q, enum xl__fact_id fact, bool again)
{
    const struct xl__answer *known = q->ctx->device->limits.measured;
    return again || known[fact].source != XL_MEASURED;
}

static xl_status learn_peaks(xl_queue *q, xl_dtype dtype, bool again)
{
    xl_status status = XL_OK;
    if (is_wanted(q, XL__F_copy_bytes_per_s, again))
        TRY(learn(q, &xl__probe_bandwidth));
    if (is_wanted(q, xl__peak_fma(dtype), again))
        TRY(learn(q, &xl__probe_flops));
fail:
    return status;
}

static xl_status learn_matrix_peaks(xl_queue *q, xl_dtype in, bool again)
{
    xl_status status = XL_OK;
    const enum xl__fact_id peak = xl__peak_matrix(in);
    if (is_wanted(q, XL__F_copy_bytes_per_s, again))
        TRY(learn(q, &xl__probe_bandwidth));
    if (is_wanted(q, peak, again))
        TRY(learn_matrix(q, in));
    if (!(xl__num(&q->ctx->device->limits, peak) > 0))
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "no matrix engine for %s was found that can be "
                          "reached: clbench probe matrix says why",
                          xl_dtype_name(in)));
fail:
    return status;
}

/* Once per device and process, unless `again`. */
static xl_status measure(xl_queue *q, xl_dtype dtype, bool again,
                         bool is_measurable, unsigned *done,
                         xl_status (*learn_them)(xl_queue *q, xl_dtype dtype,
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
    const xl_status status = learn_them(q, dtype, again);
    if (status == XL_OK)
        *done |= bit;
    return status;
}

static xl_status measure_fma(xl_queue *q, xl_dtype dtype, bool again)
{
    if (!q || (unsigned)dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    return measure(q, dtype, again, xl__peak_fma(dtype) != XL__N_FACTS,
                   &q->ctx->device->peaks, learn_peaks);
}

xl_status xl_peaks_measure(xl_queue *q, xl_dtype dtype)
{
    return measure_fma(q, dtype, false);
}

xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype)
{
    return measure_fma(q, dtype, true);
}

xl_status xl_peaks_measure_matrix(xl_queue *q, xl_dtype dtype, bool again)
{
    if (!q || (unsigned)dtype >= XL_N_DTYPES)
        return XL_BAD_ARGUMENT;
    return measure(q, dtype, again, xl__peak_matrix(dtype) != XL__N_FACTS,
                   &q->ctx->device->matrix_peaks, learn_matrix_peaks);
}
