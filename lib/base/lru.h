/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded map from bytes to structs on the heap: a hash table whose entries
 * form a list by last use. A new entry of a full map replaces the one that was
 * not used for the longest time. A zeroed map is empty. Not thread safe. */
#ifndef XL_BASE_LRU_H
#define XL_BASE_LRU_H

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* First member of the struct that is kept. */
struct xl__lru_entry {
    struct xl__lru_entry *chain;         /* of the same slot */
    struct xl__lru_entry *newer, *older; /* by last use */
    uint64_t hash;
    size_t key_bytes;
    unsigned char *key; /* a copy */
};

/* What maps of one kind have in common. */
struct xl__lru_kind {
    size_t most;                                  /* entries */
    void (*destroy)(struct xl__lru_entry *entry); /* frees the struct */
};

struct xl__lru {
    const struct xl__lru_kind *kind; /* of the first entry added */
    struct xl__lru_entry **slot;     /* n_slots, a power of two */
    size_t n_slots, n;
    struct xl__lru_entry *newest, *oldest;
};

static inline void xl__lru_unlink(struct xl__lru *map, struct xl__lru_entry *e)
{
    *(e->newer ? &e->newer->older : &map->newest) = e->older;
    *(e->older ? &e->older->newer : &map->oldest) = e->newer;
}

static inline void xl__lru_link_newest(struct xl__lru *map,
                                       struct xl__lru_entry *e)
{
    e->newer = NULL;
    e->older = map->newest;
    *(map->newest ? &map->newest->newer : &map->oldest) = e;
    map->newest = e;
}

/* Find an entry, which becomes the newest; NULL: there is none. */
static inline struct xl__lru_entry *xl__lru_find(struct xl__lru *map,
                                                 const void *key, size_t bytes)
{
    if (map->n == 0)
        return NULL;
    const uint64_t hash = xl__hash64(key, bytes);
    struct xl__lru_entry *e = map->slot[hash & (map->n_slots - 1)];
    while (e && (e->hash != hash || e->key_bytes != bytes ||
                 memcmp(e->key, key, bytes) != 0))
        e = e->chain;
    if (e && e != map->newest) {
        xl__lru_unlink(map, e);
        xl__lru_link_newest(map, e);
    }
    return e;
}

static inline void xl__lru_remove(struct xl__lru *map, struct xl__lru_entry *e)
{
    struct xl__lru_entry **at = &map->slot[e->hash & (map->n_slots - 1)];
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    xl__lru_unlink(map, e);
    map->n--;
    free(e->key);
    map->kind->destroy(e);
}

/* Remove all entries and free the map's own memory. */
static inline void xl__lru_clear(struct xl__lru *map)
{
    while (map->newest)
        xl__lru_remove(map, map->newest);
    free(map->slot);
    *map = (struct xl__lru){.n = 0};
}

/* Add an entry under a key that the map does not have. On success the map owns
 * the struct. False: out of memory. */
static inline bool xl__lru_add(struct xl__lru *map, struct xl__lru_entry *e,
                               const void *key, size_t bytes,
                               const struct xl__lru_kind *kind)
{
    size_t n_slots = 1;
    while (n_slots < kind->most)
        n_slots *= 2;
    if (!map->slot)
        map->slot = xl__calloc(n_slots, sizeof(struct xl__lru_entry *));
    e->key = xl__calloc(bytes, 1);
    if (!map->slot || !e->key) {
        free(e->key);
        e->key = NULL;
        return false;
    }
    map->kind = kind;
    map->n_slots = n_slots;
    if (map->n == kind->most)
        xl__lru_remove(map, map->oldest);
    memcpy(e->key, key, bytes);
    e->key_bytes = bytes;
    e->hash = xl__hash64(key, bytes);
    e->chain = map->slot[e->hash & (n_slots - 1)];
    map->slot[e->hash & (n_slots - 1)] = e;
    xl__lru_link_newest(map, e);
    map->n++;
    return true;
}

#endif
