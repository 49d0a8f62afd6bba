/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench report`: print result files, or convert them to other formats. The
 * output is what the run would have written with the same options. */
#include <stdio.h>
#include <stdlib.h>

#include "report/outputs.h"
#include "report/section.h"
#include "results/document.h"
#include "results/json.h"
#include "cli/session.h"
#include "verify/bug/bug.h"

enum { MOST_FILES = 16 };

static int read_files(struct session *s, struct result_file *files)
{
    int code = EXIT_FINE;
    for (size_t i = 0; i < s->set.n_words; i++) {
        char why[512];
        if (result_file_read(s->set.words[i], &files[i], why, sizeof why))
            continue;
        session_message(s, "", why);
        code = EXIT_FILE;
    }
    return code;
}

static int write_files(struct session *s, const struct result_file *files)
{
    struct outputs outputs;
    outputs_begin(&outputs, s);
    if (!outputs_add_all(&outputs, renderers) ||
        !outputs_add_figures(&outputs))
        return EXIT_FILE;
    outputs_write(&outputs, files, s->set.n_words, true);
    return outputs_code(&outputs);
}

static void print_file(const struct session *s, const struct result_file *file)
{
    bool colour = false;
    const struct display terminal = display_terminal(&colour);
    struct xl__str text = {0};
    terminal.title(terminal.arg, file->path);
    results_headline(file, &text);
    terminal.text(terminal.arg, xl__str_text(&text));
    for (size_t i = 0; i < file->n_devices; i++) {
        xl__str_reset(&text);
        results_device_line(
            json_array_get(json_object_get(file->document, "devices"), i),
            &text);
        terminal.text(terminal.arg, xl__str_text(&text));
    }
    if (*results_state(file))
        terminal.text(terminal.arg, results_state(file));
    terminal.gap(terminal.arg);
    results_show(file, false, &s->set, &terminal);
    xl__str_reset(&text);
    results_tally(file, &text);
    terminal.title(terminal.arg, xl__str_text(&text));
    xl__str_clear(&text);
}

static int print_schema(struct session *s)
{
    json_t *schema = document_schema();
    char *text = schema ? json_dumps(schema, JSON_INDENT(1)) : NULL;
    const int code =
        text ? EXIT_FINE
             : session_fail(s, "printing the schema", XL_NO_MEMORY, "");
    if (text)
        puts(text);
    free(text);
    json_decref(schema);
    return code;
}

static int run_report(struct session *s)
{
    struct result_file files[MOST_FILES] = {{.path = NULL}};
    const size_t n = s->set.n_words;
    if (s->set.schema)
        return print_schema(s);
    if (s->set.bug)
        return bug_report(s);
    if (n == 0) {
        session_message(s, "", "report takes result files, such as run.json; "
                               "--schema describes them");
        return EXIT_USAGE;
    }
    int code = read_files(s, files);
    if (code == EXIT_FINE && outputs_requested(&s->set))
        code = write_files(s, files);
    else
        for (size_t i = 0; code == EXIT_FINE && i < n; i++) {
            if (i > 0)
                fputc('\n', stdout);
            print_file(s, &files[i]);
        }
    for (size_t i = 0; i < n; i++)
        result_file_clear(&files[i]);
    return code;
}

static const char *const options[] = {
    REPORT_OPTIONS, "same-kernel", "schema", "bug",      "output", "device",
    "dtype",        "trans",       "seed",   "max-time", NULL};

const struct command cmd_report = {
    .name = "report",
    .summary = "result files as tables, page, spreadsheet, charts",
    .words = "[RUN.json... or SHAPE]",
    .about =
        "Prints results that --json wrote, without measuring again: on the "
        "terminal as the run printed them, or as files. Each file has all "
        "rows "
        "with their verdicts; the HTML page and the charts compare several "
        "runs or devices. Every measuring command takes the same options, so "
        "a "
        "run can write these files itself.\n\n"
        "  clbench --json run.json\n"
        "  clbench report run.json\n"
        "  clbench report run.json --html run.html\n"
        "  clbench report cpu.json gpu.json --html both.html --svg pictures\n"
        "  clbench report run.json --markdown - >>notes.md\n"
        "  clbench report --schema\n\n"
        "Points of curves are in the files and not on the terminal. Drawings "
        "that a command prints itself, such as the timeline of a pipeline, "
        "are "
        "plain tables here.\n\n"
        "--bug VARIANT runs the cases of 'clbench verify' without self-checks "
        "until a result is wrong, or a SHAPE of the variant's op with the "
        "transposes, types and offsets of these cases. It makes the sizes as "
        "small as they may be and writes a folder for the driver's vendor: "
        "the kernels as they were built, a host program in plain OpenCL, the "
        "inputs, facts about the device, and README.txt. Exit code 1 when it "
        "is written, 0 when no result is wrong.\n\n"
        "  clbench report --bug gemm_tiled\n"
        "  clbench report --bug gemm_mma 320x320x64 --dtype f16 -o folder",
    .options = options,
    .min_words = 0,
    .max_words = MOST_FILES,
    .run = run_report,
};
