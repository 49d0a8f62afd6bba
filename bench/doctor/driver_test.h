/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers tried in a child process: loaded, asked for platforms and devices,
 * and each device made to compile and run a kernel. The child reports line by
 * line, so that what it was doing when it died is known. */
#ifndef CLBENCH_TRIAL_H
#define CLBENCH_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/subprocess.h"

struct trial_platform {
    char *name, *version;
    unsigned n_devices; /* of any kind, as the driver counts */
};

struct trial_device {
    unsigned index;
    char *name, *platform, *driver, *cl_version, *pci, *type;
    bool works;  /* a kernel was compiled, ran, and was right */
    char *story; /* why not; NULL: nothing was said */
};

struct trial {
    enum child_end end;
    int code;
    double took_s;
    bool is_done;     /* it got to its end */
    char *step;       /* what it did last */
    char *words;      /* the last line of the driver's own; NULL: none */
    char *loader;     /* what the loader calls itself; NULL: it does not say */
    char *load_error; /* the library does not load; NULL: it does */
    char *refusal;    /* why the library sees no device; NULL: it does */
    struct trial_platform *platforms;
    size_t n_platforms, platforms_cap;
    struct trial_device *devices;
    size_t n_devices, devices_cap;
};

/* What to try. Neither: the drivers as the environment names them. */
struct trial_of {
    const char *library; /* this driver alone */
    bool nothing;        /* no driver at all: the loader by itself */
};

/* trial_clear() afterwards. A driver that is silent for longer than silence_s
 * is taken for hung; `stop` as in struct child_step. */
void trial_run(const struct trial_of *of, double silence_s,
               bool (*stop)(void *arg), void *stop_arg, struct trial *out);
void trial_clear(struct trial *t);
/* "crashed (SIGSEGV) while ..."; false when it ended well. */
bool trial_failure(const struct trial *t, struct xl__str *story);

/* In the child: has trial_run() started this process? Then do it. */
bool trial_is_child(void);
void trial_be_child(void);

#endif
