/* SPDX-License-Identifier: Apache-2.0 */
/* This program, once more, in a process of its own: what a driver does there
 * (crash, hang, talk) stays there. POSIX lives in child*.c alone. */
#ifndef CLBENCH_CLI_SUBPROCESS_H
#define CLBENCH_CLI_SUBPROCESS_H

#include <stdbool.h>

#include "base/str.h"

/* Before anything of OpenCL is called: keep what chooses drivers, for the
 * children to find. Some loaders cut these variables to pieces in place, in
 * this process's own environment (GE-27). */
void child_remember(void);

struct child_step {
    const char *const *args; /* after the program's name; NULL-terminated */
    const char *const *variables; /* "NAME=value" set, "NAME" removed;
                                     NULL-terminated */
    double silence_s;             /* killed after so long without a word */
    double longest_s;             /* and after so long in any case */
    bool (*stop)(void *arg);      /* asked now and then: end it? */
    void *stop_arg;
};

enum child_end {
    CHILD_EXITED,    /* code: its exit code */
    CHILD_SIGNALLED, /* code: the signal */
    CHILD_HUNG,      /* killed by the watchdog */
    CHILD_STOPPED,   /* killed since stop() asked for it */
    CHILD_NOT_RUN    /* this system cannot, or has no room for it */
};

struct child_result {
    enum child_end end;
    int code;
    double took_s;
    struct xl__str output; /* both its streams, the first 256 KiB */
};

/* Run it to its end, with nothing to read. `out` is cleared first;
 * child_clear() after every call. */
void child_run(const struct child_step *step, struct child_result *out);
void child_clear(struct child_result *r);

/* One that is asked things: lines go to its standard input, and it answers in
 * lines. NULL: this system cannot, or has no room for it. */
struct child *child_start(const struct child_step *step);
/* Say `text`, and give it so long to answer from now on; false: it is not
 * there any more. */
bool child_say(struct child *c, const char *text, double silence_s);
/* Its next line, without the newline; false once it has ended, by itself or by
 * the watchdog, and all its words were heard. */
bool child_hear(struct child *c, struct xl__str *line);
/* Let it read an end of its input, and wait; `c` is gone. As child_run(), with
 * what was not heard yet as its output. */
void child_end(struct child *c, struct child_result *out);
/* The same when nobody asks how it ended; NULL is allowed. */
void child_dismiss(struct child *c);

/* "SIGSEGV"; static or a number in static memory. */
const char *child_signal_name(int signal);

/* A private, empty folder for a short time; free() the path. NULL: none. */
char *child_folder_make(void);
void child_folder_remove(const char *path);
/* Does a shared library load into this process? `why` takes the system's
 * story when not. */
bool child_loads(const char *library, struct xl__str *why);

/* What a trial's child writes and its parent reads: lines of a mark, a kind
 * and fields, parted by tabs. */

/* Set in the child: the library to load first, or empty. */
#define TRIAL_VARIABLE "CLBENCH_DOCTOR_CHILD"

enum { TRIAL_MOST_FIELDS = 8 };

#define TRIAL_MARK "@clbench "
#define TRIAL_STEP "step"             /* what is done next */
#define TRIAL_LOADER "loader"         /* name, version */
#define TRIAL_UNLOADABLE "unloadable" /* why */
#define TRIAL_PLATFORM "platform"     /* name, version, number of devices */
#define TRIAL_DEVICE "device" /* index, name, platform, driver, version of
                                 OpenCL, PCI address, type */
#define TRIAL_WORKS "works"           /* index */
#define TRIAL_FAILS "fails"           /* index, why */
#define TRIAL_REFUSAL "refusal"       /* why no device is seen */
#define TRIAL_DONE "done"

#endif
