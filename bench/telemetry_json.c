/* SPDX-License-Identifier: Apache-2.0 */
/* Readings as the files spell them. What nobody tells is null in a row, and
 * left out of the many lines of a log. */
#include <math.h>

#include "json_values.h"
#include "telemetry.h"

/* {"thermal limit": 0.25}: those that held at all; null: nobody tells. */
static json_t *shares(const xl_conditions *c)
{
    if (!c->tells_throttle)
        return json_null();
    json_t *out = json_object();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (c->throttle[i] > 0)
            json_put(out, xl_throttle_name((xl_throttle)i),
                     json_number(c->throttle[i]));
    return out;
}

json_t *telemetry_conditions(const xl_conditions *c)
{
    if (c->readings == 0)
        return json_null();
    const struct {
        const char *name;
        double value;
    } members[] = {
        {"span_ns", c->span_ns},
        {"clock_first_hz", c->clock_first_hz},
        {"clock_lo_hz", c->clock_lo_hz},
        {"clock_hi_hz", c->clock_hi_hz},
        {"clock_max_hz", c->clock_max_hz},
        {"memory_clock_hz", c->memory_clock_hz},
        {"temperature_c", c->temperature_c},
        {"memory_temperature_c", c->memory_temperature_c},
        {"power_w", c->power_w},
        {"power_limit_w", c->power_limit_w},
        {"memory_used_bytes", c->memory_used_bytes},
        {"others", c->others},
        {"processes", c->processes},
    };
    json_t *out = json_object();
    json_put(out, "readings", json_integer(c->readings));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_put(out, members[i].name, json_number(members[i].value));
    json_put(out, "throttle", shares(c));
    return out;
}

json_t *telemetry_sources(const xl_reading *r)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < XL_N_SENSORS; i++)
        if (r->source[i])
            json_put(out, xl_sensor_name((xl_sensor)i, NULL, NULL),
                     json_text(r->source[i]));
    if (r->throttle_source)
        json_put(out, "throttle", json_text(r->throttle_source));
    return out;
}

json_t *telemetry_reading(const xl_reading *r)
{
    json_t *out = json_object(), *held = NULL;
    for (unsigned i = 0; i < XL_N_SENSORS; i++)
        if (r->source[i])
            json_put(out, xl_sensor_name((xl_sensor)i, NULL, NULL),
                     json_number(r->value[i]));
    if (!r->tells_throttle)
        return out;
    held = json_array();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (r->throttle & 1u << i)
            json_add(held, json_string(xl_throttle_name((xl_throttle)i)));
    json_put(out, "throttle", held);
    return out;
}
