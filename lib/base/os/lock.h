/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex and a condition variable: those of pthread or, on Windows, an SRW
 * lock and a CONDITION_VARIABLE. A thread must not take a lock that it already
 * holds. */
#ifndef XL_BASE_LOCK_H
#define XL_BASE_LOCK_H

#ifdef _WIN32
typedef struct xl__lock { void *srw; } xl__lock;
typedef struct xl__condition {
    void *variable;
} xl__condition;
#else
#include <pthread.h>
typedef struct xl__lock { pthread_mutex_t mutex; } xl__lock;
typedef struct xl__condition {
    pthread_cond_t variable;
} xl__condition;
#endif

void xl__lock_init(xl__lock *lock);
void xl__lock_clear(xl__lock *lock);
void xl__lock_take(xl__lock *lock);
void xl__lock_drop(xl__lock *lock);

void xl__condition_init(xl__condition *c);
void xl__condition_clear(xl__condition *c);
/* Drop the lock, which the caller holds, wait until another thread calls
 * xl__condition_wake_all(), and take the lock again. It may also return
 * without such a call, so the caller tests its condition in a loop. */
void xl__condition_wait(xl__condition *c, xl__lock *lock);
void xl__condition_wake_all(xl__condition *c);

#endif
