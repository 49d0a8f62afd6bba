/* SPDX-License-Identifier: Apache-2.0 */
/* Auditions: where the model's choice is in doubt, the best candidates for a
 * class of shapes are timed once. tune/audition.c, which is handed in, times
 * them; this file decides whether, and keeps the winner.
 *
 * The key of a class: the library's build, the device, its driver, the op, its
 * class of tuned sets, and whether CLBlast may be chosen. */
#include <string.h>

#include "base/str.h"
#include "ops/path/op.h"
#include "runtime/context.h"
#include "runtime/program.h"

/* Estimates within this factor do not tell which variant is faster. */
static const double model_error = 1.25;

static struct xl__auditions *auditions_of(const struct xl__op_call *w)
{
    return &w->q->ctx->lib->auditions;
}

static bool may_audition(const struct xl__op_call *w)
{
    return auditions_of(w)->when != XL_AUDITION_OFF && w->q->cl &&
           w->op->halve && !xl__op_call_forced(w);
}

static void make_key(const struct xl__op_call *w, struct xl__str *out)
{
    const struct xl__limits *l = &w->q->ctx->device->limits;
    xl__str_printf(out, "crosslane audition\n%s\n%s\n%s\n%s\n%s%s\n",
                   xl__build_hash, xl__text(l, XL__F_name),
                   xl__text(l, XL__F_platform), xl__text(l, XL__F_driver),
                   w->op->name, w->q->ctx->lib->use_clblast ? " CLBlast" : "");
    w->op->shape_class(w->key->canonical, out);
}

/* Whether other threads' auditions are waited for: not for one that is held in
 * the background. */
static bool may_wait(const struct xl__op_call *w)
{
    return auditions_of(w)->when != XL_AUDITION_BACKGROUND;
}

void xl__op_call_recall(struct xl__op_call *w)
{
    struct xl__str key = {0};
    bool is_pending = false;
    w->audition = NULL;
    if (!may_audition(w))
        return;
    make_key(w, &key);
    if (!key.broken)
        w->audition = xl__audition_find(auditions_of(w), xl__str_text(&key),
                                        may_wait(w), &is_pending);
    w->is_provisional |= is_pending;
    xl__str_clear(&key);
}

/* -- doubt ---------------------------------------------------------------- */

static bool has_profile(const struct xl__limits *l)
{
    for (int i = 0; i < XL__N_FACTS; i++) {
        if (l->used[i].source == XL_CALIBRATED)
            return true;
    }
    return false;
}

/* The estimate of a candidate for the call's own sizes; 0: it has none. */
static double estimate_ns(const struct xl__op_call *w,
                          const struct xl__variant_candidate *c)
{
    struct xl__variant_candidate own = *c;
    const xl_status status = xl__variant_candidate_plan(
        &w->q->ctx->device->limits, w->key->canonical, &own, NULL);
    const double ns = status == XL_OK ? xl__plan_est_ns(own.plan) : 0;
    if (status == XL_OK)
        xl__plan_destroy(own.plan);
    return ns;
}

static bool is_in_doubt(const struct xl__op_call *w)
{
    const struct xl__variant_candidate *first = w->list, *second = first + 1;
    if (w->audition || w->n < 2 || first->tuned || second->refused)
        return false;
    if (!has_profile(&w->q->ctx->device->limits))
        return true;
    const double x = estimate_ns(w, first), y = estimate_ns(w, second);
    return x < model_error * y && y < model_error * x;
}

/* -- the audition --------------------------------------------------------- */

static void hold_claimed(struct xl__op_call *w,
                         struct xl__audition_entry *claimed)
{
    struct xl__auditions *a = auditions_of(w);
    struct xl__audition_result result = {{0}, {0}, {0}};
    const xl_status status = a->hold(w, &result);
    if (status != XL_OK && status != XL_UNSUPPORTED)
        xl__log_message(w->q->ctx->lib, XL_LOG_WARNING,
                        "no audition of %s, the model chooses: %s%s%s",
                        w->op->name, xl_status_name(status),
                        *xl_error_detail(w->q) ? ": " : "",
                        xl_error_detail(w->q));
    xl__error_reset(&w->q->error);
    xl__audition_end(a, claimed, status == XL_OK ? &result : NULL);
}

/* One in the background, kept with the descriptor. */
struct kept_audition {
    const struct xl__op *op;
    struct xl__auditions *of;
    struct xl__audition_entry *claimed;
    uint64_t desc[XL__DESC_ROOM / sizeof(uint64_t)];
};

static xl_status hold_kept(xl_queue *q, void *what)
{
    xl_status status = XL_OK;
    struct kept_audition *k = what;
    struct xl__op_call w;
    TRY(xl__op_call_begin(&w, q, k->op, k->desc, false));
    TRY(xl__op_call_select(&w));
    hold_claimed(&w, k->claimed);
fail:
    xl__op_call_end(&w);
    xl__audition_end(k->of, k->claimed, NULL); /* where it was not held */
    return status;
}

static void end_cancelled(xl_status status, const char *detail, void *arg)
{
    const struct kept_audition *k = arg;
    (void)status;
    (void)detail;
    xl__audition_end(k->of, k->claimed, NULL);
}

static void start_kept(struct xl__op_call *w,
                       struct xl__audition_entry *claimed)
{
    struct xl__background_call c = {hold_kept, .done = end_cancelled};
    struct kept_audition k = {w->op, auditions_of(w), claimed, {0}};
    memcpy(k.desc, w->desc, w->op->descriptor.bytes);
    k.desc[0] = w->op->descriptor.bytes;
    w->op->keep(&c.kept, k.desc);
    c.what = c.arg = xl__keep(&c.kept, &k, sizeof k);
    if (xl__background_start(w->q, &c) != XL_OK) {
        xl__audition_end(k.of, claimed, NULL);
        xl__error_reset(&w->q->error);
    }
}

xl_status xl__op_call_audition(struct xl__op_call *w)
{
    struct xl__auditions *a = auditions_of(w);
    struct xl__str key = {0};
    if (!may_audition(w) || !is_in_doubt(w))
        return XL_OK;
    make_key(w, &key);
    struct xl__audition_entry *claimed =
        key.broken ? NULL : xl__audition_begin(a, xl__str_text(&key));
    xl__str_clear(&key);
    const bool is_later =
        a->when == XL_AUDITION_BACKGROUND && !w->q->is_background;
    if (claimed && is_later)
        start_kept(w, claimed);
    else if (claimed)
        hold_claimed(w, claimed);
    /* Another thread's may have ended since the candidates were selected. */
    xl__op_call_recall(w);
    if (!w->audition)
        return XL_OK;
    xl__variant_candidates_free(w->list, w->n);
    w->list = NULL;
    w->n = 0;
    return xl__op_call_select(w);
}
