/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a comparison on shared cores fair: no variable that someone set
 * for another program, and each side's threads held to cores of their own.
 * Linux; elsewhere threads go where the system puts them. */
#ifndef PEERS_FAIR_H
#define PEERS_FAIR_H

#include <stdbool.h>

/* Start the program anew without the variables that libraries read as they
 * are loaded, and say so; returns when there were none. Variables that are
 * left alone but change what is compared are named. */
void fair_variables(void);
/* Start anew with one that they need; returns when that cannot be, or was done
 * before. */
void fair_start_with(const char *name, const char *value);

enum { FAIR_THREADS = 256 };

/* The threads of this process, and the cores that they may have. */
struct fair_threads {
    int id[FAIR_THREADS];
    int core[FAIR_THREADS];
    unsigned n, n_cores;
};

/* The threads there are now, the caller's first: before a driver starts its
 * own. Those but the caller's are pinned, a core each, for good. */
void fair_pin(struct fair_threads *t);
/* The caller's thread on the first core, or on any of them again. */
void fair_pin_caller(const struct fair_threads *t, bool is_pinned);

#endif
