/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets centred on the sizes that people use: 1000, 1023 and 1025 are to
 * find what was tuned for 1024. Steps of 1.33 and 1.5 are what a tile's waste
 * at the border varies by anyway. */
#include "ops/path/size_buckets.h"

/* Nearer to `high` than to `low` by ratio? */
static int is_past(size_t n, size_t low, size_t high)
{
    return (double)n * (double)n >= (double)low * (double)high;
}

static size_t power_below(size_t n)
{
    size_t power = 1;
    while (n / 2 >= power)
        power *= 2;
    return power;
}

size_t xl__bucket(size_t n)
{
    const size_t low = power_below(n);
    const size_t mid = low > 1 ? low + low / 2 : 2;
    if (!is_past(n, low, mid))
        return low;
    return low > 1 && is_past(n, mid, 2 * low) ? 2 * low : mid;
}

size_t xl__bucket_coarse(size_t n)
{
    const size_t low = power_below(n);
    return is_past(n, low, 2 * low) ? 2 * low : low;
}
