/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check of a group's programs on a driver.
 *
 * On first use of a program on a driver, a small case of the same structure
 * (selfcheck_case.h) runs with it on a private queue of the same context, and
 * its results are compared with those of the host. The result is stored with
 * the program, so that each program is checked once. */
#include "ops/expression/selfcheck.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "expr/codegen/forms.h"
#include "ops/expression/selfcheck_case.h"
#include "runtime/buffer.h"
#include "runtime/context.h"
#include "runtime/program.h"

/* One run of the self-check. */
struct selfcheck_run {
    xl_queue *q; /* a private queue */
    const struct xl__signature *sig;
    const struct xl__cached_plan
        *target;                   /* the plan whose programs are checked */
    struct xl__cached_plan *ready; /* the plan of the case */
    struct xl__code code;
    struct xl__call call;
    cl_mem own[XL__MAX_MEMS];
    struct xl__selfcheck_case data;
};

/* Do the steps of the case use the programs that are to be checked? */
static bool has_same_programs(const struct selfcheck_run *r)
{
    const unsigned n = r->target->plan.n_steps;
    for (unsigned i = 0; i < n; i++) {
        if (i >= r->ready->plan.n_steps ||
            r->ready->program[i] != r->target->program[i])
            return false;
    }
    return n == r->ready->plan.n_steps;
}

static xl_status plan_case(struct selfcheck_run *r)
{
    xl_status status = XL_OK;
    struct xl__error *e = &r->q->error;
    struct xl__selfcheck_case *t = &r->data;
    r->ready = xl__calloc(1, sizeof *r->ready);
    if (!r->ready)
        TRY(xl__error_set(e, XL_NO_MEMORY, "a plan"));
    status = xl__group_plan(t->g, &r->q->ctx->device->limits, &t->group, &t->s,
                            &r->code, &r->ready->plan);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "the self-check case has no plan"));
    r->ready->plan.scratch_bytes = t->s.scratch_bytes;
    TRY(xl__cached_plan_build(r->q, r->ready));
    if (!has_same_programs(r))
        TRY(xl__error_set(e, XL_UNSUPPORTED,
                          "the self-check case uses another program"));
fail:
    return status;
}

static xl_status create_buffers(struct selfcheck_run *r)
{
    xl_status status = XL_OK;
    const struct xl__selfcheck_case *t = &r->data;
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] > 0)
            TRY(xl_buffer_create(r->q, t->bytes[i], &r->own[i]));
    }
    r->call.mem[XL__MEM_SCRATCH].buf = r->own[XL__MEM_SCRATCH];
    for (unsigned i = 0; i < r->sig->n; i++) {
        r->call.mem[1 + i].buf = r->own[1 + r->sig->b[i].same_as];
        if (r->sig->b[i].is_scalar)
            r->call.value[1 + i].f = t->scalar[i];
    }
fail:
    return status;
}

static xl_status run_pass(struct selfcheck_run *r,
                          enum xl__selfcheck_pass pass)
{
    xl_status status = XL_OK;
    struct xl__selfcheck_case *t = &r->data;
    status = xl__selfcheck_case_fill(t, pass);
    if (status != XL_OK)
        TRY(xl__error_set(&r->q->error, status, "no data"));
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] > 0)
            TRY(xl_buffer_write(r->q, r->own[i], 0, t->before[i],
                                t->bytes[i]));
    }
    TRY(xl__launch(r->q, r->ready, &r->call, NULL));
    TRY(xl_queue_finish(r->q));
    for (unsigned i = 0; i < XL__MAX_MEMS; i++) {
        if (t->bytes[i] > 0)
            TRY(xl_buffer_read(r->q, r->own[i], 0, t->after[i], t->bytes[i]));
    }
fail:
    return status;
}

static void free_run(struct selfcheck_run *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < XL__MAX_MEMS; i++)
        xl__buffer_release(r->own[i]);
    if (r->ready)
        xl__cached_plan_clear(r->ready);
    free(r->ready);
    xl__code_clear(&r->code);
    xl__selfcheck_case_clear(&r->data);
    xl_queue_destroy(r->q);
    free(r);
}

/* -- result ----------------------------------------------------------- */

/* Runs all passes, until one is wrong, and stores the verdict. */
static xl_status check_programs(struct selfcheck_run *r,
                                struct xl__context *ctx, bool *trusted,
                                char why[XL__EXPR_WHY])
{
    xl_status status = XL_OK;
    struct xl__str message = {0};
    TRY(plan_case(r));
    TRY(create_buffers(r));
    *trusted = true;
    for (unsigned pass = 0; pass < XL__N_PASSES && *trusted; pass++) {
        TRY(run_pass(r, pass));
        *trusted = xl__selfcheck_case_compare(&r->data, pass, why);
    }
    if (!*trusted)
        xl__str_printf(&message, "%s: %s", r->target->plan.step[0].kernel,
                       why);
    xl__cached_plan_set_trust(ctx, r->target, *trusted,
                              xl__str_text(&message));
fail:
    xl__str_clear(&message);
    return status;
}

xl_status xl__expr_selfcheck(struct xl__expr_call *c,
                             const struct xl__canonical_group *l,
                             const struct xl__schedule *s,
                             const struct xl__cached_plan *ready,
                             bool *trusted, char why[XL__EXPR_WHY])
{
    xl_status status = XL_OK;
    struct xl__error *e = &c->q->error;
    *trusted = c->q->ctx->lib->skip_selfcheck;
    if (*trusted)
        return XL_OK;
    const enum xl__trust trust = xl__cached_plan_begin_check(c->q->ctx, ready);
    *trusted = trust == XL__PASSED;
    if (*trusted)
        return XL_OK;
    if (trust == XL__FAILED) {
        xl__strcpy(why, XL__EXPR_WHY,
                   "gave wrong results on this driver before");
        return XL_OK;
    }
    struct selfcheck_run *r = xl__calloc(1, sizeof *r);
    if (!r)
        TRY(xl__error_set(e, XL_NO_MEMORY, "a self-check"));
    r->sig = &c->key.sig;
    r->target = ready;
    status = xl_queue_create_beside(c->q, &r->q);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "self-check: cannot create a queue: %s",
                          xl_status_name(status)));
    status = xl__selfcheck_case_init(&r->data, l, s, r->sig);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "self-check: no data"));
    status = check_programs(r, c->q->ctx, trusted, why);
    if (status != XL_OK)
        xl__error_set(e, status, "self-check of %s: %s",
                      ready->plan.step[0].kernel, xl_error_detail(r->q));
fail:
    xl__cached_plan_end_check(c->q->ctx, ready);
    free_run(r);
    return status;
}
