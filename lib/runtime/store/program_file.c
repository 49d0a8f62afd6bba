/* SPDX-License-Identifier: Apache-2.0 */
/* Export and import of cache entries. An import reads the whole file into
 * memory and checks every entry before it writes the first one. What it wrote
 * before a failure is removed again. */
#include "runtime/store/program_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/os/files.h"

enum {
    AT_VERSION = 4,
    AT_COUNT = 8,
    AT_BYTES = 16,
    AT_HASH = 24,
    HEAD_BYTES = AT_HASH + XL__HASH128_BYTES,
    LENGTH_BYTES = 8
};

static const unsigned char MAGIC[AT_VERSION] = {'X', 'L', 'P', 'F'};

/* -- export ----------------------------------------------------------------*/

struct export
{
    const struct xl__key_filter *filter;
    xl_cache_copy *counts;
    struct xl__str body;
};

static void add_number(struct xl__str *out, uint64_t x, size_t bytes)
{
    unsigned char at[LENGTH_BYTES];
    xl__put_number(at, x, bytes);
    xl__str_add_n(out, (const char *)at, bytes);
}

/* An entry whose file another process removed since it was listed is left
 * out. */
static void export_entry(const xl_cache_entry *entry, void *arg)
{
    struct export *x = arg;
    const struct xl__key_filter *filter = x->filter;
    char *bytes;
    size_t len;
    if (!entry->is_intact) {
        x->counts->n_damaged++;
    } else if (!filter->accepts(entry->key, strlen(entry->key), filter->arg)) {
        x->counts->n_foreign++;
    } else if (xl__file_read(entry->path, &bytes, &len) == XL_OK) {
        add_number(&x->body, len, LENGTH_BYTES);
        xl__str_add_n(&x->body, bytes, len);
        x->counts->n_copied++;
        free(bytes);
    }
}

static xl_status report_file(struct xl__error *e, xl_status status,
                             const char *path)
{
    return xl__error_set(e, status, "program file %s: %s", path,
                         status == XL_IO ? strerror(errno)
                                         : xl_status_text(status));
}

static xl_status write_program_file(const struct export *x, const char *path,
                                    struct xl__error *e)
{
    struct xl__str file = {0};
    unsigned char hash[XL__HASH128_BYTES];
    xl__str_add_n(&file, (const char *)MAGIC, sizeof(MAGIC));
    add_number(&file, XL__PROGRAM_FILE_VERSION, AT_COUNT - AT_VERSION);
    add_number(&file, x->counts->n_copied, AT_BYTES - AT_COUNT);
    add_number(&file, x->body.len, AT_HASH - AT_BYTES);
    if (!file.broken)
        xl__hash128(file.text, file.len, hash);
    xl__str_add_n(&file, (const char *)hash, sizeof(hash));
    if (x->body.len > 0)
        xl__str_add_n(&file, x->body.text, x->body.len);
    xl_status status = file.broken || x->body.broken
                           ? XL_NO_MEMORY
                           : xl__file_replace(path, file.text, file.len);
    xl__str_clear(&file);
    return status == XL_OK ? XL_OK : report_file(e, status, path);
}

xl_status xl__store_export(struct xl__store *s, const char *path,
                           const struct xl__key_filter *filter,
                           xl_cache_copy *out, struct xl__error *e)
{
    struct export x = {.filter = filter, .counts = out};
    xl_status status = xl__store_list(s, export_entry, &x);
    if (status == XL_OK)
        status = write_program_file(&x, path, e);
    xl__str_clear(&x.body);
    return status;
}

/* -- the entries of a file -------------------------------------------------*/

/* A program file in memory, and the next entry. */
struct program_file {
    const unsigned char *at, *end;
};

/* The next entry; false at the end, or if it is not intact: then `at` is not
 * `end`. */
static bool next_entry(struct program_file *f, struct xl__entry_view *out)
{
    const size_t left = (size_t)(f->end - f->at);
    if (left < LENGTH_BYTES)
        return false;
    const uint64_t len = xl__get_number(f->at, LENGTH_BYTES);
    if (len > left - LENGTH_BYTES ||
        !xl__entry_parse(f->at + LENGTH_BYTES, (size_t)len, out))
        return false;
    f->at += LENGTH_BYTES + len;
    return true;
}

static xl_status check_head(const unsigned char *bytes, size_t len,
                            const char *path, struct xl__error *e)
{
    unsigned char hash[XL__HASH128_BYTES];
    if (len < sizeof(MAGIC) || memcmp(bytes, MAGIC, sizeof(MAGIC)) != 0)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s is not a program file: it must begin with "
                             "\"XLPF\"",
                             path);
    if (len < HEAD_BYTES)
        return xl__error_set(e, XL_CORRUPT,
                             "program file %s has %zu bytes; it must have at "
                             "least %d",
                             path, len, (int)HEAD_BYTES);
    xl__hash128(bytes, AT_HASH, hash);
    if (memcmp(hash, bytes + AT_HASH, sizeof(hash)) != 0)
        return xl__error_set(e, XL_CORRUPT,
                             "program file %s: its head is damaged", path);
    const uint64_t version =
        xl__get_number(bytes + AT_VERSION, AT_COUNT - AT_VERSION);
    if (version != XL__PROGRAM_FILE_VERSION)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "program file %s has version %llu of the format; "
                             "this library reads version %d: export it again "
                             "with this library",
                             path, (unsigned long long)version,
                             (int)XL__PROGRAM_FILE_VERSION);
    if (xl__get_number(bytes + AT_BYTES, AT_HASH - AT_BYTES) !=
        len - HEAD_BYTES)
        return xl__error_set(e, XL_CORRUPT,
                             "program file %s has %zu bytes after its head; "
                             "it must have %llu",
                             path, len - HEAD_BYTES,
                             (unsigned long long)xl__get_number(
                                 bytes + AT_BYTES, AT_HASH - AT_BYTES));
    return XL_OK;
}

static xl_status check_file(const unsigned char *bytes, size_t len,
                            const char *path, struct xl__error *e)
{
    struct xl__entry_view entry;
    uint64_t n = 0;
    const xl_status status = check_head(bytes, len, path, e);
    if (status != XL_OK)
        return status;
    const uint64_t stated =
        xl__get_number(bytes + AT_COUNT, AT_BYTES - AT_COUNT);
    struct program_file f = {bytes + HEAD_BYTES, bytes + len};
    while (next_entry(&f, &entry))
        n++;
    if (f.at != f.end || n != stated)
        return xl__error_set(e, XL_CORRUPT,
                             "program file %s: %llu of %llu entries are "
                             "intact",
                             path, (unsigned long long)n,
                             (unsigned long long)stated);
    return XL_OK;
}

/* -- import ----------------------------------------------------------------*/

struct import {
    struct xl__store *store;
    const struct xl__key_filter *filter;
    xl_cache_copy *counts;
    struct xl__entry_view *added; /* those to write */
    size_t n_added, cap_added;
    uint64_t bytes; /* of their keys and payloads */
};

/* Does the store have the entry? One without a program does not count where
 * the file has the program. */
static xl_status is_known(struct xl__store *s,
                          const struct xl__entry_view *entry, bool *known)
{
    struct xl__entry have;
    struct xl__str key = {0};
    xl__str_add_n(&key, entry->key, entry->key_len);
    const bool broken = key.broken;
    *known = !broken && xl__store_get(s, xl__str_text(&key), &have);
    if (*known) {
        free(have.payload);
        *known = have.n_bytes > 0 || entry->n_bytes == 0;
    }
    xl__str_clear(&key);
    return broken ? XL_NO_MEMORY : XL_OK;
}

/* Collects the entries that are to be written. */
static xl_status collect_entries(struct import *x, struct program_file f)
{
    struct xl__entry_view entry;
    while (next_entry(&f, &entry)) {
        bool known = false;
        if (!x->filter->accepts(entry.key, entry.key_len, x->filter->arg)) {
            x->counts->n_foreign++;
            continue;
        }
        if (is_known(x->store, &entry, &known) != XL_OK ||
            (!known && !xl__grow(&x->added, &x->cap_added, x->n_added + 1,
                                 sizeof(*x->added))))
            return XL_NO_MEMORY;
        x->counts->n_known += known;
        if (!known) {
            x->added[x->n_added++] = entry;
            x->bytes += entry.key_len + entry.n_bytes;
        }
    }
    return XL_OK;
}

static void remove_written(struct import *x)
{
    struct xl__str key = {0};
    for (size_t i = 0; i < x->counts->n_copied; i++) {
        xl__str_reset(&key);
        xl__str_add_n(&key, x->added[i].key, x->added[i].key_len);
        xl__store_drop(x->store, xl__str_text(&key));
    }
    xl__str_clear(&key);
    x->counts->n_copied = 0;
}

static xl_status write_entries(struct import *x, const char *path,
                               struct xl__error *e)
{
    const char *why = "";
    const struct xl__store *s = x->store;
    if (x->bytes > s->limit_bytes)
        return xl__error_set(e, XL_NO_SPACE,
                             "program file %s has %llu bytes for this "
                             "machine; the limit of the cache is %llu",
                             path, (unsigned long long)x->bytes,
                             (unsigned long long)s->limit_bytes);
    for (size_t i = 0; i < x->n_added; i++) {
        const xl_status status = xl__store_write(x->store, &x->added[i], &why);
        if (status != XL_OK) {
            remove_written(x);
            return xl__error_set(e, status, "cache folder %s: %s", s->dir,
                                 why);
        }
        x->counts->n_copied++;
    }
    return XL_OK;
}

xl_status xl__store_import(struct xl__store *s, const char *path,
                           const struct xl__key_filter *filter,
                           xl_cache_copy *out, struct xl__error *e)
{
    char *bytes = NULL;
    size_t len = 0;
    struct import x = {.store = s, .filter = filter, .counts = out};
    if (s->root == NULL)
        return xl__error_set(e, XL_IO,
                             "program file %s: the cache is off; an import "
                             "needs a cache folder",
                             path);
    xl_status status = xl__file_read(path, &bytes, &len);
    if (status != XL_OK)
        return report_file(e, status, path);
    const unsigned char *at = (const unsigned char *)bytes;
    TRY(check_file(at, len, path, e));
    status =
        collect_entries(&x, (struct program_file){at + HEAD_BYTES, at + len});
    if (status != XL_OK)
        TRY(report_file(e, status, path));
    TRY(write_entries(&x, path, e));
fail:
    free(x.added);
    free(bytes);
    return status;
}
