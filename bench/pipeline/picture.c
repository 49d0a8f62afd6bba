/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline in a terminal: what each way takes and of what it is made, bars
 * of one scale, the stages, the first calls, and the verdict. */
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

/* -- bars ------------------------------------------------------------------ */

void pipe_bar(const struct pipe_result *x, unsigned lane, double span_ns,
              unsigned columns, char *out)
{
    const struct pipe_record *r = &x->best;
    const double each = span_ns / columns;
    const double total = (double)(r->end_ns - r->begin_ns);
    unsigned n = (unsigned)fmin(ceil(total / each), columns);
    memset(out, x->mode->is_cut ? ' ' : waiting, n);
    /* The most of a column decides; what is short still shows. */
    for (unsigned i = 0; i < n; i++) {
        const double from = i * each, to = from + each;
        double most = 0;
        for (size_t j = 0; j < r->n; j++) {
            const struct pipe_command *c = &r->list[j];
            const double start = (double)(c->start_ns - (int64_t)r->begin_ns);
            const double end = (double)(c->end_ns - (int64_t)r->begin_ns);
            const double part = fmin(end, to) - fmax(start, from);
            const bool counts = !x->mode->is_cut || c->lane == lane;
            if (counts && part > most) {
                most = part;
                out[i] = marks[c->lane];
            }
        }
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

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

static void draw_bars(const struct pipe_bench *b)
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
           "%s wide\n",
           NAME, "a run each", marks[0], marks[1], marks[2], waiting, text);
    for (unsigned i = 0; i < PIPE_MODES; i++) {
        const struct pipe_result *x = &b->result[i];
        const unsigned n = x->mode->is_cut ? N_LANES : 1;
        /* Where every command was waited for there was no overlap to show. */
        if (x->best.n == 0 || (x->mode->is_cut && !b->is_stamped))
            continue;
        for (unsigned l = 0; l < n; l++) {
            pipe_bar(x, l, span_ns, columns, bar);
            printf("  %-*s%s\n", NAME, l == 0 ? x->mode->name : "", bar);
        }
    }
}

/* -- tables ---------------------------------------------------------------- */

static void cell_time(struct table *t, double ns)
{
    char text[UNITS_CAP];
    units_time(text, sizeof text, ns);
    table_cell(t, "%s", text);
}

static void cells_of_parts(struct table *t, const struct pipe_parts *p,
                           double rest)
{
    for (unsigned l = 0; l < N_LANES; l++)
        report_cell_percent(t, p->lane[l] / p->total);
    report_cell_percent(t, rest / p->total);
}

static void blank(struct table *t, unsigned n)
{
    while (n-- > 0)
        table_cell(t, "-");
}

static void mode_line(const struct pipe_bench *b, struct table *t,
                      const struct pipe_result *x, struct notes *notes)
{
    const struct pipe_result *first = pipe_result(b, pipe_modes[0].name);
    struct xl__str note = {0};
    const bool is_quotable = x->is_done && x->row.verdict <= XL_ROW_SUSPICIOUS;
    table_cell(t, "%s", x->mode->name);
    if (is_quotable)
        cell_time(t, x->row.samples.median_ns);
    else
        blank(t, 1);
    if (is_quotable && x->parts.total > 0)
        cells_of_parts(t, &x->parts,
                       x->mode->is_cut ? (double)NAN : pipe_rest(&x->parts));
    else
        blank(t, N_LANES + 1);
    if (is_quotable && first)
        table_cell(t, "%.3gx", first->row.value / x->row.value);
    else
        blank(t, 1);
    notes_of_row(notes, &x->row, &b->s->set, &note);
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

static void model_line(const struct pipe_bench *b, struct table *t)
{
    const struct pipe_parts *p = &b->model.parts;
    if (!(p->total > 0))
        return;
    table_cell(t, "model");
    cell_time(t, p->total);
    cells_of_parts(t, p, (double)NAN);
    blank(t, 1);
    table_cell(t, "by rates");
}

static void draw_modes(const struct pipe_bench *b)
{
    static const struct table_column columns[] = {
        {"way", false, 0},    {"time", true, 0},     {"upload", true, 0},
        {"kernels", true, 0}, {"download", true, 0}, {"waits", true, 0},
        {"gain", true, 0},    {"", false, 8}};
    struct notes notes = {0};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    const unsigned width = text_terminal_columns();
    bool has_any = b->model.parts.total > 0;
    for (unsigned i = 0; i < PIPE_MODES; i++)
        has_any = has_any || b->result[i].is_done ||
                  b->result[i].row.verdict != XL_ROW_OK;
    for (unsigned i = 0; i < PIPE_MODES; i++)
        if (b->result[i].is_done || b->result[i].row.verdict != XL_ROW_OK)
            mode_line(b, t, &b->result[i], &notes);
    model_line(b, t);
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

/* Kernels with the device to themselves, if there is such a run. */
static const struct pipe_result *run_of_kernels(const struct pipe_bench *b)
{
    static const char *const names[] = {"resident", "pinned", "pageable",
                                        "mapped", "overlapped"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pipe_result *x = pipe_result(b, names[i]);
        if (x && x->parts.total > 0)
            return x;
    }
    return NULL;
}

static void draw_stages(const struct pipe_bench *b)
{
    static const struct table_column columns[] = {
        {"stage", false, 0}, {"computes", false, 10}, {"time", true, 0},
        {"of kernels", true, 0}, {"by rates", true, 0}, {"reached", true, 0}};
    static const double over_noise = 1.05;
    const struct pipe_result *x = run_of_kernels(b);
    const struct pipe_work *w = b->work;
    bool beyond = false;
    if (!x)
        return;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < w->n_stages; i++) {
        table_cell(t, "%s", w->stage[i].kind->name);
        table_cell(t, "%s", w->stage[i].kind->formula);
        cell_time(t, x->parts.stage[i]);
        report_cell_percent(t, x->parts.stage[i] / x->parts.lane[LANE_RUN]);
        cell_time(t, b->model.parts.stage[i]);
        report_cell_percent(t, b->model.parts.stage[i] / x->parts.stage[i]);
    }
    printf("\n");
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    table_destroy(t);
    for (unsigned i = 0; i < w->n_stages; i++)
        beyond = beyond ||
                 x->parts.stage[i] * over_noise < b->model.parts.stage[i];
    if (beyond && !b->s->set.quiet)
        text_wrap(stdout, "beyond 100%: the data is in a cache, or the rates "
                          "were measured low on a busy machine",
                  2, text_terminal_columns() - 2);
    printf("  operations that are no products: %.3g%% of the kernels' time "
           "(%s)\n",
           100 * pipe_non_gemm(w, &x->parts), x->mode->name);
}

/* -- words ----------------------------------------------------------------- */

static void add_amount(struct xl__str *out, double value, const char *unit,
                       const char *behind)
{
    char text[UNITS_CAP];
    if (strcmp(unit, "bytes") == 0)
        units_bytes(text, sizeof text, value);
    else
        units_format(text, sizeof text, value, unit);
    xl__str_printf(out, "%s%s", text, behind);
}

static double device_bytes(const struct pipe_work *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        sum += w->stage[i].bytes * (double)w->items +
               w->stage[i].shared_bytes;
    return sum;
}

static void draw_head(const struct pipe_bench *b)
{
    const struct pipe_work *w = b->work;
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
    if (!b->is_stamped && !b->s->set.quiet)
        text_wrap(stdout,
                  "The event clock is not to be believed here: parts are by "
                  "the wall clock, of runs in which each command was waited "
                  "for.",
                  2, width - 2);
    printf("\n");
    xl__str_clear(&line);
    xl__str_clear(&cut);
}

static void add_chunks(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_result *x = pipe_result(b, "overlapped");
    if (!x)
        return;
    xl__str_printf(out, "Overlapped in %u chunks of", x->chunks.n);
    for (unsigned i = 0; i < x->chunks.n; i++)
        xl__str_printf(out, " %zu", x->chunks.units[i] * b->work->grain);
    xl__str_printf(out, ", in %u places on the device; foreseen, "
                        "but for the wait at the end: ",
                   x->buffers < x->chunks.n ? x->buffers : x->chunks.n);
    add_amount(out, x->foreseen_ns, "ns", ".\n");
}

static double whole(const struct pipe_first *f)
{
    return f->open_ns + f->build_ns + f->run_ns;
}

static void add_first(const struct pipe_bench *b, struct xl__str *out)
{
    const struct pipe_first *built = &b->first[FIRST_BUILT];
    const struct pipe_first *cached = &b->first[FIRST_CACHED];
    const struct pipe_result *warm = pipe_result(b, pipe_modes[0].name);
    if (!built->is_done)
        return;
    xl__str_add(out, "First call: ");
    add_amount(out, whole(built), "ns", ", of which ");
    add_amount(out, built->build_ns, "ns",
               " to build and check kernels, and ");
    add_amount(out, built->open_ns, "ns", " to open the device");
    if (warm)
        xl__str_printf(out, "; %.0f times a later one",
                       whole(built) / (warm->row.value * 1e9));
    xl__str_add(out, ".");
    if (cached->is_done) {
        xl__str_add(out, " With kernels from the cache: ");
        add_amount(out, whole(cached), "ns", ".");
    } else if (*cached->why) {
        xl__str_printf(out, " With kernels from the cache: not measured, %s.",
                       cached->why);
    }
    xl__str_add(out, "\n");
}

void pipe_draw(const struct pipe_bench *b)
{
    struct xl__str text = {0};
    draw_head(b);
    draw_modes(b);
    draw_bars(b);
    draw_stages(b);
    printf("\n");
    add_chunks(b, &text);
    add_first(b, &text);
    pipe_words(b, &text);
    /* One paragraph a line. */
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
