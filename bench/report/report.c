/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a command measures: as tables on the terminal, each as soon as
 * its section is measured, and as files. The whole document is kept and every
 * file is rewritten after each section, so that a crash of a driver loses only
 * the section in which it happens. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "cli/table.h"
#include "host/host_info.h"
#include "report/outputs.h"
#include "report/section.h"
#include "report/summary.h"
#include "results/document.h"

/* A destination of rows. A section is begun, given its rows, and ended; NULL:
 * nothing is done then. */
struct report_writer {
    void *(*open)(struct session *s); /* NULL: reported on stderr */
    /* Begin a table. Title "GEMM"; note: a line below it, or NULL. */
    void (*begin_section)(void *w, enum rows_kind kind, const char *title,
                          const char *note);
    void (*add_row)(void *w, xl_device *dev, const xl_row *row);
    /* Another pass over a row. */
    void (*add_pass)(void *w, xl_device *dev, unsigned pass,
                     const xl_row *row);
    void (*end_section)(void *w); /* print it, or rewrite the files */
    int (*close)(void *w);        /* an exit_code */
};

/* -- above the progress line ------------------------------------------------
 */

/* The lines that a display prints above the progress line. Its texts must be
 * of one line. */
struct line_counter {
    struct display terminal;
    unsigned n;
};

static void count_title(void *arg, const char *text)
{
    struct line_counter *c = arg;
    c->terminal.title(c->terminal.arg, text);
    c->n++;
}

static void count_text(void *arg, const char *text)
{
    struct line_counter *c = arg;
    c->terminal.text(c->terminal.arg, text);
    c->n++;
}

static void count_table(void *arg, const struct table *t)
{
    struct line_counter *c = arg;
    const struct table_column *columns = NULL;
    const unsigned n = table_columns(t, &columns);
    bool has_titles = false;
    for (unsigned i = 0; i < n; i++)
        has_titles = has_titles || *columns[i].title;
    c->terminal.table(c->terminal.arg, t);
    c->n += (unsigned)table_lines(t) + has_titles;
}

static void count_gap(void *arg)
{
    struct line_counter *c = arg;
    c->terminal.gap(c->terminal.arg);
    c->n++;
}

/* -- tables --------------------------------------------------------------- */

struct table_writer {
    struct session *s;
    struct result_table rows;
    char *title, *note;
};

static void clear_section(struct table_writer *w)
{
    result_table_clear(&w->rows);
    free(w->title);
    free(w->note);
    w->title = w->note = NULL;
}

/* The section as it is so far, with room for its devices. */
static void view_section(const struct table_writer *w,
                         struct section_device *devices, struct section *out)
{
    const struct session *s = w->s;
    *out = (struct section){w->title, w->note, devices, s->n_devices,
                            &s->set,  w->rows, {0}};
    for (unsigned i = 0; i < s->n_devices; i++)
        devices[i] = (struct section_device){
            s->devices[i], xl_device_index(s->devices[i]),
            device_fact_text(s->devices[i], "name", "?")};
}

/* Shows the rows of the section on the terminal. */
static void show_section(struct table_writer *w)
{
    struct section_device *devices =
        xl__calloc(w->s->n_devices + 1, sizeof *devices);
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    struct section p;
    if (!devices)
        return;
    view_section(w, devices, &p);
    section_show(&p, &terminal);
    notes_clear(&p.notes);
    free(devices);
}

static void count_no_text(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

/* The rows so far, as many of the last as the terminal has lines for; the
 * table is printed whole at the end of its section. */
static unsigned draw_rows(void *arg)
{
    enum { AROUND = 6, FEWEST = 4 }; /* heads, gaps, the progress line */
    struct table_writer *w = arg;
    struct section_device *devices =
        xl__calloc(w->s->n_devices + 1, sizeof *devices);
    bool colour = false;
    struct line_counter c = {display_terminal(&colour), 0};
    const struct display to = {
        &c,   c.terminal.width, count_no_text, count_no_text, count_table,
        NULL, count_gap};
    const size_t lines = xl__terminal_lines(XL__STDOUT);
    struct section p;
    if (devices && w->rows.n > 0 && lines >= AROUND + FEWEST) {
        view_section(w, devices, &p);
        const size_t most = (lines - AROUND) / (p.n_devices > 1 ? 3 : 1);
        if (p.rows.n > most) {
            p.rows.list += p.rows.n - most;
            p.rows.n = most;
        }
        section_show_rows(&p, &to);
        notes_clear(&p.notes);
    }
    free(devices);
    return c.n;
}

static void *open_table(struct session *s)
{
    struct table_writer *w = xl__calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->s = s;
    if (!s->command->has_summary) /* which is drawn there instead */
        s->block = (struct live_block){draw_rows, w, 0};
    return w;
}

static void begin_table_section(void *state, enum rows_kind kind,
                                const char *title, const char *note)
{
    struct table_writer *w = state;
    clear_section(w);
    w->rows.kind = kind;
    w->title = xl__strdup(title);
    w->note = xl__strdup(note);
}

static void add_table_row(void *state, xl_device *dev, const xl_row *row)
{
    struct table_writer *w = state;
    if (!section_shows(row, &w->s->set))
        return;
    progress_hide(w->s); /* it is drawn again with the row */
    (void)result_table_add(&w->rows, dev, row);
}

static void end_table_section(void *state)
{
    struct table_writer *w = state;
    progress_hide(w->s);
    show_section(w);
    clear_section(w);
}

static int close_table(void *state)
{
    struct table_writer *w = state;
    if (!w->s->command->has_summary)
        w->s->block = (struct live_block){NULL, NULL, 0};
    clear_section(w);
    free(w);
    return ferror(stdout) ? EXIT_FILE : EXIT_FINE;
}

static const struct report_writer table_functions = {
    .open = open_table,
    .begin_section = begin_table_section,
    .add_row = add_table_row,
    .end_section = end_table_section,
    .close = close_table,
};

/* -- the summary ---------------------------------------------------------- */

/* Of the devices so far: drawn above the progress line for the one that was
 * measured last, and printed of each at the end, where a reader of a terminal
 * and of a log looks first. */
struct summary_writer {
    struct session *s;
    struct summary summary;
    const xl_device *last;
};

static void show_device(const struct summary_writer *w, const xl_device *dev,
                        bool is_growing, const struct display *to)
{
    struct xl__str name = {0}, detail = {0}, state = {0};
    json_t *device = document_device(dev);
    results_device_head(device, &name, &detail);
    if (w->s->state.is_known)
        run_state_format(&w->s->state, &state);
    const struct summary_head head = {
        xl__str_text(&name), xl__str_text(&detail), xl__str_text(&state),
        w->s->state.is_busy, is_growing};
    summary_show(&w->summary, dev, &head, to);
    json_decref(device);
    xl__str_clear(&name);
    xl__str_clear(&detail);
    xl__str_clear(&state);
}

static unsigned draw_summary(void *arg)
{
    const struct summary_writer *w = arg;
    bool colour = false;
    struct line_counter c = {display_terminal(&colour), 0};
    const struct display to = {&c,         c.terminal.width, count_title,
                               count_text, count_table,      NULL,
                               count_gap};
    if (w->last && xl__terminal_lines(XL__STDOUT) > SUMMARY_LINES + 1)
        show_device(w, w->last, true, &to);
    return c.n;
}

static void *open_summary(struct session *s)
{
    struct summary_writer *w = xl__calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->s = s;
    s->block = (struct live_block){draw_summary, w, 0};
    return w;
}

static void add_summary_row(void *state, xl_device *dev, const xl_row *row)
{
    struct summary_writer *w = state;
    summary_add(&w->summary, dev, row);
    w->last = dev;
    progress_hide(w->s); /* it is drawn again with the row */
}

static int close_summary(void *state)
{
    struct summary_writer *w = state;
    struct session *s = w->s;
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    progress_hide(s);
    s->block = (struct live_block){NULL, NULL, 0};
    for (unsigned i = 0; i < s->n_devices; i++)
        show_device(w, s->devices[i], false, &terminal);
    summary_clear(&w->summary);
    free(w);
    return EXIT_FINE;
}

static const struct report_writer summary_functions = {
    .open = open_summary,
    .add_row = add_summary_row,
    .close = close_summary,
};

/* -- files ---------------------------------------------------------------- */

struct files_writer {
    struct session *s;
    struct document document;
    struct outputs outputs;
};

static void *open_files(struct session *s)
{
    struct files_writer *w = xl__calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->s = s;
    outputs_begin(&w->outputs, s);
    const bool has_figures = !s->command->draws_itself;
    if (document_begin(&w->document) &&
        outputs_add(&w->outputs, &render_json) &&
        outputs_add_all(&w->outputs, renderers) &&
        (!has_figures || outputs_add_figures(&w->outputs)))
        return w;
    document_clear(&w->document);
    free(w);
    return NULL;
}

/* The name of the results, which is that of their file. */
static const char *find_result_name(const struct session *s)
{
    const char *json = s->set.json;
    return json && !out_file_is_stdout(json) ? json : "";
}

/* Rewrites all files from the document so far. */
static void write_files(struct files_writer *w, bool is_end)
{
    char why[512];
    struct result_file file;
    const bool is_interrupted =
        !is_end || session_interrupted() || w->s->is_late || w->s->is_cut;
    json_t *document =
        document_json(&w->document, w->s, is_interrupted);
    if (result_file_from(document, find_result_name(w->s), &file, why,
                         sizeof why))
        outputs_write(&w->outputs, &file, 1, is_end);
    else
        outputs_fail(&w->outputs, XL_NO_MEMORY);
    result_file_clear(&file);
}

static void begin_file_section(void *state, enum rows_kind kind,
                               const char *title, const char *note)
{
    struct files_writer *w = state;
    document_section(&w->document, kind, title, note);
}

static void add_file_row(void *state, xl_device *dev, const xl_row *row)
{
    struct files_writer *w = state;
    document_row(&w->document, dev, row);
}

static void add_file_pass(void *state, xl_device *dev, unsigned pass,
                          const xl_row *row)
{
    struct files_writer *w = state;
    document_pass(&w->document, w->s, dev, pass, row);
}

static void end_file_section(void *state)
{
    struct files_writer *w = state;
    document_section_end(&w->document);
    write_files(w, false);
}

static int close_files(void *state)
{
    struct files_writer *w = state;
    /* After wrong usage or without a device, an older file is kept. */
    if (w->s->n_devices > 0 || w->s->extra)
        write_files(w, true);
    const int code = outputs_code(&w->outputs);
    document_clear(&w->document);
    free(w);
    return code;
}

static const struct report_writer files_functions = {
    .open = open_files,
    .begin_section = begin_file_section,
    .add_row = add_file_row,
    .add_pass = add_file_pass,
    .end_section = end_file_section,
    .close = close_files,
};

/* -- all writers ---------------------------------------------------------- */

static bool requests_tables(const struct session *s)
{
    return session_tables(s);
}

static bool requests_files(const struct session *s)
{
    /* Commands that read results write files of their own. */
    const bool has_results = command_takes(s->command, option_find("json"));
    return has_results && !s->command->is_live && outputs_requested(&s->set);
}

static bool requests_summary(const struct session *s)
{
    return session_tables(s) && s->command->has_summary;
}

/* In the order in which they print. */
static const struct {
    const struct report_writer *writer;
    bool (*is_requested)(const struct session *s);
} writers[] = {
    {&table_functions, requests_tables},
    {&summary_functions, requests_summary},
    {&files_functions, requests_files},
};
enum { N_WRITERS = sizeof writers / sizeof writers[0] };

struct report {
    void *state[N_WRITERS]; /* NULL: not requested */
    bool is_open;           /* a section is begun and not ended */
    bool is_mute;           /* no tables */
};

/* Does writer `i` receive rows? A muted report has no tables. */
static bool is_active(const struct report *r, unsigned i)
{
    return r->state[i] &&
           !(r->is_mute && writers[i].writer == &table_functions);
}

/* Ends the section, if one is open; every writer shows or writes it. */
static void end_section(void *arg)
{
    struct report *r = arg;
    if (!r->is_open)
        return;
    r->is_open = false;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_active(r, i) && writers[i].writer->end_section)
            writers[i].writer->end_section(r->state[i]);
}

static void begin_section(void *arg, enum rows_kind kind, const char *title,
                          const char *note)
{
    struct report *r = arg;
    end_section(r);
    r->is_open = true;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_active(r, i) && writers[i].writer->begin_section)
            writers[i].writer->begin_section(r->state[i], kind, title, note);
}

static void write_row(void *arg, xl_device *dev, const xl_row *row)
{
    struct report *r = arg;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (is_active(r, i))
            writers[i].writer->add_row(r->state[i], dev, row);
}

/* A row for the files outside of any section; tables do not show it. */
static void write_record(void *arg, xl_device *dev, const xl_row *row)
{
    struct report *r = arg;
    for (unsigned i = 0; i < N_WRITERS; i++) {
        const struct report_writer *w = writers[i].writer;
        if (!r->state[i] || w == &table_functions)
            continue;
        w->add_row(r->state[i], dev, row);
        if (w->end_section)
            w->end_section(r->state[i]);
    }
}

static void write_pass(void *arg, xl_device *dev, unsigned pass,
                       const xl_row *row)
{
    struct report *r = arg;
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (r->state[i] && writers[i].writer->add_pass)
            writers[i].writer->add_pass(r->state[i], dev, pass, row);
}

struct report *report_open(struct session *s)
{
    struct report *r = xl__calloc(1, sizeof *r);
    if (!r) {
        (void)session_fail(s, "opening the report", XL_NO_MEMORY, "");
        return NULL;
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        if (!writers[i].is_requested(s))
            continue;
        r->state[i] = writers[i].writer->open(s);
        if (!r->state[i]) {
            (void)report_close(r);
            return NULL;
        }
    }
    s->sink = (struct row_sink){r,           begin_section, write_row,
                                end_section, write_record,  write_pass};
    return r;
}

void report_mute(struct report *r, bool is_mute)
{
    r->is_mute = is_mute;
}

int report_close(struct report *r)
{
    int worst = EXIT_FINE;
    if (!r)
        return EXIT_FINE;
    end_section(r);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        int code =
            r->state[i] ? writers[i].writer->close(r->state[i]) : EXIT_FINE;
        worst = code > worst ? code : worst;
    }
    free(r);
    return worst;
}
