/* SPDX-License-Identifier: Apache-2.0 */
/* The collection of tuned sets: loads files from the folders and the library,
 * finds the sets of a shape class, and saves a set into its file. A file that
 * cannot be parsed is never overwritten: it may be of a newer version of the
 * library, or a user may repair it. */
#include "runtime/tuned/tuned_sets.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "base/str.h"

enum tuned_origin { OF_USER, OF_SYSTEM, SHIPPED };
static const char SUFFIX[] = ".json";
static const char LABEL[] = "tuned: ";

struct loaded {
    enum tuned_origin origin;
    char *label; /* LABEL and the path, or LABEL and "shipped" */
    struct xl__tuned_file file;
};

struct xl__tuned_table {
    struct xl__tuned_table *next;
    struct loaded *files;
    size_t n, cap;
};

xl_status xl__tuned_sets_init(struct xl__tuned_sets *db, const char *user_dir,
                              const char *system_dir, bool off)
{
    const bool has_user = !off && user_dir && *user_dir;
    const bool has_system = !off && system_dir && *system_dir;
    xl__lock_init(&db->lock);
    db->is_off = off;
    db->user_dir = has_user ? xl__strdup(user_dir) : NULL;
    db->system_dir = has_system ? xl__strdup(system_dir) : NULL;
    return (has_user && !db->user_dir) || (has_system && !db->system_dir)
               ? XL_NO_MEMORY
               : XL_OK;
}

static void clear_table(struct xl__tuned_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        free(table->files[i].label);
        xl__tuned_file_clear(&table->files[i].file);
    }
    free(table->files);
    free(table);
}

void xl__tuned_sets_clear(struct xl__tuned_sets *db)
{
    while (db->tables) {
        struct xl__tuned_table *table = db->tables;
        db->tables = table->next;
        clear_table(table);
    }
    free(db->user_dir);
    free(db->system_dir);
    db->user_dir = db->system_dir = NULL;
    xl__lock_clear(&db->lock);
}

XL__PRINTF(2, 3)
static void warn_printf(const struct xl__tuned_sets *db, const char *fmt, ...)
{
    struct xl__str text = {0};
    va_list args;
    if (!db->warn)
        return;
    va_start(args, fmt);
    xl__str_vprintf(&text, fmt, args);
    va_end(args);
    db->warn(xl__str_text(&text), db->warn_arg);
    xl__str_clear(&text);
}

/* -- devices ---------------------------------------------------------------*/

static void copy_plain(char *dst, size_t cap, const char *src)
{
    xl__strcpy(dst, cap, src);
    for (char *c = dst; *c; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
}

void xl__tuned_device_head(const xl_device *dev, struct xl__tuned_file *out)
{
    const struct xl__limits *l = &dev->limits;
    memset(out, 0, sizeof *out);
    copy_plain(out->device, sizeof out->device, xl__text(l, XL__F_name));
    copy_plain(out->platform, sizeof out->platform,
               xl__text(l, XL__F_platform));
    copy_plain(out->arch, sizeof out->arch, xl__text(l, XL__F_arch));
    copy_plain(out->vendor, sizeof out->vendor, dev->vendor->name);
}

bool xl__tuned_same_device(const struct xl__tuned_file *a,
                           const struct xl__tuned_file *b)
{
    return strcmp(a->device, b->device) == 0 &&
           strcmp(a->platform, b->platform) == 0;
}

/* The scope by which a file matches this device; false: it does not match. */
static bool matches_device(const struct xl__tuned_file *file,
                           const struct xl__tuned_file *head,
                           enum xl__tuned_scope *scope)
{
    const bool same_vendor = strcmp(file->vendor, head->vendor) == 0;
    const bool same_arch = same_vendor && *head->arch &&
                           strcmp(file->arch, head->arch) == 0;
    *scope = xl__tuned_same_device(file, head) ? XL__TUNED_DEVICE
             : same_arch                       ? XL__TUNED_ARCH
             : same_vendor                     ? XL__TUNED_VENDOR
                                               : XL__N_TUNED_SCOPES;
    return *scope <= file->scope;
}

/* -- loading ---------------------------------------------------------------*/

struct loading {
    struct xl__tuned_sets *db;
    struct xl__tuned_table *table;
    enum tuned_origin origin;
};

static void add_file(struct loading *l, const char *name, const char *bytes,
                     size_t len)
{
    struct xl__tuned_table *t = l->table;
    struct xl__str why = {0}, label = {0};
    struct loaded one = {.origin = l->origin};
    const xl_status status = xl__tuned_file_parse(bytes, len, &one.file, &why);
    xl__str_printf(&label, "%s%s", LABEL, name);
    one.label = xl__str_steal(&label);
    if (status == XL_OK && one.label &&
        xl__grow(&t->files, &t->cap, t->n + 1, sizeof *t->files)) {
        t->files[t->n++] = one;
    } else {
        warn_printf(l->db, "tuned sets of %s are not used: %s", name,
                    status == XL_OK ? "out of memory" : xl__str_text(&why));
        xl__tuned_file_clear(&one.file);
        free(one.label);
    }
    xl__str_clear(&why);
}

static bool has_suffix(const char *name)
{
    const size_t len = strlen(name), n = sizeof SUFFIX - 1;
    return len > n && strcmp(name + len - n, SUFFIX) == 0;
}

static bool add_path(const char *path, void *arg)
{
    struct loading *l = arg;
    char *bytes;
    size_t len;
    if (!has_suffix(path))
        return true;
    if (xl__file_read(path, &bytes, &len) == XL_OK)
        add_file(l, path, bytes, len);
    else
        warn_printf(l->db, "tuned sets of %s are not used: %s", path,
                    strerror(errno));
    free(bytes);
    return true;
}

static void add_folder(struct loading *l, const char *dir,
                       enum tuned_origin origin)
{
    l->origin = origin;
    if (dir && xl__dir_scan(dir, add_path, l) == XL_IO && errno != ENOENT)
        warn_printf(l->db, "tuned sets in %s are not used: %s", dir,
                    strerror(errno));
}

static void add_shipped(struct loading *l)
{
    l->origin = SHIPPED;
    for (const struct xl__embedded *e = xl__shipped; e->name; e++)
        add_file(l, "shipped", (const char *)e->text, e->len);
}

/* Under the lock. NULL: out of memory. */
static const struct xl__tuned_table *load_table(struct xl__tuned_sets *db)
{
    if (db->is_loaded)
        return db->tables;
    struct loading l = {.db = db, .table = xl__calloc(1, sizeof *l.table)};
    if (!l.table)
        return NULL;
    add_folder(&l, db->user_dir, OF_USER);
    add_folder(&l, db->system_dir, OF_SYSTEM);
    add_shipped(&l);
    l.table->next = db->tables;
    db->tables = l.table;
    db->is_loaded = true;
    return l.table;
}

/* Load the files again with the next look-up. */
static void request_reload(struct xl__tuned_sets *db)
{
    xl__lock_take(&db->lock);
    db->is_loaded = false;
    xl__lock_drop(&db->lock);
}

const void *xl__tuned_sets_version(struct xl__tuned_sets *db)
{
    if (db->is_off)
        return NULL;
    xl__lock_take(&db->lock);
    const void *version = load_table(db);
    xl__lock_drop(&db->lock);
    return version;
}

/* -- look-up ---------------------------------------------------------------*/

/* Is x preferred to y? Paths decide last, so that the order is total. */
static bool is_preferred(const struct xl__tuned_match *x,
                         const struct xl__tuned_match *y)
{
    if (x->rank != y->rank)
        return x->rank < y->rank;
    const int dates = strcmp(x->set->date, y->set->date);
    return dates != 0 ? dates > 0 : strcmp(x->label, y->label) < 0;
}

/* Inserts in order; without room the last one is dropped. */
static size_t insert_match(struct xl__tuned_match *list, size_t n, size_t cap,
                           const struct xl__tuned_match *match)
{
    size_t at = 0;
    while (at < n && !is_preferred(match, &list[at]))
        at++;
    if (at == cap)
        return n;
    if (n < cap)
        n++;
    memmove(&list[at + 1], &list[at], (n - at - 1) * sizeof *list);
    list[at] = *match;
    return n;
}

static bool is_for_class(const struct xl__tuned_set *set, const char *op,
                         const char *shape_class)
{
    return !shape_class || (strcmp(set->op, op) == 0 &&
                            strcmp(set->shape_class, shape_class) == 0);
}

/* The next file for the device at or after *f; NULL: none is left. */
static const struct loaded *next_file(const struct xl__tuned_table *table,
                                      const struct xl__tuned_file *head,
                                      size_t *f, unsigned *rank)
{
    enum xl__tuned_scope scope;
    while (table && *f < table->n) {
        const struct loaded *from = &table->files[(*f)++];
        if (!matches_device(&from->file, head, &scope))
            continue;
        *rank = (unsigned)from->origin * XL__N_TUNED_SCOPES + (unsigned)scope;
        return from;
    }
    return NULL;
}

size_t xl__tuned_sets_find(struct xl__tuned_sets *db, const xl_device *dev,
                           const char *op, const char *shape_class,
                           struct xl__tuned_match *out, size_t cap)
{
    struct xl__tuned_file head;
    const struct loaded *from;
    unsigned rank;
    size_t n = 0;
    if (db->is_off)
        return 0;
    xl__tuned_device_head(dev, &head);
    xl__lock_take(&db->lock);
    const struct xl__tuned_table *table = load_table(db);
    for (size_t f = 0; (from = next_file(table, &head, &f, &rank)) != NULL;) {
        for (size_t i = 0; i < from->file.n_sets; i++) {
            const struct xl__tuned_match match = {
                .set = &from->file.sets[i],
                .origin = from->label + sizeof LABEL - 1,
                .label = from->label,
                .rank = rank};
            if (is_for_class(match.set, op, shape_class))
                n = insert_match(out, n, cap, &match);
        }
    }
    xl__lock_drop(&db->lock);
    return n;
}

/* -- profiles --------------------------------------------------------------*/

void xl__tuned_profile_find(struct xl__tuned_sets *db, const xl_device *dev,
                            xl_profile *out)
{
    struct xl__tuned_file head;
    const struct loaded *from;
    unsigned rank, least = UINT_MAX;
    memset(out, 0, sizeof *out);
    if (db->is_off)
        return;
    xl__tuned_device_head(dev, &head);
    xl__lock_take(&db->lock);
    const struct xl__tuned_table *table = load_table(db);
    for (size_t f = 0; (from = next_file(table, &head, &f, &rank)) != NULL;) {
        const xl_profile *p = &from->file.profile;
        if (p->n_rates == 0 || rank > least ||
            (rank == least && strcmp(p->date, out->date) <= 0))
            continue;
        least = rank;
        *out = *p;
        xl__strcpy(out->origin, sizeof out->origin,
                   from->label + sizeof LABEL - 1);
    }
    xl__lock_drop(&db->lock);
}

void xl__tuned_profile_apply(xl_device *dev, void *db)
{
    xl_profile profile;
    xl__tuned_profile_find(db, dev, &profile);
    for (unsigned i = 0; i < profile.n_rates; i++) {
        const enum xl__fact_id id = xl__fact_find(profile.rates[i].fact);
        if (id != XL__N_FACTS && xl__fact_is_rate(id))
            xl__limits_correct(&dev->limits, id, profile.rates[i].value,
                               XL_CALIBRATED, NULL);
        else
            warn_printf(db, "profile of %s: there is no rate '%s'",
                        profile.origin, profile.rates[i].fact);
    }
}

/* -- evidence --------------------------------------------------------------*/

xl_status xl__tuned_source_hash(const struct xl__tuned_sets *db,
                                const char *name, uint64_t *hash,
                                struct xl__error *e)
{
    const struct xl__kernel_source from = {.cl_dir = db->cl_dir, .name = name};
    struct xl__str text = {0};
    const xl_status status = xl__kernel_source_load(&from, &text, e);
    if (status == XL_OK)
        *hash = xl__hash64(text.text, text.len);
    xl__str_clear(&text);
    return status;
}

/* Are the texts of all kernels of the set unchanged? */
static bool are_sources_unchanged(const struct xl__tuned_sets *db,
                                  const char *list, char *name, size_t cap)
{
    enum { DIGITS = 16 };
    for (const char *at = list; *at;) {
        const size_t len = strcspn(at, " ");
        const char *colon = memchr(at, ':', len);
        uint64_t hash = 0;
        char hex[DIGITS + 1];
        xl__strfmt(name, cap, "%.*s", (int)(colon ? colon - at : (long)len),
                   at);
        if (!colon || xl__tuned_source_hash(db, name, &hash, NULL) != XL_OK)
            return false;
        xl__strfmt(hex, sizeof hex, "%016llx", (unsigned long long)hash);
        if (strncmp(colon + 1, hex, DIGITS) != 0)
            return false;
        at += len + strspn(at + len, " ");
    }
    return true;
}

void xl__tuned_driver(const xl_device *dev, char *out, size_t cap)
{
    copy_plain(out, cap, xl__text(&dev->limits, XL__F_driver));
}

bool xl__tuned_is_stale(const struct xl__tuned_sets *db, const xl_device *dev,
                        const struct xl__tuned_set *set, char *why,
                        size_t why_cap)
{
    char driver[sizeof set->driver], name[sizeof set->sources];
    xl__tuned_driver(dev, driver, sizeof driver);
    if (strcmp(driver, set->driver) != 0) {
        xl__strfmt(why, why_cap, "tuned with driver %s, this is %s",
                   set->driver, driver);
        return true;
    }
    if (are_sources_unchanged(db, set->sources, name, sizeof name))
        return false;
    xl__strfmt(why, why_cap, "%s has changed since it was tuned", name);
    return true;
}

enum { PATIENCE_MS = 10000, MOST_BESIDE = 9 };

/* -- names -----------------------------------------------------------------*/

/* Appends lower-case letters, digits and single dashes. */
static void add_slug(struct xl__str *out, const char *text)
{
    for (; *text; text++) {
        const char c = *text;
        const bool is_large = c >= 'A' && c <= 'Z';
        const bool is_kept =
            is_large || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        const bool after_dash =
            out->len == 0 || out->text[out->len - 1] == '-';
        const char small = (char)(is_large ? c - 'A' + 'a' : c);
        if (is_kept)
            xl__str_add_n(out, &small, 1);
        else if (!after_dash)
            xl__str_add_n(out, "-", 1);
    }
}

/* <dir>/<device>-<platform>.json, limited to the length that file systems
 * allow. */
static char *default_path(const char *dir, const struct xl__tuned_file *head)
{
    enum { MOST = 150 };
    struct xl__str name = {0};
    add_slug(&name, head->device);
    xl__str_add(&name, "-");
    add_slug(&name, head->platform);
    if (name.len > MOST && !name.broken) {
        name.len = MOST;
        name.text[MOST] = '\0';
    }
    xl__str_add(&name, ".json");
    char *path = name.broken ? NULL : xl__path_join(dir, xl__str_text(&name));
    xl__str_clear(&name);
    return path;
}

/* "x.json" as "x-<n>.json"; n of 1 is the path itself. */
static char *numbered_path(const char *path, unsigned n)
{
    const size_t stem = strlen(path) - strlen(".json");
    struct xl__str other = {0};
    if (n == 1)
        return xl__strdup(path);
    xl__str_printf(&other, "%.*s-%u.json", (int)stem, path, n);
    return xl__str_steal(&other);
}

/* -- one file --------------------------------------------------------------*/

struct saving {
    struct xl__tuned_sets *db;
    const struct xl__tuned_change *change;
    struct xl__tuned_file head; /* of the device */
    struct xl__error *error;
};

/* Reads the file at `path`; a new one for the device if it does not exist.
 * XL_CORRUPT: it exists and is not valid, or is for another device. */
static xl_status read_old(const struct saving *s, const char *path,
                          struct xl__tuned_file *out, struct xl__str *why)
{
    char *bytes;
    size_t len;
    xl_status status = xl__file_read(path, &bytes, &len);
    memset(out, 0, sizeof *out);
    if (status == XL_IO && errno == ENOENT) {
        *out = s->head;
        return XL_OK;
    }
    if (status == XL_OK)
        status = xl__tuned_file_parse(bytes, len, out, why);
    else
        xl__str_add(why, status == XL_IO ? strerror(errno)
                                         : xl_status_text(status));
    if (status == XL_OK && !xl__tuned_same_device(out, &s->head)) {
        xl__str_printf(why, "it is of %s (%s)", out->device, out->platform);
        status = XL_CORRUPT;
    }
    free(bytes);
    return status;
}

static xl_status write_new(const struct saving *s, const char *path,
                           struct xl__tuned_file *file)
{
    struct xl__str text = {0};
    xl_status status = XL_NO_MEMORY;
    if (s->change->profile)
        file->profile = *s->change->profile;
    if (!s->change->set || xl__tuned_file_put(file, s->change->set)) {
        xl__tuned_file_format(file, &text);
        if (!text.broken)
            status = xl__file_replace(path, text.text, text.len);
    }
    if (status != XL_OK)
        xl__error_set(s->error, status, "%s: %s", path,
                      status == XL_NO_MEMORY ? xl_status_text(status)
                                             : strerror(errno));
    xl__str_clear(&text);
    return status;
}

/* Merges the set into one file. XL_CORRUPT: the file is not changed. */
static xl_status merge_file(const struct saving *s, const char *path,
                            struct xl__str *why)
{
    struct xl__tuned_file file;
    xl_status status = read_old(s, path, &file, why);
    if (status == XL_OK)
        status = write_new(s, path, &file);
    else if (status != XL_CORRUPT)
        xl__error_set(s->error, status, "%s: %s", path, xl__str_text(why));
    xl__tuned_file_clear(&file);
    return status;
}

/* Saves to the path that the caller named, or fails. */
static xl_status merge_named(const struct saving *s, const char *path)
{
    struct xl__str why = {0};
    const xl_status status = merge_file(s, path, &why);
    if (status == XL_CORRUPT)
        xl__error_set(s->error, status,
                      "%s is not changed, name another file: %s", path,
                      xl__str_text(&why));
    xl__str_clear(&why);
    return status;
}

/* Saves to the user's file, or to the first numbered file in its folder that
 * is valid or does not exist. */
static xl_status merge_own(const struct saving *s, const char *path)
{
    xl_status status = XL_CORRUPT;
    struct xl__str why = {0};
    for (unsigned n = 1; status == XL_CORRUPT && n <= MOST_BESIDE; n++) {
        char *other = numbered_path(path, n);
        xl__str_reset(&why);
        status = other ? merge_file(s, other, &why) : XL_NO_MEMORY;
        if (status == XL_CORRUPT)
            warn_printf(s->db,
                        "%s is not changed, tuned sets are saved in "
                        "another file in its folder: %s",
                        other, xl__str_text(&why));
        free(other);
    }
    if (status != XL_OK)
        xl__error_set(s->error, status, "%s: %s", path, xl__str_text(&why));
    xl__str_clear(&why);
    return status;
}

/* -- saving ----------------------------------------------------------------*/

static xl_status make_dir(const char *dir, struct xl__error *e)
{
    const char *why = "out of memory";
    if (xl__path_access(dir) == XL__WRITABLE)
        return XL_OK;
    const xl_status status = xl__dir_create(dir, &why);
    if (status != XL_OK)
        xl__error_set(e, status, "folder of tuned sets %s: %s", dir, why);
    return status;
}

static xl_status save_locked(const struct saving *s, const char *path,
                             bool is_named)
{
    xl_status status = XL_OK;
    struct xl__str name = {0};
    struct xl__file_lock lock;
    xl__str_printf(&name, "%s.lock", path);
    status = name.broken ? XL_NO_MEMORY
                         : xl__file_lock_take(name.text, PATIENCE_MS, &lock);
    if (status != XL_OK) {
        xl__error_set(
            s->error, status, "lock of tuned sets %s: %s", xl__str_text(&name),
            status == XL_IO ? strerror(errno) : xl_status_text(status));
    } else {
        status = is_named ? merge_named(s, path) : merge_own(s, path);
        xl__file_lock_drop(&lock);
    }
    xl__str_clear(&name);
    return status;
}

xl_status xl__tuned_sets_save(struct xl__tuned_sets *db, const xl_device *dev,
                              const struct xl__tuned_change *change,
                              struct xl__error *e)
{
    xl_status status = XL_OK;
    struct saving s = {.db = db, .change = change, .error = e};
    const char *path = change->path;
    char *own = NULL;
    xl__tuned_device_head(dev, &s.head);
    if (!path && !db->user_dir)
        return xl__error_set(e, XL_IO,
                             "there is no folder for tuned sets: set "
                             "XL_TUNED_DIR, or name a file");
    if (!path) {
        TRY(make_dir(db->user_dir, e));
        own = default_path(db->user_dir, &s.head);
        TRY(xl__check_alloc(e, own, "tuned sets"));
    }
    TRY(save_locked(&s, path ? path : own, path != NULL));
    request_reload(db);
fail:
    free(own);
    return status;
}
