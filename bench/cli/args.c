/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the command line. Options may stand anywhere among the words;
 * the first word names the command, so the line is read twice: once for that
 * word, once for what the command takes. */
#include "cli/args.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/console.h"

/* -- one item of the command line at a time ------------------------------- */

struct cursor {
    char **argv;
    int argc, at;
    const char *letters; /* rest of "-qh", or NULL */
    bool only_words;     /* after "--" */
};

struct item {
    const char *text; /* as written: "--device", "-d", "1024" */
    bool is_option;
    const struct option_row *row; /* NULL: no such option */
    const char *value;            /* NULL: none given */
    bool value_joined;            /* "--name=value" */
    char spelling[3];             /* "-d", for messages */
};

static const struct command *const *all_commands;

void commands_set(const struct command *const *list)
{
    all_commands = list;
}

const struct command *const *commands_all(void)
{
    return all_commands;
}

static const struct option_row *find_n(const char *name, size_t len)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (strlen(row->name) == len && strncmp(row->name, name, len) == 0)
            return row;
    return NULL;
}

static const struct option_row *find_letter(char letter)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (row->letter == letter && letter)
            return row;
    return NULL;
}

/* The value in the next argument, if the option wants one. */
static void take_value(struct cursor *c, struct item *item)
{
    if (!item->row || item->row->kind == OPT_FLAG || item->value)
        return;
    if (c->at < c->argc)
        item->value = c->argv[c->at++];
    else
        item->value = item->row->bare;
}

static void read_long(struct cursor *c, struct item *item)
{
    const char *name = item->text + 2;
    size_t len = strcspn(name, "=");
    item->row = find_n(name, len);
    item->value_joined = name[len] == '=';
    if (item->value_joined)
        item->value = name + len + 1;
    take_value(c, item);
}

static void read_letter(struct cursor *c, struct item *item)
{
    char letter = *c->letters++;
    memcpy(item->spelling, (char[]){'-', letter, '\0'}, 3);
    item->text = item->spelling;
    item->row = find_letter(letter);
    bool wants = item->row && item->row->kind != OPT_FLAG;
    if (wants && *c->letters) {
        item->value = c->letters + (*c->letters == '=');
        c->letters = NULL;
    }
    if (c->letters && !*c->letters)
        c->letters = NULL;
    take_value(c, item);
}

/* The next item; false at the end of the line. */
static bool next_item(struct cursor *c, struct item *item)
{
    *item = (struct item){.is_option = true};
    if (!c->letters) {
        if (c->at >= c->argc)
            return false;
        item->text = c->argv[c->at++];
        if (!c->only_words && strcmp(item->text, "--") == 0) {
            c->only_words = true;
            return next_item(c, item);
        }
        item->is_option =
            !c->only_words && item->text[0] == '-' && item->text[1];
        if (!item->is_option)
            return true;
        if (item->text[1] == '-') {
            read_long(c, item);
            return true;
        }
        c->letters = item->text + 1;
    }
    read_letter(c, item);
    return true;
}

/* -- complaints ----------------------------------------------------------- */

static bool complain(const struct command *c, const char *fmt, ...)
    XL__PRINTF(2, 3);

/* One line: what is wrong, and where to read on. */
static bool complain(const struct command *c, const char *fmt, ...)
{
    struct xl__str raw = {0}, clean = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&raw, fmt, args);
    va_end(args);
    text_escape(&clean, xl__str_text(&raw));
    const char *name = c ? c->name : "";
    fprintf(stderr, "clbench: %s (see 'clbench%s%s --help')\n",
            xl__str_text(&clean), *name ? " " : "", name);
    xl__str_clear(&raw);
    xl__str_clear(&clean);
    return false;
}

static bool unknown_option(const struct command *c, const char *text)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    unsigned n = 0;
    for (const struct option_row *r = option_rows; r->name && n < MOST; r++)
        if (command_takes(c, r))
            names[n++] = r->name;
    const char *near = text[1] == '-' ? text_nearest(text + 2, names) : NULL;
    if (near)
        return complain(c, "unknown option '%s'; did you mean '--%s'?", text,
                        near);
    return complain(c, "unknown option '%s'", text);
}

static bool unknown_command(const char *text)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    for (unsigned i = 0; commands_all()[i] && i < MOST; i++)
        names[i] = commands_all()[i]->name;
    const char *near = text_nearest(text, names);
    if (near)
        return complain(NULL, "unknown command '%s'; did you mean '%s'?", text,
                        near);
    return complain(NULL, "unknown command '%s'", text);
}

/* -- the whole line ------------------------------------------------------- */

/* "help COMMAND" is "COMMAND --help". */
static const struct command *find_command(int argc, char **argv,
                                          const char **name, bool *is_help)
{
    struct cursor c = {argv, argc, 1, NULL, false};
    struct item item;
    *name = "";
    *is_help = false;
    while (next_item(&c, &item)) {
        if (item.is_option)
            continue;
        if (*is_help || strcmp(item.text, "help") != 0) {
            *name = item.text;
            break;
        }
        *is_help = true;
    }
    for (unsigned i = 0; commands_all()[i]; i++)
        if (strcmp(commands_all()[i]->name, *name) == 0)
            return commands_all()[i];
    return NULL;
}

static bool set_option(const struct command *c, const struct item *item,
                       struct settings *set)
{
    const struct option_row *row = item->row;
    if (!row)
        return unknown_option(c, item->text);
    if (!command_takes(c, row)) {
        const char *whose = *c->name ? c->name : "the suite";
        return complain(c, "%s does not take --%s", whose, row->name);
    }
    if (row->kind == OPT_FLAG && item->value_joined)
        return complain(c, "--%s takes no value", row->name);
    if (row->kind != OPT_FLAG && !item->value)
        return complain(c, "--%s wants a value: %s", row->name, row->value);
    if (!option_set(row, item->value, set))
        return complain(c, "--%s: '%s' will not do; give %s%s", row->name,
                        item->value, row->value, option_asks(row->kind));
    return true;
}

static bool check_whole(const struct command *c, const struct settings *set)
{
    if (set->help || set->version)
        return true;
    if (set->quick && set->full)
        return complain(c, "--quick and --full exclude each other");
    if (set->device && set->all_devices)
        return complain(c, "--device and --all-devices exclude each other");
    if (set->n_words < c->min_words && !set->list)
        return complain(c, "too few arguments; usage: clbench %s %s", c->name,
                        c->words ? c->words : "");
    if (set->n_words > c->max_words)
        return complain(c, "what is '%s' for? usage: clbench %s%s%s",
                        set->words[c->max_words], c->name,
                        *c->name && c->words ? " " : "",
                        c->words ? c->words : "");
    return true;
}

bool args_parse(int argc, char **argv, struct settings *set,
                const struct command **command)
{
    *set = (struct settings){
        .dtype = XL_N_DTYPES, .trans = -1, .layout = -1, .seed = 1,
        .margin = NAN, .noise = NAN};
    const char *name = NULL;
    *command = find_command(argc, argv, &name, &set->help);
    if (!*command)
        return unknown_command(name);
    set->words = xl__calloc((size_t)argc + 1, sizeof *set->words);
    if (!set->words)
        return complain(*command, "out of memory");
    struct cursor c = {argv, argc, 1, NULL, false};
    struct item item;
    bool named = *name == '\0';
    while (next_item(&c, &item)) {
        if (item.is_option) {
            if (!set_option(*command, &item, set))
                return false;
        } else if (!named) {
            named = true;
        } else {
            set->words[set->n_words++] = item.text;
        }
    }
    return check_whole(*command, set);
}

void args_free(struct settings *set)
{
    free(set->words);
    set->words = NULL;
    set->n_words = 0;
}
