/* SPDX-License-Identifier: Apache-2.0 */
/* clbench, the benchmark program: parse the command line, run the command with
 * its report and trace, return the exit code. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "base/str.h"
#include "cases/shape_file.h"
#include "cli/subprocess.h"
#include "report/outputs.h"
#include "report/report.h"
#include "cli/session.h"
#include "results/listings.h"
#include "results/result_file.h"
#include "timing/trace.h"

/* Options that take the name of a text that comes with clbench. */
static const struct {
    const char *option;
    const struct embedded *texts;
} named[] = {
    {"as", device_texts},
    {"shapes", shape_texts},
    {"with", reference_runs},
};

static const char *find_text_name(const struct option_row *row, unsigned i)
{
    for (size_t k = 0; k < sizeof named / sizeof *named; k++) {
        const struct embedded *at = named[k].texts;
        if (!xl__streq(named[k].option, row->name))
            continue;
        while (at->name && i > 0) {
            at++;
            i--;
        }
        return at->name;
    }
    return NULL;
}

static void print_version(void)
{
    fprintf(stdout, "clbench %s, libcrosslane %s\n", XL_VERSION_TEXT,
            xl_version());
    if (strcmp(XL_VERSION_TEXT, xl_version()) != 0)
        fprintf(stderr,
                "clbench: warning: the versions of this program and of "
                "the library differ; reinstall both\n");
}

/* Do two options name the same file? The second output would overwrite the
 * first. */
static bool files_clash(const struct session *s)
{
    const char *a = NULL, *b = NULL;
    if (!outputs_clash(&s->set, &a, &b))
        return false;
    fprintf(stderr,
            "clbench: --%s and --%s name the same file; give two "
            "names\n",
            a, b);
    return true;
}

/* Report that a table is incomplete. */
static void report_incomplete(const struct session *s)
{
    if (session_interrupted())
        fprintf(stderr, "clbench: interrupted; the results so far were "
                        "kept\n");
    else if ((s->is_late || s->is_cut) && s->set.max_time_s > 0)
        fprintf(stderr,
                "clbench: --max-time %g ended the run before all cases "
                "were measured; %s\n",
                s->set.max_time_s,
                s->n_rows > 0 ? "the results so far were kept"
                              : "give more: a first run builds kernels and "
                                "measures the device's peaks");
}

/* Each device that the run did not reach, with the reason. */
static void report_not_run(const struct session *s)
{
    for (unsigned i = 0; s->n_devices > 1 && i < s->n_devices; i++) {
        const char *why = session_not_run(s, i);
        if (why)
            fprintf(stderr, "clbench: device %u was not run: %s\n",
                    xl_device_index(s->devices[i]), why);
    }
}

/* --max-time is over by a second and a driver has not come back: write what
 * there is, and end without it. The deadline's lock is held. */
static void end_late(void *session)
{
    struct session *s = session;
    s->is_late = true;
    progress_hide(s);
    int report_code = report_close(s->report);
    const int trace_code = trace_write(s, s->trace);
    report_code = trace_code > report_code ? trace_code : report_code;
    report_incomplete(s);
    report_not_run(s);
    int code = s->n_rows > 0 ? session_result(s) : EXIT_USAGE;
    code = code == EXIT_FINE ? report_code : code;
    fflush(stdout);
    _Exit(code);
}

/* A deadline for commands whose rows come one by one. */
static void begin_deadline(struct session *s)
{
    static const double grace_s = 1, ns_per_s = 1e9;
    if (s->limit_s > 0 && command_takes(s->command, option_find("roofs")))
        s->deadline = deadline_begin(
            s->start_ns + (uint64_t)((s->limit_s + grace_s) * ns_per_s),
            end_late, s);
}

static int run_command(struct session *s)
{
    if (files_clash(s))
        return EXIT_USAGE;
    session_begin(s);
    if (s->command->instead && !s->set.quiet)
        fprintf(stderr, "clbench: '%s' is an old name: use 'clbench %s'\n",
                s->command->name, s->command->instead);
    s->is_stdout_taken = outputs_use_stdout(&s->set);
    s->report = report_open(s);
    if (!s->report)
        return EXIT_FILE;
    int code = trace_open(s, &s->trace);
    begin_deadline(s);
    if (code == EXIT_FINE)
        code = s->command->run(s);
    deadline_end(s->deadline);
    s->deadline = NULL;
    progress_hide(s);
    int report_code = report_close(s->report);
    s->report = NULL;
    const int trace_code = trace_close(s, s->trace);
    s->trace = NULL;
    report_code = trace_code > report_code ? trace_code : report_code;
    if (!s->command->is_live) {
        report_incomplete(s);
        report_not_run(s);
        code = session_interrupted() ? EXIT_INTERRUPTED : code;
    }
    session_close(s);
    return code == EXIT_FINE ? report_code : code;
}

int main(int argc, char **argv)
{
    struct session s = {.command = NULL};
    int code = EXIT_FINE;
    commands_set(commands);
    option_names_set(find_text_name);
    child_save_variables();
    if (!args_parse(argc, argv, &s.set, &s.command))
        code = EXIT_USAGE;
    else if (s.set.help)
        args_help(stdout, s.command);
    else if (s.set.version)
        print_version();
    else
        code = run_command(&s);
    args_free(&s.set);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "clbench: standard output could not be written\n");
        code = code == EXIT_FINE ? EXIT_FILE : code;
    }
    return code;
}
