/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's rows go. The report sets the sink before the command runs;
 * what measures and what is below it needs no report. */
#ifndef CLBENCH_CLI_SESSION_H
#define CLBENCH_CLI_SESSION_H

#include <crosslane/crosslane.h>

#include "cli/command.h"
#include "cli/progress.h"

struct row_sink {
    void *arg;
    /* A new table. Title "GEMM"; note: a line below it, or NULL. */
    void (*section)(void *arg, const char *title, const char *note);
    void (*row)(void *arg, xl_device *dev, const xl_row *row);
    void (*section_end)(void *arg);
    /* A row for the result files alone, outside of any section: the command
     * shows it in a table of its own. */
    void (*record)(void *arg, xl_device *dev, const xl_row *row);
};

/* One run of the program: settings, library, devices, where rows go, and when
 * to stop. */

struct report;
struct json_t;
struct trace;

struct session {
    const struct command *command;
    struct settings set;
    bool no_cache;          /* set before session_open(): build everything */
    xl_lib *lib;            /* NULL until session_open() */
    xl_device **devices;    /* those chosen */
    unsigned n_devices;
    struct row_sink sink;   /* of the rows, while a command runs */
    struct report *report;  /* behind the sink; never NULL while one runs */
    bool is_stdout_taken;   /* by a result file: no tables */
    struct json_t *extra;   /* members a command adds to the JSON document;
                               NULL: none. Released by session_close() */
    struct trace *trace;    /* of --trace; NULL: none */
    struct progress progress;
    uint64_t start_ns;
    double limit_s;         /* all it may take; 0: no bound. --max-time, or a
                               command's own */
    bool is_late;           /* the limit ended something */
    unsigned n_rows, n_wrong, n_rejected, n_errors;
    /* Told of each row as well; NULL: nobody. */
    void (*watch)(void *arg, xl_device *dev, const xl_row *row);
    void *watch_arg;
};

/* Before anything else: the clock, Ctrl-C, the progress line. `set` and
 * `command` are there already. */
void session_begin(struct session *s);
/* May tables be printed? Not when a file has standard output. */
bool session_tables(const struct session *s);

/* Open the library; warnings go to stderr unless --quiet. An exit_code;
 * EXIT_FINE to go on. */
int session_open(struct session *s);
/* session_open(), then choose devices by --device / --all-devices; says why
 * and what to do when there is none. */
int session_open_devices(struct session *s);
/* A queue of ours on a device; says why on failure (NULL). */
xl_queue *session_queue(struct session *s, xl_device *dev);
/* Ctrl-C, or the limit is over. Fits every `stop` callback. */
bool session_stopped(void *session);
bool session_interrupted(void);
/* Hand the sink a section's title, a row, whose verdict is counted, and the
 * section's end; or a row outside of any section (row_sink.h). */
void session_section(struct session *s, const char *title, const char *note);
void session_row(struct session *s, xl_device *dev, const xl_row *row);
void session_section_end(struct session *s);
void session_record(struct session *s, xl_device *dev, const xl_row *row);
/* A message that may have several lines, on stderr, without bytes that a
 * terminal would obey; `before` stands in front of the first. */
void session_say(struct session *s, const char *before, const char *text);
/* Say a failure of the library's on stderr: what was being done, the status,
 * its detail. Returns the exit code that fits. */
int session_fail(struct session *s, const char *doing, xl_status status,
                 const char *detail);
/* The exit code of a command that ran through: from the counts, --strict and
 * whether it was interrupted. */
int session_result(const struct session *s);
void session_close(struct session *s);

#endif
