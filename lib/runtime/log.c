/* SPDX-License-Identifier: Apache-2.0 */
/* The version, the last error of a library handle, and messages to the
 * application's log callback. */
#include <stdarg.h>

#include "runtime/lib.h"

const char *xl_version(void) { return XL_VERSION_TEXT; }

const char *xl_lib_error(const xl_lib *lib)
{
    return lib ? xl__str_text(&lib->error.detail) : "";
}

void xl__log(xl_lib *lib, xl_log_level level, const char *fmt, ...)
{
    if (!lib->log)
        return;
    struct xl__str text = {NULL, 0, 0, false};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&text, fmt, args);
    va_end(args);
    xl__lock_take(&lib->log_lock);
    lib->log(level, xl__str_text(&text), lib->log_arg);
    xl__lock_drop(&lib->log_lock);
    xl__str_clear(&text);
}
