/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions of the program cache: crosslane/cache.h over store/store.h.
 */
#include <crosslane/cache.h>

#include "base/os/files.h"
#include "runtime/context.h"

/* Reports the status of a call and returns it. The store has no
 * messages; XL_IO always concerns the user's folder. */
static xl_status record_status(xl_lib *lib, xl_status status)
{
    const struct xl__store *store = &lib->store;
    const char *why = "it cannot be read";
    struct xl__error error = {0};
    if (status == XL_IO && xl__dir_check(store->dir, &why) == XL_OK)
        xl__dir_check(store->root, &why);
    if (status == XL_IO)
        xl__error_set(&error, status, "cache folder %s: %s", store->dir, why);
    else if (status != XL_OK)
        xl__error_set(&error, status, "%s", xl_status_text(status));
    xl__lib_report(lib, &error);
    return status;
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
