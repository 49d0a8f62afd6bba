/* SPDX-License-Identifier: Apache-2.0 */
/* Reads descriptors of older and newer headers. A size is believed only where
 * it can be that of a descriptor, since a member that the caller left unset
 * can have any value, and bytes up to the size are read. */
#include "base/sized.h"

#include <string.h>

static const size_t most_bytes = 4096; /* of any later version's */

static bool is_plausible(size_t bytes)
{
    return bytes > sizeof bytes && bytes % sizeof bytes == 0 &&
           bytes <= most_bytes;
}

/* The first byte from `begin` on that is not 0; `end` if there is none. */
static size_t find_set_byte(const unsigned char *bytes, size_t begin,
                            size_t end)
{
    while (begin < end && bytes[begin] == 0)
        begin++;
    return begin;
}

const void *xl__sized_read(const struct xl__sized *type, const void *given,
                           void *full, struct xl__error *e)
{
    size_t bytes;
    memcpy(&bytes, given, sizeof bytes);
    if (bytes == type->bytes)
        return given;
    if (!is_plausible(bytes)) {
        xl__error_set(e, XL_BAD_ARGUMENT,
                      "%s.size is %zu, which is no size of an %s; begin the "
                      "descriptor with %s",
                      type->name, bytes, type->name, type->initialiser);
        return NULL;
    }
    if (bytes < type->bytes) {
        memset(full, 0, type->bytes);
        memcpy(full, given, bytes);
        memcpy(full, &type->bytes, sizeof type->bytes);
        return full;
    }
    const size_t set = find_set_byte(given, type->bytes, bytes);
    if (set == bytes)
        return given;
    xl__error_set(e, XL_BAD_ARGUMENT,
                  "%s.size is %zu, this library's %s has %zu bytes, and byte "
                  "%zu is not 0: leave members that it does not have 0, or "
                  "use the library of the headers",
                  type->name, bytes, type->initialiser, type->bytes, set);
    return NULL;
}
