/* SPDX-License-Identifier: Apache-2.0 */
/* The library handle's version, error, log and devices, and the contexts of
 * one xl_lib. A context is created with the first queue of its (cl_context,
 * device) pair and destroyed with the last one. */
#include "runtime/context.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "runtime/plan_cache.h"
#include "runtime/program.h"

const char *xl_version(void)
{
    return XL_VERSION_TEXT;
}

/* -- errors --------------------------------------------------------------- */

/* The message of one thread. Only that thread reads, replaces or removes it,
 * so that its text is stable between the thread's own calls. */
struct xl__thread_message {
    struct xl__thread_message *next;
    uint64_t thread;
    struct xl__error error;
};

/* The number of this thread, from 1. The number of a thread that has ended is
 * not used again. */
static uint64_t get_thread_number(void)
{
    static _Atomic(uint64_t) n_threads;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = ++n_threads;
    return number;
}

/* Under error_lock: the link to this thread's message, or the final link. */
static struct xl__thread_message **find_error(xl_lib *lib)
{
    const uint64_t thread = get_thread_number();
    struct xl__thread_message **link = &lib->errors;
    while (*link && (*link)->thread != thread)
        link = &(*link)->next;
    return link;
}

static void remove_error(struct xl__thread_message **link)
{
    struct xl__thread_message *removed = *link;
    *link = removed->next;
    xl__error_clear(&removed->error);
    free(removed);
}

void xl__lib_report(xl_lib *lib, struct xl__error *e)
{
    xl__lock_take(&lib->error_lock);
    struct xl__thread_message **link = find_error(lib);
    if (*link)
        remove_error(link);
    struct xl__thread_message *made =
        e->status != XL_OK ? xl__calloc(1, sizeof *made) : NULL;
    if (made) {
        *made =
            (struct xl__thread_message){lib->errors, get_thread_number(), *e};
        lib->errors = made;
        *e = (struct xl__error){0};
    }
    xl__lock_drop(&lib->error_lock);
    xl__error_clear(e);
}

void xl__lib_errors_clear(xl_lib *lib)
{
    while (lib->errors)
        remove_error(&lib->errors);
}

/* The lock is not part of what a const library promises. */
const char *xl_lib_error(const xl_lib *lib)
{
    xl_lib *own = (xl_lib *)lib;
    if (!lib)
        return "";
    xl__lock_take(&own->error_lock);
    const struct xl__thread_message *found = *find_error(own);
    const char *text = found ? xl__str_text(&found->error.detail) : "";
    xl__lock_drop(&own->error_lock);
    return text;
}

/* -- the log -------------------------------------------------------------- */

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

/* -- devices -------------------------------------------------------------- */

/* Under lib->lock. */
static xl_status enumerate_devices(xl_lib *lib, struct xl__error *e)
{
    if (lib->devices.n_flat > 0)
        return XL_OK;
    const xl_status status = xl__devices_enumerate(&lib->devices, e);
    if (status == XL_OK && lib->devices.left_out)
        xl__log_message(lib, XL_LOG_WARNING, "left out: %s",
                        lib->devices.left_out);
    return status;
}

xl_status xl_device_count(xl_lib *lib, unsigned *n)
{
    if (!lib || !n)
        return XL_BAD_ARGUMENT;
    struct xl__error error = {0};
    xl__lock_take(&lib->lock);
    const xl_status status = enumerate_devices(lib, &error);
    *n = lib->devices.n_flat;
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return status;
}

xl_device *xl_device_at(xl_lib *lib, unsigned index)
{
    if (!lib)
        return NULL;
    struct xl__error error = {0};
    xl__lock_take(&lib->lock);
    xl_device *dev =
        enumerate_devices(lib, &error) == XL_OK && index < lib->devices.n_flat
            ? lib->devices.flat[index]
            : NULL;
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return dev;
}

xl_status xl_device_find(xl_lib *lib, const char *text, xl_device **out)
{
    if (!lib || !text || !out)
        return XL_BAD_ARGUMENT;
    *out = NULL;
    struct xl__error error = {0};
    xl__lock_take(&lib->lock);
    xl_status status = enumerate_devices(lib, &error);
    if (status == XL_OK)
        status = xl__devices_find(&lib->devices, text, out, &error);
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return status;
}

/* -- contexts ------------------------------------------------------------- */

static xl_status create_context(xl_lib *lib, cl_context cl, xl_device *dev,
                                struct xl__context **out, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct xl__context *ctx = xl__calloc(1, sizeof *ctx);
    TRY(xl__check_alloc(e, ctx, "a context"));
    if (cl)
        CL_TRY(e, clRetainContext(cl));
    ctx->lib = lib;
    ctx->device = dev;
    ctx->cl = cl;
    xl__lock_init(&ctx->lock);
    xl__condition_init(&ctx->claim_ended);
    xl__lock_init(&ctx->selections_lock);
    *out = ctx;
    return XL_OK;
fail:
    free(ctx);
    return status;
}

xl_status xl__context_take(xl_lib *lib, cl_context cl, xl_device *dev,
                           struct xl__context **out, struct xl__error *e)
{
    xl_status status = XL_OK;
    for (struct xl__context *c = lib->contexts; c; c = c->next) {
        if (c->cl == cl && c->device == dev) {
            c->n_queues++;
            *out = c;
            return XL_OK;
        }
    }
    struct xl__context *ctx = NULL;
    TRY(create_context(lib, cl, dev, &ctx, e));
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
    if (ctx->trim_epilogues)
        ctx->trim_epilogues(ctx);
    if (ctx->cl)
        clReleaseContext(ctx->cl);
    xl__condition_clear(&ctx->claim_ended);
    xl__lru_clear(&ctx->selections);
    xl__lock_clear(&ctx->selections_lock);
    xl__lock_clear(&ctx->lock);
    free(ctx);
}

/* The selections are cleared under the lock before the texts, which their keys
 * have: a queue that adds one afterwards has its text. */
static void trim_context(struct xl__context *ctx, xl_trimmed *out)
{
    xl__lock_take(&ctx->lock);
    out->n_selections += xl__selections_clear(ctx);
    if (ctx->trim_epilogues)
        out->n_epilogues += ctx->trim_epilogues(ctx);
    xl__lock_drop(&ctx->lock);
    out->n_programs += xl__programs_trim(ctx);
}

xl_status xl_lib_trim(xl_lib *lib, xl_trimmed *out)
{
    xl_trimmed trimmed = {0};
    if (!lib)
        return XL_BAD_ARGUMENT;
    xl__lock_take(&lib->lock);
    for (struct xl__context *c = lib->contexts; c; c = c->next)
        trim_context(c, &trimmed);
    xl__lock_drop(&lib->lock);
    if (out)
        *out = trimmed;
    return XL_OK;
}
