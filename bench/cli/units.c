/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as text. Each kind of unit has a table of prefixes, largest
 * first. The prefix that is printed is the largest with which the number,
 * rounded to three digits, is at least 1. */
#include "cli/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

struct scale {
    double factor;
    const char *text;
};

/* Largest first; the last one is for all smaller numbers. */
static const struct scale decimal_scale[] = {
    {1e18, " E"}, {1e15, " P"}, {1e12, " T"}, {1e9, " G"},
    {1e6, " M"},  {1e3, " k"},  {1.0, " "},   {0, NULL},
};
static const struct scale binary_scale[] = {
    {1125899906842624.0, " PiB"},
    {1099511627776.0, " TiB"},
    {1073741824.0, " GiB"},
    {1048576.0, " MiB"},
    {1024.0, " KiB"},
    {1.0, " B"},
    {0, NULL},
};
static const struct scale time_scale[] = {
    {1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1.0, " ns"}, {0, NULL},
};

/* 0.9995 of the next prefix is rounded to 1.00 of it. */
static const double rounds_up = 0.9995;
/* A double represents each integer up to 2^53. */
static const double whole_limit = 9007199254740992.0;

static const struct scale *find_scale(const struct scale *scales, double x)
{
    const struct scale *s = scales;
    while (s[1].text && fabs(x) < s->factor * rounds_up)
        s++;
    return s;
}

/* Three significant digits; integers have all their digits. */
static void print_digits(char *out, size_t cap, double x)
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

static void print_scaled(char *out, size_t cap, double x,
                         const struct scale *scales, const char *unit)
{
    const struct scale *s = find_scale(scales, x);
    char number[UNITS_CAP];
    print_digits(number, sizeof number, x / s->factor);
    snprintf(out, cap, "%s%s%s", number, s->text, unit);
}

void units_number(char *out, size_t cap, double value)
{
    if (isfinite(value))
        print_digits(out, cap, value);
    else
        xl__strcpy(out, cap, isnan(value) ? "-" : value > 0 ? "inf" : "-inf");
}

void units_time(char *out, size_t cap, double ns)
{
    if (isfinite(ns))
        print_scaled(out, cap, ns, time_scale, "");
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
        print_scaled(out, cap, bytes, decimal_scale, "B");
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
        print_scaled(out, cap, value, binary_scale, "");
    else if (xl__streq(unit, "flop/s"))
        print_scaled(out, cap, value, decimal_scale, "FLOP/s");
    else if (xl__streq(unit, "1/s"))
        print_scaled(out, cap, value, decimal_scale, "/s");
    else if (xl__streq(unit, "B/s") || xl__streq(unit, "Hz") ||
             xl__streq(unit, "op/s"))
        print_scaled(out, cap, value, decimal_scale, unit);
    else {
        char number[UNITS_CAP];
        units_number(number, sizeof number, value);
        snprintf(out, cap, "%s %s", number, unit);
    }
}

/* -- reading ---------------------------------------------------------------
 */

/* The prefixes and units of each kind of quantity. */
static const struct {
    const char *letters; /* prefixes of base, base^2, base^3, ... */
    double base;
    const char *units[4];
    const char *requirement;
} scales[] = {
    [QUANTITY_COUNT] = {"", 1, {""}, "an integer, such as 48"},
    [QUANTITY_WEIGHTS] = {"kMBT",
                          1e3,
                          {""},
                          "a number of weights, such as 14e9 or 14B"},
    [QUANTITY_TOKENS] =
        {"kM",
         1024,
         {""},
         "an integer, such as 32768 or 32k, which is the same"},
    [QUANTITY_BYTES] = {"kMGTP",
                        1e3,
                        {"B", ""},
                        "a number of bytes, such as 24GB or 22.5GiB"},
    [QUANTITY_BYTES_PER_S] = {"kMGTP",
                              1e3,
                              {"B/s", "B", ""},
                              "a rate in B/s, such as 1008GB/s"},
    [QUANTITY_FLOP_PER_S] = {"kMGTP",
                             1e3,
                             {"FLOP/s", "flop/s", "FLOPS", ""},
                             "a rate in FLOP/s, such as 165TFLOP/s"},
};

const char *number_read(const char *text, double *out)
{
    const size_t n_digits = strspn(text, "0123456789.");
    char *end = NULL;
    *out = strtod(text, &end);
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return n_digits > 0 && end > text && !is_hex ? end : NULL;
}

/* Read a prefix ("k", "Gi") and a unit; false: it is neither. */
static bool read_unit(const char *text, enum quantity_scale scale,
                      double *factor)
{
    static const double binary = 1024;
    double base = scales[scale].base;
    *factor = 1;
    text += *text == ' ';
    const char first = *text == 'K' ? 'k' : *text;
    const char *letter = first ? strchr(scales[scale].letters, first) : NULL;
    if (letter) {
        text++;
        if (*text == 'i') {
            base = binary;
            text++;
        }
        *factor = pow(base, (double)(letter - scales[scale].letters) + 1);
    }
    for (unsigned i = 0; i < 4 && scales[scale].units[i]; i++)
        if (strcmp(text, scales[scale].units[i]) == 0)
            return true;
    return false;
}

bool quantity_read(const char *text, const struct quantity_range *q,
                   double *out, struct xl__str *why)
{
    double factor = 1;
    const char *end = number_read(text, out);
    const bool is_read = end && read_unit(end, q->scale, &factor);
    const bool is_whole =
        q->scale == QUANTITY_COUNT || q->scale == QUANTITY_TOKENS;
    *out *= factor;
    if (is_read && *out >= q->least && *out <= q->most &&
        !(is_whole && *out != floor(*out)))
        return true;
    xl__str_printf(why, "invalid value '%s' for --%s: must be %s", text,
                   q->option, scales[q->scale].requirement);
    if (is_read)
        xl__str_printf(why, is_whole ? ", from %.0f to %.0f"
                                     : ", from %.4g to %.4g",
                       q->least, q->most);
    return false;
}
