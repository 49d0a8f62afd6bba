/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench devices --verbose`, once `clbench limits`: all facts about a
 * device, with their sources. The two that drivers most often report wrongly,
 * the sub-group width and the event clock, are measured first. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "commands.h"
#include "report/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"
#include "cli/matrix_table.h"
#include "results/listings.h"
#include "results/result.h"

/* -- matrix instructions, a row each -------------------------------------- */

static void ignore_row(const xl_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

/* Run the two probes. A device that cannot run one keeps the driver's value.
 */
static void measure_facts(struct session *s, xl_device *dev)
{
    static const char *const probes[] = {"timer", "subgroup"};
    const xl_probing how = {.quick = true,
                            .seed = s->set.seed,
                            .stop = session_stopped,
                            .stop_arg = s};
    xl_queue *q = NULL;
    if (xl_queue_create(s->lib, dev, &q) != XL_OK)
        return;
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        progress_step(s, probes[i]);
        (void)xl_probe_run(q, probes[i], &how, ignore_row, NULL);
    }
    xl_queue_destroy(q);
}

static void format_list(struct xl__str *out, const xl_fact *fact)
{
    char text[UNITS_CAP];
    for (unsigned i = 0; i < fact->n_list; i++) {
        units_format(text, sizeof text, fact->list[i], fact->unit);
        xl__str_printf(out, "%s%s", i ? ", " : "", text);
    }
}

static void format_fact(struct xl__str *out, const xl_fact *fact)
{
    char text[UNITS_CAP];
    if (fact->source == XL_UNKNOWN) {
        xl__str_add(out, "-");
        return;
    }
    switch (fact->kind) {
    case XL_FACT_TEXT:
        xl__str_add(out, fact->text ? fact->text : "-");
        break;
    case XL_FACT_LIST:
        format_list(out, fact);
        break;
    case XL_FACT_BOOL:
        xl__str_add(out, fact->value > 0 ? "yes" : "no");
        break;
    case XL_FACT_NUMBER:
        units_format(text, sizeof text, fact->value, fact->unit);
        xl__str_add(out, text);
        break;
    }
}

static bool facts_differ(const xl_fact *a, const xl_fact *b)
{
    if (a->source == XL_UNKNOWN || b->source == XL_UNKNOWN)
        return false;
    return a->value < b->value || a->value > b->value;
}

/* "subgroup_width: the driver reports 64, measured 32" when a source differs
 * from the value that is used; else nothing. */
static void describe_difference(struct xl__str *out, const xl_device *dev,
                                const char *name, const xl_fact *used)
{
    static const struct {
        xl_source source;
        const char *text;
    } others[] = {{XL_QUERIED, "the driver reports "},
                  {XL_MEASURED, "measured "}};
    const char *before = ": ";
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        xl_fact other;
        bool known =
            xl_device_fact(dev, name, others[i].source, &other) == XL_OK;
        if (!known || !facts_differ(&other, used))
            continue;
        if (*before == ':')
            xl__str_add(out, name);
        xl__str_printf(out, "%s%s", before, others[i].text);
        format_fact(out, &other);
        if (others[i].source == XL_MEASURED && other.note)
            xl__str_printf(out, ", a contradiction that is not used (%s)",
                           other.note);
        before = ", ";
    }
}

static void add_fact_row(struct table *t, const xl_device *dev,
                         const char *name)
{
    xl_fact fact;
    struct xl__str value = {0};
    if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK)
        return;
    format_fact(&value, &fact);
    table_cell(t, "%s", name);
    table_cell(t, "%s", xl__str_text(&value));
    table_cell(t, "%s", xl_source_name(fact.source));
    table_cell(t, "%s", fact.note ? fact.note : "");
    xl__str_clear(&value);
}

/* Texts that were cut in the table, and sources that differ. */
static void print_remarks(const xl_device *dev, unsigned width)
{
    enum { SHOWN_WHOLE = 24 };
    const char *name = NULL;
    for (unsigned i = 0; (name = xl_fact_name(i, NULL)) != NULL; i++) {
        xl_fact fact;
        struct xl__str raw = {0}, clean = {0};
        if (xl_device_fact(dev, name, XL_UNKNOWN, &fact) != XL_OK)
            continue;
        if (fact.text && text_columns(fact.text) > SHOWN_WHOLE)
            xl__str_printf(&raw, "%s: %s", name, fact.text);
        else
            describe_difference(&raw, dev, name, &fact);
        text_escape(&clean, xl__str_text(&raw));
        text_wrap(stdout, xl__str_text(&clean), 2, width - 2);
        xl__str_clear(&raw);
        xl__str_clear(&clean);
    }
}

static void print_facts(const xl_device *dev)
{
    static const struct table_column columns[] = {
        {"fact", false, 0},
        {"value", false, 24},
        {"source", false, 0},
        {"note", false, 0},
    };
    unsigned width = text_terminal_columns();
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    struct xl__str name = {0};
    text_escape(&name, device_fact_text(dev, "name", "?"));
    fprintf(stdout, "%u: %s (vendor table: %s)\n", xl_device_index(dev),
            xl__str_text(&name), xl_device_vendor_table(dev));
    xl__str_clear(&name);
    const char *fact = NULL;
    for (unsigned i = 0; (fact = xl_fact_name(i, NULL)) != NULL; i++)
        add_fact_row(t, dev, fact);
    table_print(stdout, t, width, false);
    table_destroy(t);
    matrix_table_print(dev, width);
    print_remarks(dev, width);
    fputc('\n', stdout);
    fflush(stdout);
}

static int list_names(void)
{
    unsigned width = text_terminal_columns();
    const char *help = NULL, *name = NULL;
    for (unsigned i = 0; (name = xl_fact_name(i, &help)) != NULL; i++) {
        fprintf(stdout, "%s\n", name);
        text_wrap(stdout, help ? help : "", 4, width - 4);
    }
    return EXIT_FINE;
}

static void show_facts(struct session *s)
{
    enum { PROBES_A_DEVICE = 2 };
    progress_begin(s, PROBES_A_DEVICE * s->n_devices);
    for (unsigned i = 0; i < s->n_devices && !session_stopped(s); i++) {
        if (!s->listing)
            measure_facts(s, s->devices[i]);
        progress_hide(s);
        if (session_tables(s))
            print_facts(s->devices[i]);
    }
    progress_end(s);
}

int limits_run(struct session *s)
{
    int code = listing_choose(s);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    show_facts(s);
    return session_result(s);
}

static int run_limits(struct session *s)
{
    return s->set.list ? list_names() : limits_run(s);
}

static const char *const options[] = {
    "device", "all-devices", "as", "json", REPORT_OPTIONS, "max-time", "seed",
    "list", NULL};

const struct command cmd_limits = {
    .name = "limits",
    .summary = "old name of 'devices --verbose'",
    .instead = "devices --verbose",
    .about = "'clbench devices --verbose' prints the same: each fact about a "
             "device, with its unit and its source. --list prints the names "
             "of the facts.",
    .options = options,
    .run = run_limits,
};
