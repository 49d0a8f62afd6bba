/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets are centred on common sizes: 1000, 1023 and 1025 use the set that
 * was tuned for 1024. Their ratio is 1.33 or 1.5, as much as the waste at the
 * border of a tile varies. */
#include "ops/path/size_buckets.h"
#include "base/numbers.h"

/* Whether the ratio to `high` is nearer to 1 than the ratio to `low`. */
static int is_past(size_t n, size_t low, size_t high)
{
    return (double)n * (double)n >= (double)low * (double)high;
}

size_t xl__bucket(size_t n)
{
    const size_t low = (size_t)xl__floor_power_of_two(n);
    const size_t mid = low > 1 ? low + low / 2 : 2;
    if (!is_past(n, low, mid))
        return low;
    return low > 1 && is_past(n, mid, 2 * low) ? 2 * low : mid;
}

size_t xl__bucket_coarse(size_t n)
{
    const size_t low = (size_t)xl__floor_power_of_two(n);
    return is_past(n, low, 2 * low) ? 2 * low : low;
}

size_t xl__size_end(size_t n, size_t grain, enum xl__class_end end)
{
    enum { ALONE = 32, PARTS = 16 };
    static const size_t huge = (size_t)1 << 40; /* alone too */
    if (n <= ALONE || n >= huge)
        return n;
    const size_t each = (size_t)xl__floor_power_of_two(n) / PARTS;
    const size_t least = n / each * each, last = least + each - 1;
    const size_t power = n & (~n + 1);
    if (power < grain) /* `last` is odd */
        return end == XL__CLASS_LARGEST ? last : least + (least % grain == 0);
    const size_t period = 2 * power, phase = power; /* of the class */
    return end == XL__CLASS_LARGEST
               ? (last - phase) / period * period + phase
               : (least + period - 1 - phase) / period * period + phase;
}

size_t xl__size_half(size_t n)
{
    const size_t power = n & (~n + 1);
    if (n == power)
        return n / 2 + (n == 1);
    if (power >= XL__SIZE_GRAIN)
        return n / 2 / XL__SIZE_GRAIN * XL__SIZE_GRAIN;
    return n / 2 / (2 * power) * (2 * power) + power;
}
