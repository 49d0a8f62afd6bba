/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept on disk: one file an entry, in the user's cache folder.
 *
 * Path:   <dir>/<format version>/<first 2 hex>/<32 hex of XXH3-128(key)>
 * Bytes:  entry.h: verdict, key text, payload, lengths, checksum.
 * Trust:  dir must be the user's own and writable by nobody else: what is in
 *         it is run by drivers. Else the store is off.
 * Hit:    magic, lengths, checksum and the whole key text agree; only then
 *         does a driver see the payload (CP-03: drivers die on damaged ones).
 *         The user's folder is asked first, then the read-only system folder.
 * Write:  a temporary of a unique name in the same folder, then rename: no
 *         lock and no mmap, so several processes and NFS are safe; the last
 *         writer wins, a killed one leaves a temporary.
 * Evict:  with the first write, and with one that takes the folder over the
 *         limit: least recently used first, down to 90 % of the limit, never
 *         what was just written; temporaries older than an hour go too. A hit
 *         touches its file, at most once an hour.
 * Fails:  anything wrong is a miss and one warning, never an error. A damaged
 *         file of the user's folder is removed.
 * Others: files whose names are none of the above are left alone.
 * Bump XL__STORE_FORMAT when any of this changes. */
#ifndef XL_RUNTIME_STORE_H
#define XL_RUNTIME_STORE_H

#include <crosslane/cache.h>

#include "base/os/lock.h"
#include "runtime/store/entry.h"

enum { XL__STORE_FORMAT = 1 };

struct xl__cluster_store {
    xl__lock lock;     /* guards the counters; never held during file work */
    char *dir;         /* NULL: off */
    char *root;        /* <dir>/<format version> */
    char *system_root; /* read only; NULL: none */
    uint64_t limit_bytes;
    uint64_t hits, misses;
    uint64_t bytes;    /* in root as far as known; counted by a sweep */
    bool was_swept;
    bool warned;       /* an unusable folder is said once */
    void (*warn)(const char *text, void *arg); /* never NULL */
    void *warn_arg;
};

struct xl__entry {
    unsigned char *payload; /* free() it; NULL when n_bytes is 0 */
    size_t n_bytes;
    enum xl__trust trust;
};

/* `dir` and `system_dir` may be NULL or ""; copied. XL_NO_MEMORY leaves a
 * store that is off. */
xl_status xl__store_init(struct xl__cluster_store *s, const char *dir,
                         const char *system_dir, uint64_t limit_bytes,
                         void (*warn)(const char *text, void *arg),
                         void *warn_arg);
void xl__store_clear(struct xl__cluster_store *s);
bool xl__store_get(struct xl__cluster_store *s, const char *key,
                   struct xl__entry *out);
void xl__store_put(struct xl__cluster_store *s, const char *key, const void *payload,
                   size_t n_bytes, enum xl__trust trust);
/* A loaded payload that the driver refused: forget it. */
void xl__store_drop(struct xl__cluster_store *s, const char *key);

/* -- the folder as a whole: store_folder.c -----------------------------------
 * XL_IO: the user's folder cannot be read or is not private. A system folder
 * that cannot be read is an empty one. */

/* Remove leftovers, count, evict; `keep` is a path that stays. */
void xl__store_sweep(struct xl__cluster_store *s, const char *keep);
xl_status xl__store_list(struct xl__cluster_store *s,
                         void (*each)(const xl_cache_entry *, void *),
                         void *arg);
/* Of the user's folder. */
xl_status xl__store_stats(struct xl__cluster_store *s, xl_cache_stats *out);
/* n_removed counts entries; NULL allowed. Removes leftovers too: those of
 * writers that may be alive only if not `only_damaged`. */
xl_status xl__store_remove(struct xl__cluster_store *s, bool only_damaged,
                           uint64_t *n_removed);

#endif
