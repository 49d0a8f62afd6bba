/* SPDX-License-Identifier: Apache-2.0 */
/* Where each file comes from and how to make it again: command line, versions,
 * host, variables. */
#include <stdint.h>
#include <string.h>

#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "cli/units.h"

/* -- the command line ----------------------------------------------------- */

/* A word as a shell takes it; quoted where it must be. */
static void add_word(struct xl__str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=:,./@^%";
    xl__str_add(out, " ");
    if (*word && strspn(word, plain) == strlen(word)) {
        xl__str_add(out, word);
        return;
    }
    xl__str_add(out, "'");
    for (; *word; word++)
        xl__str_add_n(out, *word == '\'' ? "'\\''" : word,
                      *word == '\'' ? 4 : 1);
    xl__str_add(out, "'");
}

static void add_option(struct xl__str *out, const char *name,
                       const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_true(value) || (text && *text)) {
        xl__str_printf(out, " --%s", name);
        if (text)
            add_word(out, text);
    } else if (json_is_number(value) && json_number_value(value) > 0) {
        xl__str_printf(out, " --%s %.17g", name, json_number_value(value));
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        add_option(out, name, json_array_get(value, i));
}

static void command_line(struct xl__str *out, const json_t *document)
{
    const json_t *env = json_object_get(document, "environment");
    const json_t *words = json_object_get(env, "arguments");
    const char *command =
        json_text_at(json_object_get(document, "tool"), "command");
    const char *name = NULL;
    json_t *value = NULL;
    xl__str_add(out, "clbench");
    if (*command && strcmp(command, "suite") != 0)
        add_word(out, command);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word)
            add_word(out, word);
    }
    json_object_foreach(
        (json_t *)(uintptr_t)json_object_get(env, "options"), name, value)
    {
        add_option(out, name, value);
    }
}

/* -- a file --------------------------------------------------------------- */

static void line(struct xl__str *out, const char *title, const char *text)
{
    if (*text)
        html_add(out, "<div><dt>%m</dt><dd>%s</dd></div>\n", title, text);
}

static void host_lines(struct xl__str *out, const json_t *host)
{
    char text[UNITS_CAP];
    struct xl__str cpu = {0};
    const json_t *cores = json_object_get(host, "cores");
    const json_t *memory = json_object_get(host, "memory_bytes");
    const json_t *load = json_object_get(host, "load");
    xl__str_add(&cpu, json_text_at(host, "cpu"));
    if (json_is_integer(cores))
        xl__str_printf(&cpu, ", %" JSON_INTEGER_FORMAT " cores",
                       json_integer_value(cores));
    line(out, "Processor", xl__str_text(&cpu));
    if (json_is_number(memory)) {
        units_format(text, sizeof text, json_number_value(memory), "B");
        line(out, "Memory", text);
    }
    line(out, "System", json_text_at(host, "os"));
    line(out, "Kernel", json_text_at(host, "kernel"));
    line(out, "Machine", json_text_at(host, "machine"));
    if (json_is_number(load)) {
        units_number(text, sizeof text, json_number_value(load));
        line(out, "Load when it ended", text);
    }
    xl__str_clear(&cpu);
}

static void variable_lines(struct xl__str *out, const json_t *variables)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)variables, name, value)
    {
        const char *text = json_string_value(value);
        html_add(out, "<div><dt><code>%s</code></dt><dd><code>%s</code></dd>"
                      "</div>\n", name, text ? text : "");
    }
}

static void add_file(struct xl__str *out, const struct result_file *file,
                     size_t i_file, bool is_folded)
{
    static const char fold[] =
        "<details><summary>Versions, host, variables</summary>\n";
    struct xl__str command = {0}, date = {0};
    const json_t *doc = file->document;
    const json_t *tool = json_object_get(doc, "tool");
    const json_t *env = json_object_get(doc, "environment");
    command_line(&command, doc);
    html_date(&date, file);
    html_add(out,
             "<article aria-labelledby=\"file-%z\">\n"
             "<h3 id=\"file-%z\">%s</h3>\n<pre class=\"scroll\" "
             "tabindex=\"0\" role=\"region\" "
             "aria-label=\"Command line of %s\"><code>%s</code></pre>\n"
             "%m<dl>\n",
             i_file, i_file, html_file_name(file), html_file_name(file),
             xl__str_text(&command), is_folded ? fold : "");
    line(out, "Date", xl__str_text(&date));
    line(out, "clbench", json_text_at(tool, "version"));
    line(out, "Library", json_text_at(tool, "library"));
    host_lines(out, json_object_get(doc, "host"));
    variable_lines(out, json_object_get(env, "variables"));
    html_add(out, "</dl>\n%m</article>\n", is_folded ? "</details>\n" : "");
    xl__str_clear(&command);
    xl__str_clear(&date);
}

void html_environment(struct xl__str *out, const struct html_page *page)
{
    enum { MOST_UNFOLDED = 4 };
    xl__str_add(out,
                "<section id=\"environment\" "
                "aria-labelledby=\"h-environment\">\n"
                "<h2 id=\"h-environment\">Environment, and how to run it "
                "again</h2>\n");
    for (size_t i = 0; i < page->n_files; i++)
        add_file(out, &page->files[i], i, page->n_files > MOST_UNFOLDED);
    xl__str_add(out, "</section>\n");
}
