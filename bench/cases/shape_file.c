/* SPDX-License-Identifier: Apache-2.0 */
/* Shape files. A line is split into words; options are parsed by the table of
 * the command line, so each option of a command is also valid in a line. */
#include "cases/shape_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"

/* Options of a shape; the others apply to the whole run. */
static const char *const line_options[] = {
    "dtype",  "trans", "accuracy", "batch",  "heads",
    "stride", "pad",   "dilation", "groups", "layout", NULL};

static const char blanks[] = " \t\r";

/* -- the text ------------------------------------------------------------- */

static bool read_text(struct shape_file *f, struct xl__str *why)
{
    return embedded_read(shape_texts, "shape file", NULL, f->name, &f->text,
                         why);
}

/* -- a line --------------------------------------------------------------- */

static bool add_position(const struct shape_file *f,
                         const struct shape_line *l, unsigned column,
                         struct xl__str *why)
{
    xl__str_printf(why, "%s:%u:%u: ", f->name, l->number, column);
    return false;
}

/* The end of a name: a colon before a blank or the line's end; NULL: no name.
 */
static char *name_end(char *line)
{
    for (char *at = line; (at = strchr(at, ':')) != NULL; at++)
        if (at[1] == '\0' || strchr(blanks, at[1]))
            return at;
    return NULL;
}

/* Split the rest of the line after `at` into words; `begin` is its start. */
static bool split_line(const struct shape_file *f, struct shape_line *l,
                       const char *begin, char *at, struct xl__str *why)
{
    for (at += strspn(at, blanks); *at; at += strspn(at, blanks)) {
        const unsigned column = (unsigned)(at - begin) + 1;
        if (l->n_words == SHAPE_LINE_WORDS) {
            add_position(f, l, column, why);
            xl__str_printf(why,
                           "a line has at most %d words after its name; "
                           "give one shape a line",
                           SHAPE_LINE_WORDS);
            return false;
        }
        l->word[l->n_words++] = (struct shape_word){at, column};
        at += strcspn(at, blanks);
        if (*at)
            *at++ = '\0';
    }
    if (l->n_words > 0)
        return true;
    add_position(f, l, (unsigned)(at - begin) + 1, why);
    xl__str_printf(why, "'%s' has no shape; give NAME: SHAPE", l->name);
    return false;
}

static bool add_line(struct shape_file *f, char *line, unsigned number,
                     struct xl__str *why)
{
    struct shape_line l = {.number = number};
    line[strcspn(line, "#")] = '\0';
    char *at = line + strspn(line, blanks);
    if (!*at)
        return true;
    char *end = name_end(at);
    if (end == at) {
        add_position(f, &l, (unsigned)(at - line) + 1, why);
        xl__str_add(why, "a name is missing before ':'");
        return false;
    }
    if (end) {
        l.name = at;
        *end = '\0';
        at = end + 1;
    }
    if (!split_line(f, &l, line, at, why))
        return false;
    if (!xl__grow(&f->line, &f->cap, f->n + 1, sizeof *f->line)) {
        xl__str_printf(why, "'%s' is too large for the memory there is",
                       f->name);
        return false;
    }
    f->line[f->n++] = l;
    return true;
}

bool shape_file_read(const char *name, struct shape_file *out,
                     struct xl__str *why)
{
    *out = (struct shape_file){.name = name};
    if (!read_text(out, why))
        return false;
    unsigned number = 1;
    for (char *line = out->text; line; number++) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!add_line(out, line, number, why))
            return false;
        line = next;
    }
    if (out->n > 0)
        return true;
    xl__str_printf(why, "'%s' has no shapes; give one a line, such as "
                        "'512x6144x4096 f16 nt'", name);
    return false;
}

void shape_file_clear(struct shape_file *f)
{
    free(f->text);
    free(f->line);
    *f = (struct shape_file){.name = NULL};
}

/* -- the settings of a line ----------------------------------------------- */

static bool is_line_option(const struct command *c,
                           const struct option_row *row)
{
    for (const char *const *name = line_options; *name; name++)
        if (strcmp(*name, row->name) == 0)
            return command_takes(c, row);
    return false;
}

static bool is_choice(const struct option_row *row, const char *text)
{
    for (int i = 0; row->choices && row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0)
            return true;
    return false;
}

/* The option of "batch=8" or of "f16"; *value: the text of its value. */
static const struct option_row *option_of(const struct command *c,
                                          const char *word, const char **value)
{
    const size_t len = strcspn(word, "=");
    *value = word[len] ? word + len + 1 : word;
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (!is_line_option(c, row))
            continue;
        if (word[len] ? strncmp(row->name, word, len) == 0 && !row->name[len]
                      : is_choice(row, word))
            return row;
    }
    return NULL;
}

static void list_options(const struct command *c, struct xl__str *why)
{
    const char *before = " ";
    for (const char *const *name = line_options; *name; name++) {
        const struct option_row *row = option_find(*name);
        if (!row || !command_takes(c, row))
            continue;
        xl__str_printf(why, "%s%s=%s", before, row->name, row->value);
        before = ", ";
    }
}

bool shape_file_settings(const struct shape_file *f, size_t i,
                         const struct command *c, struct settings *set,
                         struct xl__str *why)
{
    const struct shape_line *l = &f->line[i];
    const struct settings line = *set;
    set->case_name = l->name;
    for (unsigned w = 1; w < l->n_words; w++) {
        const char *value, *word = l->word[w].text;
        const struct option_row *row = option_of(c, word, &value);
        struct settings changed = *set;
        if (row && option_set(row, value, &changed)) {
            if (!option_is_given(row, &line))
                *set = changed;
            continue;
        }
        shape_file_position(f, i, w, why);
        xl__str_printf(why, "invalid option '%s' of a shape; must be one of",
                       word);
        list_options(c, why);
        return false;
    }
    return true;
}

void shape_file_position(const struct shape_file *f, size_t i, unsigned word,
                         struct xl__str *out)
{
    const struct shape_line *l = &f->line[i];
    add_position(f, l, l->word[word].column, out);
}

void shape_file_list(FILE *to, const char *command)
{
    enum { NAME_COLUMNS = 14 };
    const size_t n = strlen(command);
    for (const struct embedded *t = shape_texts; t->name; t++) {
        const char *text = (const char *)t->text;
        if (strncmp(t->name, command, n) != 0 || t->name[n] != '_')
            continue;
        /* The first line is the licence, the second the title. */
        const char *title = strchr(text, '\n');
        title = title ? title + 1 + strspn(title + 1, "# ") : "";
        fprintf(to, "  %-*.*s  %.*s\n", NAME_COLUMNS,
                (int)strcspn(t->name, "."), t->name,
                (int)strcspn(title, "\n"), title);
    }
}
