/* SPDX-License-Identifier: Apache-2.0 */
/* A section in the order in which it is read: title, what all rows share, the
 * note, the table, its roofs, the devices' conditions, what limits the rows,
 * and the notes of rows. Then a whole result file as its sections. */
#include "report/section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"
#include "compare/sides.h"
#include "report/columns.h"
#include "report/summary.h"
#include "results/json.h"
#include "results/telemetry.h"

/* -- limits --------------------------------------------------------------- */

void report_limiter(const xl_row *row, char *out, size_t cap)
{
    const xl_diagnosis *d = &row->diagnosis;
    snprintf(out, cap, "%s",
             d->limiter == XL_LIMITER_UNKNOWN ? "-"
                                              : xl_limiter_name(d->limiter));
}

static bool is_limited(const xl_row *row, xl_limiter by)
{
    return row->diagnosis.limiter == by && *row->diagnosis.evidence;
}

/* It begins with the name of the longest need, which is most often the
 * limiter. */
const char *report_evidence(const xl_diagnosis *d)
{
    const char *name = xl_limiter_name(d->limiter);
    const size_t len = strlen(name);
    const bool is_named =
        strncmp(d->evidence, name, len) == 0 && d->evidence[len] == ':';
    return is_named ? d->evidence + len + 2 : d->evidence;
}

/* The row with the longest time among those that `by` limits. */
static size_t find_longest(const struct result_table *rows, xl_limiter by,
                           size_t *count)
{
    size_t at = rows->n;
    *count = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        if (!is_limited(row, by))
            continue;
        ++*count;
        if (at == rows->n ||
            row->samples.median_ns > rows->list[at].row.samples.median_ns)
            at = i;
    }
    return at;
}

/* "107 GFLOP/s, 1.25 GB/s". */
static void add_rates(struct xl__str *out, const xl_diagnosis *d)
{
    char text[UNITS_CAP];
    const char *before = "; achieved ";
    if (d->flop_per_s > 0) {
        units_format(text, sizeof text, d->flop_per_s, "flop/s");
        xl__str_printf(out, "%s%s", before, text);
        before = ", ";
    }
    if (d->bytes_per_s > 0) {
        units_format(text, sizeof text, d->bytes_per_s, "B/s");
        xl__str_printf(out, "%s%s", before, text);
    }
}

/* What limits the rows with limiter `by`, for the one that took longest. */
static void show_limiter(const struct result_table *rows, xl_limiter by,
                         const struct display *to)
{
    struct xl__str text = {0}, name = {0}, launch = {0};
    size_t count = 0;
    const size_t at = find_longest(rows, by, &count);
    if (count == 0)
        return;
    const xl_diagnosis *d = &rows->list[at].row.diagnosis;
    xl__str_printf(&text, "%s%s", *xl_limiter_advice(by) ? "limited by " : "",
                   xl_limiter_name(by));
    if (count > 1) {
        result_table_label(rows, at, &name);
        xl__str_printf(&text, ", %zu of %zu, such as %s", count, rows->n,
                       xl__str_text(&name));
    }
    xl__str_printf(&text, ": %s", report_evidence(d));
    add_rates(&text, d);
    result_describe_launch(&rows->list[at].row, &launch);
    xl__str_printf(&text, "%s%s", launch.len > 0 ? "; " : "",
                   xl__str_text(&launch));
    xl__str_clear(&launch);
    if (*xl_limiter_advice(by))
        xl__str_printf(&text, ". To do: %s", xl_limiter_advice(by));
    to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&name);
}

/* -- intensity by type ---------------------------------------------------- */

/* Appends the range of intensities of the rows of a type. */
static void add_range(struct xl__str *out, const struct result_table *rows,
                      xl_dtype dtype)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        const double x = row->diagnosis.intensity;
        if (row->dtype != dtype || !(x > 0))
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    if (!(most > 0))
        return;
    xl__str_printf(out, "%s%s %.3g", out->len ? ", " : "",
                   xl_dtype_name(dtype), least);
    if (most > least)
        xl__str_printf(out, " to %.3g", most);
}

static void show_intensity(const struct result_table *rows,
                           const struct display *to)
{
    struct xl__str text = {0}, line = {0};
    for (unsigned t = 0; t < XL_N_DTYPES; t++)
        add_range(&text, rows, (xl_dtype)t);
    if (text.len > 0) {
        xl__str_printf(&line, "arithmetic intensity, flop/B: %s",
                       xl__str_text(&text));
        to->text(to->arg, xl__str_text(&line));
    }
    xl__str_clear(&text);
    xl__str_clear(&line);
}

/* -- idle engines --------------------------------------------------------- */

/* Has an earlier row the same message about an engine? */
static bool is_repeated_engine(const struct result_table *rows, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(rows->list[i].row.diagnosis.engine,
                   rows->list[at].row.diagnosis.engine) == 0)
            return true;
    return false;
}

static void show_engines(const struct result_table *rows,
                         const struct display *to)
{
    for (size_t i = 0; i < rows->n; i++) {
        const char *engine = rows->list[i].row.diagnosis.engine;
        if (*engine && !is_repeated_engine(rows, i))
            to->text(to->arg, engine);
    }
}

void report_limits(const struct result_table *rows, const struct display *to)
{
    for (unsigned by = 0; by < XL_N_LIMITERS; by++)
        show_limiter(rows, (xl_limiter)by, to);
    show_intensity(rows, to);
    show_engines(rows, to);
}

/* -- a section ------------------------------------------------------------ */

bool section_shows(const xl_row *row, const struct settings *set)
{
    const bool is_point = !isnan(result_finding(row, "curve"));
    return !is_point || set->full || row->verdict >= XL_ROW_REJECTED;
}

/* "20 runs after 3 of warm-up, cold caches": what the command line asks for.
 */
static void add_method(const struct settings *set, struct xl__str *out)
{
    if (set->runs > 0)
        xl__str_printf(out, ", %zu runs", set->runs);
    if (option_is_given(option_find("warmup"), set))
        xl__str_printf(out, ", %zu of warm-up", set->warmup);
    if (set->min_time_s > 0)
        xl__str_printf(out, ", sampled for %g s or more", set->min_time_s);
    if (set->cold && set->describe)
        xl__str_add(out, ", before each run a buffer of twice the last-level "
                         "cache is written");
}

/* Title, common settings and note. */
static void show_title(const struct section *p, const struct display *to)
{
    struct xl__str line = {0}, common = {0};
    xl__str_add(&line, p->title ? p->title : "");
    if (p->n_devices == 1)
        xl__str_printf(&line, " on %u: %s", p->devices[0].index,
                       p->devices[0].name);
    to->title(to->arg, xl__str_text(&line));
    result_table_common(&p->rows, &common);
    const bool is_method_first = common.len == 0;
    add_method(p->set, &common);
    if (common.len > 0)
        to->text(to->arg, xl__str_text(&common) + (is_method_first ? 2 : 0));
    if (p->note && p->set->describe)
        to->text(to->arg, p->note);
    xl__str_clear(&line);
    xl__str_clear(&common);
}

/* The time of the library's choice over that of the fastest variant of its
 * case, where it is largest. */
static double find_worst_choice(const struct result_table *rows)
{
    double worst = 1;
    for (size_t i = 0; i < rows->n; i++) {
        const struct measured_row *own = &rows->list[i];
        for (size_t j = 0; j < rows->n; j++) {
            const struct measured_row *other = &rows->list[j];
            if (result_finding(&own->row, "is_default") > 0 &&
                other->row.verdict <= XL_ROW_SUSPICIOUS &&
                strcmp(other->case_key.id, own->case_key.id) == 0)
                worst = fmax(worst, own->row.samples.median_ns /
                                        other->row.samples.median_ns);
        }
    }
    return worst;
}

static void show_choice(const struct result_table *rows,
                        const struct display *to)
{
    static const double notable = 1.2;
    struct xl__str text = {0};
    const double worst = find_worst_choice(rows);
    if (!report_has_default(rows))
        return;
    xl__str_add(&text, "* the library's choice, + the fastest of a case");
    if (worst > notable)
        xl__str_printf(&text,
                       "; the fastest takes as little as %.2f of the "
                       "choice's time: 'clbench tune' keeps it",
                       1 / worst);
    to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
}

static void show_table(struct section *p, const struct display *to)
{
    struct table *t =
        report_device_table(&p->rows, &p->notes, p->set, to->width == 0);
    to->table(to->arg, t);
    table_destroy(t);
    show_choice(&p->rows, to);
}

static void show_sides(struct section *p, const struct display *to)
{
    struct side list[SIDES_MOST];
    struct xl__str name[SIDES_MOST] = {{0}};
    struct sides s = {.rows = &p->rows,
                      .list = list,
                      .first = 'A',
                      .kernel = p->set->same_kernel,
                      .notes = &p->notes,
                      .set = p->set};
    for (; s.n < p->n_devices && s.n < SIDES_MOST; s.n++) {
        xl__str_printf(&name[s.n], "%u: %s", p->devices[s.n].index,
                       p->devices[s.n].name);
        list[s.n] =
            (struct side){p->devices[s.n].key, xl__str_text(&name[s.n])};
    }
    sides_show(&s, to);
    for (unsigned d = 0; d < s.n; d++)
        xl__str_clear(&name[d]);
}

/* The ceilings that the shares are of, each once. */
static void show_roofs(const struct section *p, const struct display *to)
{
    struct xl__str text = {0}, one = {0};
    for (size_t i = 0; i < p->rows.n; i++) {
        const xl_bound *roof = &p->rows.list[i].row.roof;
        if (isnan(roof->value) || !roof->name || !*roof->name)
            continue;
        xl__str_reset(&one);
        xl__str_printf(&one, "%s (%s)", roof->name,
                       xl_source_name(roof->source));
        if (strstr(xl__str_text(&text), xl__str_text(&one)))
            continue;
        xl__str_add(&text, text.len ? ", " : "roof: ");
        xl__str_add(&text, xl__str_text(&one));
    }
    if (text.len > 0)
        to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&one);
}

/* The conditions of the devices during the section, where there are sensors.
 */
static void show_conditions(const struct section *p, const struct display *to)
{
    struct xl__str text = {0}, seen = {0};
    for (unsigned i = 0; i < p->n_devices; i++) {
        xl__str_reset(&seen);
        telemetry_conditions_text(&p->rows, p->devices[i].key, &seen);
        if (seen.len == 0)
            continue;
        xl__str_printf(&text, "%s", text.len ? "; " : "conditions: ");
        if (p->n_devices > 1)
            xl__str_printf(&text, "device %u ", p->devices[i].index);
        xl__str_add(&text, xl__str_text(&seen));
    }
    if (text.len > 0)
        to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&seen);
}

void section_show_rows(struct section *p, const struct display *to)
{
    if (p->n_devices > 1)
        show_sides(p, to);
    else
        show_table(p, to);
}

void section_show(struct section *p, const struct display *to)
{
    if (p->rows.n == 0)
        return;
    show_title(p, to);
    section_show_rows(p, to);
    show_roofs(p, to);
    show_conditions(p, to);
    if (!p->set->quiet)
        report_limits(&p->rows, to);
    for (size_t i = 0; i < p->notes.n; i++)
        to->note(to->arg, i + 1, p->notes.text[i]);
    to->gap(to->arg);
}

/* -- a result file -------------------------------------------------------- */

static void add_field(struct xl__str *out, const char *before,
                      const char *text)
{
    if (*text)
        xl__str_printf(out, "%s%s", out->len ? before : "", text);
}

const char *results_state(const struct result_file *file)
{
    return json_text_at(json_object_get(file->document, "state"), "text");
}

bool results_are_interrupted(const struct result_file *file)
{
    return json_is_true(json_object_get(file->document, "interrupted"));
}

void results_headline(const struct result_file *file, struct xl__str *out)
{
    const json_t *tool = json_object_get(file->document, "tool");
    const json_t *host = json_object_get(file->document, "host");
    const json_t *environment = json_object_get(file->document, "environment");
    xl__str_add(out, "clbench");
    add_field(out, " ", json_text_at(tool, "command"));
    add_field(out, ", ", json_text_at(environment, "date"));
    add_field(out, ", ", json_text_at(host, "cpu"));
    add_field(out, ", ", json_text_at(host, "os"));
    add_field(out, ", version ", json_text_at(tool, "version"));
    if (results_are_interrupted(file))
        xl__str_add(out, ", interrupted: rows may be missing");
}

void results_device_line(const json_t *device, struct xl__str *out)
{
    struct xl__str more = {0};
    const char *name = json_text_at(device, "name");
    const json_t *index = json_object_get(device, "index");
    if (json_is_integer(index))
        xl__str_printf(out, "%lld: ", (long long)json_integer_value(index));
    xl__str_add(out, *name ? name : "?");
    add_field(&more, "", json_text_at(device, "platform"));
    const char *driver = json_text_at(device, "driver");
    if (*driver)
        xl__str_printf(&more, "%sdriver %s", more.len ? ", " : "", driver);
    if (more.len > 0)
        xl__str_printf(out, " (%s)", xl__str_text(&more));
    xl__str_clear(&more);
}

void results_device_head(const json_t *device, struct xl__str *name,
                         struct xl__str *detail)
{
    static const struct {
        const char *fact, *unit;
    } facts[] = {{"compute_units", "units"},
                 {"clock_hz", NULL},
                 {"global_mem_bytes", NULL}};
    const json_t *index = json_object_get(device, "index");
    if (json_is_integer(index))
        xl__str_printf(name, "%lld: ", (long long)json_integer_value(index));
    xl__str_add(name, json_text_at(device, "name"));
    add_field(detail, "", json_text_at(device, "platform"));
    add_field(detail, ", driver ", json_text_at(device, "driver"));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        char text[UNITS_CAP];
        const json_t *fact = result_fact(device, facts[i].fact);
        const json_t *value = json_object_get(fact, "value");
        if (!json_is_number(value))
            continue;
        units_format(text, sizeof text, json_number_value(value),
                     json_text_at(fact, "unit"));
        add_field(detail, ", ", text);
        add_field(detail, " ", facts[i].unit ? facts[i].unit : "");
    }
}

/* Is the member one that every document has? */
static bool is_standard_member(const char *member)
{
    static const char *const members[] = {
        "schema", "tool",        "host",  "devices",     "parts",
        "rows",   "environment", "state", "interrupted", "not_run"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (strcmp(members[i], member) == 0)
            return true;
    return false;
}

/* Members that a command added to the document in addition to rows. */
static void add_other_members(const struct result_file *file,
                              struct xl__str *out)
{
    const char *name = NULL, *before = "; also: ";
    json_t *value = NULL;
    json_object_foreach(file->document, name, value)
    {
        if (is_standard_member(name))
            continue;
        xl__str_printf(out, "%s%s", before, name);
        before = ", ";
    }
}

void results_tally(const struct result_file *file, struct xl__str *out)
{
    xl__str_printf(out, "%zu row%s", file->n_rows,
                   file->n_rows == 1 ? "" : "s");
    const char *before = ": ";
    for (unsigned v = XL_ROW_OK; v <= XL_ROW_ERROR; v++) {
        const char *name = xl_verdict_name((xl_verdict)v);
        size_t n = 0;
        for (size_t i = 0; i < file->n_rows; i++)
            n += strcmp(file->rows[i].verdict, name) == 0;
        if (n > 0) {
            xl__str_printf(out, "%s%zu %s", before, n, name);
            before = ", ";
        }
    }
    add_other_members(file, out);
}

/* -- facts ---------------------------------------------------------------- */

enum { VALUE_COLUMNS = 24 };

static void add_number(struct xl__str *out, const json_t *value,
                       const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, json_number_value(value),
                 *unit ? unit : NULL);
    xl__str_add(out, text);
}

void results_fact_value(const json_t *fact, struct xl__str *out)
{
    const json_t *value = json_object_get(fact, "value");
    const char *unit = json_text_at(fact, "unit");
    if (json_is_boolean(value))
        xl__str_add(out, json_is_true(value) ? "yes" : "no");
    else if (json_is_number(value))
        add_number(out, value, unit);
    else if (json_is_string(value))
        xl__str_add(out, json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        xl__str_add(out, i > 0 ? ", " : "");
        add_number(out, json_array_get(value, i), unit);
    }
    if (out->len == 0)
        xl__str_add(out, "-");
}

/* Shows the long texts, each in a line of its own, since the table cuts them.
 */
static void show_long_facts(const json_t *facts, const struct display *to)
{
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *fact = json_array_get(facts, i);
        const char *text = json_text_at(fact, "value");
        struct xl__str line = {0};
        if (text_columns(text) <= VALUE_COLUMNS)
            continue;
        xl__str_printf(&line, "%s: %s", json_text_at(fact, "name"), text);
        to->text(to->arg, xl__str_text(&line));
        xl__str_clear(&line);
    }
}

static void show_facts(const json_t *device, const struct display *to)
{
    static const struct table_column columns[] = {
        {"fact", false, 0},
        {"value", false, VALUE_COLUMNS},
        {"source", false, 0},
        {"note", false, 0},
    };
    const json_t *facts = json_object_get(device, "facts");
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    if (json_array_size(facts) > 0)
        to->title(to->arg, json_text_at(device, "name"));
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *fact = json_array_get(facts, i);
        struct xl__str value = {0};
        results_fact_value(fact, &value);
        table_cell(t, "%s", json_text_at(fact, "name"));
        table_cell(t, "%s", xl__str_text(&value));
        table_cell(t, "%s", json_text_at(fact, "source"));
        table_cell(t, "%s", json_text_at(fact, "note"));
        xl__str_clear(&value);
    }
    if (json_array_size(facts) > 0) {
        to->table(to->arg, t);
        if (to->width > 0)
            show_long_facts(facts, to);
        to->gap(to->arg);
    }
    table_destroy(t);
}

/* -- sections of a file
 * ---------------------------------------------------------------- */

/* What all sections of a file have in common. */
struct file_view {
    const struct result_file *file;
    struct section_device *devices;
    struct settings set;
    bool is_whole;
    const struct display *to;
};

/* Was an option given in the run of the file? */
static bool has_option(const struct result_file *file, const char *name)
{
    const json_t *environment = json_object_get(file->document, "environment");
    const json_t *options = json_object_get(environment, "options");
    return json_is_true(json_object_get(options, name));
}

/* Do two rows belong to one section? Rows without one are grouped by op. */
static bool is_same_section(const struct result_file *file, size_t i, size_t j)
{
    const json_t *section = result_section(file, &file->rows[i]);
    if (section != result_section(file, &file->rows[j]))
        return false;
    return section || strcmp(json_text_at(file->rows[i].json, "op"),
                             json_text_at(file->rows[j].json, "op")) == 0;
}

static bool is_first_of_section(const struct result_file *file, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (is_same_section(file, i, j))
            return false;
    return true;
}

/* Shows the section whose first row is `first`. */
static void show_file_section(const struct file_view *s, size_t first)
{
    const struct result_file *file = s->file;
    const json_t *json = result_section(file, &file->rows[first]);
    const char *note = json_text_at(json, "note");
    struct section p = {
        .title = json_text_at(json ? json : file->rows[first].json,
                              json ? "title" : "op"),
        .note = *note ? note : NULL,
        .devices = s->devices,
        .n_devices = (unsigned)file->n_devices,
        .set = &s->set,
        .rows = {.kind = result_rows_kind(file, &file->rows[first])},
    };
    xl_row *row = xl__calloc(1, sizeof *row);
    for (size_t i = first; row && i < file->n_rows; i++) {
        if (!is_same_section(file, first, i))
            continue;
        result_row_read(&file->rows[i], row);
        if (s->is_whole || section_shows(row, &s->set))
            (void)result_table_add(&p.rows,
                                   result_device(file, &file->rows[i]), row);
    }
    section_show(&p, s->to);
    free(row);
    result_table_clear(&p.rows);
    notes_clear(&p.notes);
}

/* Shows the summary of each device, of a file that the suite has written. */
static void show_summaries(const struct result_file *file,
                           const struct display *to)
{
    const json_t *list = json_object_get(file->document, "devices");
    const json_t *state = json_object_get(file->document, "state");
    const json_t *tool = json_object_get(file->document, "tool");
    struct summary summary = {NULL, 0, 0};
    xl_row *row = xl__calloc(1, sizeof *row);
    const bool is_suite = xl__streq(json_text_at(tool, "command"), "suite");
    for (size_t i = 0; is_suite && row && i < file->n_rows; i++) {
        result_row_read(&file->rows[i], row);
        summary_add(&summary, result_device(file, &file->rows[i]), row);
    }
    for (size_t i = 0; i < file->n_devices; i++) {
        struct xl__str name = {0}, detail = {0};
        const json_t *dev = json_array_get(list, i);
        results_device_head(dev, &name, &detail);
        const struct summary_head head = {
            xl__str_text(&name), xl__str_text(&detail), results_state(file),
            json_is_true(json_object_get(state, "is_busy")), false};
        summary_show(&summary, dev, &head, to);
        xl__str_clear(&name);
        xl__str_clear(&detail);
    }
    free(row);
    summary_clear(&summary);
}

void results_show(const struct result_file *file, bool is_whole,
                  const struct settings *set, const struct display *to)
{
    const json_t *list = json_object_get(file->document, "devices");
    struct file_view s = {.file = file, .is_whole = is_whole, .to = to};
    const bool is_page = to->width == 0; /* which is read from its top */
    s.set.quick = has_option(file, "quick");
    s.set.full = has_option(file, "full");
    s.set.quiet = set && set->quiet;
    s.set.same_kernel = set ? set->same_kernel : NULL;
    s.set.describe = is_whole || (set && set->describe);
    if (is_page)
        show_summaries(file, to);
    s.devices = xl__calloc(file->n_devices + 1, sizeof *s.devices);
    for (size_t i = 0; s.devices && i < file->n_devices; i++) {
        const json_t *dev = json_array_get(list, i);
        const char *name = json_text_at(dev, "name");
        const json_t *index = json_object_get(dev, "index");
        s.devices[i] = (struct section_device){
            dev,
            json_is_integer(index) ? (unsigned)json_integer_value(index)
                                   : (unsigned)i,
            *name ? name : "?"};
    }
    for (size_t i = 0; s.devices && i < file->n_rows; i++)
        if (is_first_of_section(file, i))
            show_file_section(&s, i);
    for (size_t i = 0; file->n_rows == 0 && i < file->n_devices; i++)
        show_facts(json_array_get(list, i), to);
    if (!is_page)
        show_summaries(file, to);
    free(s.devices);
}
