/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts of one xl_lib: made when a first queue of a (cl_context,
 * device) pair comes, gone with the last. */
#include "runtime/epilogue.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "device/cl_info.h"

static xl_status make(xl_lib *lib, cl_context cl, cl_device_id id,
                      struct xl__context **out)
{
    xl_status status = XL_OK;
    struct xl__context *ctx = xl__calloc(1, sizeof *ctx);
    if (!ctx)
        TRY(xl__error_set(&lib->error, XL_NO_MEMORY, "a context"));
    TRY(xl__devices_of(&lib->devices, id, &ctx->device, &lib->error));
    CL_TRY(&lib->error, clRetainContext(cl));
    ctx->lib = lib;
    ctx->cl = cl;
    xl__lock_init(&ctx->lock);
    *out = ctx;
    return XL_OK;
fail:
    free(ctx);
    return status;
}

xl_status xl__context_take(xl_lib *lib, cl_context cl, cl_device_id id,
                           struct xl__context **out)
{
    xl_status status = XL_OK;
    for (struct xl__context *c = lib->contexts; c; c = c->next) {
        if (c->cl == cl && c->device->id == id) {
            c->n_queues++;
            *out = c;
            return XL_OK;
        }
    }
    struct xl__context *ctx = NULL;
    TRY(make(lib, cl, id, &ctx));
    ctx->n_queues = 1;
    ctx->next = lib->contexts;
    lib->contexts = ctx;
    *out = ctx;
fail:
    return status;
}

static void free_programs(struct xl__program *p)
{
    while (p) {
        struct xl__program *next = p->next;
        if (p->cl)
            clReleaseProgram(p->cl);
        free(p->key);
        free(p->build_log);
        free(p->story);
        free(p);
        p = next;
    }
}

void xl__context_drop(struct xl__context *ctx)
{
    xl_lib *lib = ctx->lib;
    if (--ctx->n_queues > 0)
        return;
    struct xl__context **link = &lib->contexts;
    while (*link != ctx)
        link = &(*link)->next;
    *link = ctx->next;
    free_programs(ctx->programs);
    if (ctx->clear_snippets)
        ctx->clear_snippets(ctx);
    clReleaseContext(ctx->cl);
    xl__lock_clear(&ctx->lock);
    free(ctx);
}
