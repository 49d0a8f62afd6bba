/* SPDX-License-Identifier: Apache-2.0 */
/* The store's folder as a whole: list, count, empty, evict. One walk serves
 * all four; it looks at nothing whose name is not one of ours, so that a
 * folder named by mistake loses nothing. */
#include "runtime/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/files.h"
#include "base/hash.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "base/str.h"

static const int64_t NS_PER_S = 1000000000;

enum { STALE_AFTER_S = 3600 };

/* One file of ours, and the walk it was found in. */
struct found {
    const char *path;
    struct xl__file_info info;
    bool is_temporary;
};

struct walk {
    bool (*each)(const struct found *, void *arg);
    void *arg;
};

static bool is_entry_name(const char *name)
{
    return strlen(name) == XL__HASH128_TEXT - 1 &&
           strspn(name, "0123456789abcdef") == XL__HASH128_TEXT - 1;
}

static bool is_temporary_name(const char *name)
{
    size_t len = strlen(name);
    const size_t begin = sizeof(XL__TEMPORARY_PREFIX) - 1;
    const size_t end = sizeof(XL__TEMPORARY_SUFFIX) - 1;
    return len > begin + end &&
           strncmp(name, XL__TEMPORARY_PREFIX, begin) == 0 &&
           strcmp(name + len - end, XL__TEMPORARY_SUFFIX) == 0;
}

static bool visit(const char *path, void *arg)
{
    const struct walk *walk = arg;
    const char *name = xl__path_name(path);
    struct found file = {.path = path,
                         .is_temporary = is_temporary_name(name)};
    if (!file.is_temporary && !is_entry_name(name))
        return true;
    return !xl__file_stat(path, &file.info) || walk->each(&file, walk->arg);
}

static xl_status walk_root(const char *root,
                           bool (*each)(const struct found *, void *),
                           void *arg)
{
    struct walk walk = {each, arg};
    return root != NULL ? xl__dir_walk(root, visit, &walk) : XL_OK;
}

/* The user's folder, which must be private; one that is not there is empty. */
static xl_status walk_own(const struct xl__store *s,
                          bool (*each)(const struct found *, void *),
                          void *arg)
{
    if (s->root == NULL)
        return XL_OK;
    if (xl__dir_check(s->dir, NULL) != XL_OK ||
        xl__dir_check(s->root, NULL) != XL_OK)
        return errno == ENOENT ? XL_OK : XL_IO;
    return walk_root(s->root, each, arg);
}

static bool is_stale(const struct found *file)
{
    int64_t age_s = (int64_t)time(NULL) - file->info.used_unix_ns / NS_PER_S;
    return file->is_temporary && age_s > STALE_AFTER_S;
}

/* -- list and count --------------------------------------------------------*/

struct listing {
    void (*each)(const xl_cache_entry *, void *);
    void *arg;
    bool is_system;
};

static bool list_one(const struct found *file, void *arg)
{
    static const char *const verdicts[] = {[XL__UNTESTED] = "none",
                                           [XL__PASSED] = "passed",
                                           [XL__FAILED] = "failed"};
    const struct listing *l = arg;
    struct xl__entry_view view = {0};
    struct xl__str key = {0};
    char *bytes = NULL;
    size_t len;
    if (file->is_temporary)
        return true;
    bool is_intact = xl__file_read(file->path, &bytes, &len) == XL_OK &&
                     xl__entry_parse(bytes, len, &view);
    if (is_intact)
        xl__str_add_n(&key, view.key, view.key_len);
    const xl_cache_entry entry = {
        .path = file->path,
        .key = xl__str_text(&key),
        .bytes = file->info.bytes,
        .used_unix_s = file->info.used_unix_ns / NS_PER_S,
        .selfcheck = verdicts[view.trust],
        .is_intact = is_intact,
        .is_system = l->is_system,
    };
    l->each(&entry, l->arg);
    xl__str_clear(&key);
    free(bytes);
    return true;
}

xl_status xl__store_list(struct xl__store *s,
                         void (*each)(const xl_cache_entry *, void *),
                         void *arg)
{
    struct listing own = {each, arg, false}, other = {each, arg, true};
    xl_status status = walk_own(s, list_one, &own);
    walk_root(s->system_root, list_one, &other);
    return status;
}

static void count_one(const xl_cache_entry *entry, void *arg)
{
    xl_cache_stats *stats = arg;
    stats->n_entries++;
    stats->n_damaged += !entry->is_intact;
    stats->bytes += entry->bytes;
}

xl_status xl__store_stats(struct xl__store *s, xl_cache_stats *out)
{
    *out = (xl_cache_stats){.limit_bytes = s->limit_bytes};
    struct listing own = {count_one, out, false};
    xl__lock_take(&s->lock);
    out->hits = s->hits;
    out->misses = s->misses;
    xl__lock_drop(&s->lock);
    return walk_own(s, list_one, &own);
}

/* -- empty -----------------------------------------------------------------*/

struct emptying {
    bool only_damaged;
    uint64_t n_removed;
};

static bool is_damaged(const char *path)
{
    struct xl__entry_view view;
    char *bytes;
    size_t len;
    if (xl__file_read(path, &bytes, &len) != XL_OK)
        return false; /* unreadable is not the same */
    bool is_intact = xl__entry_parse(bytes, len, &view);
    free(bytes);
    return !is_intact;
}

static bool empty_one(const struct found *file, void *arg)
{
    struct emptying *e = arg;
    bool goes = !e->only_damaged || is_stale(file) ||
                (!file->is_temporary && is_damaged(file->path));
    if (goes && xl__file_remove(file->path))
        e->n_removed += !file->is_temporary;
    return true;
}

xl_status xl__store_empty(struct xl__store *s, bool only_damaged,
                          uint64_t *n_removed)
{
    struct emptying e = {only_damaged, 0};
    xl_status status = walk_own(s, empty_one, &e);
    if (n_removed != NULL)
        *n_removed = e.n_removed;
    return status;
}

/* -- evict -----------------------------------------------------------------*/

struct kept {
    char *path;
    struct xl__file_info info;
};

struct census {
    struct kept *files;
    size_t n, cap;
    uint64_t bytes;
};

/* Stale temporaries go at once. Out of memory ends the census early: a file
 * that was not counted stays until the next one. */
static bool count_file(const struct found *file, void *arg)
{
    struct census *c = arg;
    if (is_stale(file))
        xl__file_remove(file->path);
    if (file->is_temporary)
        return true;
    char *path = xl__strdup(file->path);
    if (path == NULL ||
        !xl__grow(&c->files, &c->cap, c->n + 1, sizeof(*c->files))) {
        free(path);
        return false;
    }
    c->files[c->n++] = (struct kept){path, file->info};
    c->bytes += file->info.bytes;
    return true;
}

static int by_use(const void *pa, const void *pb)
{
    const struct kept *a = pa, *b = pb;
    return (a->info.used_unix_ns > b->info.used_unix_ns) -
           (a->info.used_unix_ns < b->info.used_unix_ns);
}

static void evict(struct census *c, uint64_t limit_bytes, const char *keep)
{
    /* Slack, so that the next write does not evict again. */
    enum { KEEP_TENTHS = 9, TENTHS = 10 };
    const uint64_t goal = limit_bytes / TENTHS * KEEP_TENTHS;
    if (c->bytes <= limit_bytes)
        return;
    qsort(c->files, c->n, sizeof(*c->files), by_use);
    for (size_t i = 0; i < c->n && c->bytes > goal; i++) {
        const struct kept *file = &c->files[i];
        if (!xl__streq(file->path, keep) && xl__file_remove(file->path))
            c->bytes -= file->info.bytes;
    }
}

void xl__store_sweep(struct xl__store *s, const char *keep)
{
    struct census c = {0};
    walk_own(s, count_file, &c);
    evict(&c, s->limit_bytes, keep);
    xl__lock_take(&s->lock);
    s->bytes += c.bytes;
    xl__lock_drop(&s->lock);
    for (size_t i = 0; i < c.n; i++)
        free(c.files[i].path);
    free(c.files);
}
