/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check: a program that is new to a device and driver runs a small
 * case of odd sizes on a private queue of the same context, and the result is
 * compared with the host's in double. The verdict is kept with the program, so
 * that each program is checked once. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/op.h"
#include "ops/path/tunables.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "runtime/buffer.h"

enum { SMALL_CAP = 512, PARAMS_CAP = 256 };

/* One run of the case. */
struct run {
    xl_queue *q; /* private */
    const struct xl__op *op;
    const struct xl__variant_candidate *candidate;
    const struct xl__cached_plan *target; /* whose programs are tested */
    uint64_t small[SMALL_CAP / sizeof(uint64_t)];
    struct xl__op_case op_case;
    struct xl__cached_plan *ready; /* of the case */
};

/* Whether the steps of the case use the programs that are to be checked. */
static bool same_programs(const struct run *r)
{
    const unsigned n = r->target->plan.n_steps;
    for (unsigned i = 0; i < n; i++) {
        if (i >= r->ready->plan.n_steps ||
            r->ready->program[i] != r->target->program[i])
            return false;
    }
    return true;
}

static xl_status build_case(struct run *r, const void *canonical)
{
    xl_status status = XL_OK;
    const struct xl__variant_candidate *c = r->candidate;
    struct xl__error *e = &r->q->error;
    r->op->shrink(canonical, c->variant, &c->params, r->small);
    TRY(r->op->case_init(r->small, &r->op_case));
    r->ready = xl__calloc(1, sizeof *r->ready);
    if (!r->ready)
        TRY(xl__error_set(e, XL_NO_MEMORY, "a self-check"));
    status = c->variant->plan(&r->q->ctx->device->limits, r->small, &c->params,
                              &r->ready->plan);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "%s has no plan for its self-check",
                          c->variant->name));
    TRY(xl__cached_plan_build(r->q, r->ready));
    if (!same_programs(r))
        TRY(xl__error_set(e, XL_UNSUPPORTED,
                          "the self-check of %s uses another program",
                          c->variant->name));
fail:
    return status;
}

static xl_status upload_case(struct run *r)
{
    xl_status status = XL_OK;
    struct xl__op_case *t = &r->op_case;
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (!t->host[i])
            continue;
        TRY(xl_buffer_create(r->q, t->bytes[i], &t->call.mem[i].buf));
        TRY(xl_buffer_write(r->q, t->call.mem[i].buf, 0, t->host[i],
                            t->bytes[i]));
    }
fail:
    return status;
}

static xl_status run_case(struct run *r, const void *canonical)
{
    xl_status status = XL_OK;
    struct xl__op_case *t = &r->op_case;
    TRY(build_case(r, canonical));
    TRY(upload_case(r));
    TRY(xl__launch(r->q, r->ready, &t->call, NULL));
    TRY(xl_queue_finish(r->q));
    TRY(xl_buffer_read(r->q, t->call.mem[t->result].buf, 0, t->host[t->result],
                       t->bytes[t->result]));
fail:
    return status;
}

static void clear_case(struct run *r)
{
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        xl__buffer_release(r->op_case.call.mem[i].buf);
        free(r->op_case.host[i]);
    }
    free(r->op_case.own);
    if (r->ready)
        xl__cached_plan_clear(r->ready);
    free(r->ready);
    xl_queue_destroy(r->q);
}

/* "gemm_mma TM=64 TN=64, gemm_turn + gemm_mma: C(3, 4) of ..." */
static void report_failure(const struct run *r, const char *why,
                           struct xl__str *detail)
{
    char tunables[PARAMS_CAP];
    const struct xl__variant_candidate *c = r->candidate;
    const struct xl__plan *p = &r->ready->plan;
    xl__params_text(c->variant, &c->params, tunables, sizeof tunables);
    xl__str_printf(detail, "%s%s%s", c->variant->name, *tunables ? " " : "",
                   tunables);
    for (unsigned i = 0; p->n_steps > 1 && i < p->n_steps; i++)
        xl__str_printf(detail, "%s%s", i ? " + " : ", ", p->step[i].kernel);
    xl__str_printf(detail, ": %s", why);
}

xl_status xl__selfcheck(xl_queue *q, const struct xl__op *op,
                        const void *canonical,
                        const struct xl__variant_candidate *candidate,
                        const struct xl__cached_plan *ready, bool *trusted,
                        char *why, size_t why_cap)
{
    xl_status status = XL_OK;
    struct run r = {.op = op, .candidate = candidate, .target = ready};
    struct xl__str detail = {0};
    *trusted = q->ctx->lib->skip_selfcheck;
    if (*trusted)
        return XL_OK;
    if (op->canonical_bytes > sizeof r.small)
        return xl__error_set(&q->error, XL_UNSUPPORTED, "self-check");
    const enum xl__trust known = xl__cached_plan_begin_check(q->ctx, ready);
    *trusted = known == XL__PASSED;
    if (*trusted)
        return XL_OK;
    if (known == XL__FAILED) {
        xl__strcpy(why, why_cap, "gave wrong results on this driver before");
        return XL_OK;
    }
    status = xl_queue_create_beside(q, &r.q);
    if (status != XL_OK)
        TRY(xl__error_set(&q->error, status,
                          "self-check of %s: no private queue: %s",
                          candidate->variant->name, xl_status_name(status)));
    TRY(run_case(&r, canonical));
    *trusted = op->case_compare(r.small, &r.op_case, why, why_cap);
    if (!*trusted)
        report_failure(&r, why, &detail);
    xl__cached_plan_set_trust(q->ctx, ready, *trusted, xl__str_text(&detail));
fail:
    xl__cached_plan_end_check(q->ctx, ready);
    xl__str_clear(&detail);
    if (status != XL_OK && r.q)
        xl__error_set(&q->error, status, "self-check of %s: %s",
                      candidate->variant->name, xl_error_detail(r.q));
    clear_case(&r);
    return status;
}
