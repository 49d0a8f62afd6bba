/* SPDX-License-Identifier: Apache-2.0 */
/* A set into its file. Nobody's file is ever overwritten that was not
 * understood: a newer library may still want it, or a person may mend it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "runtime/tuned/tuned_sets.h"

enum { PATIENCE_MS = 10000, MOST_BESIDE = 9 };

/* -- names -----------------------------------------------------------------*/

/* Small letters, digits and single dashes. */
static void add_slug(struct xl__str *out, const char *text)
{
    for (; *text; text++) {
        const char c = *text;
        const bool is_large = c >= 'A' && c <= 'Z';
        const bool is_kept = is_large || (c >= 'a' && c <= 'z') ||
                             (c >= '0' && c <= '9');
        const bool after_dash =
            out->len == 0 || out->text[out->len - 1] == '-';
        const char small = (char)(is_large ? c - 'A' + 'a' : c);
        if (is_kept)
            xl__str_add_n(out, &small, 1);
        else if (!after_dash)
            xl__str_add_n(out, "-", 1);
    }
}

/* <dir>/<device>-<platform>.json, in pieces that file systems take. */
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
static char *beside(const char *path, unsigned n)
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
    struct xl__tune_db *db;
    const struct xl__tuned *set;
    struct xl__tuned_file head; /* of the device */
    struct xl__error *error;
};

/* What the file at `path` holds; a new one for the device when it is not
 * there. XL_CORRUPT: it is there and none of ours. */
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
        status = xl__tuned_parse(bytes, len, out, why);
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
    if (xl__tuned_put(file, s->set)) {
        xl__tuned_format(file, &text);
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

/* XL_CORRUPT: the file is left as it is. */
static xl_status merge(const struct saving *s, const char *path,
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

/* A path that was named is that one or none. */
static xl_status merge_named(const struct saving *s, const char *path)
{
    struct xl__str why = {0};
    const xl_status status = merge(s, path, &why);
    if (status == XL_CORRUPT)
        xl__error_set(s->error, status,
                      "%s is left as it is, name another file: %s", path,
                      xl__str_text(&why));
    xl__str_clear(&why);
    return status;
}

/* The user's own: that file, or the first beside it that can be had. */
static xl_status merge_own(const struct saving *s, const char *path)
{
    xl_status status = XL_CORRUPT;
    struct xl__str why = {0};
    for (unsigned n = 1; status == XL_CORRUPT && n <= MOST_BESIDE; n++) {
        char *other = beside(path, n);
        xl__str_reset(&why);
        status = other ? merge(s, other, &why) : XL_NO_MEMORY;
        if (status == XL_CORRUPT)
            xl__tune_db_warn(s->db,
                             "%s is left as it is, what is tuned now goes "
                             "into a file beside it: %s",
                             other, xl__str_text(&why));
        free(other);
    }
    if (status != XL_OK)
        xl__error_set(s->error, status, "%s: %s", path, xl__str_text(&why));
    xl__str_clear(&why);
    return status;
}

/* -- the whole -------------------------------------------------------------*/

static xl_status make_dir(const char *dir, struct xl__error *e)
{
    const char *why = "out of memory";
    if (xl__path_access(dir) == XL__WRITABLE)
        return XL_OK;
    const xl_status status = xl__dir_make(dir, &why);
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
        xl__error_set(s->error, status, "lock of tuned sets %s: %s",
                      xl__str_text(&name),
                      status == XL_IO ? strerror(errno)
                                      : xl_status_text(status));
    } else {
        status = is_named ? merge_named(s, path) : merge_own(s, path);
        xl__file_lock_drop(&lock);
    }
    xl__str_clear(&name);
    return status;
}

xl_status xl__tune_db_save(struct xl__tune_db *db, const xl_device *dev,
                           const struct xl__tuned *set, const char *path,
                           struct xl__error *e)
{
    xl_status status = XL_OK;
    struct saving s = {.db = db, .set = set, .error = e};
    char *own = NULL;
    xl__tuned_head(dev, &s.head);
    if (!path && !db->user_dir)
        return xl__error_set(e, XL_IO,
                             "there is no folder for tuned sets: set "
                             "XL_TUNED_DIR, or name a file");
    if (!path) {
        TRY(make_dir(db->user_dir, e));
        own = default_path(db->user_dir, &s.head);
        if (!own)
            TRY(xl__error_set(e, XL_NO_MEMORY, "tuned sets"));
    }
    TRY(save_locked(&s, path ? path : own, path != NULL));
    xl__tune_db_renew(db);
fail:
    free(own);
    return status;
}
