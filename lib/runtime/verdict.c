/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of self-checks in the store. */
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void xl__verdict_key(const char *program_key, const char *build_hash,
                     const struct xl__limits *l, struct xl__str *out)
{
    const char *uuid = xl__text(l, XL__F_uuid);
    xl__str_printf(out, "%sverdict of build %s on card %s\n", program_key,
                   build_hash, *uuid ? uuid : xl__text(l, XL__F_pci));
}

/* The payload as text; NULL: out of memory. */
static char *copy_detail(const struct xl__entry *entry)
{
    char *detail = xl__calloc(entry->n_bytes + 1, 1);
    if (detail && entry->n_bytes > 0)
        memcpy(detail, entry->payload, entry->n_bytes);
    return detail;
}

enum xl__trust xl__verdict_load(struct xl__context *ctx,
                                const char *program_key, char **detail)
{
    struct xl__str key = {0};
    struct xl__entry entry = {NULL, 0, XL__UNTESTED};
    *detail = NULL;
    xl__verdict_key(program_key, xl__build_hash, &ctx->device->limits, &key);
    if (!key.broken &&
        xl__store_get(&ctx->lib->store, xl__str_text(&key), &entry) &&
        entry.trust == XL__FAILED)
        *detail = copy_detail(&entry);
    free(entry.payload);
    xl__str_clear(&key);
    return entry.trust;
}

void xl__verdict_save(struct xl__context *ctx, const char *program_key,
                      enum xl__trust trust, const char *detail)
{
    struct xl__str key = {0};
    xl__verdict_key(program_key, xl__build_hash, &ctx->device->limits, &key);
    if (!key.broken)
        xl__store_put(&ctx->lib->store, xl__str_text(&key), detail,
                      detail ? strlen(detail) : 0, trust);
    xl__str_clear(&key);
}
