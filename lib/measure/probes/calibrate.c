/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a device profile: quick runs of the probes whose rates the models of
 * variants read. Models of matrix engines are fitted to the rate that clock and
 * instructions give, so that rate is not replaced. */
#include <crosslane/measure.h>

#include "base/str.h"
#include "runtime/context.h"

static void add_rates(const struct xl__answer *measured, xl_profile *out)
{
    for (unsigned i = 0; i < XL__N_FACTS; i++) {
        const double value = measured[i].value;
        if (!xl__fact_is_rate((enum xl__fact_id)i) || !(value > 0) ||
            out->n_rates == XL_PROFILE_RATES)
            continue;
        xl_rate *rate = &out->rates[out->n_rates++];
        xl__strcpy(rate->fact, sizeof rate->fact, xl_fact_name(i, NULL));
        rate->value = value;
    }
}

xl_status xl_calibrate(xl_queue *q, xl_profile *out)
{
    static const char *const probes[] = {"bandwidth", "flops", "launch"};
    static const xl_probing quick = {.quick = true};
    xl_status status = XL_OK;
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    *out = (xl_profile){0};
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++)
        TRY(xl_probe_run(q, probes[i], &quick, NULL, NULL));
    add_rates(q->ctx->device->seen.measured, out);
    if (out->n_rates == 0)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "no rate of this device could be measured"));
fail:
    return status;
}
