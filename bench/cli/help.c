/* SPDX-License-Identifier: Apache-2.0 */
/* --help and the man page: two renderings of the tables of commands and
 * options. The man page is written in man(7) macros. */
#include "cli/options.h"

#include <string.h>

#include <crosslane/crosslane.h>

#include "cli/command.h"
#include "cli/console.h"

struct entry {
    const char *name, *text;
};

static const struct entry exit_codes[] = {
    {"0", "all cases ran, with right results"},
    {"1", "a result was wrong or a kernel failed; --strict: a rejected row"},
    {"2", "wrong usage, no such device, or --max-time ended before the first "
          "row"},
    {"3", "no usable device: no driver, or one that fails"},
    {"4", "a file could not be read or written"},
    {"5", "a gate failed: compare --fail-on, gemm --cliff"},
    {"130", "interrupted; the results so far were printed and written"},
    {NULL, NULL},
};

static const struct entry variables[] = {
    {"NO_COLOR", "if set and not empty, no colours"},
    {"CLICOLOR_FORCE", "colours also where standard output is not a terminal"},
    {"COLUMNS",
     "width of the tables; if not set, that of the terminal, else 80"},
    {"XL_CACHE_DIR", "folder of compiled programs; off: no cache"},
    {"XDG_CACHE_HOME, HOME",
     "parent of that folder if XL_CACHE_DIR is not set"},
    {"XL_TUNED_DIR", "folder of the sets of `clbench tune`; off: no tuned set "
                     "is used, not even those of the library"},
    {"XDG_CONFIG_HOME, HOME",
     "parent of that folder if XL_TUNED_DIR is not set"},
    {"XL_AUDITION", "whether candidates are timed where the model is in doubt: "
                    "off, bounded (if not set), background, exhaustive"},
    {"XL_CL_DIR", "folder from which kernels are read, for development"},
    {"OCL_ICD_VENDORS", "folder in which the OpenCL loader looks for drivers"},
    {NULL, NULL},
};

static const char shapes_text[] =
    "MxNxK is a matrix product: A is M x K, B is K x N; N alone is a cube. "
    "ROWSxCOLS are rows of a softmax; N alone is a square.\n\n"
    "A shape file has one shape a line, with an optional name before it and "
    "options behind it; # starts a comment:\n\n"
    "  8b qkv 512:  512x6144x4096  f16 nt\n"
    "  small:       32x32x32  batch=10000";

static const char intro[] =
    "Measures the OpenCL devices of any vendor with the kernels of the "
    "crosslane library. Without a command it runs the quick suite on the best "
    "device in about a minute.\n\n"
    "Each row of a table is the median of several runs, with its spread, the "
    "fraction of the device's measured roof that it reaches, and a verdict: "
    "ok, suspicious (should not be quoted), rejected (impossible, or wrong), "
    "unsupported or error. Tables go to standard output, messages to standard "
    "error. Ctrl-C ends the run and keeps its results; a second Ctrl-C ends "
    "the program at once.";

/* -- help ----------------------------------------------------------------- */

enum { HELP_INDENT = 6, WIDEST_HELP = 100 };

static void print_help_entry(FILE *to, const char *name, const char *text,
                             unsigned width)
{
    fprintf(to, "  %s\n", name);
    text_wrap(to, text, HELP_INDENT, width);
}

enum { NAME_CAP = 80, BRIEF_COLUMN = 28 };

static void option_name(const struct command *c, const struct option_row *row,
                        char out[NAME_CAP])
{
    char letter[8] = "    ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(out, NAME_CAP, "%s--%s%s%s", letter, row->name,
             row->value ? " " : "", row->value ? option_values(c, row) : "");
}

static void print_help_option(FILE *to, const struct command *c,
                              const struct option_row *row, unsigned width)
{
    char name[NAME_CAP];
    option_name(c, row, name);
    print_help_entry(to, name, row->help, width);
}

/* A line: the name, and the first clause of the text as far as it fits. */
static void print_help_brief(FILE *to, const struct command *c,
                             const struct option_row *row, unsigned width)
{
    char name[NAME_CAP];
    option_name(c, row, name);
    const char *text = row->help;
    const size_t used = 2 + BRIEF_COLUMN + strlen("  ..");
    const size_t most = width > used ? width - used : 0;
    size_t n = strcspn(text, ",;:(");
    const bool is_cut = n > most;
    for (n = is_cut ? most : n; n > 0 && (is_cut || text[n - 1] == ' '); n--)
        if (text[n - 1] == ' ' && text[n] != ' ' && is_cut)
            break;
    if (strlen(name) > BRIEF_COLUMN)
        fprintf(to, "  %s\n  %-*s", name, BRIEF_COLUMN, "");
    else
        fprintf(to, "  %-*s", BRIEF_COLUMN, name);
    fprintf(to, "  %.*s%s\n", (int)n, text, is_cut ? ".." : "");
}

static void print_exit_codes(FILE *to)
{
    fputs("\nExit codes:\n", to);
    for (const struct entry *e = exit_codes; e->name; e++)
        fprintf(to, "  %3s  %s\n", e->name, e->text);
}

/* Words that do not fit in the line get the next one. */
static void print_usage(FILE *to, const struct command *c, unsigned width)
{
    static const char usage[] = "usage: clbench  [OPTION...] ";
    const char *words = c->words ? c->words : "";
    const bool fits =
        sizeof usage - 1 + strlen(c->name) + strlen(words) <= width;
    fprintf(to, "usage: clbench%s%s [OPTION...]%s%s\n\n", *c->name ? " " : "",
            c->name,
            *words == '\0' ? ""
            : fits         ? " "
                           : "\n  ",
            words);
}

static void print_program_help(FILE *to, const struct command *suite,
                               unsigned width)
{
    fputs("usage: clbench [COMMAND] [OPTION...] [ARGUMENT...]\n\n", to);
    text_wrap(to, intro, 0, width);
    fputs("\nCommands:\n", to);
    for (unsigned i = 0; commands_all()[i]; i++)
        if (*commands_all()[i]->name)
            fprintf(to, "  %-10s  %s\n", commands_all()[i]->name,
                    commands_all()[i]->summary);
    fputs("\n", to);
    text_wrap(to,
              "'clbench COMMAND --help' describes a command, with "
              "examples and its options.",
              2, width);
    fputs("\nWithout a command:\n", to);
    text_wrap(to, suite->about ? suite->about : suite->summary, 2, width);
    fputs("\nShapes:\n", to);
    text_wrap(to, shapes_text, 2, width);
}

/* The command that runs when none is given. */
static const struct command *find_suite(void)
{
    const struct command *const *c = commands_all();
    while (*c && *(*c)->name)
        c++;
    return *c;
}

/* Of a command those that it has for itself, and a line for each of the
 * others, which 'clbench --help' describes, as it does the exit codes. */
static void print_options(FILE *to, const struct command *c, unsigned width)
{
    const struct command *suite = find_suite();
    bool has_common = false;
    fputs("\nOptions:\n", to);
    for (const struct option_row *row = option_rows; row->name; row++) {
        const bool is_common = c != suite && command_takes(suite, row);
        if (command_takes(c, row) && !is_common)
            print_help_option(to, c, row, width);
        has_common = has_common || (is_common && command_takes(c, row));
    }
    if (has_common)
        fputs("\nOptions described in 'clbench --help', with exit codes:\n",
              to);
    for (const struct option_row *row = option_rows; row->name; row++)
        if (c != suite && command_takes(suite, row) && command_takes(c, row))
            print_help_brief(to, c, row, width);
    if (c == suite)
        print_exit_codes(to);
}

void args_help(FILE *to, const struct command *command)
{
    unsigned width = text_terminal_columns();
    width = (width < WIDEST_HELP ? width : WIDEST_HELP) - 1;
    if (!command || !*command->name) {
        command = find_suite();
        print_program_help(to, command, width);
    } else {
        print_usage(to, command, width);
        text_wrap(to, command->about ? command->about : command->summary, 0,
                  width);
    }
    print_options(to, command, width);
}

/* -- man page ------------------------------------------------------------- */

/* Text escaped for roff: a dash is a minus, and a dot or a quote at the
 * beginning of a line is not a request. */
static void print_roff_n(FILE *to, const char *text, size_t len)
{
    bool begins = true;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (begins && (c == '.' || c == '\''))
            fputs("\\&", to);
        if (c == '-')
            fputs("\\-", to);
        else if (c == '\\')
            fputs("\\e", to);
        else if (c == '~')
            fputs("\\(ti", to);
        else if (c == '^')
            fputs("\\(ha", to);
        else if (c == '\'')
            fputs("\\(aq", to);
        else
            fputc(c, to);
        begins = c == '\n';
    }
}

static void print_roff(FILE *to, const char *text)
{
    print_roff_n(to, text, strlen(text));
}

/* Paragraphs, separated as for text_wrap(). */
static void print_roff_paragraphs(FILE *to, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len == 0) {
            fputs(text[1] ? ".PP\n" : "", to);
        } else if (*text == ' ') {
            fputs(".br\n\\&", to);
            print_roff_n(to, text, len);
            fputc('\n', to);
        } else {
            print_roff_n(to, text, len);
            fputc('\n', to);
        }
        text += len + (text[len] == '\n');
    }
}

static void print_man_option(FILE *to, const struct option_row *row)
{
    fputs(".TP\n", to);
    if (row->letter)
        fprintf(to, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", to);
    print_roff(to, row->name);
    fputs("\\fR", to);
    if (row->value) {
        fputs(" \\fI", to);
        print_roff(to, row->value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
    print_roff(to, row->help);
    fputs(".\n", to);
}

static void print_man_command(FILE *to, const struct command *c)
{
    fputs(".SS clbench", to);
    fprintf(to, "%s%s", *c->name ? " " : "", c->name);
    fputs(" [OPTION...]", to);
    if (c->words) {
        fputc(' ', to);
        print_roff(to, c->words);
    }
    fputc('\n', to);
    print_roff_paragraphs(to, c->about ? c->about : c->summary);
    fputs(".PP\nOptions:", to);
    const char *comma = " ";
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (!command_takes(c, row))
            continue;
        fprintf(to, "%s\\fB\\-\\-", comma);
        print_roff(to, row->name);
        fputs("\\fR", to);
        comma = ", ";
    }
    fputs(".\n", to);
}

static void print_man_entries(FILE *to, const char *title,
                              const struct entry *e)
{
    fprintf(to, ".SH %s\n", title);
    for (; e->name; e++) {
        fputs(".TP\n.B ", to);
        print_roff(to, e->name);
        fputc('\n', to);
        print_roff(to, e->text);
        fputs(".\n", to);
    }
}

/* The table also has options of the programs in bench/peers. */
static bool is_clbench_option(const struct option_row *row)
{
    for (unsigned i = 0; commands_all()[i]; i++)
        if (command_takes(commands_all()[i], row))
            return true;
    return false;
}

void args_man(FILE *to)
{
    fputs(".TH CLBENCH 1 \"\" \"clbench " XL_VERSION_TEXT "\" "
          "\"User Commands\"\n"
          ".SH NAME\nclbench \\- measure OpenCL devices\n"
          ".SH SYNOPSIS\n.B clbench\n"
          "[\\fICOMMAND\\fR] [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
          ".SH DESCRIPTION\n",
          to);
    print_roff_paragraphs(to, intro);
    fputs(".SH COMMANDS\n", to);
    for (unsigned i = 0; commands_all()[i]; i++)
        print_man_command(to, commands_all()[i]);
    fputs(".SH OPTIONS\n", to);
    for (const struct option_row *row = option_rows; row->name; row++)
        if (is_clbench_option(row))
            print_man_option(to, row);
    fputs(".SH SHAPES\n", to);
    print_roff_paragraphs(to, shapes_text);
    print_man_entries(to, "EXIT STATUS", exit_codes);
    print_man_entries(to, "ENVIRONMENT", variables);
    fputs(".SH SEE ALSO\n.BR clinfo (1)\n", to);
}
