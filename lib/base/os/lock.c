/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex and a condition variable without failure: no implementation
 * allocates memory. */
#include "base/os/lock.h"

#ifdef _WIN32
#include <windows.h>

void xl__lock_init(xl__lock *lock)
{
    InitializeSRWLock((PSRWLOCK)&lock->srw);
}

void xl__lock_clear(xl__lock *lock)
{
    (void)lock; /* an SRW lock holds nothing */
}

void xl__lock_take(xl__lock *lock)
{
    AcquireSRWLockExclusive((PSRWLOCK)&lock->srw);
}

void xl__lock_drop(xl__lock *lock)
{
    ReleaseSRWLockExclusive((PSRWLOCK)&lock->srw);
}

void xl__condition_init(xl__condition *c)
{
    InitializeConditionVariable((PCONDITION_VARIABLE)&c->variable);
}

void xl__condition_clear(xl__condition *c)
{
    (void)c; /* a condition variable holds nothing */
}

void xl__condition_wait(xl__condition *c, xl__lock *lock)
{
    SleepConditionVariableSRW((PCONDITION_VARIABLE)&c->variable,
                              (PSRWLOCK)&lock->srw, INFINITE, 0);
}

void xl__condition_wake_all(xl__condition *c)
{
    WakeAllConditionVariable((PCONDITION_VARIABLE)&c->variable);
}

#else

void xl__lock_init(xl__lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
}

void xl__lock_clear(xl__lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void xl__lock_take(xl__lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void xl__lock_drop(xl__lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void xl__condition_init(xl__condition *c)
{
    pthread_cond_init(&c->variable, NULL);
}

void xl__condition_clear(xl__condition *c)
{
    pthread_cond_destroy(&c->variable);
}

void xl__condition_wait(xl__condition *c, xl__lock *lock)
{
    pthread_cond_wait(&c->variable, &lock->mutex);
}

void xl__condition_wake_all(xl__condition *c)
{
    pthread_cond_broadcast(&c->variable);
}
#endif
