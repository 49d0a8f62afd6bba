/* SPDX-License-Identifier: Apache-2.0 */
/* From two sides to pairs, and what each differs by. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "compare/differences.h"
#include "compare/compare_judge.h"
#include "compare/compare_label.h"
#include "results/json.h"

static const char *const call_names[N_CALLS] = {
    "SLOWER",         "FASTER",  "AMBIGUOUS",    "SAME",    "few runs",
    "not comparable", "no time", "missing in b", "new in b"};

const char *call_name(enum call call)
{
    return call_names[call];
}

bool call_has_interval(enum call call)
{
    return call <= CALL_SAME;
}

/* -- pairs ---------------------------------------------------------------- */

static bool add_pair(struct comparison *c, const struct result_row *a,
                     const struct result_row *b)
{
    if (!xl__grow(&c->pairs, &c->cap, c->n + 1, sizeof *c->pairs))
        return false;
    c->pairs[c->n++] = (struct pair){
        .a = a,
        .b = b,
        .unit = "ns",
        .a_value = (double)NAN,
        .b_value = (double)NAN,
        .ratio = {(double)NAN, (double)NAN, (double)NAN,
                  !b ? CALL_MISSING : a ? CALL_UNTIMED : CALL_NEW}};
    return true;
}

/* The match, or the case's row when another variant runs it there and has no
 * match of its own. */
static const struct result_row *find(const struct side *a,
                                     const struct result_row *row,
                                     const struct side *b)
{
    const struct result_file *from = &a->files[0], *to = &b->files[0];
    const struct result_row *match =
        results_match(from, (size_t)(row - from->rows), to);
    if (match)
        return match;
    const bool any_device = from->n_devices == 1 && to->n_devices == 1;
    struct side here = *a, there = *b;
    here.device = row->device;
    there.device = any_device ? NULL : row->device;
    match = side_fastest(&here, 0, row) == row ? side_fastest(&there, 0, row)
                                               : NULL;
    return match && !results_match(to, (size_t)(match - to->rows), from)
               ? match
               : NULL;
}

static bool pair_by_id(struct comparison *c)
{
    const struct result_file *a = &c->a.files[0], *b = &c->b.files[0];
    bool fine = true;
    for (size_t i = 0; i < a->n_rows && fine; i++)
        fine = add_pair(c, &a->rows[i], find(&c->a, &a->rows[i], &c->b));
    for (size_t i = 0; i < b->n_rows && fine; i++)
        if (!find(&c->b, &b->rows[i], &c->a))
            fine = add_pair(c, NULL, &b->rows[i]);
    return fine;
}

static bool pair_by_case(struct comparison *c)
{
    const struct result_file *a = &c->a.files[0];
    bool fine = true;
    for (size_t i = 0; i < a->n_rows && fine; i++)
        if (side_fastest(&c->a, 0, &a->rows[i]) == &a->rows[i])
            fine = add_pair(c, &a->rows[i],
                            side_fastest(&c->b, 0, &a->rows[i]));
    return fine;
}

/* -- what they differ by -------------------------------------------------- */

/* A side of a pair over its runs. */
struct level {
    double log_time, value, within;
    size_t runs;
    bool is_alike; /* every run in the same unit, by the same clock */
    const char *unit, *clock;
};

static struct level level_of(const struct side *side,
                             const struct result_row *row, bool by_case)
{
    struct level l = {.is_alike = true};
    for (size_t f = 0; f < side->n_files; f++) {
        const struct result_row *r = side_again(side, row, f, by_case);
        double value = 0;
        if (!r || !result_is_timed(r))
            continue;
        const char *clock = json_text_at(r->json, "clock");
        const char *unit = NULL;
        l.log_time += result_figure(r, &value, &unit);
        l.within += noise_within(r->ns, r->n);
        l.is_alike = l.is_alike && (l.runs == 0 || (xl__streq(l.unit, unit) &&
                                                   xl__streq(l.clock, clock)));
        l.unit = unit;
        l.clock = clock;
        l.value += value;
        l.runs++;
    }
    const double n = (double)l.runs;
    l.log_time /= n;
    l.value /= n;
    l.within /= n * n;
    return l;
}

/* Both were measured in turns, round by round: nothing between runs. */
static bool measure_turns(const struct comparison *c, struct pair *p)
{
    static const double deviates = 1.96; /* of an interval of 95 % */
    struct ratio turns;
    if (!c->b.other || !result_turns(&c->b.files[0], p->b, &turns))
        return false;
    const double half = log(turns.hi / turns.lo) / 2 / deviates;
    p->shift.log_ratio = log(turns.ratio);
    p->shift.within = half * half;
    p->shift.runs = 0;
    return true;
}

static void measure(const struct comparison *c, struct pair *p, bool by_case)
{
    if (!p->a || !p->b || !result_is_timed(p->a) || !result_is_timed(p->b))
        return;
    const struct level a = level_of(&c->a, p->a, by_case);
    const struct level b = level_of(&c->b, p->b, by_case);
    p->a_value = a.value;
    p->b_value = b.value;
    p->unit = a.unit;
    p->ratio.call = CALL_UNLIKE;
    /* Another driver may have no event clock to be believed. */
    if (!a.is_alike || !b.is_alike || !xl__streq(a.unit, b.unit) ||
        (c->is_alike && !xl__streq(a.clock, b.clock)))
        return;
    p->shift.log_ratio = b.log_time - a.log_time;
    p->shift.within = a.within + b.within;
    p->shift.runs = 1 / (double)a.runs + 1 / (double)b.runs;
    const bool has_turns = measure_turns(c, p);
    p->ratio.ratio = exp(p->shift.log_ratio);
    p->ratio.call = CALL_FEW_RUNS;
    if (has_turns || !isnan(p->shift.within))
        p->ratio.call = CALL_AMBIGUOUS;
}

/* -- ops ------------------------------------------------------------------ */

static bool find_op(struct comparison *c, const struct pair *p, unsigned *at)
{
    const char *op = json_text_at((p->a ? p->a : p->b)->json, "op");
    for (*at = 0; *at < c->n_ops; ++*at)
        if (xl__streq(c->ops[*at].op, op))
            return true;
    if (c->n_ops == NOISE_MOST_OPS) {
        *at = NOISE_MOST_OPS - 1;
        return true;
    }
    if (!xl__grow(&c->ops, &c->ops_cap, c->n_ops + 1, sizeof *c->ops))
        return false;
    c->ops[c->n_ops++] = (struct op_mean){.op = op};
    return true;
}

/* -- all of it ------------------------------------------------------------ */

/* Those with an interval first, then as they matter: slower ones from the
 * worst, faster ones from the best. */
static int by_weight(const void *pa, const void *pb)
{
    const struct pair *a = pa, *b = pb;
    if (a->ratio.call != b->ratio.call)
        return a->ratio.call < b->ratio.call ? -1 : 1;
    const double sign = a->ratio.call == CALL_FASTER ? 1 : -1;
    const double x = sign * a->ratio.ratio, y = sign * b->ratio.ratio;
    if (x < y || x > y)
        return x < y ? -1 : 1;
    return strcmp(a->label ? a->label : "", b->label ? b->label : "");
}

bool compare_make(struct comparison *c, const struct side *a,
                  const struct side *b, const struct compare_options *how)
{
    *c = (struct comparison){.a = *a, .b = *b};
    c->is_alike = compare_is_alike(a, b);
    if (!(how->by_case ? pair_by_case(c) : pair_by_id(c)))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        measure(c, &c->pairs[i], how->by_case);
        if (!find_op(c, &c->pairs[i], &c->pairs[i].shift.op))
            return false;
        c->n_compared += call_has_interval(c->pairs[i].ratio.call);
    }
    if (!compare_label(c))
        return false;
    qsort(c->pairs, c->n, sizeof *c->pairs, by_weight);
    if (!compare_judge(c, how))
        return false;
    qsort(c->pairs, c->n, sizeof *c->pairs, by_weight);
    return true;
}

void compare_clear(struct comparison *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->pairs[i].label);
    free(c->pairs);
    free(c->ops);
    *c = (struct comparison){.n = 0};
}
