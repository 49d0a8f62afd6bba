/* SPDX-License-Identifier: Apache-2.0 */
/* Files that an option names. What is no plain file, such as /dev/full, cannot
 * be tried without being written to. */
#include "out_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/str.h"
#include "progress.h"

static bool complain(struct session *s, const char *option, const char *path,
                     xl_status status)
{
    const char *why = errno ? strerror(errno) : xl_status_text(status);
    progress_hide(s);
    fprintf(stderr,
            "clbench: --%s: '%s' cannot be written: %s; give a file in a "
            "folder that you may write to\n",
            option, path, why);
    return false;
}

bool out_file_try(struct session *s, const char *option, const char *path)
{
    struct xl__str trial = {0};
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return true;
    xl__str_printf(&trial, "%s.trial", path);
    errno = 0;
    const xl_status status =
        trial.broken ? XL_NO_MEMORY
                     : xl__file_replace(xl__str_text(&trial), "", 0);
    if (status == XL_OK)
        (void)xl__file_remove(xl__str_text(&trial));
    xl__str_clear(&trial);
    return status == XL_OK || complain(s, option, path, status);
}

bool out_file_write(struct session *s, const char *option, const char *path,
                    const char *text, size_t len)
{
    errno = 0;
    const xl_status status = xl__file_replace(path, text, len);
    return status == XL_OK || complain(s, option, path, status);
}
