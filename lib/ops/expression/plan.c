/* SPDX-License-Identifier: Apache-2.0 */
/* Planning a call whose key is not in the cache.
 *
 *     tree + signature -> graph -> schedule of each variant (fused, unfused)
 *     -> by estimate, best first: build each group, self-check its programs
 *     -> the first variant without a failure is the plan
 *
 * A variant with a group that cannot be built or gives wrong results is
 * rejected with a warning, and the next one is tried. */
#include "ops/expression/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/device.h"
#include "expr/codegen/forms.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/group.h"
#include "expr/graph/infer.h"
#include "expr/graph/variance.h"
#include "ops/expression/arguments.h"
#include "ops/expression/canonical_group.h"
#include "ops/expression/selfcheck.h"
#include "runtime/context.h"

const char *const xl__expr_variants[] = {"expr_fused", "expr_unfused", NULL};

static const struct xl__limits *device_limits(const struct xl__expr_call *c)
{
    return &c->q->ctx->device->limits;
}

static bool is_named(const struct xl__expr_call *c, const char *name)
{
    return !c->key.variant[0] || strcmp(c->key.variant, name) == 0;
}

/* -- planning --------------------------------------------------------- */

static xl_status check_variant(const struct xl__expr_call *c)
{
    for (unsigned i = 0; i < XL__EXPR_VARIANTS; i++) {
        if (is_named(c, xl__expr_variants[i]))
            return XL_OK;
    }
    return xl__error_set(&c->q->error, XL_BAD_ARGUMENT,
                         "expressions have no variant \"%s\"; they have %s "
                         "and %s",
                         c->key.variant, xl__expr_variants[0],
                         xl__expr_variants[1]);
}

/* Schedule one variant. A variant that does not fit is refused, which is not
 * an error. */
static xl_status schedule_variant(struct xl__expr_call *c,
                                  struct xl__expr_candidate *to,
                                  bool is_unfused)
{
    struct xl__error e = {0};
    xl_status status = XL_OK;
    to->is_refused = true;
    if (!is_named(c, to->name)) {
        xl__strcpy(to->why, sizeof to->why,
                   "the caller named another variant");
        return XL_OK;
    }
    status = xl__fuse(&to->g, &c->key.sig, device_limits(c), is_unfused,
                      &to->s, &e);
    if (status == XL_OK && to->s.n_groups == 0)
        status =
            xl__error_set(&e, XL_BAD_ARGUMENT, "no bound name is assigned");
    to->is_refused = status != XL_OK;
    if (status == XL_UNSUPPORTED) {
        xl__strcpy(to->why, sizeof to->why, xl__str_text(&e.detail));
        status = XL_OK;
    } else if (status != XL_OK) {
        xl__error_set(&c->q->error, status, "%s: %s", to->name,
                      xl__str_text(&e.detail));
    }
    xl__error_clear(&e);
    return status;
}

static bool is_better(const struct xl__expr_candidate *a,
                      const struct xl__expr_candidate *b)
{
    if (a->is_refused != b->is_refused)
        return b->is_refused;
    return !a->is_refused && a->s.est_ns < b->s.est_ns;
}

xl_status xl__expr_plan_variants(struct xl__expr_call *c,
                                 struct xl__expr_candidates *out)
{
    xl_status status = XL_OK;
    struct xl__expr_candidate *v = out->c;
    struct xl__graph g = {0};
    memset(out, 0, sizeof *out);
    TRY(check_variant(c));
    TRY(xl__expr_check_key(c));
    TRY(xl__infer(&c->e->tree, &c->key.sig, &g, &c->q->error));
    status = xl__graph_lower_variance(&g, device_limits(c), &v[0].g);
    if (status == XL_OK)
        status = xl__graph_lower_variance(&g, NULL, &v[1].g);
    if (status != XL_OK)
        TRY(xl__error_set(&c->q->error, status, "an expression's graph"));
    out->n = XL__EXPR_VARIANTS;
    for (unsigned i = 0; i < out->n; i++) {
        v[i].name = xl__expr_variants[i];
        TRY(schedule_variant(c, &v[i], i > 0));
    }
    if (is_better(&v[1], &v[0])) {
        const struct xl__expr_candidate first = v[0];
        v[0] = v[1];
        v[1] = first;
    }
fail:
    xl__graph_clear(&g);
    return status;
}

void xl__expr_candidates_clear(struct xl__expr_candidates *p)
{
    for (unsigned i = 0; i < XL__EXPR_VARIANTS; i++) {
        xl__schedule_clear(&p->c[i].s);
        xl__graph_clear(&p->c[i].g);
    }
}

/* -- building --------------------------------------------------------- */

/* The kernel texts are freed after the build; the plan keeps no pointer to
 * them. */
static void clear_texts(struct xl__plan *plan)
{
    for (unsigned i = 0; i < plan->n_steps; i++)
        plan->step[i].text = NULL;
}

/* Build and check one group; XL_UNTRUSTED when its results are wrong. */
static xl_status build_group(struct xl__expr_call *c,
                             const struct xl__expr_candidate *v, unsigned i,
                             struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    const struct xl__group *group = &v->s.group[i];
    struct xl__code code = {0};
    struct xl__canonical_group own = {0};
    bool is_trusted = false;
    char why[XL__EXPR_WHY] = "";
    struct xl__cached_plan *ready = NULL;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    if (!plan)
        TRY(xl__error_set(&c->q->error, XL_NO_MEMORY, "a plan"));
    status = xl__canonical_group_init(&v->g, group, &own);
    if (status == XL_OK)
        status = xl__group_plan(&own.g, device_limits(c), &own.group, &v->s,
                                &code, plan);
    if (status != XL_OK)
        TRY(xl__error_set(&c->q->error, status,
                          "kernel %u does not fit this device: %s", i + 1,
                          xl__str_text(&group->why)));
    plan->flop = group->flop;
    plan->bytes = group->bytes;
    plan->est_ns = group->est_ns;
    plan->bound = group->bound;
    *out = ready = xl__cached_plan_create(plan);
    if (!ready)
        TRY(xl__error_set(&c->q->error, XL_NO_MEMORY, "a plan"));
    TRY(xl__cached_plan_build(c->q, ready));
    TRY(xl__expr_selfcheck(c, &own, &v->s, ready, &is_trusted, why));
    if (!is_trusted)
        TRY(xl__error_set(&c->q->error, XL_UNTRUSTED, "kernel %u: %s", i + 1,
                          why));
fail:
    if (ready)
        clear_texts(&ready->plan);
    free(plan);
    xl__canonical_group_clear(&own);
    xl__code_clear(&code);
    return status;
}

static xl_status build_groups(struct xl__expr_call *c,
                              const struct xl__expr_candidate *v,
                              struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *first = NULL, **end = &first;
    for (unsigned i = 0; i < v->s.n_groups; i++) {
        status = build_group(c, v, i, end);
        if (status != XL_OK)
            goto fail;
        end = &(*end)->next;
    }
    first->plan.scratch_bytes = v->s.scratch_bytes;
    first->variant = v->name;
    *out = first;
    return XL_OK;
fail:
    xl__cached_plan_destroy(first);
    return status;
}

/* -- choosing a candidate --------------------------------------------- */

static bool is_last(const struct xl__expr_candidates *p, unsigned i)
{
    return i + 1 == p->n || p->c[i + 1].is_refused;
}

static void reject_candidate(struct xl__expr_call *c,
                             struct xl__expr_candidates *p, unsigned i)
{
    const char *why = xl__str_text(&c->q->error.detail);
    xl__strcpy(p->c[i].why, XL__EXPR_WHY, why);
    xl__log_message(c->q->ctx->lib, XL_LOG_WARNING,
                    "%s cannot be used on %s%s: %s", p->c[i].name,
                    xl__text(device_limits(c), XL__F_name),
                    is_last(p, i) ? "" : ", the next variant is tried", why);
}

static xl_status fail_refused(struct xl__expr_call *c,
                              const struct xl__expr_candidates *p)
{
    unsigned i = 0;
    while (i + 1 < p->n && !is_named(c, p->c[i].name))
        i++;
    return xl__error_set(&c->q->error, XL_UNSUPPORTED, "%s: %s", p->c[i].name,
                         p->c[i].why);
}

/* When all fail, the first error is returned, since it is that of the best
 * variant. */
xl_status xl__expr_build_first(struct xl__expr_call *c,
                               struct xl__expr_candidates *p,
                               struct xl__cached_plan **out, unsigned *chosen)
{
    xl_status status = XL_OK;
    struct xl__error first = {0}, *e = &c->q->error;
    if (p->c[0].is_refused)
        return fail_refused(c, p);
    for (unsigned i = 0; i < p->n && !p->c[i].is_refused; i++) {
        status = build_groups(c, &p->c[i], out);
        *chosen = i;
        if (status == XL_OK)
            break;
        reject_candidate(c, p, i);
        xl__error_set(&first, status, "%s: %s", p->c[i].name,
                      xl__str_text(&e->detail));
        p->is_provisional |= !xl__is_verdict(status);
        if (status == XL_NO_MEMORY || is_last(p, i))
            break;
        xl__error_reset(e);
    }
    if (status != XL_OK) {
        xl__error_reset(e);
        status =
            xl__error_set(e, first.status, "%s", xl__str_text(&first.detail));
    }
    xl__error_clear(&first);
    return status;
}

static xl_status build_plan(struct xl__expr_call *c,
                            struct xl__cached_plan **out)
{
    xl_status status = XL_OK;
    struct xl__expr_candidates *p = xl__calloc(1, sizeof *p);
    struct xl__cached_plan *ready = NULL;
    unsigned chosen;
    if (!p)
        return xl__error_set(&c->q->error, XL_NO_MEMORY, "a plan");
    TRY(xl__expr_plan_variants(c, p));
    TRY(xl__expr_build_first(c, p, &ready, &chosen));
    TRY(xl__plan_cache_add(c->q, ready, p->is_provisional, &c->key,
                           c->key_bytes));
    *out = ready;
    ready = NULL;
fail:
    xl__cached_plan_destroy(ready);
    xl__expr_candidates_clear(p);
    free(p);
    return status;
}

xl_status xl__expr_find_plan(struct xl__expr_call *c,
                             struct xl__cached_plan **out)
{
    *out = xl__plan_cache_find(c->q, &c->key, c->key_bytes);
    return *out ? XL_OK : build_plan(c, out);
}
