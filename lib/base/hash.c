/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 from the header-only xxHash. The results have been stable since version
 * 0.8.0, so they may be stored on disk. */
#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t xl__hash64(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

void xl__hash128(const void *bytes, size_t len,
                 unsigned char out[XL__HASH128_BYTES])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, len));
    memcpy(out, canonical.digest, XL__HASH128_BYTES);
}

void xl__hash128_hex(const void *bytes, size_t len, char out[XL__HASH128_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[XL__HASH128_BYTES];
    xl__hash128(bytes, len, hash);
    for (size_t i = 0; i < XL__HASH128_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 0xf];
    }
    out[2 * XL__HASH128_BYTES] = 0;
}
