/* SPDX-License-Identifier: Apache-2.0 */
/* What things are called on the page: ops, runs, files, facts. */
#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "report/html_page.h"
#include "results/json.h"
#include "cli/units.h"
#include "results/warnings.h"

static const struct {
    const char *op, *title;
} titles[] = {
    {"gemm", "Matrix products (GEMM)"}, {"conv", "Convolution"},
    {"softmax", "Softmax"},             {"expr", "Expressions"},
    {"pipeline", "Pipeline"},
};

static const char probe[] = "probe_";

bool html_op_is_probe(const char *op)
{
    return strncmp(op, probe, sizeof probe - 1) == 0;
}

void html_op_title(struct xl__str *out, const char *op)
{
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(op, titles[i].op) == 0) {
            xl__str_add(out, titles[i].title);
            return;
        }
    if (html_op_is_probe(op))
        xl__str_printf(out, "Probe: %s", op + sizeof probe - 1);
    else
        xl__str_add(out, *op ? op : "(no op)");
}

void html_date(struct xl__str *out, const struct result_file *file)
{
    enum { DAY = 10, MINUTE = 16, SECONDS = 20 };
    const json_t *env = json_object_get(file->document, "environment");
    const char *date = json_text_at(env, "date");
    if (strlen(date) == SECONDS && date[DAY] == 'T' && date[SECONDS - 1] == 'Z')
        xl__str_printf(out, "%.*s %.*s UTC", DAY, date, MINUTE - DAY - 1,
                       date + DAY + 1);
    else
        xl__str_add(out, date);
}

const char *html_file_name(const struct result_file *file)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    return *name ? name : "This run";
}

void html_run_name(struct xl__str *out, const struct html_page *page,
                   size_t i_run)
{
    const struct html_run *run = &page->runs[i_run];
    const struct html_device *device = &page->devices[run->i_device];
    const char *before = "";
    bool is_driver_told = false, is_file_told = false;
    for (size_t i = 0; i < page->n_devices; i++)
        is_driver_told = is_driver_told ||
                         (&page->devices[i] != device &&
                          strcmp(page->devices[i].name, device->name) == 0);
    for (size_t i = 0; i < page->n_runs; i++)
        is_file_told = is_file_told ||
                       (i != i_run && page->runs[i].i_device == run->i_device);
    if (page->n_devices > 1 || !is_file_told) {
        xl__str_add(out, device->name);
        before = ", ";
    }
    if (is_driver_told)
        xl__str_printf(out, ", %s %s", device->platform, device->driver);
    if (is_file_told)
        xl__str_printf(out, "%s%s", before, html_file_name(run->file));
}

/* -- facts ---------------------------------------------------------------- */

static unsigned trust_of(const json_t *fact)
{
    const char *source = json_text_at(fact, "source");
    if (!fact || json_is_null(json_object_get(fact, "value")))
        return 0;
    return xl__streq(source, xl_source_name(XL_MEASURED)) ? 2 : 1;
}

const json_t *html_fact(const struct html_page *page, size_t i_device,
                        const char *name)
{
    const json_t *best = NULL;
    for (size_t i = 0; i < page->n_runs; i++) {
        if (page->runs[i].i_device != i_device)
            continue;
        const json_t *fact = result_fact(page->runs[i].json, name);
        if (trust_of(fact) > trust_of(best))
            best = fact;
    }
    return best;
}

static void add_number(struct xl__str *out, const json_t *value,
                       const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, json_number_value(value),
                 *unit ? unit : NULL);
    xl__str_add(out, text);
}

void html_fact_value(struct xl__str *out, const json_t *fact)
{
    const json_t *value = json_object_get(fact, "value");
    const char *unit = json_text_at(fact, "unit");
    if (json_is_number(value))
        add_number(out, value, unit);
    else if (json_is_boolean(value))
        xl__str_add(out, json_is_true(value) ? "yes" : "no");
    else if (json_is_string(value))
        xl__str_add(out, json_string_value(value));
    else if (!json_is_array(value))
        xl__str_add(out, "-");
    for (size_t i = 0; i < json_array_size(value); i++) {
        xl__str_add(out, i > 0 ? " x " : "");
        add_number(out, json_array_get(value, i), unit);
    }
}

/* -- words of the library ------------------------------------------------- */

unsigned html_warning_of(const char *code)
{
    unsigned bit = 0;
    while (bit < XL_N_WARN && strcmp(warn_code(bit), code) != 0)
        bit++;
    return bit;
}

unsigned html_limiter_of(const char *name)
{
    unsigned i = 0;
    while (i < XL_N_LIMITERS &&
           strcmp(xl_limiter_name((xl_limiter)i), name) != 0)
        i++;
    return i;
}
