/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a document's devices, as `clbench limits` shows them: all that
 * there is to show of a file without rows. */
#include "results/results_words.h"

#include "results/json.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

enum { VALUE_COLUMNS = 24 };

static void add_number(struct xl__str *out, const json_t *value,
                       const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, json_number_value(value), unit);
    xl__str_add(out, text);
}

static void add_value(struct xl__str *out, const json_t *fact)
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

/* Each in a line of its own, where a table has no room for it. */
static void show_long(const json_t *facts, const struct display *to)
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

void results_facts(const json_t *device, const struct display *to)
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
        add_value(&value, fact);
        table_cell(t, "%s", json_text_at(fact, "name"));
        table_cell(t, "%s", xl__str_text(&value));
        table_cell(t, "%s", json_text_at(fact, "source"));
        table_cell(t, "%s", json_text_at(fact, "note"));
        xl__str_clear(&value);
    }
    if (json_array_size(facts) > 0) {
        to->table(to->arg, t);
        if (to->width > 0)
            show_long(facts, to);
        to->gap(to->arg);
    }
    table_destroy(t);
}
