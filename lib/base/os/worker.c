/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a list of jobs under a lock, and a thread that waits for them.
 * Threads are those of pthread or of Windows. */
#include "base/os/worker.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/lock.h"

#ifdef _WIN32
#include <windows.h>
typedef HANDLE thread_handle;
#else
#include <pthread.h>
#include <signal.h>
typedef pthread_t thread_handle;
#endif

/* Compilers recurse deeply, and some systems give threads little. */
static const size_t stack_bytes = (size_t)8 << 20;

struct xl__worker {
    thread_handle thread;
    xl__lock lock; /* guards the fields below */
    xl__condition changed;
    struct xl__job *first, *last;
    bool is_ending;
};

/* Waits for the next job; NULL: there is none, and the worker ends. */
static struct xl__job *take_job(struct xl__worker *w, bool *is_cancelled)
{
    xl__lock_take(&w->lock);
    while (!w->first && !w->is_ending)
        xl__condition_wait(&w->changed, &w->lock);
    struct xl__job *job = w->first;
    if (job)
        w->first = job->next;
    *is_cancelled = w->is_ending;
    xl__lock_drop(&w->lock);
    return job;
}

static void run_jobs(struct xl__worker *w)
{
    struct xl__job *job;
    bool is_cancelled;
    while ((job = take_job(w, &is_cancelled)) != NULL)
        job->run(job, is_cancelled);
}

#ifdef _WIN32
static DWORD WINAPI run_thread(void *w)
{
    run_jobs(w);
    return 0;
}

static bool start_thread(struct xl__worker *w)
{
    w->thread = CreateThread(NULL, stack_bytes, run_thread, w,
                             STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return w->thread != NULL;
}

static void join_thread(struct xl__worker *w)
{
    WaitForSingleObject(w->thread, INFINITE);
    CloseHandle(w->thread);
}
#else
static void *run_thread(void *w)
{
    run_jobs(w);
    return NULL;
}

/* The thread inherits the mask of signals. */
static bool start_thread(struct xl__worker *w)
{
    pthread_attr_t attributes;
    sigset_t all, kept;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    const bool is_started =
        pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
        pthread_create(&w->thread, &attributes, run_thread, w) == 0;
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}

static void join_thread(struct xl__worker *w)
{
    pthread_join(w->thread, NULL);
}
#endif

static void free_worker(struct xl__worker *w)
{
    xl__condition_clear(&w->changed);
    xl__lock_clear(&w->lock);
    free(w);
}

struct xl__worker *xl__worker_create(void)
{
    struct xl__worker *w = xl__calloc(1, sizeof *w);
    if (!w)
        return NULL;
    xl__lock_init(&w->lock);
    xl__condition_init(&w->changed);
    if (start_thread(w))
        return w;
    free_worker(w);
    return NULL;
}

void xl__worker_add(struct xl__worker *w, struct xl__job *job)
{
    job->next = NULL;
    xl__lock_take(&w->lock);
    *(w->first ? &w->last->next : &w->first) = job;
    w->last = job;
    xl__condition_wake_all(&w->changed);
    xl__lock_drop(&w->lock);
}

void xl__worker_destroy(struct xl__worker *w)
{
    if (!w)
        return;
    xl__lock_take(&w->lock);
    w->is_ending = true;
    xl__condition_wake_all(&w->changed);
    xl__lock_drop(&w->lock);
    join_thread(w);
    free_worker(w);
}
