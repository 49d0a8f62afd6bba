/* SPDX-License-Identifier: Apache-2.0 */
/* The program cache on disk: compiled kernels and the results of their
 * self-checks, one file per entry. Several processes may use it at once, also
 * on NFS. */
#ifndef CROSSLANE_CACHE_H
#define CROSSLANE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One entry. The strings are valid during the callback. */
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
    /* Of this xl_lib, of programs that a context needed for the first time: */
    uint64_t hits;   ///< an entry gave the binary, or a failed self-check: no
                     ///< compiler ran. Of a library's kernel: its self-check
    uint64_t misses; ///< the others: they were compiled, also where an entry
                     ///< has no binary or the driver rejects it, and where
                     ///< the cache is off
    uint64_t writes; ///< entries written: of a program once when it is built
                     ///< and once when its self-check ends
} xl_cache_stats;

/** The user's folder; NULL when the cache is off. Valid as long as @p lib. */
XL_API const char *xl_cache_dir(const xl_lib *lib);

/** Read and check every entry.
 *  @return XL_OK; XL_IO when the user's folder cannot be read or other users
 *          may write to it */
XL_API xl_status xl_cache_list(xl_lib *lib,
                               void (*each)(const xl_cache_entry *, void *),
                               void *arg);

XL_API xl_status xl_cache_stats_get(xl_lib *lib, xl_cache_stats *out);

/** Remove entries of the user's folder: all of them, or only the damaged
 *  ones.
 *  @param n_removed  NULL allowed */
XL_API xl_status xl_cache_clear(xl_lib *lib, bool only_damaged,
                                uint64_t *n_removed);

#ifdef __cplusplus
}
#endif
#endif
