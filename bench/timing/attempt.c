/* SPDX-License-Identifier: Apache-2.0 */
/* One variant of one case on one device. Its result is compared with the host
 * before it is timed and again afterwards, so that no time is reported for a
 * wrong result. A time above the device's roof is not accepted before the roof
 * has been measured again: a busy machine may have made it too low. */
#include "timing/attempt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "results/result.h"
#include "timing/roofs/peaks.h"
#include "timing/run_cases.h"
#include "timing/result_check.h"

/* How long a roof is measured again that a row exceeds, and between rows. */
static const double doubt_s = 1, look_s = 0.02;
/* Between two looks: they take a hundredth of the run. */
static const double apart_ns = 2e9;

/* Would this row take too long? If so, print a message. */
static bool is_too_long(const struct attempt *t, double run_ns)
{
    const struct extent *e = t->b->extent;
    struct session *s = t->b->s;
    double runs = 1.0 + e->sampling.warmup + e->sampling.min_runs;
    double need_s = runs * run_ns * 1e-9;
    bool exceeds_row =
        t->b->origin == CASES_OF_TABLE && e->row_s > 0 && need_s > e->row_s;
    bool exceeds_run = need_s > session_left_s(s);
    if (!exceeds_row && !exceeds_run)
        return false;
    s->is_cut |= exceeds_run;
    struct xl__str shape = {0};
    for (unsigned i = 0; i < t->row.n_params; i++)
        if (strcmp(t->row.params[i].name, "case") == 0)
            xl__str_printf(&shape, "'%s' ", t->row.params[i].text);
    result_add_shape(&shape, &t->row);
    progress_hide(s);
    if (!s->set.quiet && s->pass == 0 && !session_ended(s))
        fprintf(stderr, "clbench: %s %s %s %s skipped: about %.0f s; %s\n",
                t->row.op, xl__str_text(&shape), xl_dtype_name(t->row.dtype),
                t->row.variant, need_s,
                exceeds_run ? "over --max-time"
                            : "--full, or its SHAPE, runs it");
    xl__str_clear(&shape);
    return true;
}

/* Are runs longer than the step's time? Then the row is not begun. */
static bool exceeds_step(const struct attempt *t, double run_ns)
{
    return t->b->extent->sampling.min_runs * run_ns * 1e-9 >
           session_step_left_s(t->b->s);
}

static void report_row(struct attempt *t, xl_verdict verdict, const char *why)
{
    t->is_live = false;
    t->row.verdict = verdict;
    xl__strcpy(t->row.reason, sizeof t->row.reason, why);
    session_row(t->b->s, t->dev, &t->row);
}

void attempt_fail(struct attempt *t, xl_status status)
{
    const char *detail = *t->work.why ? t->work.why : xl_error_detail(t->q);
    report_row(t, status == XL_UNSUPPORTED ? XL_ROW_UNSUPPORTED : XL_ROW_ERROR,
               *detail ? detail : xl_status_text(status));
}

static void report_wrong(struct attempt *t, const struct check_result *found)
{
    static const char before[] = "wrong result: ";
    char why[sizeof before + sizeof found->why];
    snprintf(why, sizeof why, "%s%s", before, found->why);
    t->b->s->n_wrong++;
    report_row(t, XL_ROW_REJECTED, why);
}

void attempt_describe(struct attempt *t)
{
    const char *variant = t->work.variant;
    xl_row_init(&t->row, t->b->op->name, variant ? variant : "");
    t->row.seed = t->b->s->set.seed;
    t->row.cold = t->b->extent->sampling.cold;
    t->b->op->describe(t->work.c, &t->row);
    if (t->b->op->describe_variant)
        t->b->op->describe_variant(&t->work, &t->row);
}

/* -- before the timing ---------------------------------------------------- */

/* Find the variant that will run and the model's time for it; false: none, and
 * the row has the reason. */
static bool choose_variant(struct attempt *t, double *est_ns)
{
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    const struct bench_op *op = t->b->op;
    const char *requested = t->work.variant;
    memset(choices, 0, sizeof choices);
    xl_status status = op->explain(t->q, &t->work, choices, &n);
    for (unsigned i = 0; status == XL_OK && i < n && i < BENCH_MAX_CHOICES;
         i++) {
        const xl_choice *c = &choices[i];
        if (c->chosen) {
            xl__strcpy(t->row.variant, sizeof t->row.variant, c->variant);
            *est_ns = c->est_ns;
            t->choice = *c;
            if (!isnan(c->est_ns))
                xl_row_found(&t->row, "model_ns", c->est_ns);
            diagnose_idle(choices, n, t->idle, sizeof t->idle);
            if (op->chosen)
                op->chosen(t->work.c, t->dev, c, &t->row);
            return true;
        }
        if (requested && strcmp(c->variant, requested) == 0 && *c->why) {
            report_row(t, XL_ROW_UNSUPPORTED, c->why);
            return false;
        }
    }
    attempt_fail(t, status == XL_OK ? XL_UNSUPPORTED : status);
    return false;
}

xl_status attempt_enqueue(xl_queue *q, void *arg)
{
    struct attempt *t = arg;
    return t->b->op->run(q, &t->work);
}

/* Run once on fresh buffers and compare the result; *ns: time of the run. */
static xl_status run_and_check(struct attempt *t, double *ns,
                               struct check_result *out)
{
    xl_status status = XL_OK;
    TRY(bench_data_reset(t->q, t->work.data));
    uint64_t start = xl__now_ns();
    TRY(attempt_enqueue(t->q, t));
    TRY(xl_queue_finish(t->q));
    *ns = (double)(xl__now_ns() - start);
    TRY(t->b->op->check(t->q, &t->work, out));
    TRY(check_written(t->q, t->work.data, out));
fail:
    return status;
}

void attempt_prepare(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    struct check_result found;
    double est_ns = NAN, ns = 0;
    xl_status status = op->open ? op->open(t->q, &t->work) : XL_OK;
    t->is_open = op->open != NULL;
    if (status != XL_OK) {
        attempt_fail(t, status);
        return;
    }
    if (!choose_variant(t, &est_ns))
        return;
    est_ns = pace_estimate(&t->b->paces, t->dev, &t->row, est_ns);
    if (est_ns > 0 && (is_too_long(t, est_ns) || exceeds_step(t, est_ns)))
        return;
    if (t->b->s->pass > 0) { /* checked in the first pass */
        t->is_live = true;
        return;
    }
    status = run_and_check(t, &ns, &found);
    if (status == XL_OK && op->check_whole)
        status = op->check_whole(t->q, &t->work, &found);
    if (status == XL_WRONG_RESULT)
        report_wrong(t, &found);
    else if (status != XL_OK)
        attempt_fail(t, status);
    else
        t->is_live = !is_too_long(t, ns);
}

/* -- after the timing ----------------------------------------------------- */

/* A bandwidth allows a row in flop/s the flop of its bytes. */
static void add_roof_of_fact(struct attempt *t, const struct bench_roof *roof)
{
    xl_fact fact;
    xl_row *row = &t->row;
    const bool is_rate = strcmp(row->unit, "B/s") == 0;
    const struct bench_op *op = t->b->op;
    const xl_roof engine =
        op->engine ? op->engine(t->work.c) : roof_usual(row->dtype);
    xl_row products = *row; /* without the bytes, which have this roof */
    xl_bound arithmetic;
    if (!roof->fact ||
        xl_device_fact(t->dev, roof->fact, XL_UNKNOWN, &fact) != XL_OK ||
        !(fact.value > 0))
        return;
    row->roof = (xl_bound){fact.value * (is_rate ? 1 : row->flop / row->bytes),
                           row->unit, roof->name, fact.source};
    products.bytes = 0;
    if (!is_rate &&
        roof_bound(t->q, &engine, &products, false, &arithmetic) == XL_OK &&
        !(row->roof.value < arithmetic.value))
        row->roof = arithmetic;
    if (!isfinite(row->roof.value)) /* no bytes, and no known peak */
        row->roof.value = NAN;
}

static void add_roof_of_roofline(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    const xl_roof roof =
        op->engine ? op->engine(t->work.c) : roof_usual(t->row.dtype);
    xl_bound bound;
    const bool is_theoretical = t->b->s->set.roofs == ROOFS_THEORETICAL;
    if (is_theoretical && strcmp(t->row.unit, "B/s") != 0) {
        if (xl_roofline_theoretical(t->dev, &roof, &bound) == XL_OK)
            t->row.roof = bound;
    } else if (!is_theoretical &&
               roof_bound(t->q, &roof, &t->row, false, &bound) == XL_OK) {
        t->row.roof = bound;
    }
}

/* Add the roof to the row; return whether it is a bound. */
static bool add_roof(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    if (!op->roof) {
        add_roof_of_roofline(t);
        return true;
    }
    const struct bench_roof roof = op->roof(t->work.c, t->dev, &t->row);
    if (t->b->s->set.roofs != ROOFS_THEORETICAL)
        add_roof_of_fact(t, &roof);
    return roof.is_bound;
}

/* Measure a roof that the row exceeds again, since it may be too low; another
 * one now and then, since other programs may have ended. */
static void look_at_roof(struct attempt *t)
{
    static const double tolerated = 1.05; /* as the verdict's noise */
    const xl_bound roof = t->row.roof;
    const bool is_doubtful = t->row.value > tolerated * roof.value;
    const uint64_t now = xl__now_ns();
    const bool is_due = (double)(now - t->b->looked_ns) > apart_ns &&
                        strncmp(roof.name, "fma", 3) == 0;
    if (roof.source != XL_MEASURED || !(is_doubtful || is_due))
        return;
    (void)xl_roof_measure(t->q, &roof, is_doubtful ? t->row.value : NAN,
                          is_doubtful ? doubt_s : look_s);
    t->b->looked_ns = xl__now_ns();
    (void)add_roof(t);
}

/* Add the roof, where it is a bound, and the verdict. */
static void add_verdict(struct attempt *t)
{
    const bool is_bound = add_roof(t);
    if (is_bound)
        look_at_roof(t);
    /* What is no bound has no share. */
    if (!is_bound)
        t->row.roof.value = NAN;
    xl_row_judge(&t->row, t->dev);
}

/* What the launch takes, of a plan whose work-groups are its own. */
static void add_launch(struct attempt *t, const xl_counts *work)
{
    xl_fact units;
    t->row.launch.private_bytes = (double)t->choice.private_bytes;
    t->row.launch.registers = t->choice.registers;
    t->row.launch.spill_bytes = t->choice.spill_bytes;
    if (!(work->groups > 0))
        return;
    t->row.launch.groups = work->groups;
    t->row.launch.wg_size = work->wg_size;
    t->row.launch.local_bytes = (double)t->choice.local_mem_bytes;
    if (xl_device_fact(t->dev, "compute_units", XL_UNKNOWN, &units) == XL_OK &&
        units.value > 0)
        t->row.launch.groups_per_unit = work->groups / units.value;
}

/* Find what limits the row, from its own counts and those of the op. */
static void diagnose_row(struct attempt *t)
{
    const struct bench_op *op = t->b->op;
    xl_counts work;
    diagnose_count(&t->choice, &t->row, &work);
    add_launch(t, &work);
    work.flop[0].why = *t->idle ? t->idle : NULL;
    if (op->count)
        op->count(t->work.c, &t->choice, &work);
    xl_diagnose(t->dev, &work, &t->row.diagnosis);
}

/* A rate, or the time where nothing is counted. */
static void set_value(xl_row *row)
{
    if (strcmp(row->unit, "s") == 0) {
        row->value = row->samples.median_ns * 1e-9;
        return;
    }
    const double amount =
        strcmp(row->unit, "B/s") == 0 ? row->bytes : row->flop;
    row->value = amount / row->samples.median_ns * 1e9;
}

void attempt_repeat(struct attempt *t)
{
    set_value(&t->row);
    t->row.verdict = XL_ROW_OK;
}

void attempt_finish(struct attempt *t)
{
    xl_row *row = &t->row;
    struct check_result found;
    double ns;
    const xl_status status = run_and_check(t, &ns, &found);
    if (status == XL_WRONG_RESULT) {
        report_wrong(t, &found);
        return;
    }
    if (status != XL_OK) {
        attempt_fail(t, status);
        return;
    }
    set_value(row);
    row->warnings = row->samples.warnings;
    pace_record(&t->b->paces, t->dev, row, row->samples.median_ns);
    add_verdict(t);
    diagnose_row(t);
}

/* -- estimates --------------------------------------------------------------
 *
 * A run's time is estimated from an earlier row of the same variant, type and
 * device: it is proportional to the larger one of flop and bytes. */

static double cost_of(const xl_row *row)
{
    return row->flop > row->bytes ? row->flop : row->bytes;
}

static bool is_same_kind(const struct pace *p, const xl_device *dev,
                         const xl_row *row)
{
    return p->dev == dev && p->dtype == row->dtype &&
           strcmp(p->variant, row->variant) == 0;
}

void pace_record(struct paces *paces, const xl_device *dev, const xl_row *row,
                 double ns)
{
    unsigned i = 0;
    while (i < paces->n && !is_same_kind(&paces->list[i], dev, row))
        i++;
    if (i == paces->n)
        i = paces->n < MAX_PACES ? paces->n++ : 0;
    struct pace *p = &paces->list[i];
    p->dev = dev;
    p->dtype = row->dtype;
    memcpy(p->variant, row->variant, sizeof p->variant);
    p->ns_per_cost = ns / cost_of(row);
}

double pace_estimate(const struct paces *paces, const xl_device *dev,
                     const xl_row *row, double otherwise)
{
    for (unsigned i = 0; i < paces->n; i++)
        if (is_same_kind(&paces->list[i], dev, row))
            return paces->list[i].ns_per_cost * cost_of(row);
    return otherwise;
}
