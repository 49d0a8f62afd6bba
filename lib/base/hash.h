/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 hashes, the same on every machine, for names and checksums. They detect
 * accidental damage, not deliberate changes. */
#ifndef XL_BASE_HASH_H
#define XL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { XL__HASH128_BYTES = 16, XL__HASH128_TEXT = 33 };

uint64_t xl__hash64(const void *bytes, size_t len);
/* Big-endian, as XXH128_canonicalFromHash() writes it. */
void xl__hash128(const void *bytes, size_t len,
                 unsigned char out[XL__HASH128_BYTES]);
/* 32 lower-case hex digits and a 0 byte. */
void xl__hash128_hex(const void *bytes, size_t len,
                     char out[XL__HASH128_TEXT]);

#endif
