/* SPDX-License-Identifier: Apache-2.0 */
/* The error record: keeps the first failure of a call. */
#include "base/error.h"

void xl__error_reset(struct xl__error *e)
{
    e->status = XL_OK;
    xl__str_reset(&e->detail);
}

void xl__error_clear(struct xl__error *e)
{
    e->status = XL_OK;
    xl__str_clear(&e->detail);
}

xl_status xl__error_set(struct xl__error *e, xl_status status, const char *fmt,
                        ...)
{
    if (e == NULL || e->status != XL_OK)
        return status;
    e->status = status;
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&e->detail, fmt, args);
    va_end(args);
    return status;
}

xl_status xl__check_alloc(struct xl__error *e, const void *memory,
                          const char *what)
{
    return memory ? XL_OK : xl__error_set(e, XL_NO_MEMORY, "%s", what);
}
