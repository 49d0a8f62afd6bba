/* SPDX-License-Identifier: Apache-2.0 */
/* xl_expr_kernels(): every kernel of the best variant. */
#include "ops/expression/expression.h"

#include "expr/graph/print.h"
#include "runtime/context.h"
#include "runtime/store/sources.h"

/* Print what the group writes: "y = (x - mean) * rstd; t3 = ...". */
static void print_results(const struct xl__signature *sig,
                          const struct xl__graph *g,
                          const struct xl__group *group, struct xl__str *out)
{
    for (unsigned i = 0; i < group->n_operands; i++) {
        const struct xl__operand *o = &group->operand[i];
        if (!o->is_written)
            continue;
        xl__str_add(out, out->len > 0 ? "; " : "");
        if (o->at == XL__AT_BINDING)
            xl__str_printf(out, "%s = ", sig->b[o->index].name);
        else
            xl__str_printf(out, "t%u = ", o->index);
        xl__graph_print(g, sig, o->node, out);
    }
}

/* Report a group's kernels. Flop and bytes are those of its first kernel; a
 * second kernel, which joins chunks, reads what the first has left in scratch.
 */
static void report_kernels(const struct xl__group *group,
                           const struct xl__code *code,
                           const struct xl__plan *plan, const char *computes,
                           const char *why,
                           void (*each)(const xl_expr_kernel *, void *),
                           void *arg)
{
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *s = &plan->step[i];
        xl_expr_kernel k = {.name = s->kernel,
                            .computes = computes,
                            .why = why,
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

static xl_status report_group(const struct xl__op_call *w,
                              const struct xl__plan *plan,
                              const struct xl__expr_schedule *x, unsigned i,
                              void (*each)(const xl_expr_kernel *, void *),
                              void *arg)
{
    xl_status status = XL_OK;
    const struct xl__expr_canonical *key = (void *)w->key->canonical;
    struct xl__str computes = {0}, why = {0};
    print_results(&key->sig, &x->g, &x->s.group[i], &computes);
    xl__group_explain(&x->s.group[i], &why);
    if (computes.broken || why.broken)
        TRY(xl__error_set(&w->q->error, XL_NO_MEMORY, "a kernel's text"));
    for (unsigned k = 0; k < plan->n_steps; k++)
        TRY(insert_kernel(w->q, &plan->step[k], &x->kernels[i].code.text[k]));
    report_kernels(&x->s.group[i], &x->kernels[i].code, plan,
                   xl__str_text(&computes), xl__str_text(&why), each, arg);
fail:
    xl__str_clear(&why);
    xl__str_clear(&computes);
    return status;
}

static xl_status plan_best(struct xl__op_call *w,
                           struct xl__variant_candidate **best)
{
    xl_status status = XL_OK;
    TRY(xl__op_call_select(w));
    *best = &w->list[0];
    status = xl__op_call_plan(w, *best);
    if (status == XL_UNSUPPORTED)
        xl__error_set(&w->q->error, status, "%s: %s", (*best)->variant->name,
                      (*best)->refused);
fail:
    return status;
}

xl_status xl_expr_kernels(xl_queue *q, const xl_expr *e,
                          const xl_expr_args *args,
                          void (*each)(const xl_expr_kernel *, void *),
                          void *arg)
{
    xl_status status = XL_OK;
    struct xl__op_call w;
    const struct xl__expr_desc desc = {e, args};
    struct xl__variant_candidate *best;
    unsigned i = 0;
    if (!q || !each)
        return XL_BAD_ARGUMENT;
    TRY(xl__op_call_begin(&w, q, &xl__op_expr, &desc, false));
    TRY(plan_best(&w, &best));
    for (const struct xl__plan *p = best->plan; p; p = p->next, i++)
        TRY(report_group(&w, p, best->plan->own, i, each, arg));
fail:
    xl__op_call_end(&w);
    return status;
}
