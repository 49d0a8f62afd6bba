/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex without failure: neither implementation allocates memory. */
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
#endif
