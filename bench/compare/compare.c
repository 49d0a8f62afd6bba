/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/str.h"
#include "compare/differences.h"
#include "results/json.h"
#include "results/result.h"

/* -- rows --------------------------------------------------------------------- */

static bool fits(const struct result_row *a, const struct result_row *b,
                 bool any_device)
{
    return strcmp(a->id, b->id) == 0 &&
           (any_device || strcmp(a->device, b->device) == 0);
}

const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b)
{
    bool any_device = a->n_devices == 1 && b->n_devices == 1;
    size_t turn = 0;
    for (size_t j = 0; j < i; j++)
        turn += fits(&a->rows[i], &a->rows[j], any_device);
    for (size_t j = 0; j < b->n_rows; j++)
        if (fits(&a->rows[i], &b->rows[j], any_device) && turn-- == 0)
            return &b->rows[j];
    return NULL;
}

static double median_of(const struct result_row *row)
{
    return xl__summarise(row->ns, row->n).median;
}

static bool is_of_side(const struct side *side, const struct result_row *row)
{
    if (side->device && strcmp(row->device, side->device) != 0)
        return false;
    return side->other ? xl__streq(row->variant, side->other)
                       : !row->is_other;
}

const struct result_row *side_fastest(const struct side *side, size_t i_file,
                                      const struct result_row *row)
{
    const struct result_file *f = &side->files[i_file];
    const struct result_row *best = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *r = &f->rows[i];
        if (strcmp(r->only_case, row->only_case) == 0 &&
            is_of_side(side, r) && result_is_timed(r) &&
            (!best || median_of(r) < median_of(best)))
            best = r;
    }
    return best;
}

static const struct result_row *side_again(const struct side *side,
                                    const struct result_row *row,
                                    size_t i_file, bool by_case)
{
    if (i_file == 0)
        return row;
    if (by_case)
        return side_fastest(side, i_file, row);
    return results_match(&side->files[0], (size_t)(row - side->files[0].rows),
                         &side->files[i_file]);
}

bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct ratio *out)
{
    const json_t *pairs = json_object_get(file->document, "pairs");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        if (!xl__streq(json_text_at(pair, "theirs"), theirs->id))
            continue;
        out->ratio = json_number_value(json_object_get(pair, "ratio"));
        out->lo = json_number_value(json_object_get(pair, "lo"));
        out->hi = json_number_value(json_object_get(pair, "hi"));
        return out->lo > 0 && out->ratio >= out->lo && out->hi >= out->ratio &&
               isfinite(out->hi);
    }
    return false;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

double result_figure(const struct result_row *row, double *value,
                     const char **unit)
{
    static const char probe[] = "probe_";
    const char *in = json_text_at(row->json, "unit");
    const double figure = result_number(row, NULL, "value");
    const bool is_time = strcmp(in, "s") == 0 || strcmp(in, "ns") == 0;
    const bool is_rate = ends_in(in, "/s");
    *value = median_of(row);
    *unit = "ns";
    if (strncmp(row->id, probe, sizeof probe - 1) != 0 || !(figure > 0) ||
        !isfinite(figure) || !(is_time || is_rate))
        return log(*value);
    *value = figure;
    *unit = in;
    return is_time ? log(figure) : -log(figure);
}

struct ratio ratio_of(const struct shift *shift, double margin_percent)
{
    const double edge = log1p(margin_percent / 100);
    struct ratio r = {.ratio = exp(shift->log_ratio),
                      .lo = exp(shift->lo),
                      .hi = exp(shift->hi),
                      .call = CALL_AMBIGUOUS};
    if (shift->lo >= -edge && shift->hi <= edge)
        r.call = CALL_SAME;
    else if (shift->lo > 0 && shift->log_ratio > edge)
        r.call = CALL_SLOWER;
    else if (shift->hi < 0 && shift->log_ratio < -edge)
        r.call = CALL_FASTER;
    return r;
}

bool pair_is_rejected(const struct pair *pair)
{
    return pair->a && pair->b && result_is_timed(pair->a) &&
           (xl__streq(pair->b->verdict, "rejected") ||
            xl__streq(pair->b->verdict, "error"));
}

bool pair_is_variant_changed(const struct pair *pair)
{
    return pair->a && pair->b &&
           !xl__streq(pair->a->variant, pair->b->variant);
}

/* -- labels ------------------------------------------------------------------- */

static const struct result_row *row_of(const struct pair *p)
{
    return p->a ? p->a : p->b;
}

/* "gemm_cpu", whose variant names its op; "cache chase", which does not. */
static void add_kernel(struct xl__str *out, const xl_row *row)
{
    static const char probe[] = "probe_";
    const size_t skip = sizeof probe - 1;
    const size_t n = strlen(row->op);
    const char *op = strncmp(row->op, probe, skip) == 0 ? row->op + skip
                                                        : row->op;
    if (n > 0 && strncmp(row->variant, row->op, n) == 0)
        xl__str_add(out, row->variant);
    else
        xl__str_printf(out, "%s%s%s", op, *row->variant ? " " : "",
                       row->variant);
}

/* The pairs of one op. */
static bool label_op(struct comparison *c, unsigned op)
{
    struct rows rows = {0};
    struct xl__str text = {0};
    bool fine = true;
    xl_row row;
    for (size_t i = 0; i < c->n && fine; i++)
        if (c->pairs[i].shift.op == op) {
            result_identity(row_of(&c->pairs[i]), &row);
            fine = rows_add(&rows, NULL, &row);
        }
    for (size_t i = 0, at = 0; i < c->n && fine; i++) {
        if (c->pairs[i].shift.op != op)
            continue;
        struct xl__str words = {0};
        xl__str_reset(&text);
        result_identity(row_of(&c->pairs[i]), &row);
        add_kernel(&text, &row);
        rows_case(&rows, at++, &words);
        if (strcmp(xl__str_text(&words), "-") != 0)
            xl__str_printf(&text, " %s", xl__str_text(&words));
        xl__str_clear(&words);
        c->pairs[i].label = text.broken ? NULL : xl__strdup(text.text);
        fine = c->pairs[i].label != NULL;
    }
    xl__str_clear(&text);
    rows_clear(&rows);
    return fine;
}

static bool compare_label(struct comparison *c)
{
    bool fine = true;
    for (unsigned op = 0; op < c->n_ops && fine; op++)
        fine = label_op(c, op);
    return fine;
}

/* -- noise and calls ---------------------------------------------------------- */

/* -- the noise ------------------------------------------------------------ */

/* What each run of a side differs by from the one before it. */
static bool add_repeats(struct comparison *c, const struct side *side,
                        struct pair *p, const struct result_row *row,
                        bool by_case, struct shift **list, size_t *n,
                        size_t *cap)
{
    for (size_t f = 1; row && f < side->n_files; f++) {
        const struct result_row *was =
            side_again(side, row, f - 1, by_case);
        const struct result_row *is = side_again(side, row, f, by_case);
        const char *unit = NULL;
        double value = 0;
        if (!was || !is || !result_is_timed(was) || !result_is_timed(is))
            continue;
        struct shift s = {.op = p->shift.op, .runs = 2};
        s.log_ratio = result_figure(is, &value, &unit) -
                      result_figure(was, &value, &unit);
        s.within = noise_within(was->ns, was->n) +
                   noise_within(is->ns, is->n);
        if (isnan(s.within))
            continue;
        if (!xl__grow(list, cap, *n + 1, sizeof **list))
            return false;
        (*list)[(*n)++] = s;
        const double square = s.log_ratio * s.log_ratio;
        const size_t repeats = c->a.n_files + c->b.n_files - 2;
        p->shift.own += square / (double)repeats;
    }
    return true;
}

/* Repeats tell it; else the rows do, if they are runs of the same and enough;
 * else nobody. */
static bool find_noise(struct comparison *c, struct shift *rows,
                       const struct compare_options *how)
{
    struct shift *list = NULL;
    size_t n = 0, cap = 0;
    bool fine = true;
    for (size_t i = 0; i < c->n_compared && fine; i++) {
        struct pair *p = &c->pairs[i];
        fine = add_repeats(c, &c->a, p, p->a, how->by_case, &list, &n, &cap) &&
               add_repeats(c, &c->b, p, p->b, how->by_case, &list, &n, &cap);
        rows[i] = p->shift;
    }
    if (!isnan(how->assumed))
        noise_assume(&c->noise, how->assumed);
    else if (n >= NOISE_FEWEST_ROWS)
        fine = fine && noise_from_repeats(&c->noise, list, n);
    else if (c->is_alike && c->n_compared >= NOISE_FEWEST_ROWS)
        fine = fine && noise_from_rows(&c->noise, rows, c->n_compared);
    else
        noise_assume(&c->noise, COMPARE_NOISE);
    free(list);
    return fine;
}

/* -- calls ---------------------------------------------------------------- */

static void call_ops(struct comparison *c, const struct shift *rows,
                     double margin)
{
    unsigned n_timed = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        c->ops[p->shift.op].n_call[p->ratio.call]++;
        c->all.n_call[p->ratio.call]++;
    }
    for (unsigned o = 0; o < c->n_ops; o++)
        for (enum call k = 0; k < N_CALLS; k++)
            if (call_has_interval(k) && c->ops[o].n_call[k] > 0) {
                n_timed++;
                break;
            }
    for (unsigned o = 0; o < c->n_ops; o++) {
        const struct shift mean =
            noise_mean(&c->noise, rows, c->n_compared, o, n_timed);
        c->ops[o].mean = ratio_of(&mean, margin);
    }
    const struct shift mean =
        noise_mean(&c->noise, rows, c->n_compared, 0, 0);
    c->all.mean = ratio_of(&mean, margin);
}

static bool compare_judge(struct comparison *c, const struct compare_options *how)
{
    struct shift *rows =
        xl__calloc(c->n_compared ? c->n_compared : 1, sizeof *rows);
    const bool fine = rows && find_noise(c, rows, how);
    if (fine) {
        noise_intervals(&c->noise, rows, c->n_compared);
        for (size_t i = 0; i < c->n_compared; i++) {
            c->pairs[i].shift = rows[i];
            c->pairs[i].ratio = ratio_of(&rows[i], how->margin);
        }
        call_ops(c, rows, how->margin);
    }
    free(rows);
    return fine;
}

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
static const struct result_row *find_match(const struct side *a,
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
        fine = add_pair(c, &a->rows[i], find_match(&c->a, &a->rows[i], &c->b));
    for (size_t i = 0; i < b->n_rows && fine; i++)
        if (!find_match(&c->b, &b->rows[i], &c->a))
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

static void measure_pair(const struct comparison *c, struct pair *p, bool by_case)
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
        measure_pair(c, &c->pairs[i], how->by_case);
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
