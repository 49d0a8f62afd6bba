/* SPDX-License-Identifier: Apache-2.0 */
#include "host/deadline.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/os/lock.h"
#include "base/os/worker.h"

struct deadline {
    struct xl__job job; /* the wait */
    struct xl__worker *worker;
    xl__lock lock;
    uint64_t at_ns;
    void (*late)(void *arg);
    void *arg;
    bool is_over; /* guarded by the lock */
};

/* On the worker's thread: a look twenty times a second, since a lock has no
 * wait with a time. */
static void wait_for_it(struct xl__job *job, bool is_cancelled)
{
    static const uint64_t look_ns = 50000000;
    struct deadline *d = (struct deadline *)job;
    bool is_over = is_cancelled;
    while (!is_over) {
        xl__sleep_ns(look_ns);
        xl__lock_take(&d->lock);
        is_over = d->is_over;
        if (!is_over && xl__now_ns() >= d->at_ns)
            d->late(d->arg);
        xl__lock_drop(&d->lock);
    }
}

struct deadline *deadline_begin(uint64_t at_ns, void (*late)(void *arg),
                                void *arg)
{
    struct deadline *d = xl__calloc(1, sizeof *d);
    if (!d)
        return NULL;
    *d = (struct deadline){
        .job.run = wait_for_it, .at_ns = at_ns, .late = late, .arg = arg};
    d->worker = xl__worker_create();
    if (!d->worker) {
        free(d);
        return NULL;
    }
    xl__lock_init(&d->lock);
    xl__worker_add(d->worker, &d->job);
    return d;
}

void deadline_lock(struct deadline *d)
{
    if (d)
        xl__lock_take(&d->lock);
}

void deadline_unlock(struct deadline *d)
{
    if (d)
        xl__lock_drop(&d->lock);
}

void deadline_end(struct deadline *d)
{
    if (!d)
        return;
    deadline_lock(d);
    d->is_over = true;
    deadline_unlock(d);
    xl__worker_destroy(d->worker);
    xl__lock_clear(&d->lock);
    free(d);
}
