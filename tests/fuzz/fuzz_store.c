/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a cache file. For any input the reader must
 * stay within it, and the store must return nothing, or an entry that packs to
 * the same bytes. When the first byte is odd, the rest gets a valid checksum,
 * which a fuzzer does not find by chance, so that the checks of lengths are
 * reached.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined with lib/base/hash.c,
 * lib/base/alloc.c and lib/runtime/store/entry.c. Run: fuzz_store corpus_store
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/store/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted must say the same when it is written again. */
static void check(const unsigned char *bytes, size_t len)
{
    struct xl__entry_view view;
    size_t again_len;
    if (!xl__entry_parse(bytes, len, &view))
        return;
    unsigned char *again = xl__entry_pack(&view, &again_len);
    if (again == NULL)
        return;
    if (again_len != len || memcmp(again, bytes, len) != 0)
        abort();
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t len = size - 1;
    unsigned char *bytes = malloc(len > 0 ? len : 1); /* no slack to read */
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data + 1, len);
    if (data[0] % 2 == 1 && len >= XL__HASH128_BYTES)
        xl__hash128(bytes, len - XL__HASH128_BYTES,
                    bytes + len - XL__HASH128_BYTES);
    check(bytes, len);
    free(bytes);
    return 0;
}
