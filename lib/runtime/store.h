/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept on disk: one file an entry, in the user's cache folder.
 *
 * Path:   <dir>/<format version>/<first 2 hex>/<32 hex of XXH3-128(key)>
 * Bytes:  magic "XLE1", u32 selfcheck verdict, u64 key length, u64 payload
 *         length, XXH3-128 over all of it but itself, key text, payload.
 *         Little-endian.
 * Hit:    magic, lengths, checksum and the whole key text agree; only then
 *         does a driver see the payload (CP-03: drivers die on damaged ones).
 * Write:  a temporary of a unique name in the same folder, then rename: no
 *         lock and no mmap, so several processes and NFS are safe; the last
 *         writer wins, a killed one leaves a temporary that eviction removes.
 * Evict:  after a write that takes the folder over the limit, least recently
 *         used first; a hit touches its file, at most once an hour.
 * Fails:  anything wrong is a miss and one warning, never an error.
 * Bump XL__STORE_FORMAT when any of this changes. */
#ifndef XL_RUNTIME_STORE_H
#define XL_RUNTIME_STORE_H

#include <crosslane/cache.h>

#include "base/lock.h"

enum { XL__STORE_FORMAT = 1 };

enum xl__trust { XL__UNTESTED, XL__PASSED, XL__FAILED };

struct xl__store {
    xl__lock lock;
    char *dir;        /* NULL: off */
    char *system_dir; /* read only; NULL: none */
    uint64_t limit_bytes;
    uint64_t hits, misses;
    bool warned;      /* an unusable folder is said once */
    void (*warn)(const char *text, void *arg); /* never NULL */
    void *warn_arg;
};

struct xl__entry {
    unsigned char *payload; /* free() it; NULL when n_bytes is 0 */
    size_t n_bytes;
    enum xl__trust trust;
};

/* `dir` and `system_dir` may be NULL; copied. */
xl_status xl__store_init(struct xl__store *s, const char *dir,
                         const char *system_dir, uint64_t limit_bytes,
                         void (*warn)(const char *text, void *arg),
                         void *warn_arg);
void xl__store_clear(struct xl__store *s);
bool xl__store_get(struct xl__store *s, const char *key,
                   struct xl__entry *out);
void xl__store_put(struct xl__store *s, const char *key, const void *payload,
                   size_t n_bytes, enum xl__trust trust);
/* A loaded payload that the driver refused: forget it. */
void xl__store_drop(struct xl__store *s, const char *key);

xl_status xl__store_list(struct xl__store *s,
                         void (*each)(const xl_cache_entry *, void *),
                         void *arg);
xl_status xl__store_stats(struct xl__store *s, xl_cache_stats *out);
xl_status xl__store_empty(struct xl__store *s, bool only_damaged,
                          uint64_t *n_removed);

#endif
