/* SPDX-License-Identifier: Apache-2.0 */
/* Why a variant was chosen: the path of a call, with the state of every
 * candidate as text. */
#include "ops/path/op.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "device/time_model.h"
#include "ops/path/tunables.h"
#include "runtime/tuned/tuned_file.h"

#define NONE UINT_MAX /* chosen where no candidate can run */

static void name_tunables(const struct xl__variant_candidate *c, char *text,
                          size_t cap)
{
    text[0] = '\0';
    if (!c->plan || (xl__params_count(c->variant) == 0 && !c->tuned))
        return;
    xl__strfmt(text, cap,
               "%s: ", c->params.source ? c->params.source : "model");
    const size_t len = strlen(text);
    xl__params_text(c->variant, &c->params, text + len, cap - len);
}

/* The launch of the step that leads all so far. */
static void describe_steps(const struct xl__plan *plan,
                           const struct xl__step **lead, xl_choice *out)
{
    out->n_steps += plan->n_steps;
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *s = &plan->step[i];
        if (!xl__step_leads(s, *lead))
            continue;
        *lead = s;
        for (unsigned d = 0; d < 3; d++) {
            out->wg[d] = d < s->dims || s->local[0] == 0 ? s->local[d] : 1;
            out->global[d] = d < s->dims ? s->global[d] : 1;
        }
        out->local_mem_bytes = s->local_mem_bytes;
    }
}

/* A plan without a description of tiles has a launch. */
static void describe_launch(xl_choice *out)
{
    xl_tiling *t = &out->tiling;
    t->local_mem_bytes = out->local_mem_bytes;
    t->groups = t->wg_items = out->wg[0] > 0 ? 1 : 0;
    for (unsigned d = 0; d < 3 && t->groups > 0; d++) {
        t->groups *= out->global[d] / out->wg[d];
        t->wg_items *= out->wg[d];
    }
}

/* Of a tuned set: its date, its gain and whether it is stale. */
static void describe_evidence(const struct xl__variant_candidate *c, char *why,
                              size_t cap)
{
    const struct xl__tuned_set *t = c->tuned;
    struct xl__str text = {0};
    xl__str_printf(&text, "tuned %.10s", t->date);
    if (isfinite(t->gain))
        xl__str_printf(&text, ", %.3g times as fast as the model's choice",
                       t->gain);
    if (*c->note)
        xl__str_printf(&text, "; stale: %s", c->note);
    xl__strcpy(why, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The time of a call by a plan, as its caller sees it. What is the same for
 * every plan is no part of the estimates that are compared. */
static double call_ns(const struct xl__op_call *w, const struct xl__plan *plan)
{
    return xl__plan_est_ns(plan) + xl__alone_ns(&w->q->ctx->device->limits);
}

/* A class of shapes has one choice, which may not be the least at its ends. */
static const char *name_least(const struct xl__op_call *w, unsigned chosen)
{
    for (unsigned i = 0; i < w->n; i++) {
        const struct xl__plan *p = w->list[i].plan;
        if (p && xl__plan_est_ns(p) < xl__plan_est_ns(w->list[chosen].plan))
            return "the least estimate of its class of shapes";
    }
    return "the least estimate";
}

static void describe_reason(const struct xl__op_call *w, unsigned i,
                            unsigned chosen, xl_choice *out)
{
    static const double ns_per_us = 1e3;
    const struct xl__variant_candidate *c = &w->list[i];
    const size_t cap = sizeof out->why;
    if (c->refused)
        xl__strcpy(out->why, cap, c->refused);
    else if (c->struck)
        xl__strcpy(out->why, cap, c->struck);
    else if (chosen == NONE)
        xl__strcpy(out->why, cap, "it was not tried");
    else if (i != chosen && w->list[chosen].tuned)
        xl__strcpy(out->why, cap, "another was tuned for this class");
    else if (i != chosen && w->list[chosen].audition)
        xl__strcpy(out->why, cap,
                   "the audition of this class of shapes chose another");
    else if (i != chosen)
        xl__strfmt(
            out->why, cap, "its estimate is %.2f times the chosen one's",
            call_ns(w, c->plan) / call_ns(w, w->list[chosen].plan));
    else if (c->tuned)
        describe_evidence(c, out->why, cap);
    else if (c->audition)
        xl__strfmt(out->why, cap, "chosen by audition: %s (%.10s)",
                   c->audition->times, c->audition->date);
    else if (xl__op_call_forced(w))
        xl__strcpy(out->why, cap, "the caller named it");
    else
        xl__strfmt(out->why, cap, "%s: %.1f us", name_least(w, chosen),
                   call_ns(w, c->plan) / ns_per_us);
}

static void add_note(const char *what, const char *note, char *why, size_t cap)
{
    const size_t len = strlen(why);
    if (note)
        xl__strfmt(why + len, cap - len, "; %s%s", what, note);
}

/* The sums of a plan and those after it; what limits the slowest. */
static void describe_plans(const struct xl__plan *first, xl_choice *out)
{
    const struct xl__step *lead = NULL;
    double slowest = -1;
    out->flop = out->bytes = 0;
    out->scratch_bytes = first->scratch_bytes;
    for (const struct xl__plan *p = first; p; p = p->next) {
        out->flop += p->flop;
        out->bytes += p->bytes;
        describe_steps(p, &lead, out);
        if (p->est_ns <= slowest)
            continue;
        slowest = p->est_ns;
        xl__strcpy(out->bound, sizeof out->bound, p->bound ? p->bound : "");
    }
}

static void describe_candidate(const struct xl__op_call *w, unsigned i,
                               unsigned chosen, xl_choice *out)
{
    const struct xl__variant_candidate *c = &w->list[i];
    memset(out, 0, sizeof *out);
    xl__strcpy(out->variant, sizeof out->variant, c->variant->name);
    xl__strcpy(out->repeats, sizeof out->repeats,
               c->variant->repeats ? c->variant->repeats : "");
    out->chosen = i == chosen;
    out->est_ns = out->flop = out->bytes = (double)NAN;
    out->registers = out->spill_bytes = (double)NAN;
    out->on = c->variant->on;
    describe_reason(w, i, chosen, out);
    name_tunables(c, out->tunables, sizeof out->tunables);
    if (!c->plan)
        return;
    add_note("", c->plan->note, out->why, sizeof out->why);
    if (!c->tuned && *c->note)
        add_note("refused: ", c->note, out->why, sizeof out->why);
    describe_plans(c->plan, out);
    out->est_ns = call_ns(w, c->plan);
    describe_launch(out);
    if (c->plan->tiling.rows > 0)
        out->tiling = c->plan->tiling;
}

/* Candidates after the chosen one have no plan yet. */
static xl_status plan_others(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < w->n && status == XL_OK; i++) {
        struct xl__variant_candidate *c = &w->list[i];
        if (c->plan || c->refused)
            continue;
        status = xl__op_call_plan(w, c);
        status = status == XL_UNSUPPORTED ? XL_OK : status;
    }
    return status;
}

xl_status xl__op_explain(xl_queue *q, const struct xl__op *op,
                         const void *desc, xl_choice *out, unsigned cap,
                         unsigned *n)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    struct xl__cached_plan *ready = NULL;
    unsigned chosen = 0;
    if (!q || !n || (cap > 0 && !out))
        return XL_BAD_ARGUMENT;
    *n = 0;
    TRY(xl__op_call_begin(&w, q, op, desc, false));
    TRY(xl__op_call_select(&w));
    TRY(xl__op_call_audition(&w));
    status = xl__op_call_first_good(&w, &ready, &chosen);
    if (status != XL_OK)
        chosen = NONE;
    else
        TRY(plan_others(&w));
    for (unsigned i = 0; i < w.n && i < cap; i++)
        describe_candidate(&w, i, chosen, &out[i]);
    *n = w.n;
    if (chosen < cap) {
        struct xl__kernel_use use;
        TRY(xl__cached_plan_private_bytes(q, ready,
                                          &out[chosen].private_bytes));
        xl__cached_plan_use(q, ready, &use);
        out[chosen].registers = use.registers;
        out[chosen].spill_bytes = use.spill_bytes;
    }
fail:
    xl__cached_plan_destroy(ready);
    xl__op_call_end(&w);
    return status;
}
