/* SPDX-License-Identifier: Apache-2.0 */
/* A command of the program, and the exit codes. */
#ifndef CLBENCH_COMMAND_H
#define CLBENCH_COMMAND_H

#include "cli/options.h"

struct session;

enum exit_code {
    EXIT_FINE = 0,
    EXIT_WRONG = 1,     /* wrong result; with --strict: rejected row */
    EXIT_USAGE = 2,     /* usage, unknown device, --max-time too short */
    EXIT_NO_DEVICE = 3, /* no usable device */
    EXIT_FILE = 4,      /* a file could not be read or written */
    EXIT_GATE = 5,      /* a comparison gate failed */
    EXIT_INTERRUPTED = 130
};

struct command {
    const char *name;     /* "": the suite, when no command is given */
    const char *summary;  /* one line for `clbench --help` */
    const char *words;    /* positional arguments: "[SHAPE...]"; NULL: none */
    const char *about;    /* paragraphs of --help and of the man page */
    const char *const *options; /* long names of the options that it takes
                                   besides the common ones; NULL-terminated */
    const char *dtypes; /* what its --dtype takes, "f32|f16"; NULL: any */
    unsigned min_words, max_words;
    const char *instead; /* of an old name: what to use, "devices --verbose";
                            it works for a while, with a note */
    bool is_live; /* runs until Ctrl-C, which is not a failure; its
                     --json is a log, not a result file */
    int (*run)(struct session *s); /* returns an exit_code */
    bool has_summary;  /* of each device, above the progress line and last */
    bool draws_itself; /* --svg is the command's picture, not the report's */
};

/* What is printed of result rows, and into which files: of every command that
 * prints them. */
#define REPORT_OPTIONS "csv", "markdown", "html", "svg", "describe"

/* How often a row is run: of every command that times something; and those of
 * commands whose rows can begin with cold caches. */
#define SAMPLING_OPTIONS "runs", "warmup", "min-time"
#define RUN_OPTIONS SAMPLING_OPTIONS, "cold"

#endif
