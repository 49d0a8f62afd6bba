/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one cache file.
 *
 *   offset      bytes  what
 *        0          4  "XLE1"
 *        4          4  self-check verdict, enum xl__trust
 *        8          8  K, length of the key text
 *       16          8  P, length of the payload
 *       24          K  key text, no 0 byte in it or after it
 *     24+K          P  payload: what clGetProgramInfo() gave; of a program that
 *                      failed, the story
 *   24+K+P         16  XXH3-128 of all bytes before it
 *
 * Numbers are little-endian. Nothing may follow. */
#ifndef XL_RUNTIME_ENTRY_H
#define XL_RUNTIME_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

enum xl__trust { XL__UNTESTED, XL__PASSED, XL__FAILED };

/* What an entry says, pointing into its bytes. */
struct xl__entry_view {
    enum xl__trust trust;
    const char *key; /* not ended by a 0 byte */
    size_t key_len;
    const void *payload;
    size_t n_bytes;
};

/* The file's bytes, *len of them; free() them. NULL when out of memory. */
unsigned char *xl__entry_pack(const struct xl__entry_view *e, size_t *len);

/* Read them back; false for bytes that xl__entry_pack() did not make. */
bool xl__entry_parse(const void *bytes, size_t len,
                     struct xl__entry_view *out);

#endif
