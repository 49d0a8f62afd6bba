/* SPDX-License-Identifier: Apache-2.0 */
/* clbench: from the command line to an exit code. Everything else is in the
 * commands. */
#include <string.h>

#include "child.h"
#include "outputs.h"
#include "report.h"
#include "session.h"
#include "trace.h"

static void print_version(void)
{
    fprintf(stdout, "clbench %s, libcrosslane %s\n", XL_VERSION_TEXT,
            xl_version());
    if (strcmp(XL_VERSION_TEXT, xl_version()) != 0)
        fprintf(stderr, "clbench: warning: this program and the library it "
                        "found do not belong together; install both anew\n");
}

/* Two files of one name: the second would take the place of the first. */
static bool files_clash(const struct session *s)
{
    const char *a = NULL, *b = NULL;
    if (!outputs_clash(&s->set, &a, &b))
        return false;
    fprintf(stderr, "clbench: --%s and --%s name the same file; give each its "
                    "own\n", a, b);
    return true;
}

static int run(struct session *s)
{
    if (files_clash(s))
        return EXIT_USAGE;
    session_begin(s);
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
    if (session_interrupted() && !s->command->is_live) {
        fprintf(stderr, "clbench: interrupted; what was measured until then "
                        "was kept\n");
        code = EXIT_INTERRUPTED;
    }
    session_close(s);
    return code == EXIT_FINE ? report_code : code;
}

int main(int argc, char **argv)
{
    struct session s = {.command = NULL};
    int code = EXIT_FINE;
    child_remember();
    if (!args_parse(argc, argv, &s.set, &s.command))
        code = EXIT_USAGE;
    else if (s.set.help)
        args_help(stdout, s.command);
    else if (s.set.version)
        print_version();
    else
        code = run(&s);
    args_free(&s.set);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "clbench: standard output could not be written\n");
        code = code == EXIT_FINE ? EXIT_FILE : code;
    }
    return code;
}
