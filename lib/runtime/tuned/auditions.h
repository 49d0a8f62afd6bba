/* SPDX-License-Identifier: Apache-2.0 */
/* Auditions: for a class of shapes, the variant that was fastest when several
 * were timed on the device, and their times. A result is kept in memory, and
 * in the program cache, where later processes find it; a cache that is off
 * keeps none. Its key has the device, the driver, the library's build, the op
 * and the class: ops/path/audition.c.
 *
 * An audition of a class is held once: the thread that claims it holds it,
 * others that need the class wait for its end, or go on without it. One that
 * failed is not held again by this library; nor is one beyond 1024 classes. */
#ifndef XL_RUNTIME_AUDITIONS_H
#define XL_RUNTIME_AUDITIONS_H

#include <crosslane/crosslane.h>

#include "base/os/lock.h"
#include "runtime/store/store.h"

/* Immutable once it is known, and valid as long as the library. */
struct xl__audition_result {
    char variant[32];
    char date[24];
    char times[320]; /* "gemm_cpu 1.2 ms, gemm_tiled 4.8 ms" */
};

struct xl__audition_entry; /* of one class */

struct xl__auditions {
    xl__lock lock; /* guards `first` and `n`; held while an entry is read */
    xl__condition ended;
    struct xl__audition_entry *first;
    unsigned n;
    xl__lock timing; /* of one audition at a time */
    struct xl__store *store;
    xl_audition when;
    double budget_ns; /* 0: by default */
    /* tune/audition.c: times the candidates of a struct xl__op_call. */
    xl_status (*hold)(void *call, struct xl__audition_result *out);
};

void xl__auditions_init(struct xl__auditions *a, struct xl__store *store);
void xl__auditions_clear(struct xl__auditions *a);

/* The result for a key, or NULL; *is_pending: a thread holds the audition now.
 * With `may_wait` its end is waited for. */
const struct xl__audition_result *xl__audition_find(struct xl__auditions *a,
                                                    const char *key,
                                                    bool may_wait,
                                                    bool *is_pending);
/* Claim the audition: the caller holds it and calls xl__audition_end(). NULL:
 * another did or does, there are too many, or memory ran out. */
struct xl__audition_entry *xl__audition_begin(struct xl__auditions *a,
                                              const char *key);
/* Keep the result, which is copied; NULL: there is none. Without effect where
 * the audition has ended. */
void xl__audition_end(struct xl__auditions *a,
                      struct xl__audition_entry *claimed,
                      const struct xl__audition_result *result);

#endif
