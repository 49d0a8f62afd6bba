/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of cache entries to and from the bytes of a file. A length read
 * from a file is compared with the file's size before it is used. */
#include "runtime/store/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/alloc.h"

enum {
    AT_TRUST = 4,
    AT_KEY_LEN = 8,
    AT_PAYLOAD_LEN = 16,
    HEAD_BYTES = 24,
    FIXED_BYTES = HEAD_BYTES + XL__HASH128_BYTES,
    BITS_PER_BYTE = 8
};

static const unsigned char MAGIC[AT_TRUST] = {'X', 'L', 'E', '1'};

void xl__put_number(unsigned char *at, uint64_t x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(x >> BITS_PER_BYTE * i);
}

uint64_t xl__get_number(const unsigned char *at, size_t bytes)
{
    uint64_t x = 0;
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)at[i] << BITS_PER_BYTE * i;
    return x;
}

unsigned char *xl__entry_pack(const struct xl__entry_view *e, size_t *len)
{
    size_t body;
    if (!xl__add(e->key_len, e->n_bytes, &body) ||
        !xl__add(body, FIXED_BYTES, len))
        return NULL;
    unsigned char *bytes = malloc(*len);
    if (bytes == NULL)
        return NULL;
    memcpy(bytes, MAGIC, sizeof(MAGIC));
    xl__put_number(bytes + AT_TRUST, e->trust, AT_KEY_LEN - AT_TRUST);
    xl__put_number(bytes + AT_KEY_LEN, e->key_len,
                   AT_PAYLOAD_LEN - AT_KEY_LEN);
    xl__put_number(bytes + AT_PAYLOAD_LEN, e->n_bytes,
                   HEAD_BYTES - AT_PAYLOAD_LEN);
    memcpy(bytes + HEAD_BYTES, e->key, e->key_len);
    if (e->n_bytes > 0)
        memcpy(bytes + HEAD_BYTES + e->key_len, e->payload, e->n_bytes);
    xl__hash128(bytes, HEAD_BYTES + body, bytes + HEAD_BYTES + body);
    return bytes;
}

/* Are the lengths consistent with the file's size? Compared by subtraction,
 * since the sum of damaged lengths may overflow. */
static bool lengths_fit(uint64_t key_len, uint64_t n_bytes, size_t len)
{
    size_t body = len - FIXED_BYTES;
    return key_len <= body && n_bytes == body - key_len;
}

bool xl__entry_parse(const void *bytes, size_t len, struct xl__entry_view *out)
{
    const unsigned char *at = bytes;
    unsigned char hash[XL__HASH128_BYTES];
    if (len < FIXED_BYTES || memcmp(at, MAGIC, sizeof(MAGIC)) != 0)
        return false;
    uint64_t trust = xl__get_number(at + AT_TRUST, AT_KEY_LEN - AT_TRUST);
    uint64_t key_len =
        xl__get_number(at + AT_KEY_LEN, AT_PAYLOAD_LEN - AT_KEY_LEN);
    uint64_t n_bytes =
        xl__get_number(at + AT_PAYLOAD_LEN, HEAD_BYTES - AT_PAYLOAD_LEN);
    if (trust > XL__FAILED || !lengths_fit(key_len, n_bytes, len))
        return false;
    size_t hashed = len - XL__HASH128_BYTES;
    xl__hash128(at, hashed, hash);
    if (memcmp(hash, at + hashed, sizeof(hash)) != 0 ||
        memchr(at + HEAD_BYTES, 0, (size_t)key_len) != NULL)
        return false;
    *out = (struct xl__entry_view){
        .trust = (enum xl__trust)trust,
        .key = (const char *)at + HEAD_BYTES,
        .key_len = (size_t)key_len,
        .payload = at + HEAD_BYTES + key_len,
        .n_bytes = (size_t)n_bytes,
    };
    return true;
}
