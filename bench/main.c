/* SPDX-License-Identifier: Apache-2.0 */
/* clbench, the benchmark program: parse the command line, run the command with
 * its report and trace, return the exit code. */
#include <string.h>

#include "commands.h"
#include "cli/subprocess.h"
#include "report/outputs.h"
#include "report/report.h"
#include "cli/session.h"
#include "timing/trace.h"

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
    else if (s->is_late && s->set.max_time_s > 0)
        fprintf(stderr,
                "clbench: --max-time %g ended the run before all cases "
                "were measured; %s\n",
                s->set.max_time_s,
                s->n_rows > 0 ? "the results so far were kept"
                              : "give more: a first run builds kernels and "
                                "measures the device's peaks");
}

static int run_command(struct session *s)
{
    if (files_clash(s))
        return EXIT_USAGE;
    session_begin(s);
    s->is_stdout_taken = outputs_use_stdout(&s->set);
    s->report = report_open(s);
    if (!s->report)
        return EXIT_FILE;
    int code = trace_open(s, &s->trace);
    if (code == EXIT_FINE)
        code = s->command->run(s);
    progress_hide(s);
    int report_code = report_close(s->report);
    s->report = NULL;
    const int trace_code = trace_close(s, s->trace);
    s->trace = NULL;
    report_code = trace_code > report_code ? trace_code : report_code;
    if (!s->command->is_live) {
        report_incomplete(s);
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
