/* SPDX-License-Identifier: Apache-2.0 */
/* Tests OpenCL drivers in a child process: the child loads the driver, lists
 * platforms and devices, and compiles and runs a kernel on each device. The
 * child reports line by line, so that the step during which it crashed or hung
 * is known. */
#ifndef CLBENCH_DOCTOR_DRIVER_TEST_H
#define CLBENCH_DOCTOR_DRIVER_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/subprocess.h"

struct driver_test_platform {
    char *name, *version;
    unsigned n_devices; /* of any type, as the driver reports */
};

struct driver_test_device {
    unsigned index;
    char *name, *platform, *driver, *cl_version, *pci, *type;
    bool works;   /* a kernel compiled, ran and gave the right result */
    char *reason; /* of a failure; NULL: none was reported */
};

/* The result of one test. */
struct driver_test {
    enum child_end end;
    int code;
    double took_s;
    bool is_done;     /* the child completed all steps */
    char *step;       /* the last step it began */
    char *last_line;  /* of the driver's own output; NULL: none */
    char *loader;     /* name and version of the loader; NULL: unknown */
    char *load_error; /* why the library does not load; NULL: it does */
    char *refusal;    /* why crosslane has no device; NULL: it has */
    struct driver_test_platform *platforms;
    size_t n_platforms, platforms_cap;
    struct driver_test_device *devices;
    size_t n_devices, devices_cap;
};

/* The drivers to test. Neither field set: those that the environment names. */
struct driver_test_target {
    const char *library; /* this driver only */
    bool nothing;        /* no driver: the loader by itself */
};

/* Runs the test. A driver without output for longer than silence_s counts as
 * hung; `stop` as in struct child_step. Call driver_test_clear() afterwards.
 */
void driver_test_run(const struct driver_test_target *of, double silence_s,
                     bool (*stop)(void *arg), void *stop_arg,
                     struct driver_test *out);
void driver_test_clear(struct driver_test *t);
/* Appends "crashed (SIGSEGV) while ..."; false if the test succeeded. */
bool driver_test_failure(const struct driver_test *t, struct xl__str *reason);

/* True if this process was started by driver_test_run(); the program then
 * calls driver_test_child_main() and exits. */
bool driver_test_is_child(void);
void driver_test_child_main(void);

#endif
