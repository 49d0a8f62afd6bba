/* SPDX-License-Identifier: Apache-2.0 */
/* The error record of a call: the status and the message of the first failure.
 * Later failures of the same call are consequences of the first one and are
 * not recorded. The next call resets the record. Functions have one exit
 * label, `fail:`, to which TRY() jumps. */
#ifndef XL_BASE_ERROR_H
#define XL_BASE_ERROR_H

#include <crosslane/status.h>

#include "base/str.h"

struct xl__error {
    xl_status status; /* XL_OK: nothing recorded */
    struct xl__str detail; /* the message */
};

/* Make the record empty. */
void xl__error_reset(struct xl__error *e);
/* Free its memory; the record can be used again. */
void xl__error_clear(struct xl__error *e);
/* Record a failure, unless one is recorded already. Returns `status`. `e` may
 * be NULL: nothing is recorded. */
xl_status xl__error_set(struct xl__error *e, xl_status status, const char *fmt,
                        ...) XL__PRINTF(3, 4);
/* XL_OK; for memory NULL, XL_NO_MEMORY is recorded with what it was for. */
xl_status xl__check_alloc(struct xl__error *e, const void *memory,
                          const char *what);

/* Evaluate an expression of type xl_status; go to `fail` when it is not XL_OK.
 * Needs a variable `status` and the label `fail`. */
#define TRY(expr)                                                             \
    do {                                                                      \
        status = (expr);                                                      \
        if (status != XL_OK)                                                  \
            goto fail;                                                        \
    } while (0)

#endif
