/* SPDX-License-Identifier: Apache-2.0 */
/* The program cache on disk: single entries (get, put, drop), then all entries
 * (list, count, remove, evict). The lock guards only counters. Files are
 * accessed without it: renames order the writers of all processes, which a
 * lock in one process does not. Only files with names of entries and
 * temporaries are touched, so that a wrong folder loses nothing. */
#include "runtime/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "base/str.h"

enum { TOUCH_AFTER_S = 3600 };

static const int64_t NS_PER_S = 1000000000;

/* -- folders and paths -----------------------------------------------------*/

/* <dir>/<format version>; NULL when out of memory. */
static char *root_of(const char *dir)
{
    struct xl__str version = {0};
    xl__str_printf(&version, "%d", XL__STORE_FORMAT);
    char *root =
        version.broken ? NULL : xl__path_join(dir, xl__str_text(&version));
    xl__str_clear(&version);
    return root;
}

/* <root>/<2 hex>, or the file in it. */
static char *path_of(const char *root, const char *key, size_t key_len,
                     bool is_shelf)
{
    enum { SHELF_DIGITS = 2 };
    char hex[XL__HASH128_TEXT], shelf[SHELF_DIGITS + 1] = "";
    xl__hash128_hex(key, key_len, hex);
    memcpy(shelf, hex, SHELF_DIGITS);
    char *dir = xl__path_join(root, shelf);
    if (is_shelf || dir == NULL)
        return dir;
    char *path = xl__path_join(dir, hex);
    free(dir);
    return path;
}

xl_status xl__store_init(struct xl__store *s, const char *dir,
                         const char *system_dir, uint64_t limit_bytes,
                         void (*warn)(const char *text, void *arg),
                         void *warn_arg)
{
    bool is_on = dir != NULL && dir[0] != 0;
    bool has_system = system_dir != NULL && system_dir[0] != 0;
    *s = (struct xl__store){
        .limit_bytes = limit_bytes, .warn = warn, .warn_arg = warn_arg};
    xl__lock_init(&s->lock);
    s->dir = is_on ? xl__strdup(dir) : NULL;
    s->root = is_on ? root_of(dir) : NULL;
    s->system_root = has_system ? root_of(system_dir) : NULL;
    if ((!is_on || (s->dir != NULL && s->root != NULL)) &&
        (!has_system || s->system_root != NULL))
        return XL_OK;
    free(s->dir);
    free(s->root);
    free(s->system_root);
    s->dir = s->root = s->system_root = NULL;
    return XL_NO_MEMORY;
}

void xl__store_clear(struct xl__store *s)
{
    free(s->dir);
    free(s->root);
    free(s->system_root);
    xl__lock_clear(&s->lock);
    *s = (struct xl__store){0};
}

/* -- warnings --------------------------------------------------------------*/

XL__PRINTF(2, 3)
static void warn_printf(struct xl__store *s, const char *fmt, ...)
{
    struct xl__str text = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&text, fmt, args);
    va_end(args);
    s->warn(xl__str_text(&text), s->warn_arg);
    xl__str_clear(&text);
}

/* Records that the folder cannot be used; true the first time. */
static bool is_first_trouble(struct xl__store *s)
{
    xl__lock_take(&s->lock);
    bool first = !s->warned;
    s->warned = true;
    xl__lock_drop(&s->lock);
    return first;
}

static void warn_folder(struct xl__store *s, const char *why)
{
    if (is_first_trouble(s))
        warn_printf(s, "compiled kernels are not kept: cache folder %s: %s",
                    s->dir, why);
}

/* -- reading ---------------------------------------------------------------*/

/* Is the user's folder private? A folder that does not exist is a miss without
 * a warning. */
static bool is_user_folder_private(struct xl__store *s)
{
    const char *why = "";
    if (s->root == NULL)
        return false;
    if (xl__dir_check(s->dir, &why) == XL_OK &&
        xl__dir_check(s->root, &why) == XL_OK)
        return true;
    if (errno != ENOENT)
        warn_folder(s, why);
    return false;
}

static void touch_if_old(const char *path)
{
    struct xl__file_info info;
    int64_t now = (int64_t)time(NULL);
    if (xl__file_stat(path, &info) &&
        now - info.used_unix_ns / NS_PER_S > TOUCH_AFTER_S)
        xl__file_touch(path);
}

/* Moves the payload to the start of the file's bytes, which the caller frees.
 */
static void move_payload(char *bytes, const struct xl__entry_view *view,
                         struct xl__entry *out)
{
    out->trust = view->trust;
    out->n_bytes = view->n_bytes;
    out->payload = (unsigned char *)bytes;
    memmove(bytes, view->payload, view->n_bytes);
    if (view->n_bytes == 0) {
        free(bytes);
        out->payload = NULL;
    }
}

static bool load_entry(struct xl__store *s, const char *path, bool is_system,
                       const char *key, struct xl__entry *out)
{
    char *bytes;
    size_t len;
    struct xl__entry_view view;
    xl_status status = xl__file_read(path, &bytes, &len);
    if (status != XL_OK) {
        if (status == XL_IO && errno != ENOENT && is_first_trouble(s))
            warn_printf(s, "cached kernel %s cannot be read: %s", path,
                        strerror(errno));
        return false;
    }
    if (!xl__entry_parse(bytes, len, &view)) {
        bool removed = !is_system && xl__file_remove(path);
        warn_printf(s, "cached kernel %s is damaged%s; it is built again",
                    path, removed ? " and was removed" : "");
        free(bytes);
        return false;
    }
    /* Another key of the same hash is a miss like any other. */
    if (view.key_len != strlen(key) ||
        memcmp(view.key, key, view.key_len) != 0) {
        free(bytes);
        return false;
    }
    if (!is_system)
        touch_if_old(path);
    move_payload(bytes, &view, out);
    return true;
}

static bool load_from(struct xl__store *s, const char *root, bool is_system,
                      const char *key, struct xl__entry *out)
{
    char *path = path_of(root, key, strlen(key), false);
    bool hit = path != NULL && load_entry(s, path, is_system, key, out);
    free(path);
    return hit;
}

bool xl__store_get(struct xl__store *s, const char *key, struct xl__entry *out)
{
    *out = (struct xl__entry){0};
    if (s->root == NULL && s->system_root == NULL)
        return false;
    bool hit =
        is_user_folder_private(s) && load_from(s, s->root, false, key, out);
    if (!hit && s->system_root != NULL)
        hit = load_from(s, s->system_root, true, key, out);
    return hit;
}

void xl__store_count(struct xl__store *s, bool is_hit)
{
    xl__lock_take(&s->lock);
    s->hits += is_hit;
    s->misses += !is_hit;
    xl__lock_drop(&s->lock);
}

/* -- writing ---------------------------------------------------------------*/

/* Creates the folders of an entry, each by its own call, so that each is
 * checked. */
static xl_status make_folders(struct xl__store *s,
                              const struct xl__entry_view *entry,
                              const char **why)
{
    xl_status status = XL_NO_MEMORY;
    char *shelf = path_of(s->root, entry->key, entry->key_len, true);
    if (shelf != NULL)
        status = xl__dir_create(s->dir, why);
    if (status == XL_OK)
        status = xl__dir_create(s->root, why);
    if (status == XL_OK)
        status = xl__dir_create(shelf, why);
    free(shelf);
    return status;
}

static xl_status write_file(const char *path, const unsigned char *bytes,
                            size_t len, const char **why)
{
    xl_status status = path != NULL && bytes != NULL
                           ? xl__file_replace(path, bytes, len)
                           : XL_NO_MEMORY;
    *why = status == XL_IO ? strerror(errno) : xl_status_text(status);
    return status;
}

/* Counts a write; true when a sweep is due. Between sweeps the size is
 * estimated: writes of other processes are counted by the next sweep. */
static bool count_write(struct xl__store *s, size_t len)
{
    xl__lock_take(&s->lock);
    s->bytes += len;
    s->writes++;
    bool is_due = !s->was_swept || s->bytes > s->limit_bytes;
    if (is_due) {
        s->was_swept = true;
        s->bytes = 0;
    }
    xl__lock_drop(&s->lock);
    return is_due;
}

xl_status xl__store_write(struct xl__store *s,
                          const struct xl__entry_view *entry, const char **why)
{
    size_t len = 0;
    *why = xl_status_text(XL_NO_MEMORY);
    xl_status status = make_folders(s, entry, why);
    if (status != XL_OK)
        return status;
    char *path = path_of(s->root, entry->key, entry->key_len, false);
    unsigned char *bytes = xl__entry_pack(entry, &len);
    status = bytes != NULL && len > s->limit_bytes
                 ? XL_OVERFLOW
                 : write_file(path, bytes, len, why);
    if (status == XL_OK && count_write(s, len))
        xl__store_sweep(s, path);
    free(bytes);
    free(path);
    return status;
}

void xl__store_put(struct xl__store *s, const char *key, const void *payload,
                   size_t n_bytes, enum xl__trust trust)
{
    const char *why;
    const struct xl__entry_view entry = {.trust = trust,
                                         .key = key,
                                         .key_len = strlen(key),
                                         .payload = payload,
                                         .n_bytes = n_bytes};
    if (s->root == NULL)
        return;
    xl_status status = xl__store_write(s, &entry, &why);
    if (status == XL_OVERFLOW)
        warn_printf(s,
                    "a compiled kernel of %zu bytes is over the cache's limit",
                    n_bytes);
    else if (status != XL_OK)
        warn_folder(s, why);
}

void xl__store_drop(struct xl__store *s, const char *key)
{
    char *path =
        s->root != NULL ? path_of(s->root, key, strlen(key), false) : NULL;
    if (path != NULL)
        xl__file_remove(path);
    free(path);
}

enum { STALE_AFTER_S = 3600 };

/* One entry or temporary file. */
struct found {
    const char *path;
    struct xl__file_info info;
    bool is_temporary;
};

/* Arguments of a scan. */
struct scan {
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

static bool visit_file(const char *path, void *arg)
{
    const struct scan *scan = arg;
    const char *name = xl__path_name(path);
    struct found file = {.path = path,
                         .is_temporary = is_temporary_name(name)};
    if (!file.is_temporary && !is_entry_name(name))
        return true;
    return !xl__file_stat(path, &file.info) || scan->each(&file, scan->arg);
}

static xl_status scan_root(const char *root,
                           bool (*each)(const struct found *, void *),
                           void *arg)
{
    struct scan scan = {each, arg};
    return root != NULL ? xl__dir_scan(root, visit_file, &scan) : XL_OK;
}

/* Scans the user's folder, which must be private; a folder that does not exist
 * is empty. */
static xl_status scan_user_folder(const struct xl__store *s,
                                  bool (*each)(const struct found *, void *),
                                  void *arg)
{
    if (s->root == NULL)
        return XL_OK;
    if (xl__dir_check(s->dir, NULL) != XL_OK ||
        xl__dir_check(s->root, NULL) != XL_OK)
        return errno == ENOENT ? XL_OK : XL_IO;
    return scan_root(s->root, each, arg);
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

static bool list_entry(const struct found *file, void *arg)
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
    xl_status status = scan_user_folder(s, list_entry, &own);
    scan_root(s->system_root, list_entry, &other);
    return status;
}

static void count_entry(const xl_cache_entry *entry, void *arg)
{
    xl_cache_stats *stats = arg;
    stats->n_entries++;
    stats->n_damaged += !entry->is_intact;
    stats->bytes += entry->bytes;
}

xl_status xl__store_stats(struct xl__store *s, xl_cache_stats *out)
{
    *out = (xl_cache_stats){.limit_bytes = s->limit_bytes};
    struct listing own = {count_entry, out, false};
    xl__lock_take(&s->lock);
    out->hits = s->hits;
    out->misses = s->misses;
    out->writes = s->writes;
    xl__lock_drop(&s->lock);
    return scan_user_folder(s, list_entry, &own);
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
        return false; /* an unreadable file is not damaged */
    bool is_intact = xl__entry_parse(bytes, len, &view);
    free(bytes);
    return !is_intact;
}

static bool remove_entry(const struct found *file, void *arg)
{
    struct emptying *e = arg;
    bool goes = !e->only_damaged || is_stale(file) ||
                (!file->is_temporary && is_damaged(file->path));
    if (goes && xl__file_remove(file->path))
        e->n_removed += !file->is_temporary;
    return true;
}

xl_status xl__store_remove(struct xl__store *s, bool only_damaged,
                           uint64_t *n_removed)
{
    struct emptying e = {only_damaged, 0};
    xl_status status = scan_user_folder(s, remove_entry, &e);
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

/* Counts an entry and removes a temporary that is stale. Without memory the
 * scan ends early; files that were not counted stay until the next sweep. */
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

static void evict_entries(struct census *c, uint64_t limit_bytes,
                          const char *keep)
{
    /* A margin, so that the next write does not evict again. */
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
    scan_user_folder(s, count_file, &c);
    evict_entries(&c, s->limit_bytes, keep);
    xl__lock_take(&s->lock);
    s->bytes += c.bytes;
    xl__lock_drop(&s->lock);
    for (size_t i = 0; i < c.n; i++)
        free(c.files[i].path);
    free(c.files);
}
