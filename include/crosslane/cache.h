/* SPDX-License-Identifier: Apache-2.0 */
/* The program cache on disk: compiled kernels and their self-check verdicts,
 * one file an entry. Safe with several processes and on NFS. */
#ifndef CROSSLANE_CACHE_H
#define CROSSLANE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One entry. Strings live during the callback. */
typedef struct xl_cache_entry {
    const char *path;
    const char *key;       ///< its full key text, "" if unreadable
    uint64_t bytes;        ///< size of the file
    int64_t used_unix_s;   ///< last use, seconds since 1970
    const char *selfcheck; ///< "passed", "failed", "none"
    bool is_intact;        ///< length and checksum agree
    bool is_system;        ///< in the read-only folder
} xl_cache_entry;

typedef struct xl_cache_stats {
    uint64_t n_entries, n_damaged, bytes, limit_bytes; ///< the user's folder
    uint64_t hits, misses; ///< of this xl_lib
} xl_cache_stats;

/** The user's folder, or NULL when the cache is off. Lives with @p lib. */
XL_API const char *xl_cache_dir(const xl_lib *lib);

/** Read and check every entry. @return XL_OK or XL_IO: the user's folder
 *  cannot be read, or others may write to it */
XL_API xl_status xl_cache_list(xl_lib *lib,
                               void (*each)(const xl_cache_entry *, void *),
                               void *arg);

XL_API xl_status xl_cache_stats_get(xl_lib *lib, xl_cache_stats *out);

/** Remove entries of the user's folder: all, or the damaged ones alone.
 *  @param n_removed  NULL allowed */
XL_API xl_status xl_cache_clear(xl_lib *lib, bool only_damaged,
                                uint64_t *n_removed);

#ifdef __cplusplus
}
#endif
#endif
