/* SPDX-License-Identifier: Apache-2.0 */
/* The program cache on disk: one file per entry, in the user's cache folder.
 *
 * Path:   <dir>/<format version>/<first 2 hex>/<32 hex of XXH3-128(key)>
 * Bytes:  entry.h: trust, key text, payload, lengths, checksum.
 * Trust:  dir must belong to the user and not be writable by others, since
 *         drivers run its contents. Otherwise the store is off.
 * Hit:    magic number, lengths, checksum and the whole key text must match
 *         before a driver gets the payload (CP-03: drivers crash on damaged
 *         ones). The user's folder is searched first, then the read-only
 * system folder. Write:  to a temporary file with a unique name in the same
 * folder, which is then renamed. No lock and no mmap are needed, so several
 * processes and NFS are safe: the last writer wins, and a writer that is
 * killed leaves a temporary file. Evict:  on the first write, and on a write
 * that exceeds the limit: the least recently used entries, down to 90 % of the
 * limit, except the entry just written; also temporary files older than an
 * hour. A hit updates the file's time, at most once an hour. Fails:  every
 * failure is a miss and one warning, never an error. A damaged file in the
 * user's folder is removed. Others: files with other names are not touched.
 * Increment XL__STORE_FORMAT when any of this changes. */
#ifndef XL_RUNTIME_STORE_H
#define XL_RUNTIME_STORE_H

#include <crosslane/cache.h>

#include "base/os/lock.h"
#include "device/private_api.h"
#include "runtime/store/entry.h"

enum { XL__STORE_FORMAT = 2 };

struct xl__store {
    xl__lock lock;     /* guards the counters; never held during file work */
    char *dir;         /* NULL: off */
    char *root;        /* <dir>/<format version> */
    char *system_root; /* read only; NULL: none */
    uint64_t limit_bytes;
    uint64_t hits, misses, writes; /* xl_cache_stats defines them */
    uint64_t bytes; /* in root, estimated between sweeps */
    bool was_swept;
    bool warned; /* an unusable folder is reported once */
    void (*warn)(const char *text, void *arg); /* never NULL */
    void *warn_arg;
};

struct xl__entry {
    unsigned char *payload; /* free() it; NULL when n_bytes is 0 */
    size_t n_bytes;
    enum xl__trust trust;
};

/* `dir` and `system_dir` are copied; NULL or "": none. On XL_NO_MEMORY the
 * store is off. */
xl_status xl__store_init(struct xl__store *s, const char *dir,
                         const char *system_dir, uint64_t limit_bytes,
                         void (*warn)(const char *text, void *arg),
                         void *warn_arg);
void xl__store_clear(struct xl__store *s);
/* Look up an entry; false: a miss. */
XL__PRIVATE_API bool xl__store_get(struct xl__store *s, const char *key,
                                   struct xl__entry *out);
/* Count a look-up by what came of it: did its entry save a build or a
 * self-check? */
void xl__store_count(struct xl__store *s, bool is_hit);
/* Write an entry. XL_OVERFLOW: it exceeds the limit of the cache. XL_IO,
 * XL_NO_SPACE, XL_NO_MEMORY: *why has the reason. */
xl_status xl__store_write(struct xl__store *s,
                          const struct xl__entry_view *entry,
                          const char **why);
/* The same; a failure is a warning. */
XL__PRIVATE_API void xl__store_put(struct xl__store *s, const char *key,
                                   const void *payload, size_t n_bytes,
                                   enum xl__trust trust);
/* Remove an entry whose payload the driver rejected. */
XL__PRIVATE_API void xl__store_drop(struct xl__store *s, const char *key);

/* -- all entries -------------------------------------------------------------
 * XL_IO: the user's folder cannot be read or is not private. A system folder
 * that cannot be read counts as empty. */

/* Remove old temporary files, count the bytes, evict; the file `keep` stays.
 */
void xl__store_sweep(struct xl__store *s, const char *keep);
xl_status xl__store_list(struct xl__store *s,
                         void (*each)(const xl_cache_entry *, void *),
                         void *arg);
/* Of the user's folder. */
xl_status xl__store_stats(struct xl__store *s, xl_cache_stats *out);
/* Remove all entries, or the damaged ones; *n_removed is their number; NULL is
 * allowed. Temporary files are removed as well; with `only_damaged` only those
 * older than an hour, whose writers cannot be running. */
xl_status xl__store_remove(struct xl__store *s, bool only_damaged,
                           uint64_t *n_removed);

#endif
