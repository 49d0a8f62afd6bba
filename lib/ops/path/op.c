/* SPDX-License-Identifier: Apache-2.0 */
/* The path of every op: check, bind, find the cached plan; the first time
 * select, build, self-check. A variant that cannot be built or gives wrong
 * results is struck with a warning, and the next one is tried. */
#include "ops/path/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/context.h"

const char *xl__op_call_forced(const struct xl__op_call *w)
{
    return w->key.forced[0] ? w->key.forced : NULL;
}

/* -- check and bind ------------------------------------------------------- */

static void init_call(struct xl__op_call *w, xl_queue *q,
                      const struct xl__op *op, const void *desc)
{
    w->q = q;
    w->op = op;
    w->desc = desc;
    w->list = NULL;
    w->n = 0;
    w->why = NULL;
    memset(&w->call, 0, sizeof w->call);
    xl__error_reset(&w->q->error);
}

static xl_status bind_call(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const char *forced = w->op->forced(w->desc);
    if (forced && strlen(forced) >= XL__NAME_CAP)
        TRY(xl__error_set(&w->q->error, XL_BAD_ARGUMENT,
                          "%s has no variant \"%s\"", w->op->name, forced));
    memset(w->key.forced, 0, sizeof w->key.forced);
    xl__strcpy(w->key.forced, XL__NAME_CAP, forced ? forced : "");
    w->key.op = w->op->id;
    w->key_bytes =
        offsetof(struct xl__op_key, canonical) + w->op->canonical_bytes;
    TRY(w->op->bind(w->q, w->desc, w->key.canonical, &w->call));
    w->call.mem[XL__MEM_SCRATCH] = w->op->workspace(w->desc);
fail:
    return status;
}

xl_status xl__op_call_begin(struct xl__op_call *w, xl_queue *q,
                            const struct xl__op *op, const void *desc,
                            bool with_memory)
{
    xl_status status = XL_OK;
    init_call(w, q, op, desc);
    if (!w->desc || w->op->canonical_bytes > sizeof w->key.canonical)
        TRY(xl__error_set(&w->q->error, XL_BAD_ARGUMENT, "%s: no descriptor",
                          w->op->name));
    TRY(w->op->check(w->q, w->desc, with_memory));
    TRY(bind_call(w));
fail:
    return status;
}

void xl__op_call_end(struct xl__op_call *w)
{
    xl__variant_candidates_free(w->list, w->n);
    free(w->why);
    w->list = NULL;
    w->why = NULL;
}

/* -- selection ------------------------------------------------------------ */

xl_status xl__op_call_select(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const struct xl__selecting what = {.lib = w->q->ctx->lib,
                                       .dev = w->q->ctx->device,
                                       .op = w->op,
                                       .canonical = w->key.canonical,
                                       .forced = xl__op_call_forced(w)};
    TRY(xl__select(&what, &w->list, &w->n, &w->q->error));
    w->why = xl__calloc(w->n ? w->n : 1, sizeof *w->why);
    if (!w->why)
        TRY(xl__error_set(&w->q->error, XL_NO_MEMORY, "candidates"));
fail:
    return status;
}

/* Builds a candidate and runs its self-check. XL_UNTRUSTED: wrong results. */
static xl_status build_and_check(struct xl__op_call *w,
                                 const struct xl__variant_candidate *c,
                                 struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    bool trusted = false;
    char why[XL__WHY_CAP] = "";
    struct xl__cached_plan *ready = xl__calloc(1, sizeof *ready);
    if (!ready)
        TRY(xl__error_set(&w->q->error, XL_NO_MEMORY, "a plan"));
    ready->plan = *c->plan;
    ready->variant = c->variant;
    TRY(xl__cached_plan_build(w->q, ready));
    TRY(xl__selfcheck(w->q, w->op, w->key.canonical, c, ready, &trusted, why,
                      sizeof why));
    if (!trusted)
        TRY(xl__error_set(&w->q->error, XL_UNTRUSTED, "%s: %s",
                          c->variant->name, why));
    *out = ready;
    return XL_OK;
fail:
    if (ready)
        xl__cached_plan_clear(ready);
    free(ready);
    return status;
}

/* Records why candidate i cannot be used, and logs it. */
static void strike_candidate(struct xl__op_call *w, unsigned i, bool is_last)
{
    const char *why = xl__str_text(&w->q->error.detail);
    xl__strcpy(w->why[i], XL__WHY_CAP, why);
    xl__log_message(w->q->ctx->lib, XL_LOG_WARNING,
                    "%s cannot be used on %s%s: %s", w->list[i].variant->name,
                    xl__text(&w->q->ctx->device->limits, XL__F_name),
                    is_last ? "" : ", the next variant is tried", why);
}

static xl_status report_all_refused(struct xl__op_call *w)
{
    struct xl__str all = {0};
    for (unsigned i = 0; i < w->n; i++) {
        const char *why = w->list[i].refused ? w->list[i].refused : w->why[i];
        if (!xl__op_call_forced(w) ||
            strcmp(w->list[i].variant->name, xl__op_call_forced(w)) == 0)
            xl__str_printf(&all, "%s%s: %s", all.len > 0 ? "; " : "",
                           w->list[i].variant->name, why);
    }
    const xl_status status =
        xl__error_set(&w->q->error, XL_UNSUPPORTED, "%s", xl__str_text(&all));
    xl__str_clear(&all);
    return status;
}

static bool is_last_candidate(const struct xl__op_call *w, unsigned i)
{
    return i + 1 == w->n || w->list[i + 1].refused;
}

/* If all candidates fail, the status is that of the first one, which is the
 * best by estimate. */
xl_status xl__op_call_first_good(struct xl__op_call *w,
                                 struct xl__cached_plan **out,
                                 unsigned *chosen)
{
    struct xl__error first = {0};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < w->n && !w->list[i].refused; i++) {
        status = build_and_check(w, &w->list[i], out);
        if (status == XL_OK) {
            *chosen = i;
            break;
        }
        strike_candidate(w, i, is_last_candidate(w, i));
        if (first.status == XL_OK)
            xl__error_set(&first, status, "%s",
                          xl__str_text(&w->q->error.detail));
        if (status == XL_NO_MEMORY || is_last_candidate(w, i))
            break;
        xl__error_reset(&w->q->error);
    }
    if (status != XL_OK) {
        xl__error_reset(&w->q->error);
        status = xl__error_set(&w->q->error, first.status, "%s",
                               xl__str_text(&first.detail));
    } else if (w->n == 0 || w->list[0].refused) {
        status = report_all_refused(w);
    } else {
        xl__error_reset(&w->q->error);
    }
    xl__error_clear(&first);
    return status;
}

/* Makes the plan and adds it to the cache of the queue. */
static xl_status make_plan(struct xl__op_call *w, struct xl__cached_plan **out,
                           unsigned *chosen)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = NULL;
    TRY(xl__op_call_select(w));
    TRY(xl__op_call_first_good(w, &ready, chosen));
    status = xl__plan_cache_add(w->q, ready, &w->key, w->key_bytes);
    if (status == XL_OK) {
        *out = ready;
        return XL_OK;
    }
    xl__cached_plan_clear(ready);
    free(ready);
fail:
    return status;
}

static xl_status find_or_make_plan(struct xl__op_call *w,
                                   struct xl__cached_plan **out)
{
    unsigned chosen;
    *out = xl__plan_cache_find(w->q, &w->key, w->key_bytes);
    return *out ? XL_OK : make_plan(w, out, &chosen);
}

/* -- the calls ------------------------------------------------------------ */

static xl_status launch_call(struct xl__op_call *w, const xl_sync *sync)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready;
    TRY(find_or_make_plan(w, &ready));
    TRY(xl__operands_check_workspace(
        &w->q->memory, w->call.mem[XL__MEM_SCRATCH],
        ready->plan.scratch_bytes, &w->q->error));
    TRY(xl__launch(w->q, ready, &w->call, sync));
fail:
    return status;
}

xl_status xl__op_run(xl_queue *q, const struct xl__op *op, const void *desc,
                     const xl_sync *sync)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    if (!q)
        return XL_BAD_ARGUMENT;
    TRY(xl__op_call_begin(&w, q, op, desc, true));
    TRY(launch_call(&w, sync));
fail:
    xl__op_call_end(&w);
    return status;
}

xl_status xl__op_run_checked(xl_queue *q, const struct xl__op *op,
                             const void *desc, const xl_sync *sync)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    init_call(&w, q, op, desc);
    TRY(bind_call(&w));
    TRY(launch_call(&w, sync));
fail:
    xl__op_call_end(&w);
    return status;
}

xl_status xl__op_prepare(xl_queue *q, const struct xl__op *op,
                         const void *desc)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    struct xl__cached_plan *ready;
    if (!q)
        return XL_BAD_ARGUMENT;
    TRY(xl__op_call_begin(&w, q, op, desc, false));
    TRY(find_or_make_plan(&w, &ready));
fail:
    xl__op_call_end(&w);
    return status;
}

xl_status xl__op_workspace(xl_queue *q, const struct xl__op *op,
                           const void *desc, size_t *bytes)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    struct xl__cached_plan *ready;
    if (!q || !bytes)
        return XL_BAD_ARGUMENT;
    *bytes = 0;
    TRY(xl__op_call_begin(&w, q, op, desc, false));
    TRY(find_or_make_plan(&w, &ready));
    *bytes = ready->plan.scratch_bytes;
fail:
    xl__op_call_end(&w);
    return status;
}
