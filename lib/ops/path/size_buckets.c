/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets are centred on common sizes: 1000, 1023 and 1025 use the set that
 * was tuned for 1024. Their ratio is 1.33 or 1.5, as much as the waste at the
 * border of a tile varies. */
#include "ops/path/size_buckets.h"

/* Whether the ratio to `high` is nearer to 1 than the ratio to `low`. */
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
