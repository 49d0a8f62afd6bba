/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. One scale table per kind of unit; the step is the
 * largest that leaves at least one after rounding to three digits. */
#include "cli/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"

struct scale {
    double factor;
    const char *text;
};

/* Largest first; the last takes whatever is left. */
static const struct scale decimal[] = {
    {1e18, " E"}, {1e15, " P"}, {1e12, " T"}, {1e9, " G"},
    {1e6, " M"},  {1e3, " k"},  {1.0, " "},   {0, NULL},
};
static const struct scale binary[] = {
    {1125899906842624.0, " PiB"},
    {1099511627776.0, " TiB"},
    {1073741824.0, " GiB"},
    {1048576.0, " MiB"},
    {1024.0, " KiB"},
    {1.0, " B"},
    {0, NULL},
};
static const struct scale times[] = {
    {1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1.0, " ns"}, {0, NULL},
};

/* 0.9995 of the next step rounds to 1.00 of it. */
static const double rounds_up = 0.9995;
/* Doubles hold every whole number up to here. */
static const double whole_limit = 9007199254740992.0;

static const struct scale *pick(const struct scale *scales, double x)
{
    const struct scale *s = scales;
    while (s[1].text && fabs(x) < s->factor * rounds_up)
        s++;
    return s;
}

/* Three significant digits; whole numbers stay whole. */
static void digits(char *out, size_t cap, double x)
{
    double size = fabs(x);
    if (size == floor(size) && size < whole_limit)
        snprintf(out, cap, "%.0f", x);
    else if (size >= 99.95)
        snprintf(out, cap, "%.0f", x);
    else if (size >= 9.995)
        snprintf(out, cap, "%.1f", x);
    else if (size >= 0.9995)
        snprintf(out, cap, "%.2f", x);
    else
        snprintf(out, cap, "%.3g", x);
}

static void scaled(char *out, size_t cap, double x, const struct scale *scales,
                   const char *unit)
{
    const struct scale *s = pick(scales, x);
    char number[UNITS_CAP];
    digits(number, sizeof number, x / s->factor);
    snprintf(out, cap, "%s%s%s", number, s->text, unit);
}

void units_number(char *out, size_t cap, double value)
{
    if (isfinite(value))
        digits(out, cap, value);
    else
        xl__strcpy(out, cap, isnan(value) ? "-" : value > 0 ? "inf" : "-inf");
}

void units_time(char *out, size_t cap, double ns)
{
    if (isfinite(ns))
        scaled(out, cap, ns, times, "");
    else
        units_number(out, cap, ns);
}

void units_percent(char *out, size_t cap, double frac)
{
    double percent = 100.0 * frac;
    if (!isfinite(percent))
        units_number(out, cap, percent);
    else if (percent == 0 || fabs(percent) >= 9.95)
        snprintf(out, cap, "%.0f%%", percent);
    else
        snprintf(out, cap, "%.1f%%", percent);
}

void units_bytes(char *out, size_t cap, double bytes)
{
    if (isfinite(bytes))
        scaled(out, cap, bytes, decimal, "B");
    else
        units_number(out, cap, bytes);
}

void units_format(char *out, size_t cap, double value, const char *unit)
{
    static const double ns_per_s = 1e9;
    if (!isfinite(value) || !unit || xl__streq(unit, "1"))
        units_number(out, cap, value);
    else if (xl__streq(unit, "s"))
        units_time(out, cap, value * ns_per_s);
    else if (xl__streq(unit, "ns"))
        units_time(out, cap, value);
    else if (xl__streq(unit, "B"))
        scaled(out, cap, value, binary, "");
    else if (xl__streq(unit, "flop/s"))
        scaled(out, cap, value, decimal, "FLOP/s");
    else if (xl__streq(unit, "1/s"))
        scaled(out, cap, value, decimal, "/s");
    else if (xl__streq(unit, "B/s") || xl__streq(unit, "Hz") ||
             xl__streq(unit, "op/s"))
        scaled(out, cap, value, decimal, unit);
    else {
        char number[UNITS_CAP];
        units_number(number, sizeof number, value);
        snprintf(out, cap, "%s %s", number, unit);
    }
}
