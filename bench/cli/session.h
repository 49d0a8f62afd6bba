/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the program: its settings, library and devices, the destination
 * of its rows, and when it must stop. Every command gets a session. */
#ifndef CLBENCH_CLI_SESSION_H
#define CLBENCH_CLI_SESSION_H

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "host/deadline.h"
#include "host/run_state.h"

/* What the rows of a section are, which decides the columns of their table;
 * commands state it. */
enum rows_kind {
    ROWS_USUAL,
    ROWS_OF_EXPRESSIONS,
    ROWS_OF_A_SWEEP,
    ROWS_WITH_BOUNDS,
    ROWS_OF_LIMITERS, /* synthetic kernels, each made for one limiter */
    ROWS_OF_LEVELS,   /* of the memory hierarchy */
    ROWS_OF_KERNELS,  /* of the user */
    ROWS_OF_MODELS,   /* operations of a language model */
    N_ROWS_KINDS
};

/* The destination of a command's rows. The report sets it before the command
 * runs, so that the code that measures does not depend on the report. */
struct row_sink {
    void *arg;
    /* Begin a section, with a table. title: "GEMM"; note: a line below it, or
     * NULL. */
    void (*section)(void *arg, enum rows_kind kind, const char *title,
                    const char *note);
    void (*row)(void *arg, xl_device *dev, const xl_row *row);
    void (*section_end)(void *arg);
    /* A row for the result files only, outside of any section: the command
     * prints it in a table of its own. */
    void (*record)(void *arg, xl_device *dev, const xl_row *row);
    /* Another pass over a row, before or after the row itself; for the files
     * only. */
    void (*repeat)(void *arg, xl_device *dev, unsigned pass,
                   const xl_row *row);
};

/* The time that a command plans for itself; steps share it. */
struct time_plan {
    uint64_t end_ns, step_end_ns; /* 0: none */
    double weight;                /* of the steps that have not begun */
};

struct report;
struct json_t;
struct trace;

struct session {
    const struct command *command;
    struct settings set;
    bool no_cache;          /* set before session_open(): no program cache */
    bool no_selfcheck;      /* likewise: kernels run without one */
    char *listing; /* --as: likewise, the devices are those of this output of
                      `clinfo --raw`; NULL: the machine's. session_close()
                      frees it */
    xl_lib *lib;            /* NULL until session_open() */
    xl_device **devices;    /* the chosen ones */
    unsigned *rows_of;      /* rows of each, with those outside of sections */
    unsigned n_devices;
    struct row_sink sink;  /* while a command runs */
    struct report *report; /* of the sink; not NULL while a command runs */
    bool is_stdout_taken;  /* a result file is written there: no tables */
    struct json_t *extra;  /* members that a command adds to the JSON
                              document; NULL: none. session_close()
                              releases it */
    struct trace *trace;   /* --trace; NULL: none */
    struct progress progress;
    struct live_block block; /* above the progress line */
    uint64_t start_ns;
    double limit_s; /* for the whole run; 0: none. --max-time, or the
                       command's own */
    bool is_late;   /* the limit has ended the run */
    bool is_cut;    /* a row was left out that the limit had no time for */
    struct deadline *deadline; /* some time behind the limit; NULL: none. The
                                  sink is used with its lock */
    struct time_plan plan;
    struct run_state state;        /* of a command with rows that have roofs */
    bool is_state_shown, was_busy; /* as it was printed */
    unsigned n_rows, n_wrong, n_rejected, n_errors;
    unsigned pass; /* 0: rows are measured; else a further pass over rows,
                      without tables: only their samples are kept */
    /* Called for each row as well; NULL: none. */
    void (*watch)(void *arg, xl_device *dev, const xl_row *row);
    void *watch_arg;
};

/* First call: start the clock and catch Ctrl-C. `set` and `command` are set
 * already. */
void session_begin(struct session *s);
/* Are tables printed? Not when a result file is standard output. */
bool session_tables(const struct session *s);

/* Open the library; its warnings go to stderr unless --quiet. Returns an
 * exit_code; EXIT_FINE to continue. */
int session_open(struct session *s);
/* session_open(), then choose devices by --device or --all-devices. When there
 * is none: an exit_code, after a message. */
int session_open_devices(struct session *s);
/* Create a queue on a device; NULL after a message. */
xl_queue *session_queue(struct session *s, xl_device *dev);
/* Plan the run: it takes `seconds`, or what --max-time leaves of them, and
 * its steps have weights that add up to `weight`. */
void session_plan(struct session *s, double seconds, double weight);
/* Begin and end a step. Its share is of the time that is left, by its weight;
 * when this is over, session_stopped() is true until the step is ended.
 * Without a plan it has no end. */
void session_step_begin(struct session *s, double weight);
void session_step_end(struct session *s);
/* End the step when the n-th part of its time is over. */
void session_step_share(struct session *s, unsigned n);
/* Seconds that the run's limit leaves, and the step; infinite without one. */
double session_left_s(const struct session *s);
double session_step_left_s(const struct session *s);
/* Must the run end, by Ctrl-C or by the limit? Must it, or its step? Both may
 * be used as `stop` callback. */
bool session_ended(void *session);
bool session_stopped(void *session);
bool session_interrupted(void);
/* Why device i has no row, when the run was ended early; NULL: it has one. */
const char *session_not_run(const struct session *s, unsigned i);
/* Sample as --runs, --warmup, --min-time and --cold ask. */
void session_sampling(const struct session *s, xl_sampling *how);
/* Pass to the sink: the beginning of a section, a row (its verdict is
 * counted; in a busy run no row is ok), the end of the section; a row outside
 * of any section. In a further pass only samples reach it. */
void session_section(struct session *s, enum rows_kind kind, const char *title,
                     const char *note);
void session_row(struct session *s, xl_device *dev, const xl_row *row);
void session_section_end(struct session *s);
void session_record(struct session *s, xl_device *dev, const xl_row *row);
/* Print a message, of one or more lines, on stderr: "clbench: ", `before`,
 * `text`. Control bytes are escaped. */
void session_message(struct session *s, const char *before, const char *text);
/* Print a failure of the library on stderr: what was being done, the status,
 * its detail, and advice. Returns the exit code of the status. */
int session_fail(struct session *s, const char *doing, xl_status status,
                 const char *detail);
/* The exit code of a command that ran to its end: from the counts, --strict
 * and Ctrl-C. */
int session_result(const struct session *s);
void session_close(struct session *s);

#endif
