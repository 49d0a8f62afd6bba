/* SPDX-License-Identifier: Apache-2.0 */
/* xl_expr_explain() and xl_expr_kernels(): the variants with their estimates
 * and reasons, and every kernel of the variant with the best estimate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "device/device.h"
#include "expr/codegen/forms.h"
#include "expr/graph/print.h"
#include "ops/expression/arguments.h"
#include "ops/expression/canonical_group.h"
#include "ops/expression/plan.h"
#include "runtime/context.h"
#include "runtime/store/sources.h"

static const double ns_per_us = 1e3;

/* -- variants --------------------------------------------------------- */

static void describe_reason(const struct xl__expr_call *call,
                            const struct xl__expr_candidates *p, unsigned i,
                            unsigned chosen, xl_choice *out)
{
    const struct xl__expr_candidate *c = &p->c[i];
    const size_t cap = sizeof out->why;
    if (c->why[0])
        xl__strcpy(out->why, cap, c->why);
    else if (i != chosen)
        xl__strfmt(out->why, cap,
                   "its estimate is %.2f times the chosen one's",
                   c->s.est_ns / p->c[chosen].s.est_ns);
    else if (call->key.variant[0])
        xl__strcpy(out->why, cap, "the caller named it");
    else
        xl__strfmt(out->why, cap, "the least estimate: %.1f us",
                   c->s.est_ns / ns_per_us);
}

/* The sizes of the step with the most work-items are reported. */
static void describe_steps(const struct xl__cached_plan *first, xl_choice *out)
{
    double max_items = -1;
    for (const struct xl__cached_plan *r = first; r; r = r->next) {
        out->n_steps += r->plan.n_steps;
        for (unsigned i = 0; i < r->plan.n_steps; i++) {
            const struct xl__step *s = &r->plan.step[i];
            double items = 1;
            for (unsigned d = 0; d < s->dims; d++)
                items *= (double)s->global[d];
            if (items <= max_items)
                continue;
            max_items = items;
            for (unsigned d = 0; d < 3; d++) {
                out->wg[d] = d < s->dims ? s->local[d] : 1;
                out->global[d] = d < s->dims ? s->global[d] : 1;
            }
            out->local_mem_bytes = s->local_mem_bytes;
        }
    }
}

/* What limits the group that takes longest. */
static const char *find_bound(const struct xl__schedule *s)
{
    const struct xl__group *slowest = &s->group[0];
    for (unsigned i = 1; i < s->n_groups; i++) {
        if (s->group[i].est_ns > slowest->est_ns)
            slowest = &s->group[i];
    }
    return slowest->bound ? slowest->bound : "";
}

static void describe_candidate(const struct xl__expr_candidate *c,
                               xl_choice *out)
{
    xl__strcpy(out->variant, sizeof out->variant, c->name);
    xl__strcpy(out->repeats, sizeof out->repeats,
               "bit for bit on one device and driver");
    out->est_ns = out->flop = out->bytes = (double)NAN;
    if (c->is_refused)
        return;
    out->est_ns = c->s.est_ns;
    out->flop = c->s.flop;
    out->bytes = c->s.bytes;
    out->n_steps = 0;
    for (unsigned i = 0; i < c->s.n_groups; i++) /* one more step joins chunks
                                                  */
        out->n_steps += c->s.group[i].partial_bytes > 0 ? 2 : 1;
    out->scratch_bytes = c->s.scratch_bytes;
    xl__strcpy(out->bound, sizeof out->bound, find_bound(&c->s));
}

static xl_status explain_variants(struct xl__expr_call *c,
                                  struct xl__expr_candidates *p,
                                  xl_choice *out, unsigned cap)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = NULL;
    unsigned chosen = 0;
    TRY(xl__expr_plan_variants(c, p));
    TRY(xl__expr_build_first(c, p, &ready, &chosen));
    for (unsigned i = 0; i < p->n && i < cap; i++) {
        memset(&out[i], 0, sizeof out[i]);
        describe_candidate(&p->c[i], &out[i]);
        describe_reason(c, p, i, chosen, &out[i]);
        if (i != chosen)
            continue;
        out[i].chosen = true;
        out[i].n_steps = 0;
        describe_steps(ready, &out[i]);
        TRY(xl__cached_plan_private_bytes(c->q, ready, &out[i].private_bytes));
    }
fail:
    if (ready)
        xl__cached_plan_clear(ready);
    free(ready);
    return status;
}

xl_status xl_expr_explain(xl_queue *q, const xl_expr *e,
                          const xl_expr_args *args, xl_choice *out,
                          unsigned cap, unsigned *n)
{
    if (!q || !n || (cap > 0 && !out))
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    struct xl__expr_call c = {.q = q, .e = e, .args = args};
    struct xl__expr_candidates *p = xl__calloc(1, sizeof *p);
    *n = 0;
    if (!p)
        return XL_NO_MEMORY;
    TRY(xl__expr_read_args(&c, false));
    TRY(explain_variants(&c, p, out, cap));
    *n = p->n;
fail:
    xl__expr_candidates_clear(p);
    free(p);
    return status;
}

/* -- kernels ---------------------------------------------------------- */

/* Print what the group writes: "y = (x - mean) * rstd; t3 = ...". */
static void print_results(const struct xl__expr_call *c,
                          const struct xl__graph *g,
                          const struct xl__group *group, struct xl__str *out)
{
    for (unsigned i = 0; i < group->n_operands; i++) {
        const struct xl__operand *o = &group->operand[i];
        if (!o->is_written)
            continue;
        xl__str_add(out, out->len > 0 ? "; " : "");
        if (o->at == XL__AT_BINDING)
            xl__str_printf(out, "%s = ", c->key.sig.b[o->index].name);
        else
            xl__str_printf(out, "t%u = ", o->index);
        xl__graph_print(g, &c->key.sig, o->node, out);
    }
}

/* Report a group's kernels. Flop and bytes are those of its first kernel; a
 * second kernel, which joins chunks, reads what the first has left in scratch.
 */
static void report_kernels(const struct xl__group *group,
                           const struct xl__code *code,
                           const struct xl__plan *plan, const char *computes,
                           void (*each)(const xl_expr_kernel *, void *),
                           void *arg)
{
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *s = &plan->step[i];
        xl_expr_kernel k = {.name = s->kernel,
                            .computes = computes,
                            .why = xl__str_text(&group->why),
                            .source = xl__str_text(&code->text[i])};
        k.flop = i == 0 ? group->flop : 0;
        k.bytes = i == 0 ? group->bytes : (double)group->partial_bytes;
        for (unsigned d = 0; d < 3; d++) {
            k.global[d] = d < s->dims ? s->global[d] : 1;
            k.wg[d] = d < s->dims ? s->local[d] : 1;
        }
        each(&k, arg);
    }
}

/* Replaces the #include of a kernel file, which the text of an element part
 * ends with, by that file. */
static xl_status insert_kernel(xl_queue *q, const struct xl__step *step,
                               struct xl__str *text)
{
    struct xl__str all = {0};
    const struct xl__kernel_source from = {.cl_dir = q->ctx->lib->cl_dir,
                                           .name = step->source,
                                           .text = xl__str_text(text),
                                           .keeps_headers = true};
    const xl_status status = xl__kernel_source_load(&from, &all, &q->error);
    xl__str_clear(status == XL_OK ? text : &all);
    if (status == XL_OK)
        *text = all;
    return status;
}

static xl_status report_group(const struct xl__expr_call *c,
                              const struct xl__expr_candidates *p,
                              const struct xl__group *group,
                              void (*each)(const xl_expr_kernel *, void *),
                              void *arg)
{
    xl_status status = XL_OK;
    struct xl__code code = {0};
    struct xl__canonical_group own = {0};
    struct xl__str computes = {0};
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    if (!plan)
        TRY(xl__error_set(&c->q->error, XL_NO_MEMORY, "a plan"));
    status = xl__canonical_group_init(&p->c[0].g, group, &own);
    if (status == XL_OK)
        status = xl__group_plan(&own.g, &c->q->ctx->device->limits, &own.group,
                                &p->c[0].s, &code, plan);
    if (status != XL_OK)
        TRY(xl__error_set(&c->q->error, status,
                          "a kernel does not fit this device: %s",
                          xl__str_text(&group->why)));
    print_results(c, &p->c[0].g, group, &computes);
    if (computes.broken)
        TRY(xl__error_set(&c->q->error, XL_NO_MEMORY, "a kernel's text"));
    for (unsigned i = 0; i < plan->n_steps; i++)
        TRY(insert_kernel(c->q, &plan->step[i], &code.text[i]));
    report_kernels(group, &code, plan, xl__str_text(&computes), each, arg);
fail:
    xl__str_clear(&computes);
    xl__canonical_group_clear(&own);
    xl__code_clear(&code);
    free(plan);
    return status;
}

xl_status xl_expr_kernels(xl_queue *q, const xl_expr *e,
                          const xl_expr_args *args,
                          void (*each)(const xl_expr_kernel *, void *),
                          void *arg)
{
    if (!q || !each)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    struct xl__expr_call c = {.q = q, .e = e, .args = args};
    struct xl__expr_candidates *p = xl__calloc(1, sizeof *p);
    if (!p)
        return XL_NO_MEMORY;
    TRY(xl__expr_read_args(&c, false));
    TRY(xl__expr_plan_variants(&c, p));
    if (p->c[0].is_refused)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED, "%s: %s", p->c[0].name,
                          p->c[0].why));
    for (unsigned i = 0; i < p->c[0].s.n_groups; i++)
        TRY(report_group(&c, p, &p->c[0].s.group[i], each, arg));
fail:
    xl__expr_candidates_clear(p);
    free(p);
    return status;
}
