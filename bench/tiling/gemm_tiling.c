/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/gemm_tiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double whole_tiles(size_t extent, size_t tile)
{
    return ceil((double)extent / (double)tile);
}

struct tile_cover tile_cover(size_t m, size_t n, size_t tm, size_t tn)
{
    const double tiles = whole_tiles(m, tm) * whole_tiles(n, tn);
    const double covered = tiles * (double)tm * (double)tn;
    return (struct tile_cover){tiles, (double)m * (double)n / covered};
}

struct tile_waves tile_waves(double groups, double units)
{
    const double waves = ceil(groups / units);
    return (struct tile_waves){waves, groups / (waves * units)};
}

/* An element of A is read once for each column of tiles, one of B once for
 * each row of them. */
struct tile_reads tile_reads(const size_t mnk[3], size_t tile, size_t bytes)
{
    const double m = (double)mnk[0], n = (double)mnk[1], k = (double)mnk[2];
    struct tile_reads out = {.per_a = whole_tiles(mnk[1], tile),
                             .per_b = whole_tiles(mnk[0], tile)};
    out.bytes =
        (m * k * out.per_a + k * n * out.per_b) * (double)bytes;
    out.flop_per_byte = 2 * m * n * k / out.bytes;
    return out;
}

size_t tile_alignment(size_t ld, size_t elem_bytes)
{
    enum { LINE = 128 }; /* no memory wants more */
    size_t align = LINE;
    while (align > 1 && ld * elem_bytes % align != 0)
        align /= 2;
    return align;
}

bool tile_tunable(const char *tunables, const char *name, size_t *out)
{
    const size_t len = strlen(name);
    const char *at = tunables;
    for (; (at = strstr(at, name)) != NULL; at += len)
        if (at[len] == '=' && (at == tunables || at[-1] == ' '))
            break;
    if (!at)
        return false;
    *out = (size_t)strtoull(at + len + 1, NULL, 10);
    return *out > 0;
}
