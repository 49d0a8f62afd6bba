/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of clbench: what it takes, what it refuses and with which
 * words; and that help, man page and completions say what the option table
 * says. No device, no driver. */
#include "commands.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/command.h"

enum { MAX_ARGS = 16, MAX_TEXT = 1 << 18 };

/* What the last parse() or print() had to say. */
static char output[MAX_TEXT];

static void read_back(FILE *f)
{
    rewind(f);
    size_t n = fread(output, 1, sizeof output - 1, f);
    output[n] = '\0';
    fclose(f);
}

/* Parse a line of words separated by single blanks; standard error into
 * output. */
static bool parse(const char *line, struct settings *set,
                  const struct command **command)
{
    static char copy[512];
    char *argv[MAX_ARGS + 1] = {"clbench"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < MAX_ARGS);
        argv[argc++] = word;
    }
    fflush(stderr);
    FILE *f = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_true(f && kept >= 0);
    dup2(fileno(f), STDERR_FILENO);
    commands_set(commands);
    bool ok = args_parse(argc, argv, set, command);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    read_back(f);
    return ok;
}

static void print_help(const struct command *c)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    args_help(f, c);
    read_back(f);
}

static void print_man(void)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    args_man(f);
    read_back(f);
}

static void print_completion(const char *shell)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(args_completion(f, shell));
    read_back(f);
}

/* -- what is taken -------------------------------------------------------- */

static void takes_the_line_of_the_manual(void **state)
{
    (void)state;
    struct settings set;
    const struct command *c = NULL;
    assert_true(parse("gemm 1000x1023x517 --dtype f16 --trans nt --variant "
                      "all --json -",
                      &set, &c));
    assert_ptr_equal(c, &cmd_gemm);
    assert_int_equal(set.n_words, 1);
    assert_string_equal(set.words[0], "1000x1023x517");
    assert_int_equal(set.dtype, XL_F16);
    assert_int_equal(set.trans, 2);
    assert_string_equal(set.variant, "all");
    assert_string_equal(set.json, "-");
    args_free(&set);
}

static void defaults(void **state)
{
    (void)state;
    struct settings set;
    const struct command *c = NULL;
    assert_true(parse("", &set, &c));
    assert_ptr_equal(c, &cmd_suite);
    assert_null(set.device);
    assert_null(set.variant);
    assert_null(set.json);
    assert_int_equal(set.dtype, XL_N_DTYPES);
    assert_int_equal(set.trans, -1);
    assert_int_equal(set.seed, 1);
    assert_int_equal(set.fail_on.n, 0);
    assert_true(isnan(set.margin) && isnan(set.noise));
    assert_false(set.quick || set.full || set.strict || set.quiet);
    assert_true(set.max_time_s <= 0);
    args_free(&set);
}

static void spellings_are_equal(void **state)
{
    static const char *const lines[] = {
        "gemm --device 1 -q --dtype bf16 64",
        "--device=1 gemm 64 --quiet --dtype=bf16",
        "-d1 gemm -qt bf16 64",
        "-d=1 -q -tbf16 gemm 64",
        "gemm -qd 1 --dtype bf16 -- 64",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct settings set;
        const struct command *c = NULL;
        assert_true(parse(lines[i], &set, &c));
        assert_ptr_equal(c, &cmd_gemm);
        assert_string_equal(set.device, "1");
        assert_true(set.quiet);
        assert_int_equal(set.dtype, XL_BF16);
        assert_int_equal(set.n_words, 1);
        assert_string_equal(set.words[0], "64");
        args_free(&set);
    }
}

static void values_of_each_kind(void **state)
{
    (void)state;
    struct settings set;
    const struct command *c = NULL;
    assert_true(
        parse("gemm --seed 0xffffffffffffffff --max-time 1.5s", &set, &c));
    assert_true(set.seed == UINT64_MAX);
    assert_true(fabs(set.max_time_s - 1.5) < 1e-12);
    args_free(&set);
    assert_true(
        parse("compare a.json b.json --margin 2.5% --fail-on x", &set, &c));
    assert_true(fabs(set.margin - 2.5) < 1e-12);
    assert_string_equal(set.fail_on.value[0], "x");
    args_free(&set);
    assert_true(parse("gemm --trans tn", &set, &c));
    assert_int_equal(set.trans, 1);
    args_free(&set);
    assert_true(parse("limits --json", &set, &c));
    assert_string_equal(set.json, "-");
    args_free(&set);
    assert_true(parse("compare --help", &set, &c));
    assert_true(set.help);
    args_free(&set);
    assert_true(parse("help compare", &set, &c));
    assert_true(set.help);
    assert_string_equal(c->name, "compare");
    args_free(&set);
    assert_true(parse("help", &set, &c));
    assert_true(set.help);
    assert_string_equal(c->name, "");
    args_free(&set);
    /* A word of that name elsewhere is a word. */
    assert_true(parse("report help", &set, &c));
    assert_false(set.help);
    assert_int_equal(set.n_words, 1);
    args_free(&set);
    assert_true(parse("conv --pad 0", &set, &c));
    assert_int_equal(set.pad, 0);
    args_free(&set);
}

static void list_options_are_repeatable(void **state)
{
    (void)state;
    struct settings set;
    const struct command *c = NULL;
    assert_true(parse("expr x*s+y --shape x=1e8,y=4 --scalar s=2 "
                      "--shape=z=4x4:f16 --range x=-10:10 --source",
                      &set, &c));
    assert_ptr_equal(c, &cmd_expr);
    assert_string_equal(set.words[0], "x*s+y");
    assert_int_equal(set.shapes.n, 2);
    assert_string_equal(set.shapes.value[0], "x=1e8,y=4");
    assert_string_equal(set.shapes.value[1], "z=4x4:f16");
    assert_int_equal(set.scalars.n, 1);
    assert_string_equal(set.ranges.value[0], "x=-10:10");
    assert_true(set.source && !set.explain && !set.fast_math);
    args_free(&set);
}

/* -- usage errors ------------------------------------------------------ */

/* One line: what is wrong, and the command for help. */
static void usage_errors_have_a_message(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"gem", "did you mean 'gemm'"},
        {"frobnicate", "unknown command 'frobnicate'"},
        {"gemm --devise 1", "did you mean '--device'"},
        {"gemm -Z", "unknown option '-Z'"},
        {"gemm --device",
         "option '--device' requires a value: N|NAME|UUID|PCI"},
        {"gemm --device=", "invalid value '' for --device"},
        {"gemm --dtype f8",
         "invalid value 'f8' for --dtype: must be f32|f16|bf16"},
        {"conv --dtype u8",
         "invalid value 'u8' for --dtype: must be f32|f16|bf16|f64|i8"},
        {"gemm --trans nnn", "must be nn|nt|tn|tt"},
        {"gemm --seed -1", "invalid value '-1' for --seed"},
        {"gemm --seed 1x", "invalid value '1x' for --seed"},
        {"gemm --seed 18446744073709551616",
         "invalid value '18446744073709551616' for --seed"},
        {"gemm --max-time 0", "invalid value '0' for --max-time"},
        {"gemm --max-time inf", "invalid value 'inf' for --max-time"},
        {"gemm --max-time -3", "invalid value '-3' for --max-time"},
        {"gemm --max-time 3x", "invalid value '3x' for --max-time"},
        {"gemm --quick=1", "'--quick' does not take a value"},
        {"gemm --quick --full", "are mutually exclusive"},
        {"gemm --device 0 --all-devices", "are mutually exclusive"},
        {"gemm --damaged",
         "option '--damaged' is not valid for command 'gemm'"},
        {"--damaged", "option '--damaged' is not valid without a command"},
        {"compare", "missing argument"},
        {"softmax --portability", "option '--portability' is not valid"},
        {"gemm --batch 0",
         "invalid value '0' for --batch: must be a positive integer"},
        {"gemm --seed x", "must be a non-negative integer ("},
        {"gemm --max-time x", "must be a positive time, in seconds"},
        {"conv --pad -1",
         "invalid value '-1' for --pad: must be a non-negative integer"},
        {"help frobnicate", "unknown command 'frobnicate'"},
        {"gemm --cliff -3", "invalid value '-3' for --cliff"},
        {"compare a b --margin 5:%", "must be a non-negative percentage"},
        {"compare a b --noise x", "must be a non-negative percentage"},
        {"expr x y", "unexpected argument 'y'"},
        {"expr x --shape", "option '--shape' requires a value: NAME=SHAPE"},
        {"expr x --shape=", "invalid value '' for --shape"},
        {"gemm --fast-math", "option '--fast-math' is not valid"},
        {"completion", "usage: clbench completion"},
        {"gemm \x1b[2J", NULL},
        {"\x1b[2Jgemm", "\\x1B[2Jgemm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings set;
        const struct command *c = NULL;
        bool ok = parse(cases[i].line, &set, &c);
        if (cases[i].message) {
            assert_false(ok);
            if (!strstr(output, cases[i].message))
                fail_msg("'%s': %s", cases[i].line, output);
            assert_ptr_equal(strchr(output, '\n'),
                             output + strlen(output) - 1);
            assert_non_null(strstr(output, "--help'"));
            assert_null(strchr(output, '\x1b'));
        } else {
            assert_true(ok);
        }
        args_free(&set);
    }
}

/* -- the tables ----------------------------------------------------------- */

static void option_names_are_unique(void **state)
{
    (void)state;
    for (const struct option_row *a = option_rows; a->name; a++) {
        assert_ptr_equal(option_find(a->name), a);
        assert_true((a->kind == OPT_FLAG) == (a->value == NULL));
        assert_true((a->kind == OPT_CHOICE) == (a->choices != NULL));
        for (const struct option_row *b = option_rows; b != a; b++)
            for (unsigned c = 0; commands[c]; c++) /* of a command */
                assert_false(a->letter && a->letter == b->letter &&
                             command_takes(commands[c], a) &&
                             command_takes(commands[c], b));
    }
}

static void commands_name_real_options(void **state)
{
    (void)state;
    unsigned n = 0;
    for (; commands[n]; n++) {
        const struct command *c = commands[n];
        assert_non_null(c->run);
        assert_true(c->summary && c->about && c->min_words <= c->max_words);
        for (const char *const *o = c->options; o && *o; o++)
            if (!option_find(*o))
                fail_msg("%s names the unknown option %s", c->name, *o);
    }
    assert_true(n > 0);
}

/* Is `part`, followed by no letter, in the output? */
static bool has_word(const char *part)
{
    size_t len = strlen(part);
    for (const char *at = output; (at = strstr(at, part)) != NULL; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz-", at[len]) || !at[len])
            return true;
    return false;
}

/* Is the option in the help, with its value, and its text beside or below? */
static bool is_listed(const struct command *c, const struct option_row *row)
{
    char option[128];
    const int n = snprintf(option, sizeof option, " --%s%s%s", row->name,
                           row->value ? " " : "",
                           row->value ? option_values(c, row) : "");
    for (const char *at = output; (at = strstr(at, option)) != NULL; at++)
        if ((at[n] == '\n' || strncmp(at + n, "  ", 2) == 0) &&
            (at[-1] == ' ' || at[-1] == ','))
            return true;
    return false;
}

static void help_agrees_with_the_table(void **state)
{
    (void)state;
    for (unsigned i = 0; commands[i]; i++) {
        print_help(commands[i]);
        const bool is_suite = !*commands[i]->name;
        for (const struct option_row *row = option_rows; row->name; row++)
            if (is_listed(commands[i], row) != command_takes(commands[i], row))
                fail_msg("clbench %s --help and --%s", commands[i]->name,
                         row->name);
        assert_true(is_suite == (strstr(output, "Exit codes:") != NULL));
        assert_true(is_suite == (strstr(output, "  130  interr") != NULL));
    }
    print_help(NULL);
    for (unsigned i = 1; commands[i]; i++)
        assert_non_null(strstr(output, commands[i]->summary));
}

static void help_fits_the_terminal(void **state)
{
    (void)state;
    test_setenv("COLUMNS", "60");
    for (unsigned i = 0; commands[i]; i++) {
        print_help(commands[i]);
        for (char *line = strtok(output, "\n"); line;
             line = strtok(NULL, "\n"))
            if (strlen(line) > 60 && line[0] != ' ')
                fail_msg("%s: %s", commands[i]->name, line);
    }
    test_setenv("COLUMNS", "80");
    for (unsigned i = 0; commands[i]; i++) {
        print_help(commands[i]);
        for (char *line = strtok(output, "\n"); line;
             line = strtok(NULL, "\n"))
            if (strlen(line) > 79 || line[strlen(line) - 1] == ' ')
                fail_msg("%s: %s", commands[i]->name, line);
    }
    test_setenv("COLUMNS", NULL);
}

/* The table also has options of the peers. */
static bool is_clbench_option(const struct option_row *row)
{
    for (unsigned i = 0; commands[i]; i++)
        if (command_takes(commands[i], row))
            return true;
    return false;
}

static void man_agrees_with_the_table(void **state)
{
    (void)state;
    print_man();
    for (unsigned i = 0; commands[i]; i++) {
        char title[64];
        snprintf(title, sizeof title, ".SS clbench%s%s [",
                 *commands[i]->name ? " " : "", commands[i]->name);
        assert_non_null(strstr(output, title));
    }
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (!is_clbench_option(row))
            continue;
        char text[64] = "\\fB\\-\\-";
        for (const char *at = row->name; *at; at++)
            strcat(text, *at == '-' ? "\\-" : (char[]){*at, '\0'});
        assert_non_null(strstr(output, text));
    }
    for (int code = 0; code <= 5; code++) {
        char text[16];
        snprintf(text, sizeof text, ".B %d\n", code);
        assert_non_null(strstr(output, text));
    }
    assert_non_null(strstr(output, ".B 130\n"));
    for (const char *at = output; *at; at++)
        assert_true((*at >= ' ' && *at <= '~') || *at == '\n');
}

static void completions_agree_with_the_table(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    (void)state;
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        bool fish = strcmp(shells[i], "fish") == 0;
        print_completion(shells[i]);
        for (const struct option_row *row = option_rows; row->name; row++) {
            char text[64];
            if (!is_clbench_option(row))
                continue;
            snprintf(text, sizeof text, fish ? " -l %s" : "--%s", row->name);
            if (!has_word(text))
                fail_msg("%s does not complete --%s", shells[i], row->name);
            for (unsigned j = 0; row->choices && row->choices[j]; j++)
                assert_true(has_word(row->choices[j]) ||
                            !strstr(row->value, row->choices[j]));
        }
        if (i == 0) /* the others have help texts */
            assert_false(has_word("i32"));
        for (unsigned j = 0; commands[j]; j++)
            assert_true(has_word(commands[j]->name));
    }
    assert_false(args_completion(stdout, "tcsh"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_line_of_the_manual),
        cmocka_unit_test(defaults),
        cmocka_unit_test(spellings_are_equal),
        cmocka_unit_test(values_of_each_kind),
        cmocka_unit_test(list_options_are_repeatable),
        cmocka_unit_test(usage_errors_have_a_message),
        cmocka_unit_test(option_names_are_unique),
        cmocka_unit_test(commands_name_real_options),
        cmocka_unit_test(help_agrees_with_the_table),
        cmocka_unit_test(help_fits_the_terminal),
        cmocka_unit_test(man_agrees_with_the_table),
        cmocka_unit_test(completions_agree_with_the_table),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
