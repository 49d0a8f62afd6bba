/* SPDX-License-Identifier: Apache-2.0 */
/* The path of every op: check, bind, find the cached plan; the first time
 * select, build, self-check. A variant whose tile cannot be built is tried
 * with its next best tiles (NV-77); one without a tile that can, or with wrong
 * results, is struck with a warning, and the next one is tried. */
#include "ops/path/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/tunables.h"
#include "runtime/buffer.h"
#include "runtime/commands/record.h"
#include "runtime/context.h"

const char *xl__op_call_forced(const struct xl__op_call *w)
{
    return w->key->forced[0] ? w->key->forced : NULL;
}

size_t xl__op_call_canonical_bytes(const struct xl__op_call *w)
{
    return w->key_bytes - offsetof(struct xl__op_key, canonical);
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
    w->is_of_class = false;
    w->is_provisional = false;
    w->own = NULL;
    w->audition = NULL;
    w->key = (struct xl__op_key *)w->room;
    memset(&w->call, 0, sizeof w->call);
    xl__error_reset(&w->q->error);
}

/* Is a buffer of the call large? Only asked where that matters. */
static xl_status find_large(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const xl_device *dev = w->q->ctx->device;
    const xl_mem workspace = w->call.mem[XL__MEM_SCRATCH];
    size_t most = xl__operands_largest(&w->q->memory), bytes;
    if (dev->vendor->large_buffers && workspace.buf) {
        TRY(xl__buffer_bytes(workspace, &bytes, &w->q->error));
        most = xl__max_size(most, bytes);
    }
    w->key->has_large = xl__buffer_is_large(dev, most);
fail:
    return status;
}

static xl_status bind_call(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const char *forced = w->op->forced(w->desc);
    if (forced && strlen(forced) >= XL__NAME_CAP)
        TRY(xl__error_set(&w->q->error, XL_BAD_ARGUMENT,
                          "%s has no variant \"%s\"", w->op->name, forced));
    w->key_bytes = offsetof(struct xl__op_key, canonical) +
                   w->op->canonical_bytes +
                   (w->op->listed_bytes ? w->op->listed_bytes(w->desc) : 0);
    if (w->key_bytes > sizeof w->room)
        w->key = xl__calloc(1, w->key_bytes);
    TRY(xl__check_alloc(&w->q->error, w->key, "a key"));
    memset(w->key->forced, 0, sizeof w->key->forced);
    xl__strcpy(w->key->forced, XL__NAME_CAP, forced ? forced : "");
    w->key->op = w->op->id;
    TRY(w->op->bind(w->q, w->desc, w->key->canonical, &w->call));
    TRY(find_large(w));
fail:
    return status;
}

static xl_status read_descriptor(const struct xl__op *op, const void *given,
                                 void *full, const void **out,
                                 struct xl__error *e)
{
    if (!given)
        return xl__error_set(e, XL_BAD_ARGUMENT, "%s: no descriptor",
                             op->name);
    *out = op->read ? op->read(given, full, e)
                    : xl__sized_read(&op->descriptor, given, full, e);
    return *out ? XL_OK : e->status;
}

xl_status xl__op_call_begin(struct xl__op_call *w, xl_queue *q,
                            const struct xl__op *op, const void *desc,
                            bool with_memory)
{
    xl_status status = XL_OK;
    init_call(w, q, op, desc);
    if (with_memory)
        TRY(xl__queue_check_runs(q));
    TRY(read_descriptor(op, desc, w->full, &w->desc, &q->error));
    q->memory.most_bytes = 0;
    TRY(w->op->check(w->q, w->desc, with_memory));
    TRY(bind_call(w));
fail:
    return status;
}

static void clear_list(struct xl__op_call *w)
{
    xl__variant_candidates_free(w->list, w->n);
    w->list = NULL;
    w->n = 0;
}

void xl__op_call_end(struct xl__op_call *w)
{
    clear_list(w);
    if (w->own)
        w->op->clear_analysis(w->own);
    w->own = NULL;
    if (w->key != (struct xl__op_key *)w->room)
        free(w->key);
}

/* -- selection ------------------------------------------------------------ */

xl_status xl__op_call_select_exact(struct xl__op_call *w)
{
    const struct xl__selecting what = {.lib = w->q->ctx->lib,
                                       .dev = w->q->ctx->device,
                                       .op = w->op,
                                       .canonical = w->key->canonical,
                                       .forced = xl__op_call_forced(w),
                                       .audition = w->audition};
    clear_list(w);
    w->is_of_class = false;
    return xl__select(&what, &w->list, &w->n, &w->q->error);
}

xl_status xl__op_call_plan(struct xl__op_call *w,
                           struct xl__variant_candidate *c)
{
    struct xl__error why = {0};
    if (!w->op->plan)
        return xl__variant_candidate_plan(&w->q->ctx->device->limits,
                                          w->key->canonical, c, &w->q->error);
    xl_status status = w->op->plan(w, c, &why);
    if (status == XL_UNSUPPORTED) {
        c->struck = xl__strdup(xl__str_text(&why.detail));
        c->refused = c->struck ? c->struck : "it does not apply";
    } else if (status != XL_OK) {
        xl__error_set(&w->q->error, status, "%s: %s", c->variant->name,
                      xl__str_text(&why.detail));
    }
    xl__error_clear(&why);
    return status;
}

/* Plans candidate i for the call's sizes, unless it has a plan. *is_other: the
 * list of a class became another, since it does not apply. */
static xl_status plan_candidate(struct xl__op_call *w, unsigned i,
                                bool *is_other)
{
    *is_other = false;
    if (w->list[i].plan)
        return XL_OK;
    const xl_status status = xl__op_call_plan(w, &w->list[i]);
    if (status != XL_UNSUPPORTED || !w->is_of_class)
        return status;
    *is_other = true;
    return xl__op_call_select_exact(w);
}

/* -- self-check ----------------------------------------------------------- */

/* What the case of an op is made of. */
struct provider {
    const struct xl__op *op;
    const struct xl__variant *variant; /* of that op */
    const void *canonical;
    const struct xl__variant_candidate *candidate;
    unsigned i; /* which of its plans */
    void *mapped, *small;
};

/* Plan a case, which has few tiles, so that a group computes several if the
 * variant's groups can. */
static xl_status plan_case(const struct provider *p,
                           const struct xl__limits *l, struct xl__plan *plan)
{
    enum { GROUPS = 3 }; /* of 2x2 tiles the first and the last in one */
    struct xl__limits *few = xl__calloc(1, sizeof *few);
    if (!few)
        return XL_NO_MEMORY;
    *few = *l; /* the texts are shared */
    few->case_groups = GROUPS;
    const xl_status status =
        p->variant->plan(few, p->small, &p->candidate->params, plan);
    free(few);
    return status;
}

static xl_status make_case(void *provider, const struct xl__limits *l,
                           struct xl__selfcheck_case *t, struct xl__plan *plan)
{
    struct provider *p = provider;
    const struct xl__variant *v = p->variant;
    const struct xl__params *params = &p->candidate->params;
    xl_status status = XL_OK;
    char tunables[XL__CASE_LABEL / 2];
    if (p->op->make_case)
        return p->op->make_case(p->canonical, p->candidate, p->i, l, t, plan);
    xl__params_text(v, params, tunables, sizeof tunables);
    xl__strfmt(t->label, sizeof t->label, "%s%s%s", v->name,
               *tunables ? " " : "", tunables);
    p->small = xl__calloc(1, p->op->canonical_bytes);
    if (!p->small)
        TRY(XL_NO_MEMORY);
    p->op->shrink(p->canonical, v, params, p->small);
    TRY(p->op->case_init(p->small, t));
    TRY(plan_case(p, l, plan));
fail:
    return status;
}

/* Of a variant with the plans of another op's: that op, by its descriptor. */
static xl_status enter_inner(struct provider *p)
{
    const struct xl__inner *inner = p->variant->inner;
    if (!inner)
        return XL_OK;
    p->mapped = xl__calloc(1, inner->op->canonical_bytes);
    if (!p->mapped)
        return XL_NO_MEMORY;
    if (inner->map(p->canonical, p->mapped))
        return XL_UNSUPPORTED;
    p->op = inner->op;
    p->variant = inner->variant;
    p->canonical = p->mapped;
    return XL_OK;
}

xl_status xl__op_selfcheck(xl_queue *q, const struct xl__op *op,
                           const void *canonical,
                           const struct xl__variant_candidate *candidate,
                           unsigned i, const struct xl__cached_plan *ready,
                           bool *trusted, char *why, size_t why_cap)
{
    struct provider p = {.op = op,
                         .variant = candidate->variant,
                         .canonical = canonical,
                         .candidate = candidate,
                         .i = i};
    const struct xl__checked what = {.name = candidate->variant->name,
                                     .ready = ready,
                                     .provider = &p,
                                     .make_case = make_case};
    xl_status status = enter_inner(&p);
    if (status == XL_OK)
        status = xl__selfcheck(q, &what, trusted, why, why_cap);
    else
        xl__error_set(&q->error, status, "self-check of %s: no case",
                      candidate->variant->name);
    free(p.mapped);
    free(p.small);
    return status;
}

/* -- the candidates ------------------------------------------------------- */

/* Builds plan number i of a candidate and runs its self-check. XL_UNTRUSTED:
 * wrong results. */
static xl_status build_and_check(struct xl__op_call *w,
                                 const struct xl__variant_candidate *c,
                                 const struct xl__plan *plan, unsigned i,
                                 struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    bool trusted = false;
    char why[XL__WHY_CAP] = "", which[XL__NAME_CAP] = "";
    struct xl__cached_plan *ready = xl__cached_plan_create(plan);
    TRY(xl__check_alloc(&w->q->error, ready, "a plan"));
    if (w->key->has_large ||
        xl__buffer_is_large(w->q->ctx->device, c->plan->scratch_bytes))
        xl__plan_permit_large(w->q->ctx->device, &ready->plan);
    if (!w->q->cl) { /* of a listing: it stays a plan */
        TRY(xl__plan_check(plan, &w->q->error));
        *out = ready;
        return XL_OK;
    }
    TRY(xl__cached_plan_build(w->q, ready));
    TRY(xl__op_selfcheck(w->q, w->op, w->key->canonical, c, i, ready, &trusted,
                         why, sizeof why));
    if (i > 0)
        xl__strfmt(which, sizeof which, "kernel %u: ", i + 1);
    if (!trusted)
        TRY(xl__error_set(&w->q->error, XL_UNTRUSTED, "%s: %s%s",
                          c->variant->name, which, why));
    for (unsigned k = 0; k < plan->n_steps; k++)
        ready->plan.step[k].text = NULL; /* was needed until now */
    *out = ready;
    return XL_OK;
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

static xl_status build_all(struct xl__op_call *w,
                           const struct xl__variant_candidate *c,
                           struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *first = NULL, **end = &first;
    unsigned i = 0;
    for (const struct xl__plan *p = c->plan; p; p = p->next, i++) {
        TRY(build_and_check(w, c, p, i, end));
        end = &(*end)->next;
    }
    *out = first;
    return XL_OK;
fail:
    xl__cached_plan_destroy(first);
    return status;
}

static void log_refusal(const struct xl__op_call *w, const char *name,
                        const char *next)
{
    xl__log_message(w->q->ctx->lib, XL_LOG_WARNING,
                    "%s cannot be used on %s%s: %s", name,
                    xl__text(&w->q->ctx->device->limits, XL__F_name), next,
                    xl__str_text(&w->q->error.detail));
}

/* Records why candidate i cannot be used, and logs it. */
static void strike_candidate(struct xl__op_call *w, unsigned i, bool is_last)
{
    free(w->list[i].struck);
    w->list[i].struck = xl__strdup(xl__str_text(&w->q->error.detail));
    log_refusal(w, w->list[i].variant->name,
                is_last ? "" : ", the next variant is tried");
}

/* Builds a candidate, if need be with its next best tiles: the driver's
 * compiler spills the first, or makes its kernel too large for a group. */
static xl_status build_tiles(struct xl__op_call *w,
                             struct xl__variant_candidate *c,
                             struct xl__cached_plan **out)
{
    char name[XL__CASE_LABEL];
    xl_status status;
    while ((status = build_all(w, c, out)) == XL_BUILD_FAILED ||
           status == XL_UNSUPPORTED) {
        const size_t len = strlen(c->variant->name) + 1;
        xl__strfmt(name, sizeof name, "%s ", c->variant->name);
        xl__params_text(c->variant, &c->params, name + len, sizeof name - len);
        if (xl__op_call_retile(w, xl__str_text(&w->q->error.detail), c) !=
            XL_OK)
            break;
        log_refusal(w, name, ", another tile is tried");
        xl__error_reset(&w->q->error);
    }
    return status;
}

static xl_status report_all_refused(struct xl__op_call *w)
{
    struct xl__str all = {0};
    for (unsigned i = 0; i < w->n; i++) {
        const struct xl__variant_candidate *c = &w->list[i];
        const char *why = c->refused ? c->refused : c->struck ? c->struck : "";
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

/* Builds the candidates of the list in order. If all fail, the status is that
 * of the first one, which is the best by estimate. */
static xl_status build_first_good(struct xl__op_call *w,
                                  struct xl__cached_plan **out,
                                  unsigned *chosen)
{
    struct xl__error first = {0};
    xl_status status = XL_OK;
    bool is_other = false;
    *out = NULL;
    for (unsigned i = 0; !*out && i < w->n && !w->list[i].refused;
         i = is_other ? 0 : i + 1) {
        status = plan_candidate(w, i, &is_other);
        if (is_other && status == XL_OK)
            continue;
        if (is_other)
            goto fail;
        if (status == XL_OK)
            status = build_tiles(w, &w->list[i], out);
        *chosen = i;
        if (status == XL_OK || w->list[i].refused)
            continue;
        strike_candidate(w, i, is_last_candidate(w, i));
        if (first.status == XL_OK)
            xl__error_set(&first, status, "%s",
                          xl__str_text(&w->q->error.detail));
        w->is_provisional |= !xl__is_verdict(status);
        if (status == XL_NO_MEMORY || is_last_candidate(w, i))
            break;
        xl__error_reset(&w->q->error);
    }
    xl__error_reset(&w->q->error);
    if (!*out && first.status != XL_OK)
        status = xl__error_set(&w->q->error, first.status, "%s",
                               xl__str_text(&first.detail));
    else if (!*out)
        status = report_all_refused(w);
fail:
    xl__error_clear(&first);
    return status;
}

xl_status xl__op_call_first_good(struct xl__op_call *w,
                                 struct xl__cached_plan **out,
                                 unsigned *chosen)
{
    xl_status status = XL_OK;
    if (w->is_of_class)
        status = xl__op_call_plan_first(w);
    if (status == XL_UNSUPPORTED)
        status = xl__op_call_select_exact(w);
    TRY(status);
    TRY(build_first_good(w, out, chosen));
fail:
    return status;
}

/* Makes the plan and adds it to the cache of the queue. */
static xl_status make_plan(struct xl__op_call *w, struct xl__cached_plan **out,
                           unsigned *chosen)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = NULL;
    TRY(xl__op_call_select(w));
    TRY(xl__op_call_audition(w));
    TRY(xl__op_call_first_good(w, &ready, chosen));
    TRY(xl__plan_cache_add(w->q, ready, w->is_provisional, w->key,
                           w->key_bytes));
    *out = ready;
    return XL_OK;
fail:
    xl__cached_plan_destroy(ready);
    return status;
}

static xl_status find_or_make_plan(struct xl__op_call *w,
                                   struct xl__cached_plan **out)
{
    unsigned chosen;
    *out = xl__plan_cache_find(w->q, w->key, w->key_bytes);
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
    TRY(w->q->record ? xl__record_call(w->q, ready, &w->call, sync)
                     : xl__launch(w->q, ready, &w->call, sync));
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
    TRY(xl__queue_check_runs(q));
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

/* Each size is planned, since that alone shows which programs it needs; it is
 * little beside the builds. */
xl_status xl__op_prepare_range(xl_queue *q, const struct xl__op *op,
                               const void *desc, size_t last)
{
    enum { MOST_SIZES = 1 << 20 };
    xl_status status = XL_OK;
    struct xl__str why = {0};
    uint64_t each[XL__DESC_ROOM / sizeof(uint64_t)];
    size_t *const size = (size_t *)(void *)((char *)each + op->range_at);
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    TRY(read_descriptor(op, desc, each, &desc, &q->error));
    memmove(each, desc, op->descriptor.bytes);
    each[0] = op->descriptor.bytes;
    if (last < *size || last - *size >= MOST_SIZES)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "%s: a range from %zu to %zu; it must ascend and "
                             "have at most %d sizes",
                             op->name, *size, last, MOST_SIZES);
    for (size_t left = last - *size + 1; left > 0; left--, ++*size) {
        status = xl__op_prepare(q, op, each);
        if (status == XL_OK)
            continue;
        xl__str_printf(&why, "size %zu of the range: %s", *size,
                       xl__str_text(&q->error.detail));
        xl__error_reset(&q->error);
        xl__error_set(&q->error, status, "%s", xl__str_text(&why));
        xl__str_clear(&why);
        break;
    }
fail:
    return status;
}

/* The arguments of xl__op_prepare_range(), kept for a call in the background.
 */
struct prepared_range {
    const struct xl__op *op;
    size_t last;
    uint64_t desc[XL__DESC_ROOM / sizeof(uint64_t)];
};

static xl_status prepare_kept(xl_queue *q, void *what)
{
    const struct prepared_range *r = what;
    return xl__op_prepare_range(q, r->op, r->desc, r->last);
}

xl_status xl__op_prepare_async(xl_queue *q, const struct xl__op *op,
                               const void *desc, size_t last, xl_prepared done,
                               void *arg)
{
    struct xl__background_call c = {prepare_kept, .done = done, .arg = arg};
    struct prepared_range r = {.op = op, .last = last};
    if (!q || !desc)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    desc = xl__sized_read(&op->descriptor, desc, r.desc, &q->error);
    if (!desc)
        return q->error.status;
    memmove(r.desc, desc, op->descriptor.bytes);
    r.desc[0] = op->descriptor.bytes;
    if (last == 0)
        memcpy(&r.last, (char *)r.desc + op->range_at, sizeof r.last);
    op->keep(&c.kept, r.desc);
    c.what = xl__keep(&c.kept, &r, sizeof r);
    return xl__background_start(q, &c);
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
