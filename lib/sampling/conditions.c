/* SPDX-License-Identifier: Apache-2.0 */
/* Computes conditions from readings between samples. Counters are taken from
 * before the first sample to after the last; momentary values only in between,
 * when the device is busy, since its clock may be idle before. */

#include "sampling/conditions.h"

#include <math.h>

#include "device/device.h"
#include "device/telemetry.h"

enum { DUE_NS = 100000000 }; /* ten readings per second */
static const double mega = 1e6, ns_per_s = 1e9;
/* Time of all cores from which shares are computed: a hundred ticks of the
 * system's clock. */
static const double shares_ns = 1e9;
static const double lower = 0.95; /* a clock below that share of its maximum
                                     is reduced */
static const double held = 0.01;  /* throttling for less of the time is
                                     ignored */
static const double held_long = 0.05; /* a limit that affects a median */

void xl__conditions_init(xl_conditions *out)
{
    *out = (xl_conditions){.span_ns = NAN};
    out->clock_first_hz = out->clock_lo_hz = out->clock_hi_hz = NAN;
    out->clock_max_hz = out->memory_clock_hz = NAN;
    out->temperature_c = out->memory_temperature_c = NAN;
    out->power_w = out->power_limit_w = out->energy_j = NAN;
    out->memory_used_bytes = out->others = out->processes = NAN;
}

/* -- readings ------------------------------------------------------------- */

void xl__monitor_add(struct xl__monitor *w, const xl_reading *r)
{
    xl_conditions *c = &w->seen;
    const double *v = r->value;
    const bool is_idle = r->throttle & 1u << XL_THROTTLE_IDLE;
    c->readings++;
    w->last = *r;
    c->has_throttle = c->has_throttle || r->has_throttle;
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        w->sightings[i] += (r->throttle & 1u << i) != 0;
    c->clock_max_hz = fmax(c->clock_max_hz, v[XL_SENSOR_CLOCK_MAX]);
    c->temperature_c = fmax(c->temperature_c, v[XL_SENSOR_TEMPERATURE]);
    c->memory_temperature_c =
        fmax(c->memory_temperature_c, v[XL_SENSOR_MEMORY_TEMPERATURE]);
    c->power_w = fmax(c->power_w, v[XL_SENSOR_POWER]);
    c->power_limit_w = fmax(c->power_limit_w, v[XL_SENSOR_POWER_LIMIT]);
    c->memory_used_bytes =
        fmax(c->memory_used_bytes, v[XL_SENSOR_MEMORY_USED]);
    c->processes = fmax(c->processes, v[XL_SENSOR_PROCESSES]);
    if (is_idle)
        return;
    if (isnan(c->clock_first_hz))
        c->clock_first_hz = v[XL_SENSOR_CLOCK];
    c->clock_lo_hz = fmin(c->clock_lo_hz, v[XL_SENSOR_CLOCK]);
    c->clock_hi_hz = fmax(c->clock_hi_hz, v[XL_SENSOR_CLOCK]);
    c->memory_clock_hz =
        fmin(c->memory_clock_hz, v[XL_SENSOR_MEMORY_CLOCK]);
}

void xl__monitor_begin(struct xl__monitor *w, xl_device *dev,
                       const xl_sampling *how)
{
    *w = (struct xl__monitor){.how = how};
    xl__conditions_init(&w->seen);
    if (!dev->is_watched)
        return;
    if (!dev->telemetry && xl_telemetry_open(dev, &dev->telemetry) != XL_OK)
        return;
    w->t = dev->telemetry;
    w->first = *xl__telemetry_recent(w->t, DUE_NS);
    w->last = w->first;
}

bool xl__monitor_poll(void *watching)
{
    struct xl__monitor *w = watching;
    if (w->t) {
        const xl_reading *r = xl__telemetry_recent(w->t, DUE_NS);
        if (r->ns != w->last.ns)
            xl__monitor_add(w, r);
    }
    return w->how->stop && w->how->stop(w->how->stop_arg);
}

/* -- counters ------------------------------------------------------------- */

/* The growth of a counter over its span; NaN if unknown or too short. */
static double find_growth(double before, double after, double span_ns)
{
    return span_ns >= (double)DUE_NS && after >= before
               ? (after - before) / span_ns
               : NAN;
}

static void count_throttles(const struct xl__monitor *w, xl_conditions *c)
{
    for (unsigned i = 0; i < XL_N_THROTTLES; i++) {
        const double counted = find_growth(w->first.throttle_ns[i],
                                           w->last.throttle_ns[i], c->span_ns);
        const double sighted = (double)w->sightings[i] / c->readings;
        c->has_throttle = c->has_throttle || !isnan(counted);
        c->throttle[i] = fmin(1, fmax(sighted, counted));
    }
}

/* The share that other programs had of the span between two readings; NaN: too
 * short, or not counted. */
static double find_others(const xl_reading *a, const xl_reading *b)
{
    const double span_ns = (double)(b->ns - a->ns);
    const double all = span_ns * b->units;
    const double idle = find_growth(a->idle_ns, b->idle_ns, all);
    const double own = find_growth(a->own_ns, b->own_ns, all);
    if (!(all >= shares_ns) || isnan(idle) || isnan(own))
        return NAN;
    return fmax(0, fmin(1, 1 - idle - own));
}

static void summarize_counters(const struct xl__monitor *w, xl_conditions *c)
{
    const xl_reading *a = &w->first, *b = &w->last;
    c->span_ns = (double)(b->ns - a->ns);
    const double watts = find_growth(a->value[XL_SENSOR_ENERGY],
                                     b->value[XL_SENSOR_ENERGY], c->span_ns);
    if (watts > 0) {
        c->power_w = watts * ns_per_s;
        c->energy_j = watts * c->span_ns;
    }
    /* A row too short for a share of its own has that of the last second. */
    const xl_reading *window = w->t ? xl__telemetry_window(w->t) : NULL;
    c->others = find_others(a, b);
    if (isnan(c->others) && window)
        c->others = find_others(window, b);
    count_throttles(w, c);
}

void xl__monitor_end(struct xl__monitor *w, xl_conditions *out)
{
    if (w->t) {
        const xl_reading *r = xl__telemetry_recent(w->t, DUE_NS);
        if (w->seen.readings == 0 || r->ns != w->last.ns)
            xl__monitor_add(w, r);
    }
    *out = w->seen;
    if (out->readings > 0)
        summarize_counters(w, out);
}

/* -- queries -------------------------------------------------------------- */

double xl__conditions_clock(const xl_conditions *c)
{
    const double most = fmax(c->clock_max_hz, c->clock_hi_hz);
    return c->readings > 0 && c->clock_lo_hz < most ? c->clock_lo_hz / most
                                                    : 1;
}

/* A limit that is active without reducing the clock has no effect. */
static bool is_held(const xl_conditions *c)
{
    const bool is_known = !isnan(c->clock_lo_hz) && !isnan(c->clock_max_hz);
    return c->readings > 0 && (!is_known || xl__conditions_clock(c) < lower);
}

/* The least share of readings with a throttle reason. Hardware slowdown
 * without a stated cause also appears briefly at clock changes, so it must be
 * seen twice. */
static double find_least_share(const xl_conditions *c, unsigned throttle)
{
    const double twice = 1.5 / c->readings;
    return throttle == XL_THROTTLE_HARDWARE ? twice : held;
}

bool xl__conditions_has_alarm(const xl_conditions *c)
{
    for (unsigned i = 0; i < XL_N_THROTTLES && is_held(c); i++)
        if (xl_throttle_is_alarm((xl_throttle)i) &&
            c->throttle[i] >= find_least_share(c, i))
            return true;
    return false;
}

bool xl__conditions_is_limited(const xl_conditions *c)
{
    return is_held(c) && (c->throttle[XL_THROTTLE_POWER] >= held_long ||
                          c->throttle[XL_THROTTLE_CURRENT] >= held_long);
}

bool xl__conditions_clock_fell(const xl_conditions *c)
{
    return c->readings > 0 && c->clock_lo_hz < lower * c->clock_first_hz;
}

void xl__conditions_describe(const xl_conditions *c, struct xl__str *out)
{
    const char *before = ": ";
    if (xl__conditions_clock_fell(c))
        xl__str_printf(out, "clock fell from %.0f to %.0f MHz",
                       c->clock_first_hz / mega, c->clock_lo_hz / mega);
    else if (xl__conditions_clock(c) < lower)
        xl__str_printf(out, "clock at %.0f of %.0f MHz",
                       c->clock_lo_hz / mega, c->clock_max_hz / mega);
    else
        xl__str_add(out, "clock held down");
    for (unsigned i = 0; i < XL_N_THROTTLES; i++) {
        if (i == XL_THROTTLE_IDLE || c->throttle[i] < held)
            continue;
        xl__str_printf(out, "%s%s", before, xl_throttle_name((xl_throttle)i));
        before = ", ";
    }
}
