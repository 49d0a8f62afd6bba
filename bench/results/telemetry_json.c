/* SPDX-License-Identifier: Apache-2.0 */
/* Readings as the files spell them. What nobody tells is null in a row, and
 * left out of the many lines of a log. */
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "results/json.h"
#include "results/telemetry.h"

/* {"thermal limit": 0.25}: those that held at all; null: nobody tells. */
static json_t *shares(const xl_conditions *c)
{
    if (!c->has_throttle)
        return json_null();
    json_t *out = json_object();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (c->throttle[i] > 0)
            json_put(out, xl_throttle_name((xl_throttle)i),
                     json_number(c->throttle[i]));
    return out;
}

/* The numbers of a row's conditions, in the order of the file. */
#define MEMBER(field) {#field, offsetof(xl_conditions, field)}
static const struct {
    const char *name;
    size_t at;
} members[] = {
    MEMBER(span_ns),          MEMBER(clock_first_hz),
    MEMBER(clock_lo_hz),      MEMBER(clock_hi_hz),
    MEMBER(clock_max_hz),     MEMBER(memory_clock_hz),
    MEMBER(temperature_c),    MEMBER(memory_temperature_c),
    MEMBER(power_w),          MEMBER(power_limit_w),
    MEMBER(memory_used_bytes), MEMBER(others),
    MEMBER(processes),
};
enum { N_MEMBERS = sizeof members / sizeof *members };

json_t *telemetry_conditions(const xl_conditions *c)
{
    if (c->readings == 0)
        return json_null();
    json_t *out = json_object();
    json_put(out, "readings", json_integer(c->readings));
    for (unsigned i = 0; i < N_MEMBERS; i++) {
        const char *at = (const char *)c + members[i].at;
        json_put(out, members[i].name,
                 json_number(*(const double *)(const void *)at));
    }
    json_put(out, "throttle", shares(c));
    return out;
}

void telemetry_conditions_of(const json_t *json, xl_conditions *out)
{
    const json_t *held = json_object_get(json, "throttle");
    const json_int_t readings =
        json_integer_value(json_object_get(json, "readings"));
    out->readings =
        readings > 0 && readings <= UINT_MAX ? (unsigned)readings : 0;
    for (unsigned i = 0; i < N_MEMBERS; i++) {
        char *at = (char *)out + members[i].at;
        const json_t *value = json_object_get(json, members[i].name);
        *(double *)(void *)at = json_is_number(value)
                                    ? json_number_value(value)
                                    : (double)NAN;
    }
    out->has_throttle = json_is_object(held);
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        out->throttle[i] = json_number_value(
            json_object_get(held, xl_throttle_name((xl_throttle)i)));
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
    if (!r->has_throttle)
        return out;
    held = json_array();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (r->throttle & 1u << i)
            json_add(held, json_string(xl_throttle_name((xl_throttle)i)));
    json_put(out, "throttle", held);
    return out;
}
