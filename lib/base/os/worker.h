/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that runs jobs one after another, in the order in which they were
 * added. */
#ifndef XL_BASE_WORKER_H
#define XL_BASE_WORKER_H

#include <stdbool.h>

/* The first member of a struct that `run` knows and frees. `is_cancelled`: the
 * worker is being destroyed, and the job is not to be done. */
struct xl__job {
    struct xl__job *next;
    void (*run)(struct xl__job *job, bool is_cancelled);
};

struct xl__worker;

/* Start the thread; NULL: the system has no memory or thread for it. It blocks
 * every signal, so that the application's threads get them. */
struct xl__worker *xl__worker_create(void);
/* Any thread but the worker's own. */
void xl__worker_add(struct xl__worker *w, struct xl__job *job);
/* Wait until the job that runs has ended, and the others have been called as
 * cancelled, on the same thread. NULL is allowed. Not for the worker's own
 * thread. */
void xl__worker_destroy(struct xl__worker *w);

#endif
