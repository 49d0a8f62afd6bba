/* SPDX-License-Identifier: Apache-2.0 */
/* What a test may tell and ask the stub driver and the fault layer. Both
 * export these; stub_load() in support.h finds them, and so does
 * clGetExtensionFunctionAddressForPlatform() for the driver. */
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
};

#endif
