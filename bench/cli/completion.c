/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench completion`, and the shell completions themselves. They are
 * generated from the tables of commands and options: names of commands, the
 * options of each, the values of choices, files where a file is expected. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"

/* Print text in single quotes; `quote` replaces a quote in it: in bash and
 * zsh '\'', in fish \'. */
static void print_quoted(FILE *to, const char *text, const char *quote)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, to);
        else
            fputc(*text, to);
    }
    fputc('\'', to);
}
static const char sh_quote[] = "'\\''";
static const char fish_quote[] = "\\'";

static bool has_file_value(const struct option_row *row)
{
    const char *value = row->value ? row->value : "";
    return strcmp(value, "FILE") == 0 || strcmp(value, "FILE|NAME") == 0 ||
           strcmp(value, "FOLDER") == 0;
}

/* Print the values of a choice that the command takes, or the names that an
 * option takes besides files, separated by blanks; false: there are none. A
 * table of choices has all types, in their order. */
static bool print_values(FILE *to, const struct command *c,
                         const struct option_row *row, const char *before)
{
    const char *value = NULL, *all = option_values(c, row);
    unsigned n = 0;
    for (unsigned i = 0;
         (value = row->choices ? row->choices[i] : option_name_at(row, i));
         i++)
        if (!row->choices || option_is_among(all, value))
            fprintf(to, "%s%.*s", n++ ? " " : before, (int)strcspn(value, "."),
                    value);
    return n > 0;
}

/* Options whose values depend on the machine: `clbench completion devices`
 * prints them. */
static const struct {
    const char *option, *kind;
} asked[] = {{"device", "devices"},
             {"variant", "variants"},
             {"same-kernel", "variants"}};
enum { N_ASKED = sizeof asked / sizeof *asked };

static const char *kind_of(const struct option_row *row)
{
    for (size_t i = 0; i < N_ASKED; i++)
        if (strcmp(asked[i].option, row->name) == 0)
            return asked[i].kind;
    return NULL;
}

/* The alternatives in a command's first word, "bash|zsh|fish", else NULL. */
static const char *argument_choices(const struct command *c)
{
    return c->words && strchr(c->words, '|') ? c->words : NULL;
}

/* Print these alternatives, separated by blanks. */
static void print_alternatives(FILE *to, const char *text)
{
    for (; *text && *text != ' '; text++)
        if (!strchr("[].", *text))
            fputc(*text == '|' ? ' ' : *text, to);
}

static bool has_file_arguments(const struct command *c)
{
    return c->words && (strstr(c->words, ".json") || strstr(c->words, "FILE"));
}

static void print_option_names(FILE *to, const struct command *c)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (command_takes(c, row))
            fprintf(to, " --%s", row->name);
}

/* -- bash ----------------------------------------------------------------- */

/* Types that a command takes of --dtype; others get all of them, below. */
static void print_bash_dtypes(FILE *to, const struct option_row *row)
{
    fputs("case $command in\n", to);
    for (unsigned i = 0; commands_all()[i]; i++)
        if (commands_all()[i]->dtypes) {
            fprintf(to, "        %s) ", commands_all()[i]->name);
            print_values(to, commands_all()[i], row,
                         "COMPREPLY=($(compgen -W '");
            fputs("' -- \"$cur\")); return ;;\n", to);
        }
    fputs("        esac; ", to);
}

static void print_bash_values(FILE *to)
{
    fputs("    case $prev in\n", to);
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (row->kind == OPT_FLAG)
            continue;
        fprintf(to, "    --%s", row->name);
        if (row->letter)
            fprintf(to, "|-%c", row->letter);
        fputs(") ", to);
        if (kind_of(row)) {
            fprintf(to, "_clbench_values %s; return ;;\n", kind_of(row));
            continue;
        }
        if (strcmp(row->name, "dtype") == 0)
            print_bash_dtypes(to, row);
        const char *files = has_file_value(row) ? "-f " : "";
        fprintf(to, "COMPREPLY=($(compgen %s", files);
        if (print_values(to, NULL, row, "-W '"))
            fputs("' ", to);
        fputs("-- \"$cur\")); return ;;\n", to);
    }
    fputs("    esac\n", to);
}

static void print_bash_commands(FILE *to)
{
    fputs("    case $command in\n", to);
    for (unsigned i = 0; commands_all()[i]; i++) {
        const struct command *c = commands_all()[i];
        fprintf(to, "    %s) options='", *c->name ? c->name : "''");
        print_option_names(to, c);
        fputs("'; words='", to);
        if (argument_choices(c))
            print_alternatives(to, c->words);
        fprintf(to, "'; files=%d ;;\n", has_file_arguments(c));
    }
    fputs("    esac\n", to);
}

static void print_bash(FILE *to)
{
    fputs(
        "# bash completion of clbench, made by: clbench completion bash\n"
        "_clbench_values()\n{\n    local IFS=$'\\n'\n"
        "    COMPREPLY=($(compgen -W \"$(clbench completion $1 2>/dev/null)\""
        " -- \"$cur\"))\n"
        "    ((${#COMPREPLY[@]} == 0)) ||\n"
        "        COMPREPLY=($(printf '%q\\n' \"${COMPREPLY[@]}\"))\n}\n"
        "_clbench()\n{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
        "    local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command='' options='' words='' files=0 word i\n"
        "    COMPREPLY=()\n",
        to);
    fputs("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        word=${COMP_WORDS[i]}\n        case $word in\n        ",
          to);
    const char *bar = "";
    for (unsigned i = 0; commands_all()[i]; i++)
        if (*commands_all()[i]->name) {
            fprintf(to, "%s%s", bar, commands_all()[i]->name);
            bar = "|";
        }
    fputs(") command=$word; break ;;\n        esac\n    done\n", to);
    print_bash_values(to);
    print_bash_commands(to);
    fputs("    if [[ $cur == -* ]]; then\n        words=$options\n"
          "    elif [[ -z $command ]]; then\n        words='",
          to);
    for (unsigned i = 0; commands_all()[i]; i++)
        fprintf(to, "%s ", commands_all()[i]->name);
    fputs("'\n    elif ((files)); then\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n        return\n"
          "    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "}\ncomplete -F _clbench clbench\n",
          to);
}

/* -- zsh ------------------------------------------------------------------ */

/* _arguments requires brackets and colons of a description to be escaped. */
static void print_zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fputc('\\', to);
        if (*text == '\'')
            fputs(sh_quote, to);
        else
            fputc(*text, to);
    }
}

static void print_zsh_option(FILE *to, const struct command *c,
                             const struct option_row *row)
{
    fprintf(to, "            '--%s[", row->name);
    print_zsh_text(to, row->help);
    fputc(']', to);
    if (row->kind != OPT_FLAG) {
        fputc(':', to);
        print_zsh_text(to, option_values(c, row));
        fputc(':', to);
        if (kind_of(row))
            fprintf(to,
                    "{compadd -- ${(f)\"$(clbench completion %s "
                    "2>/dev/null)\"}}",
                    kind_of(row));
        const bool has_values = print_values(to, c, row, "{compadd ");
        if (has_file_value(row))
            fputs(has_values ? "; _files" : "_files", to);
        fputs(has_values ? "}" : "", to);
    }
    fputs("' \\\n", to);
}

static void print_zsh_command(FILE *to, const struct command *c)
{
    fprintf(to, "    %s)\n        _arguments \\\n", *c->name ? c->name : "''");
    for (const struct option_row *row = option_rows; row->name; row++)
        if (command_takes(c, row))
            print_zsh_option(to, c, row);
    if (!*c->name)
        fputs("            '1:command:->command'", to);
    else if (argument_choices(c)) {
        fputs("            '*:argument:(", to);
        print_alternatives(to, c->words);
        fputs(")'", to);
    } else if (has_file_arguments(c))
        fputs("            '*:file:_files'", to);
    else
        fputs("            '*:argument: '", to);
    fputs("\n        ;;\n", to);
}

static void print_zsh(FILE *to)
{
    fputs("#compdef clbench\n"
          "# zsh completion of clbench, made by: clbench completion zsh\n"
          "_clbench() {\n    local state\n    local -a names\n"
          "    names=(\n",
          to);
    for (unsigned i = 0; commands_all()[i]; i++)
        if (*commands_all()[i]->name) {
            fprintf(to, "        '%s:", commands_all()[i]->name);
            print_zsh_text(to, commands_all()[i]->summary);
            fputs("'\n", to);
        }
    fputs("    )\n    local command='' word\n"
          "    for word in ${words[2,CURRENT-1]}; do\n"
          "        if (( ${names[(I)$word:*]} )); then\n"
          "            command=$word\n            break\n        fi\n"
          "    done\n    case $command in\n",
          to);
    for (unsigned i = 0; commands_all()[i]; i++)
        print_zsh_command(to, commands_all()[i]);
    fputs("    esac\n"
          "    [[ $state == command ]] && _describe command names\n"
          "    return 0\n}\n"
          "if [[ $funcstack[1] == _clbench ]]; then\n    _clbench \"$@\"\n"
          "else\n    compdef _clbench clbench\nfi\n",
          to);
}

/* -- fish ----------------------------------------------------------------- */

static void print_fish_condition(FILE *to, const struct command *c)
{
    if (*c->name)
        fprintf(to, " -n '__fish_seen_subcommand_from %s'", c->name);
    else
        fputs(" -n __fish_use_subcommand", to);
}

static void print_fish_option(FILE *to, const struct command *c,
                              const struct option_row *row)
{
    fputs("complete -c clbench", to);
    print_fish_condition(to, c);
    fprintf(to, " -l %s", row->name);
    if (row->letter)
        fprintf(to, " -s %c", row->letter);
    if (row->kind != OPT_FLAG)
        fputs(has_file_value(row) ? " -rF" : " -x", to);
    if (kind_of(row))
        fprintf(to, " -a '(clbench completion %s 2>/dev/null)'", kind_of(row));
    if (print_values(to, c, row, " -a '"))
        fputc('\'', to);
    fputs(" -d ", to);
    print_quoted(to, row->help, fish_quote);
    fputc('\n', to);
}

static void print_fish(FILE *to)
{
    fputs("# fish completion of clbench, made by: clbench completion fish\n"
          "complete -c clbench -f\n",
          to);
    for (unsigned i = 0; commands_all()[i]; i++) {
        const struct command *c = commands_all()[i];
        if (*c->name) {
            fprintf(to,
                    "complete -c clbench -n __fish_use_subcommand -a %s -d ",
                    c->name);
            print_quoted(to, c->summary, fish_quote);
            fputc('\n', to);
        }
        for (const struct option_row *row = option_rows; row->name; row++)
            if (command_takes(c, row))
                print_fish_option(to, c, row);
        bool has_words = argument_choices(c) != NULL;
        if (!has_words && !has_file_arguments(c))
            continue;
        fputs("complete -c clbench", to);
        print_fish_condition(to, c);
        if (has_file_arguments(c))
            fputs(" -F", to);
        fputs(has_words ? " -a '" : "", to);
        if (has_words)
            print_alternatives(to, c->words);
        fputs(has_words ? "'\n" : "\n", to);
    }
}

bool args_completion(FILE *to, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *to);
    } shells[] = {
        {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (xl__streq(shells[i].name, shell)) {
            shells[i].print(to);
            return true;
        }
    return false;
}

/* -- the command -----------------------------------------------------------
 */

/* Each device by its number and by its name. */
static void print_device(xl_device *dev)
{
    xl_fact f;
    printf("%u\n", xl_device_index(dev));
    if (xl_device_fact(dev, "name", XL_UNKNOWN, &f) == XL_OK && f.text)
        printf("%s\n", f.text);
}

static void print_variants(xl_device *dev)
{
    static const char *const ops[] = {"gemm",   "conv",      "softmax",
                                      "norm",   "attention", "qgemm",
                                      "rotary", "qconvert"};
    const char *name;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (unsigned i = 0; (name = xl_variant_name(dev, ops[k], i)); i++)
            printf("%s\n", name);
}

/* The values of `asked`, a line each. */
static int print_asked(struct session *s, bool is_of_variants)
{
    s->set.quiet = true;
    s->set.all_devices = !is_of_variants;
    const int code = session_open_devices(s);
    for (unsigned i = 0; code == EXIT_FINE && i < s->n_devices; i++)
        (is_of_variants ? print_variants : print_device)(s->devices[i]);
    return code;
}

static int run_completion(struct session *s)
{
    const char *shell = s->set.words[0];
    for (size_t i = 0; i < N_ASKED; i++)
        if (xl__streq(shell, asked[i].kind))
            return print_asked(s, xl__streq(shell, "variants"));
    if (xl__streq(shell, "man")) {
        args_man(stdout);
        return EXIT_FINE;
    }
    if (args_completion(stdout, shell))
        return EXIT_FINE;
    fprintf(stderr, "clbench: unknown shell; must be bash, zsh, fish or "
                    "man\n");
    return EXIT_USAGE;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print the completion of a shell, or the man page",
    .words = "bash|zsh|fish|man",
    .about =
        "Prints a script with which the shell completes commands, options and "
        "their values; 'man' prints the manual as a man page.\n\n"
        "  bash:  source <(clbench completion bash)\n"
        "  zsh:   clbench completion zsh > ~/.zfunc/_clbench\n"
        "  fish:  clbench completion fish | source\n"
        "  man:   clbench completion man > clbench.1",
    .min_words = 1,
    .max_words = 1,
    .run = run_completion,
};
