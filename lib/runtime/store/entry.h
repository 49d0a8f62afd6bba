/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of one cache entry.
 *
 *   offset      bytes  what
 *        0          4  "XLE1"
 *        4          4  self-check verdict, enum xl__trust
 *        8          8  K, length of the key text
 *       16          8  P, length of the payload
 *       24          K  key text, no 0 byte in it or after it
 *     24+K          P  payload: the program binary; of a program that cannot
 *                      be compiled or failed its self-check, why
 *   24+K+P         16  XXH3-128 of all bytes before it
 *
 * Numbers are little-endian. No bytes may follow. */
#ifndef XL_RUNTIME_ENTRY_H
#define XL_RUNTIME_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result of a program's self-check, or XL__FAILED for one that cannot be
 * compiled. */
enum xl__trust { XL__UNTESTED, XL__PASSED, XL__FAILED };

/* The fields of an entry; pointers into its bytes. */
struct xl__entry_view {
    enum xl__trust trust;
    const char *key; /* not ended by a 0 byte */
    size_t key_len;
    const void *payload;
    size_t n_bytes;
};

/* Little-endian numbers of 1 to 8 bytes. */
void xl__put_number(unsigned char *at, uint64_t x, size_t bytes);
uint64_t xl__get_number(const unsigned char *at, size_t bytes);

/* The bytes of the file, *len of them, on the heap; NULL when out of memory.
 */
unsigned char *xl__entry_pack(const struct xl__entry_view *e, size_t *len);

/* Parse them; false when they are not an intact entry. */
bool xl__entry_parse(const void *bytes, size_t len,
                     struct xl__entry_view *out);

#endif
