/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one candidate: a variant with a set of tunables.
 *
 * The candidate is planned, built and self-checked with these tunables; then a
 * case of the call's own size runs, and a sample of its result is compared
 * with the host's sums. Only a candidate that is correct is timed. */
#include "tune/candidate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/selfcheck_data.h"
#include "ops/path/tunables.h"
#include "runtime/buffer.h"

static const double ns_per_s = 1e9;
static const double hopeless = 10; /* times the limit, by the first run */
static const double long_run_s = 1;

/* -- the case ------------------------------------------------------------- */

xl_status xl__tuning_case_init(struct xl__tuning_case *c,
                               const struct xl__op_call *call, bool is_timed)
{
    xl_status status = XL_OK;
    struct xl__selfcheck_case *t = &c->op_case;
    memset(c, 0, sizeof *c);
    t->is_timed = is_timed;
    c->q = call->q;
    c->op = call->op;
    c->canonical = call->key->canonical;
    c->full = xl__calloc(1, xl__op_call_canonical_bytes(call));
    TRY(xl__check_alloc(&c->q->error, c->full, "data of the case"));
    memcpy(c->full, call->key->canonical, xl__op_call_canonical_bytes(call));
    status = c->op->case_init(c->full, t);
    if (status != XL_OK)
        TRY(xl__error_set(&c->q->error, status,
                          status == XL_UNSUPPORTED
                              ? "a batch given by lists cannot be tuned; one "
                                "given by steps shares its class"
                              : "data of the case"));
    xl__reference_plan(call, &c->plan);
    t->every = xl__case_sample_step(c->plan.flop);
    TRY(xl__case_upload(c->q, t, true));
fail:
    return status;
}

void xl__tuning_case_clear(struct xl__tuning_case *c)
{
    xl__case_clear(&c->op_case);
    free(c->full);
    memset(c, 0, sizeof *c);
}

/* -- one candidate -------------------------------------------------------- */

static void finish_as(xl_candidate_result *out, xl_candidate_end end,
                      const char *why)
{
    out->end = end;
    xl__strcpy(out->why, sizeof out->why, why);
}

/* Has the case, or the plan's scratch memory, a large buffer? */
static bool is_case_large(const struct xl__tuning_case *c,
                          const struct xl__plan *p)
{
    size_t most = p->scratch_bytes;
    for (unsigned i = 0; i < XL__CASE_MEMS; i++)
        most = xl__max_size(most, c->op_case.bytes[i]);
    return xl__buffer_is_large(c->q->ctx->device, most);
}

/* Builds the program and runs the self-check case. */
static xl_status build_program(struct xl__entrant *e,
                               const struct xl__point *point,
                               xl_candidate_result *out)
{
    xl_status status = XL_OK;
    struct xl__tuning_case *c = e->on;
    const struct xl__variant_candidate candidate = {.variant = point->variant,
                                            .params = point->params,
                                            .plan = &e->ready.plan};
    bool trusted = false;
    char why[XL__WHY_CAP] = "";
    status = point->variant->plan(&c->q->ctx->device->limits, c->full,
                                  &point->params, &e->ready.plan);
    if (status != XL_OK)
        TRY(xl__error_set(&c->q->error, status,
                          "its tunables do not fit this call and device"));
    if (is_case_large(c, &e->ready.plan))
        xl__plan_permit_large(c->q->ctx->device, &e->ready.plan);
    TRY(xl__cached_plan_build(c->q, &e->ready));
    TRY(xl__op_selfcheck(c->q, c->op, c->canonical, &candidate, 0, &e->ready,
                         &trusted, why, sizeof why));
    if (!trusted)
        finish_as(out, XL_CANDIDATE_WRONG, why);
fail:
    return status;
}

/* Runs the case once and compares; *took_ns by the wall clock. */
static xl_status compare_result(struct xl__entrant *e, double *took_ns,
                                xl_candidate_result *out)
{
    xl_status status = XL_OK;
    struct xl__tuning_case *c = e->on;
    struct xl__selfcheck_case *t = &c->op_case;
    char why[XL__WHY_CAP] = "";
    TRY(xl__case_reset(c->q, t));
    const uint64_t start = xl__now_ns();
    TRY(xl__entrant_run(c->q, e));
    TRY(xl_queue_finish(c->q));
    *took_ns = (double)(xl__now_ns() - start);
    TRY(xl__case_download(c->q, t));
    if (!xl__case_compare(t, XL__PASS_FIRST, why, sizeof why))
        finish_as(out, XL_CANDIDATE_WRONG, why);
fail:
    return status;
}

/* took_ns NULL: it is not run. */
static xl_status prepare_candidate(struct xl__entrant *e,
                                   const struct xl__point *point,
                                   double *took_ns, xl_candidate_result *out)
{
    xl_status status = XL_OK;
    xl__error_reset(&e->on->q->error);
    TRY(build_program(e, point, out));
    if (took_ns && out->end == XL_CANDIDATE_RIGHT)
        TRY(compare_result(e, took_ns, out));
fail:
    if (status != XL_OK)
        finish_as(out,
                  status == XL_UNTRUSTED ? XL_CANDIDATE_WRONG
                                         : XL_CANDIDATE_REFUSED,
                  *xl_error_detail(e->on->q) ? xl_error_detail(e->on->q)
                                             : xl_status_name(status));
    if (out->end != XL_CANDIDATE_RIGHT)
        xl__entrant_clear(e);
    return status;
}

static void init_candidate(struct xl__entrant *e, struct xl__tuning_case *c,
                           xl_candidate_result *out)
{
    memset(e, 0, sizeof *e);
    memset(out, 0, sizeof *out);
    e->on = c;
    out->median_ns = out->mad_ns = NAN;
}

void xl__entrant_init(struct xl__entrant *e, struct xl__tuning_case *c,
                      const struct xl__point *point, xl_candidate_result *out)
{
    double took_ns;
    init_candidate(e, c, out);
    prepare_candidate(e, point, &took_ns, out);
}

xl_status xl__entrant_build(struct xl__entrant *e, struct xl__tuning_case *c,
                            const struct xl__point *point,
                            xl_candidate_result *out)
{
    init_candidate(e, c, out);
    return prepare_candidate(e, point, NULL, out);
}

void xl__entrant_clear(struct xl__entrant *e)
{
    xl__cached_plan_clear(&e->ready);
}

xl_status xl__entrant_run(xl_queue *q, void *arg)
{
    struct xl__entrant *e = arg;
    return xl__launch(q, &e->ready, &e->on->op_case.call, NULL);
}

/* -- its time ------------------------------------------------------------- */

static void abandon_candidate(double took_ns, double limit_ns,
                              xl_candidate_result *out)
{
    char why[64];
    xl__strfmt(why, sizeof why, "%.3g us, abandoned at %.3g us", took_ns / 1e3,
               limit_ns / 1e3);
    finish_as(out, XL_CANDIDATE_SLOW, why);
}

/* Two runs first, so that a slow candidate does not take all samples. */
static xl_status time_candidate(struct xl__entrant *e, double limit_ns,
                                xl_samples *samples, xl_candidate_result *out)
{
    static const xl_sampling look = {XL_SAMPLING_INIT, .warmup = 1,
                                     .min_runs = 1, .max_runs = 1,
                                     .max_noise = 1};
    static const xl_sampling how = {XL_SAMPLING_INIT,  .warmup = 1,
                                    .min_runs = 5,     .max_runs = 40,
                                    .max_noise = 0.01, .max_s = 0.4};
    xl_status status = XL_OK;
    TRY(xl_samples_take(e->on->q, &look, xl__entrant_run, e, samples));
    if (limit_ns > 0 && samples->min_ns > limit_ns) {
        abandon_candidate(samples->min_ns, limit_ns, out);
        return XL_OK;
    }
    TRY(xl_samples_take(e->on->q, &how, xl__entrant_run, e, samples));
    out->runs = samples->runs;
    out->median_ns = samples->median_ns;
    out->mad_ns = samples->mad_ns;
    if (limit_ns > 0 && out->median_ns > limit_ns)
        abandon_candidate(out->median_ns, limit_ns, out);
fail:
    if (status != XL_OK)
        finish_as(out, XL_CANDIDATE_REFUSED, xl_status_name(status));
    return status;
}

void xl__tuning_case_measure(struct xl__tuning_case *c,
                             const struct xl__point *point, double limit_ns,
                             xl_candidate_result *out)
{
    struct xl__entrant *e = xl__calloc(1, sizeof *e);
    xl_samples *samples = xl__calloc(1, sizeof *samples);
    double took_ns = 0;
    if (e && samples) {
        init_candidate(e, c, out);
        prepare_candidate(e, point, &took_ns, out);
    } else {
        finish_as(out, XL_CANDIDATE_REFUSED, "out of memory");
    }
    if (out->end == XL_CANDIDATE_RIGHT) {
        if (limit_ns > 0 && took_ns > hopeless * limit_ns &&
            took_ns > long_run_s * ns_per_s)
            abandon_candidate(took_ns, limit_ns, out);
        else
            time_candidate(e, limit_ns, samples, out);
        xl__entrant_clear(e);
    }
    free(samples);
    free(e);
}

/* -- the public call ------------------------------------------------------ */

xl_status xl__point_of(const struct xl__op_call *call, const xl_candidate *c,
                       struct xl__point *out)
{
    const struct xl__variant *const *at =
        call->q->ctx->device->vendor->variants[call->op->id];
    struct xl__error *e = &call->q->error;
    char why[XL__WHY_CAP];
    memset(out, 0, sizeof *out);
    while (*at && strcmp((*at)->name, c->variant) != 0)
        at++;
    out->variant = *at;
    out->est_ns = c->est_ns;
    if (!*at)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s has no variant \"%s\" on this device",
                             call->op->name, c->variant);
    if (!xl__params_parse(*at, c->tunables, &out->params, why, sizeof why))
        return xl__error_set(e, XL_BAD_ARGUMENT, "%s", why);
    return XL_OK;
}
