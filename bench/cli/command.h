/* SPDX-License-Identifier: Apache-2.0 */
/* What a command is, and what the program's exit codes mean. */
#ifndef CLBENCH_COMMAND_H
#define CLBENCH_COMMAND_H

#include "cli/options.h"

struct session;

enum exit_code {
    EXIT_FINE = 0,
    EXIT_WRONG = 1,       /* a result was wrong; --strict: a rejected row too */
    EXIT_USAGE = 2,       /* usage, unknown device, no time for a row */
    EXIT_NO_DEVICE = 3,   /* no usable device */
    EXIT_FILE = 4,        /* a file could not be read or written */
    EXIT_GATE = 5,        /* a comparison gate failed */
    EXIT_INTERRUPTED = 130
};

struct command {
    const char *name;     /* "" : the suite, when no command is named */
    const char *summary;  /* one line for `clbench --help` */
    const char *words;    /* positional arguments: "[SHAPE...]"; NULL: none */
    const char *about;    /* paragraphs for --help and the man page */
    const char *const *options; /* long names it takes beside the common ones;
                                   NULL-terminated; rows of the one table */
    unsigned min_words, max_words;
    bool is_live;         /* goes on until Ctrl-C, which is no failure then;
                             its --json is a log of its own */
    int (*run)(struct session *s); /* an exit_code */
    bool draws_itself; /* --svg is a picture of its own, not the report's */
};

/* What every command that shows results can write them to. */
#define REPORT_OPTIONS "csv", "markdown", "html", "svg"

/* The commands of the program, which main() sets first; NULL-terminated. The
 * one whose name is "" runs when none is named. */
void commands_set(const struct command *const *list);
const struct command *const *commands_all(void);

#endif
