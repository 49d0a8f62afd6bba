/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls: search, save, list. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "ops/path/tunables.h"
#include "ops/variants.h"
#include "runtime/context.h"
#include "tune/search.h"

#include <crosslane/crosslane.h>

static const double default_budget_s = 300;

const char *xl_candidate_end_name(xl_candidate_end end)
{
    static const char *const names[XL_N_CANDIDATE_ENDS] = {
        [XL_CANDIDATE_RIGHT] = "right",     [XL_CANDIDATE_SLOW] = "slow",
        [XL_CANDIDATE_WRONG] = "wrong",     [XL_CANDIDATE_REFUSED] = "refused",
        [XL_CANDIDATE_CRASHED] = "crashed", [XL_CANDIDATE_HUNG] = "hung",
    };
    const int i = (int)end;
    return i >= 0 && i < XL_N_CANDIDATE_ENDS ? names[i] : "?";
}

/* -- one call ------------------------------------------------------------- */

/* Check and bind, as the op's own calls do. xl__op_call_end() anyway. */
static xl_status begin_call(struct xl__op_call *call, xl_queue *q,
                            xl_problem p)
{
    memset(call, 0, sizeof *call);
    /* Pointers to structs have one representation: any of the union's. */
    if ((unsigned)p.op < XL_N_OPS)
        return xl__op_call_begin(call, q, xl__ops[p.op], p.desc.gemm, false);
    xl__error_reset(&q->error);
    return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                         "there is no op %d to tune; use xl_problem_gemm(), "
                         "xl_problem_softmax(), xl_problem_conv(), "
                         "xl_problem_attention(), xl_problem_norm(), "
                         "xl_problem_qgemm(), xl_problem_rotary() or "
                         "xl_problem_qconvert()",
                         (int)p.op);
}

static xl_status name_class(const struct xl__op_call *call, char *out,
                            size_t cap)
{
    xl_status status = XL_OK;
    struct xl__str text = {0};
    call->op->shape_class(call->key->canonical, &text);
    if (text.broken || text.len >= cap)
        TRY(xl__error_set(&call->q->error, XL_OVERFLOW,
                          "the class of shapes \"%s\" takes more than %zu "
                          "bytes",
                          xl__str_text(&text), cap));
    xl__strcpy(out, cap, xl__str_text(&text));
fail:
    xl__str_clear(&text);
    return status;
}

xl_status xl_tune_candidate(xl_queue *q, xl_problem p, const xl_candidate *c,
                            double limit_ns, xl_candidate_result *out)
{
    xl_status status = XL_OK;
    struct xl__op_call call;
    struct xl__point point;
    struct xl__tuning_case *data = NULL;
    if (!q || !c || !out)
        return XL_BAD_ARGUMENT;
    memset(out, 0, sizeof *out);
    TRY(begin_call(&call, q, p));
    TRY(xl__point_of(&call, c, &point));
    data = xl__calloc(1, sizeof *data);
    TRY(xl__check_alloc(&q->error, data, "a candidate"));
    TRY(xl__tuning_case_init(data, &call, false));
    xl__tuning_case_measure(data, &point, limit_ns, out);
fail:
    if (data)
        xl__tuning_case_clear(data);
    free(data);
    xl__op_call_end(&call);
    return status;
}

/* -- the search ----------------------------------------------------------- */

/* What was tuned before for this class is tried early, stale or not. */
static xl_status add_known(struct xl__search *s, const char *shape_class)
{
    enum { MOST = 8 };
    xl_status status = XL_OK;
    struct xl__op_call *call = s->call;
    struct xl__tuned_match matches[MOST];
    const size_t n =
        xl__tuned_sets_find(&call->q->ctx->lib->tuned, call->q->ctx->device,
                            call->op->name, shape_class, matches, MOST);
    for (size_t i = 0; i < n; i++) {
        const struct xl__tuned_set *set = matches[i].set;
        for (unsigned k = 0; s->space.list[k]; k++) {
            const struct xl__variant *v = s->space.list[k];
            struct xl__params params = {{0}, NULL};
            char why[XL__WHY_CAP];
            long at;
            if (strcmp(v->name, set->variant) != 0 ||
                (s->space.forced && strcmp(s->space.forced, v->name) != 0) ||
                xl__variant_refusal(&s->space.what, v) ||
                !xl__params_parse(v, set->tunables, &params, why, sizeof why))
                continue;
            TRY(xl__space_add(&s->space, v, &params, &at));
            if (at >= 0)
                s->space.points[at].is_known = true;
        }
    }
fail:
    return status;
}

static xl_status prepare_search(struct xl__search *s, const char *shape_class)
{
    xl_status status = XL_OK;
    struct xl__op_call *call = s->call;
    struct xl__error *e = &call->q->error;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    TRY(xl__check_alloc(e, plan, "a search"));
    xl__reference_plan(call, plan);
    TRY(xl__journal_init(&s->journal, s->how->journal, call, plan));
    status = xl__space_init(&s->space, call->q->ctx->device, call);
    if (status == XL_OK)
        status = add_known(s, shape_class);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "candidates"));
    if (s->space.n == 0)
        status = xl__error_set(e, XL_UNSUPPORTED,
                               "no variant%s%s takes this call here",
                               s->space.forced ? " named " : "",
                               s->space.forced ? s->space.forced : "");
fail:
    free(plan);
    return status;
}

/* Sets the error that explains why there is no result. */
static xl_status report_no_winner(const struct xl__search *s)
{
    struct xl__error *e = &s->call->q->error;
    const char *why = "";
    for (size_t i = 0; i < s->space.n; i++) {
        if (s->space.points[i].is_choice && s->space.points[i].is_tried)
            why = s->space.points[i].result.why;
    }
    xl__error_reset(e);
    if (!s->is_complete)
        return xl__error_set(e, XL_CANCELLED,
                             "stopped, or out of time, before any candidate "
                             "was correct");
    return xl__error_set(e, XL_UNSUPPORTED,
                         "none of %u candidates is correct here; the model's: "
                         "%s",
                         s->n_tried, why);
}

static xl_status run_search(struct xl__search *s, xl_tuned *out)
{
    xl_status status = XL_OK;
    TRY(name_class(s->call, out->shape_class, sizeof out->shape_class));
    TRY(prepare_search(s, out->shape_class));
    TRY(xl__search_run(s));
    if (s->best < 0)
        TRY(report_no_winner(s));
    TRY(xl__search_final(s, out));
fail:
    out->n_space = s->space.n_total < (double)UINT32_MAX
                       ? (unsigned)s->space.n_total
                       : UINT32_MAX;
    out->n_candidates = (unsigned)s->space.n;
    out->n_tried = s->n_tried;
    out->n_lost = s->n_lost;
    out->n_resumed = s->n_resumed;
    out->is_complete = s->is_complete;
    return status;
}

xl_status xl_tune(xl_queue *q, xl_problem p, const xl_tuning *how,
                  xl_tuned *out)
{
    static const struct xl__sized type = XL__SIZED(xl_tuning, XL_TUNING_INIT);
    static const xl_tuning defaults = {XL_TUNING_INIT};
    xl_tuning full;
    xl_status status = XL_OK;
    struct xl__op_call call;
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    memset(out, 0, sizeof *out);
    xl__error_reset(&q->error);
    how = xl__sized_read(&type, how ? how : &defaults, &full, &q->error);
    if (!how)
        return q->error.status;
    struct xl__search *s = xl__calloc(1, sizeof *s);
    if (!s)
        return XL_NO_MEMORY;
    s->call = &call;
    s->how = how;
    s->budget_s = s->how->budget_s > 0 ? s->how->budget_s : default_budget_s;
    s->begun_ns = xl__now_ns();
    s->best = -1;
    TRY(begin_call(&call, q, p));
    TRY(run_search(s, out));
fail:
    xl__search_clear(s);
    xl__op_call_end(&call);
    free(s);
    return status;
}

/* -- the database --------------------------------------------------------- */

static xl_status fill_set(const struct xl__op_call *call,
                          const xl_tuned *result, struct xl__tuned_set *set)
{
    xl_status status = XL_OK;
    const xl_device *dev = call->q->ctx->device;
    struct xl__point point;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    memset(set, 0, sizeof *set);
    TRY(xl__check_alloc(&call->q->error, plan, "a plan"));
    TRY(xl__point_of(call, &result->best, &point));
    status = point.variant->plan(&dev->limits, call->key->canonical,
                                 &point.params, plan);
    if (status != XL_OK)
        TRY(xl__error_set(&call->q->error, status,
                          "%s %s does not fit this call", result->best.variant,
                          result->best.tunables));
    TRY(xl__plan_sources(&call->q->ctx->lib->tuned, plan, set->sources,
                         sizeof set->sources, &call->q->error));
    xl__strcpy(set->op, sizeof set->op, call->op->name);
    TRY(name_class(call, set->shape_class, sizeof set->shape_class));
    xl__strcpy(set->variant, sizeof set->variant, result->best.variant);
    xl__strcpy(set->tunables, sizeof set->tunables, result->best.tunables);
    set->median_ns = result->best_ns;
    set->mad_ns = result->best_mad_ns;
    set->gain = result->gain;
    set->runs = result->n_pairs;
    xl__tuned_driver(dev, set->driver, sizeof set->driver);
    xl__write_date(set->date, sizeof set->date);
    xl__strcpy(set->library, sizeof set->library, xl_version());
fail:
    free(plan);
    return status;
}

xl_status xl_tuned_save(xl_queue *q, xl_problem p, const xl_tuned *result,
                        const char *path)
{
    xl_status status = XL_OK;
    struct xl__op_call call;
    struct xl__tuned_set set;
    if (!q || !result)
        return XL_BAD_ARGUMENT;
    TRY(begin_call(&call, q, p));
    TRY(fill_set(&call, result, &set));
    const struct xl__tuned_change change = {.set = &set, .path = path};
    TRY(xl__tuned_sets_save(&q->ctx->lib->tuned, q->ctx->device, &change,
                            &q->error));
fail:
    xl__op_call_end(&call);
    return status;
}

const char *xl_tuned_dir(const xl_lib *lib)
{
    return lib ? lib->tuned.user_dir : NULL;
}

/* Whether a set earlier in the list has the same op and class. */
static bool is_shadowed(const struct xl__tuned_match *matches, size_t at)
{
    const struct xl__tuned_set *set = matches[at].set;
    for (size_t i = 0; i < at; i++) {
        if (strcmp(matches[i].set->op, set->op) == 0 &&
            strcmp(matches[i].set->shape_class, set->shape_class) == 0)
            return true;
    }
    return false;
}

static void pass_entry(const struct xl__tuned_sets *db, const xl_device *dev,
                       const struct xl__tuned_match *matches, size_t at,
                       void (*each)(const xl_tuned_entry *, void *), void *arg)
{
    const struct xl__tuned_set *set = matches[at].set;
    char why[XL__WHY_CAP];
    const xl_tuned_entry entry = {
        .op = set->op,
        .shape_class = set->shape_class,
        .variant = set->variant,
        .tunables = set->tunables,
        .origin = matches[at].origin,
        .driver = set->driver,
        .date = set->date,
        .median_ns = set->median_ns,
        .mad_ns = set->mad_ns,
        .gain = set->gain,
        .is_stale = xl__tuned_is_stale(db, dev, set, why, sizeof why),
        .is_shadowed = is_shadowed(matches, at),
    };
    each(&entry, arg);
}

xl_status xl_tuned_list(xl_queue *q,
                        void (*each)(const xl_tuned_entry *, void *),
                        void *arg)
{
    enum { MOST = 4096 };
    if (!q || !each)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    struct xl__tuned_sets *db = &q->ctx->lib->tuned;
    struct xl__tuned_match *matches = xl__calloc(MOST, sizeof *matches);
    if (!matches)
        return xl__error_set(&q->error, XL_NO_MEMORY, "tuned sets");
    const size_t n =
        xl__tuned_sets_find(db, q->ctx->device, NULL, NULL, matches, MOST);
    for (size_t i = 0; i < n; i++)
        pass_entry(db, q->ctx->device, matches, i, each, arg);
    free(matches);
    return XL_OK;
}
