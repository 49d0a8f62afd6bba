/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the JSON values of a result file. */
#include "results/json.h"

#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/console.h"

/* 2^63: the first whole number that JSON integers do not reach. */
static const double int64_limit = 9223372036854775808.0;

json_t *json_number(double value)
{
    char digits[32];
    if (!isfinite(value))
        return json_null();
    if (value != floor(value))
        return json_real(value);
    if (fabs(value) < int64_limit)
        return json_integer((json_int_t)value);
    /* Such as 2^64 - 1 of a driver, which a double rounds up by one. */
    if (fabs(value) <= 2.0 * int64_limit) {
        snprintf(digits, sizeof digits, "%.0f", value);
        return json_string(digits);
    }
    return json_real(value);
}

json_t *json_uint(uint64_t value)
{
    char digits[32];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    return json_string(digits);
}

json_t *json_text(const char *text)
{
    struct xl__str clean = {0};
    if (!text)
        return json_null();
    text_escape(&clean, text);
    json_t *out = clean.broken ? NULL : json_string(xl__str_text(&clean));
    xl__str_clear(&clean);
    return out;
}

json_t *json_lines(const char *text)
{
    struct xl__str clean = {0};
    if (!text)
        return json_null();
    text_escape_lines(&clean, text);
    json_t *out = clean.broken ? NULL : json_string(xl__str_text(&clean));
    xl__str_clear(&clean);
    return out;
}

void json_put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value ? value : json_null());
}

void json_add(json_t *array, json_t *value)
{
    (void)json_array_append_new(array, value ? value : json_null());
}

const char *json_text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}
