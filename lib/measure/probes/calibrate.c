/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a device profile: quick runs of the probes whose rates the models of
 * variants read, repeated, because another load only lowers a rate. Models of
 * matrix engines are fitted to the rate that clock and instructions give, so
 * that rate is not replaced. */
#include <crosslane/measure.h>

#include <math.h>

#include "base/os/clock.h"
#include "runtime/context.h"

enum { MOST_PASSES = 6 };
static const double patience_ns = 5e9;

static const enum xl__fact_id facts[] = {
    XL__F_peak_f32_flop_per_s, XL__F_peak_f64_flop_per_s,
    XL__F_read_bytes_per_s,    XL__F_copy_bytes_per_s,
    XL__F_launch_ns,           XL__F_round_trip_ns};
enum { N_FACTS = sizeof facts / sizeof facts[0] };

static xl_status measure_pass(xl_queue *q)
{
    static const char *const probes[] = {"bandwidth", "flops", "launch"};
    static const xl_probing quick = {.quick = true};
    xl_status status = XL_OK;
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++)
        TRY(xl_probe_run(q, probes[i], &quick, NULL, NULL));
fail:
    return status;
}

static bool is_time(enum xl__fact_id id)
{
    return id == XL__F_launch_ns || id == XL__F_round_trip_ns;
}

/* Keeps the greatest rates and the least times. */
static void keep_best(const struct xl__answer *measured, double best[N_FACTS])
{
    for (size_t i = 0; i < N_FACTS; i++) {
        const double value = measured[facts[i]].value;
        best[i] =
            is_time(facts[i]) ? fmin(best[i], value) : fmax(best[i], value);
    }
}

static void add_rates(const double best[N_FACTS], xl_profile *out)
{
    for (size_t i = 0; i < N_FACTS; i++) {
        if (!(best[i] > 0))
            continue;
        xl_rate *rate = &out->rates[out->n_rates++];
        xl__strcpy(rate->fact, sizeof rate->fact, xl_fact_name(facts[i], NULL));
        rate->value = best[i];
    }
}

xl_status xl_calibrate(xl_queue *q, xl_profile *out)
{
    xl_status status = XL_OK;
    double best[N_FACTS];
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    *out = (xl_profile){0};
    for (size_t i = 0; i < N_FACTS; i++)
        best[i] = NAN;
    const uint64_t begin = xl__now_ns();
    for (int i = 0; i < MOST_PASSES &&
                    (double)(xl__now_ns() - begin) < patience_ns; i++) {
        TRY(measure_pass(q));
        keep_best(q->ctx->device->seen.measured, best);
    }
    add_rates(best, out);
    if (out->n_rates == 0)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "no rate of this device could be measured"));
fail:
    return status;
}
