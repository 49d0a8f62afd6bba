/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a variant.
 *
 *     tree + signature -> graph          once for a call
 *     -> schedule (fused or unfused) -> a plan for each group
 *
 * The unfused variant is there for what the fused one cannot do: it has more
 * launches and more traffic for the same work. */
#include <stdlib.h>

#include "base/alloc.h"
#include "device/device.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/infer.h"
#include "expr/graph/variance.h"
#include "expr/graph/views.h"
#include "ops/expression/expression.h"
#include "runtime/context.h"

static const struct xl__variant fused = {
    .name = "expr_fused", .repeats = "bit for bit on one device and driver"};
static const struct xl__variant unfused = {
    .name = "expr_unfused", .repeats = "bit for bit on one device and driver"};

const struct xl__variant *const xl__expr_variants[] = {&fused, &unfused, NULL};

/* -- the graph -------------------------------------------------------- */

xl_status xl__expr_analyse(struct xl__op_call *w)
{
    xl_status status = XL_OK;
    const struct xl__expr_desc *d = w->desc;
    const struct xl__expr_canonical *key = (void *)w->key->canonical;
    struct xl__graph *g = w->own = xl__calloc(1, sizeof *g);
    TRY(xl__check_alloc(&w->q->error, g, "a graph"));
    TRY(xl__expr_check_signature(w->q, &key->sig));
    TRY(xl__infer(&d->e->tree, &key->sig, g, &w->q->error));
    if (g->is_double && !xl__is(&w->q->ctx->device->limits, XL__F_has_f64))
        TRY(xl__error_set(&w->q->error, XL_UNSUPPORTED,
                          "an operand or a cast is f64, and the device has no "
                          "f64 (cl_khr_fp64): bind f32"));
    if (d->e->tree.n_statements == 0)
        TRY(xl__error_set(&w->q->error, XL_BAD_ARGUMENT,
                          "no bound name is assigned"));
fail:
    return status;
}

void xl__expr_clear_analysis(void *own)
{
    xl__graph_clear(own);
    free(own);
}

/* The graph with its views and variances in the form that suits the device.
 */
static xl_status lower_graph(const struct xl__graph *from,
                             const struct xl__signature *sig,
                             const struct xl__limits *l, struct xl__graph *out,
                             struct xl__str *why)
{
    xl_status status = XL_OK;
    struct xl__graph own = {0};
    if (xl__graph_has_views(from)) {
        TRY(xl__graph_lower_views(from, sig, l, &own, why));
        from = &own;
    }
    TRY(xl__graph_lower_variance(from, l, out));
fail:
    xl__graph_clear(&own);
    return status;
}

/* -- a variant -------------------------------------------------------- */

static void clear_schedule(void *own)
{
    struct xl__expr_schedule *x = own;
    for (unsigned i = 0; x->kernels && i < x->s.n_groups; i++) {
        xl__canonical_group_clear(&x->kernels[i].own);
        xl__code_clear(&x->kernels[i].code);
    }
    free(x->kernels);
    xl__schedule_clear(&x->s);
    xl__graph_clear(&x->g);
    free(x);
}

/* A plan with room for the steps of a group; NULL: out of memory. */
static struct xl__plan *new_plan(const struct xl__group *group)
{
    const size_t n =
        group->form == XL__FORM_CHUNKS || group->geo.chunks > 1 ? 2 : 1;
    return xl__calloc(1, offsetof(struct xl__plan, step) +
                             n * sizeof(struct xl__step));
}

static xl_status plan_group(xl_queue *q, const struct xl__expr_schedule *x,
                            unsigned i, struct xl__plan *plan,
                            struct xl__error *why)
{
    const struct xl__group *group = &x->s.group[i];
    struct xl__generated_group *k = &x->kernels[i];
    xl_status status = xl__canonical_group_init(&x->g, group, &k->own);
    if (status == XL_OK)
        status =
            xl__expr_plan_group(&q->texts, &k->own, &q->ctx->device->limits,
                                &x->s, &k->code, plan);
    plan->flop = group->flop;
    plan->bytes = group->bytes;
    plan->est_ns = group->est_ns;
    plan->bound = group->bound;
    if (status == XL_OK)
        return XL_OK;
    struct xl__str what = {0};
    xl__group_explain(group, &what);
    xl__error_set(why, status, "kernel %u does not fit this device: %s", i + 1,
                  xl__str_text(&what));
    xl__str_clear(&what);
    return status;
}

/* A plan for each group, behind *first. Without a group, since no result has
 * elements, one without a step. */
static xl_status plan_groups(xl_queue *q, struct xl__expr_schedule *x,
                             struct xl__plan **first, struct xl__error *why)
{
    xl_status status = XL_OK;
    if (x->s.n_groups == 0) {
        *first = xl__calloc(1, sizeof **first);
        return xl__check_alloc(why, *first, "a plan");
    }
    x->kernels = xl__calloc(x->s.n_groups, sizeof *x->kernels);
    TRY(xl__check_alloc(why, x->kernels, "kernels"));
    for (unsigned i = 0; i < x->s.n_groups; i++) {
        *first = new_plan(&x->s.group[i]);
        TRY(xl__check_alloc(why, *first, "a plan"));
        TRY(plan_group(q, x, i, *first, why));
        first = &(*first)->next;
    }
fail:
    return status;
}

xl_status xl__expr_plan(struct xl__op_call *w, struct xl__variant_candidate *c,
                        struct xl__error *why)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &w->q->ctx->device->limits;
    const struct xl__expr_canonical *key = (void *)w->key->canonical;
    const bool is_unfused = c->variant == &unfused;
    struct xl__plan *plan = NULL;
    struct xl__str views = {0};
    struct xl__expr_schedule *x = xl__calloc(1, sizeof *x);
    TRY(xl__check_alloc(why, x, "a schedule"));
    status =
        lower_graph(w->own, &key->sig, is_unfused ? NULL : l, &x->g, &views);
    if (status != XL_OK)
        TRY(xl__error_set(why, status, "an expression's graph"));
    TRY(xl__fuse(&x->g, &key->sig, l, is_unfused, &x->s, why));
    if (x->s.n_groups > 0)
        xl__str_add(&x->s.group[0].why, xl__str_text(&views));
    xl__str_clear(&views);
    TRY(plan_groups(w->q, x, &plan, why));
    plan->own = x;
    plan->clear_own = clear_schedule;
    plan->scratch_bytes = x->s.scratch_bytes;
    c->plan = plan;
    return XL_OK;
fail:
    xl__str_clear(&views);
    xl__plan_destroy(plan);
    if (x)
        clear_schedule(x);
    return status;
}
