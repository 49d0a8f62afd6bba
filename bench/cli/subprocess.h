/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that runs this program again. Drivers are called there where
 * they may crash, hang or print: none of it affects the parent. Only
 * subprocess.c uses POSIX calls. */
#ifndef CLBENCH_CLI_SUBPROCESS_H
#define CLBENCH_CLI_SUBPROCESS_H

#include <stdbool.h>

#include "base/str.h"

/* Save the environment variables that choose drivers, for the children. Call
 * before any OpenCL call: some loaders modify these variables in place, in
 * this process's environment (GE-27). */
void child_save_variables(void);

enum { CHILD_MOST_ARGS = 255 };

struct child_step {
    const char *const *args; /* after the program's name, at most
                                CHILD_MOST_ARGS; NULL-terminated */
    const char *const *variables; /* "NAME=value" set, "NAME" removed;
                                     NULL-terminated */
    double silence_s;             /* killed after this time without output */
    double longest_s;             /* killed after this time in any case */
    bool (*stop)(void *arg);      /* polled: true to kill it */
    void *stop_arg;
};

enum child_end {
    CHILD_EXITED,    /* code: its exit code */
    CHILD_SIGNALLED, /* code: the signal */
    CHILD_HUNG,      /* killed by the watchdog */
    CHILD_STOPPED,   /* killed because stop() returned true */
    CHILD_NOT_RUN    /* not supported here, or out of memory */
};

struct child_result {
    enum child_end end;
    int code;
    double took_s;
    struct xl__str output; /* stdout and stderr, the first 256 KiB */
};

/* Run a child to its end, with empty standard input. *out is overwritten;
 * child_clear() after each call. */
void child_run(const struct child_step *step, struct child_result *out);
void child_clear(struct child_result *r);
/* Run two children to their ends, alternately: while one runs for a tenth of a
 * second, the other is stopped. So both see the same machine, however fast it
 * changes. The first one begins. out[] as for child_run(). */
void child_run_alternately(const struct child_step step[2],
                           struct child_result out[2]);

/* Start a child that exchanges lines with the parent: requests on its standard
 * input, replies on its standard output. NULL: not supported here, or out of
 * memory. */
struct child *child_start(const struct child_step *step);
/* Write `text` to the child, and allow it `silence_s` seconds without output
 * from now on. False: it has ended. */
bool child_write(struct child *c, const char *text, double silence_s);
/* Read the child's next line, without the newline. False: it has ended, by
 * itself or by the watchdog, and all its output was read. */
bool child_read_line(struct child *c, struct xl__str *line);
/* Close the child's input, wait for its end and free `c`. *out as for
 * child_run(), with the output that was not read yet. */
void child_end(struct child *c, struct child_result *out);
/* The same without a result; NULL is allowed. */
void child_discard(struct child *c);

/* "SIGSEGV"; other signals by number. In static memory. */
const char *child_signal_name(int signal);

/* Create a private temporary folder; free() the path. NULL: failed. */
char *child_folder_make(void);
void child_folder_remove(const char *path);
/* Load a shared library into this process. False: *why receives the system's
 * message. */
bool child_loads(const char *library, struct xl__str *why);

/* -- protocol --------------------------------------------------------------
 *
 * A child writes lines for its parent: a mark, a kind, and fields separated by
 * tabs. The mark distinguishes them from what drivers print. The kinds are
 * those of `clbench doctor`; `clbench tune` has its own. */

/* Set in the child of `clbench doctor`: the library to load, or empty. */
#define CHILD_LIBRARY_VARIABLE "CLBENCH_DOCTOR_CHILD"

enum { CHILD_LINE_MOST_FIELDS = 8 };

#define CHILD_LINE_MARK "@clbench "
#define CHILD_LINE_STEP "step"             /* the next step */
#define CHILD_LINE_LOADER "loader"         /* name, version */
#define CHILD_LINE_UNLOADABLE "unloadable" /* why */
#define CHILD_LINE_PLATFORM "platform" /* name, version, number of devices */
#define CHILD_LINE_DEVICE                                                     \
    "device"                     /* index, name, platform, driver, version of \
                                    OpenCL, PCI address, type */
#define CHILD_LINE_WORKS "works" /* index */
#define CHILD_LINE_FAILS "fails" /* index, why */
#define CHILD_LINE_REFUSAL "refusal" /* why no device is seen */
#define CHILD_LINE_DONE "done"

#endif
