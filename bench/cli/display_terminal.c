/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/display.h"

#include <stdio.h>

#include "cli/table.h"
#include "cli/console.h"

enum { INDENT = 2 };

static void title(void *arg, const char *text)
{
    struct xl__str clean = {0}, cut = {0};
    (void)arg;
    text_escape(&clean, text);
    text_cut(&cut, xl__str_text(&clean), text_terminal_columns());
    fprintf(stdout, "%s\n", xl__str_text(&cut));
    xl__str_clear(&clean);
    xl__str_clear(&cut);
}

static void paragraph(void *arg, const char *text)
{
    struct xl__str clean = {0};
    (void)arg;
    text_escape_lines(&clean, text);
    text_wrap(stdout, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
}

static void table(void *arg, const struct table *t)
{
    const bool *colour = arg;
    table_print(stdout, t, text_terminal_columns(), *colour);
}

static void note(void *arg, size_t number, const char *text)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "[%zu] %s", number, text);
    paragraph(arg, xl__str_text(&line));
    xl__str_clear(&line);
}

static void gap(void *arg)
{
    (void)arg;
    fputc('\n', stdout);
    fflush(stdout);
}

struct display display_terminal(bool *colour)
{
    *colour = text_wants_colour();
    return (struct display){
        colour, text_terminal_columns(), title, paragraph, table, note, gap};
}
