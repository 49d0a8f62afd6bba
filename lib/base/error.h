/* SPDX-License-Identifier: Apache-2.0 */
/* The error record: the first failure wins, its story is kept until the next
 * call clears it. Functions have one exit, `fail:`. */
#ifndef XL_BASE_ERROR_H
#define XL_BASE_ERROR_H

#include <crosslane/status.h>

#include "base/str.h"

struct xl__error {
    xl_status status; /* XL_OK: nothing recorded */
    struct xl__str detail;
};

/* Forget what was recorded. */
void xl__error_reset(struct xl__error *e);
/* Free; the record can be used again. */
void xl__error_clear(struct xl__error *e);
/* Record unless something is recorded already. Returns `status`. `e` may be
 * NULL: nobody listens. */
xl_status xl__error_set(struct xl__error *e, xl_status status, const char *fmt,
                        ...) XL__PRINTF(3, 4);

/* Forward a status; needs `xl_status status` and the label `fail`. */
#define TRY(expr)                                                             \
    do {                                                                      \
        status = (expr);                                                      \
        if (status != XL_OK)                                                  \
            goto fail;                                                        \
    } while (0)

#endif
