/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How each kind is written. */
static const struct {
    const char *letters; /* of thousands, their squares, cubes, ... */
    double base;         /* what the first letter stands for */
    const char *units[4];
    const char *want;
} scales[] = {
    [PLAN_WHOLE] = {"", 1, {""}, "a whole number, such as 48"},
    [PLAN_WEIGHTS] = {"kMBT", 1e3, {""},
                      "a number of weights, such as 14e9 or 14B"},
    [PLAN_TOKENS] = {"kM", 1024, {""},
                     "a whole number of tokens, such as 32768 or 32k, which "
                     "is the same"},
    [PLAN_BYTES] = {"kMGTP", 1e3, {"B", ""},
                    "bytes, such as 24GB or 22.5GiB"},
    [PLAN_BYTES_PER_S] = {"kMGTP", 1e3, {"B/s", "B", ""},
                          "bytes a second with their unit, such as 1008GB/s"},
    [PLAN_FLOP_PER_S] = {"kMGTP", 1e3, {"FLOP/s", "flop/s", "FLOPS", ""},
                         "flop a second with their unit, such as "
                         "165TFLOP/s"},
};

const char *plan_number(const char *text, double *out)
{
    const size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    *out = strtod(text, &end);
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return digits > 0 && end > text && !is_hex ? end : NULL;
}

/* "k", "Gi", with a unit behind it; false: none of these. */
static bool read_ending(const char *text, enum plan_scale scale, double *factor)
{
    static const double binary = 1024;
    double base = scales[scale].base;
    *factor = 1;
    text += *text == ' ';
    const char first = *text == 'K' ? 'k' : *text;
    const char *letter =
        first ? strchr(scales[scale].letters, first) : NULL;
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

bool plan_quantity_read(const char *text, const struct plan_quantity *q,
                        double *out, struct xl__str *why)
{
    double factor = 1;
    const char *end = plan_number(text, out);
    const bool is_read = end && read_ending(end, q->scale, &factor);
    const bool is_whole = q->scale == PLAN_WHOLE || q->scale == PLAN_TOKENS;
    *out *= factor;
    if (is_read && *out >= q->least && *out <= q->most &&
        !(is_whole && *out != floor(*out)))
        return true;
    xl__str_printf(why, "--%s: '%s' will not do", q->option, text);
    if (is_read)
        xl__str_printf(why, ", as it is not from %.4g to %.4g%s", q->least,
                       q->most, is_whole ? " and whole" : "");
    xl__str_printf(why, "; give %s", scales[q->scale].want);
    return false;
}
