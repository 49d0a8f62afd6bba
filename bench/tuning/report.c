/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `clbench tune`: tables of the classes, of the candidates and
 * of the saved sets, and the rows of the result file. */
#include "tuning/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "results/json.h"
#include "cli/table.h"
#include "cli/console.h"
#include "results/result.h"
#include "cli/units.h"

enum { INDENT = 2, DEEPER = 4 };

static const char *const outcomes[XL_N_CANDIDATE_ENDS] = {
    [XL_CANDIDATE_WRONG] = "computed wrongly",
    [XL_CANDIDATE_REFUSED] = "not built",
    [XL_CANDIDATE_CRASHED] = "crashed",
    [XL_CANDIDATE_HUNG] = "hung"};

/* -- the table ------------------------------------------------------------ */

static void add_time_cell(struct table *t, double ns)
{
    char text[UNITS_CAP];
    units_time(text, sizeof text, ns);
    table_cell(t, "%s", text);
}

static void add_gain_cell(struct table *t, const xl_tuned *f)
{
    char text[UNITS_CAP];
    if (!(f->gain > 0)) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    snprintf(text, sizeof text, "%.2fx", f->gain);
    table_cell_coloured(t, f->gain_lo > 1 ? TABLE_GREEN : TABLE_PLAIN, text);
    units_percent(text, sizeof text, (f->gain_hi - f->gain_lo) / 2 / f->gain);
    table_cell(t, "%s", text);
}

static void add_result_row(struct table *t, const struct tune_result *r,
                           bool is_typed)
{
    enum { N_WITHOUT = 6 };
    char name[96];
    const xl_tuned *f = &r->found;
    tune_class_text(r->of, is_typed, name, sizeof name);
    table_cell(t, "%s", name);
    if (r->status == XL_OK) {
        table_cell(t, "%s", *f->model.variant ? f->model.variant : "-");
        add_time_cell(t, f->model_ns);
        table_cell(t, "%s", f->best.variant);
        add_time_cell(t, f->best_ns);
        add_gain_cell(t, f);
    } else {
        for (unsigned i = 0; i < N_WITHOUT; i++)
            table_cell(t, "-");
    }
    table_cell(t, "%u", f->n_tried);
    table_cell(t, "%u", f->n_lost);
}

/* Print below the table: the tunables of the winner, how candidates were lost,
 * and whether the search is complete. */
static void print_details(const struct tune_result *r, bool is_typed)
{
    char name[96];
    unsigned n_of[XL_N_CANDIDATE_ENDS] = {0};
    struct xl__str text = {0};
    tune_class_text(r->of, is_typed, name, sizeof name);
    xl__str_printf(&text, "%s:", name);
    if (r->status == XL_OK)
        xl__str_printf(&text, " %s %s", r->found.best.variant,
                       r->found.best.tunables);
    else
        xl__str_add(&text, r->status == XL_CANCELLED
                               ? " nothing was right when the time was over"
                               : " nothing is right on this device");
    for (size_t i = 0; i < r->n_attempts; i++)
        n_of[r->attempts[i].result.end]++;
    for (unsigned i = 0; i < XL_N_CANDIDATE_ENDS; i++)
        if (outcomes[i] && n_of[i] > 0)
            xl__str_printf(&text, "; %u %s", n_of[i], outcomes[i]);
    if (r->found.n_resumed > 0)
        xl__str_printf(&text, "; %u known from before", r->found.n_resumed);
    if (!r->found.is_complete && r->status != XL_UNSUPPORTED)
        xl__str_printf(&text, "; %u of %u candidates were tried: run it again "
                              "to go on",
                       r->found.n_tried, r->found.n_candidates);
    text_wrap(stdout, xl__str_text(&text), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&text);
}

/* Print the file of each result, each file once. */
static void print_files(const struct tune_result *results, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool is_printed = !results[i].is_saved;
        for (unsigned j = 0; j < i && !is_printed; j++)
            is_printed = results[j].is_saved &&
                         xl__streq(results[i].file, results[j].file);
        if (!is_printed)
            printf("  saved in %s\n",
                   results[i].file ? results[i].file : "the user's settings");
    }
}

/* Do the classes differ in type? If not, the heading has the type. */
static bool types_differ(const struct tune_result *results, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (results[i].of->dtype != results[0].of->dtype)
            return true;
    return false;
}

static void print_heading(const struct session *s, const char *what)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s on %u: %s", what, xl_device_index(s->devices[0]),
                   device_fact_text(s->devices[0], "name", "?"));
    text_line(stdout, xl__str_text(&line));
    xl__str_clear(&line);
}

void tune_print(const struct session *s, const struct tune_result *results,
                unsigned n)
{
    static const struct table_column columns[] = {
        {"class", false, 12}, {"model", false, 8}, {"time", true, 0},
        {"winner", false, 8}, {"time", true, 0},   {"gain", true, 0},
        {"+-", true, 0},      {"tried", true, 0},  {"lost", true, 0}};
    if (n == 0 || !session_tables(s))
        return;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    const bool is_typed = types_differ(results, n);
    for (unsigned i = 0; i < n; i++)
        add_result_row(t, &results[i], is_typed);
    print_heading(s, "Tuned");
    if (!is_typed)
        printf("  %s, %s\n", results[0].of->op->name,
               xl_dtype_name(results[0].of->dtype));
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
    for (unsigned i = 0; i < n; i++)
        print_details(&results[i], is_typed);
    print_files(results, n);
}

void tune_print_candidates(const struct session *s,
                           const struct tune_result *r)
{
    static const struct table_column columns[] = {
        {"", true, 0}, {"expected", true, 0}, {"variant", false, 8},
        {"tunables", false, 8}};
    enum { A_SCREEN = 40 };
    const size_t n = r->n_attempts < A_SCREEN ? r->n_attempts : A_SCREEN;
    char name[96];
    if (!session_tables(s))
        return;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < n; i++) {
        const xl_candidate *c = &r->attempts[i].candidate;
        table_cell(t, "%zu", i + 1);
        add_time_cell(t, c->est_ns);
        table_cell(t, "%s", c->variant);
        table_cell(t, "%s", *c->tunables ? c->tunables : "-");
    }
    tune_class_text(r->of, true, name, sizeof name);
    printf("%s: %zu candidates\n", name, r->n_attempts);
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    if (n < r->n_attempts)
        printf("  and %zu more: --json FILE writes all\n",
               r->n_attempts - n);
    table_destroy(t);
}

/* -- the result file ------------------------------------------------------ */

static json_t *candidate_json(const xl_candidate *c)
{
    json_t *out = json_object();
    json_put(out, "variant", json_text(c->variant));
    json_put(out, "tunables", json_text(c->tunables));
    json_put(out, "est_ns", json_number(c->est_ns));
    return out;
}

static json_t *attempt_json(const struct tune_attempt *a)
{
    json_t *out = candidate_json(&a->candidate);
    const xl_candidate_result *t = &a->result;
    json_put(out, "end", json_string(xl_candidate_end_name(t->end)));
    json_put(out, "runs", json_integer(t->runs));
    json_put(out, "median_ns", json_number(t->median_ns));
    json_put(out, "mad_ns", json_number(t->mad_ns));
    json_put(out, "why", json_text(*t->why ? t->why : NULL));
    return out;
}

static json_t *found_json(const struct tune_result *r)
{
    const xl_tuned *f = &r->found;
    const bool has = r->status == XL_OK;
    json_t *out = json_object();
    json_put(out, "shape_class", json_text(has ? f->shape_class : NULL));
    json_put(out, "winner", has ? candidate_json(&f->best) : NULL);
    json_put(out, "model", has ? candidate_json(&f->model) : NULL);
    json_put(out, "gain", json_number(has ? f->gain : NAN));
    json_put(out, "gain_lo", json_number(has ? f->gain_lo : NAN));
    json_put(out, "gain_hi", json_number(has ? f->gain_hi : NAN));
    json_put(out, "space", json_integer(f->n_space));
    json_put(out, "candidates", json_integer(f->n_candidates));
    json_put(out, "tried", json_integer(f->n_tried));
    json_put(out, "lost", json_integer(f->n_lost));
    json_put(out, "resumed", json_integer(f->n_resumed));
    json_put(out, "complete", json_boolean(f->is_complete));
    return out;
}

static json_t *result_json(const struct tune_result *r)
{
    char name[96];
    json_t *out = found_json(r), *trials = json_array();
    tune_class_text(r->of, true, name, sizeof name);
    for (size_t i = 0; i < r->n_attempts; i++)
        json_add(trials, attempt_json(&r->attempts[i]));
    json_put(out, "op", json_string(r->of->op->name));
    json_put(out, "class", json_text(name));
    json_put(out, "status", json_string(xl_status_name(r->status)));
    json_put(out, "took_s", json_number(r->took_s));
    json_put(out, "file", json_text(r->file));
    json_put(out, "trials", trials);
    return out;
}

/* Record the times of the model's choice or of the winner as a row. The row's
 * variant is `which`, "model" or "tuned", so that rows of two searches match
 * whatever variant won. */
static void record_row(struct session *s, const struct tune_result *r,
                       const char *which, const double *ns)
{
    xl_row row;
    const unsigned n = r->found.n_pairs;
    const struct xl__summary sum = xl__summarise(ns, n);
    xl_row_init(&row, r->of->op->name, which);
    r->of->op->describe(r->of->c, &row);
    row.samples.runs = n;
    row.samples.batch = 1;
    row.samples.median_ns = sum.median;
    row.samples.mad_ns = sum.mad;
    row.samples.min_ns = sum.min;
    row.samples.lo_ns = sum.lo;
    row.samples.hi_ns = sum.hi;
    memcpy(row.samples.ns, ns, n * sizeof *ns);
    const double amount =
        strcmp(row.unit, "flop/s") == 0 ? row.flop : row.bytes;
    row.value = amount / sum.median * 1e9;
    session_record(s, s->devices[0], &row);
}

static json_t *json_member(struct session *s, const char *member)
{
    if (!s->extra)
        s->extra = json_object();
    if (!json_object_get(s->extra, member))
        json_put(s->extra, member, json_array());
    return json_object_get(s->extra, member);
}

void tune_record(struct session *s, const struct tune_result *r)
{
    json_add(json_member(s, "tuned"), result_json(r));
    if (r->status != XL_OK || r->found.n_pairs == 0)
        return;
    record_row(s, r, "model", r->found.model_run_ns);
    record_row(s, r, "tuned", r->found.best_run_ns);
}

/* -- saved sets ----------------------------------------------------------- */

static json_t *entry_json(const xl_tuned_entry *e)
{
    const struct {
        const char *name, *text;
    } texts[] = {{"op", e->op},           {"shape_class", e->shape_class},
                 {"variant", e->variant}, {"tunables", e->tunables},
                 {"origin", e->origin},   {"driver", e->driver},
                 {"date", e->date}};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_put(out, texts[i].name, json_text(texts[i].text));
    json_put(out, "median_ns", json_number(e->median_ns));
    json_put(out, "mad_ns", json_number(e->mad_ns));
    json_put(out, "gain", json_number(e->gain));
    json_put(out, "stale", json_boolean(e->is_stale));
    json_put(out, "shadowed", json_boolean(e->is_shadowed));
    return out;
}

static void print_entry(const xl_tuned_entry *e)
{
    char time[UNITS_CAP], spread[UNITS_CAP];
    struct xl__str text = {0};
    unsigned width = text_terminal_columns();
    units_time(time, sizeof time, e->median_ns);
    units_percent(spread, sizeof spread, e->mad_ns / e->median_ns);
    xl__str_printf(&text, "%s %s: %s %s", e->op, e->shape_class, e->variant,
                   e->tunables);
    text_wrap(stdout, xl__str_text(&text), INDENT, width - INDENT);
    xl__str_reset(&text);
    xl__str_printf(&text, "%s +- %s", time, spread);
    if (e->gain > 0)
        xl__str_printf(&text, ", %.2fx the model's choice", e->gain);
    xl__str_printf(&text, ", %s, %s", e->date, e->driver);
    text_wrap(stdout, xl__str_text(&text), DEEPER, width - DEEPER);
    xl__str_reset(&text);
    xl__str_printf(&text, "%s%s%s", e->origin,
                   e->is_shadowed ? "; not used: a set of higher priority has "
                                    "this class"
                                  : "",
                   e->is_stale ? "; stale: of another driver or other "
                                 "kernels, used while it passes the "
                                 "self-check"
                               : "");
    text_wrap(stdout, xl__str_text(&text), DEEPER, width - DEEPER);
    xl__str_clear(&text);
}

static void list_entry(const xl_tuned_entry *e, void *arg)
{
    struct session *s = arg;
    json_add(json_member(s, "tuned_sets"), entry_json(e));
    if (session_tables(s))
        print_entry(e);
}

int tune_list(struct session *s, xl_queue *q)
{
    json_t *list = json_member(s, "tuned_sets");
    if (session_tables(s))
        print_heading(s, "Tuned sets");
    xl_status status = xl_tuned_list(q, list_entry, s);
    if (status != XL_OK)
        return session_fail(s, "listing tuned sets", status,
                            xl_error_detail(q));
    if (json_array_size(list) == 0 && session_tables(s))
        printf("  none; 'clbench tune gemm' finds some\n");
    return EXIT_FINE;
}
