/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions for a comparison on shared cores: no environment variables that
 * change a library, and each library's threads pinned to cores of their own.
 * Linux; on other systems these functions do nothing. */
#ifndef PEERS_THREAD_PINNING_H
#define PEERS_THREAD_PINNING_H

#include <stdbool.h>

/* Restart the program without the variables that libraries read when they are
 * loaded, with a warning; returns when there are none. Warns about others that
 * change what is compared. */
void pinning_clear_variables(void);
/* Restart with a variable set; returns when the program has restarted before,
 * or cannot. */
void pinning_restart_with(const char *name, const char *value);

enum { PINNED_THREADS = 256 };

/* The threads of this process, and the cores that they may use. */
struct pinned_threads {
    int id[PINNED_THREADS];
    int core[PINNED_THREADS];
    unsigned n, n_cores;
};

/* List the threads that exist now, the caller's first, and pin each but the
 * caller's to a core. To be called before a driver starts threads. */
void pinning_pin_threads(struct pinned_threads *t);
/* Pin the caller's thread to the first core, or release it to all of them. */
void pinning_pin_caller(const struct pinned_threads *t, bool is_pinned);

#endif
