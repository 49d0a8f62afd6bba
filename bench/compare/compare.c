/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a baseline (a) with a candidate (b): pairs the rows of both,
 * estimates by how much each pair differs, and classifies the difference.
 *
 *     rows of a, rows of b -> pairs -> times of each pass -> curves as one row
 *     -> log ratio, variance -> interval -> SLOWER, FASTER, SAME, AMBIGUOUS
 *
 * Rows are paired by id (and device), or by case when each result set is
 * represented by its fastest variant. The compared quantity is the logarithm
 * of a time, so that a difference is the logarithm of a ratio. noise.h has the
 * statistics. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "base/str.h"
#include "compare/curves.h"
#include "compare/differences.h"
#include "compare/passes.h"
#include "results/json.h"
#include "results/result.h"

/* -- rows ----------------------------------------------------------------- */

/* True if two rows have the same id and, unless any device is allowed, the
 * same device. */
static bool matches_row(const struct result_row *a, const struct result_row *b,
                        bool any_device)
{
    return strcmp(a->id, b->id) == 0 &&
           (any_device || strcmp(a->device, b->device) == 0);
}

const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b)
{
    bool any_device = a->n_devices == 1 && b->n_devices == 1;
    size_t n_before = 0;
    for (size_t j = 0; j < i; j++)
        n_before += matches_row(&a->rows[i], &a->rows[j], any_device);
    for (size_t j = 0; j < b->n_rows; j++)
        if (matches_row(&a->rows[i], &b->rows[j], any_device) &&
            n_before-- == 0)
            return &b->rows[j];
    return NULL;
}

static double row_median_ns(const struct result_row *row)
{
    return xl__summarise(row->ns, row->n).median;
}

bool result_set_has(const struct result_set *set, const struct result_row *row)
{
    if (set->device && strcmp(row->device, set->device) != 0)
        return false;
    return set->other ? xl__streq(row->variant, set->other) : !row->is_other;
}

const struct result_row *result_set_fastest(const struct result_set *set,
                                            size_t i_file,
                                            const struct result_row *row)
{
    const struct result_file *f = &set->files[i_file];
    const struct result_row *best = NULL;
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct result_row *r = &f->rows[i];
        if (strcmp(r->case_id, row->case_id) == 0 && result_set_has(set, r) &&
            result_is_timed(r) &&
            (!best || row_median_ns(r) < row_median_ns(best)))
            best = r;
    }
    return best;
}

/* The row of run `i_file` that repeats `row` of the first run: by case or by
 * id; NULL: none. */
static const struct result_row *find_repeat(const struct result_set *set,
                                            const struct result_row *row,
                                            size_t i_file, bool by_case)
{
    if (i_file == 0)
        return row;
    if (by_case)
        return result_set_fastest(set, i_file, row);
    return results_match(&set->files[0], (size_t)(row - set->files[0].rows),
                         &set->files[i_file]);
}

bool result_interleaved(const struct result_file *file,
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

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

double result_metric(const struct result_row *row, double *value,
                     const char **unit)
{
    static const char probe[] = "probe_";
    const char *in = json_text_at(row->json, "unit");
    const double figure = result_number(row, NULL, "value");
    const bool is_time = strcmp(in, "s") == 0 || strcmp(in, "ns") == 0;
    const bool is_rate = ends_with(in, "/s");
    *value = row_median_ns(row);
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
    const double by = shift->log_ratio - shift->beyond;
    const bool is_beyond = shift->beyond > 0 || shift->beyond < 0;
    struct ratio r = {.ratio = exp(shift->log_ratio),
                      .lo = exp(shift->lo),
                      .hi = exp(shift->hi),
                      .call = CALL_AMBIGUOUS,
                      .is_found = shift->is_found};
    if (shift->lo - shift->beyond >= -edge &&
        shift->hi - shift->beyond <= edge)
        r.call = is_beyond ? CALL_AS_ALL : CALL_SAME;
    else if (shift->is_found && by > edge)
        r.call = CALL_SLOWER;
    else if (shift->is_found && by < -edge)
        r.call = CALL_FASTER;
    return r;
}

struct ratio compare_common(const struct comparison *c)
{
    return c->noise.has_common
               ? ratio_of(&c->noise.common, c->margin)
               : (struct ratio){(double)NAN, (double)NAN, (double)NAN,
                                CALL_FEW_RUNS, false};
}

static bool is_paired(const struct comparison *c, const struct pair *p)
{
    return c->is_paired && p->n_values[0] == p->n_values[1];
}

bool pair_set_shift(const struct comparison *c, struct pair *p)
{
    const size_t n_a = p->n_values[0], n_b = p->n_values[1];
    double *scratch = xl__calloc(n_a * (n_b + 1), sizeof *scratch);
    if (scratch && is_paired(c, p))
        noise_paired_difference(p->log_time[0], p->log_time[1], n_a, scratch,
                                &p->shift);
    else if (scratch)
        noise_difference(p->log_time[0], n_a, p->log_time[1], n_b, scratch,
                         &p->shift);
    free(scratch);
    return scratch != NULL;
}

size_t pair_n_values(const struct comparison *c, const struct pair *p,
                     int side)
{
    return is_paired(c, p) && side > 0 ? 0 : p->n_values[side];
}

double pair_value(const struct comparison *c, const struct pair *p, int side,
                  size_t k)
{
    return is_paired(c, p)
               ? (p->log_time[1][k] - p->log_time[0][k]) / sqrt(2)
               : p->log_time[side][k];
}

double pair_missing_passes(const struct comparison *c, const struct pair *p)
{
    return noise_missing(&p->shift, log1p(c->margin / 100));
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

/* -- labels --------------------------------------------------------------- */

static const struct result_row *pair_row(const struct pair *p)
{
    return p->a ? p->a : p->b;
}

/* The name of the kernel: "gemm_cpu" where the variant contains the op, else
 * op and variant, "cache chase". */
static void add_kernel_name(struct xl__str *out, const xl_row *row)
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

/* Labels the pairs of one op: kernel name, and the parameters in which its
 * rows differ. */
static bool label_op_pairs(struct comparison *c, unsigned op)
{
    struct result_table rows = {0};
    struct xl__str text = {0};
    bool fine = true;
    xl_row row;
    for (size_t i = 0; i < c->n && fine; i++)
        if (c->pairs[i].shift.op == op) {
            result_identity(pair_row(&c->pairs[i]), &row);
            fine = result_table_add(&rows, NULL, &row);
        }
    for (size_t i = 0, at = 0; i < c->n && fine; i++) {
        if (c->pairs[i].shift.op != op)
            continue;
        struct xl__str label = {0};
        xl__str_reset(&text);
        result_identity(pair_row(&c->pairs[i]), &row);
        add_kernel_name(&text, &row);
        result_table_label(&rows, at++, &label);
        if (strcmp(xl__str_text(&label), "-") != 0)
            xl__str_printf(&text, " %s", xl__str_text(&label));
        xl__str_clear(&label);
        c->pairs[i].label = text.broken ? NULL : xl__strdup(text.text);
        fine = c->pairs[i].label != NULL;
    }
    xl__str_clear(&text);
    result_table_clear(&rows);
    return fine;
}

/* Sets the label of every pair. False: out of memory. */
static bool label_pairs(struct comparison *c)
{
    bool fine = true;
    for (unsigned op = 0; op < c->n_ops && fine; op++)
        fine = label_op_pairs(c, op);
    return fine;
}

/* -- calls ---------------------------------------------------------------- */

/* Counts the calls of each op, and computes the mean of each op and of all
 * rows with its interval. Intervals hold simultaneously over the ops with
 * timed rows. */
static void classify_ops(struct comparison *c, const struct shift *rows,
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

/* Judges all pairs with a difference, then the means. The first n_compared
 * pairs are those. False: out of memory. */
static bool classify_pairs(struct comparison *c,
                           const struct compare_options *how)
{
    struct shift *rows =
        xl__calloc(c->n_compared ? c->n_compared : 1, sizeof *rows);
    struct noise_input in;
    for (size_t i = 0; rows && i < c->n_compared; i++)
        rows[i] = c->pairs[i].shift;
    compare_noise_input(c, how, &in);
    const bool fine =
        rows && noise_judge(&c->noise, rows, c->n_compared, &in);
    for (size_t i = 0; fine && i < c->n_compared; i++) {
        c->pairs[i].shift = rows[i];
        c->pairs[i].ratio = ratio_of(&rows[i], how->margin);
    }
    if (fine)
        classify_ops(c, rows, how->margin);
    free(rows);
    return fine;
}

static const char *const call_names[N_CALLS] = {
    "SLOWER",   "FASTER",         "AMBIGUOUS", "SAME",         "as all",
    "few runs", "not comparable", "no time",   "missing in b", "new in b"};

const char *call_name(enum call call)
{
    return call_names[call];
}

bool call_has_interval(enum call call)
{
    return call <= CALL_AS_ALL;
}

/* -- pairs ---------------------------------------------------------------- */

static bool add_pair(struct comparison *c, const struct result_row *a,
                     const struct result_row *b)
{
    if (!xl__grow(&c->pairs, &c->cap, c->n + 1, sizeof *c->pairs))
        return false;
    c->pairs[c->n++] =
        (struct pair){.a = a,
                      .b = b,
                      .unit = "ns",
                      .a_value = (double)NAN,
                      .b_value = (double)NAN,
                      .ratio = {(double)NAN, (double)NAN, (double)NAN,
                                !b  ? CALL_MISSING
                                : a ? CALL_UNTIMED
                                    : CALL_NEW,
                                false}};
    return true;
}

/* The match of `row` in b. Without one: the fastest row of the same case in b,
 * if `row` is the fastest of its case in a and that row of b has no match in a
 * (another variant was selected). */
static const struct result_row *find_match(const struct result_set *a,
                                           const struct result_row *row,
                                           const struct result_set *b)
{
    const struct result_file *from = &a->files[0], *to = &b->files[0];
    const struct result_row *match =
        results_match(from, (size_t)(row - from->rows), to);
    if (match)
        return match;
    const bool any_device = from->n_devices == 1 && to->n_devices == 1;
    struct result_set set_a = *a, set_b = *b;
    set_a.device = row->device;
    set_b.device = any_device ? NULL : row->device;
    match = result_set_fastest(&set_a, 0, row) == row
                ? result_set_fastest(&set_b, 0, row)
                : NULL;
    return match && !results_match(to, (size_t)(match - to->rows), from)
               ? match
               : NULL;
}

/* Pairs each row of a with its match in b, then adds the rows of b without a
 * match. */
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

/* Pairs the fastest row of each case of a with the fastest of the case in
 * b. */
static bool pair_by_case(struct comparison *c)
{
    const struct result_file *a = &c->a.files[0];
    bool fine = true;
    for (size_t i = 0; i < a->n_rows && fine; i++)
        if (result_set_fastest(&c->a, 0, &a->rows[i]) == &a->rows[i])
            fine = add_pair(c, &a->rows[i],
                            result_set_fastest(&c->b, 0, &a->rows[i]));
    return fine;
}

/* Pairs the rows of two set-ups of one command in their order: an option may
 * change the id of each row. Nothing changes where ids match or the rows are
 * not of the same ops. False: out of memory. */
static bool pair_by_order(struct comparison *c)
{
    const struct result_file *a = &c->a.files[0], *b = &c->b.files[0];
    bool is_same = a->n_rows == b->n_rows;
    for (size_t i = 0; i < a->n_rows && is_same; i++)
        is_same = xl__streq(json_text_at(a->rows[i].json, "op"),
                            json_text_at(b->rows[i].json, "op"));
    for (size_t i = 0; i < c->n && is_same; i++)
        is_same = !c->pairs[i].a || !c->pairs[i].b;
    if (!is_same)
        return true;
    c->n = 0;
    for (size_t i = 0; i < a->n_rows; i++)
        if (!add_pair(c, &a->rows[i], &b->rows[i]))
            return false;
    return true;
}

/* -- what they differ by -------------------------------------------------- */

/* One row of a result set: the logarithms of its times, one of each pass of
 * each run that has a valid time. */
struct set_times {
    double *log_time;
    size_t n, cap;
    double log_value; /* mean of the logarithms of the compared quantity */
    double within;    /* variance of the mean, from the samples */
    bool is_alike;    /* all: same unit, same clock */
    const char *unit, *clock;
};

static bool add_time(struct set_times *t, const struct result_row *row)
{
    const char *clock = json_text_at(row->json, "clock"), *unit = NULL;
    double value = 0;
    if (!xl__grow(&t->log_time, &t->cap, t->n + 1, sizeof *t->log_time))
        return false;
    t->log_time[t->n] = result_metric(row, &value, &unit);
    t->is_alike = t->is_alike && (t->n == 0 || (xl__streq(t->unit, unit) &&
                                                xl__streq(t->clock, clock)));
    t->unit = unit;
    t->clock = clock;
    t->log_value += log(value);
    t->within += noise_within(row->ns, row->n);
    t->n++;
    return true;
}

/* Reads a row of all runs. False: out of memory. */
static bool read_set(const struct result_set *set,
                     const struct result_row *row, bool by_case,
                     struct set_times *t)
{
    bool fine = true;
    *t = (struct set_times){.is_alike = true};
    for (size_t f = 0; f < set->n_files && fine; f++) {
        const struct result_row *r = find_repeat(set, row, f, by_case);
        if (!r || !result_is_timed(r))
            continue;
        fine = add_time(t, r);
        for (size_t k = 0; k < r->n_passes && fine; k++)
            fine = add_time(t, &r->pass[k]);
    }
    const double n = (double)(t->n ? t->n : 1);
    t->log_value /= n;
    t->within /= n * n;
    return fine;
}

/* Uses the ratio of an interleaved measurement with a peer library, if
 * there is one: both were timed round by round, so no noise between runs is
 * in it. */
static bool use_interleaved(const struct comparison *c, struct pair *p)
{
    static const double deviates = 1.96; /* standard deviations */
    struct ratio interleaved;
    if (!c->b.other || !result_interleaved(&c->b.files[0], p->b, &interleaved))
        return false;
    const double half = log(interleaved.hi / interleaved.lo) / 2 / deviates;
    p->shift.log_ratio = log(interleaved.ratio);
    p->shift.within = half * half;
    p->shift.runs = 0;
    p->shift.df = 0;
    return true;
}

/* The very same measurement in one file each, not a repeated one. */
static bool is_same_measurement(const struct comparison *c,
                                const struct pair *p)
{
    return c->a.n_files == 1 && c->b.n_files == 1 &&
           json_equal(p->a->json, p->b->json);
}

/* Durations of one class: below 100 us, to 10 ms, and longer. */
static unsigned duration_range(double log_ns)
{
    static const double short_ns = 1e5, long_ns = 1e7;
    return log_ns > log(long_ns) ? 2 : log_ns > log(short_ns) ? 1 : 0;
}

/* Sets the difference of a pair, or the reason why there is none. Rows with
 * different units, or different clocks on similar devices, are not
 * comparable. The clocks may differ between drivers: one may have no reliable
 * event clock. */
static bool set_difference(const struct comparison *c, struct pair *p,
                           const struct set_times *a,
                           const struct set_times *b)
{
    p->a_value = exp(a->log_value);
    p->b_value = exp(b->log_value);
    p->unit = a->unit;
    p->ratio.call = CALL_UNLIKE;
    if (!a->is_alike || !b->is_alike || !xl__streq(a->unit, b->unit) ||
        (c->is_alike && !xl__streq(a->clock, b->clock)))
        return true;
    if (!pair_set_shift(c, p))
        return false;
    p->shift.within = a->within + b->within;
    p->shift.range = duration_range(log(row_median_ns(p->a)));
    p->shift.is_equal = is_same_measurement(c, p);
    const bool is_interleaved = use_interleaved(c, p);
    p->ratio.ratio = exp(p->shift.log_ratio);
    p->ratio.call = CALL_FEW_RUNS;
    /* One round shows nothing of the noise between rounds. */
    const bool has_noise = !isnan(p->shift.within) && !c->is_paired;
    if (is_interleaved || p->shift.df > 0 || has_noise || p->shift.is_equal)
        p->ratio.call = CALL_AMBIGUOUS;
    return true;
}

/* Reads both sides of a pair; it keeps the times. False: out of memory. */
static bool measure_pair(const struct comparison *c, struct pair *p,
                         bool by_case)
{
    struct set_times a = {0}, b = {0};
    if (!p->a || !p->b || !result_is_timed(p->a) || !result_is_timed(p->b))
        return true;
    const bool is_read = read_set(&c->a, p->a, by_case, &a) &&
                         read_set(&c->b, p->b, by_case, &b);
    p->log_time[0] = a.log_time;
    p->log_time[1] = b.log_time;
    p->n_values[0] = a.n;
    p->n_values[1] = b.n;
    return is_read && set_difference(c, p, &a, &b);
}

/* -- ops ------------------------------------------------------------------ */

/* Finds or adds the op of a pair; ops beyond NOISE_MOST_OPS share the last
 * entry. */
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

/* Orders by classification, then by size of the effect: slower rows from the
 * largest ratio, faster rows from the smallest. */
static int order_pairs(const void *pa, const void *pb)
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

bool compare_make(struct comparison *c, const struct result_set *a,
                  const struct result_set *b,
                  const struct compare_options *how)
{
    *c = (struct comparison){.a = *a,
                             .b = *b,
                             .margin = how->margin,
                             .is_paired = how->is_paired};
    c->is_alike = compare_is_alike(a, b);
    if (!(how->by_case ? pair_by_case(c) : pair_by_id(c)) ||
        (c->is_paired && !pair_by_order(c)))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        if (!measure_pair(c, &c->pairs[i], how->by_case) ||
            !find_op(c, &c->pairs[i], &c->pairs[i].shift.op))
            return false;
    }
    if (!compare_align_passes(c) || !label_pairs(c) || !compare_fold_curves(c))
        return false;
    for (size_t i = 0; i < c->n; i++)
        c->n_compared += call_has_interval(c->pairs[i].ratio.call);
    qsort(c->pairs, c->n, sizeof *c->pairs, order_pairs);
    if (!classify_pairs(c, how))
        return false;
    qsort(c->pairs, c->n, sizeof *c->pairs, order_pairs);
    return true;
}

void compare_clear(struct comparison *c)
{
    for (size_t i = 0; i < c->n; i++)
        compare_clear_pair(&c->pairs[i]);
    free(c->pairs);
    free(c->ops);
    *c = (struct comparison){.n = 0};
}
