/* SPDX-License-Identifier: Apache-2.0 */
/* Sensor readings of devices: as members of a result file, and as tables for
 * people. What no sensor reports is null in a row, left out of the lines of a
 * log, and "-" in a table; never 0. */
#include "results/telemetry.h"

#include <math.h>
#include <string.h>

#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/json.h"

/* -- JSON ----------------------------------------------------------------- */

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
    json_t *out = json_object(), *throttles = NULL;
    for (unsigned i = 0; i < XL_N_SENSORS; i++)
        if (r->source[i])
            json_put(out, xl_sensor_name((xl_sensor)i, NULL, NULL),
                     json_number(r->value[i]));
    if (!r->has_throttle)
        return out;
    throttles = json_array();
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        if (r->throttle & 1u << i)
            json_add(throttles, json_string(xl_throttle_name((xl_throttle)i)));
    json_put(out, "throttle", throttles);
    return out;
}

/* -- text ----------------------------------------------------------------- */

static const double mega = 1e6, gib = 1024.0 * 1024.0 * 1024.0;

/* "645/700 W", "645 W", "-": a value of its most, both over a unit. */
static void add_reading_cell(struct table *t, double value, double most,
                             double unit, int digits, const char *name)
{
    if (isnan(value))
        table_cell(t, "-");
    else if (isnan(most))
        table_cell(t, "%.*f %s", digits, value / unit, name);
    else
        table_cell(t, "%.*f/%.0f %s", digits, value / unit, most / unit, name);
}

static void add_busy_cell(struct table *t, const xl_reading *r)
{
    char text[UNITS_CAP];
    units_percent(text, sizeof text, r->value[XL_SENSOR_BUSY]);
    table_cell(t, "%s", text);
}

/* An alarm in red, a limit in yellow. */
static void add_throttle_cell(struct table *t, const xl_reading *r)
{
    struct xl__str text = {0};
    enum table_colour colour = TABLE_PLAIN;
    for (unsigned i = 0; i < XL_N_THROTTLES; i++) {
        if (!(r->throttle & 1u << i))
            continue;
        xl__str_printf(&text, "%s%s", text.len ? ", " : "",
                       xl_throttle_name((xl_throttle)i));
        if (xl_throttle_is_alarm((xl_throttle)i))
            colour = TABLE_RED;
        else if (i != XL_THROTTLE_IDLE && colour == TABLE_PLAIN)
            colour = TABLE_YELLOW;
    }
    if (text.len == 0)
        xl__str_add(&text, r->has_throttle ? "nothing" : "-");
    table_cell_coloured(t, colour, xl__str_text(&text));
    xl__str_clear(&text);
}

void telemetry_table(FILE *to, const struct telemetry_device *d, unsigned n,
                     unsigned width, bool colour)
{
    static const struct table_column columns[] = {
        {"#", true, 0},      {"device", false, 8}, {"busy", true, 0},
        {"memory", true, 0}, {"clock", true, 0},   {"temp", true, 0},
        {"power", true, 0},  {"limited by", false, 7}};
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < n; i++) {
        const xl_reading *r = &d[i].now;
        const double *v = r->value;
        table_cell(t, "%u", xl_device_index(d[i].dev));
        table_cell(t, "%s", device_fact_text(d[i].dev, "name", "?"));
        add_busy_cell(t, r);
        add_reading_cell(t, v[XL_SENSOR_MEMORY_USED],
                         v[XL_SENSOR_MEMORY_TOTAL], gib, 1, "GiB");
        add_reading_cell(t, v[XL_SENSOR_CLOCK], NAN, mega, 0, "MHz");
        add_reading_cell(t, v[XL_SENSOR_TEMPERATURE], NAN, 1, 0, "C");
        add_reading_cell(t, v[XL_SENSOR_POWER], v[XL_SENSOR_POWER_LIMIT], 1, 0,
                         "W");
        add_throttle_cell(t, r);
    }
    table_print(to, t, width, colour);
    table_destroy(t);
}

/* -- rows ----------------------------------------------------------------- */

/* The conditions of several rows: the range of clocks, the highest of the
 * rest. */
static void merge_conditions(xl_conditions *all, const xl_conditions *c)
{
    all->readings += c->readings;
    all->clock_lo_hz = fmin(all->clock_lo_hz, c->clock_lo_hz);
    all->clock_hi_hz = fmax(all->clock_hi_hz, c->clock_hi_hz);
    all->temperature_c = fmax(all->temperature_c, c->temperature_c);
    all->power_w = fmax(all->power_w, c->power_w);
    all->power_limit_w = fmax(all->power_limit_w, c->power_limit_w);
}

void telemetry_conditions_text(const struct result_table *rows,
                               const void *dev, struct xl__str *out)
{
    xl_conditions all = {.clock_lo_hz = NAN,
                         .clock_hi_hz = NAN,
                         .temperature_c = NAN,
                         .power_w = NAN,
                         .power_limit_w = NAN};
    for (size_t i = 0; i < rows->n; i++)
        if (rows->list[i].dev == dev &&
            rows->list[i].row.samples.conditions.readings > 0)
            merge_conditions(&all, &rows->list[i].row.samples.conditions);
    if (isnan(all.temperature_c) && isnan(all.power_w))
        return;
    if (all.clock_lo_hz < all.clock_hi_hz)
        xl__str_printf(out, "%.0f to ", all.clock_lo_hz / mega);
    if (!isnan(all.clock_hi_hz))
        xl__str_printf(out, "%.0f MHz", all.clock_hi_hz / mega);
    if (!isnan(all.temperature_c))
        xl__str_printf(out, "%sup to %.0f C", out->len ? ", " : "",
                       all.temperature_c);
    if (!isnan(all.power_w))
        xl__str_printf(out, "%s%.0f", out->len ? ", " : "", all.power_w);
    if (!isnan(all.power_w) && !isnan(all.power_limit_w))
        xl__str_printf(out, " of %.0f", all.power_limit_w);
    if (!isnan(all.power_w))
        xl__str_add(out, " W");
}

/* -- every sensor --------------------------------------------------------- */

static void add_sensor_cell(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    if (strcmp(unit, "1") == 0)
        units_number(text, sizeof text, value);
    else
        units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

void telemetry_legend(FILE *to, unsigned width)
{
    struct xl__str text = {0};
    const char *name, *help;
    for (unsigned i = 0; (name = xl_sensor_name((xl_sensor)i, NULL, &help));
         i++) {
        xl__str_reset(&text);
        xl__str_printf(&text, "%s: %s", name, help);
        text_wrap(to, xl__str_text(&text), 2, width - 2);
    }
    text_wrap(to, "limited by: what keeps the clock from being higher", 2,
              width - 2);
    xl__str_clear(&text);
}

void telemetry_list(FILE *to, const struct telemetry_device *d, unsigned width)
{
    static const struct table_column columns[] = {
        {"sensor", false, 0}, {"value", true, 0}, {"source", false, 20}};
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    const xl_reading *r = &d->now;
    const char *unit;
    for (unsigned i = 0; i < XL_N_SENSORS; i++) {
        table_cell(t, "%s", xl_sensor_name((xl_sensor)i, &unit, NULL));
        add_sensor_cell(t, r->value[i], unit);
        table_cell(t, "%s", r->source[i] ? r->source[i] : "-");
    }
    table_cell(t, "limited by");
    add_throttle_cell(t, r);
    table_cell(t, "%s", r->throttle_source ? r->throttle_source : "-");
    table_print(to, t, width, false);
    table_destroy(t);
}
