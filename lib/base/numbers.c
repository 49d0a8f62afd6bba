/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of whole numbers. Digits are read by hand: strtoull() accepts
 * signs, blanks and the locale's digits, which no text of ours has. */
#include "base/numbers.h"

#include <string.h>

uint64_t xl__gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool xl__is_power_of_two(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

unsigned xl__floor_log2(uint64_t x)
{
    unsigned e = 0;
    while (x >>= 1)
        e++;
    return e;
}

uint64_t xl__floor_power_of_two(uint64_t x)
{
    return (uint64_t)1 << xl__floor_log2(x);
}

uint64_t xl__ceil_power_of_two(uint64_t x)
{
    const uint64_t below = xl__floor_power_of_two(x);
    return below >= x ? below : below << 1;
}

size_t xl__clamp_size(size_t x, size_t lo, size_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

double xl__clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

size_t xl__read_u64(const char *text, size_t len, uint64_t most, uint64_t *out)
{
    enum { BASE = 10 };
    uint64_t x = 0;
    size_t n = 0;
    for (; n < len && text[n] >= '0' && text[n] <= '9'; n++) {
        const uint64_t digit = (uint64_t)(text[n] - '0');
        if (digit > most || x > (most - digit) / BASE)
            return 0;
        x = x * BASE + digit;
    }
    if (n > 0)
        *out = x;
    return n;
}

bool xl__parse_u64(const char *text, uint64_t least, uint64_t most,
                   uint64_t *out)
{
    const size_t len = strlen(text);
    uint64_t x = 0;
    if (len == 0 || xl__read_u64(text, len, most, &x) != len || x < least)
        return false;
    *out = x;
    return true;
}
