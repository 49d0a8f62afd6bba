/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of the store. */
#include <crosslane/cache.h>

#include "base/os/files.h"
#include "runtime/context.h"

/* Keep the story of a failed call; the store itself has none. XL_IO is about
 * the user's folder. */
static xl_status tell(xl_lib *lib, xl_status status)
{
    const struct xl__cluster_store *store = &lib->store;
    const char *why = "it cannot be read";
    xl__lock_take(&lib->lock);
    xl__error_reset(&lib->error);
    if (status == XL_IO && xl__dir_check(store->dir, &why) == XL_OK)
        xl__dir_check(store->root, &why);
    if (status == XL_IO)
        xl__error_set(&lib->error, status, "cache folder %s: %s", store->dir,
                      why);
    else if (status != XL_OK)
        xl__error_set(&lib->error, status, "%s", xl_status_text(status));
    xl__lock_drop(&lib->lock);
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
    return tell(lib, xl__store_list(&lib->store, each, arg));
}

xl_status xl_cache_stats_get(xl_lib *lib, xl_cache_stats *out)
{
    if (lib == NULL || out == NULL)
        return XL_BAD_ARGUMENT;
    return tell(lib, xl__store_stats(&lib->store, out));
}

xl_status xl_cache_clear(xl_lib *lib, bool only_damaged, uint64_t *n_removed)
{
    if (lib == NULL)
        return XL_BAD_ARGUMENT;
    return tell(lib, xl__store_remove(&lib->store, only_damaged, n_removed));
}
