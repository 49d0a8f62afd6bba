/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex: a pthread mutex or, on Windows, an SRW lock. A thread must not take
 * a lock that it already holds. */
#ifndef XL_BASE_LOCK_H
#define XL_BASE_LOCK_H

#ifdef _WIN32
typedef struct xl__lock { void *srw; } xl__lock;
#else
#include <pthread.h>
typedef struct xl__lock { pthread_mutex_t mutex; } xl__lock;
#endif

void xl__lock_init(xl__lock *lock);
void xl__lock_clear(xl__lock *lock);
void xl__lock_take(xl__lock *lock);
void xl__lock_drop(xl__lock *lock);

#endif
