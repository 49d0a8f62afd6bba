/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions of the program cache: crosslane/cache.h over store/. */
#include <crosslane/cache.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "runtime/program.h"
#include "runtime/store/program_file.h"

/* Reports the status of a call and returns it. Where there is no message,
 * XL_IO concerns the user's folder. */
static xl_status report_call(xl_lib *lib, xl_status status,
                             struct xl__error *error)
{
    const struct xl__store *store = &lib->store;
    const char *why = "it cannot be read";
    if (status == XL_IO && xl__dir_check(store->dir, &why) == XL_OK)
        xl__dir_check(store->root, &why);
    if (status == XL_IO)
        xl__error_set(error, status, "cache folder %s: %s", store->dir, why);
    else if (status != XL_OK)
        xl__error_set(error, status, "%s", xl_status_text(status));
    xl__lib_report(lib, error);
    return status;
}

static xl_status record_status(xl_lib *lib, xl_status status)
{
    struct xl__error error = {0};
    return report_call(lib, status, &error);
}

const char *xl_cache_dir(const xl_lib *lib)
{
    return lib != NULL ? lib->store.dir : NULL;
}

xl_status xl_cache_list(xl_lib *lib,
                        void (*each)(const xl_cache_entry *, void *),
                        void *arg)
{
    if (lib == NULL || each == NULL)
        return XL_BAD_ARGUMENT;
    return record_status(lib, xl__store_list(&lib->store, each, arg));
}

xl_status xl_cache_stats_get(xl_lib *lib, xl_cache_stats *out)
{
    if (lib == NULL || out == NULL)
        return XL_BAD_ARGUMENT;
    return record_status(lib, xl__store_stats(&lib->store, out));
}

xl_status xl_cache_clear(xl_lib *lib, bool only_damaged, uint64_t *n_removed)
{
    if (lib == NULL)
        return XL_BAD_ARGUMENT;
    return record_status(
        lib, xl__store_remove(&lib->store, only_damaged, n_removed));
}

/* -- program files -------------------------------------------------------- */

/* How the keys of programs and verdicts of one device end. */
struct key_ends {
    struct xl__str program, verdict;
};

/* The devices whose entries are copied. */
struct copied_devices {
    struct key_ends *of;
    unsigned n;
};

static bool ends_with(const char *key, size_t len, const struct xl__str *end)
{
    return len >= end->len &&
           memcmp(key + (len - end->len), end->text, end->len) == 0;
}

/* Is it the key of a program or a verdict of this library for one of the
 * devices? */
static bool accepts_key(const char *key, size_t len, void *arg)
{
    static const char begin[] = XL__PROGRAM_KEY_BEGIN;
    const struct copied_devices *devices = arg;
    if (len < sizeof begin || memcmp(key, begin, sizeof begin - 1) != 0)
        return false;
    for (unsigned i = 0; i < devices->n; i++) {
        if (ends_with(key, len, &devices->of[i].program) ||
            ends_with(key, len, &devices->of[i].verdict))
            return true;
    }
    return false;
}

static xl_status set_key_ends(const xl_device *dev, struct key_ends *out)
{
    xl__program_device_key(&dev->limits, &out->program);
    xl__verdict_key(xl__str_text(&out->program), xl__build_hash, &dev->limits,
                    &out->verdict);
    return out->program.broken || out->verdict.broken ? XL_NO_MEMORY : XL_OK;
}

static void clear_copied(struct copied_devices *devices)
{
    for (unsigned i = 0; devices->of && i < devices->n; i++) {
        xl__str_clear(&devices->of[i].program);
        xl__str_clear(&devices->of[i].verdict);
    }
    free(devices->of);
}

static xl_status find_copied(xl_lib *lib, const xl_device *dev,
                             struct copied_devices *out, struct xl__error *e)
{
    out->n = 1;
    xl_status status = dev ? XL_OK : xl_device_count(lib, &out->n);
    if (status != XL_OK)
        return xl__error_set(e, status, "%s", xl_lib_error(lib));
    out->of = xl__calloc(out->n, sizeof *out->of);
    if (!out->of)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < out->n && status == XL_OK; i++)
        status = set_key_ends(dev ? dev : xl_device_at(lib, i), &out->of[i]);
    return status;
}

static xl_status
copy_entries(xl_lib *lib, const xl_device *dev, const char *path,
             xl_cache_copy *out,
             xl_status (*copy)(struct xl__store *, const char *,
                               const struct xl__key_filter *, xl_cache_copy *,
                               struct xl__error *))
{
    struct copied_devices devices = {NULL, 0};
    const struct xl__key_filter filter = {accepts_key, &devices};
    struct xl__error error = {0};
    xl_cache_copy counts = {0};
    if (!lib || !path)
        return XL_BAD_ARGUMENT;
    xl_status status = find_copied(lib, dev, &devices, &error);
    if (status == XL_OK)
        status = copy(&lib->store, path, &filter, &counts, &error);
    if (out)
        *out = status == XL_OK ? counts : (xl_cache_copy){0};
    clear_copied(&devices);
    return report_call(lib, status, &error);
}

xl_status xl_cache_export(xl_lib *lib, const xl_device *dev, const char *path,
                          xl_cache_copy *out)
{
    return copy_entries(lib, dev, path, out, xl__store_export);
}

xl_status xl_cache_import(xl_lib *lib, const xl_device *dev, const char *path,
                          xl_cache_copy *out)
{
    return copy_entries(lib, dev, path, out, xl__store_import);
}
