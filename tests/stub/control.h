/* SPDX-License-Identifier: Apache-2.0 */
/* The controls of the stub driver and of the fault layer for tests. Both
 * export these functions; stub_load() in support.h finds them, and so does
 * clGetExtensionFunctionAddressForPlatform() of the stub driver. */
#ifndef XL_TESTS_CONTROL_H
#define XL_TESTS_CONTROL_H

#include <CL/cl.h>

/* A driver whose binaries are texts: what comes of sources, and of texts that
 * it is given. */
struct xl_builds {
    cl_int source_code;  /* of building a source, whose own log stays */
    const char *binary;  /* what a built source becomes; NULL: nothing */
    cl_int binary_code;  /* of building a binary */
    const char *logs[3]; /* of such builds in turn, the last again; the first
                            NULL ends */
};

/* A launch, as a driver sees it. */
struct xl_launch {
    const char *kernel; /* of the layer: NULL */
    size_t items;
    unsigned long long number; /* of all launches since the model was set */
    unsigned long long last_arg; /* of 4 or 8 bytes; else 0 */
};

/* Stamps of a command: queued, submitted, started, ended. */
enum { XL_N_STAMPS = 4 };

/* When does clFinish() come back? */
enum xl_finish { XL_FINISH_WAITS, XL_FINISH_AFTER_MARKER, XL_FINISH_NEVER };

/* Time goes by as a test says. */
struct xl_clock {
    unsigned long long (*now_ns)(void);
    void (*sleep_ns)(unsigned long long ns);
};

/* A device that takes its time, and what its driver reports of it. Any function
 * may be NULL. The layer's device is real: `takes`, `finish` and `clock` are
 * the stub's alone. */
struct xl_model {
    double (*takes)(void *arg, const struct xl_launch *launch); /* ns */
    /* Stamps of a command, true at first, by `clock`. */
    void (*set_stamps)(void *arg, unsigned long long ns[XL_N_STAMPS]);
    /* Is this launch left out, and said to be done? */
    int (*drops)(void *arg, const struct xl_launch *launch);
    enum xl_finish finish;
    const struct xl_clock *clock; /* of the stub: never NULL */
    void *arg;
};

struct xl_control {
    /* Let the n-th call from now (from 1) of an entry point return code. */
    void (*arm)(const char *entry, unsigned n, cl_int code);
    /* Has the fault happened? */
    int (*fired)(void);
    /* Forget the fault and all counts of calls. Objects stay. */
    void (*reset)(void);
    /* Objects alive: of the driver's own making, or references held. */
    long (*live)(void);
    /* "2 kernel, 1 event"; "" for none. Valid until the next call. */
    const char *(*live_text)(void);
    /* Calls since the last reset. */
    unsigned long (*calls)(const char *entry);
    /* The i-th entry point's name, NULL past the last. */
    const char *(*entry)(unsigned i);
    /* 0: event times grow; 1: they are all 0. The layer ignores it. */
    void (*timer)(int mode);
    /* From now on; kept by the caller. NULL: a mark and the source are the
     * binary, all builds succeed. The layer has none. */
    void (*builds)(const struct xl_builds *how);
    /* From now on; kept by the caller. NULL: commands take no time, and their
     * stamps are as timer() says. */
    void (*model)(const struct xl_model *model);
    /* Called in each clBuildProgram, which takes until it returns; NULL: none.
     * The layer has none. */
    void (*on_build)(void (*call)(void *arg), void *arg);
};

#endif
