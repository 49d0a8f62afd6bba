/* SPDX-License-Identifier: Apache-2.0 */
/* The library handle's version, error and log, and the contexts of one xl_lib.
 * A context is created with the first queue of its (cl_context, device) pair
 * and destroyed with the last one. */
#include "runtime/context.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "runtime/program.h"

const char *xl_version(void)
{
    return XL_VERSION_TEXT;
}

const char *xl_lib_error(const xl_lib *lib)
{
    return lib ? xl__str_text(&lib->error.detail) : "";
}

void xl__log_message(xl_lib *lib, xl_log_level level, const char *fmt, ...)
{
    if (!lib->log)
        return;
    struct xl__str text = {NULL, 0, 0, false};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&text, fmt, args);
    va_end(args);
    xl__lock_take(&lib->log_lock);
    lib->log(level, xl__str_text(&text), lib->log_arg);
    xl__lock_drop(&lib->log_lock);
    xl__str_clear(&text);
}

static xl_status create_context(xl_lib *lib, cl_context cl, cl_device_id id,
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
    xl__condition_init(&ctx->claim_ended);
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
    TRY(create_context(lib, cl, id, &ctx));
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
        xl__program_free(p);
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
    if (ctx->clear_epilogues)
        ctx->clear_epilogues(ctx);
    clReleaseContext(ctx->cl);
    xl__condition_clear(&ctx->claim_ended);
    xl__lock_clear(&ctx->lock);
    free(ctx);
}
