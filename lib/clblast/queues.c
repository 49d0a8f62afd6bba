/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: a list, searched by the native handle. A wrapped queue retains the
 * native one, so no new queue can have its handle. When a further queue is
 * wrapped, those are destroyed whose last owner is this list: an application
 * that makes a queue for each piece of work keeps one of them in memory, and
 * its context. */
#include "clblast/queues.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/lock.h"

struct xl__wrapped {
    struct xl__wrapped *next;
    cl_command_queue native;
    xl_queue *q;
    unsigned
        n_users;   /* threads that have it or wait for it; under list_lock */
    xl__lock lock; /* held by the thread that uses q */
};

static xl__lock list_lock = {PTHREAD_MUTEX_INITIALIZER};
static struct xl__wrapped *list; /* these three under list_lock */
static xl_lib *lib;
static bool is_opened;

static bool is_abandoned(const struct xl__wrapped *w)
{
    cl_uint n_owners = 0;
    return w->n_users == 0 &&
           clGetCommandQueueInfo(w->native, CL_QUEUE_REFERENCE_COUNT,
                                 sizeof n_owners, &n_owners, NULL) == 0 &&
           n_owners == 1;
}

static void destroy_abandoned(void)
{
    struct xl__wrapped **at = &list, *w;
    while ((w = *at) != NULL) {
        if (!is_abandoned(w)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        xl_queue_destroy(w->q);
        xl__lock_clear(&w->lock);
        free(w);
    }
}

static struct xl__wrapped *wrap(cl_command_queue native)
{
    if (!is_opened) {
        is_opened = true;
        xl_open(NULL, &lib);
    }
    struct xl__wrapped *w = lib ? xl__calloc(1, sizeof *w) : NULL;
    if (!w)
        return NULL;
    if (xl_queue_wrap(lib, native, &w->q) != XL_OK) {
        free(w);
        return NULL;
    }
    destroy_abandoned(); /* now, so that a context that goes on is kept */
    xl__lock_init(&w->lock);
    w->native = native;
    w->next = list;
    list = w;
    return w;
}

struct xl__wrapped *xl__wrapped_take(cl_command_queue native, xl_queue **q)
{
    xl__lock_take(&list_lock);
    struct xl__wrapped *w = list;
    while (w && w->native != native)
        w = w->next;
    if (!w)
        w = wrap(native);
    if (w)
        w->n_users++;
    xl__lock_drop(&list_lock);
    if (!w)
        return NULL;
    xl__lock_take(&w->lock);
    *q = w->q;
    return w;
}

void xl__wrapped_drop(struct xl__wrapped *w)
{
    xl__lock_drop(&w->lock);
    xl__lock_take(&list_lock);
    w->n_users--;
    xl__lock_drop(&list_lock);
}
