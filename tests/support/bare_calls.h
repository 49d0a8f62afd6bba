/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of the library costs beyond the driver's own calls: the same
 * ones are made by hand, on the stub, whose cost is small and equal in both.
 * Thread CPU time; the minimum of several rounds is used, since other load can
 * only increase it. */
#ifndef XL_TESTS_BARE_CALLS_H
#define XL_TESTS_BARE_CALLS_H

#include "support/support.h"

enum { BARE_SIDE = 64, BARE_MEMS = 3 };

struct bare_calls {
    struct test_device t;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem[BARE_MEMS]; /* BARE_SIDE x BARE_SIDE floats each */
    unsigned long n_args, n_launches, n_asked; /* of the last call measured */
};

/* A device without self-checks and cache. */
void bare_calls_open(struct bare_calls *b);
/* Nothing of the driver may be left. */
void bare_calls_close(struct bare_calls *b);

/* Does call(arg) take `most_ns` more than its driver calls, at most
 * (test_is_within())? Prints the figures. Fails the test when the call fails.
 */
bool bare_calls_are_within(struct bare_calls *b, const char *what,
                           xl_status (*call)(void *arg), void *arg,
                           double most_ns);

#endif
