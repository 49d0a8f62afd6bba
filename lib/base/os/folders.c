/* SPDX-License-Identifier: Apache-2.0 */
/* Folders on POSIX systems. A folder is private when nobody else can put a
 * file into it; only such a one is trusted with what drivers will run. */
#include "base/os/files.h"

#ifndef _WIN32
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

enum { DIR_MODE = 0700, SHARED_MODE = 0777, WALK_DEPTH = 2 };

static xl_status refuse(const char **why, const char *reason)
{
    if (why != NULL)
        *why = reason;
    return XL_IO;
}

xl_status xl__dir_check(const char *path, const char **why)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return refuse(why, "it cannot be reached");
    errno = 0;
    if (!S_ISDIR(info.st_mode))
        return refuse(why, "it is not a folder");
    if (info.st_uid != geteuid())
        return refuse(why, "it belongs to another user");
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(why, "other users may write to it");
    return XL_OK;
}

/* The folder and every parent, which is cut at one slash after the other. */
static xl_status make(const char *path, mode_t mode)
{
    char *part = xl__strdup(path);
    if (part == NULL)
        return XL_NO_MEMORY;
    for (char *at = part + 1; part[0] != 0 && *at != 0; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(part, mode);
        *at = '/';
    }
    bool made = mkdir(part, mode) == 0 || errno == EEXIST;
    int error = errno;
    free(part);
    errno = error;
    return made ? XL_OK : XL_IO;
}

xl_status xl__dir_make(const char *path, const char **why)
{
    const xl_status status = make(path, DIR_MODE);
    if (status == XL_OK)
        return xl__dir_check(path, why);
    return status == XL_IO ? refuse(why, strerror(errno)) : status;
}

xl_status xl__dir_make_shared(const char *path)
{
    struct stat info;
    const xl_status status = make(path, SHARED_MODE);
    if (status != XL_OK || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return status;
    errno = ENOTDIR;
    return XL_IO;
}

/* One folder; `path` is its name, and comes back as it was. */
static xl_status walk(struct xl__str *path, int depth,
                      bool (*each)(const char *path, void *), void *arg,
                      bool *go_on)
{
    size_t len = path->len;
    xl_status status = XL_OK;
    DIR *dir = opendir(path->text);
    if (dir == NULL)
        return XL_IO;
    for (struct dirent *e; *go_on && (e = readdir(dir)) != NULL;) {
        struct stat info;
        if (xl__streq(e->d_name, ".") || xl__streq(e->d_name, ".."))
            continue;
        xl__str_printf(path, "/%s", e->d_name);
        if (path->broken) {
            status = XL_NO_MEMORY;
            break;
        }
        bool known = lstat(path->text, &info) == 0;
        if (known && S_ISREG(info.st_mode))
            *go_on = each(path->text, arg);
        else if (known && S_ISDIR(info.st_mode) && depth < WALK_DEPTH)
            walk(path, depth + 1, each, arg, go_on);
        path->len = len;
        path->text[len] = 0;
    }
    closedir(dir);
    return status;
}

xl_status xl__dir_walk(const char *dir, bool (*each)(const char *path, void *),
                       void *arg)
{
    struct xl__str path = {0};
    bool go_on = true;
    xl__str_add(&path, dir);
    xl_status status =
        path.broken ? XL_NO_MEMORY : walk(&path, 0, each, arg, &go_on);
    int kept = errno;
    xl__str_clear(&path);
    errno = kept;
    return status;
}

xl_status xl__dir_names(const char *dir,
                        bool (*each)(const char *name, void *), void *arg)
{
    bool go_on = true;
    DIR *opened = opendir(dir);
    if (opened == NULL)
        return XL_IO;
    for (struct dirent *e; go_on && (e = readdir(opened)) != NULL;)
        if (!xl__streq(e->d_name, ".") && !xl__streq(e->d_name, ".."))
            go_on = each(e->d_name, arg);
    closedir(opened);
    return XL_OK;
}

enum xl__access xl__path_access(const char *path)
{
    if (access(path, R_OK | W_OK) == 0)
        return XL__WRITABLE;
    if (access(path, R_OK) == 0)
        return XL__READABLE;
    return access(path, F_OK) == 0 || errno == EACCES ? XL__DENIED
                                                      : XL__ABSENT;
}
#endif
