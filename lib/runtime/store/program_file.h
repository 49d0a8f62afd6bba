/* SPDX-License-Identifier: Apache-2.0 */
/* Program files: entries of the cache in one file, for another cache folder.
 *
 *   offset      bytes  what
 *        0          4  "XLPF"
 *        4          4  version of this format
 *        8          8  N, number of entries
 *       16          8  B, bytes of all entries with their lengths
 *       24         16  XXH3-128 of all bytes before it
 *       40          B  N times: 8 bytes, length of the entry; the entry, whose
 *                      format (entry.h) ends with a hash of its own
 *
 * Numbers are little-endian. No bytes may follow. */
#ifndef XL_RUNTIME_PROGRAM_FILE_H
#define XL_RUNTIME_PROGRAM_FILE_H

#include "base/error.h"
#include "runtime/store/store.h"

enum { XL__PROGRAM_FILE_VERSION = 2 };

/* Is an entry with this key, not ended by a 0 byte, to be copied? */
struct xl__key_filter {
    bool (*accepts)(const char *key, size_t len, void *arg);
    void *arg;
};

/* Write the accepted entries of both folders to a file, which is replaced at
 * once. XL_IO, XL_NO_SPACE, XL_NO_MEMORY: the file is as it was. */
xl_status xl__store_export(struct xl__store *s, const char *path,
                           const struct xl__key_filter *filter,
                           xl_cache_copy *out, struct xl__error *e);

/* Add the accepted entries of a file that the store does not have. The file is
 * checked as a whole first. On failure no entry is added: XL_CORRUPT,
 * XL_BAD_ARGUMENT (not a program file, or another version of its format),
 * XL_IO (also: the store is off), XL_NO_SPACE (also: over the store's limit),
 * XL_NO_MEMORY. */
xl_status xl__store_import(struct xl__store *s, const char *path,
                           const struct xl__key_filter *filter,
                           xl_cache_copy *out, struct xl__error *e);

#endif
