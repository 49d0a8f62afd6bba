/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an option's value, by its kind. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

static bool read_uint(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    *out = value;
    return isdigit((unsigned char)*text) && !*end && errno == 0;
}

/* A number of at least 0 with nothing but `tail` allowed behind it. */
static bool read_real(const char *text, char tail, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    bool is_decimal = isdigit((unsigned char)*text) || *text == '.';
    end += *end == tail;
    return is_decimal && end > text && !*end && isfinite(*out);
}

/* "90", "90s", "1.5m", "2h". */
static bool read_seconds(const char *text, double *out)
{
    static const struct {
        char tail;
        double s;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (read_real(text, units[i].tail, out)) {
            *out *= units[i].s;
            return *out > 0;
        }
    return false;
}

static bool read_percent(const char *text, double *out)
{
    return read_real(text, '%', out);
}

static bool read_choice(const char *text, const char *const *choices, int *out)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool read_list(const char *text, struct option_list *out)
{
    if (!*text || out->n == OPTION_TIMES)
        return false;
    out->value[out->n++] = text;
    return true;
}

/* A whole number from `least` on. */
static bool read_count(const char *text, size_t least, size_t *out)
{
    uint64_t value = 0;
    if (!read_uint(text, &value) || value < least)
        return false;
    *out = (size_t)value;
    return *out == value;
}

static bool store(const struct option_row *row, const char *text, void *field)
{
    switch (row->kind) {
    case OPT_FLAG:
        *(bool *)field = true;
        return true;
    case OPT_TEXT:
        *(const char **)field = text;
        return *text != '\0';
    case OPT_UINT:
        return read_uint(text, field);
    case OPT_COUNT:
        return read_count(text, 1, field);
    case OPT_SIZE:
        return read_count(text, 0, field);
    case OPT_SECONDS:
        return read_seconds(text, field);
    case OPT_PERCENT:
        return read_percent(text, field);
    case OPT_CHOICE:
        return read_choice(text, row->choices, field);
    case OPT_LIST:
        return read_list(text, field);
    }
    return false;
}

bool option_set(const struct option_row *row, const char *text,
                struct settings *set)
{
    set->given[row - option_rows] = true;
    return store(row, text, (char *)set + row->offset);
}

bool option_is_given(const struct option_row *row, const struct settings *set)
{
    return set->given[row - option_rows];
}

const char *option_asks(enum option_kind kind)
{
    switch (kind) {
    case OPT_UINT:
    case OPT_SIZE:
        return ", a whole number";
    case OPT_COUNT:
        return ", a whole number from 1 on";
    case OPT_SECONDS:
        return ", a time above 0, in seconds or with s, m or h behind it";
    case OPT_PERCENT:
        return ", a percentage";
    default:
        return "";
    }
}
