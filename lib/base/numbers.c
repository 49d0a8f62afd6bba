/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of whole numbers. */
#include "base/numbers.h"

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

size_t xl__shrink_to_divisor(size_t width, size_t x)
{
    while (width > 1 && x % width != 0)
        width /= 2;
    return width;
}

size_t xl__inverse_32(size_t d)
{
    return d == 1 ? UINT32_MAX : (size_t)(((uint64_t)1 << 32) / d);
}

uint64_t xl__pack_words(size_t low, size_t high)
{
    return (uint32_t)low | (uint64_t)high << 32;
}
