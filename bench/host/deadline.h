/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run whose main thread does not come back in time: a driver that
 * builds a program or runs a kernel cannot be stopped. A thread waits for the
 * time and then calls a function, which ends the process. What that function
 * uses, the main thread uses only between deadline_lock() and
 * deadline_unlock(). */
#ifndef CLBENCH_DEADLINE_H
#define CLBENCH_DEADLINE_H

#include <stdint.h>

struct deadline;

/* Call late(arg) once it is at_ns by xl__now_ns(), unless deadline_end() was
 * called; it must not return. NULL: no thread, so the run has no such end. */
struct deadline *deadline_begin(uint64_t at_ns, void (*late)(void *arg),
                                void *arg);
/* NULL is accepted by all of them. */
void deadline_lock(struct deadline *d);
void deadline_unlock(struct deadline *d);
void deadline_end(struct deadline *d);

#endif
