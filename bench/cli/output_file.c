/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that an option names. Whether a plain file can be written is
 * found by writing an empty file beside it. */
#include "cli/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "base/str.h"
#include "cli/progress.h"
#include "cli/console.h"

bool out_file_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool out_file_is_stream(const char *path)
{
    return out_file_is_stdout(path) || strncmp(path, "/dev/", 5) == 0 ||
           strncmp(path, "/proc/", 6) == 0;
}

bool out_file_report(struct session *s, const char *option, const char *path,
                     xl_status status)
{
    const char *why = errno ? strerror(errno) : xl_status_text(status);
    const char *name = out_file_is_stdout(path) ? "standard output" : path;
    struct xl__str clean = {0};
    progress_hide(s);
    text_escape(&clean, name);
    fprintf(stderr,
            "clbench: --%s: '%s' cannot be written: %s; give a file in a "
            "writable folder\n",
            option, xl__str_text(&clean), why);
    xl__str_clear(&clean);
    return false;
}

static bool stop_listing(const char *name, void *arg)
{
    (void)name;
    (void)arg;
    return false;
}

static bool is_folder(const char *path)
{
    return xl__dir_names(path, stop_listing, NULL) == XL_OK;
}

bool out_file_check(struct session *s, const char *option, const char *path)
{
    struct xl__str test = {0};
    if (out_file_is_stream(path)) {
        errno = ENOENT;
        return out_file_is_stdout(path) ||
               xl__path_access(path) != XL__ABSENT ||
               out_file_report(s, option, path, XL_IO);
    }
    if (is_folder(path)) {
        errno = EISDIR;
        return out_file_report(s, option, path, XL_IO);
    }
    xl__str_printf(&test, "%s.test", path);
    errno = 0;
    const xl_status status =
        test.broken ? XL_NO_MEMORY
                    : xl__file_replace(xl__str_text(&test), "", 0);
    if (status == XL_OK)
        (void)xl__file_remove(xl__str_text(&test));
    xl__str_clear(&test);
    return status == XL_OK || out_file_report(s, option, path, status);
}

xl_status out_file_replace(const char *path, const char *text, size_t len)
{
    errno = 0;
    if (!out_file_is_stdout(path))
        return xl__file_replace(path, text, len);
    const bool is_written = fwrite(text, 1, len, stdout) == len;
    return fflush(stdout) == 0 && is_written ? XL_OK : XL_IO;
}

bool out_file_write(struct session *s, const char *option, const char *path,
                    const char *text, size_t len)
{
    const xl_status status = out_file_replace(path, text, len);
    return status == XL_OK || out_file_report(s, option, path, status);
}
