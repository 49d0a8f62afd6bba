/* SPDX-License-Identifier: Apache-2.0 */
/* Selection by class of shapes. Selection for the least and for the largest
 * sizes of a class gives two choices, mostly equal; a call takes that with the
 * lesser estimate for its own sizes. So a new size of a known class takes one
 * or two plans instead of one for each variant and tile, and the choice
 * depends on the sizes alone, not on the order of calls. A context keeps the
 * selections, with the tiles that the driver refused; a call takes a copy. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/tunables.h"
#include "runtime/context.h"

enum { MOST_CLASSES = 1024 };

struct class_key {
    uint64_t tuned_class; /* hash of op->shape_class() */
    const void *tuned; /* the collection, which changes when a set is saved */
    const void *audition; /* its result, which is there once it ended */
    uint64_t op[];     /* struct xl__op_key of the largest sizes */
};

static struct xl__op_key *key_of_largest(struct class_key *key)
{
    return (struct xl__op_key *)key->op;
}

struct class_selection {
    struct xl__lru_entry entry;
    unsigned n, rival;
    struct xl__variant_candidate list[]; /* without plans */
};

static void destroy_selection(struct xl__lru_entry *entry)
{
    free(entry);
}

static const struct xl__lru_kind selection_kind = {MOST_CLASSES,
                                                   destroy_selection};

static xl_status make_key(const struct xl__op_call *w, struct class_key *key,
                          struct xl__error *e)
{
    struct xl__str text = {0};
    struct xl__op_key *largest = key_of_largest(key);
    key->tuned = xl__tuned_sets_version(&w->q->ctx->lib->tuned);
    key->audition = w->audition;
    memcpy(largest, w->key, w->key_bytes);
    w->op->represent(w->key->canonical, XL__CLASS_LARGEST, largest->canonical);
    w->op->shape_class(w->key->canonical, &text);
    key->tuned_class = xl__hash64(xl__str_text(&text), text.len);
    const bool is_broken = text.broken;
    xl__str_clear(&text);
    return is_broken ? xl__error_set(e, XL_NO_MEMORY, "a class") : XL_OK;
}

/* Copies the list of a class to the call. */
static xl_status copy_list(struct xl__op_call *w,
                           const struct class_selection *from)
{
    w->list = xl__calloc(from->n, sizeof *w->list);
    if (!w->list)
        return xl__error_set(&w->q->error, XL_NO_MEMORY, "candidates");
    memcpy(w->list, from->list, from->n * sizeof *w->list);
    w->n = from->n;
    w->rival = from->rival;
    for (unsigned i = 0; i < w->n; i++) {
        if (w->list[i].tuned && w->list[i].refused)
            w->list[i].refused = w->list[i].note; /* of the copy */
    }
    return XL_OK;
}

static xl_status find_selection(struct xl__op_call *w,
                                const struct class_key *key, size_t bytes)
{
    xl_status status = XL_OK;
    struct xl__context *ctx = w->q->ctx;
    xl__lock_take(&ctx->selections_lock);
    const struct class_selection *known =
        (void *)xl__lru_find(&ctx->selections, key, bytes);
    if (known)
        status = copy_list(w, known);
    xl__lock_drop(&ctx->selections_lock);
    return status;
}

/* Another queue may have added it, too. Without memory it is selected again by
 * the next call. */
static void keep_selection(const struct xl__op_call *w,
                           const struct class_key *key, size_t bytes)
{
    struct xl__context *ctx = w->q->ctx;
    struct class_selection *made =
        xl__calloc(1, sizeof *made + w->n * sizeof *made->list);
    if (!made)
        return;
    made->n = w->n;
    made->rival = w->rival;
    memcpy(made->list, w->list, w->n * sizeof *w->list);
    xl__lock_take(&ctx->selections_lock);
    if (xl__lru_find(&ctx->selections, key, bytes) ||
        !xl__lru_add(&ctx->selections, &made->entry, key, bytes,
                     &selection_kind))
        free(made);
    xl__lock_drop(&ctx->selections_lock);
}

static bool is_modelled(const struct xl__variant_candidate *c)
{
    return !c->tuned && !c->refused;
}

/* The params of the least sizes, and the variant that is first there. */
static void merge_least(struct xl__op_call *w,
                        const struct xl__variant_candidate *least, unsigned n)
{
    for (unsigned i = 0; i < w->n; i++) {
        struct xl__variant_candidate *to = &w->list[i];
        for (unsigned k = 0; k < n && is_modelled(to); k++) {
            const struct xl__variant_candidate *from = &least[k];
            if (from->variant != to->variant || !is_modelled(from))
                continue;
            to->least = from->params;
            to->has_least =
                !xl__params_same(to->variant, &to->params, &to->least);
            if (k == 0 && is_modelled(&w->list[0]) && !w->list[0].audition)
                w->rival = i;
        }
    }
}

static xl_status select_class(struct xl__op_call *w, struct class_key *key)
{
    xl_status status = XL_OK;
    const struct xl__op_key *largest = key_of_largest(key);
    const size_t bytes = xl__op_call_canonical_bytes(w);
    void *small = xl__calloc(1, bytes);
    struct xl__variant_candidate *least = NULL;
    unsigned n = 0;
    struct xl__selecting what = {.lib = w->q->ctx->lib,
                                 .dev = w->q->ctx->device,
                                 .op = w->op,
                                 .canonical = largest->canonical,
                                 .tuned_for = w->key->canonical,
                                 .forced = xl__op_call_forced(w),
                                 .audition = w->audition};
    TRY(xl__check_alloc(&w->q->error, small, "a class"));
    TRY(xl__select(&what, &w->list, &w->n, &w->q->error));
    w->rival = 0;
    w->op->represent(w->key->canonical, XL__CLASS_LEAST, small);
    what.canonical = small;
    if (memcmp(small, largest->canonical, bytes))
        TRY(xl__select(&what, &least, &n, &w->q->error));
    merge_least(w, least, n);
    for (unsigned i = 0; i < w->n; i++) {
        xl__plan_destroy(w->list[i].plan); /* of other sizes */
        w->list[i].plan = NULL;
    }
fail:
    xl__variant_candidates_free(least, n);
    free(small);
    return status;
}

xl_status xl__op_call_select(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const size_t bytes = offsetof(struct class_key, op) + w->key_bytes;
    struct class_key *key = NULL;
    if (w->op->analyse) {
        TRY(w->op->analyse(w));
        return xl__op_call_select_exact(w);
    }
    xl__op_call_recall(w);
    key = xl__calloc(1, bytes);
    TRY(xl__check_alloc(&w->q->error, key, "a class"));
    TRY(make_key(w, key, &w->q->error));
    w->is_of_class = true;
    TRY(find_selection(w, key, bytes));
    if (!w->list) {
        TRY(select_class(w, key));
        keep_selection(w, key, bytes);
    }
fail:
    free(key);
    return status;
}

xl_status xl__op_call_plan_first(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &w->q->ctx->device->limits;
    struct xl__variant_candidate *first = w->list, *rival = first + w->rival;
    if (w->n == 0 || first->refused)
        return XL_UNSUPPORTED;
    TRY(xl__variant_candidate_plan(l, w->key->canonical, first, &w->q->error));
    if (rival == first)
        return XL_OK;
    status =
        xl__variant_candidate_plan(l, w->key->canonical, rival, &w->q->error);
    if (status == XL_OK && rival->plan->est_ns < first->plan->est_ns) {
        const struct xl__variant_candidate better = *rival;
        memmove(first + 1, first, w->rival * sizeof *first);
        *first = better;
    }
    status = status == XL_UNSUPPORTED ? XL_OK : status;
fail:
    return status;
}

/* -- another tile --------------------------------------------------------- */

/* Adds the tile, by the names of its first two tunables, and the first line of
 * the reason to the candidate. False: it may have no other. */
static bool add_refused(struct xl__variant_candidate *c, const char *why)
{
    const struct xl__tunable *t = c->variant->tunables;
    const int *tile = c->params.value;
    const size_t len = strlen(c->note);
    if (c->tuned || !c->variant->choose || xl__params_count(c->variant) < 2 ||
        c->tiles.n == XL__MOST_REFUSED)
        return false;
    memcpy(c->tiles.tile[c->tiles.n++], tile, sizeof c->tiles.tile[0]);
    xl__strfmt(c->note + len, sizeof c->note - len, "%s%s=%d %s=%d: %.*s",
               len > 0 ? "; " : "", t[0].name, tile[0], t[1].name, tile[1],
               (int)strcspn(why, "\r\n"), why);
    return true;
}

/* Chooses for the call, or for both ends of its class. */
static xl_status choose_others(const struct xl__op_call *w,
                               struct xl__variant_candidate *c)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &w->q->ctx->device->limits;
    const struct xl__variant *v = c->variant;
    void *end = xl__calloc(1, xl__op_call_canonical_bytes(w));
    TRY(end ? XL_OK : XL_NO_MEMORY);
    c->has_least = false;
    memcpy(end, w->key->canonical, xl__op_call_canonical_bytes(w));
    if (w->is_of_class)
        w->op->represent(w->key->canonical, XL__CLASS_LARGEST, end);
    TRY(xl__variant_choose_other(l, end, v, &c->tiles, &c->params));
    if (w->is_of_class) {
        w->op->represent(w->key->canonical, XL__CLASS_LEAST, end);
        c->has_least = xl__variant_choose_other(l, end, v, &c->tiles,
                                                &c->least) == XL_OK &&
                       !xl__params_same(v, &c->params, &c->least);
    }
fail:
    free(end);
    return status;
}

/* For the calls of the class that follow. Without memory they choose again. */
static void keep_tiles(const struct xl__op_call *w,
                       const struct xl__variant_candidate *c)
{
    struct xl__context *ctx = w->q->ctx;
    const size_t bytes = offsetof(struct class_key, op) + w->key_bytes;
    struct class_key *key = xl__calloc(1, bytes);
    if (!key || make_key(w, key, NULL) != XL_OK)
        goto done;
    xl__lock_take(&ctx->selections_lock);
    struct class_selection *known =
        (void *)xl__lru_find(&ctx->selections, key, bytes);
    for (unsigned i = 0; known && i < known->n; i++) {
        struct xl__variant_candidate *to = &known->list[i];
        if (to->rank != c->rank || to->tuned)
            continue;
        *to = *c;
        to->plan = NULL;
    }
    xl__lock_drop(&ctx->selections_lock);
done:
    free(key);
}

xl_status xl__op_call_retile(const struct xl__op_call *w, const char *why,
                             struct xl__variant_candidate *c)
{
    xl_status status = XL_OK;
    struct xl__variant_candidate other = *c;
    other.plan = NULL;
    TRY(add_refused(&other, why) ? XL_OK : XL_UNSUPPORTED);
    TRY(choose_others(w, &other));
    TRY(xl__variant_candidate_plan(&w->q->ctx->device->limits,
                                   w->key->canonical, &other, NULL));
    xl__plan_destroy(c->plan);
    *c = other;
    if (w->is_of_class)
        keep_tiles(w, c);
fail:
    return status;
}
