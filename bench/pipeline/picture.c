/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a pipeline measurement to a terminal: time and shares of each mode,
 * bars of lanes on one time scale, stages, first calls, and the bound.
 *
 *     pageable    ^^^^^^^^##vvvvvvvvvvvv..     ^ upload  # kernels
 *     overlapped  ^^ ^^ ^^                     v download  . waits
 *                   ## ## ##
 *                     vvvv vvvv vvvv */
#include "pipeline/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/report.h"
#include "report/report.h"
#include "report/columns.h"
#include "results/result.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

static const char marks[N_LANES] = {'^', '#', 'v'};
static const char waiting = '.';

/* -- bars ----------------------------------------------------------------- */

void pipe_bar(const struct pipe_result *x, unsigned lane, double span_ns,
              unsigned columns, char *out)
{
    const struct pipe_record *r = &x->best;
    const double each = span_ns / columns;
    const double total = (double)(r->end_ns - r->begin_ns);
    unsigned n = (unsigned)fmin(ceil(total / each), columns);
    memset(out, x->mode->is_cut ? ' ' : waiting, n);
    /* the lane with the largest share of a column is shown */
    for (unsigned i = 0; i < n; i++) {
        const double from = i * each, to = from + each;
        double most = 0;
        for (size_t j = 0; j < r->n; j++) {
            const struct pipe_command *c = &r->list[j];
            const double start = (double)(c->start_ns - (int64_t)r->begin_ns);
            const double end = (double)(c->end_ns - (int64_t)r->begin_ns);
            const double overlap = fmin(end, to) - fmax(start, from);
            const bool counts = !x->mode->is_cut || c->lane == lane;
            if (counts && overlap > most) {
                most = overlap;
                out[i] = marks[c->lane];
            }
        }
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

/* The longest recorded run; it spans the whole width. */
static double longest_run(const struct pipe_bench *b)
{
    double most = 0;
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        const struct pipe_record *r = &b->result[i].best;
        if (r->n > 0)
            most = fmax(most, (double)(r->end_ns - r->begin_ns));
    }
    return most;
}

static void print_bars(const struct pipe_bench *b)
{
    enum { NAME = 12, MOST = 200 };
    const double span_ns = longest_run(b);
    const unsigned width = text_terminal_columns();
    unsigned columns = width > NAME + 20 ? width - NAME - 3 : 20;
    char bar[MOST + 1], text[UNITS_CAP];
    columns = columns > MOST ? MOST : columns;
    if (!(span_ns > 0))
        return;
    units_time(text, sizeof text, span_ns);
    printf("\n  %-*s%c upload  %c kernels  %c download  %c calls and waits; "
           "width %s\n",
           NAME, "one run", marks[0], marks[1], marks[2], waiting, text);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        const struct pipe_result *x = &b->result[i];
        const unsigned n = x->mode->is_cut ? N_LANES : 1;
        /* runs whose commands were waited for have no overlap */
        if (x->best.n == 0 || (x->mode->is_cut && !b->has_event_times))
            continue;
        for (unsigned l = 0; l < n; l++) {
            pipe_bar(x, l, span_ns, columns, bar);
            printf("  %-*s%s\n", NAME, l == 0 ? x->mode->name : "", bar);
        }
    }
}

/* -- tables --------------------------------------------------------------- */

static void add_time_cell(struct table *t, double ns)
{
    char text[UNITS_CAP];
    units_time(text, sizeof text, ns);
    table_cell(t, "%s", text);
}

static void add_share_cells(struct table *t, const struct pipe_times *p,
                            double rest)
{
    for (unsigned l = 0; l < N_LANES; l++)
        report_cell_percent(t, p->lane[l] / p->total);
    report_cell_percent(t, rest / p->total);
}

static void add_empty_cells(struct table *t, unsigned n)
{
    while (n-- > 0)
        table_cell(t, "-");
}

/* Adds the row of a mode: time, shares of the lanes, gain over the first mode,
 * verdict. */
static void add_mode_row(const struct pipe_bench *b, struct table *t,
                         const struct pipe_result *x, struct notes *notes)
{
    const struct pipe_result *first = pipe_result(b, pipe_modes[0].name);
    struct xl__str note = {0};
    const bool is_quotable = x->is_done && x->row.verdict <= XL_ROW_SUSPICIOUS;
    table_cell(t, "%s", x->mode->name);
    if (is_quotable)
        add_time_cell(t, x->row.samples.median_ns);
    else
        add_empty_cells(t, 1);
    if (is_quotable && x->times.total > 0)
        add_share_cells(t, &x->times,
                        x->mode->is_cut ? (double)NAN : pipe_rest(&x->times));
    else
        add_empty_cells(t, N_LANES + 1);
    if (is_quotable && first)
        table_cell(t, "%.3gx", first->row.value / x->row.value);
    else
        add_empty_cells(t, 1);
    notes_add_row(notes, &x->row, &b->s->set, &note);
    if (note.len > 0) {
        struct xl__str text = {0};
        xl__str_printf(&text, "%s [%s]", xl_verdict_name(x->row.verdict),
                       xl__str_text(&note));
        table_cell_coloured(t, report_colour(x->row.verdict),
                            xl__str_text(&text));
        xl__str_clear(&text);
    } else {
        table_cell_coloured(t, report_colour(x->row.verdict),
                            xl_verdict_name(x->row.verdict));
    }
    xl__str_clear(&note);
}

static void add_model_row(const struct pipe_bench *b, struct table *t)
{
    const struct pipe_times *p = &b->model.times;
    if (!(p->total > 0))
        return;
    table_cell(t, "model");
    add_time_cell(t, p->total);
    add_share_cells(t, p, (double)NAN);
    add_empty_cells(t, 1);
    table_cell(t, "by rates");
}

static void print_modes(const struct pipe_bench *b)
{
    static const struct table_column columns[] = {
        {"mode", false, 0},   {"time", true, 0},     {"upload", true, 0},
        {"kernels", true, 0}, {"download", true, 0}, {"waits", true, 0},
        {"gain", true, 0},    {"", false, 8}};
    struct notes notes = {0};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    const unsigned width = text_terminal_columns();
    bool has_any = b->model.times.total > 0;
    for (unsigned i = 0; i < PIPE_MODES; i++)
        has_any = has_any || b->result[i].is_done ||
                  b->result[i].row.verdict != XL_ROW_OK;
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_done || b->result[i].row.verdict != XL_ROW_OK)
            add_mode_row(b, t, &b->result[i], &notes);
    add_model_row(b, t);
    if (has_any)
        table_print(stdout, t, width, text_has_colour());
    table_destroy(t);
    for (size_t i = 0; i < notes.n; i++) {
        struct xl__str line = {0}, clean = {0};
        xl__str_printf(&line, "[%zu] %s", i + 1, notes.text[i]);
        text_escape(&clean, xl__str_text(&line));
        text_wrap(stdout, xl__str_text(&clean), 2, width - 2);
        xl__str_clear(&line);
        xl__str_clear(&clean);
    }
    notes_clear(&notes);
}

/* A mode whose kernels do not overlap with transfers, if there is one. */
static const struct pipe_result *mode_of_kernels(const struct pipe_bench *b)
{
    static const char *const names[] = {"resident", "pinned", "pageable",
                                        "mapped", "overlapped"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pipe_result *x = pipe_result(b, names[i]);
        if (x && x->times.total > 0)
            return x;
    }
    return NULL;
}

static void print_stages(const struct pipe_bench *b)
{
    static const struct table_column columns[] = {
        {"stage", false, 0}, {"computes", false, 10}, {"time", true, 0},
        {"of kernels", true, 0}, {"by rates", true, 0}, {"reached", true, 0}};
    static const double over_noise = 1.05;
    const struct pipe_result *x = mode_of_kernels(b);
    const struct pipe_workload *w = b->workload;
    bool beyond = false;
    if (!x)
        return;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < w->n_stages; i++) {
        table_cell(t, "%s", w->stage[i].kind->name);
        table_cell(t, "%s", w->stage[i].kind->formula);
        add_time_cell(t, x->times.stage[i]);
        report_cell_percent(t, x->times.stage[i] / x->times.lane[LANE_RUN]);
        add_time_cell(t, b->model.times.stage[i]);
        report_cell_percent(t, b->model.times.stage[i] / x->times.stage[i]);
    }
    printf("\n");
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
    for (unsigned i = 0; i < w->n_stages; i++)
        beyond =
            beyond || x->times.stage[i] * over_noise < b->model.times.stage[i];
    if (beyond && !b->s->set.quiet)
        text_wrap(stdout,
                  "above 100%: the data is in a cache, or the rates "
                  "were measured on a busy machine",
                  2, text_terminal_columns() - 2);
    printf("  other operations than products: %.3g%% of the kernels' time "
           "(%s)\n",
           100 * pipe_non_gemm(w, &x->times), x->mode->name);
}

/* -- text ----------------------------------------------------------------- */

static void add_amount(struct xl__str *out, double value, const char *unit,
                       const char *suffix)
{
    char text[UNITS_CAP];
    if (strcmp(unit, "bytes") == 0)
        units_bytes(text, sizeof text, value);
    else
        units_format(text, sizeof text, value, unit);
    xl__str_printf(out, "%s%s", text, suffix);
}

/* Memory traffic of all stages on the device. */
static double device_bytes(const struct pipe_workload *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        sum += w->stage[i].bytes * (double)w->items +
               w->stage[i].shared_bytes;
    return sum;
}

static void print_heading(const struct pipe_bench *b)
{
    const struct pipe_workload *w = b->workload;
    const unsigned width = text_terminal_columns();
    struct xl__str line = {0}, cut = {0};
    xl__str_printf(&line, "Pipeline on %u: %s", xl_device_index(b->dev),
                   device_fact_text(b->dev, "name", "?"));
    text_cut(&cut, xl__str_text(&line), width);
    xl__str_reset(&line);
    text_escape(&line, xl__str_text(&cut));
    printf("%s\n", xl__str_text(&line));
    xl__str_reset(&line);
    xl__str_printf(&line, "%s", w->stages);
    for (unsigned i = 0; i < PIPE_SIZES; i++)
        xl__str_printf(&line, ", %s %zu", w->size_names[i], w->size[i]);
    xl__str_printf(&line, ", %s: ", xl_dtype_name(w->dtype));
    add_amount(&line, pipe_flop(w) * 1e-9, "1", " GFLOP, ");
    add_amount(&line, pipe_bytes(w, PIPE_FROM_HOST), "bytes", " up, ");
    add_amount(&line, pipe_bytes(w, PIPE_TO_HOST), "bytes", " down, ");
    add_amount(&line, pipe_flop(w) / device_bytes(w), "1",
               " FLOP/B on the device");
    text_wrap(stdout, xl__str_text(&line), 2, width - 2);
    if (!b->has_event_times && !b->s->set.quiet)
        text_wrap(stdout,
                  "The event clock is not reliable here: shares are from "
                  "the host's clock, of runs that wait for each command.",
                  2, width - 2);
    printf("\n");
    xl__str_clear(&line);
    xl__str_clear(&cut);
}

/* Describes the chunks of the overlapped mode. */
static void add_chunks(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_result *x = pipe_result(b, "overlapped");
    if (!x)
        return;
    xl__str_printf(out, "Overlapped in %u chunks of", x->chunks.n);
    for (unsigned i = 0; i < x->chunks.n; i++)
        xl__str_printf(out, " %zu", x->chunks.units[i] * b->workload->grain);
    xl__str_printf(out,
                   ", in %u slots on the device; predicted, "
                   "without the wait at the end: ",
                   x->buffers < x->chunks.n ? x->buffers : x->chunks.n);
    add_amount(out, x->predicted_ns, "ns", ".\n");
}

static double first_call_ns(const struct pipe_first *f)
{
    return f->open_ns + f->build_ns + f->run_ns;
}

/* Describes the first calls. */
static void add_first(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_first *built = &b->first[FIRST_BUILT];
    const struct pipe_first *cached = &b->first[FIRST_CACHED];
    const struct pipe_result *warm = pipe_result(b, pipe_modes[0].name);
    if (!built->is_done)
        return;
    xl__str_add(out, "First call: ");
    add_amount(out, first_call_ns(built), "ns", ", of which ");
    add_amount(out, built->build_ns, "ns",
               " to build and check kernels, and ");
    add_amount(out, built->open_ns, "ns", " to open the device");
    if (warm)
        xl__str_printf(out, "; %.0f times a later call",
                       first_call_ns(built) / (warm->row.value * 1e9));
    xl__str_add(out, ".");
    if (cached->is_done) {
        xl__str_add(out, " With kernels from the cache: ");
        add_amount(out, first_call_ns(cached), "ns", ".");
    } else if (*cached->why) {
        xl__str_printf(out, " With kernels from the cache: not measured, %s.",
                       cached->why);
    }
    xl__str_add(out, "\n");
}

void pipe_print(const struct pipe_bench *b)
{
    struct xl__str text = {0};
    print_heading(b);
    print_modes(b);
    print_bars(b);
    print_stages(b);
    printf("\n");
    add_chunks(b, &text);
    add_first(b, &text);
    pipe_describe_bound(b, &text);
    /* one paragraph for each line */
    for (const char *at = xl__str_text(&text); *at;) {
        struct xl__str line = {0};
        const size_t len = strcspn(at, "\n");
        xl__str_add_n(&line, at, len);
        text_wrap(stdout, xl__str_text(&line), 2, text_terminal_columns() - 2);
        xl__str_clear(&line);
        at += len + (at[len] == '\n');
    }
    printf("\n");
    fflush(stdout);
    xl__str_clear(&text);
}
